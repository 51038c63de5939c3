#include "zkconsumer/consumer/leader_query.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/metadata.h"
#include <event2/event.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX (64 * 1024 * 1024)
#define ARENA_BYTES_MAX  (64 * 1024 * 1024)

struct leader_query {
    struct dial *dial;
    struct broker_connection *connection; /* NULL: nothing is asked */
    uint32_t seq;
    leader_query_fn *fn; /* NULL: nobody waits for the answer */
    void *user;
    struct event *failed; /* sending failed: told from the loop */
};

static void end(struct leader_query *q, const char *failure, const struct group_leader *list,
                size_t count)
{
    struct broker_connection *connection = q->connection;
    leader_query_fn *fn = q->fn;
    q->connection = NULL;
    q->fn = NULL;
    if (fn)
        fn(q->seq, failure, list, count, q->user);
    broker_connection_close(connection);
}

static const struct metadata_broker *broker_of(const struct metadata_response *m, int32_t id)
{
    for (size_t i = 0; i < m->brokers_count; i++)
        if (m->brokers[i].node_id == id)
            return &m->brokers[i];
    return NULL;
}

/* The leaders that an answer names, in the arena. */
static struct group_leader *leaders_of(struct arena *arena, const struct metadata_response *m,
                                       size_t *count)
{
    size_t total = 0;
    for (size_t i = 0; i < m->topics_count; i++)
        total += m->topics[i].partitions_count;
    struct group_leader *list = arena_alloc_array(arena, total, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < m->topics_count; i++) {
        const char *topic = arena_text(arena, m->topics[i].name);
        for (size_t k = 0; topic && k < m->topics[i].partitions_count; k++) {
            const struct metadata_partition *p = &m->topics[i].partitions[k];
            const struct metadata_broker *b = broker_of(m, p->leader_id);
            if (!b || !b->host.data)
                continue;
            const char *host = arena_text(arena, b->host);
            if (host)
                list[(*count)++] =
                    (struct group_leader){topic, p->partition_index, p->leader_id, host, b->port};
        }
    }
    return arena->failed ? NULL : list;
}

static void answered(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                     void *user)
{
    (void)frame;
    struct leader_query *q = user;
    if (!q->fn || err == ZKC_ERR_CLOSED)
        return;
    if (err) {
        end(q, text, NULL, 0);
        return;
    }
    struct arena arena;
    struct wire_codec c;
    struct metadata_response m = {0};
    struct group_leader *list = NULL;
    struct why why;
    size_t count = 0;
    arena_init(&arena, ARENA_BYTES_MAX);
    wire_codec_read(&c, 0, body, &arena);
    metadata_response_fields(&c, &m);
    if (wire_codec_end(&c) == ZKC_OK)
        list = leaders_of(&arena, &m, &count);
    why_set(&why, "metadata of %s: %s", broker_connection_name(q->connection),
            c.reason[0] ? c.reason : "out of memory");
    end(q, list ? NULL : why.text, list, count);
    arena_deinit(&arena);
}

static void on_failed(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    end(arg, "the question could not be sent: out of memory or descriptors", NULL, 0);
}

static enum zkc_err write_request(struct buf *out, const char *const *topics, size_t topic_count)
{
    struct wire_codec c;
    struct metadata_request m = {.topics = calloc(topic_count + 1, sizeof *m.topics)};
    if (!m.topics)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < topic_count; i++)
        m.topics[m.topics_count++].name = bytes_of_text(topics[i]);
    wire_codec_write(&c, 0, out);
    metadata_request_fields(&c, &m);
    free(m.topics);
    return wire_codec_end(&c);
}

void leader_query_ask(struct leader_query *q, uint32_t seq, const char *host, int32_t port,
                      const char *const *topics, size_t topic_count, leader_query_fn *fn,
                      void *user)
{
    q->fn = NULL;
    end(q, NULL, NULL, 0);
    q->seq = seq;
    q->fn = fn;
    q->user = user;
    struct buf body;
    buf_init(&body, DIAL_REQUEST_BYTES_MAX);
    enum zkc_err err = write_request(&body, topics, topic_count);
    if (!err) {
        q->connection = dial_broker(q->dial, host, port, ANSWER_BYTES_MAX);
        err = q->connection ? ZKC_OK : ZKC_ERR_NOMEM;
    }
    if (!err)
        err = broker_connection_send(q->connection, API_METADATA, 0, buf_bytes(&body), answered, q);
    buf_deinit(&body);
    if (err)
        event_active(q->failed, EV_TIMEOUT, 1);
}

struct leader_query *leader_query_new(struct dial *dial)
{
    struct leader_query *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->dial = dial;
    q->failed = event_new(dial->base, -1, 0, on_failed, q);
    if (!q->failed) {
        free(q);
        return NULL;
    }
    return q;
}

void leader_query_free(struct leader_query *q)
{
    if (!q)
        return;
    q->fn = NULL;
    end(q, NULL, NULL, 0);
    event_free(q->failed);
    free(q);
}
