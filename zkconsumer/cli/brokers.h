/* The brokers of a cluster, from their registrations in ZooKeeper: where they are, and what they
 * speak. */
#ifndef ZKC_CLI_BROKERS_H
#define ZKC_CLI_BROKERS_H

#include "zkconsumer/cli/zk_reader.h"
#include "zkconsumer/core/base/buf.h"

struct broker {
    int32_t id;
    const char *host; /* NULL: no address for a client without TLS and SASL */
    uint16_t port;
    int32_t version;     /* of the registration; 0: not said */
    const char *problem; /* why host is NULL; else NULL */
};

struct brokers {
    struct broker *list; /* by id */
    size_t count;
};

/* Reads /brokers/ids into `arena`. A broker that goes while it is read is left out.
 * Errors as zk_reader_run(). */
ZKC_MUST_CHECK enum zkc_err brokers_read(struct zk_reader *r, struct arena *arena,
                                         struct brokers *out, struct why *why);

/* NULL: not registered. */
const struct broker *brokers_find(const struct brokers *brokers, int32_t id);

/* Appends "host:port,host:port" of those that have an address: librdkafka's bootstrap.servers.
 * Returns their number. */
size_t brokers_append_addresses(const struct brokers *brokers, struct buf *out);

/* What librdkafka must be told about the oldest of the brokers. Those before 0.10 close the
 * connection on an ApiVersions request, which newer clients begin with; they can be told by the
 * version of their registration: 1 until 0.8, 2 is 0.9, 3 and above 0.10 and later
 * (org.apache.kafka: BrokerIdZNode). Static; NULL: nothing, they can be asked. */
const char *brokers_version_fallback(const struct brokers *brokers);

#endif
