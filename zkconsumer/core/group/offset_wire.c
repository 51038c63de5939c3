#include "zkconsumer/core/group/offset_wire.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/find_coordinator.h"
#include "zkconsumer/core/wire/offset_commit.h"
#include "zkconsumer/core/wire/offset_fetch.h"
#include <string.h>

int16_t offset_wire_api(enum group_offsets_request request)
{
    switch (request) {
    case GROUP_OFFSETS_FIND: return API_FIND_COORDINATOR;
    case GROUP_OFFSETS_FETCH: return API_OFFSET_FETCH;
    case GROUP_OFFSETS_COMMIT: break;
    }
    return API_OFFSET_COMMIT;
}

int16_t offset_wire_version(enum group_offsets_request request)
{
    return request == GROUP_OFFSETS_FIND ? 0 : 1;
}

/* ---- requests ---- */

/* One past the last entry of the topic that begins at `first`. */
static size_t topic_end(const struct group_offset *list, size_t count, size_t first)
{
    size_t i = first + 1;
    while (i < count && strcmp(list[i].topic, list[first].topic) == 0)
        i++;
    return i;
}

static size_t topics_of(const struct group_offset *list, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i = topic_end(list, count, i))
        n++;
    return n;
}

static enum zkc_err encode_fetch(struct wire_codec *c, const struct group_output *ask,
                                 struct arena *arena)
{
    const struct group_offset *list = ask->offsets_ask.list;
    size_t count = ask->offsets_ask.count;
    struct offset_fetch_request m = {.group_id = bytes_of_text(ask->offsets_ask.group),
                                     .topics_count = topics_of(list, count)};
    m.topics = arena_alloc_array(arena, m.topics_count, sizeof *m.topics);
    int32_t *numbers = arena_alloc_array(arena, count, sizeof *numbers);
    if (!m.topics || !numbers)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        numbers[i] = list[i].partition;
    for (size_t i = 0, t = 0; i < count; t++) {
        size_t end = topic_end(list, count, i);
        m.topics[t].name = bytes_of_text(list[i].topic);
        m.topics[t].partition_indexes = &numbers[i];
        m.topics[t].partition_indexes_count = end - i;
        i = end;
    }
    offset_fetch_request_fields(c, &m);
    return wire_codec_end(c);
}

static enum zkc_err encode_commit(struct wire_codec *c, const struct group_output *ask,
                                  struct arena *arena)
{
    const struct group_offset *list = ask->offsets_ask.list;
    size_t count = ask->offsets_ask.count;
    struct offset_commit_request m = {.group_id = bytes_of_text(ask->offsets_ask.group),
                                      .generation_id = -1,
                                      .member_id = bytes_of_text(""),
                                      .topics_count = topics_of(list, count)};
    m.topics = arena_alloc_array(arena, m.topics_count, sizeof *m.topics);
    struct offset_commit_request_partition *partitions =
        arena_alloc_array(arena, count, sizeof *partitions);
    if (!m.topics || !partitions)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        partitions[i] =
            (struct offset_commit_request_partition){.partition_index = list[i].partition,
                                                     .committed_offset = list[i].offset,
                                                     .commit_timestamp = -1,
                                                     .committed_metadata = bytes_of_text("")};
    for (size_t i = 0, t = 0; i < count; t++) {
        size_t end = topic_end(list, count, i);
        m.topics[t].name = bytes_of_text(list[i].topic);
        m.topics[t].partitions = &partitions[i];
        m.topics[t].partitions_count = end - i;
        i = end;
    }
    offset_commit_request_fields(c, &m);
    return wire_codec_end(c);
}

enum zkc_err offset_wire_encode(const struct group_output *ask, struct arena *arena,
                                struct buf *body)
{
    struct wire_codec c;
    wire_codec_write(&c, offset_wire_version(ask->offsets_ask.request), body);
    switch (ask->offsets_ask.request) {
    case GROUP_OFFSETS_FETCH: return encode_fetch(&c, ask, arena);
    case GROUP_OFFSETS_COMMIT: return encode_commit(&c, ask, arena);
    case GROUP_OFFSETS_FIND: break;
    }
    struct find_coordinator_request m = {.key = bytes_of_text(ask->offsets_ask.group)};
    find_coordinator_request_fields(&c, &m);
    return wire_codec_end(&c);
}

/* ---- answers ---- */

static const char *text_of(struct arena *arena, struct bytes b)
{
    return arena_format(arena, "%.*s", (int)b.len, b.len ? (const char *)b.data : "");
}

static void read_find(struct wire_codec *c, struct arena *arena, struct group_offsets_answer *out)
{
    struct find_coordinator_response m = {0};
    find_coordinator_response_fields(c, &m);
    out->kafka_error = m.error_code;
    out->host = text_of(arena, m.host);
    out->port = m.port;
}

static void read_fetch(struct wire_codec *c, struct arena *arena, struct group_offsets_answer *out)
{
    struct offset_fetch_response m = {0};
    offset_fetch_response_fields(c, &m);
    size_t total = 0;
    for (size_t t = 0; t < m.topics_count; t++)
        total += m.topics[t].partitions_count;
    struct group_offset *list = arena_alloc_array(arena, total, sizeof *list);
    for (size_t t = 0; list && t < m.topics_count; t++) {
        const char *topic = text_of(arena, m.topics[t].name);
        for (size_t p = 0; topic && p < m.topics[t].partitions_count; p++) {
            const struct offset_fetch_response_partition *at = &m.topics[t].partitions[p];
            list[out->count++] = (struct group_offset){topic, at->partition_index,
                                                       at->committed_offset, at->error_code};
        }
    }
    out->list = list;
}

static void read_commit(struct wire_codec *c, struct arena *arena, struct group_offsets_answer *out)
{
    struct offset_commit_response m = {0};
    offset_commit_response_fields(c, &m);
    size_t total = 0;
    for (size_t t = 0; t < m.topics_count; t++)
        total += m.topics[t].partitions_count;
    struct group_offset *list = arena_alloc_array(arena, total, sizeof *list);
    for (size_t t = 0; list && t < m.topics_count; t++) {
        const char *topic = text_of(arena, m.topics[t].name);
        for (size_t p = 0; topic && p < m.topics[t].partitions_count; p++) {
            const struct offset_commit_response_partition *at = &m.topics[t].partitions[p];
            list[out->count++] =
                (struct group_offset){topic, at->partition_index, -1, at->error_code};
        }
    }
    out->list = list;
}

enum zkc_err offset_wire_decode(enum group_offsets_request request, struct bytes body,
                                struct arena *arena, struct group_offsets_answer *out,
                                struct why *why)
{
    struct wire_codec c;
    *out = (struct group_offsets_answer){0};
    wire_codec_read(&c, offset_wire_version(request), body, arena);
    switch (request) {
    case GROUP_OFFSETS_FIND: read_find(&c, arena, out); break;
    case GROUP_OFFSETS_FETCH: read_fetch(&c, arena, out); break;
    case GROUP_OFFSETS_COMMIT: read_commit(&c, arena, out); break;
    }
    enum zkc_err err = wire_codec_end(&c);
    if (!err && arena->failed)
        err = ZKC_ERR_NOMEM;
    if (err == ZKC_ERR_NOMEM)
        why_set(why, "out of memory");
    else if (err)
        why_set(why, "%s", c.reason);
    return err && err != ZKC_ERR_NOMEM ? ZKC_ERR_PROTOCOL : err;
}
