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
    compat_say_state(m, out);
    if (m->state == REGISTERING) {
        compat_move(m, SUBSCRIBING);
        m->subscribing_at = 0;
        compat_send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_EXISTS, m->ids_path, out);
    } else {
        m->ev = EV_WANTS_LOCK;
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
        group_notice(out, 3, "member", ZKC_ERR_ZOOKEEPER,
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
        group_notice(out, 3, "member", ZKC_ERR_ZOOKEEPER,
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
    struct zk_registration r = {.pattern = ZK_PATTERN_STATIC,
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

/* Puts the watches one after the other: ids (exists, list), the topics (exists), and, where the
 * variant watches brokers, their list (exists, list); then the first rebalance. */
void compat_subscribe_answer(struct zk_compat *m, struct group_outputs *out)
{
    size_t topics = m->config.subscription_count;
    size_t at = ++m->subscribing_at;
    if (at == 1) {
        compat_send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_CHILDREN, m->ids_path, out);
    } else if (at < 2 + topics) {
        compat_send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_EXISTS, m->topic_paths[at - 2], out);
    } else if (m->settings.watch_brokers && at < 4 + topics) {
        m->brokers_watched = true;
        compat_send_watching(m, GROUP_LANE_REBALANCE,
                             at == 2 + topics ? ZK_OP_EXISTS : ZK_OP_CHILDREN, ZK_PATH_BROKER_IDS,
                             out);
    } else {
        compat_move(m, RUNNING);
        compat_trigger("start", out);
        compat_rebalance_begin(m, CALLER, out);
    }
}

/* ---- events ---- */

void compat_watch(struct zk_compat *m, const struct zk_watch_event *event)
{
    if (strcmp(event->path, m->ids_path) == 0) {
        event_queue_push(&m->events, EVENT_IDS, 0);
        return;
    }
    if (m->brokers_watched && strcmp(event->path, ZK_PATH_BROKER_IDS) == 0) {
        event_queue_push(&m->events, EVENT_BROKERS, 0);
        return;
    }
    for (uint32_t i = 0; i < m->config.subscription_count; i++)
        if (strcmp(event->path, m->topic_paths[i]) == 0)
            event_queue_push(&m->events, EVENT_TOPIC, i);
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
    if (m->state != SUBSCRIBING && m->state != RUNNING)
        return;
    event_queue_push(&m->events, EVENT_SESSION, 0);
    event_queue_push(&m->events, EVENT_IDS, 0);
    if (m->brokers_watched)
        event_queue_push(&m->events, EVENT_BROKERS, 0);
    for (uint32_t i = 0; i < m->config.subscription_count; i++)
        event_queue_push(&m->events, EVENT_TOPIC, i);
}

static const char *event_path(const struct zk_compat *m, const struct event *e)
{
    switch (e->kind) {
    case EVENT_IDS: return m->ids_path;
    case EVENT_BROKERS: return ZK_PATH_BROKER_IDS;
    case EVENT_TOPIC: return m->topic_paths[e->topic_index];
    case EVENT_SESSION: break;
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
    if (e->kind == EVENT_SESSION) {
        begin_session(m, out);
        return true;
    }
    m->ev = EV_EXISTS;
    compat_send_watching(m, GROUP_LANE_EVENTS, ZK_OP_EXISTS, event_path(m, e), out);
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
                     m->subscriptions[e.topic_index].topic);
        return;
    }
    m->event_flag = true;
    compat_trigger("watch", out);
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
    case EV_IDLE:
    case EV_REGISTER_WAIT:
    case EV_WANTS_LOCK:
    case EV_REBALANCING: break;
    }
    assert(!"an answer was expected by nobody");
}
