/* A whole broker: its folders, its port, its session in ZooKeeper, and the machine of
 * broker/core/broker_machine.h that decides what it does there. Everything here runs on the thread
 * that calls broker_run().
 *
 *   open: folders ─► port ─► session ─► machine: READY ─► requests are served
 *   stop: machine and requests ─► session ─► folders flushed, checkpoints, mark of a clean stop */
#ifndef BROKER_IO_BROKER_H
#define BROKER_IO_BROKER_H

#include "zkconsumer/core/base/why.h"

struct config;
struct journal;

enum broker_exit {
    BROKER_DONE = 0,        /* stopped in order */
    BROKER_FAILED = 1,      /* configuration, folders, port, another broker with our id */
    BROKER_UNREACHABLE = 3, /* no ZooKeeper within zookeeper.connection.timeout.ms at the start */
};

/* Runs until SIGTERM or SIGINT; a second one ends the process at once (128 + its number). SIGHUP
 * opens log.file again. Why it failed is in the journal. */
enum broker_exit broker_run(const struct config *config, struct journal *journal);

#endif
