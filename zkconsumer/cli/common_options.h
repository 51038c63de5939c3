/* Options that several commands have, with one text. */
#ifndef ZKC_CLI_COMMON_OPTIONS_H
#define ZKC_CLI_COMMON_OPTIONS_H

#define OPTION_ZOOKEEPER                                                                           \
    {                                                                                              \
        "zookeeper zkconnect zookeeper.connect", 0, "HOST:PORT[,...][/CHROOT]", false,             \
            "The ZooKeeper servers; the chroot once, after the last of them. Credentials, where "  \
            "an ACL asks for them, are taken from the environment: ZKCONSUMER_ZOOKEEPER_AUTH="     \
            "digest:user:password."                                                                \
    }

#define OPTION_GROUP                                                                               \
    {                                                                                              \
        "group group.id", 'G', "GROUP", false, "The consumer group."                               \
    }

#define OPTION_TIMEOUT_DEFAULT_MS 30000
#define OPTION_TIMEOUT                                                                             \
    {                                                                                              \
        "timeout", 0, "MS", false,                                                                 \
            "Give up after so many milliseconds, all together. Default: 30000."                    \
    }

#define OPTION_BROKERS                                                                             \
    {                                                                                              \
        "broker-list bootstrap-server", 'b', "HOST:PORT[,...]", false,                             \
            "Brokers to ask where the others are; the first that answers."                         \
    }

#define OPTION_STRATEGY                                                                            \
    {                                                                                              \
        "strategy partition.assignment.strategy", 0, "range|ceil|rendezvous|roundrobin", false,    \
            "Which rule the members assign by: range (what Kafka's consumers do), ceil (what "     \
            "Kafka's documentation says), rendezvous (few partitions move) or roundrobin. "        \
            "Default: what all members declare that they know, as those in safe mode do: "         \
            "roundrobin, rendezvous, ceil; else range."                                            \
    }

#define OPTION_METRICS                                                                             \
    {                                                                                              \
        "metrics", 0, "HOST:PORT", false,                                                          \
            "Serve GET /metrics there, in Prometheus' format; port 0: any that is free, which is " \
            "told."                                                                                \
    }

#define OPTION_QUIET                                                                               \
    {                                                                                              \
        "quiet", 'q', NULL, false, "Say on stderr only what went wrong."                           \
    }

#define OPTION_VERBOSE                                                                             \
    {                                                                                              \
        "verbose", 'v', NULL, false, "Show the library's own log on stderr, too."                  \
    }

#define OPTION_HELP                                                                                \
    {                                                                                              \
        "help", 'h', NULL, false, "Show this help and do nothing else."                            \
    }

#define EXAMPLE_BROKERS   "--broker-list=kafka1:9092"
#define EXAMPLE_ZOOKEEPER "--zookeeper=zk1:2181/kafka"

#endif
