/* What members without a lease (Kafka's own, ours in compat) have done in the group of a member
 * that has one, by their ids: counted for the statistics. Bounded: what does not fit, and what
 * nobody is known for, is counted together. Loop's thread. */
#ifndef ZKC_CONSUMER_STRANGERS_H
#define ZKC_CONSUMER_STRANGERS_H

#include "zkconsumer/core/base/json.h"

#define STRANGERS_MAX 64

struct stranger {
    char *member;             /* consumer id; NULL: not known, or one of too many */
    uint64_t offset_writes;   /* over offsets of partitions of ours */
    uint64_t owner_deletes;   /* of owner nodes of ours */
    uint64_t returns;         /* in another session, while we had what it had before */
    uint64_t doubled;         /* messages that it has consumed beside us, as its commits say */
    uint64_t doubtful;        /* that we handed out until it returned: it has, too, as far as it
                               * could reach the brokers, unless it was restarted */
    uint64_t free, share;     /* now: of its share so many partitions are with nobody */
    int64_t gave_up_since_ms; /* on loop_now_ms(); while free is above 0 */
};

struct strangers {
    struct stranger list[STRANGERS_MAX]; /* the first count; list[0] is nobody known */
    size_t count;
};

void strangers_init(struct strangers *s);
void strangers_deinit(struct strangers *s);

/* The entry of a member, made if need be; NULL, out of memory, too many: that of nobody known. */
struct stranger *strangers_find(struct strangers *s, const char *member);

/* Adds "strangers", a list of those that have done something. */
void strangers_json(const struct strangers *s, struct json *j, int64_t now_ms);

#endif
