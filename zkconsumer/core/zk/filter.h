/* Topic filters: the white and black lists of members that subscribe by a regular expression. Every
 * member evaluates the filters of all others, and must come to the same verdict as Java.
 * Source: Kafka 0.8.2 TopicFilter, Whitelist, Blacklist. */
#ifndef ZKC_ZK_FILTER_H
#define ZKC_ZK_FILTER_H

#include "zkconsumer/core/zk/registration.h"

/* Longer expressions are refused. */
#define ZK_FILTER_BYTES_MAX 65536

/* Steps of PCRE2 for one topic, some 10 ms: a tenth of its default, so that one member's expression
 * of exponential time does not hold up all others. Names of topics need a few hundred. */
#define ZK_FILTER_STEPS_MAX 1000000

/* Never matched by a filter unless exclude.internal.topics=false. */
#define ZK_INTERNAL_TOPIC "__consumer_offsets"

struct zk_filter;

/* Normalises the raw text as 0.8.2 does (trim; every ',' becomes '|'; spaces go; quotes at both
 * ends go) and compiles its translation (java_regex.h); it must match a whole name, as
 * Java's String.matches does. `pattern` is ZK_PATTERN_WHITE_LIST or ZK_PATTERN_BLACK_LIST. On
 * success the caller owns *out.
 *
 * ZKC_ERR_CORRUPT    no regular expression of Java's, or one that has no translation; `why` says
 *                    which, and where
 * ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_filter_new(enum zk_pattern pattern, const char *raw,
                                          bool exclude_internal_topics, struct zk_filter **out,
                                          struct why *why);

/* Whether the filter allows the topic. An expression that needs more than ZK_FILTER_STEPS_MAX does
 * not match; Java would go on for ages. */
bool zk_filter_allows(const struct zk_filter *filter, const char *topic);

/* WHITE_LIST or BLACK_LIST, and the normalised expression, which is what is registered; lent as
 * long as the filter. */
enum zk_pattern zk_filter_pattern(const struct zk_filter *filter);
const char *zk_filter_expression(const struct zk_filter *filter);

void zk_filter_free(struct zk_filter *filter); /* NULL is allowed */

#endif
