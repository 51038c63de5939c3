/* The keys of scenarios with their defaults and limits, and the values that they come to. */
#ifndef STUDY_SCENARIO_KEYS_H
#define STUDY_SCENARIO_KEYS_H

#include "study/scenario/parts.h"

#define KEY_TOPIC_DEFAULT "40 rate 20"

/* A key of the table, or one of topic.NAME, fault.N, member.WHICH.KEY. */
bool key_is_known(const char *key);
/* The known key that is most like it. Static. */
const char *key_near(const char *key);
/* NULL: it has none. Static. */
const char *key_default(const char *key);

struct values {
    const char *name, *about, *group;
    uint64_t members, late, start_ns, spread_ns;
    uint64_t swarm; /* so many faults are drawn from the seed */
    uint64_t warmup_ns, run_ns, heal_ns, drain_ns;
    uint64_t servers, tick_ns, sync_limit, read_ns, write_ns;
    struct sim_dist fsync, server_link, election, link;
    uint64_t brokers, service_ns;
    bool listeners, shuffle, random_ids;
    bool is_kept; /* swarm.kinds: only faults that leave ZooKeeper's promises whole */
};

/* Settings of a member beside those that the simulator takes. */
struct member_values {
    struct sim_member_config config;
    const char *server, *consumer_id;
    int watch_brokers; /* 0, 1; -1: by variant */
    unsigned strategy; /* enum assign_strategy; behind the last: by variant */
};

void values_init(struct values *v);
void member_values_init(struct member_values *v);

/* Reads an entry of a plain key into one of the two. False: refused. */
bool values_read(const struct reading *r, const char *key, struct values *v,
                 struct member_values *m);
/* True if the key is a member's setting. */
bool key_is_of_members(const char *key);

#endif
