/* Streams from the loop's side: the bounded queues between fetching and the application.
 *
 * The streams of a consumer form a hub, which has one lock, taken once for a chunk, never for a
 * message. Order of locks: hub, then loop. */
#ifndef ZKC_CONSUMER_STREAM_H
#define ZKC_CONSUMER_STREAM_H

#include "zkconsumer/consumer/gate.h"
#include "zkconsumer/core/base/bytes.h"
#include <stddef.h>
#include <zkconsumer/conf.h>
#include <zkconsumer/loop.h>

struct stream_hub;

/* What says that the application is done with a message of a claim that is bound to a lease. */
enum stream_done {
    STREAM_DONE_NEXT,         /* asking for the next one, or zkc_message_acknowledge() */
    STREAM_DONE_ACKNOWLEDGED, /* zkc_message_acknowledge() alone */
    STREAM_DONE_TAKEN, /* nothing needs to: it counts when it is taken; asking for the next one
                        * frees what was replaced meanwhile, that is all */
};

struct stream_hub_options {
    zkc_loop *loop;
    size_t chunks_max;             /* queued.max.message.chunks, of each stream */
    int consumer_timeout_ms;       /* what -1 waits; -1: for ever */
    size_t decompressed_bytes_max; /* of one compressed set */
    enum stream_done done_by;

    /* All on the loop's thread. A stream that was full has room again. */
    void (*on_room)(zkc_stream *stream, void *user);
    /* A chunk began above the consumed position, which was moved up to it: what lies between is not
     * delivered. 0.8.2 does the same ("consumed offset doesn't match fetch offset; consumer may
     * lose data"); it happens after an out-of-range offset was reset backwards. */
    void (*on_skip)(struct claim *claim, int64_t position, int64_t fetch_offset, void *user);
    /* Data at `offset` could not be read: the application has been told by a message with
     * ZKC_ERR_CORRUPT or ZKC_ERR_TOO_LARGE (what it decompresses to); `text` says what. */
    void (*on_bad)(struct claim *claim, int64_t offset, const char *text, void *user);
    /* The application has finished what it had of a claim, as claim_want_drained() asked for. May
     * come once too often: look. */
    void (*on_drained)(zkc_stream *stream, void *user);
    /* The application asks for messages, as stream_hub_want_poll() asked for. */
    void (*on_polled)(void *user);
    void *user;
    int64_t (*now_ms)(void); /* NULL: loop_now_ms; a test's own */
};

/* `options` is copied. NULL: out of memory. Loop's thread, as all below unless said otherwise. */
struct stream_hub *stream_hub_new(const struct stream_hub_options *options);

/* Frees it with its streams. Nobody may be inside of a call for one of them, and the caller's
 * claims are given back. NULL is allowed. */
void stream_hub_free(struct stream_hub *hub);

/* Adds stream `index` of a topic (copied). Lives as long as the hub. NULL: out of memory. */
zkc_stream *stream_new(struct stream_hub *hub, const char *topic, int32_t index);

/* From now on each stream takes from all topics (a filter's streams): only their numbers tell them
 * apart. Before any is found. */
void stream_hub_share(struct stream_hub *hub);

/* A topic's name that lives as long as the hub. NULL: out of memory. */
const char *stream_hub_topic(struct stream_hub *hub, const char *name);

/* NULL: no such one. `topic` does not matter, and may be NULL, where streams are shared. Any
 * thread.
 */
zkc_stream *stream_find(struct stream_hub *hub, const char *topic, int32_t index);

/* Calls fn for each stream, in the order in which they were added. */
typedef void stream_fn(zkc_stream *stream, void *user);
void stream_hub_each(struct stream_hub *hub, stream_fn *fn, void *user);

/* A fetched buffer that several chunks share. */
struct chunk_buffer {
    void *owner;
    void (*release)(void *owner); /* any thread; called once for each chunk that was taken */
};

/* One partition's part of one fetch answer, still compressed; or, with err, a report about it. */
struct chunk {
    struct claim *claim;
    int64_t fetch_offset; /* that was asked for; of a report: where */
    int64_t high_watermark;
    struct bytes records; /* a message set; lent by `buffer` */
    struct chunk_buffer buffer;
    enum zkc_err err; /* ZKC_OK, or a report: ZKC_ERR_TOO_LARGE, _CORRUPT, _OFFSET_RANGE */
    const char *text; /* of a report; copied */
};

/* How many more chunks it takes. 0 asks for on_room. */
size_t stream_room(zkc_stream *stream);

/* Appends. True: taken, with one reference of the buffer and one of its own to the claim. False:
 * full, nothing was taken; on_room will come. A chunk whose claim is closed is taken and dropped,
 * and so is everything after the end. */
bool stream_push(zkc_stream *stream, const struct chunk *chunk);

/* Drops what is queued of closed claims, releasing the buffers. The chunk that the taking thread is
 * in the middle of is released by its next call. Returns how many chunks went. */
size_t stream_drop_closed(zkc_stream *stream);

/* The end of all streams: drops what is queued; takers get ZKC_ERR_END for good, those that wait at
 * once. A taker in the middle of a chunk gets the rest of it first while its claim is open, as in
 * 0.8.2. */
void stream_hub_end(struct stream_hub *hub);

/* What takers get while nothing is queued: ZKC_ERR_REBALANCE after the first rebalance was given
 * up; ZKC_OK takes it back. Wakes those who wait. */
void stream_hub_set_failure(struct stream_hub *hub, enum zkc_err err);

/* A lease was moved on, or ended: those who wait in front of it look again. Any thread. */
void stream_hub_look_again(struct stream_hub *hub);

/* Has on_drained called. Any thread. */
void stream_tell_drained(zkc_stream *stream);

/* When the application last asked for messages, on every stream that has something for it (what
 * waits to be taken, or what it has taken and is not done with) since it has; `now_ms`: it asks
 * now, or there is nothing that it should ask for. On leased claims only. */
int64_t stream_hub_polled_ms(struct stream_hub *hub, int64_t now_ms);

/* Has on_polled called, once, when the application next asks for messages, or asks now. */
void stream_hub_want_poll(struct stream_hub *hub);

struct stream_counts {
    size_t chunks, chunk_bytes; /* queued now */
    uint64_t messages, bytes;   /* handed out ever: keys and values */
    uint64_t reports;           /* handed out ever: messages with err */
    uint64_t late;              /* handed out ever: messages in flight when their lease ended */
    uint64_t fetched_bytes;     /* queued ever: message sets as they were fetched */
};
void stream_count(zkc_stream *stream, struct stream_counts *out); /* any thread */

/* zkc_consumer_next(): over all streams of the hub, chunk by chunk in turn. One taking thread. */
ZKC_MUST_CHECK enum zkc_err stream_hub_next(struct stream_hub *hub, int timeout_ms,
                                            struct zkc_message *out);

#endif
