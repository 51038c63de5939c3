/* The log of a consumer: lines for people, to on_log, or warnings and errors to stderr. Never to
 * stdout. Loop's thread only, as its callback.
 *
 * Repeated lines are held back: of each cause one line a second passes, and the next one says how
 * many were held back in between (known fault F52: a ten-minute outage must not fill a disk). Lines
 * of level 7 are not held back: who asks for them wants them all. */
#ifndef ZKC_CONSUMER_LOG_H
#define ZKC_CONSUMER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <zkconsumer/conf.h>

enum { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

enum log_facility {
    LOG_FACILITY_ZK,     /* session, operations, lines of the ZooKeeper client */
    LOG_FACILITY_MEMBER, /* registration, rebalance */
    LOG_FACILITY_CLAIM,  /* ownership of partitions */
    LOG_FACILITY_FETCH,  /* brokers, leaders, fetching */
    LOG_FACILITY_OFFSET, /* reading and committing offsets */
    LOG_FACILITY_CONF,
    LOG_FACILITIES
};

const char *log_facility_name(enum log_facility facility);

struct log;

struct log_options {
    zkc_consumer *consumer; /* handed to fn */
    zkc_log_fn *fn;         /* NULL: stderr */
    void *user;
    int level;               /* lines above it are dropped ... */
    unsigned debug;          /* ... but those of facilities whose bit is set here */
    int64_t (*now_ms)(void); /* NULL: loop_now_ms */
};

/* NULL: out of memory. */
struct log *log_new(const struct log_options *options);
/* Says what is still held back (that calls fn), then frees. NULL is allowed. */
void log_free(struct log *log);

/* For skipping work whose only purpose is a line. */
bool log_shows(const struct log *log, int level, enum log_facility facility);

/* The cause is the text itself: only a line that is repeated literally is held back. */
void log_line(struct log *log, int level, enum log_facility facility, const char *fmt, ...)
    ZKC_PRINTF(4, 5);

/* For lines that vary but say the same, such as "connection 17 to ... failed": `cause` names what
 * they have in common ("connect 10.0.0.1:2181"). */
void log_cause(struct log *log, int level, enum log_facility facility, const char *cause,
               const char *fmt, ...) ZKC_PRINTF(5, 6);

#endif
