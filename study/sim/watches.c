/* The further sessions of a member or of an observer that carry the watches which its own has no
 * room for: what consumer/watch_sessions.c is in production around core/zk/watch_spread.h, which
 * decides. In the trace they are m1.1, m1.2, ..., o1.1, .... */
#include "study/sim/world.h"
#include "zkconsumer/core/zk/watch_spread.h"
#include <assert.h>
#include <stdio.h>

#define NO_TOKEN UINT64_MAX /* sent for what it does to others */

struct further {
    struct watches *all;
    unsigned number;
    char name[NODE_NAME_SIZE + 4];
    bool is_open;
    uint32_t life; /* for which it was opened (watch_spread_life) */
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

struct watches {
    struct watches_owner owner;
    struct watches_config config;
    struct watch_spread *spread;                    /* NULL: the process does not run */
    struct further further[1 + WATCH_SESSIONS_MAX]; /* from 1 on */
    uint32_t opened;
    uint64_t turn_at_ns; /* then what is given up is closed, and what is lost is told; SIM_NEVER */
    struct asked *asked;
    size_t asked_count, asked_cap;
};

static bool runs(const struct watches *w)
{
    return w && w->spread;
}

static uint64_t now_ns(const struct watches *w)
{
    return w->owner.now_ns(w->owner.self);
}

static int64_t now_ms(const struct watches *w)
{
    return (int64_t)(now_ns(w) / SIM_MS);
}

static struct sim *world_of(const struct watches *w)
{
    return w->owner.world;
}

/* ---- operations ---- */

static bool take_asked(struct watches *w, uint64_t token, struct asked *out)
{
    for (size_t i = 0; i < w->asked_count; i++)
        if (w->asked[i].token == token) {
            *out = w->asked[i];
            w->asked[i] = w->asked[--w->asked_count];
            return true;
        }
    return false;
}

static void keep_asked(struct watches *w, struct asked asked)
{
    if (w->asked_count == w->asked_cap) {
        w->asked_cap = w->asked_cap ? w->asked_cap * 2 : 16;
        w->asked = pool_resize(&world_of(w)->pool, w->asked, w->asked_cap * sizeof *w->asked);
    }
    w->asked[w->asked_count++] = asked;
}

struct zk_client *watches_place(struct watches *w, struct zk_client *own, const struct zk_op *op,
                                uint64_t token, bool *watch)
{
    if (!runs(w) || !op->watch)
        return own;
    struct zk_paths *paths = &world_of(w)->zk.paths;
    struct asked asked = {.token = token, .type = op->type};
    asked.place = watch_spread_place(w->spread, op, now_ms(w));
    asked.path = zk_paths_id(paths, op->path);
    keep_asked(w, asked);
    *watch = asked.place.watch;
    struct further *f = &w->further[asked.place.session];
    struct zk_client *zk = asked.place.session ? &f->zk : own;
    assert(asked.place.session == 0 || f->is_open ||
           world_of(w)->config.bugs & SIM_BUG_WATCHES_OUTLIVED);
    if (asked.place.sync_first) {
        struct zk_write sync = {.what = ZK_DO_SYNC, .path = zk_paths_id(paths, "/")};
        zk_client_send(zk, ZK_DO_SYNC, &sync, false, NULL, 0, NO_TOKEN, now_ns(w));
    }
    return zk;
}

/* What the machine is told of an answer that may have come too late for its watch. */
static int rc_for_machine(struct watches *w, uint64_t token, int zk_rc, int64_t zxid)
{
    struct asked asked;
    if (!runs(w))
        return zk_rc;
    if (take_asked(w, token, &asked)) {
        const struct zk_op op = {.type = asked.type,
                                 .path = zk_path_at(&world_of(w)->zk.paths, asked.path)->text,
                                 .watch = true};
        if (!watch_spread_answered(w->spread, &asked.place, &op, zk_rc, zxid))
            zk_rc = ZK_CONNECTION_LOSS;
    }
    if (zk_rc != ZK_CONNECTION_LOSS)
        watch_spread_seen(w->spread, 0, zxid);
    return zk_rc;
}

struct zk_result watches_answered(struct watches *w, uint64_t token, int zk_rc,
                                  const struct zk_answer *a)
{
    struct zk_result result = {.zk_rc = rc_for_machine(w, token, zk_rc, a ? a->zxid : 0)};
    if (a && result.zk_rc == zk_rc)
        zk_answer_result(a, &result);
    return result;
}

/* ---- the further sessions ---- */

/* Nobody wants it, or another in its stead: it is to be closed, and nothing it says counts. */
static bool is_outlived(const struct further *f)
{
    const struct watch_spread *s = f->all->spread;
    return f->is_open && (watch_spread_state(s, f->number) == WATCH_SESSION_NONE ||
                          watch_spread_life(s, f->number) != f->life);
}

static bool counts(const struct further *f)
{
    return !is_outlived(f) || world_of(f->all)->config.bugs & SIM_BUG_WATCHES_OUTLIVED;
}

static void tell(struct further *f, struct trace_event *e)
{
    tracer_emit(&world_of(f->all)->tracer, &f->source, e);
}

static void tell_state(struct further *f, const char *state, const char *server)
{
    struct trace_event e = world_state_event(world_of(f->all), f->name, state, server);
    tell(f, &e);
}

static void on_connected(void *self, uint64_t session, int32_t timeout_ms, bool is_new,
                         const char *server)
{
    struct further *f = self;
    struct watches *w = f->all;
    const struct zk_write look = {.what = ZK_DO_EXISTS,
                                  .path = zk_paths_id(&world_of(w)->zk.paths, "/")};
    if (is_new) {
        struct trace_event e = world_session_event(world_of(w), f->name, "open", session, server);
        tell(f, &e);
    }
    tell_state(f, "connected", server);
    if (!counts(f))
        return;
    f->timeout_ms = timeout_ms;
    zk_client_send(&f->zk, ZK_DO_EXISTS, &look, false, NULL, 0, NO_TOKEN, now_ns(w));
    watch_spread_connected(w->spread, f->number, now_ms(w));
}

static void on_suspended(void *self)
{
    struct further *f = self;
    struct watches *w = f->all;
    tell_state(f, "disconnected", "");
    if (counts(f))
        watch_spread_away(w->spread, f->number, now_ms(w), f->timeout_ms / 3);
}

static void on_expired(void *self)
{
    struct further *f = self;
    struct watches *w = f->all;
    tell_state(f, "expired", "");
    if (counts(f))
        watch_spread_over(w->spread, f->number, false, now_ms(w));
}

/* Of one that was there already the deadline runs. */
static void on_unreachable(void *self)
{
    struct further *f = self;
    struct watches *w = f->all;
    if (counts(f) && watch_spread_state(w->spread, f->number) == WATCH_SESSION_OPENING)
        watch_spread_over(w->spread, f->number, true, now_ms(w));
}

static void on_result(void *self, const struct zk_pending *op, int zk_rc, const struct zk_answer *a)
{
    struct further *f = self;
    const struct watches_owner *owner = &f->all->owner;
    struct trace_event e = world_op_event(owner->world, f->name, op, zk_rc, a);
    tell(f, &e);
    if (op->token != NO_TOKEN)
        owner->answered(owner->self, op->token, zk_rc, a);
}

static void on_watch(void *self, const struct zk_answer *a)
{
    struct further *f = self;
    const struct watches_owner *owner = &f->all->owner;
    struct trace_event e = world_watch_event(owner->world, f->name, f->zk.zxid, a);
    tell(f, &e);
    struct zk_watch_event event = {.type = a->event, .path = e.zk_watch.path};
    if (owner->world->config.bugs & SIM_BUG_WATCHES_DEAF || !counts(f))
        return;
    if (watch_spread_fired(f->all->spread, f->number, &event))
        owner->fired(owner->self, &event);
}

static void on_closed(void *self)
{
    (void)self; /* nobody closes them: the server's timeout will do */
}

static const struct zk_client_ops ZK_OPS = {
    .connected = on_connected,
    .suspended = on_suspended,
    .expired = on_expired,
    .unreachable = on_unreachable,
    .result = on_result,
    .watch = on_watch,
    .closed = on_closed,
};

static void open_further(struct watches *w, struct further *f)
{
    struct sim *world = world_of(w);
    struct stream chance = stream_of(world->config.seed, w->config.chance, "watches");
    for (uint32_t i = 0; i < w->opened; i++)
        stream_next(&chance);
    w->opened++;
    f->is_open = true;
    f->life = watch_spread_life(w->spread, f->number);
    f->timeout_ms = w->config.session_timeout_ms;
    zk_client_init(&f->zk, w->owner.node(w->owner.self, f->number), &world->zk, &ZK_OPS, f,
                   f->timeout_ms, -1, chance, now_ns(w));
}

/* What is under way on it is lost. */
static void close_further(struct watches *w, struct further *f)
{
    struct asked gone;
    for (uint32_t i = 0; i < f->zk.pending_count; i++) {
        uint64_t token = f->zk.pending[(f->zk.pending_first + i) % f->zk.pending_cap].token;
        if (token == NO_TOKEN)
            continue;
        take_asked(w, token, &gone);
        w->owner.lost(w->owner.self, token);
    }
    if (f->zk.conn)
        conn_close(f->zk.conn, f->zk.node);
    zk_client_deinit(&f->zk);
    f->is_open = false;
    tell_state(f, "disconnected", "");
}

/* Opens what is wanted; what is not any more is closed when there is time for it, and only then are
 * the watches told that were lost. */
static bool settle(struct watches *w)
{
    bool must_tell = false;
    watch_spread_run(w->spread, now_ms(w));
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++)
        must_tell |= is_outlived(&w->further[k]);
    must_tell |= watch_spread_has_lost(w->spread);
    if (must_tell && w->turn_at_ns == SIM_NEVER)
        w->turn_at_ns = now_ns(w) + w->config.turn_ns;
    bool is_turn = w->turn_at_ns <= now_ns(w);
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++) {
        struct further *f = &w->further[k];
        if (is_turn && is_outlived(f))
            close_further(w, f);
        if (watch_spread_state(w->spread, k) == WATCH_SESSION_OPENING && !f->is_open)
            open_further(w, f);
    }
    return is_turn;
}

bool watches_take_lost(struct watches *w, struct zk_watch_event *event)
{
    if (!runs(w) || !settle(w))
        return false;
    if (watch_spread_take_lost(w->spread, event))
        return true;
    w->turn_at_ns = SIM_NEVER;
    return false;
}

/* ---- what the own session tells ---- */

void watches_fired(struct watches *w, const struct zk_watch_event *event)
{
    if (runs(w))
        watch_spread_fired(w->spread, 0, event);
}

void watches_own_is_over(struct watches *w)
{
    if (runs(w))
        watch_spread_over(w->spread, 0, false, now_ms(w));
}

void watches_rest(struct watches *w)
{
    if (runs(w))
        watch_spread_rest(w->spread);
}

/* ---- the process ---- */

static struct further *further_of(struct watches *w, const struct conn *c)
{
    for (unsigned k = 1; runs(w) && k <= WATCH_SESSIONS_MAX; k++)
        if (w->further[k].is_open && w->further[k].zk.conn == c)
            return &w->further[k];
    return NULL;
}

bool watches_came(struct watches *w, const struct conn *c, struct zk_answer *a)
{
    struct further *f = further_of(w, c);
    if (f)
        zk_client_came(&f->zk, a, now_ns(w));
    return f != NULL;
}

void watches_closed(struct watches *w, const struct conn *c)
{
    struct further *f = further_of(w, c);
    if (f)
        zk_client_lost(&f->zk, now_ns(w));
}

uint64_t watches_deadline_ns(const struct watches *w)
{
    if (!runs(w))
        return SIM_NEVER;
    uint64_t at = w->turn_at_ns;
    int64_t ms = watch_spread_deadline_ms(w->spread);
    uint64_t spread_at = ms == INT64_MAX ? SIM_NEVER : ms > 0 ? (uint64_t)ms * SIM_MS : 0;
    at = spread_at < at ? spread_at : at;
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++)
        if (w->further[k].is_open && zk_client_deadline_ns(&w->further[k].zk) < at)
            at = zk_client_deadline_ns(&w->further[k].zk);
    return at;
}

void watches_tick(struct watches *w)
{
    for (unsigned k = 1; runs(w) && k <= WATCH_SESSIONS_MAX; k++)
        if (w->further[k].is_open)
            zk_client_tick(&w->further[k].zk, now_ns(w));
}

uint64_t watches_session(const struct watches *w, unsigned number)
{
    return runs(w) && w->further[number].is_open ? w->further[number].zk.session : 0;
}

void watches_start(struct watches **at, const struct watches_owner *owner,
                   const struct watches_config *config)
{
    const struct watch_spread_config spread = {.packet_bytes = config->packet_bytes,
                                               .sessions_max = config->sessions_max,
                                               .look_again_ms = WATCH_LOOK_AGAIN_MS};
    if (config->packet_bytes == 0)
        return;
    if (!*at)
        *at = pool_take(&owner->world->pool, sizeof **at);
    struct watches *w = *at;
    w->owner = *owner;
    w->config = *config;
    w->asked_count = 0;
    w->turn_at_ns = SIM_NEVER;
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++) {
        struct further *f = &w->further[k];
        f->all = w;
        f->number = k;
        snprintf(f->name, sizeof f->name, "%s.%u", owner->name, k);
        f->source.name = f->name; /* counts on in the next life */
    }
    w->spread = watch_spread_new(&spread);
    if (!w->spread)
        rescue_fail(&owner->world->rescue);
}

void watches_end(struct watches *w)
{
    if (!runs(w))
        return;
    for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++) {
        if (w->further[k].is_open)
            zk_client_deinit(&w->further[k].zk);
        w->further[k].is_open = false;
    }
    watch_spread_free(w->spread);
    w->spread = NULL;
}
