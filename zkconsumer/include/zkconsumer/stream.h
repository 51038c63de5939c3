/* Streams: where an application takes messages.
 *
 * A stream is a bounded queue of fetched chunks (queued.max.message.chunks). One thread at a time
 * takes from a stream, any thread; several streams may be taken from in parallel. Decompression and
 * iteration happen on the taking thread, and so does the gate: a message of a partition that has
 * been revoked or lost is never handed out, whatever is queued. */
#ifndef ZKCONSUMER_STREAM_H
#define ZKCONSUMER_STREAM_H

#include <stdint.h>
#include <zkconsumer/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zkc_stream zkc_stream;

/* A message: views into the fetched buffer, valid until the next call of zkc_stream_next() on the
 * stream it came from. zkc_message_dup() makes one that lasts. */
struct zkc_message {
    const char *topic; /* lent as long as the consumer */
    int32_t partition;
    int64_t offset;
    const void *key; /* NULL: no key, which is not an empty key */
    size_t key_len;
    const void *value; /* NULL: null (a tombstone), which is not an empty value */
    size_t value_len;
    int64_t high_watermark; /* of the partition, when this chunk was fetched */
    enum zkc_err err; /* ZKC_OK, or why this is no message but a report about its partition:
                       * ZKC_ERR_TOO_LARGE, ZKC_ERR_CORRUPT, ZKC_ERR_OFFSET_RANGE, to a callback
                       * also ZKC_ERR_NOMEM; `value` is then a text for people. The stream goes
                       * on. */
    void *claim; /* for zkc_message_acknowledge(); NULL: nothing to acknowledge */
};

/* Takes the next message, waiting for it up to timeout_ms (0: do not wait; -1: consumer.timeout.ms,
 * which is for ever unless set).
 *
 * When a message counts as consumed, so that the next commit covers it, is the mode's: with
 * zookeeper.mode=compat when it is taken, as in Kafka 0.8; with safe when the next one is asked for
 * on this stream (of zkc_consumer_next(), by its next call; of a callback, when it returns), or
 * when it is acknowledged.
 *
 * In safe nothing is handed out after the lease of the session has ended: then this waits, too,
 * until the lease goes on or the partition is lost.
 *
 * ZKC_ERR_TIMED_OUT  nothing came; not an end
 * ZKC_ERR_INVALID    nothing is there, and waiting on the loop's own thread would be for ever
 * ZKC_ERR_END        the consumer is closed; for good
 * ZKC_ERR_REBALANCE  the first rebalance was given up: this stream never got a partition
 * ZKC_ERR_ZOOKEEPER  the credentials of zookeeper.auth are refused, for good
 * ZKC_ERR_NOMEM      decompression; the stream goes on with the same message
 * ZKC_ERR_WRONG_PROCESS  in a forked child */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_stream_next(zkc_stream *stream, int timeout_ms,
                                                    struct zkc_message *out);

/* The application is done with this message and with all before it of its partition: the next commit
 * covers them. With acknowledgement.mode=explicit nothing else says so, and any number of messages
 * may be out at a time (in compat nobody waits for them: a rebalance, or the end, commits what is
 * acknowledged by then); otherwise it says so before the next one is asked for. Any thread; `message`
 * is one that was handed out, while it is valid, or a dup of it, even after the consumer is freed,
 * but not while it is being freed.
 *
 * ZKC_ERR_NOT_OWNED  the partition has been given away since, or lost: it is not committed, and
 *                    others may get the message again
 * ZKC_ERR_INVALID    nothing to acknowledge: a report; or a message that counts as consumed when it is
 *                    taken: with zookeeper.mode=compat (whatever its fence) unless the mode is
 *                    explicit, and of zkc_consumer_assign(); nothing is done */
ZKC_API enum zkc_err zkc_message_acknowledge(const struct zkc_message *message);

/* A descriptor that is readable while zkc_stream_next(stream, 0) may have something to return; for
 * poll, select, epoll or libevent. It stays readable after the end, as a file does. It belongs to the
 * stream: do not read or close it. -1: no descriptor to be had. Any thread. */
ZKC_API int zkc_stream_fd(zkc_stream *stream);

/* Instead of taking: have each message brought, on the loop's thread. At most `batch_max` calls are
 * made in one turn of the loop (0: 256). The callback may close the consumer. NULL ends it. A
 * stream with a callback must not be taken from. Loop's thread. */
typedef void zkc_message_fn(zkc_stream *stream, const struct zkc_message *message, void *user);
ZKC_API void zkc_stream_set_on_message(zkc_stream *stream, zkc_message_fn *fn, void *user,
                                       unsigned batch_max);

/* The topic (of a filter: its expression) and the number of the stream within it. Any thread. */
ZKC_API const char *zkc_stream_topic(const zkc_stream *stream);
ZKC_API int zkc_stream_index(const zkc_stream *stream);

/* A copy that the application owns, also after the consumer is gone. NULL: out of memory. */
ZKC_API struct zkc_message *zkc_message_dup(const struct zkc_message *message);
ZKC_API void zkc_message_free(struct zkc_message *dup);

#ifdef __cplusplus
}
#endif
#endif
