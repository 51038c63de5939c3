/* Prints the trace hashes of some worlds in chaos; hash_test.py compares them between compilers. */
#include "study/sim/swarm.h"
#include <inttypes.h>
#include <stdio.h>

#define MEMBERS 4

static uint64_t run(uint64_t seed)
{
    static const struct sim_topic topics[] = {{"t", 6, 20000, 0}, {"u", 3, 5000, 100}};
    struct swarm_options options = {
        .seed = seed, .from_ns = 10 * SIM_S, .to_ns = 60 * SIM_S, .faults_max = 12};
    struct sim_member_plan members[MEMBERS] = {0};
    struct sim_config c;
    struct swarm swarm;
    struct sim *sim;
    char why[200];
    sim_config_init(&c);
    c.seed = seed;
    c.shuffle_ties = seed % 2;
    c.client_link = (struct sim_dist){SIM_LOGNORMAL, 200000, 5000000, NULL, 0};
    c.topics = topics;
    c.topic_count = 2;
    for (size_t i = 0; i < MEMBERS; i++) {
        sim_member_config_init(&members[i].config);
        members[i].config.clock_ppm = (int32_t)i * 50 - 100;
        members[i].start_ns = (1 + 2 * i) * SIM_S;
    }
    c.members = members;
    c.member_count = MEMBERS;
    swarm_draw(&options, &c, &swarm);
    c.faults = swarm.faults;
    c.fault_count = swarm.count;
    if (sim_new(&c, &sim, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 0;
    }
    sim_run_until(sim, 60 * SIM_S);
    sim_heal(sim);
    sim_run_until(sim, 90 * SIM_S);
    uint64_t hash = sim_hash(sim);
    sim_free(sim);
    return hash;
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 10; seed++)
        printf("%" PRIu64 " %016" PRIx64 "\n", seed, run(seed));
    return 0;
}
