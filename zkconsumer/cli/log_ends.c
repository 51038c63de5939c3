#include "zkconsumer/cli/log_ends.h"
#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/io/broker_connection.h"
#include "zkconsumer/io/resolver.h"
#include <event2/event.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX ((size_t)64 << 20)

struct asking {
    struct event_base *base;
    struct resolver *resolver;
    struct arena *arena;
    int64_t time;
    int64_t timeout_ms;
    size_t open; /* brokers that have not answered yet */
};

/* The partitions of one leader: a run of the list. */
struct leader {
    struct asking *asking;
    const struct broker *broker;
    struct log_end *list;
    size_t count;
    struct broker_connection *connection;
};

static int by_leader(const void *a, const void *b)
{
    const struct log_end *x = a, *y = b;
    if (x->leader != y->leader)
        return x->leader < y->leader ? -1 : 1;
    return topic_partition_compare((struct topic_partition){x->topic, x->partition},
                                   (struct topic_partition){y->topic, y->partition});
}

static void set_missing(struct asking *a, struct log_end *list, size_t count, enum zkc_err err,
                        const char *fmt, ...) ZKC_PRINTF(5, 6);
static void set_missing(struct asking *a, struct log_end *list, size_t count, enum zkc_err err,
                        const char *fmt, ...)
{
    char *text = arena_alloc(a->arena, WHY_SIZE);
    va_list args;
    va_start(args, fmt);
    if (text)
        vsnprintf(text, WHY_SIZE, fmt, args);
    va_end(args);
    for (size_t i = 0; i < count; i++) {
        list[i].err = err;
        list[i].missing = text;
    }
}

/* ---- the request ---- */

static size_t topic_count(const struct leader *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        n += i == 0 || strcmp(l->list[i - 1].topic, l->list[i].topic) != 0;
    return n;
}

/* The list is in order of topics, so that each of them is a run of it. */
static bool fill_request(struct leader *l, struct list_offsets_request *m)
{
    struct arena *arena = l->asking->arena;
    *m = (struct list_offsets_request){.replica_id = -1};
    struct list_offsets_request_partition *partitions =
        arena_alloc_array(arena, l->count, sizeof *partitions);
    m->topics = arena_alloc_array(arena, topic_count(l), sizeof *m->topics);
    if (!partitions || !m->topics)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        partitions[i] = (struct list_offsets_request_partition){
            .partition_index = l->list[i].partition,
            .timestamp = l->asking->time,
            .max_num_offsets = 1,
        };
        if (i == 0 || strcmp(l->list[i - 1].topic, l->list[i].topic) != 0)
            m->topics[m->topics_count++] = (struct list_offsets_request_topic){
                .name = bytes_of_text(l->list[i].topic), .partitions = &partitions[i]};
        m->topics[m->topics_count - 1].partitions_count++;
    }
    return true;
}

/* ---- the answer ---- */

static struct log_end *find(struct leader *l, struct bytes topic, int32_t partition)
{
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct log_end *e = &l->list[middle];
        int order = bytes_compare(bytes_of_text(e->topic), topic);
        if (order == 0)
            order = (e->partition > partition) - (e->partition < partition);
        if (order == 0)
            return e;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void take_partition(struct leader *l, struct bytes topic,
                           const struct list_offsets_response_partition *p)
{
    struct log_end *e = find(l, topic, p->partition_index);
    if (!e)
        return; /* not asked for */
    if (p->error_code) {
        set_missing(l->asking, e, 1, ZKC_ERR_BROKER, "broker %" PRId32 ": %s (%d)", l->broker->id,
                    kafka_error_name(p->error_code), p->error_code);
    } else if (p->old_style_offsets_count == 0) {
        set_missing(l->asking, e, 1, ZKC_ERR_OFFSET_RANGE,
                    "broker %" PRId32 " has no offset of that time", l->broker->id);
    } else {
        e->offset = p->old_style_offsets[0];
        e->err = ZKC_OK;
        e->missing = NULL;
    }
}

static void take_answer(struct leader *l, struct bytes body)
{
    struct wire_codec c;
    struct list_offsets_response m = {0};
    wire_codec_read(&c, 0, body, l->asking->arena);
    list_offsets_response_fields(&c, &m);
    enum zkc_err err = wire_codec_end(&c);
    if (err) {
        set_missing(l->asking, l->list, l->count, err, "broker %" PRId32 ": %s", l->broker->id,
                    c.reason);
        return;
    }
    set_missing(l->asking, l->list, l->count, ZKC_ERR_PROTOCOL,
                "broker %" PRId32 " left it out of its answer", l->broker->id);
    for (size_t t = 0; t < m.topics_count; t++)
        for (size_t p = 0; p < m.topics[t].partitions_count; p++)
            take_partition(l, m.topics[t].name, &m.topics[t].partitions[p]);
}

static void on_response(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                        void *user)
{
    struct leader *l = user;
    (void)frame;
    l->asking->open--;
    if (err)
        set_missing(l->asking, l->list, l->count, err, "broker %" PRId32 ": %s", l->broker->id,
                    text);
    else
        take_answer(l, body);
}

/* ---- all leaders ---- */

static enum zkc_err send_request(struct leader *l)
{
    struct list_offsets_request m;
    if (!fill_request(l, &m))
        return l->asking->arena->failed;
    struct buf body;
    struct wire_codec c;
    buf_init(&body, ANSWER_BYTES_MAX);
    wire_codec_write(&c, 0, &body);
    list_offsets_request_fields(&c, &m);
    enum zkc_err err = wire_codec_end(&c);
    if (!err)
        err = broker_connection_send(l->connection, API_LIST_OFFSETS, 0, buf_bytes(&body),
                                     on_response, l);
    buf_deinit(&body);
    return err;
}

static enum zkc_err ask(struct leader *l)
{
    struct broker_connection_config config = {
        .base = l->asking->base,
        .resolver = l->asking->resolver,
        .host = l->broker->host,
        .port = l->broker->port,
        .client_id = "zkconsumer",
        .request_timeout_ms = l->asking->timeout_ms,
        .backoff_ms = 100,
        .backoff_max_ms = 1000,
        .response_bytes_max = ANSWER_BYTES_MAX,
        .send_bytes_max = ANSWER_BYTES_MAX,
        .requests_max = 1,
        .seed = 1, /* of the pause before a second connection; there is none */
    };
    l->connection = broker_connection_new(&config);
    enum zkc_err err = l->connection ? send_request(l) : ZKC_ERR_NOMEM;
    l->asking->open += err == ZKC_OK;
    return err;
}

/* The leader's partitions, or why they cannot be asked for. */
static bool find_broker(struct asking *a, struct leader *l, const struct brokers *brokers)
{
    int32_t id = l->list[0].leader;
    if (id < 0) {
        set_missing(a, l->list, l->count, ZKC_ERR_BROKER, "it has no leader at the moment");
        return false;
    }
    l->broker = brokers_find(brokers, id);
    if (!l->broker)
        set_missing(a, l->list, l->count, ZKC_ERR_UNREACHABLE,
                    "its leader, broker %" PRId32 ", is not registered", id);
    else if (!l->broker->host)
        set_missing(a, l->list, l->count, ZKC_ERR_UNREACHABLE, "broker %" PRId32 ": %s", id,
                    l->broker->problem);
    return l->broker && l->broker->host;
}

static enum zkc_err ask_all(struct asking *a, const struct brokers *brokers, struct log_end *list,
                            size_t count, struct leader *leaders)
{
    size_t leader_count = 0;
    enum zkc_err err = ZKC_OK;
    for (size_t i = 0; !err && i < count;) {
        struct leader *l = &leaders[leader_count];
        *l = (struct leader){.asking = a, .list = &list[i]};
        while (i < count && list[i].leader == l->list[0].leader) {
            l->count++;
            i++;
        }
        if (!find_broker(a, l, brokers))
            continue;
        leader_count++;
        err = ask(l);
    }
    while (!err && a->open > 0 && event_base_loop(a->base, EVLOOP_ONCE) == 0)
        ;
    for (size_t i = 0; i < leader_count; i++)
        broker_connection_close(leaders[i].connection);
    return err ? err : a->arena->failed;
}

enum zkc_err log_ends_read(const struct brokers *brokers, struct log_end *list, size_t count,
                           int64_t time, int64_t timeout_ms, struct arena *arena)
{
    struct asking a = {.arena = arena, .time = time, .timeout_ms = timeout_ms > 0 ? timeout_ms : 1};
    struct leader *leaders = arena_alloc_array(arena, count, sizeof *leaders);
    if (!leaders)
        return arena->failed;
    for (size_t i = 0; i < count; i++)
        list[i].offset = -1;
    qsort(list, count, sizeof *list, by_leader);
    a.base = event_base_new();
    a.resolver = a.base ? resolver_new(a.base) : NULL;
    enum zkc_err err = a.resolver ? ask_all(&a, brokers, list, count, leaders) : ZKC_ERR_SYSTEM;
    if (a.base) {
        resolver_free(a.resolver);
        event_base_loop(a.base, EVLOOP_NONBLOCK); /* libevent's resolver cleans up in it */
        event_base_free(a.base);
    }
    return err;
}
