#include "study/check/files.h"
#include "study/check/decode.h"
#include "study/check/line_reader.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct file {
    const char *path;
    struct line_reader lines;
    struct trace_decoder decoder;
    struct trace_event event; /* the next one */
    bool has_event;
    bool is_over, has_end, is_virtual, has_problem;
    char *member; /* that has started and not exited; owned */
    uint64_t number_of_events;
    uint64_t seq; /* of the last line */
    uint64_t t_ns;
};

struct trace_files {
    struct file *list;
    size_t count;
    struct file *last; /* whose event was given */
    uint64_t given;
    size_t problem_count, killed_count;
    char *problems[TRACE_PROBLEMS_KEPT];
    char place[WHY_SIZE];
};

static void problem(struct trace_files *f, struct file *x, const char *what)
{
    x->has_problem = true;
    if (f->problem_count < TRACE_PROBLEMS_KEPT) {
        struct why text;
        why_set(&text, "%s:%" PRIu64 ": %s", x->path, x->lines.number, what);
        f->problems[f->problem_count] = strdup(text.text);
        if (!f->problems[f->problem_count])
            return;
    }
    f->problem_count++;
}

/* ---- events ---- */

static void follow(struct file *x)
{
    const struct trace_event *e = &x->event;
    if (e->type == TRACE_RUN)
        x->is_virtual = e->run.is_virtual;
    x->has_end = x->has_end || e->type == TRACE_END;
    if (e->type != TRACE_M_START && e->type != TRACE_M_EXIT)
        return;
    free(x->member);
    x->member = e->type == TRACE_M_START ? strdup(e->m) : NULL;
}

static void at_end(struct trace_files *f, struct file *x)
{
    x->is_over = true;
    if (x->has_end)
        return;
    if (!x->is_virtual)
        f->killed_count++;
    else if (!x->has_problem)
        problem(f, x, "the trace is cut short: it has no \"end\"");
    if (x->is_virtual || !x->member)
        return;
    x->event = (struct trace_event){.type = TRACE_M_EXIT,
                                    .t_ns = x->t_ns,
                                    .gs = UINT64_MAX,
                                    .seq = x->seq + 1,
                                    .src = x->member,
                                    .m = x->member,
                                    .m_exit = {false, TRACE_EXIT_UNKNOWN}};
    x->has_event = true;
}

/* Reads on to the next event of this file. */
static void advance(struct trace_files *f, struct file *x)
{
    struct why why;
    x->has_event = false;
    while (!x->has_event && !x->is_over) {
        switch (line_reader_next(&x->lines)) {
        case LINE_LONG: problem(f, x, "expected lines of at most 16 MiB"); continue;
        case LINE_ERROR: problem(f, x, line_reader_error(&x->lines)); /* fall through */
        case LINE_END: at_end(f, x); return;
        case LINE_CUT: /* of a process that was killed that is no surprise */
            if (x->is_virtual || !x->number_of_events)
                problem(f, x, "the file is cut short in the middle of this line");
            at_end(f, x);
            return;
        case LINE_WHOLE: break;
        }
        if (x->lines.line.len == 0) {
            problem(f, x, "expected an event, found an empty line");
            continue;
        }
        enum trace_line kind =
            trace_decode(&x->decoder, buf_bytes(&x->lines.line), &x->event, &why);
        if (kind == TRACE_LINE_BROKEN) {
            problem(f, x, why.text);
            continue;
        }
        x->seq = x->event.seq;
        x->t_ns = x->event.t_ns;
        x->has_event = kind == TRACE_LINE_EVENT;
        if (x->has_event)
            follow(x);
        x->number_of_events += x->has_event;
    }
}

static enum zkc_err open_one(struct trace_files *f, struct file *x, const char *path,
                             struct why *why)
{
    x->path = path;
    trace_decoder_init(&x->decoder);
    enum zkc_err err = line_reader_open(&x->lines, path, TRACE_LINE_MAX, why);
    if (err)
        return err;
    advance(f, x);
    if (x->has_event && x->event.type == TRACE_RUN && x->lines.number == 1)
        return ZKC_OK;
    why_set(why, "%s", f->problem_count ? f->problems[f->problem_count - 1] : "");
    if (!f->problem_count)
        why_set(why,
                "%s:1: expected the header of a trace: \"ev\":\"run\",\"schema\":\"rbtrace/1\"",
                path);
    return ZKC_ERR_CORRUPT;
}

enum zkc_err trace_files_open(const char *const *paths, size_t count, struct trace_files **out,
                              struct why *why)
{
    why_clear(why);
    struct trace_files *f = calloc(1, sizeof *f);
    if (!f)
        return ZKC_ERR_NOMEM;
    f->list = calloc(count ? count : 1, sizeof *f->list);
    enum zkc_err err = f->list ? ZKC_OK : ZKC_ERR_NOMEM;
    for (size_t i = 0; i < count && !err; i++) {
        f->count++;
        err = open_one(f, &f->list[i], paths[i], why);
    }
    if (err) {
        trace_files_close(f);
        return err;
    }
    *out = f;
    return ZKC_OK;
}

void trace_files_close(struct trace_files *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->count; i++) {
        struct file *x = &f->list[i];
        line_reader_close(&x->lines);
        free(x->member);
        trace_decoder_deinit(&x->decoder);
    }
    for (size_t i = 0; i < TRACE_PROBLEMS_KEPT; i++)
        free(f->problems[i]);
    free(f->list);
    free(f);
}

static bool is_before(const struct trace_event *a, const struct trace_event *b)
{
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns;
    int c = strcmp(a->src, b->src);
    return c ? c < 0 : a->seq < b->seq;
}

const struct trace_event *trace_files_next(struct trace_files *f)
{
    if (f->last)
        advance(f, f->last);
    f->last = NULL;
    for (size_t i = 0; i < f->count; i++) /* headers first: they say how the others are meant */
        if (f->list[i].has_event && f->list[i].event.type == TRACE_RUN) {
            f->last = &f->list[i];
            break;
        }
    for (size_t i = 0; i < f->count && (!f->last || f->last->event.type != TRACE_RUN); i++)
        if (f->list[i].has_event && (!f->last || is_before(&f->list[i].event, &f->last->event)))
            f->last = &f->list[i];
    if (!f->last)
        return NULL;
    if (f->count > 1 || f->last->event.gs == UINT64_MAX)
        f->last->event.gs = f->given;
    f->given++;
    return &f->last->event;
}

const char *trace_files_place(const struct trace_files *f)
{
    struct trace_files *own = (struct trace_files *)f;
    snprintf(own->place, sizeof own->place, "%s:%" PRIu64, f->last ? f->last->path : "",
             f->last ? f->last->lines.number : 0);
    return f->place;
}

size_t trace_files_problem_count(const struct trace_files *f)
{
    return f->problem_count;
}

const char *trace_files_problem(const struct trace_files *f, size_t i)
{
    return f->problems[i];
}

size_t trace_files_killed_count(const struct trace_files *f)
{
    return f->killed_count;
}
