/* The shell around a viewer (core/group/zk_view.h): what it reads goes to each member's slot, and
 * the member takes it from there when it is drained. Members are drained from an item of the loop,
 * never from inside of a callback of the session: a member may end, and with the last one the
 * observer does. */
#include "zkconsumer/consumer/observer.h"
#include "zkconsumer/consumer/consumer.h"
#include "zkconsumer/consumer/watch_sessions.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/group/zk_view.h"
#include "zkconsumer/io/zk_session.h"
#include <event2/event.h>
#include <stdlib.h>

#define KEY_BYTES_MAX (16 * 1024 * 1024)

struct slot {
    zkc_consumer *member;
    bool is_due;          /* the member has not been fed `view` yet */
    struct zk_view *view; /* a reference; NULL: none, or the observer is lost */
};

struct observer {
    struct observer *next; /* of the loop */
    zkc_loop *loop;
    char *key;
    struct zk_session *session;
    struct watch_sessions *watch_sessions;
    struct zk_viewer *viewer;
    struct event *timer;      /* of the viewer */
    struct event *lost_timer; /* without a connection, until members read by themselves */
    int64_t lost_after_ms;
    struct zk_view *view; /* the last one, for members that come; a reference; NULL: none */
    bool is_lost;         /* there is none, and those that come read by themselves, too */
    struct slot *slots;
    size_t slot_count, slot_cap;
    struct loop_item tell, lose;
    bool is_telling;
    struct unsent unsent;
};

/* ---- telling members ---- */

static struct slot *slot_of(struct observer *o, const zkc_consumer *c)
{
    for (size_t i = 0; i < o->slot_count; i++)
        if (o->slots[i].member == c)
            return &o->slots[i];
    return NULL;
}

static void put(struct slot *slot, struct zk_view *view)
{
    zk_view_unref(slot->view);
    slot->view = view;
    if (view)
        zk_view_ref(view);
    slot->is_due = true;
}

static void tell_all(struct observer *o, struct zk_view *view)
{
    for (size_t i = 0; i < o->slot_count; i++)
        put(&o->slots[i], view);
    loop_post(o->loop, &o->tell);
}

static void observer_free(struct observer *o);

static zkc_consumer *next_due(struct observer *o)
{
    for (size_t i = 0; i < o->slot_count; i++)
        if (o->slots[i].is_due && !o->slots[i].member->is_feeding)
            return o->slots[i].member;
    return NULL;
}

/* A member that is drained takes what is due; it may also leave, or others may. */
static void run_tell(void *arg)
{
    struct observer *o = arg;
    zkc_consumer *c;
    o->is_telling = true;
    while ((c = next_due(o))) {
        if (c->state < CONSUMER_SESSION)
            member_drain(c);
        struct slot *slot = slot_of(o, c);
        if (slot)
            slot->is_due = false;
    }
    o->is_telling = false;
    if (o->slot_count == 0)
        observer_free(o);
}

bool observer_take_view(struct observer *o, const zkc_consumer *c, struct group_input *in)
{
    struct slot *slot = o ? slot_of(o, c) : NULL;
    if (!slot || !slot->is_due)
        return false;
    slot->is_due = false;
    *in = (struct group_input){.type = GROUP_IN_VIEW, .view = {.view = slot->view}};
    return true;
}

/* ---- the viewer ---- */

static void step(struct observer *o, struct group_input *in);

struct asked {
    struct observer *observer;
    uint32_t seq;
    struct watch_ask ask;
    char path[];
};

static void on_result(const struct zk_result *result, void *user)
{
    struct asked *asked = user;
    struct observer *o = asked->observer;
    uint32_t seq = asked->seq;
    free(asked);
    if (result->zk_rc == ZK_CLOSING) /* the observer is no more */
        return;
    watch_sessions_seen(o->watch_sessions, result);
    struct group_input in = {.type = GROUP_IN_RESULT, .result = {GROUP_LANE_VIEW, seq, result}};
    step(o, &in);
}

static void send_op(struct observer *o, const struct group_output *out)
{
    size_t len = strlen(out->op.op.path) + 1;
    struct asked *asked = o->unsent.count ? NULL : malloc(sizeof *asked + len);
    if (!asked) { /* as if the connection had been lost: the viewer sends it again */
        unsent_put(&o->unsent, out->op.seq);
        loop_post(o->loop, &o->lose);
        return;
    }
    asked->observer = o;
    asked->seq = out->op.seq;
    asked->ask.path = asked->path;
    memcpy(asked->path, out->op.op.path, len);
    watch_sessions_send(o->watch_sessions, o->session, &out->op.op, &asked->ask, on_result, asked);
}

/* What comes to be unsent in the course of it has its turn in the next. */
static void run_lose(void *arg)
{
    static const struct zk_result loss = {.zk_rc = ZK_CONNECTION_LOSS};
    struct observer *o = arg;
    uint32_t seq;
    for (uint32_t left = o->unsent.count; left > 0 && unsent_take(&o->unsent, &seq); left--) {
        struct group_input in = {.type = GROUP_IN_RESULT, .result = {GROUP_LANE_VIEW, seq, &loss}};
        step(o, &in);
    }
}

/* In the log once, as an error to all that see by it. */
static void tell(struct observer *o, const struct group_output *one)
{
    if (o->slot_count > 0)
        log_line(o->slots[0].member->log, one->notice.level, LOG_FACILITY_MEMBER, "%s",
                 one->notice.text);
    for (size_t i = 0; one->notice.err && i < o->slot_count; i++)
        consumer_error(o->slots[i].member, one->notice.err, "%s", one->notice.text);
}

static void carry_out(struct observer *o, const struct group_outputs *out)
{
    for (size_t i = 0; i < out->count; i++) {
        const struct group_output *one = &out->list[i];
        if (one->type == GROUP_OUT_OP)
            send_op(o, one);
        else if (one->type == GROUP_OUT_NOTICE)
            tell(o, one);
    }
}

static void arm(struct event *timer, int64_t at_ms)
{
    int64_t now_ms = loop_now_ms();
    int64_t ms = at_ms > now_ms ? at_ms - now_ms : 0; /* "at once" may be long ago */
    struct timeval tv = {ms / 1000, (ms % 1000) * 1000};
    if (at_ms == INT64_MAX)
        event_del(timer);
    else
        event_add(timer, &tv);
}

static void step(struct observer *o, struct group_input *in)
{
    struct group_outputs out;
    struct zk_view *view;
    in->now_ms = loop_now_ms();
    group_outputs_clear(&out);
    zk_viewer_feed(o->viewer, in, &out);
    zk_viewer_run(o->viewer, in->now_ms, &out);
    carry_out(o, &out);
    while ((view = zk_viewer_take(o->viewer))) {
        zk_view_unref(o->view);
        o->view = view;
        o->is_lost = false;
        tell_all(o, view);
        /* Taking a view may make room for the next round. */
        group_outputs_clear(&out);
        zk_viewer_run(o->viewer, in->now_ms, &out);
        carry_out(o, &out);
    }
    arm(o->timer, zk_viewer_deadline_ms(o->viewer));
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    struct group_input in = {.type = GROUP_IN_TIME};
    step(arg, &in);
}

/* ---- the session ---- */

/* Members read by themselves, until the next view. */
static void lost(struct observer *o)
{
    event_del(o->lost_timer);
    zk_view_unref(o->view);
    o->view = NULL;
    o->is_lost = true;
    tell_all(o, NULL);
}

static void on_lost_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    lost(arg);
}

static void on_event(const struct zk_session_event *event, void *user)
{
    struct observer *o = user;
    struct group_input in = {.type = GROUP_IN_DISCONNECTED};
    switch (event->type) {
    case ZK_SESSION_EVENT_CONNECTED:
        event_del(o->lost_timer);
        o->lost_after_ms = event->timeout_ms / 3;
        in = (struct group_input){.type = GROUP_IN_CONNECTED,
                                  .connected = {.session_id = event->session_id,
                                                .timeout_ms = event->timeout_ms,
                                                .is_new = event->is_new,
                                                .connect_sent_ms = event->connect_sent_ms}};
        step(o, &in);
        break;
    case ZK_SESSION_EVENT_SUSPENDED:
        arm(o->lost_timer, loop_now_ms() + o->lost_after_ms);
        step(o, &in);
        break;
    case ZK_SESSION_EVENT_EXPIRED:
        in.type = GROUP_IN_EXPIRED;
        watch_sessions_own_is_over(o->watch_sessions);
        lost(o);
        step(o, &in);
        break;
    case ZK_SESSION_EVENT_AUTH_FAILED: lost(o); break;
    case ZK_SESSION_EVENT_UNREACHABLE: break; /* the members' sessions say so */
    }
}

static void on_further_watch(const struct zk_watch_event *event, void *user)
{
    struct group_input in = {.type = GROUP_IN_WATCH, .watch = *event};
    step(user, &in);
}

static void on_watch(const struct zk_watch_event *event, void *user)
{
    struct observer *o = user;
    watch_sessions_fired(o->watch_sessions, event);
    on_further_watch(event, o);
}

static void on_session_log(int level, const char *cause, const char *text, void *user)
{
    struct observer *o = user;
    if (o->slot_count > 0)
        log_cause(o->slots[0].member->log, level, LOG_FACILITY_ZK, cause, "observer: %s", text);
}

static void on_watch_notice(bool is_news, const char *text, void *user)
{
    struct observer *o = user;
    if (o->slot_count == 0)
        return;
    log_cause(o->slots[0].member->log, 4, LOG_FACILITY_ZK, "watch sessions", "observer: %s", text);
    for (size_t i = 0; is_news && i < o->slot_count; i++)
        consumer_error(o->slots[i].member, ZKC_ERR_UNREACHABLE, "observer: %s", text);
}

/* ---- birth and death ---- */

/* Two members with the same key see the same view. NULL: out of memory. */
static char *make_key(const zkc_consumer *c, const struct zk_subscription *list, size_t count,
                      enum zk_pattern pattern)
{
    struct buf key;
    buf_init(&key, KEY_BYTES_MAX);
    buf_appendf(&key, "%s\n%s\n%s\n%d %d %d %d %d %d %d\n", c->view.zookeeper_connect,
                c->view.zookeeper_auth ? c->view.zookeeper_auth : "", c->group,
                c->view.zookeeper_session_timeout_ms, (int)pattern, c->view.exclude_internal_topics,
                c->view.sync_before_read, c->view.coalesce, c->view.jute_maxbuffer,
                c->view.watch_sessions_max);
    for (size_t i = 0; i < count; i++)
        buf_appendf(&key, "%s %d\n", list[i].topic, list[i].streams);
    const char *text = buf_text(&key);
    char *copy = text ? strdup(text) : NULL;
    buf_deinit(&key);
    return copy;
}

static void observer_free(struct observer *o)
{
    for (struct observer **at = loop_observers(o->loop); *at; at = &(*at)->next)
        if (*at == o) {
            *at = o->next;
            break;
        }
    loop_cancel(o->loop, &o->tell);
    loop_cancel(o->loop, &o->lose);
    zk_session_free(o->session); /* nothing in ZooKeeper is its own: the server's timeout will do */
    watch_sessions_free(o->watch_sessions);
    if (o->timer)
        event_free(o->timer);
    if (o->lost_timer)
        event_free(o->lost_timer);
    zk_viewer_free(o->viewer);
    zk_view_unref(o->view);
    free(o->slots);
    free(o->key);
    free(o);
}

static enum zkc_err observer_new(zkc_consumer *c, const struct zk_subscription *list, size_t count,
                                 enum zk_pattern pattern, const char *key, struct observer **out)
{
    struct event_base *base = loop_base(c->loop);
    struct observer *o = calloc(1, sizeof *o);
    if (!o)
        return ZKC_ERR_NOMEM;
    o->loop = c->loop;
    loop_item_init(&o->tell, run_tell, o);
    loop_item_init(&o->lose, run_lose, o);
    struct zk_viewer_config viewer = {.group = c->group,
                                      .pattern = pattern,
                                      .subscriptions = list,
                                      .subscription_count = count,
                                      .exclude_internal_topics = c->view.exclude_internal_topics,
                                      .sync_before_read = c->view.sync_before_read,
                                      .coalesce = c->view.coalesce};
    struct zk_session_config session = {.base = base,
                                        .resolver = loop_resolver(c->loop),
                                        .connect = c->view.zookeeper_connect,
                                        .auth = c->view.zookeeper_auth,
                                        .session_timeout_ms = c->view.zookeeper_session_timeout_ms,
                                        .packet_bytes = (size_t)c->view.jute_maxbuffer,
                                        .seed = rng_next(&c->rng),
                                        .on_event = on_event,
                                        .on_watch = on_watch,
                                        .on_log = on_session_log,
                                        .user = o};
    struct watch_sessions_config watches = {.loop = c->loop,
                                            .connect = c->view.zookeeper_connect,
                                            .auth = c->view.zookeeper_auth,
                                            .session_timeout_ms =
                                                c->view.zookeeper_session_timeout_ms,
                                            .jute_maxbuffer = c->view.jute_maxbuffer,
                                            .sessions_max = c->view.watch_sessions_max,
                                            .seed = rng_next(&c->rng),
                                            .on_watch = on_further_watch,
                                            .on_notice = on_watch_notice,
                                            .on_log = on_session_log,
                                            .user = o};
    struct why why;
    enum zkc_err err = zk_viewer_new(&viewer, &o->viewer, &why);
    o->key = strdup(key);
    o->timer = evtimer_new(base, on_timer, o);
    o->lost_timer = evtimer_new(base, on_lost_timer, o);
    if (!err && (!o->key || !o->timer || !o->lost_timer || !session.resolver ||
                 !(o->watch_sessions = watch_sessions_new(&watches)) ||
                 !(o->session = zk_session_new(&session))))
        err = ZKC_ERR_NOMEM;
    if (err) {
        observer_free(o);
        return err;
    }
    o->lost_after_ms = c->view.zookeeper_session_timeout_ms / 3;
    arm(o->lost_timer, loop_now_ms() + o->lost_after_ms); /* it may never be there */
    o->next = *loop_observers(c->loop);
    *loop_observers(c->loop) = o;
    *out = o;
    return ZKC_OK;
}

static bool add_slot(struct observer *o, zkc_consumer *c)
{
    if (o->slot_count == o->slot_cap) {
        size_t cap = o->slot_cap ? o->slot_cap * 2 : 4;
        struct slot *slots = realloc(o->slots, cap * sizeof *slots);
        if (!slots)
            return false;
        o->slots = slots;
        o->slot_cap = cap;
    }
    struct slot *slot = &o->slots[o->slot_count++];
    *slot = (struct slot){.member = c};
    if (o->view || o->is_lost) {
        put(slot, o->view);
        loop_post(o->loop, &o->tell);
    }
    return true;
}

enum zkc_err observer_join(zkc_consumer *c, const struct zk_subscription *list, size_t count,
                           enum zk_pattern pattern, struct observer **out)
{
    char *key = make_key(c, list, count, pattern);
    enum zkc_err err = key ? ZKC_OK : ZKC_ERR_NOMEM;
    struct observer *o = key ? *loop_observers(c->loop) : NULL;
    while (o && strcmp(o->key, key) != 0)
        o = o->next;
    if (!err && !o)
        err = observer_new(c, list, count, pattern, key, &o);
    if (!err && !add_slot(o, c))
        err = ZKC_ERR_NOMEM;
    free(key);
    if (!err)
        *out = o;
    else if (o && o->slot_count == 0)
        observer_free(o);
    return err;
}

void observer_leave(struct observer *o, zkc_consumer *c)
{
    struct slot *slot = o ? slot_of(o, c) : NULL;
    if (!slot)
        return;
    zk_view_unref(slot->view);
    *slot = o->slots[--o->slot_count];
    if (o->slot_count == 0 && !o->is_telling)
        observer_free(o);
}

struct watch_spread_counts observer_watches(const struct observer *o)
{
    return o ? watch_sessions_counts(o->watch_sessions) : (struct watch_spread_counts){0};
}
