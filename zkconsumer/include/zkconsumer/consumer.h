/* The consumer: a member of a group (subscribe), or a reader of single partitions (assign).
 *
 *     zkc_conf *conf = zkc_conf_new();          settings
 *     zkc_loop_open(NULL, &loop);               a thread for the work
 *     zkc_consumer_open(conf, loop, &c, ...);   connects
 *     zkc_consumer_subscribe(c, topics, 1);     joins the group
 *     s = zkc_consumer_stream(c, "orders", 0);
 *     while (zkc_stream_next(s, -1, &m) == ZKC_OK) ...
 *     zkc_consumer_close_wait(c, 5000);         commits, leaves
 *     zkc_consumer_free(c);
 *
 * Threads: every function here may be called from any thread (loop.h), unless it says otherwise.
 * In a forked child every function returns ZKC_ERR_WRONG_PROCESS and touches nothing. */
#ifndef ZKCONSUMER_CONSUMER_H
#define ZKCONSUMER_CONSUMER_H

#include <zkconsumer/conf.h>
#include <zkconsumer/loop.h>
#include <zkconsumer/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a consumer on `loop`, which must outlive it, and starts to connect to ZooKeeper. Returns at
 * once. `conf` is copied. `why` (may be NULL) explains an error. On success the caller owns *out
 * and ends it with zkc_consumer_close() and zkc_consumer_free().
 *
 * ZKC_ERR_CONFIG  a setting is missing or settings contradict each other
 * ZKC_ERR_SYSTEM  no descriptors, trace.path cannot be written
 * ZKC_ERR_NOMEM */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_open(const zkc_conf *conf, zkc_loop *loop,
                                                      zkc_consumer **out, char *why,
                                                      size_t why_size);

struct zkc_subscription {
    const char *topic;
    int32_t streams; /* 1 or more: how many streams share the topic's partitions in this process */
};

/* Joins the group of `group.id` with these topics, once in a consumer's life. Returns at once;
 * registration and the first rebalance follow. A topic that does not exist yet is waited for.
 *
 * ZKC_ERR_INVALID  bad or repeated topic name, streams < 1, subscribed or assigned before
 * ZKC_ERR_CONFIG   no group.id
 * ZKC_ERR_CLOSED, ZKC_ERR_NOMEM */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_subscribe(zkc_consumer *consumer,
                                                           const struct zkc_subscription *list,
                                                           size_t count);

enum zkc_filter_kind {
    ZKC_FILTER_WHITELIST, /* topics that match */
    ZKC_FILTER_BLACKLIST, /* topics that do not */
};

struct zkc_filter {
    enum zkc_filter_kind kind;
    const char *topics; /* a Java regular expression for whole names; commas stand for '|', blanks
                         * and quotes around it do not count (Kafka's TopicFilter) */
    int32_t streams;    /* 1 or more; each takes from all the topics */
};

/* Joins the group of `group.id` with all topics that a filter allows, now and later: topics that
 * appear are joined as soon as ZooKeeper tells, topics that are deleted are given up, and may come
 * back (createMessageStreamsByFilter of 0.8). __consumer_offsets is left out unless
 * exclude.internal.topics=false. Once in a consumer's life. Streams are found by number:
 * zkc_consumer_stream(consumer, NULL, 0); messages name their topic.
 *
 * ZKC_ERR_INVALID  no such kind, no expression or one that Java might read in another way (the log
 *                  says where), streams < 1, subscribed or assigned before
 * ZKC_ERR_CONFIG   no group.id
 * ZKC_ERR_CLOSED, ZKC_ERR_NOMEM */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_subscribe_filter(zkc_consumer *consumer,
                                                                  const struct zkc_filter *filter);

#define ZKC_OFFSET_BEGINNING (-2) /* ListOffsets' own numbers */
#define ZKC_OFFSET_END       (-1)
#define ZKC_OFFSET_STORED    (-1000) /* the group's committed offset, else auto.offset.reset */

struct zkc_position {
    const char *topic;
    int32_t partition;
    int64_t offset; /* next to read, or one of ZKC_OFFSET_... */
};

/* Reads these partitions without being a member of any group, once in a consumer's life. Every
 * topic has one stream. Nothing is registered or claimed; offsets are committed only on request and
 * only when group.id is set.
 *
 * ZKC_ERR_INVALID, ZKC_ERR_CLOSED, ZKC_ERR_NOMEM; ZKC_ERR_CONFIG: ZKC_OFFSET_STORED without
 * group.id */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_assign(zkc_consumer *consumer,
                                                        const struct zkc_position *list,
                                                        size_t count);

/* Waits, with a group, until the first rebalance has ended (as createMessageStreams does), in safe
 * until each partition of the member's share is held, known to be another's, or reported (on_error)
 * for what keeps the member from it; without, until ZooKeeper is connected. A member that an ACL
 * keeps out of the group is waited for until that is reported (on_error); it tries on. Not on the
 * loop's thread (ZKC_ERR_INVALID).
 *
 * ZKC_ERR_TIMED_OUT, ZKC_ERR_CLOSED
 * ZKC_ERR_ZOOKEEPER    the credentials of zookeeper.auth are refused, for good
 * ZKC_ERR_UNREACHABLE  zookeeper.connection.timeout.ms passed without a connection
 * ZKC_ERR_REBALANCE    given up; the consumer stays registered and tries again at the next change,
 *                      as 0.8 does */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_wait(zkc_consumer *consumer, int timeout_ms);

/* The stream of a subscribed or assigned topic (of a filter: NULL, or any); belongs to the
 * consumer. NULL: no such one. */
ZKC_API zkc_stream *zkc_consumer_stream(zkc_consumer *consumer, const char *topic, int32_t index);

/* zkc_stream_next() over all streams in turn; for one taking thread. */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_next(zkc_consumer *consumer, int timeout_ms,
                                                      struct zkc_message *out);

/* Commits: `list` (offset = next to read), or with NULL what has been consumed of all owned
 * partitions. Returns at once; then `on_done` (may be NULL) tells once, on the loop's thread.
 * Unchanged offsets are not written again (KAFKA-987).
 *
 * ZKC_ERR_INVALID  neither subscribed nor a group.id
 * ZKC_ERR_NOT_OWNED (to on_done)  list names a partition that is not owned: nothing was written
 * ZKC_ERR_ZOOKEEPER (to on_done)  a write was refused; earlier ones of the list stand
 * with offsets.storage=kafka (to on_done; in safe what is not committed stays due):
 * ZKC_ERR_BROKER    the offset manager refused an offset; the others stand
 * ZKC_ERR_UNREACHABLE  it did not answer
 * ZKC_ERR_CLOSED, ZKC_ERR_NOMEM */
typedef void zkc_commit_fn(zkc_consumer *consumer, enum zkc_err err, void *user);
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_commit(zkc_consumer *consumer,
                                                        const struct zkc_position *list,
                                                        size_t count, zkc_commit_fn *on_done,
                                                        void *user);

/* The same, waiting. Not on the loop's thread. */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_commit_wait(zkc_consumer *consumer,
                                                             const struct zkc_position *list,
                                                             size_t count, int timeout_ms);

/* The next offset that an owned partition will hand out; -1 while it is not known yet.
 * ZKC_ERR_NOT_OWNED, ZKC_ERR_CLOSED */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_position(zkc_consumer *consumer, const char *topic,
                                                          int32_t partition, int64_t *out);

/* The end of an owned partition's log as its leader last told (the high watermark): the offset that
 * the next message written there will get; -1 while it is not known yet. A partition is read to its
 * end when its position has reached this. ZKC_ERR_NOT_OWNED, ZKC_ERR_CLOSED */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_log_end(zkc_consumer *consumer, const char *topic,
                                                         int32_t partition, int64_t *out);

/* Moves an owned partition: what is queued of it is dropped, fetching goes on at `offset` (or
 * ZKC_OFFSET_BEGINNING, ZKC_OFFSET_END). ZKC_ERR_NOT_OWNED, ZKC_ERR_INVALID, ZKC_ERR_CLOSED */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_seek(zkc_consumer *consumer, const char *topic,
                                                      int32_t partition, int64_t offset);

/* Offsets by time in an owned or assigned partition, asked of its leader (ListOffsets), newest
 * first: the starts of at most *count segments that were last written not later than time_ms (ms
 * since 1970; or ZKC_OFFSET_END, ZKC_OFFSET_BEGINNING), as 0.8's SimpleConsumer.getOffsetsBefore
 * gives them. *count (1 .. 1000) becomes how many there are, which may be none. Waits while the
 * leader is looked for. Not on the loop's thread.
 *
 * ZKC_ERR_NOT_OWNED, ZKC_ERR_INVALID, ZKC_ERR_CLOSED, ZKC_ERR_TIMED_OUT
 * ZKC_ERR_BROKER  the broker refused; the log says how */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_offsets_before(zkc_consumer *consumer,
                                                                const char *topic,
                                                                int32_t partition, int64_t time_ms,
                                                                int64_t *offsets, size_t *count,
                                                                int timeout_ms);

/* The first message that is not older than time_ms; -1: there is none as young. Brokers that keep
 * no timestamps (before 0.10.1) give the start of a segment at or before that time instead:
 * *is_exact (may be NULL) tells. Waits and errors as above. */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_offset_at(zkc_consumer *consumer,
                                                           const char *topic, int32_t partition,
                                                           int64_t time_ms, int64_t *offset,
                                                           bool *is_exact, int timeout_ms);

/* Stops and resumes handing out and fetching of an owned partition; ownership stays. A pause ends
 * with the ownership. ZKC_ERR_NOT_OWNED, ZKC_ERR_CLOSED */
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_pause(zkc_consumer *consumer, const char *topic,
                                                       int32_t partition);
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_resume(zkc_consumer *consumer, const char *topic,
                                                        int32_t partition);

/* Calls fn for each owned (or assigned) partition, sorted by topic and number, from inside this
 * call. */
typedef void zkc_owned_fn(const struct zkc_owned *owned, void *user);
ZKC_API ZKC_MUST_CHECK enum zkc_err zkc_consumer_owned(zkc_consumer *consumer, zkc_owned_fn *fn,
                                                       void *user);

/* The id registered under /consumers/<group>/ids; lent as long as the consumer. */
ZKC_API const char *zkc_consumer_id(const zkc_consumer *consumer);

/* Ends the consumer: streams end, offsets are committed (auto.commit.enable), the session is closed
 * and with it registration and ownership are given back. In safe, what the application has in its
 * hands is waited for, up to zookeeper.hand.over.ms: who closes after the last message should have
 * acknowledged it, or asked for one more. Returns at once; `on_closed` (may be NULL)
 * is the last of all callbacks and comes after at most timeout_ms. Allowed in every callback.
 * ZKC_ERR_CLOSED: closing already, `on_closed` is not taken.
 *
 * on_closed: ZKC_OK
 *            ZKC_ERR_TIMED_OUT     given back, but the last offsets were not committed in time
 *            ZKC_ERR_NOT_RELEASED  ZooKeeper could not be told: registration and ownership last
 * until the session ends */
typedef void zkc_closed_fn(zkc_consumer *consumer, enum zkc_err err, void *user);
ZKC_API enum zkc_err zkc_consumer_close(zkc_consumer *consumer, int timeout_ms,
                                        zkc_closed_fn *on_closed, void *user);

/* The same, waiting. With a loop thread of ours it must not be called on it (ZKC_ERR_INVALID); on
 * the thread of an application's own loop it turns that loop until the consumer is closed, which is
 * not possible inside of a callback (ZKC_ERR_INVALID; the close goes on).
 * ZKC_ERR_TIMED_OUT: the loop is held up (a callback hangs) a second past the deadline. */
ZKC_API enum zkc_err zkc_consumer_close_wait(zkc_consumer *consumer, int timeout_ms);

/* Frees a closed consumer (one that is not closed is closed first without waiting for anything),
 * its streams and the messages taken from them (not their dups). Not in a callback of the consumer
 * but on_closed. NULL is allowed. */
ZKC_API void zkc_consumer_free(zkc_consumer *consumer);

#ifdef __cplusplus
}
#endif
#endif
