#include "zkconsumer/consumer/lookup.h"
#include "zkconsumer/consumer/time_query.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include <event2/event.h>
#include <stdlib.h>

struct lookup {
    struct lookup *next;
    zkc_consumer *consumer;
    struct lookup_call call;
    struct time_query *query; /* NULL: none is under way */
    struct event *again;
};

static void lookup_free(struct lookup *l)
{
    time_query_free(l->query);
    if (l->again)
        event_free(l->again);
    free(l);
}

static void take_out(struct lookup *l)
{
    struct lookup **at = &l->consumer->lookups;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
}

static void end(struct lookup *l, enum zkc_err err)
{
    take_out(l);
    loop_wait_end(l->call.wait, err);
    lookup_free(l);
}

static void try_later(struct lookup *l)
{
    int ms = l->consumer->view.refresh_leader_backoff_ms;
    struct timeval tv = {ms / 1000, (ms % 1000) * 1000};
    event_add(l->again, &tv);
}

/* What a new leader, or the same one a little later, may answer better. */
static bool is_passing(const struct time_query_answer *a)
{
    if (a->err != ZKC_ERR_BROKER)
        return a->err == ZKC_ERR_UNREACHABLE || a->err == ZKC_ERR_TIMED_OUT;
    return a->kafka_error == KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION ||
           a->kafka_error == KAFKA_ERR_LEADER_NOT_AVAILABLE ||
           a->kafka_error == KAFKA_ERR_NOT_LEADER_OR_FOLLOWER;
}

static void answered(const struct time_query_answer *a, void *user)
{
    struct lookup *l = user;
    l->query = NULL;
    if (a->err)
        log_cause(l->consumer->log, 4, LOG_FACILITY_FETCH, "offsets by time",
                  "offsets by time of [%s,%d]: %s", l->call.topic, l->call.partition, a->text);
    if (is_passing(a)) {
        try_later(l);
        return;
    }
    *l->call.count = 0;
    for (size_t i = 0; !a->err && i < a->count && i < l->call.count_max; i++)
        l->call.offsets[(*l->call.count)++] = a->offsets[i];
    if (l->call.is_exact)
        *l->call.is_exact = a->is_exact;
    end(l, a->err);
}

static void ask(struct lookup *l)
{
    zkc_consumer *c = l->consumer;
    struct time_query_ask ask = {.topic = l->call.topic,
                                 .partition = l->call.partition,
                                 .time_ms = l->call.time_ms,
                                 .count_max = (int32_t)l->call.count_max,
                                 .wants_exact = l->call.wants_exact};
    if (!c->fetching || c->state >= CONSUMER_CLOSING) {
        end(l, ZKC_ERR_CLOSED);
        return;
    }
    if (fetching_leader(c->fetching, l->call.topic, l->call.partition, &ask.host, &ask.port)) {
        end(l, ZKC_ERR_NOT_OWNED);
        return;
    }
    if (ask.host)
        l->query = time_query_start(&c->dial, &ask, answered, l);
    if (!l->query)
        try_later(l);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    ask(arg);
}

enum zkc_err lookup_start(zkc_consumer *c, const struct lookup_call *call)
{
    const char *host;
    int32_t port;
    if (fetching_leader(c->fetching, call->topic, call->partition, &host, &port))
        return ZKC_ERR_NOT_OWNED;
    struct lookup *l = calloc(1, sizeof *l);
    if (!l)
        return ZKC_ERR_NOMEM;
    *l = (struct lookup){.next = c->lookups, .consumer = c, .call = *call};
    l->again = evtimer_new(loop_base(c->loop), on_again, l);
    if (!l->again) {
        free(l);
        return ZKC_ERR_NOMEM;
    }
    c->lookups = l;
    ask(l);
    return ZKC_OK;
}

void lookup_forget(zkc_consumer *c, const struct loop_wait *wait)
{
    for (struct lookup *l = c->lookups; l; l = l->next)
        if (l->call.wait == wait) {
            take_out(l);
            lookup_free(l);
            return;
        }
}

void lookup_end_all(zkc_consumer *c)
{
    while (c->lookups)
        end(c->lookups, ZKC_ERR_CLOSED);
}
