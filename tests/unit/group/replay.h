/* Replays a recorded scene of real Kafka 0.8.2.2 members (tests/vectors/zookeeper, README there)
 * against a group machine: the machine must ask for every recorded operation of that member, in
 * order, and for nothing else; it is fed the recorded answers and events.
 *
 * The comparing rule: per lane the order is fixed, except inside blocks that follow hash tables of
 * the Java side: offset reads, claims, offset writes, topics, and the topics of a release. Within a
 * block every operation must be there once, in any order; the first claim in a folder meets the
 * missing parents, whichever claim that is. */
#ifndef ZKC_REPLAY_H
#define ZKC_REPLAY_H

#include "zkconsumer/core/group/offset_committer.h"
#include <stdbool.h>
#include <stdint.h>

struct replay_scene {
    const char *scene;
    const char *member;
    int life; /* 0: the member's first start in the scene, 1: its second ... */
    bool auto_commit_off;
    int64_t commit_interval_ms; /* 0: 60000 */
    bool roundrobin;
    bool reset_largest; /* positions without stored offset begin at log_end; 0: not known */
    int64_t log_end;
    int64_t no_leaders_from_ms, no_leaders_to_ms; /* partitions have no leader in this time */
    int64_t until_ms; /* stop here (0: to the end): what follows needs what is not built */
    bool fails_reading_offsets; /* an offset cannot be read: which ones are read before it depends
                                 * on the order, so that fewer may be */
    enum commit_store store;    /* where offsets are kept */
    int64_t kafka_offset;       /* what Kafka has of every partition at the start; 0: nothing */
    int64_t no_manager_to_ms;   /* until then the group has no offset manager */
    const char *chroot;
    bool expect_gave_up;
};

/* Fails the running cmocka test on any difference. */
void replay_run(const struct replay_scene *scene);

#endif
