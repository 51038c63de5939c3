/* Topic filters: the white and black lists of members that subscribe by a regular expression. Every
 * member evaluates the filters of all others, and must come to the same verdict as Java.
 * Source: Kafka 0.8.2 TopicFilter, Whitelist, Blacklist. */
#ifndef ZKC_ZK_FILTER_H
#define ZKC_ZK_FILTER_H

#include "zkconsumer/core/zk/registration.h"

/* Longer expressions are refused. */
#define ZK_FILTER_BYTES_MAX 65536

/* Never matched by a filter unless exclude.internal.topics=false. */
#define ZK_INTERNAL_TOPIC "__consumer_offsets"

struct zk_filter;

/* Normalises the raw text as 0.8.2 does (trim; every ',' becomes '|'; blanks go; quotes at both
 * ends go) and compiles it; it must match a whole name, as Java's String.matches does. `pattern` is
 * ZK_PATTERN_WHITE_LIST or ZK_PATTERN_BLACK_LIST. On success the caller owns *out.
 *
 * ZKC_ERR_CORRUPT    no regular expression; `why` says where
 * ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_filter_new(enum zk_pattern pattern, const char *raw,
                                          bool exclude_internal_topics, struct zk_filter **out,
                                          struct why *why);

/* Whether the filter allows the topic. An expression that needs more steps than PCRE2's default
 * limits matches nothing. */
bool zk_filter_allows(const struct zk_filter *filter, const char *topic);

void zk_filter_free(struct zk_filter *filter); /* NULL is allowed */

#endif
