/* A world of a scenario's entries. */
#include "study/scenario/keys.h"
#include "study/scenario/parts.h"
#include "study/scenario/scenario.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/group/zk_switches.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdio.h>

#define ARENA_MAX ((size_t)1024 * 1024 * 1024)

/* NULL: there is none. */
static const char *copy(struct arena *a, const char *text)
{
    return *text ? arena_text(a, bytes_of_text(text)) : NULL;
}

static struct reading reading_of(const struct scenario *s, const struct entry *e, struct world *w,
                                 struct why *why)
{
    return (struct reading){s, e, why, &w->arena};
}

/* True for KEY and member.WHICH.KEY. */
static bool sets_key(const struct entry *e, const char *key)
{
    size_t len = strlen(e->key), key_len = strlen(key);
    bool is_of_members = strncmp(e->key, "member.", 7) == 0 && len > key_len;
    return strcmp(e->key, key) == 0 || (is_of_members && e->key[len - key_len - 1] == '.' &&
                                        strcmp(e->key + len - key_len, key) == 0);
}

/* The entry to point at when keys contradict each other: the last line that sets the first of these
 * that is set at all. By default there is none: then it is the first key itself. */
static struct entry blamed(const struct scenario *s, const char *const *keys)
{
    for (const char *const *key = keys; *key; key++)
        for (size_t i = s->count; i-- > 0;)
            if (sets_key(&s->entries[i], *key))
                return s->entries[i];
    return (struct entry){(char *)keys[0], (char *)key_default(keys[0]), 0};
}

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool contradicts(const struct scenario *s, const char *const *keys, struct why *why,
                        const char *expected)
{
    struct entry e = blamed(s, keys);
    struct reading r = {s, &e, why, NULL};
    return refuse(&r, "%s", expected);
}

/* ---- topics ---- */

/* P [rate R] [initial N] */
static bool read_topic(const struct reading *r, struct sim_topic *out)
{
    const char *at = r->entry->value;
    uint64_t partitions, rate = 0, initial = 0;
    bool ok = read_natural(&at, &partitions) && partitions >= 1 && partitions <= 100000;
    skip_blanks(&at);
    if (ok && read_word(&at, "rate"))
        ok = read_natural(&at, &rate) && rate <= 1000000;
    skip_blanks(&at);
    if (ok && read_word(&at, "initial"))
        ok = read_natural(&at, &initial) && initial <= (uint64_t)1 << 40;
    skip_blanks(&at);
    if (!ok || *at)
        return refuse(r, "PARTITIONS [rate MESSAGES_PER_SECOND] [initial MESSAGES]");
    struct why why;
    if (zk_check_topic(r->entry->key + 6, &why))
        return refuse(r, "a topic's name behind topic. (%s)", why.text);
    *out = (struct sim_topic){copy(r->arena, r->entry->key + 6), (int32_t)partitions, rate * 1000,
                              (int64_t)initial};
    return true;
}

static bool build_topics(const struct scenario *s, struct world *w, struct why *why)
{
    static const struct entry base = {(char *)"topic.t", (char *)KEY_TOPIC_DEFAULT, 0};
    struct sim_topic *topics = arena_alloc_array(&w->arena, s->count + 1, sizeof *topics);
    size_t count = 0;
    for (size_t i = 0; topics && i < s->count; i++) {
        struct reading r = reading_of(s, &s->entries[i], w, why);
        if (strncmp(s->entries[i].key, "topic.", 6) == 0 && !read_topic(&r, &topics[count++]))
            return false;
    }
    struct reading r = reading_of(s, &base, w, why);
    if (topics && !count && !read_topic(&r, &topics[count++]))
        return false;
    w->config.topics = topics;
    w->config.topic_count = count;
    return true;
}

/* ---- members ---- */

/* "member.6-10.KEY": which, and the key. The shape has been checked. */
static const char *read_which(const char *key, uint64_t total, uint64_t *first, uint64_t *last)
{
    const char *at = key + strlen("member.");
    if (!read_natural(&at, first))
        return NULL;
    *last = *first;
    if (*at == '-') {
        at++;
        if (*at == '*')
            *last = total, at++;
        else if (!read_natural(&at, last))
            return NULL;
    }
    return at + 1;
}

/* In safe mode the switches are the safe machine's. */
static void finish_safe(const struct member_values *m, struct sim_member_config *c)
{
    static const enum zk_safe_strategy strategies[] = {[ASSIGN_RANGE] = ZK_SAFE_RANGE,
                                                       [ASSIGN_CEIL] = ZK_SAFE_CEIL,
                                                       [ASSIGN_RENDEZVOUS] = ZK_SAFE_RENDEZVOUS,
                                                       [ASSIGN_ROUNDROBIN] = ZK_SAFE_ROUNDROBIN};
    const struct zk_switches s = c->switches;
    c->safe.strategy = m->strategy > ASSIGN_ROUNDROBIN ? ZK_SAFE_AUTO : strategies[m->strategy];
    c->safe.fence = s.fence;
    c->safe.claim_multi = s.claim == ZK_CLAIM_MULTI;
    c->safe.release_session = s.release == ZK_GUARD_SESSION;
    c->safe.commit_session = s.commit == ZK_GUARD_SESSION;
    c->safe.watch_owners = s.watch_owners;
    c->safe.coalesce = !s.each_event;
    c->safe.sync_before_read = s.sync_before_read;
    c->switches = (struct zk_switches){0};
}

static void finish_member(struct world *w, const struct member_values *m,
                          struct sim_member_plan *plan)
{
    plan->config = m->config;
    plan->config.strategy = (enum assign_strategy)m->strategy;
    if (m->strategy > ASSIGN_ROUNDROBIN) /* as zkconsumer/consumer/conf.c has it */
        plan->config.strategy =
            m->config.variant == ZK_VARIANT_DOCUMENTED ? ASSIGN_CEIL : ASSIGN_RANGE;
    plan->config.watch_brokers =
        m->watch_brokers < 0 ? m->config.variant != ZK_VARIANT_0_8 : m->watch_brokers > 0;
    if (plan->config.is_safe)
        finish_safe(m, &plan->config);
    plan->server = copy(&w->arena, m->server);
    plan->consumer_id = copy(&w->arena, m->consumer_id);
}

static bool read_own_settings(const struct scenario *s, struct world *w, struct member_values *list,
                              uint64_t total, struct why *why)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *e = &s->entries[i];
        uint64_t first, last;
        if (strncmp(e->key, "member.", 7) != 0)
            continue;
        struct reading r = reading_of(s, e, w, why);
        const char *key = read_which(e->key, total, &first, &last);
        if (!key || first < 1 || last < first || last > total)
            return refuse(&r, "members of the %" PRIu64 " that there are", total);
        for (uint64_t m = first; m <= last; m++)
            if (!values_read(&r, key, NULL, &list[m - 1]))
                return false;
    }
    return true;
}

static bool check_member(const struct scenario *s, const struct world *w,
                         const struct sim_member_plan *plan, struct why *why)
{
    int64_t tick = w->config.zk.tick_ms;
    uint64_t n;
    const char *at = plan->server ? plan->server + 2 : NULL;
    if (plan->config.session_timeout_ms < 2 * tick || plan->config.session_timeout_ms > 20 * tick)
        return contradicts(
            s, KEYS("zookeeper.session.timeout.ms", "zk.tick"), why,
            "sessions (zookeeper.session.timeout.ms, 6000 by default) of 2 to 20 ticks "
            "(zk.tick, 2s by default), which is what servers grant");
    if (plan->server && (strncmp(plan->server, "zk", 2) != 0 || !read_natural(&at, &n) || *at ||
                         n < 1 || n > w->config.zk.servers))
        return contradicts(s, KEYS("server"), why, "a server of the scenario, like zk1");
    return true;
}

/* Falls anywhere into the sorted order of the group. */
static const char *drawn_id(struct world *w, uint32_t drawn, uint64_t i)
{
    char *id = arena_alloc(&w->arena, 32);
    if (id)
        snprintf(id, 32, "%08" PRIx32 "-%" PRIu64, drawn, i);
    return id;
}

static bool build_members(const struct scenario *s, uint64_t seed, const struct values *v,
                          const struct member_values *all, struct world *w, struct why *why)
{
    uint64_t total = v->members + v->late;
    struct member_values *own = arena_alloc_array(&w->arena, total + 1, sizeof *own);
    struct sim_member_plan *plans = arena_alloc_array(&w->arena, total + 1, sizeof *plans);
    if (!own || !plans)
        return true; /* the arena says so */
    for (uint64_t i = 0; i < total; i++)
        own[i] = *all;
    if (!read_own_settings(s, w, own, total, why))
        return false;
    for (uint64_t i = 0; i < total; i++) {
        struct rng rng; /* its own: another member more moves nobody */
        rng_init(&rng, seed * 0x9e3779b97f4a7c15ull + i);
        finish_member(w, &own[i], &plans[i]);
        uint32_t drawn = (uint32_t)rng_next(&rng);
        if (v->random_ids && !plans[i].consumer_id)
            plans[i].consumer_id = drawn_id(w, drawn, i);
        plans[i].start_ns = i >= v->members ? SIM_NEVER
                            : v->spread_ns  ? v->start_ns + rng_below(&rng, v->spread_ns + 1)
                                            : v->start_ns;
        if (!check_member(s, w, &plans[i], why))
            return false;
    }
    w->config.members = plans;
    w->config.member_count = total;
    return true;
}

/* ---- the rest ---- */

static bool build_faults(const struct scenario *s, const struct values *v, struct world *w,
                         struct why *why)
{
    struct fault_list faults = {0};
    struct names_known known = {v->members, v->late,          v->servers,
                                v->brokers, w->config.topics, w->config.topic_count,
                                v->run_ns};
    for (size_t i = 0; i < s->count; i++) {
        struct reading r = reading_of(s, &s->entries[i], w, why);
        if (strncmp(s->entries[i].key, "fault.", 6) == 0 && !read_fault(&r, &known, &faults))
            return false;
    }
    w->config.faults = faults.list;
    w->config.fault_count = faults.count;
    return true;
}

static bool check_sizes(const struct scenario *s, const struct values *v, struct why *why)
{
    if (v->members + v->late == 0)
        return contradicts(s, KEYS("members"), why, "at least one member, or one that comes late");
    if (v->servers % 2 == 0)
        return contradicts(s, KEYS("zk.servers"), why, "an odd number, so that a majority decides");
    if (v->brokers == 0)
        return contradicts(s, KEYS("brokers"), why, "at least one broker to fetch from");
    if (v->warmup_ns > v->run_ns)
        return contradicts(
            s, KEYS("warmup", "run"), why,
            "a warm-up (warmup, 25s by default) within the run (run, 120s by default)");
    if (v->start_ns + v->spread_ns > v->run_ns)
        return contradicts(s, KEYS("start", "start.spread", "run"), why,
                           "starts (start, start.spread) within the run (run)");
    return true;
}

static void set_world(const struct values *v, uint64_t seed, struct world *w)
{
    struct sim_config *c = &w->config;
    *c = (struct sim_config){.seed = seed, .shuffle_ties = v->shuffle, .client_link = v->link};
    c->group = copy(&w->arena, v->group);
    c->scenario = *v->name ? copy(&w->arena, v->name) : "";
    c->zk = (struct sim_zk_config){.servers = (unsigned)v->servers,
                                   .tick_ms = (uint32_t)(v->tick_ns / SIM_MS),
                                   .sync_limit = (uint32_t)v->sync_limit,
                                   .read_ns = v->read_ns,
                                   .write_ns = v->write_ns,
                                   .fsync = v->fsync,
                                   .link = v->server_link,
                                   .election = v->election};
    c->brokers = (struct sim_broker_config){(unsigned)v->brokers, v->service_ns, !v->listeners};
    w->warmup_ns = v->warmup_ns;
    w->run_ns = v->run_ns;
    w->heal_ns = v->heal_ns;
    w->drain_ns = v->drain_ns;
}

static bool is_plain(const char *key)
{
    return strncmp(key, "fault.", 6) != 0 && strncmp(key, "topic.", 6) != 0 &&
           strncmp(key, "member.", 7) != 0;
}

/* The mode first: it says where the switches begin. */
static bool read_plain(const struct scenario *s, bool is_mode, struct values *v,
                       struct member_values *m, struct world *w, struct why *why)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *key = s->entries[i].key;
        struct reading r = reading_of(s, &s->entries[i], w, why);
        if (is_plain(key) && (strcmp(key, "zookeeper.mode") == 0) == is_mode &&
            !values_read(&r, key, v, m))
            return false;
    }
    return true;
}

/* A line that no member acts on whom it is for: refused as the library refuses it. */
static bool check_modes(const struct scenario *s, struct world *w, struct why *why)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *e = &s->entries[i];
        const char *key = e->key;
        uint64_t first = 1, last = w->config.member_count;
        if (strncmp(key, "member.", 7) == 0)
            key = read_which(key, last, &first, &last);
        bool acts = false;
        for (uint64_t m = first; m <= last && w->config.members; m++)
            acts = acts || zk_mode_acts_on(w->config.members[m - 1].config.is_safe, key, e->value);
        struct reading r = reading_of(s, e, w, why);
        if (w->config.members && !acts)
            return refuse(&r, "it where zookeeper.mode=%s, which alone acts on it",
                          zk_mode_acts_on(true, key, e->value) ? "safe" : "compat");
    }
    return true;
}

static bool build(const struct scenario *s, uint64_t seed, struct world *w, struct why *why)
{
    struct values v;
    struct member_values m;
    values_init(&v);
    member_values_init(&m);
    if (!read_plain(s, true, &v, &m, w, why) || !read_plain(s, false, &v, &m, w, why))
        return false;
    if (!check_sizes(s, &v, why))
        return false;
    set_world(&v, seed, w);
    struct why group;
    if (zk_check_group(v.group, &group))
        return contradicts(s, KEYS("group"), why,
                           "a group id of letters, digits, '.', '_' and '-'");
    return build_topics(s, w, why) && build_members(s, seed, &v, &m, w, why) &&
           check_modes(s, w, why) && build_faults(s, &v, w, why);
}

static enum zkc_err build_expanded(const struct scenario *s, uint64_t seed, struct world *out,
                                   struct why *why)
{
    struct world w;
    arena_init(&w.arena, ARENA_MAX);
    bool ok = build(s, seed, &w, why);
    enum zkc_err err = w.arena.failed ? w.arena.failed : ok ? ZKC_OK : ZKC_ERR_CONFIG;
    if (err) {
        arena_deinit(&w.arena);
        return err;
    }
    *out = w;
    return ZKC_OK;
}

static bool is_swarm(const struct scenario *s)
{
    return strcmp(scenario_value(s, "swarm"), "0") != 0;
}

enum zkc_err scenario_expand(struct scenario *s, uint64_t seed, struct why *why)
{
    why_clear(why);
    if (!is_swarm(s))
        return ZKC_OK;
    struct world w;
    enum zkc_err err = build_expanded(s, seed, &w, why);
    if (err)
        return err;
    const char *at = scenario_value(s, "swarm");
    uint64_t count = 0, members, late;
    read_natural(&at, &count);
    at = scenario_value(s, "members");
    read_natural(&at, &members);
    late = w.config.member_count - members;
    struct names_known known = {members,
                                late,
                                w.config.zk.servers,
                                w.config.brokers.count,
                                w.config.topics,
                                w.config.topic_count,
                                w.run_ns};
    err = swarm_draw(s, &known, count, seed);
    world_deinit(&w);
    return err ? err : scenario_set(s, "swarm", "0", why);
}

enum zkc_err scenario_build(const struct scenario *s, uint64_t seed, struct world *out,
                            struct why *why)
{
    why_clear(why);
    if (!is_swarm(s))
        return build_expanded(s, seed, out, why);
    struct scenario *drawn;
    enum zkc_err err = scenario_copy(s, &drawn);
    if (err)
        return err;
    err = scenario_expand(drawn, seed, why);
    if (!err)
        err = build_expanded(drawn, seed, out, why);
    scenario_free(drawn);
    return err;
}

void world_deinit(struct world *w)
{
    arena_deinit(&w->arena);
}
