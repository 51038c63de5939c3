/* The further sessions of a member that carry the watches which its own has no room for: what
 * consumer/watch_sessions.c is in production around core/zk/watch_spread.h, which decides. In the
 * trace they are m1.1, m1.2, .... */
#include "study/sim/world.h"
#include "zkconsumer/core/zk/watch_spread.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define NO_TOKEN UINT64_MAX /* sent for what it does to others */

struct further {
    struct member *member;
    unsigned number;
    char name[NODE_NAME_SIZE + 4];
    bool is_open;
    int32_t timeout_ms;
    struct zk_client zk;
    struct trace_source source;
};

struct asked {
    uint64_t token;
    struct watch_place place;
    enum zk_op_type type;
    uint32_t path;
};

struct member_watches {
    struct watch_spread *spread;                    /* NULL: the process does not run */
    struct further further[1 + WATCH_SESSIONS_MAX]; /* from 1 on */
    uint32_t opened;
    struct asked *asked;
    size_t asked_count, asked_cap;
};

static struct member_watches *running(const struct member *m)
{
    return m->watches && m->watches->spread ? m->watches : NULL;
}

static int64_t now_ms(const struct member *m)
{
    return (int64_t)(member_local_ns(m) / SIM_MS);
}

/* ---- operations ---- */

static bool take_asked(struct member_watches *w, uint64_t token, struct asked *out)
{
    for (size_t i = 0; i < w->asked_count; i++)
        if (w->asked[i].token == token) {
            *out = w->asked[i];
            w->asked[i] = w->asked[--w->asked_count];
            return true;
        }
    return false;
}

static void keep_asked(struct member *m, struct asked asked)
{
    struct member_watches *w = m->watches;
    if (w->asked_count == w->asked_cap) {
        w->asked_cap = w->asked_cap ? w->asked_cap * 2 : 16;
        w->asked = pool_resize(&m->world->pool, w->asked, w->asked_cap * sizeof *w->asked);
    }
    w->asked[w->asked_count++] = asked;
}

struct zk_client *watches_place(struct member *m, const struct zk_op *op, uint64_t token,
                                bool *watch)
{
    struct member_watches *w = running(m);
    if (!w || !op->watch)
        return &m->zk;
    struct asked asked = {.token = token, .type = op->type};
    asked.place = watch_spread_place(w->spread, op, now_ms(m));
    asked.path = zk_paths_id(&m->world->zk.paths, op->path);
    keep_asked(m, asked);
    *watch = asked.place.watch;
    struct further *f = &w->further[asked.place.session];
    assert(asked.place.session == 0 || f->is_open);
    if (asked.place.sync_first) {
        struct zk_write sync = {.what = ZK_DO_SYNC, .path = zk_paths_id(&m->world->zk.paths, "/")};
        zk_client_send(asked.place.session ? &f->zk : &m->zk, ZK_DO_SYNC, &sync, false, NULL, 0,
                       NO_TOKEN, member_local_ns(m));
    }
    return asked.place.session ? &f->zk : &m->zk;
}

int watches_answered(struct member *m, uint64_t token, int zk_rc, int64_t zxid)
{
    struct member_watches *w = running(m);
    struct asked asked;
    if (!w)
        return zk_rc;
    if (take_asked(w, token, &asked)) {
        const struct zk_op op = {.type = asked.type,
                                 .path = zk_path_at(&m->world->zk.paths, asked.path)->text,
                                 .watch = true};
        if (!watch_spread_answered(w->spread, &asked.place, &op, zk_rc, zxid))
            zk_rc = ZK_CONNECTION_LOSS;
    }
    if (zk_rc != ZK_CONNECTION_LOSS)
        watch_spread_seen(w->spread, 0, zxid);
    return zk_rc;
}

/* ---- the further sessions ---- */

static void tell(struct further *f, struct trace_event *e)
{
    tracer_emit(&f->member->world->tracer, &f->source, e);
}

static void tell_state(struct further *f, const char *state, const char *server)
{
    struct trace_event e = tracer_event(&f->member->world->tracer, TRACE_ZK_STATE, f->name);
    e.zk_state.state = state;
    e.zk_state.server = server;
    tell(f, &e);
}

static void on_connected(void *self, uint64_t session, int32_t timeout_ms, bool is_new,
                         const char *server)
{
    struct further *f = self;
    struct member *m = f->member;
    const struct zk_write look = {.what = ZK_DO_EXISTS,
                                  .path = zk_paths_id(&m->world->zk.paths, "/")};
    if (is_new) {
        struct trace_event e = tracer_event(&m->world->tracer, TRACE_ZK_SESSION, f->name);
        e.zk_session.what = "open";
        e.zk_session.session = session;
        e.zk_session.server = server;
        tell(f, &e);
    }
    tell_state(f, "connected", server);
    f->timeout_ms = timeout_ms;
    zk_client_send(&f->zk, ZK_DO_EXISTS, &look, false, NULL, 0, NO_TOKEN, member_local_ns(m));
    watch_spread_connected(m->watches->spread, f->number, now_ms(m));
}

static void on_suspended(void *self)
{
    struct further *f = self;
    tell_state(f, "disconnected", "");
    watch_spread_away(f->member->watches->spread, f->number, now_ms(f->member), f->timeout_ms / 3);
}

static void on_expired(void *self)
{
    struct further *f = self;
    tell_state(f, "expired", "");
    watch_spread_over(f->member->watches->spread, f->number, false, now_ms(f->member));
}

static void on_result(void *self, const struct zk_pending *op, int zk_rc, const struct zk_answer *a)
{
    struct further *f = self;
    struct trace_event e = world_op_event(f->member->world, f->name, op, zk_rc, a);
    tell(f, &e);
    if (op->token != NO_TOKEN)
        member_feed_answer(f->member, op->token, zk_rc, a);
}

static void on_watch(void *self, const struct zk_answer *a)
{
    struct further *f = self;
    struct member *m = f->member;
    struct trace_event e = world_watch_event(m->world, f->name, f->zk.zxid, a);
    tell(f, &e);
    struct zk_watch_event event = {.type = a->event, .path = e.zk_watch.path};
    if (watch_spread_fired(m->watches->spread, f->number, &event))
        member_feed_watch(m, &event);
}

static void on_closed(void *self)
{
    (void)self; /* nobody closes them: the server's timeout will do */
}

static const struct zk_client_ops ZK_OPS = {on_connected, on_suspended, on_expired,
                                            on_result,    on_watch,     on_closed};

static void open_further(struct member *m, struct further *f)
{
    struct sim *world = m->world;
    struct stream chance = stream_of(world->config.seed, m->whole_id, "watches");
    for (uint32_t i = 0; i < m->watches->opened; i++)
        stream_next(&chance);
    m->watches->opened++;
    f->is_open = true;
    f->timeout_ms = (int32_t)m->plan.config.session_timeout_ms;
    zk_client_init(&f->zk, &m->node, &world->zk, &ZK_OPS, f, f->timeout_ms, -1, chance,
                   member_local_ns(m));
}

/* What is under way on it is lost. */
static void close_further(struct member *m, struct further *f)
{
    struct asked gone;
    for (uint32_t i = 0; i < f->zk.pending_count; i++) {
        uint64_t token = f->zk.pending[(f->zk.pending_first + i) % f->zk.pending_cap].token;
        if (token == NO_TOKEN)
            continue;
        take_asked(m->watches, token, &gone);
        member_keep_unsent(m, token);
    }
    if (f->zk.conn)
        conn_close(f->zk.conn, &m->node);
    zk_client_deinit(&f->zk);
    f->is_open = false;
    tell_state(f, "disconnected", "");
}

static void settle(struct member *m)
{
    struct member_watches *w = m->watches;
    watch_spread_run(w->spread, now_ms(m));
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++) {
        struct further *f = &w->further[k];
        enum watch_session_state state = watch_spread_state(w->spread, k);
        if (state == WATCH_SESSION_OPENING && !f->is_open)
            open_further(m, f);
        else if (state == WATCH_SESSION_NONE && f->is_open)
            close_further(m, f);
    }
}

bool watches_take_lost(struct member *m, struct zk_watch_event *event)
{
    if (!running(m))
        return false;
    settle(m);
    return watch_spread_take_lost(m->watches->spread, event);
}

/* ---- what the own session tells ---- */

void watches_fired(struct member *m, const struct zk_watch_event *event)
{
    if (running(m))
        watch_spread_fired(m->watches->spread, 0, event);
}

void watches_own_is_over(struct member *m)
{
    if (running(m))
        watch_spread_over(m->watches->spread, 0, false, now_ms(m));
}

void watches_rest(struct member *m)
{
    if (running(m))
        watch_spread_rest(m->watches->spread);
}

/* ---- the process ---- */

static struct further *further_of(const struct member *m, const struct conn *c)
{
    for (unsigned k = 1; running(m) && k <= WATCH_SESSIONS_MAX; k++)
        if (m->watches->further[k].is_open && m->watches->further[k].zk.conn == c)
            return &m->watches->further[k];
    return NULL;
}

bool watches_came(struct member *m, const struct conn *c, struct zk_answer *a)
{
    struct further *f = further_of(m, c);
    if (f)
        zk_client_came(&f->zk, a, member_local_ns(m));
    return f != NULL;
}

void watches_closed(struct member *m, const struct conn *c)
{
    struct further *f = further_of(m, c);
    if (f)
        zk_client_lost(&f->zk, member_local_ns(m));
}

uint64_t watches_deadline_ns(const struct member *m)
{
    const struct member_watches *w = running(m);
    uint64_t at = UINT64_MAX;
    if (!w)
        return at;
    int64_t ms = watch_spread_deadline_ms(w->spread);
    if (ms != INT64_MAX)
        at = ms > 0 ? (uint64_t)ms * SIM_MS : 0;
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++)
        if (w->further[k].is_open && zk_client_deadline_ns(&w->further[k].zk) < at)
            at = zk_client_deadline_ns(&w->further[k].zk);
    return at;
}

void watches_tick(struct member *m)
{
    for (unsigned k = 1; running(m) && k <= WATCH_SESSIONS_MAX; k++)
        if (m->watches->further[k].is_open)
            zk_client_tick(&m->watches->further[k].zk, member_local_ns(m));
}

void watches_start(struct member *m)
{
    const struct sim_member_config *c = &m->plan.config;
    struct sim *world = m->world;
    if (!c->is_safe || c->watch_packet_bytes == 0)
        return;
    struct watch_spread_config config = {.packet_bytes = c->watch_packet_bytes,
                                         .sessions_max = c->watch_sessions_max,
                                         .look_again_ms = WATCH_LOOK_AGAIN_MS};
    if (!m->watches)
        m->watches = pool_take(&world->pool, sizeof *m->watches);
    struct member_watches *w = m->watches;
    w->asked_count = 0;
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++) {
        struct further *f = &w->further[k];
        f->member = m;
        f->number = k;
        snprintf(f->name, sizeof f->name, "%s.%u", m->node.name, k);
        f->source.name = f->name; /* counts on in the next life */
    }
    w->spread = watch_spread_new(&config);
    if (!w->spread)
        rescue_fail(&world->rescue);
}

void watches_end(struct member *m)
{
    struct member_watches *w = running(m);
    if (!w)
        return;
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++) {
        if (w->further[k].is_open)
            zk_client_deinit(&w->further[k].zk);
        w->further[k].is_open = false;
    }
    watch_spread_free(w->spread);
    w->spread = NULL;
}
