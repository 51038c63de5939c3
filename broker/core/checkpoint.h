/* Checkpoint files of a log directory: offsets of its partitions as text (kafka.server
 * .OffsetCheckpoint, version 0).
 *
 *     0
 *     2
 *     t 0 5
 *     t 1 0
 *
 * recovery-point-offset-checkpoint  everything below is known to be on disk
 * replication-offset-checkpoint     high watermarks; with one replica the ends of the logs
 *
 * The shell writes <name>.tmp, fsyncs it, renames it over <name>: at stop, and every
 * log.flush.offset.checkpoint.interval.ms and replica.high.watermark.checkpoint.interval.ms. */
#ifndef ZKC_BROKER_CHECKPOINT_H
#define ZKC_BROKER_CHECKPOINT_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/core/base/why.h"

struct checkpoint_entry {
    struct topic_partition at; /* at.topic: owned by the checkpoint */
    int64_t offset;
};

struct checkpoint {
    struct checkpoint_entry *entries; /* sorted by topic and partition, each once */
    size_t count;
};

/* Reads a whole file; an empty one is a checkpoint without entries (Kafka writes such: golden
 * scene killed). Of a partition that comes twice the last line counts, as in Kafka. On ZKC_OK the
 * caller ends *out with checkpoint_deinit(); otherwise it is not touched.
 *
 * ZKC_ERR_CORRUPT  another version, another number of lines than announced, a line that is no
 *                  topic, partition and offset. Take it as no checkpoint: check everything
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err checkpoint_read(struct bytes file, struct checkpoint *out,
                                            struct why *why);
void checkpoint_deinit(struct checkpoint *c);

/* The offset of a partition; `missing` when it is not there. */
int64_t checkpoint_find(const struct checkpoint *c, struct topic_partition at, int64_t missing);

/* Writing: begin with the number of entries, add that many, in any order. Failure is kept by `out`.
 */
void checkpoint_write_begin(struct buf *out, size_t count);
void checkpoint_write_entry(struct buf *out, struct topic_partition at, int64_t offset);

#endif
