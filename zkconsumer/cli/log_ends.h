/* Where partition logs begin or end, asked of their leaders (ListOffsets, version 0: every broker
 * from 0.8 to 3.9 speaks it). One connection to each leader, all at the same time. */
#ifndef ZKC_CLI_LOG_ENDS_H
#define ZKC_CLI_LOG_ENDS_H

#include "zkconsumer/cli/brokers.h"
#include "zkconsumer/core/wire/list_offsets.h"

struct log_end {
    const char *topic;
    int32_t partition;
    int32_t leader;   /* broker id; -1: none */
    int64_t offset;   /* the answer; -1: none */
    enum zkc_err err; /* ZKC_OK, or why there is none. ZKC_ERR_OFFSET_RANGE: nothing is that old */
    const char *missing; /* NULL, or the same in words; in the arena */
};

/* Fills offset, err and missing of the list, which is put in order of leader, topic and partition
 * (each of them once). `time` is LIST_OFFSETS_LATEST, LIST_OFFSETS_EARLIEST or ms since 1970: where
 * the last segment begins that was written to last before it. One broker's failure
 * leaves the others' answers.
 *
 * ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE, ZKC_ERR_SYSTEM */
ZKC_MUST_CHECK enum zkc_err log_ends_read(const struct brokers *brokers, struct log_end *list,
                                          size_t count, int64_t time, int64_t timeout_ms,
                                          struct arena *arena);

#endif
