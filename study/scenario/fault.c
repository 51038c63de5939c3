/* Lines of faults. */
#include "study/scenario/parts.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdio.h>

enum target { NO_TARGET, MEMBER, SERVER, ANY_ACTOR, TOPIC };

static const struct kind {
    const char *name;
    enum sim_fault_kind kind;
    enum target who;
    bool has_peer, has_dir, has_by, may_last, has_point, has_to, has_rate;
    const char *form;
} kinds[] = {
    {"join", SIM_JOIN, MEMBER, .form = "join WHO"},
    {"leave", SIM_LEAVE, MEMBER, .form = "leave WHO"},
    {"crash", SIM_CRASH, ANY_ACTOR, .may_last = true, .form = "crash WHO [for D]"},
    {"suspend", SIM_SUSPEND, ANY_ACTOR, .may_last = true, .form = "suspend WHO [for D]"},
    {"expire", SIM_EXPIRE, MEMBER, .form = "expire WHO"},
    {"cut", SIM_CUT, ANY_ACTOR, .has_peer = true, .has_dir = true, .may_last = true,
     .form = "cut WHO PEER [both|out|in] [for D]"},
    {"reset", SIM_RESET, ANY_ACTOR, .has_peer = true, .form = "reset WHO PEER"},
    {"delay", SIM_DELAY, ANY_ACTOR, .has_peer = true, .has_dir = true, .has_by = true,
     .may_last = true, .form = "delay WHO PEER [both|out|in] by D [for D]"},
    {"delay_watch", SIM_DELAY_WATCH, MEMBER, .has_by = true, .may_last = true,
     .form = "delay_watch WHO by D [for D]"},
    {"lose_reply", SIM_LOSE_REPLY, MEMBER, .has_point = true, .form = "lose_reply WHO POINT"},
    {"lag", SIM_LAG, SERVER, .has_by = true, .may_last = true, .form = "lag ZK by D [for D]"},
    {"stall", SIM_STALL, SERVER, .has_by = true, .may_last = true, .form = "stall ZK by D [for D]"},
    {"slow_stop", SIM_SLOW_STOP, MEMBER, .has_by = true, .may_last = true,
     .form = "slow_stop WHO by D [for D]"},
    {"slow_app", SIM_SLOW_APP, MEMBER, .has_by = true, .may_last = true,
     .form = "slow_app WHO by D [for D]"},
    {"partitions", SIM_PARTITIONS, TOPIC, .has_to = true, .form = "partitions TOPIC to N"},
    {"topic", SIM_TOPIC, TOPIC, .has_to = true, .has_rate = true,
     .form = "topic NAME to N [rate R]"},
    {"leader", SIM_LEADER, TOPIC, .form = "leader TOPIC/P to BROKER"},
    {"unregister", SIM_UNREGISTER, MEMBER, .form = "unregister WHO"},
};

/* Those of offsets in Kafka are not here: scenarios have none. */
static const char *const points[] = {
    [SIM_POINT_ANY] = "any",         [SIM_POINT_REGISTER] = "register",
    [SIM_POINT_CLAIM] = "claim",     [SIM_POINT_RELEASE] = "release",
    [SIM_POINT_COMMIT] = "commit",   [SIM_POINT_OFFSET_READ] = "offset_read",
    [SIM_POINT_MEMBERS] = "members", [SIM_POINT_TRY] = "try",
    [SIM_POINT_STOP] = "stop",       [SIM_POINT_ASSIGN] = "assign",
    [SIM_POINT_BACKOFF] = "backoff",
};

#define POINTS "register, claim, release, commit, offset_read, members, try, stop, assign, backoff"

/* ---- names ---- */

/* One word in the arena; it ends at a blank or one of `ends`. NULL: none, or no memory. */
static const char *next_name(const struct reading *r, const char **at, const char *ends)
{
    size_t len = strcspn(*at, " ");
    size_t cut = strcspn(*at, ends);
    if (cut < len)
        len = cut;
    char *name = len ? arena_alloc(r->arena, len + 1) : NULL;
    if (!name)
        return NULL;
    memcpy(name, *at, len);
    *at += len;
    if (!**at || **at == ' ')
        skip_blanks(at);
    return name;
}

static bool number_behind(const char *name, const char *prefix, uint64_t *n)
{
    size_t len = strlen(prefix);
    const char *at = name + len;
    return strncmp(name, prefix, len) == 0 && read_natural(&at, n) && !*at;
}

/* "m6-m10" */
static bool is_range(const char *name, uint64_t *first, uint64_t *last)
{
    const char *at = name;
    uint64_t low, high;
    if (*at++ != 'm' || !read_natural(&at, &low) || *at++ != '-' || *at++ != 'm' ||
        !read_natural(&at, &high) || *at || low > high)
        return false;
    *first = low;
    *last = high;
    return true;
}

static bool is_actor(const struct names_known *k, const char *name, enum target target)
{
    uint64_t n;
    if (target != SERVER) {
        if (number_behind(name, "m", &n))
            return n >= 1 && n <= k->members + k->late;
        if (strcmp(name, "m*") == 0 || strcmp(name, "random") == 0)
            return k->members + k->late > 0;
        if (target == MEMBER)
            return false;
        if (number_behind(name, "b", &n))
            return n < k->brokers;
        if (strcmp(name, "b*") == 0)
            return k->brokers > 0;
    }
    if (number_behind(name, "zk", &n))
        return n >= 1 && n <= k->servers;
    return strcmp(name, "zk*") == 0 || strcmp(name, "zk:leader") == 0;
}

static const char *actors_text(enum target target)
{
    return target == MEMBER   ? "a member of the scenario: m1, m2-m4, late, m*, random"
           : target == SERVER ? "a ZooKeeper server: zk1, zk*, zk:leader"
                              : "a member, server or broker of the scenario: m1, m2-m4, late, m*, "
                                "random, zk1, zk*, zk:leader, b0, b*";
}

/* ---- when ---- */

/* 30s, u(0,5s), 30s+u(0,5s) */
static bool read_time(const char **at, struct sim_when *when)
{
    const char *c = *at;
    bool has_base = read_duration(&c, &when->base_ns);
    if (has_base && *c == '+')
        c++;
    else if (has_base) {
        *at = c;
        skip_blanks(at);
        return !*c || *c == ' ';
    }
    uint64_t low, high;
    if (strncmp(c, "u(", 2) != 0)
        return false;
    c += 2;
    if (!read_duration(&c, &low) || *c++ != ',')
        return false;
    skip_blanks(&c);
    if (!read_duration(&c, &high) || *c++ != ')' || high < low)
        return false;
    when->base_ns += low;
    when->jitter_ns = high - low;
    *at = c;
    skip_blanks(at);
    return !*c || *c == ' ';
}

static bool read_point(const struct reading *r, const char **at, enum sim_point *out)
{
    const char *c = *at, *name = next_name(r, &c, ":");
    for (int i = 0; name && i < (int)ARRAY_LEN(points); i++)
        if (strcmp(name, points[i]) == 0) {
            *out = (enum sim_point)i;
            *at = c;
            return true;
        }
    return refuse(r, "a point of the protocol: %s, any", POINTS);
}

static bool is_within_run(const struct reading *r, const struct names_known *k,
                          const struct sim_when *when)
{
    if (when->base_ns + when->jitter_ns <= k->run_ns)
        return true;
    return refuse(r, "a time within the run, which ends at %" PRIu64 " ms",
                  (uint64_t)(k->run_ns / SIM_MS));
}

static bool read_at_point(const struct reading *r, const struct names_known *k, const char **at,
                          struct sim_when *when)
{
    when->kind = SIM_AT_POINT;
    when->who = next_name(r, at, ":");
    if (!when->who || (strcmp(when->who, "any") != 0 && !is_actor(k, when->who, MEMBER)))
        return refuse(r, "when MEMBER:POINT with a member of the scenario or any");
    if (*(*at)++ != ':' || !read_point(r, at, &when->point))
        return refuse(r, "when MEMBER:POINT with a point: %s", POINTS);
    uint64_t nth = 1;
    if (**at == ':' && ((*at)++, !read_natural(at, &nth) || nth < 1 || nth > 1000000))
        return refuse(r, "when MEMBER:POINT:NTH with a number from 1 on");
    when->nth = (uint32_t)nth;
    skip_blanks(at);
    return !read_time(at, when) || is_within_run(r, k, when);
}

static bool read_when(const struct reading *r, const struct names_known *k, const char **at,
                      struct sim_when *when)
{
    uint64_t cause;
    if (read_word(at, "when"))
        return read_at_point(r, k, at, when);
    if (read_word(at, "after")) {
        if (!read_word(at, "cause") || !read_natural(at, &cause) || cause < 1 || cause > 1000000)
            return refuse(r, "after cause N TIME with a number from 1 on");
        skip_blanks(at);
        when->kind = SIM_AFTER_CAUSE;
        when->cause = (uint32_t)cause;
    } else if (!read_word(at, "at")) {
        return refuse(r, "at TIME, after cause N TIME or when MEMBER:POINT, then what happens");
    }
    if (!read_time(at, when))
        return refuse(r, "a time like 30s, u(0,5s) or 30s+u(0,5s)");
    return is_within_run(r, k, when);
}

/* ---- what ---- */

static const struct sim_topic *topic_named(const struct names_known *k, const char *name)
{
    for (size_t i = 0; i < k->topic_count; i++)
        if (strcmp(k->topics[i].name, name) == 0)
            return &k->topics[i];
    return NULL;
}

/* leader TOPIC/P to BROKER */
static bool read_leader(const struct reading *r, const struct names_known *k, const char **at,
                        struct sim_fault *f)
{
    uint64_t partition, broker;
    f->topic = next_name(r, at, "/");
    const struct sim_topic *topic = f->topic ? topic_named(k, f->topic) : NULL;
    if (!topic || *(*at)++ != '/' || !read_natural(at, &partition) ||
        partition >= (uint64_t)topic->partitions)
        return refuse(r, "leader TOPIC/P with a partition of the scenario");
    f->count = (int32_t)partition;
    skip_blanks(at);
    if (!read_word(at, "to") || !(f->peer = next_name(r, at, "")) ||
        !number_behind(f->peer, "b", &broker) || broker >= k->brokers)
        return refuse(r, "leader TOPIC/P to BROKER with a broker of the scenario, like b0");
    return true;
}

static bool read_topic(const struct reading *r, const struct names_known *k, const char **at,
                       const struct kind *kind, struct sim_fault *f)
{
    uint64_t count, rate = 0;
    if (kind->kind == SIM_LEADER)
        return read_leader(r, k, at, f);
    f->topic = next_name(r, at, "");
    const struct sim_topic *topic = f->topic ? topic_named(k, f->topic) : NULL;
    if (!f->topic || (kind->kind == SIM_PARTITIONS) != (topic != NULL))
        return refuse(r,
                      kind->kind == SIM_TOPIC ? "%s, of a topic that is not there yet"
                                              : "%s, of a topic of the scenario",
                      kind->form);
    if (!read_word(at, "to") || !read_natural(at, &count) || count > 100000 ||
        count <= (topic ? (uint64_t)topic->partitions : 0))
        return refuse(r, "%s, with more partitions than before", kind->form);
    f->count = (int32_t)count;
    skip_blanks(at);
    if (kind->has_rate && read_word(at, "rate") && !read_natural(at, &rate))
        return refuse(r, "rate with a number of messages/s for each partition");
    f->value_ns = rate * 1000;
    skip_blanks(at);
    return true;
}

/* Members are connected with servers and brokers, servers with each other. */
static bool is_link(const char *who, const char *peer)
{
    bool is_server[2] = {who[0] == 'z', peer[0] == 'z'};
    bool is_broker[2] = {who[0] == 'b', peer[0] == 'b'};
    if (is_server[0] && is_server[1])
        return true;
    return (is_server[0] || is_broker[0]) != (is_server[1] || is_broker[1]);
}

static bool read_options(const struct reading *r, const struct names_known *k, const char **at,
                         const struct kind *kind, struct sim_fault *f)
{
    if (kind->has_peer) {
        f->peer = next_name(r, at, "");
        if (!f->peer || !is_actor(k, f->peer, ANY_ACTOR))
            return refuse(r, "%s, with %s as peer", kind->form, actors_text(ANY_ACTOR));
        if (!is_link(f->who, f->peer))
            return refuse(r,
                          "%s, where there is a connection: of a member with a server or a "
                          "broker, or of two servers",
                          kind->form);
    }
    if (kind->has_point && !read_point(r, at, &f->point))
        return false;
    if (kind->has_dir)
        f->dir = read_word(at, "out")  ? SIM_OUT
                 : read_word(at, "in") ? SIM_IN
                                       : (read_word(at, "both"), SIM_BOTH);
    if (kind->has_by && (!read_word(at, "by") || !read_duration(at, &f->value_ns) || !f->value_ns))
        return refuse(r, "%s", kind->form);
    skip_blanks(at);
    f->for_ns = SIM_NEVER;
    if (kind->may_last && read_word(at, "for") && (!read_duration(at, &f->for_ns) || !f->for_ns))
        return refuse(r, "%s", kind->form);
    skip_blanks(at);
    return true;
}

static bool add(const struct reading *r, const struct sim_fault *f, struct fault_list *out)
{
    if (out->count == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 16;
        struct sim_fault *grown = arena_alloc_array(r->arena, cap, sizeof *grown);
        if (!grown)
            return false;
        if (out->count)
            memcpy(grown, out->list, out->count * sizeof *grown);
        out->list = grown;
        out->cap = cap;
    }
    out->list[out->count++] = *f;
    return true;
}

/* The same for m(first) .. m(last). */
static bool add_members(const struct reading *r, struct sim_fault f, uint64_t first, uint64_t last,
                        struct fault_list *out)
{
    for (uint64_t i = first; i <= last; i++) {
        char *name = arena_alloc(r->arena, 24);
        if (!name)
            return false;
        snprintf(name, 24, "m%" PRIu64, i);
        f.who = name;
        if (!add(r, &f, out))
            return false;
    }
    return true;
}

static const struct kind *read_kind(const struct reading *r, const char **at)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (read_word(at, kinds[i].name))
            return &kinds[i];
    refuse(r, "what happens: join, leave, crash, suspend, expire, cut, reset, delay, delay_watch, "
              "lose_reply, lag, stall, slow_stop, slow_app, partitions, topic, leader");
    return NULL;
}

bool read_fault(const struct reading *r, const struct names_known *k, struct fault_list *out)
{
    struct sim_fault f = {.for_ns = SIM_NEVER};
    const char *at = r->entry->value;
    skip_blanks(&at);
    if (!read_when(r, k, &at, &f.when))
        return false;
    const struct kind *kind = read_kind(r, &at);
    if (!kind)
        return false;
    f.kind = kind->kind;
    uint64_t first = 0, last = 0;
    if (kind->who == TOPIC) {
        if (!read_topic(r, k, &at, kind, &f))
            return false;
    } else {
        f.who = next_name(r, &at, "");
        bool is_late = f.who && strcmp(f.who, "late") == 0 && k->late > 0;
        bool is_many = f.who && is_range(f.who, &first, &last);
        if (is_late)
            first = k->members + 1, last = k->members + k->late;
        if (!f.who || (is_many && (first < 1 || last > k->members + k->late)) ||
            (!is_late && !is_many && !is_actor(k, f.who, kind->who)) ||
            (kind->who == SERVER && (is_late || is_many)))
            return refuse(r, "%s, with %s", kind->form, actors_text(kind->who));
        if (!read_options(r, k, &at, kind, &f))
            return false;
    }
    if (*at)
        return refuse(r, "%s and nothing behind it", kind->form);
    return first ? add_members(r, f, first, last, out) : add(r, &f, out);
}
