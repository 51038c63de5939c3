#include "zkconsumer/core/zk/watch_spread.h"
#include <assert.h>
#include <stdlib.h>

#define UNWATCHED     UINT32_MAX /* no session carries it */
#define BUCKETS_MIN   64
#define PATH_BYTES    4   /* the length before each path in a packet */
#define PACKET_BYTES  256 /* what else is in it, generously */
#define CHILDREN_MARK 0x9e3779b97f4a7c15u

enum kind { NODE, CHILDREN };

/* A path that was read under a watch. */
struct entry {
    struct entry *next; /* of the bucket, or of those lost */
    uint32_t session;
    enum kind kind;
    bool stands; /* the watch was left, and has not fired; without one: was read */
    bool is_due; /* without a watch: to be looked at again once what is under way is answered */
    unsigned under_way; /* reads */
    size_t len;         /* of the path */
    char path[];
};

struct session {
    enum watch_session_state state;
    uint32_t life; /* counts how often it was wanted */
    size_t count, bytes;
    int64_t until_ms;  /* OPENING, AWAY: it is waited for so long */
    int64_t retire_ms; /* when it is given up as not needed; INT64_MAX: it is needed */
    int64_t seen;      /* the last transaction it has shown, or was told to catch up with */
};

struct watch_spread {
    struct watch_spread_config config;
    struct entry **buckets;
    size_t bucket_count, count;
    struct session sessions[1 + WATCH_SESSIONS_MAX];
    size_t unwatched;
    int64_t look_again_at_ms; /* at those that are not watched; INT64_MAX: there are none */
    int64_t retry_at_ms;      /* no further session is opened before */
    bool is_refused;          /* the last that was to be opened could not be had */
    bool is_overdue;          /* that is to be told: it was not there in time */
    int64_t seen;             /* the last transaction of any session */
    struct entry *lost, *told;
};

struct watch_spread *watch_spread_new(const struct watch_spread_config *config)
{
    struct watch_spread *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->buckets = calloc(BUCKETS_MIN, sizeof(struct entry *));
    if (!s->buckets) {
        free(s);
        return NULL;
    }
    s->config = *config;
    assert(config->sessions_max <= WATCH_SESSIONS_MAX);
    s->bucket_count = BUCKETS_MIN;
    s->look_again_at_ms = INT64_MAX;
    s->retry_at_ms = INT64_MIN;
    for (unsigned k = 0; k <= WATCH_SESSIONS_MAX; k++)
        s->sessions[k].until_ms = s->sessions[k].retire_ms = INT64_MAX;
    s->sessions[0].state = WATCH_SESSION_UP;
    return s;
}

static void free_list(struct entry *e)
{
    while (e) {
        struct entry *next = e->next;
        free(e);
        e = next;
    }
}

void watch_spread_free(struct watch_spread *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->bucket_count; i++)
        free_list(s->buckets[i]);
    free_list(s->lost);
    free(s->told);
    free(s->buckets);
    free(s);
}

/* ---- the table ---- */

static uint64_t hash_of(enum kind kind, const char *path) /* FNV-1a */
{
    uint64_t hash = 0xcbf29ce484222325u ^ (kind == CHILDREN ? CHILDREN_MARK : 0);
    for (const char *p = path; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 0x100000001b3u;
    return hash;
}

static struct entry **bucket_of(const struct watch_spread *s, enum kind kind, const char *path)
{
    return &s->buckets[hash_of(kind, path) & (s->bucket_count - 1)];
}

/* What points to it, or, at the end of the bucket, would. */
static struct entry **link_of(const struct watch_spread *s, enum kind kind, const char *path)
{
    struct entry **at = bucket_of(s, kind, path);
    while (*at && ((*at)->kind != kind || strcmp((*at)->path, path) != 0))
        at = &(*at)->next;
    return at;
}

static void grow(struct watch_spread *s) /* without memory for it, buckets are longer */
{
    struct watch_spread larger = *s;
    larger.bucket_count = s->bucket_count * 2;
    larger.buckets = calloc(larger.bucket_count, sizeof(struct entry *));
    if (!larger.buckets)
        return;
    for (size_t i = 0; i < s->bucket_count; i++)
        for (struct entry *e = s->buckets[i], *next; e; e = next) {
            next = e->next;
            struct entry **at = bucket_of(&larger, e->kind, e->path);
            e->next = *at;
            *at = e;
        }
    free(s->buckets);
    s->buckets = larger.buckets;
    s->bucket_count = larger.bucket_count;
}

static size_t bytes_of_entry(const struct watch_spread *s, size_t path_len)
{
    return PATH_BYTES + s->config.chroot_bytes + path_len;
}

static void count_in(struct watch_spread *s, const struct entry *e)
{
    s->unwatched += e->session == UNWATCHED;
    if (e->session == UNWATCHED)
        return;
    s->sessions[e->session].count++;
    s->sessions[e->session].bytes += bytes_of_entry(s, e->len);
}

static void count_out(struct watch_spread *s, const struct entry *e)
{
    s->unwatched -= e->session == UNWATCHED;
    if (e->session == UNWATCHED)
        return;
    s->sessions[e->session].count--;
    s->sessions[e->session].bytes -= bytes_of_entry(s, e->len);
}

/* NULL: out of memory. */
static struct entry *add(struct watch_spread *s, enum kind kind, const char *path, uint32_t session)
{
    if (s->count >= s->bucket_count)
        grow(s);
    size_t len = strlen(path);
    struct entry *e = malloc(sizeof *e + len + 1);
    if (!e)
        return NULL;
    *e = (struct entry){.session = session, .kind = kind, .len = len};
    memcpy(e->path, path, len + 1);
    struct entry **at = bucket_of(s, kind, path);
    e->next = *at;
    *at = e;
    s->count++;
    count_in(s, e);
    return e;
}

static struct entry *unlink_entry(struct watch_spread *s, struct entry **at)
{
    struct entry *e = *at;
    *at = e->next;
    s->count--;
    count_out(s, e);
    return e;
}

/* ---- room ---- */

/* What a session may carry: a further one nearly a packet; the own one of what others could carry
 * half, for what must be told by it comes on top. */
static size_t room_of(const struct watch_spread *s, unsigned session, bool may_move)
{
    size_t packet =
        s->config.packet_bytes > PACKET_BYTES ? s->config.packet_bytes - PACKET_BYTES : 0;
    return session == 0 && may_move ? packet / 2 : packet - packet / 8;
}

static bool has_room(const struct watch_spread *s, unsigned session, bool may_move, size_t bytes)
{
    return s->sessions[session].bytes + bytes <= room_of(s, session, may_move);
}

static void want_session(struct watch_spread *s, unsigned k, int64_t now_ms)
{
    s->sessions[k] = (struct session){.state = WATCH_SESSION_OPENING,
                                      .life = s->sessions[k].life + 1,
                                      .until_ms = now_ms + s->config.look_again_ms,
                                      .retire_ms = INT64_MAX};
}

/* The first session that takes it. While one is being opened the rest goes without: it is looked at
 * again as soon as that is there. */
static uint32_t choose(struct watch_spread *s, bool may_move, size_t bytes, int64_t now_ms)
{
    unsigned closed = 0;
    if (has_room(s, 0, may_move, bytes))
        return 0;
    for (unsigned k = 1; may_move && k <= s->config.sessions_max; k++) {
        enum watch_session_state state = s->sessions[k].state;
        if (state == WATCH_SESSION_UP && has_room(s, k, may_move, bytes))
            return k;
        if (state == WATCH_SESSION_OPENING)
            return UNWATCHED;
        if (state == WATCH_SESSION_NONE && closed == 0)
            closed = k;
    }
    bool fits = bytes <= room_of(s, 1, may_move);
    if (may_move && closed && fits && now_ms >= s->retry_at_ms)
        want_session(s, closed, now_ms);
    return UNWATCHED;
}

/* ---- losing ---- */

static void lose(struct watch_spread *s, struct entry **at)
{
    struct entry *e = unlink_entry(s, at);
    if (!e->stands) { /* its read tells */
        free(e);
        return;
    }
    e->next = s->lost;
    s->lost = e;
}

static void lose_all_of(struct watch_spread *s, uint32_t session)
{
    for (size_t i = 0; i < s->bucket_count; i++)
        for (struct entry **at = &s->buckets[i]; *at;)
            if ((*at)->session == session)
                lose(s, at);
            else
                at = &(*at)->next;
}

static void forget_all_of(struct watch_spread *s, uint32_t session)
{
    for (size_t i = 0; i < s->bucket_count; i++)
        for (struct entry **at = &s->buckets[i]; *at;)
            if ((*at)->session == session)
                free(unlink_entry(s, at));
            else
                at = &(*at)->next;
}

/* At all that is not watched. */
static void look_again(struct watch_spread *s)
{
    s->look_again_at_ms = INT64_MAX;
    for (size_t i = 0; i < s->bucket_count; i++)
        for (struct entry **at = &s->buckets[i]; *at;) {
            struct entry *e = *at;
            if (e->session == UNWATCHED && e->under_way == 0) {
                lose(s, at);
                continue;
            }
            e->is_due |= e->session == UNWATCHED;
            at = &e->next;
        }
}

static void end_session(struct watch_spread *s, unsigned k)
{
    lose_all_of(s, k);
    s->sessions[k] = (struct session){.state = WATCH_SESSION_NONE,
                                      .life = s->sessions[k].life,
                                      .until_ms = INT64_MAX,
                                      .retire_ms = INT64_MAX};
}

bool watch_spread_take_lost(struct watch_spread *s, struct zk_watch_event *event)
{
    free(s->told);
    s->told = s->lost;
    if (!s->told)
        return false;
    s->lost = s->told->next;
    event->type = ZK_EVENT_WATCH_LOST;
    event->path = s->told->path;
    return true;
}

bool watch_spread_has_lost(const struct watch_spread *s)
{
    return s->lost != NULL;
}

/* ---- reads ---- */

static enum kind kind_of(enum zk_op_type type)
{
    return type == ZK_OP_CHILDREN ? CHILDREN : NODE;
}

static bool has_further(const struct watch_spread *s)
{
    for (unsigned k = 1; k <= s->config.sessions_max; k++)
        if (s->sessions[k].state != WATCH_SESSION_NONE)
            return true;
    return false;
}

/* The session is away: its watch, when it fires, is nobody's any more. */
static void move_to(struct watch_spread *s, struct entry *e, uint32_t session)
{
    count_out(s, e);
    e->session = session;
    e->stands = e->is_due = false;
    e->under_way = 0;
    count_in(s, e);
}

static struct entry *entry_for(struct watch_spread *s, const struct zk_op *op, int64_t now_ms)
{
    enum kind kind = kind_of(op->type);
    struct entry *e = *link_of(s, kind, op->path);
    size_t bytes = bytes_of_entry(s, strlen(op->path));
    if (!e)
        return add(s, kind, op->path, choose(s, op->may_move, bytes, now_ms));
    bool is_up = e->session != UNWATCHED && s->sessions[e->session].state == WATCH_SESSION_UP;
    if (!is_up || (e->session > 0 && !op->may_move))
        move_to(s, e, choose(s, op->may_move, bytes, now_ms));
    return e;
}

struct watch_place watch_spread_place(struct watch_spread *s, const struct zk_op *op,
                                      int64_t now_ms)
{
    struct watch_place place = {.session = 0, .watch = op->watch};
    if (!op->watch)
        return place;
    struct entry *e = entry_for(s, op, now_ms);
    if (!e)
        return place; /* out of memory: it is not counted */
    e->under_way++;
    if (e->session == UNWATCHED) {
        place.watch = false;
        if (s->look_again_at_ms == INT64_MAX)
            s->look_again_at_ms = now_ms + s->config.look_again_ms;
    } else {
        place.session = e->session;
    }
    if (op->may_move && has_further(s))
        place.floor = s->seen;
    struct session *of = &s->sessions[place.session];
    if (place.session > 0 && (s->seen == 0 || of->seen < s->seen)) {
        place.sync_first = true;
        of->seen = s->seen;
    }
    return place;
}

void watch_spread_seen(struct watch_spread *s, unsigned session, int64_t zxid)
{
    bool is_alone = session == 0 && !has_further(s); /* then servers may have been made anew */
    if (zxid <= 0)
        return;
    if (zxid > s->sessions[session].seen)
        s->sessions[session].seen = zxid;
    if (zxid > s->seen || is_alone)
        s->seen = zxid;
}

bool watch_spread_answered(struct watch_spread *s, const struct watch_place *place,
                           const struct zk_op *op, int zk_rc, int64_t zxid)
{
    bool is_old = zxid > 0 && zxid < place->floor;
    if (is_old && place->session > 0)
        s->sessions[place->session].seen = 0; /* a sync before the next */
    else if (zxid > 0)
        watch_spread_seen(s, place->session, zxid);
    if (!op->watch)
        return true;
    struct entry **at = link_of(s, kind_of(op->type), op->path), *e = *at;
    uint32_t session = place->watch ? place->session : UNWATCHED;
    bool is_own = !place->watch || place->session == 0;
    if (!e || e->session != session || e->under_way == 0)
        return !is_old && is_own; /* lost or moved meanwhile, with a further session's watch */
    e->under_way--;
    e->stands |= zk_rc == ZK_OK || (zk_rc == ZK_NO_NODE && op->type == ZK_OP_EXISTS);
    if (e->under_way == 0 && e->is_due)
        lose(s, at);
    else if (e->under_way == 0 && !e->stands)
        free(unlink_entry(s, at));
    return !is_old;
}

static bool fired(struct watch_spread *s, unsigned session, enum kind kind, const char *path)
{
    struct entry **at = link_of(s, kind, path), *e = *at;
    if (!e || e->session != session)
        return false;
    e->stands = false;
    if (e->under_way == 0)
        free(unlink_entry(s, at));
    return true;
}

bool watch_spread_fired(struct watch_spread *s, unsigned session,
                        const struct zk_watch_event *event)
{
    bool any = session == 0;
    if (event->type == ZK_EVENT_DELETED || event->type == ZK_EVENT_CHILDREN_CHANGED)
        any |= fired(s, session, CHILDREN, event->path);
    if (event->type != ZK_EVENT_CHILDREN_CHANGED)
        any |= fired(s, session, NODE, event->path);
    return any;
}

/* ---- sessions ---- */

enum watch_session_state watch_spread_state(const struct watch_spread *s, unsigned session)
{
    return s->sessions[session].state;
}

uint32_t watch_spread_life(const struct watch_spread *s, unsigned session)
{
    return s->sessions[session].life;
}

void watch_spread_connected(struct watch_spread *s, unsigned session, int64_t now_ms)
{
    struct session *of = &s->sessions[session];
    if (session == 0 || of->state == WATCH_SESSION_NONE)
        return;
    bool is_new = of->state == WATCH_SESSION_OPENING;
    of->state = WATCH_SESSION_UP;
    of->until_ms = INT64_MAX;
    of->seen = 0; /* it may be another server */
    s->retry_at_ms = INT64_MIN;
    s->is_refused = false;
    if (is_new)
        look_again(s);
    watch_spread_run(s, now_ms);
}

void watch_spread_away(struct watch_spread *s, unsigned session, int64_t now_ms,
                       int64_t patience_ms)
{
    struct session *of = &s->sessions[session];
    if (session == 0 || of->state != WATCH_SESSION_UP)
        return;
    of->state = WATCH_SESSION_AWAY;
    of->until_ms = now_ms + patience_ms;
}

void watch_spread_over(struct watch_spread *s, unsigned session, bool refused, int64_t now_ms)
{
    if (session == 0) {
        forget_all_of(s, 0);
        forget_all_of(s, UNWATCHED);
        s->look_again_at_ms = INT64_MAX;
        return;
    }
    if (s->sessions[session].state == WATCH_SESSION_NONE)
        return;
    end_session(s, session);
    if (!refused)
        return;
    s->is_refused = true;
    s->retry_at_ms = now_ms + s->config.look_again_ms / 2;
}

void watch_spread_rest(struct watch_spread *s)
{
    struct entry *e;
    for (size_t i = 0; i < s->bucket_count; i++)
        while (s->buckets[i])
            free(unlink_entry(s, &s->buckets[i]));
    while ((e = s->lost)) {
        s->lost = e->next;
        free(e);
    }
    for (unsigned k = 1; k <= s->config.sessions_max; k++)
        end_session(s, k);
    s->look_again_at_ms = INT64_MAX;
    s->is_refused = s->is_overdue = false;
}

/* A lower session that would have room for all of it, and some to spare. */
static bool has_heir(const struct watch_spread *s, unsigned k)
{
    size_t bytes = s->sessions[k].bytes;
    for (unsigned j = 0; j < k; j++)
        if (s->sessions[j].state == WATCH_SESSION_UP &&
            has_room(s, j, true, bytes + room_of(s, j, true) / 4))
            return true;
    return false;
}

/* Few of its watches are left: after a while they go elsewhere. */
static void check_need(struct watch_spread *s, unsigned k, int64_t now_ms)
{
    struct session *of = &s->sessions[k];
    if (of->state != WATCH_SESSION_UP || !has_heir(s, k))
        of->retire_ms = INT64_MAX;
    else if (of->retire_ms == INT64_MAX)
        of->retire_ms = now_ms + s->config.look_again_ms;
    else if (now_ms >= of->retire_ms)
        end_session(s, k);
}

void watch_spread_run(struct watch_spread *s, int64_t now_ms)
{
    for (unsigned k = 1; k <= s->config.sessions_max; k++) {
        if (now_ms >= s->sessions[k].until_ms) {
            s->is_overdue |= s->sessions[k].state == WATCH_SESSION_OPENING;
            watch_spread_over(s, k, true, now_ms);
        }
        check_need(s, k, now_ms);
    }
    if (now_ms >= s->look_again_at_ms)
        look_again(s);
}

int64_t watch_spread_deadline_ms(const struct watch_spread *s)
{
    int64_t at = s->look_again_at_ms;
    for (unsigned k = 1; k <= s->config.sessions_max; k++) {
        const struct session *of = &s->sessions[k];
        at = of->until_ms < at ? of->until_ms : at;
        at = of->retire_ms < at ? of->retire_ms : at;
    }
    return at;
}

bool watch_spread_take_overdue(struct watch_spread *s)
{
    bool is_overdue = s->is_overdue;
    s->is_overdue = false;
    return is_overdue;
}

struct watch_spread_counts watch_spread_counts(const struct watch_spread *s)
{
    bool is_opening = false;
    struct watch_spread_counts counts = {.bytes = s->sessions[0].bytes, .unwatched = s->unwatched};
    counts.watches = s->count - s->unwatched;
    for (unsigned k = 1; k <= s->config.sessions_max; k++) {
        counts.sessions += s->sessions[k].state != WATCH_SESSION_NONE;
        is_opening |= s->sessions[k].state == WATCH_SESSION_OPENING;
    }
    counts.is_short = s->unwatched > 0 && (s->is_refused || !is_opening);
    return counts;
}
