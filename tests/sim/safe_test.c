/* Groups in safe mode in seeds of chaos, then healing: no MUST is violated, and everything settles;
 * each planted bug is found. SIM_SEED=n runs one seed and tells its story, SIM_SEEDS=n so many
 * (default 100), SIM_FIRST=n from which on, SIM_BUG=n one of the bugs, SIM_PARTS=n worlds with
 * these parts (PARTS below) whatever the seed says, SIM_ABOUT=n worlds about this. With
 * SIM_STATE=FILE a long run goes on where it was stopped: the file says up to where it came, and
 * which seeds failed. */
#include "study/check/check.h"
#include "study/sim/kernel.h"
#include "study/sim/story.h"
#include "study/sim/swarm.h"
#include "tests/unit/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX 8
#define DRAMAS_MAX  8
#define SERVERS     3
#define BROKERS     3 /* sim_config_init() */
#define TICK_NS     (2 * SIM_S)

/* What breaks what safe mode assumes of ZooKeeper is left out: a session that somebody else closes,
 * and answers that overtake notifications. */
#define KINDS                                                                                      \
    (((1u << SIM_FAULT_KIND_COUNT) - 1) &                                                          \
     ~(1u << SIM_TOPIC | 1u << SIM_EXPIRE |                                                        \
       1u << SIM_DELAY_WATCH)) /* topics: draw_topic_drama() */

/* Which rule partitions are assigned by; UNEVEN: round robin, and not all members have all topics;
 * MIXED: some members declare rendezvous, so that the group goes by it while the others are away.
 */
enum rules { OF_SEED, UNEVEN, RENDEZVOUS, MIXED };

/* PARTS: what some worlds have besides. */
enum {
    IN_KAFKA = 1 << 0,
    OBSERVED = 1 << 1,
    WIDE_CLOCKS = 1 << 2,
    TOPICS = 1 << 3,
    SPREAD = 1 << 4,
    FURTHER = 1 << 5 /* of observers */
};
#define CLOCK_PPM_MAX 20000 /* of a member against the leader's: docs/safe-mode.md, A4 */

/* Seeds that found something once, and what their worlds had then. */
struct once_failed {
    uint64_t seed;
    unsigned parts;
    enum rules rules;
};
static const struct once_failed ONCE_FAILED[] = {
    {5, 0, OF_SEED},
    {25, 0, OF_SEED},
    {1343, 0, OF_SEED},
    {200735, IN_KAFKA | OBSERVED, OF_SEED},
    {200735, IN_KAFKA | OBSERVED, UNEVEN},
    {202509, IN_KAFKA | OBSERVED, OF_SEED},
    {1001504, 0, OF_SEED},
    {1001954, 0, OF_SEED},
    {1044359, 0, OF_SEED},
    {1050872, 0, OF_SEED},
    {2236353, 0, OF_SEED},
    {2338291, 0, OF_SEED},
    {3234348, 0, OF_SEED},
    {3906940, IN_KAFKA | OBSERVED, OF_SEED},
    {3912590, IN_KAFKA, OF_SEED},
    {3921036, IN_KAFKA, MIXED},
    {5100561, OBSERVED | TOPICS, RENDEZVOUS},
    {6003102, WIDE_CLOCKS | TOPICS, RENDEZVOUS},
    {6101819, WIDE_CLOCKS | TOPICS, OF_SEED},
    {8094606, OBSERVED | WIDE_CLOCKS | SPREAD, OF_SEED},
    {8561328, SPREAD, OF_SEED},
    {8583624, OBSERVED | TOPICS, OF_SEED},
    {8612681, WIDE_CLOCKS | TOPICS, OF_SEED},
    {10033851, IN_KAFKA, OF_SEED},
    {11812446, IN_KAFKA | WIDE_CLOCKS, OF_SEED},
};

/* The first of this seed; NULL: none. */
static const struct once_failed *once_failed(uint64_t seed)
{
    for (size_t i = 0; i < ARRAY_LEN(ONCE_FAILED); i++)
        if (ONCE_FAILED[i].seed == seed)
            return &ONCE_FAILED[i];
    return NULL;
}

/* What a world is about: anything, or leases alone. FOLLOWERS: by servers' links alone; CLOCKS: of
 * members whose clocks run as wrong as they may. */
enum about { ANYTHING, LEASES, FOLLOWERS, CLOCKS };

struct run {
    uint64_t seed, hash, violations;
    unsigned wanted;   /* these, besides what the seed says */
    unsigned bugs;     /* enum zk_safe_bug */
    unsigned sim_bugs; /* enum sim_bug */
    enum about about;
    enum rules rules;
    bool is_stable, wants_story;
    uint64_t decisions; /* that C7 could follow */
    char first[300];
    char why[200];
};

static void on_violation(const struct trace_event *v, void *user)
{
    struct run *r = user;
    if (!r->first[0])
        snprintf(r->first, sizeof r->first, "%s at %.6f s: %s", v->viol.invariant,
                 (double)v->t_ns / 1e9, v->viol.detail);
}

static const char *const SERVER_NAMES[SERVERS] = {"zk1", "zk2", "zk3"};

static void draw_member(struct stream *chance, struct sim_member_plan *m, size_t i, unsigned bugs,
                        char id[8])
{
    struct sim_member_config *c = &m->config;
    sim_member_config_init(c);
    c->is_safe = true;
    c->safe.bugs = bugs;
    c->safe.handover_ms = stream_below(chance, 2) ? 4000 : 500;
    c->safe.poll_limit_ms = stream_below(chance, 3) ? 0 : 8000;
    c->auto_commit_interval_ms = 1000 + (int64_t)stream_below(chance, 5000);
    c->process_ns = stream_below(chance, 40 * SIM_MS);
    c->streams = 1 + (int32_t)stream_below(chance, 2);
    c->streams_again = 1 + (int32_t)stream_below(chance, 2);
    c->clock_ppm = (int32_t)stream_below(chance, 20001) - 10000;
    c->session_timeout_ms = stream_below(chance, 2) ? 4000 : 6000; /* two ticks, or three */
    m->server = stream_below(chance, 2) ? SERVER_NAMES[stream_below(chance, SERVERS)] : NULL;
    m->start_ns = SIM_S + i * (stream_below(chance, 2) ? SIM_S : 300 * SIM_MS);
    snprintf(id, 8, "x%zu", i + 1);
    if (stream_below(chance, 2))
        m->consumer_id = id; /* the same again after a restart */
}

/* The first member keeps all topics, of the others some have one. */
static void draw_uneven(uint64_t seed, struct sim_member_plan *members, size_t count)
{
    struct stream chance = stream_of(seed, "safe", "uneven");
    for (size_t i = 0; i < count; i++) {
        members[i].config.safe.strategy = ZK_SAFE_ROUNDROBIN;
        members[i].config.skips_topics = i ? (uint32_t)stream_below(&chance, 3) : 0;
    }
}

/* Of six seeds one goes by rendezvous and one is mixed, the others by `auto`; so do those that
 * found something. A stream of its own: the rest of the world is as it was. */
static enum rules rules_of_seed(uint64_t seed)
{
    struct stream chance = stream_of(seed, "safe", "rules");
    if (once_failed(seed))
        return once_failed(seed)->rules;
    switch (stream_below(&chance, 6)) {
    case 0: return RENDEZVOUS;
    case 1: return MIXED;
    default: return OF_SEED;
    }
}

static void draw_rules(uint64_t seed, enum rules rules, struct sim_member_plan *members,
                       size_t count)
{
    struct stream chance = stream_of(seed, "safe", "mixed");
    if (rules == UNEVEN)
        draw_uneven(seed, members, count);
    for (size_t i = 0; i < count; i++)
        if (rules == RENDEZVOUS || (rules == MIXED && stream_below(&chance, 4)))
            members[i].config.safe.strategy = ZK_SAFE_RENDEZVOUS;
}

/* Clocks that run as wrong as docs/safe-mode.md (A4) lets them, a third of them exactly so. */
static void draw_clocks(uint64_t seed, struct sim_member_plan *members, size_t count)
{
    struct stream chance = stream_of(seed, "safe", "rates");
    for (size_t i = 0; i < count; i++) {
        int32_t ppm = (int32_t)stream_below(&chance, 2 * CLOCK_PPM_MAX + 1) - CLOCK_PPM_MAX;
        bool is_worst = stream_below(&chance, 3) == 0;
        members[i].config.clock_ppm = !is_worst ? ppm : ppm < 0 ? -CLOCK_PPM_MAX : CLOCK_PPM_MAX;
    }
}

/* Faults that chance alone brings together too rarely. */
struct drama {
    struct sim_fault faults[3];
    size_t count;
    char who[16], other[16];
};

/* Offsets in Kafka, some in both, and an offset manager that moves, is slow, out of reach, or not
 * heard. */
static void draw_offsets(uint64_t seed, struct sim_member_plan *members, size_t count)
{
    struct stream chance = stream_of(seed, "safe", "offsets");
    bool is_mixed = stream_below(&chance, 3) == 0;
    enum commit_store store = stream_below(&chance, 2) ? COMMIT_TO_KAFKA : COMMIT_TO_BOTH;
    for (size_t i = 0; i < count; i++) {
        bool is_other = is_mixed && stream_below(&chance, 2);
        members[i].config.safe.offsets_in = is_other ? COMMIT_TO_BOTH : store;
        members[i].config.safe.offsets_channel_timeout_ms =
            stream_below(&chance, 2) ? 10000 : 1000 + (int64_t)stream_below(&chance, 4000);
    }
}

/* Some processes with several members, that share an observer each. How many. */
static unsigned draw_processes(uint64_t seed, struct sim_member_plan *members, size_t count)
{
    struct stream chance = stream_of(seed, "safe", "processes");
    unsigned n = 1 + (unsigned)stream_below(&chance, (count + 1) / 2);
    for (size_t i = 0; i < count; i++)
        members[i].process = stream_below(&chance, 4) ? 1 + (unsigned)stream_below(&chance, n) : 0;
    return n;
}

/* Packets of ZooKeeper's that take no more than a few watches: further sessions carry the rest, as
 * far as there may be some. */
static void draw_spread(uint64_t seed, struct sim_member_plan *members, size_t count)
{
    struct stream chance = stream_of(seed, "safe", "spread");
    for (size_t i = 0; i < count; i++) {
        members[i].config.watch_packet_bytes = 440 + stream_below(&chance, 300);
        members[i].config.watch_sessions_max = (unsigned)stream_below(&chance, 4);
    }
}

/* The same of observers, whose watches are few: those of the topics alone may be on further
 * sessions. */
static unsigned draw_further(uint64_t seed, struct sim_member_plan *members, size_t count)
{
    struct stream chance = stream_of(seed, "safe", "further");
    unsigned most = 0;
    for (size_t i = 0; i < count; i++) {
        struct sim_member_config *c = &members[i].config;
        c->observer_packet_bytes = 304 + stream_below(&chance, 72);
        c->observer_sessions_max =
            stream_below(&chance, 4) ? 3 : (unsigned)stream_below(&chance, 3);
        c->watch_turn_ns = stream_below(&chance, 2) ? 0 : stream_below(&chance, 100 * SIM_MS);
        most = c->observer_sessions_max > most ? c->observer_sessions_max : most;
    }
    return most;
}

static struct sim_fault fault_at(uint64_t at_ns, enum sim_fault_kind kind, const char *who,
                                 uint64_t for_ns)
{
    return (struct sim_fault){
        .when = {.kind = SIM_AT, .base_ns = at_ns}, .kind = kind, .who = who, .for_ns = for_ns};
}

/* What a lease is for: a slow link, and then a cut or a standstill, of a member or of the follower
 * that members are on. */
static void draw_lease_drama(struct stream *chance, struct drama *d, size_t members,
                             bool is_of_followers)
{
    uint64_t at = 10 * SIM_S + stream_below(chance, 40 * SIM_S);
    uint64_t then = at + stream_below(chance, 6 * SIM_S);
    bool is_server = stream_below(chance, 2) || is_of_followers;
    bool is_one_way = stream_below(chance, 2) || is_of_followers;
    if (is_of_followers)
        then = at + (then - at) / 2;
    snprintf(d->who, sizeof d->who, is_server ? "zk%u" : "m%u",
             1 + (unsigned)stream_below(chance, is_server ? SERVERS : members));
    d->faults[0] = (struct sim_fault){.when = {.kind = SIM_AT, .base_ns = at},
                                      .kind = SIM_DELAY,
                                      .who = d->who,
                                      .peer = "zk*",
                                      .dir = is_one_way ? SIM_IN : SIM_BOTH,
                                      .for_ns = 8 * SIM_S,
                                      .value_ns = is_server && is_one_way
                                                      ? SIM_S + stream_below(chance, 2 * SIM_S)
                                                      : stream_below(chance, 1500 * SIM_MS)};
    d->faults[1] =
        (struct sim_fault){.when = {.kind = SIM_AT, .base_ns = then},
                           .kind = !is_server && stream_below(chance, 2) ? SIM_SUSPEND : SIM_CUT,
                           .who = d->who,
                           .peer = "zk*",
                           .dir = is_one_way ? SIM_OUT : SIM_BOTH,
                           .for_ns = 5 * SIM_S + stream_below(chance, 15 * SIM_S)};
    d->count = 2;
}

/* What the margin of a lease is for: a session that began so shortly before a tick that it ends as
 * early as it may, and of whose member the leader has not heard again, for the link is cut before
 * the ping of that tick. The ticks are those of zk3, which leads at first. */
static void draw_clock_drama(uint64_t seed, struct stream *chance, struct drama *d)
{
    struct stream phase = stream_of(seed, "zk3", "tick");
    uint64_t tick = stream_below(&phase, TICK_NS) + TICK_NS * (7 + stream_below(chance, 22));
    uint64_t start = tick - 20 * SIM_MS - stream_below(chance, 60 * SIM_MS);
    uint64_t crash = start - 10 * SIM_S * stream_below(chance, 2) - SIM_S;
    d->faults[d->count++] = fault_at(crash, SIM_CRASH, d->who, start - crash);
    d->faults[d->count++] =
        fault_at(tick - stream_below(chance, 15 * SIM_MS), SIM_CUT, d->who, 8 * SIM_S);
}

/* A member restarts at once, and another does not see its old registration go and the new one come
 * but both together. */
static void draw_restart(struct stream *chance, struct drama *d, size_t members)
{
    uint64_t at = 10 * SIM_S + stream_below(chance, 40 * SIM_S);
    d->faults[d->count++] = fault_at(at, SIM_CRASH, d->who, SIM_S);
    snprintf(d->other, sizeof d->other, "m%u", 1 + (unsigned)stream_below(chance, members));
    d->faults[d->count++] = fault_at(at + 3 * SIM_S + stream_below(chance, 3 * SIM_S), SIM_SUSPEND,
                                     d->other, 4 * SIM_S);
}

/* The answer to a claim is lost, and meanwhile the partition becomes another's. */
static void draw_lost_claim(struct stream *chance, struct drama *d, size_t members)
{
    struct sim_when claiming = {.kind = SIM_AT_POINT,
                                .who = d->who,
                                .point = SIM_POINT_CLAIM,
                                .nth = 1 + (uint32_t)stream_below(chance, 6)};
    (void)members;
    d->faults[d->count] = fault_at(0, SIM_LOSE_REPLY, d->who, 0);
    d->faults[d->count].point = SIM_POINT_CLAIM;
    d->faults[d->count++].when = claiming;
}

/* Somebody deletes a registration; its owner may be away. */
static void draw_unregister(struct stream *chance, struct drama *d, size_t members)
{
    uint64_t at = 10 * SIM_S + stream_below(chance, 40 * SIM_S);
    (void)members;
    d->faults[d->count++] = fault_at(at, SIM_UNREGISTER, d->who, 0);
}

static void draw_manager_drama(struct stream *chance, struct drama *d, size_t members)
{
    uint64_t at = 5 * SIM_S + stream_below(chance, 50 * SIM_S);
    uint64_t for_ns = SIM_S + stream_below(chance, 12 * SIM_S);
    *d = (struct drama){.count = 1};
    struct sim_fault *f = &d->faults[0];
    snprintf(d->who, sizeof d->who, "m%u", 1 + (unsigned)stream_below(chance, members));
    snprintf(d->other, sizeof d->other, "b%u", (unsigned)stream_below(chance, BROKERS));
    switch (stream_below(chance, 6)) {
    case 0: *f = fault_at(at, SIM_MANAGER, d->other, 0); break;
    case 1:
        *f = fault_at(at, SIM_SLOW_STORE, d->other, for_ns);
        f->value_ns = stream_below(chance, 12 * SIM_S);
        break;
    case 2:
    case 3:
        *f = fault_at(0, SIM_LOSE_REPLY, d->who, 0);
        f->point = stream_below(chance, 3) ? SIM_POINT_STORE : SIM_POINT_STORED;
        f->when = (struct sim_when){.kind = SIM_AT_POINT,
                                    .who = d->who,
                                    .point = f->point,
                                    .nth = 1 + (uint32_t)stream_below(chance, 12)};
        break;
    case 4: *f = fault_at(at, SIM_CRASH, d->other, for_ns); break;
    default:
        *f = fault_at(at, stream_below(chance, 2) ? SIM_CUT : SIM_DELAY, d->who, for_ns);
        f->peer = "b*";
        f->dir = (enum sim_dir)stream_below(chance, 3);
        f->value_ns = stream_below(chance, 8 * SIM_S);
    }
}

/* The observer is behind, silent, or gone, while its members are not. */
static void draw_observer_drama(struct stream *chance, struct drama *d, unsigned processes)
{
    static const enum sim_fault_kind kinds[] = {SIM_CUT,   SIM_CUT,   SIM_DELAY,
                                                SIM_DELAY, SIM_RESET, SIM_LAG};
    uint64_t at = stream_below(chance, 55 * SIM_S);
    uint64_t for_ns = SIM_S + stream_below(chance, 14 * SIM_S);
    enum sim_fault_kind kind = kinds[stream_below(chance, ARRAY_LEN(kinds))];
    *d = (struct drama){.count = 1};
    struct sim_fault *f = &d->faults[0];
    snprintf(d->who, sizeof d->who, kind == SIM_LAG ? "zk%u" : "o%u",
             1 + (unsigned)stream_below(chance, kind == SIM_LAG ? SERVERS : processes));
    *f = fault_at(at, kind, d->who, for_ns);
    f->dir = (enum sim_dir)stream_below(chance, 3);
    f->value_ns = stream_below(chance, 4 * SIM_S);
}

/* A further session of an observer, or the observer with all of them, is cut off, ends, or cannot
 * be had, and topics grow meanwhile, or just then. */
static void draw_further_drama(struct stream *chance, struct drama *d, unsigned processes,
                               unsigned sessions, const struct sim_topic *topics, size_t count)
{
    static const enum sim_fault_kind kinds[] = {SIM_CUT,   SIM_CUT,    SIM_DELAY,
                                                SIM_RESET, SIM_EXPIRE, SIM_EXPIRE};
    uint64_t at = stream_below(chance, 55 * SIM_S);
    uint64_t spell_ns = stream_below(chance, 2) ? 20 * SIM_MS : 8 * SIM_S;
    unsigned process = 1 + (unsigned)stream_below(chance, processes);
    *d = (struct drama){.count = 3};
    if (sessions == 0 || stream_below(chance, 5) == 0)
        snprintf(d->who, sizeof d->who, "o%u*", process);
    else
        snprintf(d->who, sizeof d->who, "o%u.%u", process,
                 1 + (unsigned)stream_below(chance, sessions));
    d->faults[0] = fault_at(at, kinds[stream_below(chance, ARRAY_LEN(kinds))], d->who,
                            SIM_S + stream_below(chance, 20 * SIM_S));
    d->faults[0].dir = (enum sim_dir)stream_below(chance, 3);
    d->faults[0].value_ns = stream_below(chance, 4 * SIM_S);
    for (size_t i = 1; i < d->count; i++) {
        d->faults[i] = fault_at(at + stream_below(chance, spell_ns), SIM_PARTITIONS, NULL, 0);
        d->faults[i].topic = topics[stream_below(chance, count)].name;
        d->faults[i].count = 1 + (int32_t)stream_below(chance, 10);
    }
}

/* A topic goes, and comes back with what is in it counted from 0: at once, later, with fewer
 * partitions, or not at all. */
static void draw_topic_drama(struct stream *chance, struct drama *d, const struct sim_topic *topic)
{
    uint64_t at = stream_below(chance, 50 * SIM_S);
    *d = (struct drama){0};
    d->faults[d->count++] = fault_at(at, SIM_TOPIC_GONE, NULL, 0);
    d->faults[0].topic = topic->name;
    if (stream_below(chance, 8) == 0)
        return;
    at += stream_below(chance, stream_below(chance, 2) ? 20 * SIM_S : 50 * SIM_MS);
    d->faults[d->count++] = fault_at(at, SIM_TOPIC, NULL, 0);
    d->faults[1].topic = topic->name;
    d->faults[1].count =
        stream_below(chance, 2) ? topic->partitions : 1 + (int32_t)stream_below(chance, 9);
}

/* Somebody goes back or forward: the application, or a tool. */
static void draw_seek(struct stream *chance, struct drama *d, size_t members,
                      const struct sim_topic *topic)
{
    bool is_tool = stream_below(chance, 2);
    *d = (struct drama){.count = 1};
    snprintf(d->who, sizeof d->who, "m%u", 1 + (unsigned)stream_below(chance, members));
    d->faults[0] = fault_at(5 * SIM_S + stream_below(chance, 50 * SIM_S),
                            is_tool ? SIM_RESET_OFFSET : SIM_SEEK, is_tool ? NULL : d->who, 0);
    d->faults[0].topic = is_tool ? topic->name : NULL;
    d->faults[0].count = (int32_t)stream_below(chance, 8);
    d->faults[0].value_ns = stream_next(chance) >> 16;
}

static void draw_drama(uint64_t seed, struct stream *chance, struct drama *d, size_t members,
                       bool is_about_leases, enum about about)
{
    *d = (struct drama){0};
    snprintf(d->who, sizeof d->who, "m%u", 1 + (unsigned)stream_below(chance, members));
    if (about == CLOCKS && stream_below(chance, 4)) {
        draw_clock_drama(seed, chance, d);
        return;
    }
    if (is_about_leases) {
        draw_lease_drama(chance, d, members, about == FOLLOWERS);
        return;
    }
    switch (stream_below(chance, 4)) {
    case 0: draw_restart(chance, d, members); break;
    case 1: draw_lost_claim(chance, d, members); break;
    case 2: draw_unregister(chance, d, members); break;
    default: draw_lease_drama(chance, d, members, false);
    }
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* Seeds that have failed in worlds without them stay without. */
static unsigned parts_of(const struct run *r)
{
    struct stream chance = stream_of(r->seed, "safe", "parts");
    if (getenv("SIM_PARTS"))
        return (unsigned)number_from("SIM_PARTS", 0);
    if (once_failed(r->seed))
        return r->wanted | once_failed(r->seed)->parts;
    struct stream clocks = stream_of(r->seed, "safe", "clocks");
    unsigned parts = r->wanted;
    parts |= stream_below(&clocks, 2) || r->about == CLOCKS ? WIDE_CLOCKS : 0;
    if (r->about != ANYTHING || r->rules == UNEVEN)
        return parts;
    parts |= stream_below(&chance, 4) ? 0 : IN_KAFKA;
    parts |= stream_below(&chance, 4) ? 0 : OBSERVED;
    parts |= stream_below(&chance, 4) || parts & IN_KAFKA ? 0 : TOPICS;
    parts |= stream_below(&chance, 4) ? 0 : SPREAD;
    parts |= stream_below(&chance, 4) || !(parts & OBSERVED) ? 0 : FURTHER;
    return parts;
}

/* Of eight seeds one each is about leases, followers and clocks. */
static enum about about_of_seed(uint64_t seed)
{
    static const enum about abouts[8] = {LEASES, FOLLOWERS, CLOCKS};
    struct stream chance = stream_of(seed, "safe", "about");
    if (getenv("SIM_ABOUT"))
        return (enum about)number_from("SIM_ABOUT", 0);
    return once_failed(seed) ? ANYTHING : abouts[stream_below(&chance, 8)];
}

static void run(struct run *r)
{
    struct stream chance = stream_of(r->seed, "safe", "world");
    const struct sim_topic topics[] = {{"t", 1 + (int32_t)stream_below(&chance, 8), 20000, 0},
                                       {"u", 1 + (int32_t)stream_below(&chance, 4), 5000, 100},
                                       {"v", 2, 2000, 0},
                                       {"w", 1, 8000, 10},
                                       {"x", 3, 1000, 0},
                                       {"y", 1, 4000, 0}}; /* from the third on: FURTHER alone */
    bool is_about_leases = stream_below(&chance, 2) || r->about != ANYTHING;
    struct swarm_options options = {.seed = r->seed,
                                    .from_ns = 10 * SIM_S,
                                    .to_ns = 60 * SIM_S,
                                    .faults_max = is_about_leases ? 2 : 12,
                                    .kinds = KINDS};
    struct check_options check_options = {on_violation, r};
    struct check *check = check_new(&check_options);
    struct story story;
    struct trace_sink sinks[2] = {{2, check_take, check}};
    struct sim_member_plan members[MEMBERS_MAX] = {0};
    char ids[MEMBERS_MAX][8], why[200];
    struct sim_config c;
    struct swarm swarm;
    struct drama dramas[DRAMAS_MAX], others[3 * DRAMAS_MAX];
    struct sim_fault faults[SWARM_FAULTS_MAX + 12 * DRAMAS_MAX];
    unsigned parts = parts_of(r), processes = 0, sessions = 0;
    size_t other_count = 0;
    struct sim *sim;
    sim_config_init(&c);
    c.seed = r->seed;
    c.bugs = r->sim_bugs;
    c.shuffle_ties = true;
    c.topics = topics;
    c.topic_count = 1 + stream_below(&chance, 2);
    c.member_count = 2 + stream_below(&chance, MEMBERS_MAX - 1);
    for (size_t i = 0; i < c.member_count; i++)
        draw_member(&chance, &members[i], i, r->bugs, ids[i]);
    if (r->rules == UNEVEN)
        c.topic_count = 2;
    draw_rules(r->seed, r->rules == OF_SEED ? rules_of_seed(r->seed) : r->rules, members,
               c.member_count);
    if (parts & WIDE_CLOCKS)
        draw_clocks(r->seed, members, c.member_count);
    if (parts & IN_KAFKA)
        draw_offsets(r->seed, members, c.member_count);
    if (parts & SPREAD)
        draw_spread(r->seed, members, c.member_count);
    if (parts & OBSERVED)
        processes = draw_processes(r->seed, members, c.member_count);
    if (parts & FURTHER && processes) {
        struct stream more_topics = stream_of(r->seed, "safe", "more topics");
        sessions = draw_further(r->seed, members, c.member_count);
        c.topic_count += stream_below(&more_topics, ARRAY_LEN(topics) - 1);
    }
    c.members = members;
    swarm_draw(&options, &c, &swarm);
    memcpy(faults, swarm.faults, swarm.count * sizeof *faults);
    c.faults = faults;
    c.fault_count = swarm.count;
    for (size_t i = 0; i < DRAMAS_MAX; i++) {
        draw_drama(r->seed, &chance, &dramas[i], c.member_count, is_about_leases, r->about);
        memcpy(&faults[c.fault_count], dramas[i].faults,
               dramas[i].count * sizeof *dramas[i].faults);
        c.fault_count += dramas[i].count;
    }
    struct stream more = stream_of(r->seed, "safe", "more");
    for (size_t i = 0; parts & IN_KAFKA && i < 5; i++)
        draw_manager_drama(&more, &others[other_count++], c.member_count);
    struct stream of_observers = stream_of(r->seed, "safe", "observers");
    for (size_t i = 0; parts & OBSERVED && i < 5; i++)
        draw_observer_drama(&of_observers, &others[other_count++], processes);
    struct stream of_further = stream_of(r->seed, "safe", "further sessions");
    for (size_t i = 0; parts & FURTHER && processes && i < 6; i++)
        draw_further_drama(&of_further, &others[other_count++], processes, sessions, topics,
                           c.topic_count);
    struct stream of_topics = stream_of(r->seed, "safe", "topics");
    struct stream of_filters = stream_of(r->seed, "safe", "filters");
    bool is_filter = parts & TOPICS && stream_below(&of_filters, 2) && r->rules != UNEVEN;
    for (size_t i = 0; i < c.member_count; i++)
        members[i].config.is_filter = is_filter;
    for (size_t i = 0; parts & TOPICS && i < 6; i++) {
        const struct sim_topic *topic = &topics[stream_below(&of_topics, c.topic_count)];
        if (i < 2)
            draw_topic_drama(&of_topics, &others[other_count++], topic);
        else
            draw_seek(&of_topics, &others[other_count++], c.member_count, topic);
    }
    for (size_t i = 0; i < other_count; i++) {
        memcpy(&faults[c.fault_count], others[i].faults, others[i].count * sizeof *faults);
        c.fault_count += others[i].count;
    }
    c.sinks = sinks;
    c.sink_count = 1;
    story_init(&story, STORY_LONG, 0);
    if (r->wants_story)
        sinks[c.sink_count++] = (struct trace_sink){2, story_take, &story};
    if (sim_new(&c, &sim, why, sizeof why))
        fail_msg("SIM_SEED=%llu: %s", (unsigned long long)r->seed, why);
    sim_run_until(sim, 60 * SIM_S);
    sim_heal(sim);
    r->is_stable = sim_run_until_true(sim, sim_is_stable, NULL, 180 * SIM_S);
    snprintf(r->why, sizeof r->why, "%s", sim_why(sim));
    sim_run_until(sim, sim_now(sim) + 60 * SIM_S);
    r->hash = sim_hash(sim);
    sim_free(sim);
    if (r->wants_story)
        fputs(story_text(&story), stdout);
    story_deinit(&story);
    assert_int_equal(check_finish(check), ZKC_OK);
    r->violations = check_violations(check);
    r->decisions = check_result(check, CHECK_C7).checked;
    check_free(check);
}

/* A run without bugs. */
static void run_clean(struct run *r)
{
    run(r);
    if (r->violations)
        fail_msg("SIM_SEED=%llu, world %d: %s", (unsigned long long)r->seed, (int)r->about,
                 r->first);
    if (!r->is_stable)
        fail_msg("SIM_SEED=%llu, world %d: does not settle: %s", (unsigned long long)r->seed,
                 (int)r->about, r->why);
}

static void expect_clean_run(struct run r)
{
    run_clean(&r);
}

static void expect_clean(uint64_t seed, bool wants_story)
{
    expect_clean_run(
        (struct run){.seed = seed, .about = about_of_seed(seed), .wants_story = wants_story});
}

/* ---- long runs ---- */

#define STATE_EVERY 50 /* seeds */

struct progress {
    const char *path; /* NULL: not kept */
    uint64_t next, failed;
    char failures[4000]; /* a line each, the first of them */
};

static void progress_read(struct progress *p, uint64_t first)
{
    *p = (struct progress){.path = getenv("SIM_STATE"), .next = first};
    FILE *in = p->path ? fopen(p->path, "r") : NULL;
    unsigned long long next, failed;
    if (!in)
        return;
    if (fscanf(in, "next %llu failed %llu\n", &next, &failed) != 2)
        fail_msg("%s: expected \"next N failed N\"", p->path);
    p->next = next;
    p->failed = failed;
    size_t len = fread(p->failures, 1, sizeof p->failures - 1, in);
    p->failures[len] = 0;
    fclose(in);
}

static void progress_write(const struct progress *p)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s.new", p->path);
    FILE *out = fopen(whole, "w");
    if (!out)
        fail_msg("%s cannot be written", whole);
    fprintf(out, "next %llu failed %llu\n%s", (unsigned long long)p->next,
            (unsigned long long)p->failed, p->failures);
    if (fclose(out) || rename(whole, p->path))
        fail_msg("%s cannot be written", p->path);
}

static void run_kept(struct progress *p)
{
    struct run r = {.seed = p->next, .about = about_of_seed(p->next)};
    p->next++;
    run(&r);
    if (!r.violations && r.is_stable)
        return;
    size_t len = strlen(p->failures);
    p->failed++;
    snprintf(p->failures + len, sizeof p->failures - len, "SIM_SEED=%llu: %s\n",
             (unsigned long long)r.seed, r.violations ? r.first : r.why);
}

static void test_a_long_run(void **state)
{
    struct progress p;
    uint64_t first = number_from("SIM_FIRST", 1000), last = first + number_from("SIM_SEEDS", 100);
    (void)state;
    progress_read(&p, first);
    while (p.path && p.next < last) {
        run_kept(&p);
        if (p.next % STATE_EVERY == 0 || p.next == last)
            progress_write(&p);
    }
    if (p.failed)
        fail_msg("%llu seeds failed:\n%s", (unsigned long long)p.failed, p.failures);
}

static void test_no_must_is_violated(void **state)
{
    uint64_t one = number_from("SIM_SEED", 0), count = number_from("SIM_SEEDS", 100);
    uint64_t first = number_from("SIM_FIRST", 1000);
    (void)state;
    if (getenv("SIM_BUG") || getenv("SIM_STATE"))
        return;
    if (one) {
        expect_clean(one, true);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(ONCE_FAILED); i++)
        expect_clean_run((struct run){.seed = ONCE_FAILED[i].seed, .rules = ONCE_FAILED[i].rules});
    for (uint64_t seed = first; seed < first + count; seed++)
        expect_clean(seed, false);
}

/* The worlds that bugs of the lease are looked for in: nothing is found in them without a bug. */
static void test_worlds_about_leases_are_clean(void **state)
{
    (void)state;
    if (getenv("SIM_SEED") || getenv("SIM_SEEDS") || getenv("SIM_BUG") || getenv("SIM_STATE"))
        return;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        expect_clean_run((struct run){.seed = seed, .about = LEASES});
        expect_clean_run((struct run){.seed = seed, .about = FOLLOWERS});
        expect_clean_run((struct run){.seed = seed, .about = CLOCKS});
    }
}

/* Further sessions, whatever the seed says. */
static void test_further_sessions_are_clean(void **state)
{
    static const unsigned parts[] = {OBSERVED | FURTHER, OBSERVED | FURTHER | SPREAD};
    (void)state;
    if (getenv("SIM_SEED") || getenv("SIM_BUG") || getenv("SIM_STATE"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        for (uint64_t seed = 1; seed <= number_from("SIM_SEEDS", 100) / 8 + 1; seed++)
            expect_clean_run((struct run){.seed = seed, .wanted = parts[i]});
}

/* Every decision is the rule's. */
static void expect_rules(enum rules rules, uint64_t seeds)
{
    uint64_t one = number_from("SIM_SEED", 0);
    if (getenv("SIM_BUG") || getenv("SIM_STATE"))
        return;
    for (uint64_t seed = one ? one : 1; seed < (one ? one + 1 : 1 + seeds); seed++) {
        struct run r = {.seed = seed, .rules = rules};
        run_clean(&r);
        if (!r.decisions)
            fail_msg("SIM_SEED=%llu: no decision was followed", (unsigned long long)seed);
    }
}

/* Who subscribes to other topics than the rest stops nobody. */
static void test_uneven_round_robin(void **state)
{
    (void)state;
    expect_rules(UNEVEN, number_from("SIM_SEEDS", 100) / 4 + 1);
}

static void test_rendezvous(void **state)
{
    (void)state;
    expect_rules(RENDEZVOUS, number_from("SIM_SEEDS", 100) / 8 + 1);
    expect_rules(MIXED, number_from("SIM_SEEDS", 100) / 8 + 1);
}

/* The test of the test. A claim told by its text does no harm while the registration is told by its
 * session (docs/safe-mode.md), so those two are planted together. */
static void test_planted_bugs_are_found(void **state)
{
    static const struct {
        unsigned bugs;
        const char *name;
        int about;
        unsigned parts;
    } planted[] = {
        {ZK_SAFE_BUG_LEASE_FROM_RECEIPT, "lease from receipt", LEASES, 0},
        {ZK_SAFE_BUG_LEASE_FROM_LAST_PROBE, "lease from the last probe", LEASES, 0},
        {ZK_SAFE_BUG_LEASE_ONE_WRITE, "probes of one write", FOLLOWERS, 0},
        {ZK_SAFE_BUG_LEASE_ON_READ, "lease on a follower's read", LEASES, 0},
        {ZK_SAFE_BUG_LEASE_WITHOUT_MARGIN, "lease without a margin", CLOCKS, 0},
        {ZK_SAFE_BUG_COMMIT_IN_NEW_SESSION, "commit retried in a new session", ANYTHING, 0},
        {ZK_SAFE_BUG_CLAIM_BY_TEXT | ZK_SAFE_BUG_REGISTRATION_BY_TEXT,
         "claim and registration told by text", ANYTHING, 0},
        {ZK_SAFE_BUG_REGISTRATIONS_BY_NAME, "registrations cached by name", ANYTHING, 0},
        {ZK_SAFE_BUG_VIEW_WITHOUT_SELF, "a view lacking oneself acted on", ANYTHING, 0},
        {ZK_SAFE_BUG_UNRESOLVED_FORGOTTEN, "an unresolved create forgotten", ANYTHING, 0},
        {ZK_SAFE_BUG_RELEASE_BEFORE_DRAIN, "release before drain", ANYTHING, 0},
        {ZK_SAFE_BUG_STORE_AFTER_LEASE, "a commit to Kafka after the lease", ANYTHING, IN_KAFKA},
        {ZK_SAFE_BUG_RELEASE_BEFORE_STORED, "release before Kafka has stored", ANYTHING, IN_KAFKA},
        {ZK_SAFE_BUG_ERROR_IS_NO_OFFSET, "Kafka's error taken for no offset", ANYTHING, IN_KAFKA},
        {ZK_SAFE_BUG_VIEW_WITHOUT_SELF, "an observer's view lacking oneself acted on", ANYTHING,
         OBSERVED},
    };
    uint64_t only = number_from("SIM_BUG", UINT64_MAX);
    (void)state;
    if (getenv("SIM_SEED") || getenv("SIM_SEEDS"))
        return;
    for (size_t n = 0; n < sizeof planted / sizeof *planted; n++) {
        struct run r = {0};
        uint64_t seed = 1;
        for (; (only == UINT64_MAX || only == n) && seed <= 1000; seed++) {
            r = (struct run){.seed = seed,
                             .bugs = planted[n].bugs,
                             .about = planted[n].about,
                             .wanted = planted[n].parts};
            run(&r);
            if (r.violations || !r.is_stable)
                break;
        }
        if (seed > 1000)
            fail_msg("not found in 1000 seeds: %s", planted[n].name);
        if (only == UINT64_MAX || only == n) /* it is the bug that was found, not the world */
            expect_clean_run(
                (struct run){.seed = seed, .about = planted[n].about, .wanted = planted[n].parts});
        if (only == UINT64_MAX || only == n)
            print_message("%s: seed %llu, %s\n", planted[n].name, (unsigned long long)seed,
                          r.violations ? r.first : r.why);
    }
}

/* Shells that do not do their part: of observers, that have to leave their watches again like a
 * member, and of further sessions. */
static void test_planted_bugs_of_shells_are_found(void **state)
{
    static const struct {
        unsigned bugs;
        const char *name, *found; /* part of what is told */
        unsigned parts;
    } planted[] = {
        {SIM_BUG_OBSERVER_BLIND, "a blind observer", "Z7 at 240.000000 s: o", OBSERVED},
        {SIM_BUG_WATCHES_DEAF, "a member deaf to further sessions", "", SPREAD},
        {SIM_BUG_WATCHES_DEAF, "an observer deaf to further sessions", "", OBSERVED | FURTHER},
        {SIM_BUG_WATCHES_OUTLIVED, "a further session heard after its life", "",
         OBSERVED | FURTHER},
    };
    (void)state;
    if (getenv("SIM_SEED") || getenv("SIM_SEEDS") || getenv("SIM_BUG"))
        return;
    for (size_t n = 0; n < ARRAY_LEN(planted); n++) {
        struct run r = {0};
        uint64_t seed = 0;
        bool is_found = false;
        while (!is_found && seed < 1000) {
            r = (struct run){
                .seed = ++seed, .sim_bugs = planted[n].bugs, .wanted = planted[n].parts};
            run(&r);
            is_found = (r.violations || !r.is_stable) && strstr(r.first, planted[n].found);
        }
        if (!is_found)
            fail_msg("not found in 1000 seeds: %s", planted[n].name);
        expect_clean_run((struct run){.seed = seed, .wanted = planted[n].parts});
        print_message("%s: seed %llu, %s\n", planted[n].name, (unsigned long long)seed,
                      r.violations ? r.first : r.why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_must_is_violated),
        cmocka_unit_test(test_a_long_run),
        cmocka_unit_test(test_worlds_about_leases_are_clean),
        cmocka_unit_test(test_further_sessions_are_clean),
        cmocka_unit_test(test_uneven_round_robin),
        cmocka_unit_test(test_rendezvous),
        cmocka_unit_test(test_planted_bugs_are_found),
        cmocka_unit_test(test_planted_bugs_of_shells_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
