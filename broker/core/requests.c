#include "broker/core/requests.h"
#include "broker/core/log_names.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/wire/frame.h"
#include "zkconsumer/core/wire/response_header.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- Reading ---- */

static void body_fields(struct wire_codec *c, struct request *r)
{
    switch (r->header.api_key) {
    case API_PRODUCE: produce_request_fields(c, &r->produce); break;
    case API_FETCH: fetch_request_fields(c, &r->fetch); break;
    case API_LIST_OFFSETS: list_offsets_request_fields(c, &r->list_offsets); break;
    case API_METADATA: metadata_request_fields(c, &r->metadata); break;
    case API_OFFSET_COMMIT: offset_commit_request_fields(c, &r->offset_commit); break;
    case API_OFFSET_FETCH: offset_fetch_request_fields(c, &r->offset_fetch); break;
    case API_API_VERSIONS: break; /* no body in version 0 */
    }
}

/* Which version's layout to read. ApiVersions is answered whatever its version. */
static enum zkc_err check_version(struct request *r, struct why *why)
{
    const struct request_header *h = &r->header;
    const struct api *api = api_find(h->api_key);
    if (!api) {
        why_set(why, "request with the unknown api key %d, version %d", h->api_key, h->api_version);
        return ZKC_ERR_PROTOCOL;
    }
    if (h->api_version >= api->version_min && h->api_version <= api->version_max)
        return ZKC_OK;
    if (h->api_key == API_API_VERSIONS) {
        r->api_versions_error = KAFKA_ERR_UNSUPPORTED_VERSION;
        return ZKC_OK;
    }
    why_set(why, "%s request (api key %d) of version %d; expected %d .. %d", api->name, h->api_key,
            h->api_version, api->version_min, api->version_max);
    return ZKC_ERR_PROTOCOL;
}

static enum zkc_err malformed(const struct wire_codec *c, const char *what, struct why *why)
{
    why_set(why, "%s: %s", what, c->reason);
    return c->failed;
}

enum zkc_err request_read(struct bytes frame, struct arena *arena, struct request *out,
                          struct why *why)
{
    struct wire_codec c;
    *out = (struct request){.api_versions_error = KAFKA_ERR_NONE};
    why_clear(why);
    wire_codec_read(&c, 0, frame, arena);
    request_header_fields(&c, &out->header);
    if (c.failed)
        return malformed(&c, "request header", why);
    enum zkc_err err = check_version(out, why);
    if (err)
        return err;
    body_fields(&c, out);
    if (c.failed)
        return malformed(&c, api_find(out->header.api_key)->name, why);
    return ZKC_OK;
}

size_t answer_begin(struct buf *out, int32_t correlation_id)
{
    struct wire_codec c;
    struct response_header header = {correlation_id};
    size_t mark = wire_frame_begin(out);
    wire_codec_write(&c, 0, out);
    response_header_fields(&c, &header);
    return mark;
}

void answer_end(struct buf *out, size_t mark)
{
    wire_frame_end(out, mark);
}

/* ---- Produce ---- */

enum zkc_err produce_answer_make(const struct produce_request *request, struct arena *arena,
                                 struct produce_response *out)
{
    out->responses_count = request->topic_data_count;
    out->responses = arena_alloc_array(arena, out->responses_count, sizeof *out->responses);
    for (size_t i = 0; out->responses && i < out->responses_count; i++) {
        const struct produce_request_topic *asked = &request->topic_data[i];
        struct produce_response_topic *t = &out->responses[i];
        t->name = asked->name;
        t->partition_responses =
            arena_alloc_array(arena, asked->partition_data_count, sizeof *t->partition_responses);
        if (!t->partition_responses)
            break;
        t->partition_responses_count = asked->partition_data_count;
        for (size_t j = 0; j < t->partition_responses_count; j++)
            t->partition_responses[j] =
                (struct produce_response_partition){.index = asked->partition_data[j].index,
                                                    .error_code = KAFKA_ERR_UNKNOWN_SERVER_ERROR,
                                                    .base_offset = -1};
    }
    return arena->failed;
}

enum produce_answer produce_answer_decide(const struct produce_request *request,
                                          struct produce_response *response)
{
    size_t failed = 0, appended = 0;
    for (size_t i = 0; i < response->responses_count; i++) {
        const struct produce_response_topic *t = &response->responses[i];
        for (size_t j = 0; j < t->partition_responses_count; j++) {
            if (t->partition_responses[j].error_code)
                failed++;
            else
                appended++;
        }
    }
    if (request->acks == 0)
        return failed ? PRODUCE_CLOSE : PRODUCE_NO_ANSWER;
    if (request->acks <= 1 || appended == 0)
        return PRODUCE_ANSWER;
    for (size_t i = 0; i < response->responses_count; i++) {
        struct produce_response_topic *t = &response->responses[i];
        for (size_t j = 0; j < t->partition_responses_count; j++)
            if (!t->partition_responses[j].error_code)
                t->partition_responses[j].error_code = KAFKA_ERR_REQUEST_TIMED_OUT;
    }
    return PRODUCE_ANSWER_LATER;
}

/* ---- Fetch ---- */

void fetch_answer_layout(struct buf *out, int32_t correlation_id,
                         const struct fetch_request *request,
                         struct fetch_answer_partition *partitions, size_t count)
{
    struct wire_codec c;
    size_t mark = answer_begin(out, correlation_id), n = 0;
    int32_t topics = (int32_t)request->topics_count;
    uint64_t records = 0;
    wire_codec_write(&c, 0, out);
    wire_i32(&c, "responses", &topics);
    for (size_t i = 0; i < request->topics_count; i++) {
        const struct fetch_request_topic *t = &request->topics[i];
        struct bytes name = t->topic;
        int32_t partitions_count = (int32_t)t->partitions_count;
        wire_string(&c, "topic", &name);
        wire_i32(&c, "partitions", &partitions_count);
        for (size_t j = 0; j < t->partitions_count; j++) {
            assert(n < count);
            struct fetch_answer_partition *p = &partitions[n++];
            int32_t records_len = (int32_t)p->records_len;
            assert(p->records_len <= INT32_MAX);
            wire_i32(&c, "partition_index", &p->partition);
            wire_i16(&c, "error_code", &p->error_code);
            wire_i64(&c, "high_watermark", &p->high_watermark);
            wire_i32(&c, "records", &records_len);
            p->split = out->len;
            records += p->records_len;
        }
    }
    assert(n == count);
    if (out->failed)
        return;
    uint64_t size = out->len - mark - WIRE_FRAME_SIZE_BYTES + records;
    if (size > INT32_MAX) {
        out->failed = ZKC_ERR_TOO_LARGE;
        return;
    }
    for (int i = 0; i < WIRE_FRAME_SIZE_BYTES; i++)
        out->data[mark + (size_t)i] = (uint8_t)(size >> (24 - 8 * i));
}

/* ---- ListOffsets ---- */

enum zkc_err list_offsets_answer_make(const struct list_offsets_request *request,
                                      struct arena *arena, struct list_offsets_response *out)
{
    out->topics_count = request->topics_count;
    out->topics = arena_alloc_array(arena, out->topics_count, sizeof *out->topics);
    for (size_t i = 0; out->topics && i < out->topics_count; i++) {
        const struct list_offsets_request_topic *asked = &request->topics[i];
        struct list_offsets_response_topic *t = &out->topics[i];
        t->name = asked->name;
        t->partitions = arena_alloc_array(arena, asked->partitions_count, sizeof *t->partitions);
        if (!t->partitions)
            break;
        t->partitions_count = asked->partitions_count;
        for (size_t j = 0; j < t->partitions_count; j++)
            t->partitions[j] = (struct list_offsets_response_partition){
                .partition_index = asked->partitions[j].partition_index,
                .error_code = KAFKA_ERR_UNKNOWN_SERVER_ERROR};
    }
    return arena->failed;
}

/* ---- Metadata ---- */

static void tell_brokers(const struct cluster_view *view, struct arena *arena,
                         struct metadata_response *out)
{
    out->brokers = arena_alloc_array(arena, view->broker_count, sizeof *out->brokers);
    if (!out->brokers)
        return;
    out->brokers_count = view->broker_count;
    for (size_t i = 0; i < view->broker_count; i++)
        out->brokers[i] = (struct metadata_broker){
            .node_id = view->brokers[i].id,
            .host = bytes_of_text(view->brokers[i].host),
            .port = view->brokers[i].port,
        };
}

static void tell_partition(const struct cluster_view *view, const struct view_partition *p,
                           struct metadata_partition *out)
{
    *out = (struct metadata_partition){
        .error_code = KAFKA_ERR_LEADER_NOT_AVAILABLE,
        .partition_index = p->partition,
        .leader_id = view_partition_leader(view, p),
    };
    if (out->leader_id < 0)
        return;
    out->error_code = KAFKA_ERR_NONE;
    out->replica_nodes = p->replicas;
    out->replica_nodes_count = p->replica_count;
    out->isr_nodes = p->isr;
    out->isr_nodes_count = p->isr_count;
}

static bool has_any_state(const struct view_topic *t)
{
    for (size_t i = 0; i < t->partition_count; i++)
        if (t->partitions[i].node == VIEW_NODE_READ)
            return true;
    return false;
}

static void tell_topic(const struct cluster_view *view, const struct view_topic *t,
                       struct arena *arena, struct metadata_topic *out)
{
    *out = (struct metadata_topic){.error_code = KAFKA_ERR_LEADER_NOT_AVAILABLE,
                                   .name = bytes_of_text(t->name)};
    if (!has_any_state(t))
        return; /* just created */
    out->error_code = KAFKA_ERR_NONE;
    out->partitions = arena_alloc_array(arena, t->partition_count, sizeof *out->partitions);
    if (!out->partitions)
        return;
    out->partitions_count = t->partition_count;
    for (size_t i = 0; i < t->partition_count; i++)
        tell_partition(view, &t->partitions[i], &out->partitions[i]);
}

bool topic_name_may_be_created(struct bytes name)
{
    char text[LOG_TOPIC_NAME_MAX + 1];
    struct why why;
    if (name.len > LOG_TOPIC_NAME_MAX || (name.len && memchr(name.data, 0, name.len)))
        return false;
    if (name.len)
        memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    return zk_check_topic(text, &why) == ZKC_OK;
}

/* A topic that is not there. */
static int16_t tell_unknown(const struct metadata_rules *rules, struct bytes name,
                            struct bytes *create, size_t *create_count)
{
    if (!topic_name_may_be_created(name))
        return KAFKA_ERR_INVALID_TOPIC_EXCEPTION;
    if (!rules->auto_create)
        return KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION;
    create[(*create_count)++] = name;
    return KAFKA_ERR_LEADER_NOT_AVAILABLE;
}

enum zkc_err metadata_answer(const struct cluster_view *view, const struct metadata_rules *rules,
                             const struct metadata_request *request, struct arena *arena,
                             struct metadata_response *out, struct bytes *create,
                             size_t *create_count)
{
    *out = (struct metadata_response){.brokers = NULL};
    *create_count = 0;
    tell_brokers(view, arena, out);
    size_t count = request->topics_count ? request->topics_count : view->topic_count;
    out->topics = arena_alloc_array(arena, count, sizeof *out->topics);
    if (!out->topics)
        return arena->failed;
    out->topics_count = count;
    for (size_t i = 0; i < count; i++) {
        struct bytes name =
            request->topics_count ? request->topics[i].name : bytes_of_text(view->topics[i].name);
        const struct view_topic *t =
            request->topics_count ? cluster_view_topic(view, name) : &view->topics[i];
        if (t)
            tell_topic(view, t, arena, &out->topics[i]);
        else
            out->topics[i] = (struct metadata_topic){
                .error_code = tell_unknown(rules, name, create, create_count), .name = name};
    }
    return arena->failed;
}

/* ---- ApiVersions ---- */

enum zkc_err api_versions_answer(enum kafka_error error, struct arena *arena,
                                 struct api_versions_response *out)
{
    size_t count;
    const struct api *apis = api_all(&count);
    *out = (struct api_versions_response){.error_code = (int16_t)error};
    out->api_keys = arena_alloc_array(arena, count, sizeof *out->api_keys);
    for (size_t i = 0; out->api_keys && i < count; i++) {
        if (error && apis[i].key != API_API_VERSIONS)
            continue;
        out->api_keys[out->api_keys_count++] =
            (struct api_versions_key){apis[i].key, apis[i].version_min, apis[i].version_max};
    }
    return arena->failed;
}
