/* A stream, seen from the fetchers: its queue, and what found the queue full. A fetch answer brings
 * one chunk of each of its partitions whatever room there is; what does not fit waits here, one
 * answer of each broker at the most, because nothing more is fetched for a sink without room. */
#ifndef ZKC_CONSUMER_SINK_H
#define ZKC_CONSUMER_SINK_H

#include "zkconsumer/consumer/stream.h"

struct waiting;

struct sink {
    zkc_stream *stream;
    struct waiting *first, *last;
    bool told_room; /* what the fetchers were told last */
};

struct sink *sink_new(zkc_stream *stream); /* NULL: out of memory */
void sink_free(struct sink *s);

bool sink_has_room(const struct sink *s);

/* Queues a chunk, behind what waits already, and takes over one reference of its buffer. False: out
 * of memory, nothing was taken. */
bool sink_put(struct sink *s, const struct chunk *chunk);

/* Drops what waits of closed claims, then lets the stream take what it can. */
void sink_drain(struct sink *s);

#endif
