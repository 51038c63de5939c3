#include "study/scenario/keys.h"
#include "zkconsumer/cli/suggest.h"
#include "zkconsumer/core/base/array.h"
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* WORD: an int, counting from -1; ENUM: an enum, and FLAG: a bool, both counting from 0. */
enum kind {
    TEXT,
    NATURAL,
    DURATION,
    MILLISECONDS,
    COUNT32,
    SIGNED32,
    BOOLEAN,
    WORD,
    ENUM,
    FLAG,
    DIST
};

struct key {
    const char *name;
    enum kind kind;
    bool is_of_members;
    size_t at;           /* in struct values or struct member_values */
    const char *initial; /* by default */
    uint64_t min, max;
    const char *words; /* WORD, ENUM, FLAG: what it may be, separated by blanks; their number is the
                          value */
};

#define V(field) false, offsetof(struct values, field)
#define M(field) true, offsetof(struct member_values, field)
#define C(field) true, offsetof(struct member_values, config.field)
#define S(field) C(switches.field)
#define HOUR     (3600 * SIM_S)

static const struct key keys[] = {
    {"name", TEXT, V(name), "", 0, 64, NULL},
    {"about", TEXT, V(about), "", 0, 1000, NULL},
    {"group", TEXT, V(group), "g", 1, 64, NULL},
    {"members", NATURAL, V(members), "10", 0, 100000, NULL},
    {"late", NATURAL, V(late), "0", 0, 100000, NULL},
    {"ids", FLAG, V(random_ids), "numbered", 0, 0, "numbered random"},
    {"swarm", NATURAL, V(swarm), "0", 0, 1000, NULL},
    {"swarm.kinds", FLAG, V(is_kept), "all", 0, 0, "all kept"},
    {"start", DURATION, V(start_ns), "0s", 0, HOUR, NULL},
    {"start.spread", DURATION, V(spread_ns), "1s", 0, HOUR, NULL},
    {"warmup", DURATION, V(warmup_ns), "25s", 0, 24 * HOUR, NULL},
    {"run", DURATION, V(run_ns), "120s", SIM_MS, 24 * HOUR, NULL},
    {"heal", DURATION, V(heal_ns), "60s", 0, HOUR, NULL},
    {"drain", DURATION, V(drain_ns), "30s", 0, HOUR, NULL},
    {"zk.servers", NATURAL, V(servers), "3", 1, 7, NULL},
    {"zk.tick", DURATION, V(tick_ns), "2s", SIM_MS, 60 * SIM_S, NULL},
    {"zk.sync.limit", NATURAL, V(sync_limit), "5", 1, 1000, NULL},
    {"zk.read", DURATION, V(read_ns), "15us", 0, SIM_S, NULL},
    {"zk.write", DURATION, V(write_ns), "50us", 0, SIM_S, NULL},
    {"zk.fsync", DIST, V(fsync), "u(300us,2ms)", 0, 60 * SIM_S, NULL},
    {"zk.link", DIST, V(server_link), "u(100us,300us)", 0, 60 * SIM_S, NULL},
    {"zk.election", DIST, V(election), "u(100ms,400ms)", 0, 60 * SIM_S, NULL},
    {"link", DIST, V(link), "u(200us,600us)", 0, 60 * SIM_S, NULL},
    {"brokers", NATURAL, V(brokers), "3", 0, 1000, NULL},
    {"broker.service", DURATION, V(service_ns), "50us", 0, SIM_S, NULL},
    {"broker.listeners", BOOLEAN, V(listeners), "true", 0, 0, NULL},
    {"ties", FLAG, V(shuffle), "fifo", 0, 0, "fifo shuffle"},
    {"zookeeper.mode", FLAG, C(is_safe), "compat", 0, 0, "compat safe"},
    {"zookeeper.variant", ENUM, C(variant), "0.8", 0, 0, "0.8 0.7 documented"},
    {"partition.assignment.strategy", ENUM, M(strategy), "range", 0, 0,
     "range ceil rendezvous roundrobin auto"},
    {"zookeeper.watch.brokers", WORD, M(watch_brokers), "variant", 0, 0, "variant false true"},
    {"zookeeper.coalesce", FLAG, S(each_event), "true", 0, 0, "true false"},
    {"zookeeper.watch.owners", BOOLEAN, S(watch_owners), "false", 0, 0, NULL},
    {"zookeeper.claim", ENUM, S(claim), "single", 0, 0, "single multi"},
    {"zookeeper.release", ENUM, S(release), "blind", 0, 0, "blind session"},
    {"zookeeper.commit", ENUM, S(commit), "blind", 0, 0, "blind session"},
    {"zookeeper.fence", ENUM, S(fence), "none", 0, 0, "none disconnect lease"},
    {"zookeeper.sync.before.read", BOOLEAN, S(sync_before_read), "false", 0, 0, NULL},
    {"zookeeper.give.up", FLAG, S(never_gives_up), "retries", 0, 0, "retries never"},
    {"zookeeper.keep.unmoved", BOOLEAN, C(safe.keep_unmoved), "true", 0, 0, NULL},
    {"zookeeper.lease.probe", ENUM, C(safe.lease_probe), "write", 0, 0, "write sync"},
    {"zookeeper.hand.over.ms", MILLISECONDS, C(safe.handover_ms), "4000", 0, 3600000, NULL},
    {"max.poll.interval.ms", MILLISECONDS, C(safe.poll_limit_ms), "0", 0, 86400000, NULL},
    {"zookeeper.session.timeout.ms", MILLISECONDS, C(session_timeout_ms), "6000", 1, 3600000, NULL},
    {"rebalance.backoff.ms", MILLISECONDS, C(backoff_ms), "2000", 0, 3600000, NULL},
    {"rebalance.max.retries", COUNT32, C(attempts_max), "4", 1, 1000, NULL},
    {"refresh.leader.backoff.ms", MILLISECONDS, C(refresh_leader_backoff_ms), "200", 1, 3600000,
     NULL},
    {"auto.commit.enable", BOOLEAN, C(auto_commit), "true", 0, 0, NULL},
    {"auto.commit.interval.ms", MILLISECONDS, C(auto_commit_interval_ms), "60000", 1, 86400000,
     NULL},
    {"auto.offset.reset", FLAG, C(reset_largest), "smallest", 0, 0, "smallest largest"},
    {"streams", COUNT32, C(streams), "1", 1, 1000, NULL},
    {"fetch.wait.max.ms", MILLISECONDS, C(fetch_wait_ms), "100", 0, 60000, NULL},
    {"fetch.min", MILLISECONDS, C(fetch_min), "1", 0, 1000000, NULL},
    {"fetch.max", MILLISECONDS, C(fetch_max), "10000", 1, 1000000000, NULL},
    {"queue.max", MILLISECONDS, C(queue_max), "20000", 1, 1000000000, NULL},
    {"app.process", DURATION, C(process_ns), "10us", 0, HOUR, NULL},
    {"app.stop", DURATION, C(stop_ns), "50ms", 0, HOUR, NULL},
    {"app.step", DURATION, C(step_ns), "20us", 0, SIM_S, NULL},
    {"clock.ppm", SIGNED32, C(clock_ppm), "0", 0, 100000, NULL},
    {"server", TEXT, M(server), "", 0, 32, NULL},
    {"consumer.id", TEXT, M(consumer_id), "", 0, 200, NULL},
};

static const struct key *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

bool key_is_of_members(const char *name)
{
    const struct key *k = find(name);
    return k && k->is_of_members;
}

/* member.3.KEY, member.6-10.KEY, member.6-*.KEY */
static const char *behind_member(const char *name)
{
    if (strncmp(name, "member.", 7) != 0)
        return NULL;
    const char *at = name + 7;
    uint64_t n;
    if (!read_natural(&at, &n))
        return NULL;
    if (*at == '-' && (at++, *at == '*' ? (at++, false) : !read_natural(&at, &n)))
        return NULL;
    return *at == '.' ? at + 1 : NULL;
}

static bool is_number(const char *text)
{
    uint64_t n;
    return read_natural(&text, &n) && !*text;
}

bool key_is_known(const char *name)
{
    if (strncmp(name, "fault.", 6) == 0)
        return is_number(name + 6);
    if (strncmp(name, "topic.", 6) == 0)
        return name[6] && strlen(name + 6) <= TOPIC_NAME_MAX;
    const char *own = behind_member(name);
    return own ? key_is_of_members(own) : find(name) != NULL;
}

const char *key_near(const char *name)
{
    const char *own = behind_member(name);
    struct suggestion near;
    suggestion_init(&near, own ? own : name, strlen(own ? own : name));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (!own || keys[i].is_of_members)
            suggestion_offer(&near, keys[i].name, strlen(keys[i].name));
    return suggestion_is_near(&near) ? near.nearest : "members, topic.NAME, fault.1, member.3.KEY";
}

const char *key_default(const char *name)
{
    const struct key *k = find(name);
    return k ? k->initial : NULL;
}

/* ---- values ---- */

void skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t')
        (*at)++;
}

bool read_natural(const char **at, uint64_t *out)
{
    const char *c = *at;
    uint64_t n = 0;
    if (*c < '0' || *c > '9')
        return false;
    for (; *c >= '0' && *c <= '9'; c++) {
        if (n > (UINT64_MAX - 9) / 10)
            return false;
        n = n * 10 + (uint64_t)(*c - '0');
    }
    *at = c;
    *out = n;
    return true;
}

bool read_word(const char **at, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*at, word, len) != 0 || ((*at)[len] && (*at)[len] != ' '))
        return false;
    *at += len;
    skip_blanks(at);
    return true;
}

static bool read_unit(const char **at, uint64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},    {"us", 1000},      {"ms", SIM_MS},
                 {"s", SIM_S}, {"m", 60 * SIM_S}, {"h", 3600 * SIM_S}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        size_t len = strlen(units[i].name);
        char after = strncmp(*at, units[i].name, len) == 0 ? (*at)[len] : 'x';
        if (after >= 'a' && after <= 'z')
            continue;
        *at += len;
        *ns = units[i].ns;
        return true;
    }
    return false;
}

bool read_duration(const char **at, uint64_t *ns)
{
    const char *c = *at;
    uint64_t whole, fraction = 0, scale = 1, unit;
    if (!read_natural(&c, &whole))
        return false;
    if (*c == '.') {
        for (c++; *c >= '0' && *c <= '9' && scale < 1000000000; c++, scale *= 10)
            fraction = fraction * 10 + (uint64_t)(*c - '0');
        if (scale == 1)
            return false;
    }
    if (!read_unit(&c, &unit)) {
        if (whole || scale > 1)
            return false;
        unit = 1; /* 0 needs none */
    }
    if (whole > UINT64_MAX / 4 / unit)
        return false;
    *ns = whole * unit + fraction * (unit / scale) + fraction * (unit % scale) / scale;
    *at = c;
    return true;
}

/* 300us, u(100us,300us), lognormal(300us,2ms) */
static bool read_dist(const char **at, struct sim_dist *out)
{
    const char *c = *at;
    *out = (struct sim_dist){.kind = SIM_CONSTANT};
    if (read_duration(&c, &out->low_ns)) {
        out->high_ns = out->low_ns;
        *at = c;
        return true;
    }
    bool is_uniform = strncmp(c, "u(", 2) == 0, is_log = strncmp(c, "lognormal(", 10) == 0;
    out->kind = is_uniform ? SIM_UNIFORM : SIM_LOGNORMAL;
    c += is_uniform ? 2 : 10;
    if ((!is_uniform && !is_log) || !read_duration(&c, &out->low_ns) || *c++ != ',')
        return false;
    skip_blanks(&c);
    if (!read_duration(&c, &out->high_ns) || *c++ != ')' || out->high_ns < out->low_ns)
        return false;
    *at = c;
    return true;
}

static bool read_one_of(const struct reading *r, const struct key *k, const char *value,
                        uint64_t *out)
{
    const char *at = k->words;
    for (uint64_t i = 0; *at; i++) {
        size_t len = strcspn(at, " ");
        if (strlen(value) == len && memcmp(at, value, len) == 0) {
            *out = i;
            return true;
        }
        at += len + (at[len] == ' ');
    }
    return refuse(r, "one of %s", k->words);
}

static bool in_range(const struct reading *r, const struct key *k, uint64_t n, const char *unit)
{
    if (n >= k->min && n <= k->max)
        return true;
    uint64_t scale = *unit ? SIM_S : 1;
    return refuse(r, "%" PRIu64 "%s to %" PRIu64 "%s", k->min / scale, unit, k->max / scale, unit);
}

static_assert(sizeof(enum zk_variant) == sizeof(unsigned), "enums are stored as unsigned");

/* Numbers are written through the type that the field has. */
static void store(const struct key *k, void *field, uint64_t n, bool is_negative)
{
    if (k->kind == BOOLEAN || k->kind == FLAG)
        *(bool *)field = n != 0;
    else if (k->kind == ENUM)
        *(unsigned *)field = (unsigned)n;
    else if (k->kind == WORD)
        *(int *)field = (int)n - 1;
    else if (k->kind == SIGNED32)
        *(int32_t *)field = is_negative ? -(int32_t)n : (int32_t)n;
    else if (k->kind == COUNT32)
        *(uint32_t *)field = (uint32_t)n;
    else if (k->kind == MILLISECONDS)
        *(int64_t *)field = (int64_t)n;
    else
        *(uint64_t *)field = n;
}

static bool read_value(const struct reading *r, const struct key *k, void *field)
{
    const char *value = r->entry->value, *at = value;
    uint64_t n = 0;
    bool is_negative = k->kind == SIGNED32 && *at == '-';
    switch (k->kind) {
    case TEXT:
        if (strlen(value) < k->min || strlen(value) > k->max)
            return refuse(r, "%" PRIu64 " to %" PRIu64 " characters", k->min, k->max);
        *(const char **)field = value;
        return true;
    case DIST:
        if (!read_dist(&at, field) || *at)
            return refuse(r, "a time like 300us, u(100us,300us) or lognormal(300us,2ms)");
        if (((struct sim_dist *)field)->high_ns > k->max)
            return refuse(r, "at most %" PRIu64 "s", (uint64_t)(k->max / SIM_S));
        return true;
    case DURATION:
        if (!read_duration(&at, &n) || *at)
            return refuse(r, "a duration like 200us, 1.5s or 2m");
        if (!in_range(r, k, n, "s"))
            return false;
        break;
    case BOOLEAN:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return refuse(r, "true or false");
        n = *value == 't';
        break;
    case WORD:
    case ENUM:
    case FLAG:
        if (!read_one_of(r, k, value, &n))
            return false;
        break;
    default:
        at += is_negative;
        if (!read_natural(&at, &n) || *at)
            return refuse(r, "a number");
        if (!in_range(r, k, n, ""))
            return false;
        break;
    }
    store(k, field, n, is_negative);
    return true;
}

/* The switches begin where the mode has them (DESIGN 2.1); what is set behind it counts. */
static void set_mode(struct member_values *m)
{
    struct sim_member_config *c = &m->config;
    c->switches = (struct zk_switches){0};
    if (!c->is_safe)
        return;
    c->switches = (struct zk_switches){.watch_owners = true,
                                       .claim = ZK_CLAIM_MULTI,
                                       .release = ZK_GUARD_SESSION,
                                       .commit = ZK_GUARD_SESSION,
                                       .fence = ZK_FENCE_LEASE};
    m->strategy = ASSIGN_ROUNDROBIN + 1; /* auto: behind the last name of the key */
}

bool values_read(const struct reading *r, const char *name, struct values *v,
                 struct member_values *m)
{
    const struct key *k = find(name);
    char *base = k->is_of_members ? (char *)m : (char *)v;
    if (!read_value(r, k, base + k->at))
        return false;
    if (k->is_of_members && k->at == offsetof(struct member_values, config.is_safe))
        set_mode(m);
    return true;
}

static void set_defaults(struct values *v, struct member_values *m, bool is_of_members)
{
    struct why why;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (keys[i].is_of_members != is_of_members)
            continue;
        struct entry e = {(char *)keys[i].name, (char *)keys[i].initial, 0};
        struct reading r = {.entry = &e, .why = &why};
        if (!values_read(&r, keys[i].name, v, m))
            abort(); /* the table contradicts itself */
    }
}

void values_init(struct values *v)
{
    memset(v, 0, sizeof *v);
    set_defaults(v, NULL, false);
}

void member_values_init(struct member_values *m)
{
    memset(m, 0, sizeof *m);
    m->config.safe = zk_safe_config_default();
    set_defaults(NULL, m, true);
}
