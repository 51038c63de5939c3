/* A message set as a producer sent it, made into what the log keeps: checked, cut to whole
 * messages, given offsets. Source: kafka.log.Log.analyzeAndValidateMessageSet, ByteBufferMessageSet
 * .assignOffsets (0.8.2). */
#ifndef ZKC_BROKER_PRODUCED_SET_H
#define ZKC_BROKER_PRODUCED_SET_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/wire/kafka_error.h"

struct produced_limits {
    int32_t message_bytes_max; /* of an entry, its overhead included; before and after rewriting */
    int32_t set_bytes_max;     /* segment.bytes */
    size_t decompressed_bytes_max; /* of what compressed sets open to, all together */
};

struct produced_set {
    struct bytes data; /* to append: in the caller's bytes, or in `rewritten` */
    int64_t first_offset;
    int64_t last_offset;
    size_t entries; /* outer ones; 0: nothing to append, and no error (0.8.2 answers offset -1) */
    bool is_compressed; /* data is one wrapper */
    char reason[160];   /* of an error, for the log */
};

/* `set` NULL is a null field: corrupt. Otherwise checks it, writes offsets from `next_offset` on
 * into it, and describes what is to be appended. Plain messages are changed in place: nothing is
 * copied. If any entry is compressed, all messages are written anew into one wrapper of the last
 * codec seen, in `rewritten`, which is cleared first and must stay as long as out->data. An
 * incomplete last entry is dropped. On an error `set` may have changed.
 *
 * KAFKA_ERR_NONE
 * KAFKA_ERR_CORRUPT_MESSAGE (2)        a wrong CRC, an impossible size, format 1 or 2, an unknown
 *                                      codec, a set that does not open; inner CRCs count too
 * KAFKA_ERR_MESSAGE_TOO_LARGE (10)     an entry over message_bytes_max, or a set that opens to more
 *                                      than decompressed_bytes_max
 * KAFKA_ERR_RECORD_LIST_TOO_LARGE (18) over set_bytes_max
 * KAFKA_ERR_UNKNOWN_SERVER_ERROR (-1)  out of memory */
enum kafka_error produced_set_accept(uint8_t *set, size_t len, int64_t next_offset,
                                     const struct produced_limits *limits, struct buf *rewritten,
                                     struct produced_set *out);

#endif
