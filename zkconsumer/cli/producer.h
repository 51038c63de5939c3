/* librdkafka's producer as produce, mirror and perf use it: every message is either acknowledged or
 * counted and reported as failed. One thread; librdkafka's own threads only log. */
#ifndef ZKC_CLI_PRODUCER_H
#define ZKC_CLI_PRODUCER_H

#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/core/base/why.h"
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

struct producer;

/* `conf` is taken, whatever comes of it. `topic` NULL: each message names its own. `partition` -1:
 * chosen by key. `noun` is what reports call a message (static). NULL: `why` says why. */
struct producer *producer_open_take(rd_kafka_conf_t *conf, const char *topic, int32_t partition,
                                    const char *noun, struct why *why);

/* Readable while there is something for producer_poll() to do. */
int producer_fd(const struct producer *p);

/* Takes what librdkafka has to report, without waiting. */
void producer_poll(struct producer *p);

/* Hands a message over; both are copied; null is sent as null. `line` is its number in the input,
 * for reports. Waits while librdkafka's queue is full. A message that librdkafka refuses (too
 * large) is counted as failed. */
void producer_send(struct producer *p, struct bytes key, struct bytes value, uint64_t line);

/* The same to any topic, without waiting: false if librdkafka's queue is full; nothing has happened
 * then, and producer_poll() makes room. */
bool producer_try_send(struct producer *p, const char *topic, struct bytes key, struct bytes value,
                       uint64_t line);

struct producer_counts {
    uint64_t sent; /* handed over: delivered, failed, and those still under way */
    uint64_t delivered;
    uint64_t failed;
    bool is_unreachable; /* all that failed did so because no broker answered */
};
struct producer_counts producer_counts(const struct producer *p);

/* Waits up to wait_ms for reports. True when nothing is under way any more. */
bool producer_flush(struct producer *p, int wait_ms);

/* What is under way is given up. NULL is allowed. */
void producer_close(struct producer *p);

#endif
