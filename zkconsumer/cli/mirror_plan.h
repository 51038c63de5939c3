/* What `zkconsumer mirror` is told to do: its options and files, made into values. */
#ifndef ZKC_CLI_MIRROR_PLAN_H
#define ZKC_CLI_MIRROR_PLAN_H

#include "zkconsumer/cli/options.h"
#include <librdkafka/rdkafka.h>
#include <zkconsumer/consumer.h>

#define MIRROR_OPTIONS 19
extern const struct cli_option mirror_options[MIRROR_OPTIONS];

#define MIRROR_PRODUCERS_MAX 1000

struct mirror_source {
    zkc_conf *conf;        /* owned */
    const char *path;      /* its --consumer.config; NULL: there is none */
    const char *zookeeper; /* zookeeper.connect and group.id, lent by conf */
    const char *group;
};

struct mirror_plan {
    struct mirror_source *sources; /* owned; each another one */
    size_t source_count;
    rd_kafka_conf_t *target; /* owned */
    struct zkc_filter filter;
    char *to_brokers, *to_zookeeper; /* owned; the first that is there */
    bool keeps_dialect;              /* the user has said how old the target is */
    bool goes_on;                    /* though the target refuses a message */
    int64_t producers;               /* of each source */
    int64_t queue;                   /* messages of each producer */
    int64_t commit_interval_ms;
    const char *metrics; /* where to serve them; NULL: nowhere */
};

/* False: what is wrong was reported. In both cases the caller ends it with mirror_plan_deinit(). */
bool mirror_plan_init(struct mirror_plan *plan, const struct cli_args *args);
void mirror_plan_deinit(struct mirror_plan *plan);

/* --quiet, --verbose */
void mirror_plan_set_level(const struct cli_args *args);

#endif
