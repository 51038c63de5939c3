#include "zkconsumer/core/fetch/fetch_wire.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define CONSUMER_REPLICA_ID (-1)
#define OFFSETS_COUNT_MAX   1 /* of ListOffsets: one is enough */

/* Both requests have partitions of the same shape: a number, where, how much. */
#define PARTITION_BYTES (4 + 8 + 4)

/* What an arena of a ListOffsets answer may take: far more than its entries do. */
#define LISTED_BYTES_MAX(count) ((size_t)(count)*256 + 65536)

/* ---- requests ---- */

static bool is_same_topic(const struct fetcher_target *a, const struct fetcher_target *b)
{
    return a->topic == b->topic || strcmp(a->topic, b->topic) == 0;
}

/* One past the last of the targets from `first` on that have the same topic. */
static size_t topic_end(const struct fetcher_request *r, size_t first)
{
    size_t i = first + 1;
    while (i < r->count && is_same_topic(&r->targets[first], &r->targets[i]))
        i++;
    return i;
}

static void append_i32(struct buf *body, int32_t v)
{
    uint8_t bytes[4];
    write_i32(bytes, v);
    buf_append(body, bytes, sizeof bytes);
}

static void append_topic(struct buf *body, const char *topic, size_t partitions)
{
    size_t len = strlen(topic);
    assert(len <= INT16_MAX);
    buf_append_byte(body, (uint8_t)(len >> 8));
    buf_append_byte(body, (uint8_t)len);
    buf_append(body, topic, len);
    append_i32(body, (int32_t)partitions);
}

static void append_partitions(struct buf *body, const struct fetcher_target *targets, size_t count,
                              bool is_fetch)
{
    uint8_t *at = buf_reserve(body, count * PARTITION_BYTES);
    if (!at)
        return;
    for (size_t k = 0; k < count; k++) {
        const struct fetcher_target *t = &targets[k];
        write_i32(at, t->partition);
        write_i64(at + 4, is_fetch ? t->offset : t->time);
        write_i32(at + 12, is_fetch ? t->bytes_max : OFFSETS_COUNT_MAX);
        at += PARTITION_BYTES;
    }
    body->len += count * PARTITION_BYTES;
}

static size_t topics_count(const struct fetcher_request *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i = topic_end(r, i))
        n++;
    return n;
}

void fetch_wire_encode(const struct fetcher_output *request, struct buf *body,
                       struct fetch_wire_sent *sent)
{
    bool is_fetch = request->type == FETCHER_OUT_FETCH;
    assert(is_fetch || request->type == FETCHER_OUT_LIST_OFFSETS);
    const struct fetcher_request *r = &request->request;
    *sent = (struct fetch_wire_sent){
        .api = is_fetch ? API_FETCH : API_LIST_OFFSETS,
        .number = r->number,
        .count = r->count,
    };
    append_i32(body, CONSUMER_REPLICA_ID);
    if (is_fetch) {
        append_i32(body, r->wait_max_ms);
        append_i32(body, r->bytes_min);
    }
    append_i32(body, (int32_t)topics_count(r));
    for (size_t i = 0; i < r->count;) {
        size_t end = topic_end(r, i);
        append_topic(body, r->targets[i].topic, end - i);
        append_partitions(body, r->targets + i, end - i, is_fetch);
        i = end;
    }
}

/* ---- answers ---- */

void fetch_wire_decoder_init(struct fetch_wire_decoder *d)
{
    *d = (struct fetch_wire_decoder){0};
}

void fetch_wire_decoder_deinit(struct fetch_wire_decoder *d)
{
    free(d->fetched);
    free(d->listed);
}

static enum zkc_err no_memory(struct fetch_wire_decoder *d)
{
    snprintf(d->reason, sizeof d->reason, "no memory for an answer");
    return ZKC_ERR_NOMEM;
}

static enum zkc_err too_many(struct fetch_wire_decoder *d, const struct fetch_wire_sent *sent)
{
    snprintf(d->reason, sizeof d->reason, "an answer with more partitions than the %zu asked for",
             sent->count);
    return ZKC_ERR_PROTOCOL;
}

static enum zkc_err decode_fetch(struct fetch_wire_decoder *d, const struct fetch_wire_sent *sent,
                                 struct bytes body, size_t *count)
{
    if (sent->count > d->fetched_cap) {
        struct fetch_response_view *list = realloc(d->fetched, sent->count * sizeof *list);
        if (!list)
            return no_memory(d);
        d->fetched = list;
        d->fetched_cap = sent->count;
    }
    struct fetch_response_reader reader;
    struct fetch_response_view view;
    enum fetch_response_result result;
    fetch_response_reader_init(&reader, body);
    *count = 0;
    while ((result = fetch_response_next(&reader, &view)) == FETCH_RESPONSE_PARTITION) {
        if (*count == sent->count)
            return too_many(d, sent);
        d->fetched[(*count)++] = view;
    }
    if (result == FETCH_RESPONSE_END)
        return ZKC_OK;
    snprintf(d->reason, sizeof d->reason, "%s", reader.reason);
    return ZKC_ERR_PROTOCOL;
}

static struct fetcher_listed listed_of(struct bytes topic,
                                       const struct list_offsets_response_partition *p)
{
    return (struct fetcher_listed){
        .topic = topic,
        .partition = p->partition_index,
        .kafka_error = p->error_code,
        .offset = p->old_style_offsets_count > 0 ? p->old_style_offsets[0] : -1,
    };
}

static enum zkc_err read_list_offsets(struct fetch_wire_decoder *d,
                                      const struct fetch_wire_sent *sent, struct bytes body,
                                      struct arena *arena, size_t *count)
{
    struct wire_codec codec;
    struct list_offsets_response response = {0};
    wire_codec_read(&codec, FETCH_WIRE_VERSION, body, arena);
    list_offsets_response_fields(&codec, &response);
    enum zkc_err err = wire_codec_end(&codec);
    if (err) {
        snprintf(d->reason, sizeof d->reason, "%s", codec.reason);
        return err == ZKC_ERR_NOMEM ? err : ZKC_ERR_PROTOCOL;
    }
    *count = 0;
    for (size_t i = 0; i < response.topics_count; i++) {
        const struct list_offsets_response_topic *t = &response.topics[i];
        if (t->partitions_count > sent->count - *count)
            return too_many(d, sent);
        for (size_t k = 0; k < t->partitions_count; k++)
            d->listed[(*count)++] = listed_of(t->name, &t->partitions[k]);
    }
    return ZKC_OK;
}

static enum zkc_err decode_list_offsets(struct fetch_wire_decoder *d,
                                        const struct fetch_wire_sent *sent, struct bytes body,
                                        size_t *count)
{
    if (sent->count > d->listed_cap) {
        struct fetcher_listed *list = realloc(d->listed, sent->count * sizeof *list);
        if (!list)
            return no_memory(d);
        d->listed = list;
        d->listed_cap = sent->count;
    }
    struct arena arena; /* these answers are rare: nothing is kept for the next one */
    arena_init(&arena, LISTED_BYTES_MAX(sent->count));
    enum zkc_err err = read_list_offsets(d, sent, body, &arena, count);
    arena_deinit(&arena);
    return err;
}

struct fetcher_input fetch_wire_failed(const struct fetch_wire_sent *sent, enum zkc_err err)
{
    return (struct fetcher_input){
        .type = FETCHER_IN_FAILED,
        .failed = {.request = sent->number, .err = err},
    };
}

bool fetch_wire_decode(struct fetch_wire_decoder *d, const struct fetch_wire_sent *sent,
                       struct bytes body, struct fetcher_input *in)
{
    size_t count = 0;
    enum zkc_err err = sent->api == API_FETCH ? decode_fetch(d, sent, body, &count)
                                              : decode_list_offsets(d, sent, body, &count);
    if (err) {
        *in = fetch_wire_failed(sent, err);
        return false;
    }
    if (sent->api == API_FETCH)
        *in = (struct fetcher_input){
            .type = FETCHER_IN_FETCHED,
            .fetched = {.request = sent->number, .list = d->fetched, .count = count},
        };
    else
        *in = (struct fetcher_input){
            .type = FETCHER_IN_LISTED,
            .listed = {.request = sent->number, .list = d->listed, .count = count},
        };
    return true;
}
