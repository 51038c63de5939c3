#include "zkconsumer/cli/kafka_offsets.h"
#include "zkconsumer/cli/broker_link.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/find_coordinator.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/wire/offset_commit.h"
#include "zkconsumer/core/wire/offset_fetch.h"
#include <inttypes.h>
#include <poll.h>

#define CLIENT_ID "zkconsumer"
#define TRIES_MAX 10 /* while there is no coordinator */
#define PAUSE_MS  300

static void find_request(struct wire_codec *c, void *m)
{
    find_coordinator_request_fields(c, m);
}
static void find_response(struct wire_codec *c, void *m)
{
    find_coordinator_response_fields(c, m);
}
static void fetch_request(struct wire_codec *c, void *m)
{
    offset_fetch_request_fields(c, m);
}
static void fetch_response(struct wire_codec *c, void *m)
{
    offset_fetch_response_fields(c, m);
}

static void commit_request(struct wire_codec *c, void *m)
{
    offset_commit_request_fields(c, m);
}
static void commit_response(struct wire_codec *c, void *m)
{
    offset_commit_response_fields(c, m);
}

/* ---- the coordinator ---- */

struct address {
    const char *host;
    uint16_t port;
};

static enum zkc_err ask_for_coordinator(const struct broker *broker, const char *group,
                                        int64_t timeout_ms, struct arena *arena,
                                        struct address *out, struct why *why)
{
    struct find_coordinator_request request = {bytes_of_text(group)};
    struct find_coordinator_response answer = {0};
    struct broker_link *link = broker_link_open(broker->host, broker->port, CLIENT_ID, timeout_ms);
    why_set(why, "no event loop to be had");
    enum zkc_err err = link ? broker_link_ask(link, API_FIND_COORDINATOR, 0, find_request, &request,
                                              find_response, &answer, arena, why)
                            : ZKC_ERR_SYSTEM;
    if (!err && answer.error_code) {
        why_set(why, "broker %" PRId32 ": %s (%d)", broker->id, kafka_error_name(answer.error_code),
                answer.error_code);
        err = ZKC_ERR_BROKER;
    } else if (!err) {
        out->host = arena_format(arena, "%.*s", (int)answer.host.len,
                                 answer.host.data ? (const char *)answer.host.data : "");
        out->port = (uint16_t)answer.port;
        err = arena->failed;
    }
    broker_link_close(link);
    return err;
}

static enum zkc_err find_coordinator(struct zk_reader *r, const struct brokers *brokers,
                                     const char *group, struct arena *arena, struct address *out,
                                     struct why *why)
{
    enum zkc_err err = ZKC_ERR_UNREACHABLE;
    why_set(why, "no broker is registered");
    for (int tries = 0; tries < TRIES_MAX && err; tries++) {
        for (size_t i = 0; err && i < brokers->count; i++)
            if (brokers->list[i].host)
                err = ask_for_coordinator(&brokers->list[i], group, zk_reader_left_ms(r), arena,
                                          out, why);
        if (err != ZKC_ERR_BROKER || zk_reader_left_ms(r) < PAUSE_MS)
            break; /* else a leader of the offsets topic is being elected */
        poll(NULL, 0, PAUSE_MS);
    }
    return err;
}

/* ---- the offsets ---- */

static bool fill_request(const char *group, const struct kafka_offset *list, size_t count,
                         struct arena *arena, struct offset_fetch_request *m)
{
    int32_t *numbers = arena_alloc_array(arena, count, sizeof *numbers);
    *m = (struct offset_fetch_request){.group_id = bytes_of_text(group)};
    m->topics = arena_alloc_array(arena, count, sizeof *m->topics);
    if (!numbers || !m->topics)
        return false;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = list[i].partition;
        if (i == 0 || strcmp(list[i - 1].topic, list[i].topic) != 0)
            m->topics[m->topics_count++] = (struct offset_fetch_request_topic){
                .name = bytes_of_text(list[i].topic), .partition_indexes = &numbers[i]};
        m->topics[m->topics_count - 1].partition_indexes_count++;
    }
    return true;
}

static void take(struct kafka_offset *list, size_t count, struct bytes topic,
                 const struct offset_fetch_response_partition *p, struct arena *arena)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = bytes_compare(bytes_of_text(list[mid].topic), topic);
        if (order < 0 || (order == 0 && list[mid].partition < p->partition_index))
            lo = mid + 1;
        else
            hi = mid;
    }
    struct kafka_offset *at = &list[lo];
    if (lo == count || at->partition != p->partition_index ||
        bytes_compare(bytes_of_text(at->topic), topic) != 0)
        return; /* not asked for */
    at->offset = -1;
    at->missing = NULL;
    if (!p->error_code)
        at->offset = p->committed_offset;
    else if (p->error_code != KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION) /* which is none */
        at->missing =
            arena_format(arena, "%s (%d)", kafka_error_name(p->error_code), p->error_code);
}

static enum zkc_err ask(const struct address *coordinator, const char *group, int64_t timeout_ms,
                        struct kafka_offset *list, size_t count, struct arena *arena,
                        struct why *why)
{
    struct offset_fetch_request request;
    struct offset_fetch_response answer = {0};
    if (!fill_request(group, list, count, arena, &request))
        return arena->failed;
    struct broker_link *link =
        broker_link_open(coordinator->host, coordinator->port, CLIENT_ID, timeout_ms);
    why_set(why, "no event loop to be had");
    enum zkc_err err = link ? broker_link_ask(link, API_OFFSET_FETCH, 1, fetch_request, &request,
                                              fetch_response, &answer, arena, why)
                            : ZKC_ERR_SYSTEM;
    for (size_t i = 0; i < count; i++)
        list[i] = (struct kafka_offset){list[i].topic, list[i].partition, -1,
                                        "the coordinator left it out of its answer"};
    for (size_t t = 0; !err && t < answer.topics_count; t++)
        for (size_t p = 0; p < answer.topics[t].partitions_count; p++)
            take(list, count, answer.topics[t].name, &answer.topics[t].partitions[p], arena);
    broker_link_close(link);
    return err ? err : arena->failed;
}

enum zkc_err kafka_offsets_read(struct zk_reader *r, const struct brokers *brokers,
                                const char *group, struct kafka_offset *list, size_t count,
                                struct arena *arena, bool *is_asked, struct why *why)
{
    struct zk_op op = {.type = ZK_OP_EXISTS, .path = KAFKA_OFFSETS_TOPIC_PATH};
    struct zk_result found;
    struct address coordinator = {0};
    *is_asked = false;
    enum zkc_err err = zk_reader_run(r, &op, 1, arena, &found, why);
    if (err || found.zk_rc != ZK_OK || count == 0)
        return err;
    *is_asked = true;
    err = find_coordinator(r, brokers, group, arena, &coordinator, why);
    return err ? err : ask(&coordinator, group, zk_reader_left_ms(r), list, count, arena, why);
}

/* ---- writing ---- */

static bool fill_commit(const char *group, const struct kafka_offset *list, size_t count,
                        struct arena *arena, struct offset_commit_request *m)
{
    struct offset_commit_request_partition *partitions =
        arena_alloc_array(arena, count, sizeof *partitions);
    *m = (struct offset_commit_request){
        .group_id = bytes_of_text(group), .generation_id = -1, .member_id = bytes_of_text("")};
    m->topics = arena_alloc_array(arena, count, sizeof *m->topics);
    if (!partitions || !m->topics)
        return false;
    for (size_t i = 0; i < count; i++) {
        partitions[i] = (struct offset_commit_request_partition){list[i].partition, list[i].offset,
                                                                 -1, bytes_of_text("")};
        if (i == 0 || strcmp(list[i - 1].topic, list[i].topic) != 0)
            m->topics[m->topics_count++] = (struct offset_commit_request_topic){
                .name = bytes_of_text(list[i].topic), .partitions = &partitions[i]};
        m->topics[m->topics_count - 1].partitions_count++;
    }
    return true;
}

/* The first error of the answer. ZKC_ERR_BROKER; *is_passing: it may be another one in a while. */
static enum zkc_err find_refused(const struct offset_commit_response *m, size_t asked,
                                 bool *is_passing, struct why *why)
{
    size_t answered = 0;
    for (size_t t = 0; t < m->topics_count; t++)
        for (size_t p = 0; p < m->topics[t].partitions_count; p++) {
            const struct offset_commit_response_partition *at = &m->topics[t].partitions[p];
            answered++;
            if (!at->error_code)
                continue;
            *is_passing = at->error_code == KAFKA_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
                          at->error_code == KAFKA_ERR_COORDINATOR_NOT_AVAILABLE ||
                          at->error_code == KAFKA_ERR_NOT_COORDINATOR;
            why_set(why, "Kafka does not keep the offset of [%.*s,%" PRId32 "]: %s (%d)",
                    (int)m->topics[t].name.len, (const char *)m->topics[t].name.data,
                    at->partition_index, kafka_error_name(at->error_code), at->error_code);
            return ZKC_ERR_BROKER;
        }
    if (answered >= asked)
        return ZKC_OK;
    why_set(why, "the coordinator answered for %zu of %zu offsets", answered, asked);
    return ZKC_ERR_BROKER;
}

enum zkc_err kafka_offsets_write(struct zk_reader *r, const struct brokers *brokers,
                                 const char *group, const struct kafka_offset *list, size_t count,
                                 struct arena *arena, struct why *why)
{
    struct offset_commit_request request;
    bool is_passing = true;
    enum zkc_err err = ZKC_ERR_BROKER;
    if (!fill_commit(group, list, count, arena, &request))
        return arena->failed;
    for (int tries = 0; tries < TRIES_MAX && err == ZKC_ERR_BROKER && is_passing; tries++) {
        struct offset_commit_response answer = {0};
        struct address coordinator = {0};
        if (tries)
            poll(NULL, 0, PAUSE_MS);
        is_passing = false;
        err = find_coordinator(r, brokers, group, arena, &coordinator, why);
        if (err)
            break;
        struct broker_link *link =
            broker_link_open(coordinator.host, coordinator.port, CLIENT_ID, zk_reader_left_ms(r));
        why_set(why, "no event loop to be had");
        err = link ? broker_link_ask(link, API_OFFSET_COMMIT, 1, commit_request, &request,
                                     commit_response, &answer, arena, why)
                   : ZKC_ERR_SYSTEM;
        if (!err)
            err = find_refused(&answer, count, &is_passing, why);
        broker_link_close(link);
    }
    return err;
}
