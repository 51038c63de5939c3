/* Where to start reading single partitions, asked of ZooKeeper and of their leaders. */
#ifndef ZKC_CLI_STARTS_H
#define ZKC_CLI_STARTS_H

#include "zkconsumer/core/base/why.h"
#include <stddef.h>
#include <stdint.h>
#include <zkconsumer/conf.h>

/* In all of them `conf` says which ZooKeeper, with which credentials.
 *
 * Checks that the topic has these partitions.
 *
 * ZKC_ERR_INVALID  it has not; `why` names the one
 * and as zk_reader_open(), zk_reader_run() */
ZKC_MUST_CHECK enum zkc_err starts_check(const zkc_conf *conf, const char *topic,
                                         const int32_t *partitions, size_t count,
                                         int64_t timeout_ms, struct why *why);

/* Whether there is such a topic. Errors as zk_reader_open(), zk_reader_run(). */
ZKC_MUST_CHECK enum zkc_err starts_find_topic(const zkc_conf *conf, const char *topic,
                                              int64_t timeout_ms, bool *is_there, struct why *why);

/* The same, and puts into offsets[i] the offset `n` before the end of partitions[i], or the oldest
 * one if there are less.
 *
 * As above, ZKC_ERR_UNREACHABLE and ZKC_ERR_TIMED_OUT also of brokers, ZKC_ERR_BROKER */
ZKC_MUST_CHECK enum zkc_err starts_before_end(const zkc_conf *conf, const char *topic,
                                              const int32_t *partitions, size_t count, int64_t n,
                                              int64_t timeout_ms, int64_t *offsets,
                                              struct why *why);

#endif
