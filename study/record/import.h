/* A capture as a trace: what members said to ZooKeeper, and what follows from it. Lines go in; when
 * all are in, events come out in their order, as those of any run.
 *
 * Seen as such: operations, watches, sessions, writes (zk_txn, by their zxids). Derived from the
 * order of operations that Kafka 0.8 has (zookeeper-consumer.md 3.3): attempts, views, decisions,
 * claims, releases, offsets, and beliefs (from the last claim of an attempt to the next one's first
 * release, the session's end, or closeSession). An end of a session that no client saw (a process
 * was killed) is put at the first sign of it. What happens inside of a member is not seen: when it
 * fetches, what it delivers, what it meant to claim; `run.is_capture` says so, and the checkers do
 * not decide what they cannot.
 *
 * With a server's transaction log beside it (import_take_txn()), the writes are all that the
 * ensemble decided, those whose answers nobody got and the ends of sessions included, at the
 * leader's times.
 *
 * Memory grows with the capture. Pure: no files. */
#ifndef STUDY_RECORD_IMPORT_H
#define STUDY_RECORD_IMPORT_H

#include "study/record/capture.h"
#include "study/record/txn_log.h"
#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

struct import_options {
    const char *group;     /* NULL: the only one that there is */
    const char *strategy;  /* partition.assignment.strategy of the members; NULL: range */
    int64_t backoff_ms;    /* rebalance.backoff.ms; -1: not known */
    uint32_t attempts_max; /* rebalance.max.retries; 0: not known, and 4 is taken to count by */
    bool is_safe;          /* the members are ours in safe mode: attempts are not derived */
    const char *variant;   /* zookeeper.variant of the members; NULL: 0.8 (0.7 shows by itself) */
    bool writes_only;      /* zk_txn alone: the truth beside traces of the members' own */
    bool is_settled;       /* the group is at rest at the end: partitions of nobody are orphans */
    bool has_origin; /* trace.origin.ns of the members' traces; else time begins with the capture */
    uint64_t origin_ns;
};

struct import;

/* NULL: out of memory. `options` is copied, its texts are lent until import_free(). */
struct import *import_new(const struct import_options *options);
void import_free(struct import *x);

/* False: the line does not go with those before (an answer to no request ...), as `why` says, or
 * there is no memory, which import_finish() says. The others count all the same. */
bool import_take(struct import *x, const struct capture_line *line, struct why *why);

/* A transaction of a server's log; one that is in several logs may come several times. False: no
 * memory, which import_finish() says. */
bool import_take_txn(struct import *x, const struct txn *txn);

/* Derives, and emits. Once, after the last line.
 *
 * ZKC_ERR_INVALID    no member of a group is in it, or of several groups, and none was chosen
 * ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE  of memory the capture needs more than there is, or than is
 * taken */
ZKC_MUST_CHECK enum zkc_err import_finish(struct import *x, const struct trace_sink *sink,
                                          struct why *why);

/* What was asked of ZooKeeper, and told by it, between two marks. Pings and what the client library
 * does by itself (connecting, watches after a reconnect) are not counted. */
struct import_counts {
    uint64_t reads, writes, watches, events; /* watches: reads that leave one */
};
/* Calls back for each member (a label, or what registered; brokers and tools have labels too) that
 * did anything in an interval, in the order of names; `mark` is the text that the interval begins
 * with, "" before the first. Call it after import_finish(), whatever that came to. */
void import_count(const struct import *x,
                  void (*each)(const char *mark, size_t interval, const char *member,
                               const struct import_counts *counts, void *user),
                  void *user);

/* The capture has its end, as those of zkstudy record do unless they were cut short. */
bool import_has_end(const struct import *x);
bool import_has_header(const struct import *x);
uint64_t import_drops(const struct import *x); /* lines that the recorder could not write */
/* Writes of the capture that the log given does not have: it is not all of the log. After
 * import_finish(). */
uint64_t import_unlogged(const struct import *x);

#endif
