/* Errors of this library. Kafka's and ZooKeeper's own codes never appear in this enum: they are
 * translated at the edge and kept, with number and name, in the message text. */
#ifndef ZKCONSUMER_ERROR_H
#define ZKCONSUMER_ERROR_H

#include <stddef.h>
#include <zkconsumer/export.h>

#ifdef __cplusplus
extern "C" {
#endif

enum zkc_err {
    ZKC_OK = 0,
    ZKC_ERR_NOMEM = -101,      /* memory could not be allocated */
    ZKC_ERR_INVALID = -102,    /* an argument is not allowed, or the call is not allowed now */
    ZKC_ERR_CONFIG = -103,     /* a setting is unknown, missing or out of range */
    ZKC_ERR_TIMED_OUT = -104,  /* the deadline passed; nothing else is known */
    ZKC_ERR_CLOSED = -105,     /* the object is closing or closed */
    ZKC_ERR_UNREACHABLE = -106, /* ZooKeeper or the brokers could not be reached */
    ZKC_ERR_PROTOCOL = -107,   /* a peer sent what its protocol does not allow */
    ZKC_ERR_SYSTEM = -108,     /* an operating system call failed: descriptors, files, threads */
    ZKC_ERR_ZOOKEEPER = -109,  /* a ZooKeeper operation was refused */
    ZKC_ERR_BROKER = -110,     /* a broker answered with an error code */
    ZKC_ERR_REBALANCE = -111,  /* the rebalance was given up after rebalance.max.retries attempts */
    ZKC_ERR_NOT_OWNED = -112,  /* the partition is not owned by this consumer (any more) */
    ZKC_ERR_TOO_LARGE = -113,  /* a message does not fit fetch.message.max.bytes, or a limit */
    ZKC_ERR_CORRUPT = -114,    /* stored data failed its checksum or its own structure */
    ZKC_ERR_OFFSET_RANGE = -115, /* the offset is outside of the partition log and
                                  * auto.offset.reset=error forbids to move */
    ZKC_ERR_WRONG_PROCESS = -116, /* called in a forked child: the handle belongs to the parent */
    ZKC_ERR_NOT_RELEASED = -117, /* closed, but the ephemeral znodes could not be given back; they
                                  * end with the session */
    ZKC_ERR_END = -118,        /* the stream has ended: its consumer is closed */
    ZKC_ERR_EVICTED = -119     /* the application has not asked for messages for
                                * max.poll.interval.ms: what was owned is given back */
};

/* A sentence for people; never NULL, static. */
ZKC_API const char *zkc_err_text(enum zkc_err err);

/* The symbol, e.g. "ZKC_ERR_CONFIG"; never NULL, static. */
ZKC_API const char *zkc_err_name(enum zkc_err err);

#ifdef __cplusplus
}
#endif
#endif
