/* Messages that were taken and are not done with: they wait in a buffer for stdout, or for a
 * command. What is done is acknowledged, batch by batch; what will never be done is given back, so
 * that it is not committed. One thread. */
#ifndef ZKC_CLI_HELD_H
#define ZKC_CLI_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <zkconsumer/consumer.h>

struct held_mark {
    uint64_t end;
    int64_t offset;
    size_t from; /* index of its held_from */
};

/* Where messages came from: a partition, as long as it is held without a break. */
struct held_from {
    struct zkc_message *message; /* owned; without key and value, its offset is the last one done */
    int64_t first; /* scratch of held_return(): the first that is not done; -1: none */
    bool has_done; /* something that is not acknowledged yet */
    bool is_left;  /* scratch of held_return(): it must not be acknowledged */
};

struct held {
    struct held_mark *marks; /* owned; in the order they were taken */
    size_t mark_count, mark_cap;
    size_t marks_done; /* of them, from the first on */
    struct held_from *from;
    size_t from_count, from_cap;
    int64_t done_count; /* messages, all in all */
};

void held_init(struct held *h);
void held_deinit(struct held *h);

/* `end` grows from message to message: it is done when held_done() has reached that. False: out of
 * memory, nothing changed. */
bool held_add(struct held *h, const struct zkc_message *message, uint64_t end);

/* Everything up to `end` is done: acknowledged, where that says something. */
void held_done(struct held *h, uint64_t end);

/* What is left will not be done here. Its partitions are set back to the first of it, which is what
 * closing then commits, and nothing is held any more that a hand-over would wait for. A partition
 * that is being given away at this moment cannot be set back: it is left to its hand-over, which
 * voids what is held of it. `consumer` NULL: nothing is committed for anybody, just forget it. */
void held_return(struct held *h, zkc_consumer *consumer);

#endif
