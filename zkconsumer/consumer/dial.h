/* What connections to brokers have in common: settings, and where they live. */
#ifndef ZKC_CONSUMER_DIAL_H
#define ZKC_CONSUMER_DIAL_H

#include "zkconsumer/consumer/conf.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/io/broker_connection.h"

/* A request names every partition at most. */
#define DIAL_REQUEST_BYTES_MAX (8 * 1024 * 1024)

struct dial {
    struct event_base *base;
    struct resolver *resolver;
    const struct conf_view *conf;
    struct rng rng; /* of the jitters */
};

/* A connection that will be made when there is something to send. NULL: out of memory. With
 * socket.timeout.ms, or with another timeout. */
struct broker_connection *dial_broker(struct dial *d, const char *host, int32_t port,
                                      size_t response_bytes_max);
struct broker_connection *dial_broker_within(struct dial *d, const char *host, int32_t port,
                                             size_t response_bytes_max, int64_t timeout_ms);

#endif
