/* The codecs of message sets, in the framings that Kafka's world writes. Decompression never trusts
 * an announced length: output is bounded by the maximum of the buffer it goes to, and memory grows
 * with what goes in (at most 22-fold at once) and what really comes out. Beside that a call needs
 * some 90 KB for a short time, for lz4 up to twice the frame's block size (64 KB from Java; at most
 * 4 MB).
 *
 * gzip    RFC 1952; members that follow each other are one stream.
 * snappy  snappy-java's block framing ("xerial": a header of 16 bytes, then blocks with an int32
 *         length), which Java writes, or one raw block without any, which librdkafka writes. Told
 *         apart by the first 8 bytes.
 * lz4     an LZ4 frame. In format 0 Java takes its header checksum over the wrong bytes (the magic
 *         number included): KafkaLZ4BlockOutputStream up to 0.9, KAFKA-3160. Both are accepted; the
 *         wrong one is written, because Java 0.8 and 0.9 insist on it. */
#ifndef ZKC_WIRE_COMPRESSION_H
#define ZKC_WIRE_COMPRESSION_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/bytes.h"

/* As in bits 0-2 of a message's attributes. */
enum compression_codec {
    COMPRESSION_NONE = 0,
    COMPRESSION_GZIP = 1,
    COMPRESSION_SNAPPY = 2,
    COMPRESSION_LZ4 = 3,
};

#define COMPRESSION_CODEC_MASK 7

/* "none", "gzip", "snappy", "lz4" as in compression.codec; NULL for a number that is not above. */
const char *compression_codec_name(int codec);

/* Appends the decompressed or compressed form of `in` to `out`. On failure `out` holds what it held
 * before, and is not itself failed; *reason, a static text for people, is set.
 *
 * ZKC_ERR_CORRUPT    not what the codec writes (decompression only), or an unknown codec
 * ZKC_ERR_TOO_LARGE  over the maximum of `out`; compression needs room for its worst case, a little
 *                    more than `in`
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err compression_decode(int codec, struct bytes in, struct buf *out,
                                               const char **reason);
ZKC_MUST_CHECK enum zkc_err compression_encode(int codec, struct bytes in, struct buf *out,
                                               const char **reason);

#endif
