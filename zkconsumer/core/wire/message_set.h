/* Message sets of format 0 (magic 0): what Kafka 0.8 and 0.9 keep in their logs, and what every
 * broker up to 3.9 answers a Fetch 0 with. A set is entries back to back:
 *
 *     offset int64 | size int32 | crc int32 | magic int8 | attributes int8 | key bytes | value
 * bytes
 *
 * An entry with a codec in its attributes is a wrapper: its value is a compressed set. In a log,
 * and so in an answer, inner offsets are absolute and the wrapper's offset is that of the last
 * message in it. Source: kafka.message.Message, ByteBufferMessageSet (0.8.2).
 *
 * A set that was fetched usually ends in the middle of an entry, because the broker cuts at the
 * fetch size: that is no error. */
#ifndef ZKC_WIRE_MESSAGE_SET_H
#define ZKC_WIRE_MESSAGE_SET_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/core/wire/compression.h"

#define MESSAGE_OVERHEAD  12 /* offset and size, in front of every entry */
#define MESSAGE_SIZE_MIN  14 /* of what `size` counts: crc, magic, attributes, two lengths */
#define MESSAGE_DEPTH_MAX 4  /* wrappers inside each other; Kafka itself writes one */

/* ---- The whole set, without opening wrappers (shallow) ---- */

enum message_set_state {
    MESSAGE_SET_OK,        /* at least one complete entry; an incomplete tail is fine */
    MESSAGE_SET_EMPTY,     /* no bytes, or only padding: Kafka 2.x and later fill up what they
                            * promised before converting, with an entry of offset -1. With padding
                            * an answer comes at once and does not move the position: pause */
    MESSAGE_SET_TOO_LARGE, /* bytes, but the first entry is incomplete: it is larger than the fetch
                            * size, and fetching again the same way gives the same */
    MESSAGE_SET_CORRUPT,   /* an entry with an impossible size or offset; the entries before it
                            * count in valid_bytes and next_offset */
};

struct message_set_extent {
    enum message_set_state state;
    size_t valid_bytes; /* of the complete entries */
    size_t entries;     /* complete ones: messages and wrappers */
    int64_t
        next_offset; /* the position after this set: last outer offset + 1; -1: no complete entry.
                      * Nothing promises that it is above the position that was asked for */
    size_t size_needed; /* TOO_LARGE: bytes of the whole first entry, so the least fetch size that
                         * moves on; 0: not even its size has arrived. Not to be trusted */
};

/* Looks at offsets and sizes only; checks no CRC. What a fetcher needs to know of an answer. */
struct message_set_extent message_set_extent(struct bytes set);

/* ---- Its messages, in order, wrappers opened (deep) ---- */

struct message_view {
    int64_t offset;     /* absolute */
    struct bytes key;   /* null: no key, which is not an empty key */
    struct bytes value; /* null: a tombstone, which is not an empty value */
    uint8_t attributes; /* of the message itself; bits 0-2 are 0 */
};

struct message_iter_limits {
    size_t decompressed_bytes_max; /* decompressed data alive at a time, all levels together */
};

enum message_iter_result {
    MESSAGE_ITER_MESSAGE,
    MESSAGE_ITER_END,       /* at an entry boundary, or only padding is left */
    MESSAGE_ITER_PARTIAL,   /* the end, too: an incomplete entry follows the last complete one */
    MESSAGE_ITER_TOO_LARGE, /* the end, too: bytes, but not one complete entry;
                             * it->fault.size_needed as in message_set_extent */
    MESSAGE_ITER_CORRUPT, /* an entry is broken; it->fault says which, where and why. The next call
                           * goes on behind it, if its size can be believed: else behind the
                           * wrapper it is in, else MESSAGE_ITER_END */
    MESSAGE_ITER_NOMEM,   /* no memory to open a wrapper; the next call tries the same again */
};

struct message_fault {
    enum zkc_err err; /* ZKC_ERR_CORRUPT; ZKC_ERR_TOO_LARGE: over the fetch size, or over
                       * decompressed_bytes_max */
    int64_t offset;   /* that the entry claims; a wrapper's is that of its last message; -1: none */
    size_t position;  /* of the outer entry in the set, in bytes */
    size_t size_needed; /* MESSAGE_ITER_TOO_LARGE: see message_set_extent */
    char reason[160];   /* for people */
};

struct message_level {
    const uint8_t *at;  /* the next entry */
    const uint8_t *end; /* of this level's set */
    struct buf data;    /* owned: what a wrapper was decompressed to; unused at level 0 */
};

/* In the caller's memory; to be moved only before the first message_iter_next(). */
struct message_iter {
    struct message_level levels[MESSAGE_DEPTH_MAX + 1]; /* 0: the set itself */
    size_t depth;                                       /* level being read */
    const uint8_t *begin;                               /* of the set */
    const uint8_t *wrapper;                             /* depth > 0: the outer entry being read */
    struct message_iter_limits limits;
    enum message_iter_result end; /* how it ended; MESSAGE_ITER_MESSAGE: it has not */
    struct message_fault fault;   /* valid after CORRUPT and TOO_LARGE */
};

/* `set` is borrowed as long as the iterator and the views from it are used; `limits` is copied.
 * Allocates nothing; memory comes with the first wrapper. */
void message_iter_init(struct message_iter *it, struct bytes set,
                       const struct message_iter_limits *limits);
void message_iter_deinit(struct message_iter *it);

/* The next message; each one's CRC is checked. *out is set with MESSAGE_ITER_MESSAGE only. Views of
 * plain messages point into the set; views of messages from a wrapper into the iterator, and stay
 * valid until it is called again after the last message of that (outermost) wrapper, or ends: so
 * in any case until the next call. Any one thread. */
enum message_iter_result message_iter_next(struct message_iter *it, struct message_view *out);

/* ---- Writing ---- */

/* Appends one plain message. Null key and value are written as null. Failure is kept by `out`. */
void message_set_append(struct buf *out, int64_t offset, struct bytes key, struct bytes value);

/* Appends a wrapper around the set `inner` (COMPRESSION_NONE is refused); `offset` should be that
 * of the last message in it. Failures as compression_encode(); `out` is then as before.
 *
 * ZKC_ERR_INVALID  no or an unknown codec */
ZKC_MUST_CHECK enum zkc_err message_set_append_wrapper(struct buf *out, int64_t offset,
                                                       enum compression_codec codec,
                                                       struct bytes inner);

#endif
