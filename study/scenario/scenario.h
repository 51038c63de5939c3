/* Scenarios as data: what world, which members, which faults when. Lines of key=value (properties);
 * every key has a default, the base set-up of reference/rebalance-study.md 3: 10 members, one topic
 * of 40 partitions at 20 messages/s each, 3 brokers, 3 ZooKeeper servers, profile hist08, 120 s; to
 * stop its fetchers takes a member 50 ms (formulas F10 to F13 take U(0, 100) ms).
 *
 *     name = S01
 *     about = one member joins
 *     late = 1
 *     fault.1 = at 30s+u(0,6s) join late
 *
 * Settings of members have their configuration names; those of one member or some stand behind
 * member.3. or member.6-10. (member.6-*. to the last). Durations: 200us, 1.5s, 2m. Faults:
 *
 *     at TIME | after cause N TIME | when WHO:POINT[:NTH] [TIME]     TIME: 30s, u(0,5s),
 * 30s+u(0,5s) join WHO | leave WHO | crash WHO [for D] | suspend WHO [for D] | expire WHO cut WHO
 * PEER [both|out|in] [for D] | reset WHO PEER | delay WHO PEER [both|out|in] by D [for D]
 *     delay_watch WHO by D [for D] | lose_reply WHO POINT | lag ZK by D [for D] | stall ZK by D
 * [for D] slow_stop WHO by D [for D] | slow_app WHO by D [for D] partitions TOPIC to N | topic
 * TOPIC to N rate R | leader TOPIC/P to BROKER
 *
 * WHO: m3, m6-m10, late (those that do not run at the start), m*, random, zk2, zk*, zk:leader, b0,
 * b*, any (at a point). POINT: register, claim, release, commit, offset_read, members, try, stop,
 * assign, backoff, any.
 *
 * The lines are kept: setting a key, leaving out a fault and writing the whole again is what
 * command lines, sweeps and shrinking are made of. Pure but for scenario_read(). */
#ifndef STUDY_SCENARIO_SCENARIO_H
#define STUDY_SCENARIO_SCENARIO_H

#include "study/sim/sim.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"

struct scenario;

#define SCENARIO_BYTES_MAX ((size_t)1024 * 1024)

/* Reads the text of a file and checks all of it by building it once. `file` is for errors only,
 * which begin with "FILE:LINE: " and say what was expected.
 *
 * ZKC_ERR_CONFIG  a line that is no entry; an unknown key; a key given twice; a value out of range;
 *                 sizes that contradict each other; a time that cannot be; a fault that names
 * nobody ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err scenario_parse(const char *file, struct bytes text,
                                           struct scenario **out, struct why *why);
/* The same of a file. ZKC_ERR_SYSTEM: it cannot be read. */
ZKC_MUST_CHECK enum zkc_err scenario_read(const char *path, struct scenario **out, struct why *why);
ZKC_MUST_CHECK enum zkc_err scenario_copy(const struct scenario *s, struct scenario **out);
void scenario_free(struct scenario *s); /* NULL is allowed */

/* Sets a key, as its line would. Short names of sweeps: n (members), P (partitions of the first
 * topic). Whether the value fits is said by the next scenario_build(). ZKC_ERR_CONFIG: no such key.
 */
ZKC_MUST_CHECK enum zkc_err scenario_set(struct scenario *s, const char *key, const char *value,
                                         struct why *why);

size_t scenario_fault_count(const struct scenario *s); /* lines */
void scenario_remove_fault(struct scenario *s, size_t i);

/* Of a swarm (key swarm): turns the faults that this seed draws into lines of their own; of others
 * nothing changes. The world stays the same. */
ZKC_MUST_CHECK enum zkc_err scenario_expand(struct scenario *s, uint64_t seed, struct why *why);

/* The value of a key as it stands or by default; NULL: no such key. Lent until the next change. */
const char *scenario_value(const struct scenario *s, const char *key);

/* Entries as lines, in their order: scenario_parse() reads them again. */
void scenario_write(const struct scenario *s, struct buf *out);

/* A world, as the simulator wants it, but for its sinks and bugs. */
struct world {
    struct sim_config config;
    uint64_t warmup_ns; /* the phase `measure` begins then */
    uint64_t run_ns;    /* the faults end then, and `heal` begins */
    uint64_t heal_ns;   /* at most so long until it is stable, or is not any more */
    uint64_t drain_ns;  /* and so long after that */
    struct arena arena; /* behind config */
};

/* Times that are drawn once for a run (the starts of members) come from the seed. On success the
 * caller ends *out with world_deinit(). Errors as for scenario_parse(). */
ZKC_MUST_CHECK enum zkc_err scenario_build(const struct scenario *s, uint64_t seed,
                                           struct world *out, struct why *why);
void world_deinit(struct world *w);

#endif
