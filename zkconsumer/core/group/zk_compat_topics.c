/* What a member listens to, and the topics of a filter.
 *
 * Fixed topics: watches on ids and on each topic, once. A filter: the topics are listed before it
 * registers and again when it begins to listen; after the first rebalance the list itself is
 * watched. When what the filter allows has changed, everything is listened to again, new topics
 * included, and the event thread rebalances. Sources: WildcardStreamsHandler, reinitializeConsumer
 * and ZookeeperTopicEventWatcher of Kafka 0.8.2.2. */
#include "zkconsumer/core/group/zk_compat_parts.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

/* ---- the list ---- */

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The numbers of the names that the filter allows, sorted; entered into the book. NULL: out of
 * memory. The caller frees it. */
static uint32_t *allowed_of(struct zk_compat *m, const struct zk_result *answer, size_t *count)
{
    size_t n = answer->zk_rc == ZK_OK ? answer->children_count : 0;
    uint32_t *list = calloc(n + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < n; i++) {
        if (!zk_filter_allows(m->filter, answer->children[i]))
            continue;
        if (topic_book_add(&m->book, answer->children[i], &list[*count])) {
            free(list);
            return NULL;
        }
        ++*count;
    }
    if (list)
        qsort(list, *count, sizeof *list, by_number);
    return list;
}

/* Remembers what is allowed now. True: it differs from before. */
static bool take_allowed(struct zk_compat *m, const struct zk_result *answer,
                         struct group_outputs *out)
{
    size_t count;
    uint32_t *list = allowed_of(m, answer, &count);
    if (!list) {
        group_notice(out, 3, "member", ZKC_ERR_NOMEM,
                     "a change of the topics is not seen until the next one: out of memory");
        return false;
    }
    bool is_same = count == m->allowed_count &&
                   (count == 0 || memcmp(list, m->allowed, count * sizeof *list) == 0);
    free(m->allowed);
    m->allowed = list;
    m->allowed_count = count;
    return !is_same;
}

/* From now on these topics are listened to, besides those that have been before. */
static void listen_to(struct zk_compat *m, const struct zk_result *answer,
                      struct group_outputs *out)
{
    size_t count;
    uint32_t *list = allowed_of(m, answer, &count);
    bool ok = list && event_queue_reserve(&m->events, m->book.count);
    for (size_t i = 0; ok && i < count; i++)
        m->book.topics[list[i]].is_subscribed = true;
    if (!ok)
        group_notice(out, 3, "member", ZKC_ERR_NOMEM,
                     "changes of new topics are not seen: out of memory");
    free(list);
}

static void send_list(struct zk_compat *m, enum group_lane lane, struct group_outputs *out)
{
    struct zk_op op = {
        .type = ZK_OP_CHILDREN, .path = ZK_PATH_BROKER_TOPICS, .watch = m->topics_watched};
    compat_send(m, lane, &op, out);
}

void compat_list_begin(struct zk_compat *m, struct group_outputs *out)
{
    if (!m->filter) {
        compat_move(m, REGISTERING);
        compat_register(m, out);
        return;
    }
    compat_move(m, LISTING);
    send_list(m, GROUP_LANE_REBALANCE, out);
}

void compat_list_answer(struct zk_compat *m, const struct zk_result *answer,
                        struct group_outputs *out)
{
    take_allowed(m, answer, out);
    compat_move(m, REGISTERING);
    compat_register(m, out);
}

/* ---- listening ---- */

#define STEP_IDS 1 /* exists, list; then the topics one by one, then brokers */

/* Sends the next operation of listening: the list of topics (a filter's only), ids (exists, list),
 * the topics (exists), and, at the start, where the variant watches brokers, their list (exists,
 * list). False: that was all. */
static bool send_next(struct zk_compat *m, enum group_lane lane, struct group_outputs *out)
{
    size_t at = m->subscribing_at++;
    if (at == 0) {
        send_list(m, lane, out);
        return true;
    }
    at -= STEP_IDS;
    if (at < 2) {
        compat_send_watching(m, lane, at == 0 ? ZK_OP_EXISTS : ZK_OP_CHILDREN, m->ids_path, out);
        return true;
    }
    at -= 2;
    for (; at < m->book.count; at++, m->subscribing_at++)
        if (m->book.topics[at].is_subscribed) {
            compat_send_watching(m, lane, ZK_OP_EXISTS, m->book.topics[at].path, out);
            return true;
        }
    at -= m->book.count;
    if (m->state != SUBSCRIBING || !m->settings.watch_brokers || at >= 2)
        return false;
    m->brokers_watched = true;
    compat_send_watching(m, lane, at == 0 ? ZK_OP_EXISTS : ZK_OP_CHILDREN, ZK_PATH_BROKER_IDS, out);
    return true;
}

void compat_subscribe_begin(struct zk_compat *m, struct group_outputs *out)
{
    compat_move(m, SUBSCRIBING);
    m->subscribing_at = m->filter ? 0 : STEP_IDS;
    send_next(m, GROUP_LANE_REBALANCE, out);
}

void compat_subscribe_answer(struct zk_compat *m, const struct zk_result *answer,
                             struct group_outputs *out)
{
    if (m->subscribing_at == STEP_IDS)
        listen_to(m, answer, out);
    if (send_next(m, GROUP_LANE_REBALANCE, out))
        return;
    compat_move(m, RUNNING);
    compat_trigger("start", out);
    compat_rebalance_begin(m, CALLER, out);
}

/* ---- the watcher of all topics ---- */

static void send_step(struct zk_compat *m, enum topics_step step, struct group_outputs *out)
{
    m->topics_step = step;
    if (step == TOPICS_EXISTS)
        compat_send_watching(m, GROUP_LANE_EVENTS, ZK_OP_EXISTS, ZK_PATH_BROKER_TOPICS, out);
    else
        send_list(m, GROUP_LANE_EVENTS, out);
}

static void end_event(struct zk_compat *m)
{
    event_queue_pop(&m->events);
    m->ev = EV_IDLE;
}

static void fail_event(struct zk_compat *m, const char *what, int zk_rc, struct group_outputs *out)
{
    group_notice(out, 3, "member", ZKC_ERR_ZOOKEEPER, "%s %s: %s (%d)", what, ZK_PATH_BROKER_TOPICS,
                 zk_rc_name(zk_rc), zk_rc);
    end_event(m);
}

void compat_topics_begin(struct zk_compat *m, enum event_kind kind, struct group_outputs *out)
{
    m->ev = EV_TOPICS;
    if (kind != EVENT_WATCH_TOPICS) {
        send_step(m, TOPICS_EXISTS, out);
        return;
    }
    struct zk_op op = {.type = ZK_OP_EXISTS, .path = ZK_PATH_BROKER_TOPICS};
    m->topics_step = TOPICS_MAKE;
    compat_send(m, GROUP_LANE_EVENTS, &op, out);
}

static void watch_topics(struct zk_compat *m, struct group_outputs *out)
{
    m->topics_watched = true;
    send_step(m, TOPICS_EXISTS, out);
}

static void made(struct zk_compat *m, const struct zk_result *answer, struct group_outputs *out)
{
    struct zk_op op;
    if (answer->zk_rc != ZK_NO_NODE) {
        watch_topics(m, out);
        return;
    }
    creator_deinit(&m->topics_creator);
    if (creator_begin(&m->topics_creator, ZK_PATH_BROKER_TOPICS, BYTES_NULL, false, &op)) {
        fail_event(m, "create", ZK_SYSTEM_ERROR, out);
        return;
    }
    m->topics_step = TOPICS_CREATE;
    compat_send(m, GROUP_LANE_EVENTS, &op, out);
}

static void created(struct zk_compat *m, const struct zk_result *answer, struct group_outputs *out)
{
    struct zk_op op;
    int zk_rc;
    if (creator_next(&m->topics_creator, answer->zk_rc, &op, &zk_rc))
        compat_send(m, GROUP_LANE_EVENTS, &op, out);
    else if (zk_rc == ZK_OK || zk_rc == ZK_NODE_EXISTS)
        watch_topics(m, out);
    else
        fail_event(m, "create", zk_rc, out);
}

static void looked(struct zk_compat *m, const struct zk_result *answer, struct group_outputs *out)
{
    if (answer->zk_rc != ZK_OK) {
        fail_event(m, "getChildren", answer->zk_rc, out);
        return;
    }
    if (!take_allowed(m, answer, out)) {
        end_event(m);
        return;
    }
    group_notice(out, 6, "member", ZKC_OK, "the topics that %s allows have changed: %zu now",
                 m->subscriptions[0].topic, m->allowed_count);
    m->topics_step = TOPICS_SUBSCRIBE;
    m->subscribing_at = 0;
    send_next(m, GROUP_LANE_EVENTS, out);
}

static void subscribed(struct zk_compat *m, const struct zk_result *answer,
                       struct group_outputs *out)
{
    if (m->subscribing_at == STEP_IDS)
        listen_to(m, answer, out);
    if (send_next(m, GROUP_LANE_EVENTS, out))
        return;
    event_queue_pop(&m->events);
    compat_trigger("watch", out);
    m->ev = EV_WANTS_LOCK;
}

void compat_topics_answer(struct zk_compat *m, const struct zk_result *answer,
                          struct group_outputs *out)
{
    switch (m->topics_step) {
    case TOPICS_MAKE: made(m, answer, out); return;
    case TOPICS_CREATE: created(m, answer, out); return;
    case TOPICS_EXISTS: send_step(m, TOPICS_LIST, out); return;
    case TOPICS_LIST:
        if (m->events.list[0].kind == EVENT_TOPICS_SESSION)
            end_event(m);
        else
            send_step(m, TOPICS_LOOK, out);
        return;
    case TOPICS_LOOK: looked(m, answer, out); return;
    case TOPICS_SUBSCRIBE: subscribed(m, answer, out); return;
    }
}
