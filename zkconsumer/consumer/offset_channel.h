/* The one connection over which a consumer asks for offsets that Kafka keeps, and for who keeps
 * them (core/group/offset_manager.h says what is asked of whom). Loop's thread. */
#ifndef ZKC_CONSUMER_OFFSET_CHANNEL_H
#define ZKC_CONSUMER_OFFSET_CHANNEL_H

#include "zkconsumer/consumer/dial.h"
#include "zkconsumer/core/group/input.h"

struct offset_channel;

/* The answer; never from inside of offset_channel_ask(). Borrowed for the call. */
typedef void offset_channel_fn(const struct group_offsets_answer *answer, void *user);

/* `dial` is borrowed. NULL: out of memory. */
struct offset_channel *offset_channel_new(struct dial *dial, offset_channel_fn *fn, void *user);
void offset_channel_free(struct offset_channel *c); /* NULL is allowed */

/* Carries out a GROUP_OUT_OFFSETS_ASK. One question at a time: an earlier one without an answer is
 * forgotten. */
void offset_channel_ask(struct offset_channel *c, const struct group_output *ask);

/* GROUP_OUT_OFFSETS_HANG_UP. */
void offset_channel_hang_up(struct offset_channel *c);

#endif
