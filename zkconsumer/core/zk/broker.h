/* A broker's registration, the data of /brokers/ids/<id>: versions 1 (0.8) to 5 (2.7 and later).
 * Source: Kafka's BrokerIdZNode, KIP-103 (listener names). */
#ifndef ZKC_ZK_BROKER_H
#define ZKC_ZK_BROKER_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

struct zk_broker {
    char *host;      /* where plain text is spoken; an IPv6 address without brackets */
    int32_t port;    /* 1 .. 65535 */
    int32_t version; /* of the registration; 0: not said */
};

/* Finds the address on which a client without TLS and SASL reaches the broker: `host` and `port`,
 * or, when they are unusable (null and -1 since 0.9, when no listener is named PLAINTEXT), the
 * first endpoint whose protocol is PLAINTEXT, by its own name or by the
 * listener_security_protocol_map.
 *
 * On success the caller owns *out and ends it with zk_broker_deinit(); otherwise *out is not
 * touched, and `why` tells what is there instead.
 *
 * ZKC_ERR_UNREACHABLE  it has no endpoint without encryption or authentication
 * ZKC_ERR_CORRUPT      no data, no JSON object, or no address in it
 * ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_broker_read(struct bytes data, struct zk_broker *out,
                                           struct why *why);

void zk_broker_deinit(struct zk_broker *broker);

#endif
