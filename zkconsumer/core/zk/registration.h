/* The registration of a member: the data of /consumers/<group>/ids/<consumer id>, as Kafka 0.8.2
 * writes it (ZookeeperConsumerConnector.registerConsumerInZK) and reads it
 * (TopicCount.constructTopicCount).
 *
 *   {"version":1,"subscription":{"orders":2},"pattern":"static","timestamp":"1424990000456"} */
#ifndef ZKC_ZK_REGISTRATION_H
#define ZKC_ZK_REGISTRATION_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

enum zk_pattern {
    ZK_PATTERN_STATIC,
    ZK_PATTERN_WHITE_LIST,
    ZK_PATTERN_BLACK_LIST,
};

/* "static", "white_list", "black_list". Static. */
const char *zk_pattern_name(enum zk_pattern pattern);

/* Streams of one topic that a registration may ask for. Kafka has no limit; this one keeps one
 * hostile registration from costing every member its memory. */
#define ZK_STREAMS_MAX 65536

struct zk_subscription {
    char *topic; /* a topic's name; for the filter patterns the regular expression */
    int32_t streams;
};

struct zk_registration {
    enum zk_pattern pattern;
    struct zk_subscription *subscriptions; /* each topic once; exactly one for a filter */
    size_t subscription_count;             /* 0: a member that owns nothing (legal, static) */
    char *timestamp;                       /* decimal milliseconds; NULL: none */
    char *strategy; /* our extra field, the assignment strategies it knows; NULL: none */
    void *memory;   /* owned: one block behind all that was read; NULL: of nothing that was read */
};

/* Appends the node's data, byte for byte as 0.8.2 does: fields in its order, subscriptions in the
 * order given, strings escaped as its JSON library does (zk_json_append_string). A timestamp
 * of NULL is left out; a strategy, if any, follows as a last field, which Java readers ignore. */
void zk_registration_write(struct buf *out, const struct zk_registration *registration);

/* Reads what Java members read, and what they cannot read but is clear:
 *   - any order of fields, blanks, unknown fields; a key that comes twice counts as it comes last;
 *   - escapes that JSON does not know (the \w of a regex that 0.8.1 wrote unescaped) stay as they
 *     are, raw control characters are kept;
 *   - a pattern that is unknown or null counts as static, and so does any with no subscription;
 *   - of a filter the first entry counts;
 *   - version and timestamp do not matter.
 * `java` tells why Java members cannot read what we can (a number in any place that is no 32-bit
 * integer, such as a timestamp without quotes): every rebalance of every Java member of the group
 * then fails. It is "" when they can.
 *
 * On success the caller owns *out and ends it with zk_registration_deinit(); otherwise *out is not
 * touched.
 *
 * ZKC_ERR_CORRUPT  no data, no JSON object, no pattern or subscription, a stream count that is no
 *                  integer in 1 .. ZK_STREAMS_MAX: Java members fail on all of these (on a count
 *                  that is too large, by running out of memory)
 * ZKC_ERR_TOO_LARGE  more than ZK_DATA_BYTES_MAX
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_registration_read(struct bytes data, struct zk_registration *out,
                                                 struct why *java, struct why *why);

void zk_registration_deinit(struct zk_registration *registration);

#endif
