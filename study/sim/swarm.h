/* Faults drawn from a seed: a random subset of all kinds with random magnitudes, for the chaos
 * before the healing. */
#ifndef STUDY_SIM_SWARM_H
#define STUDY_SIM_SWARM_H

#include "study/sim/sim.h"

struct swarm_options {
    uint64_t seed;
    uint64_t from_ns, to_ns; /* faults begin in [from, to) */
    unsigned kinds;          /* bits 1 << enum sim_fault_kind that may occur; 0: all but TOPIC */
    size_t faults_max;       /* 1 .. faults_max of them */
    uint64_t scale_ns;       /* the longest that one lasts; 0: 20 s */
};

#define SWARM_FAULTS_MAX 64

/* Texts that the faults point to. */
struct swarm {
    struct sim_fault faults[SWARM_FAULTS_MAX];
    size_t count;
    char names[SWARM_FAULTS_MAX][2][16];
};

/* Draws for this world: its members, servers, brokers, topics. The same options and sizes give the
 * same faults. `out` must stay where it is while config.faults points into it. */
void swarm_draw(const struct swarm_options *options, const struct sim_config *config,
                struct swarm *out);

#endif
