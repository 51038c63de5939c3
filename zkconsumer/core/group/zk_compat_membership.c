#include "zkconsumer/core/group/zk_compat_parts.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdio.h>

/* ---- registration ---- */

static enum group_lane registration_lane(const struct zk_compat *m)
{
    return m->state == REGISTERING ? GROUP_LANE_REBALANCE : GROUP_LANE_EVENTS;
}

static void registered(struct zk_compat *m, struct group_outputs *out)
{
    group_notice(out, 6, "member", ZKC_OK, "%s registered with group %s", m->consumer_id, m->group);
    m->is_registered = true;
    told_over(&m->unregistered);
    compat_say_state(m, out);
    if (m->state == REGISTERING) {
        compat_subscribe_begin(m, out);
    } else {
        m->ev = EV_WANTS_LOCK;
        compat_rebalance_news(m);
    }
}

/* 0.8.2 cannot tell its own node from another's but by the data, in which there is a time: after
 * two ends of the session in a row it may wait for a node that it has itself created in the session
 * that lives (KAFKA-1387). Another end of the session does not help: the wait is over then, and
 * that end's own registration finds the node that the waiting one has made. */
static void say_taken(struct zk_compat *m, struct group_outputs *out)
{
    long long wait_ms = m->settings.session_timeout_ms;
    if (m->registrar.holder_session != 0 && m->registrar.holder_session == m->session_id)
        group_notice(out, 3, "member",
                     told_is_news(&m->unregistered, (uint64_t)m->session_id) ? ZKC_ERR_ZOOKEEPER
                                                                             : ZKC_OK,
                     "%s exists already: it is of this very session, from a registration before "
                     "(KAFKA-1387). This member waits for its own node, and sees no change of the "
                     "group, until it is closed",
                     m->id_path);
    else
        group_notice(out, 4, "member", ZKC_OK,
                     "%s exists already, with another's data: taken for a node of an ended session "
                     "of ours; trying again in %lld ms. If this goes on, another process has the "
                     "same consumer.id",
                     m->id_path, wait_ms);
}

static void drive_registrar(struct zk_compat *m, enum registrar_step step, const struct zk_op *op,
                            int zk_rc, struct group_outputs *out)
{
    switch (step) {
    case REGISTRAR_SEND: compat_send(m, registration_lane(m), op, out); return;
    case REGISTRAR_DONE: registered(m, out); return;
    case REGISTRAR_WAIT: say_taken(m, out); break;
    case REGISTRAR_FAILED:
        group_notice(out, 3, "member",
                     told_is_news(&m->unregistered, (uint32_t)zk_rc) ? ZKC_ERR_ZOOKEEPER : ZKC_OK,
                     "registering %s: %s (%d); trying again in %lld ms", m->id_path,
                     zk_rc_name(zk_rc), zk_rc, (long long)m->settings.session_timeout_ms);
        break;
    }
    m->register_at_ms = m->now_ms + m->settings.session_timeout_ms;
    if (m->state != REGISTERING)
        m->ev = EV_REGISTER_WAIT;
}

void compat_register(struct zk_compat *m, struct group_outputs *out)
{
    char timestamp[24];
    snprintf(timestamp, sizeof timestamp, "%lld", (long long)m->wall_ms);
    struct zk_registration r = {.pattern = m->settings.pattern,
                                .subscriptions = m->subscriptions,
                                .subscription_count = m->config.subscription_count,
                                .timestamp = timestamp};
    buf_clear(&m->registration);
    zk_registration_write(&m->registration, &r);
    struct zk_op op;
    int zk_rc = ZK_SYSTEM_ERROR;
    enum registrar_step step = REGISTRAR_FAILED;
    if (!m->registration.failed)
        step = registrar_begin(&m->registrar, m->id_path, buf_bytes(&m->registration), &op, &zk_rc);
    drive_registrar(m, step, &op, zk_rc, out);
}

void compat_register_time(struct zk_compat *m, struct group_outputs *out)
{
    if (m->now_ms < m->register_at_ms)
        return;
    m->register_at_ms = INT64_MAX;
    if (m->ev == EV_REGISTER_WAIT)
        m->ev = EV_REGISTERING;
    if (m->registrar.state != REGISTRAR_WAITING) {
        compat_register(m, out);
        return;
    }
    struct zk_op op;
    int zk_rc;
    enum registrar_step step =
        registrar_begin(&m->registrar, m->id_path, buf_bytes(&m->registration), &op, &zk_rc);
    drive_registrar(m, step, &op, zk_rc, out);
}

void compat_register_answer(struct zk_compat *m, const struct zk_result *answer,
                            struct group_outputs *out)
{
    struct zk_op op;
    int zk_rc;
    enum registrar_step step = registrar_next(&m->registrar, answer, &op, &zk_rc);
    drive_registrar(m, step, &op, zk_rc, out);
}

/* ---- events ---- */

static void take_watch(struct zk_compat *m, const struct zk_watch_event *event)
{
    if (strcmp(event->path, m->ids_path) == 0) {
        event_queue_push(&m->events, EVENT_IDS, 0);
        return;
    }
    if (m->brokers_watched && strcmp(event->path, ZK_PATH_BROKER_IDS) == 0) {
        event_queue_push(&m->events, EVENT_BROKERS, 0);
        return;
    }
    if (m->topics_watched && strcmp(event->path, ZK_PATH_BROKER_TOPICS) == 0) {
        event_queue_push(&m->events, EVENT_TOPICS, 0);
        return;
    }
    uint32_t number;
    if (topic_book_find_path(&m->book, event->path, &number) &&
        m->book.topics[number].is_subscribed)
        event_queue_push(&m->events, EVENT_TOPIC, number);
}

void compat_watch(struct zk_compat *m, const struct zk_watch_event *event)
{
    size_t waiting = m->events.count;
    take_watch(m, event);
    if (m->events.count > waiting)
        compat_rebalance_news(m);
    else
        compat_rebalance_owner_event(m, event->path);
}

/* zkclient tells the new session first, then an event for everything that is listened to. */
void compat_expired(struct zk_compat *m, struct group_outputs *out)
{
    group_notice(out, 4, "member", ZKC_OK,
                 "ZK expired; release old broker parition ownership; re-register consumer %s",
                 m->consumer_id);
    if (m->is_registered) {
        m->is_registered = false;
        compat_say_state(m, out);
    }
    compat_rebalance_news(m);
    if (m->state != SUBSCRIBING && m->state != RUNNING)
        return;
    event_queue_push(&m->events, EVENT_SESSION, 0);
    if (m->topics_watched)
        event_queue_push(&m->events, EVENT_TOPICS_SESSION, 0);
    event_queue_push(&m->events, EVENT_IDS, 0);
    if (m->topics_watched)
        event_queue_push(&m->events, EVENT_TOPICS, 0);
    if (m->brokers_watched)
        event_queue_push(&m->events, EVENT_BROKERS, 0);
    for (uint32_t i = 0; i < m->book.count; i++)
        if (m->book.topics[i].is_subscribed)
            event_queue_push(&m->events, EVENT_TOPIC, i);
}

static const char *event_path(const struct zk_compat *m, const struct event *e)
{
    switch (e->kind) {
    case EVENT_IDS: return m->ids_path;
    case EVENT_BROKERS: return ZK_PATH_BROKER_IDS;
    case EVENT_TOPIC: return m->book.topics[e->topic_index].path;
    case EVENT_SESSION:
    case EVENT_TOPICS_SESSION:
    case EVENT_WATCH_TOPICS:
    case EVENT_TOPICS: break;
    }
    return NULL;
}

/* What the ended session owned is forgotten, and may be another's already. */
static void begin_session(struct zk_compat *m, struct group_outputs *out)
{
    event_queue_pop(&m->events);
    m->lost = m->lost || m->owned_count > 0;
    m->owned_count = 0;
    attempt_session_ended(&m->attempt);
    committer_drop_waiting(&m->committer);
    m->ev = EV_REGISTERING;
    compat_trigger("expired", out);
    compat_register(m, out);
}

bool compat_event_begin(struct zk_compat *m, struct group_outputs *out)
{
    if (m->ev != EV_IDLE || m->events.count == 0)
        return false;
    const struct event *e = &m->events.list[0];
    switch (e->kind) {
    case EVENT_SESSION: begin_session(m, out); break;
    case EVENT_WATCH_TOPICS:
    case EVENT_TOPICS:
    case EVENT_TOPICS_SESSION: compat_topics_begin(m, e->kind, out); break;
    case EVENT_IDS:
    case EVENT_BROKERS:
    case EVENT_TOPIC:
        m->ev = EV_EXISTS;
        compat_send_watching(m, GROUP_LANE_EVENTS, ZK_OP_EXISTS, event_path(m, e), out);
        break;
    }
    return true;
}

/* Both operations of the event are done. */
static void end_event(struct zk_compat *m, const struct zk_result *answer,
                      struct group_outputs *out)
{
    struct event e = event_queue_pop(&m->events);
    m->ev = EV_IDLE;
    if (e.kind == EVENT_TOPIC && answer->zk_rc == ZK_NO_NODE) {
        group_notice(out, 4, "member", ZKC_OK,
                     "topic %s was deleted; its partitions stay claimed until the next rebalance",
                     m->book.topics[e.topic_index].name);
        return;
    }
    compat_trigger("watch", out);
    if (m->config.switches.each_event)
        m->ev = EV_WANTS_LOCK;
    else
        m->event_flag = true;
}

void compat_event_answer(struct zk_compat *m, const struct zk_result *answer,
                         struct group_outputs *out)
{
    switch (m->ev) {
    case EV_REGISTERING: compat_register_answer(m, answer, out); return;
    case EV_EXISTS:
        m->ev = EV_READING;
        compat_send_watching(m, GROUP_LANE_EVENTS,
                             m->events.list[0].kind == EVENT_TOPIC ? ZK_OP_GET : ZK_OP_CHILDREN,
                             event_path(m, &m->events.list[0]), out);
        return;
    case EV_READING: end_event(m, answer, out); return;
    case EV_TOPICS: compat_topics_answer(m, answer, out); return;
    case EV_IDLE:
    case EV_REGISTER_WAIT:
    case EV_WANTS_LOCK:
    case EV_REBALANCING: break;
    }
    assert(!"an answer was expected by nobody");
}
