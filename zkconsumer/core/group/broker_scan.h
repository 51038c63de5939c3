/* Reads who is registered under /brokers/ids: the list, then each broker in string order. An op
 * program (creator.h). A missing /brokers/ids is an empty list. */
#ifndef ZKC_GROUP_BROKER_SCAN_H
#define ZKC_GROUP_BROKER_SCAN_H

#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/zk/broker.h"
#include "zkconsumer/core/zk/op.h"

/* More is refused: no cluster has it. */
#define BROKER_SCAN_MAX 10000

/* What ends a scan. */
enum scan_mode {
    SCAN_STRICT,  /* a broker that vanishes or cannot be read (ZkUtils.getCluster of 0.8.2) */
    SCAN_PRESENT, /* one that cannot be read; what vanishes is skipped (.getAllBrokersInCluster) */
    SCAN_USABLE,  /* nothing: both are skipped */
};

struct scanned_broker {
    int32_t id;
    struct zk_broker broker; /* host NULL: not reachable for us, see `why` */
    struct why why;
};

struct broker_scan {
    enum scan_mode mode;
    char **names; /* sorted */
    size_t name_count;
    size_t at; /* the name being read */
    struct scanned_broker *brokers;
    size_t broker_count;
    char path[64];
};

enum scan_step { SCAN_SEND, SCAN_DONE, SCAN_FAILED };

/* `watch` leaves a watch on the list. */
void broker_scan_begin(struct broker_scan *s, enum scan_mode mode, bool watch, struct zk_op *op);

/* SCAN_DONE: brokers, broker_count are valid until the scan is begun again or deinited.
 * SCAN_FAILED: *err and why say how. */
enum scan_step broker_scan_next(struct broker_scan *s, const struct zk_result *answer,
                                struct zk_op *op, enum zkc_err *err, struct why *why);

void broker_scan_deinit(struct broker_scan *s);

#endif
