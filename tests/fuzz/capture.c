/* Captures: whatever the lines say, what is made of them is a trace. Its events come in order, each
 * source's are numbered, and their JSON is read again as what it was. */
#include "study/check/check.h"
#include "study/check/decode.h"
#include "study/record/import.h"
#include "study/trace/event_json.h"
#include "tests/fuzz/fuzz.h"
#include <assert.h>

struct through {
    struct buf line;
    struct trace_decoder decoder;
    struct check *check;
    uint64_t count, t_ns;
};

static void pass(const struct trace_event *event, void *user)
{
    struct through *t = user;
    struct trace_event e;
    struct why why;
    assert(event->gs == t->count++ && event->t_ns >= t->t_ns);
    t->t_ns = event->t_ns;
    buf_clear(&t->line);
    trace_event_json(event, &t->line);
    assert(!t->line.failed);
    assert(trace_decode(&t->decoder, bytes_of(t->line.data, t->line.len - 1), &e, &why) ==
           TRACE_LINE_EVENT);
    assert(e.type == event->type && e.t_ns == event->t_ns && e.seq == event->seq);
    check_take(&e, t->check);
}

static void count(const char *mark, size_t interval, const char *member,
                  const struct import_counts *counts, void *user)
{
    (void)mark, (void)interval, (void)user;
    assert(member && counts->watches <= counts->reads);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import_options options = {.backoff_ms = -1};
    struct through t = {.check = check_new(NULL)};
    struct trace_sink sink = {TRACE_LEVEL_MAX, pass, &t};
    struct capture_decoder d;
    struct capture_line line;
    struct why why;
    struct import *x = import_new(&options);
    assert(x && t.check);
    buf_init(&t.line, TRACE_LINE_MAX);
    trace_decoder_init(&t.decoder);
    capture_decoder_init(&d);
    for (const uint8_t *at = data, *end = data + size; at < end;) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = stop ? (size_t)(stop - at) : (size_t)(end - at);
        bool ok = capture_decode(&d, bytes_of(at, len), &line, &why);
        assert(ok == (why.text[0] == 0));
        if (ok)
            (void)import_take(x, &line, &why);
        at += len + (stop != NULL);
    }
    enum zkc_err err = import_finish(x, &sink, &why);
    assert(err == ZKC_OK || err == ZKC_ERR_INVALID);
    assert((err == ZKC_ERR_INVALID) == (why.text[0] != 0) && (t.count > 0) == !err);
    import_count(x, count, NULL);
    assert(check_finish(t.check) == ZKC_OK);
    capture_decoder_deinit(&d);
    trace_decoder_deinit(&t.decoder);
    buf_deinit(&t.line);
    check_free(t.check);
    import_free(x);
    return 0;
}
