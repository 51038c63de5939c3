/* What `zkconsumer offsets reset` is told to do: its options, made into values. */
#ifndef ZKC_CLI_RESET_PLAN_H
#define ZKC_CLI_RESET_PLAN_H

#include "zkconsumer/cli/offset_store.h"
#include "zkconsumer/cli/picks.h"

enum {
    RESET_ZOOKEEPER,
    RESET_GROUP,
    RESET_TOPIC,
    RESET_PARTITION,
    RESET_EARLIEST,
    RESET_LATEST,
    RESET_TIME,
    RESET_DURATION,
    RESET_OFFSET,
    RESET_SHIFT,
    RESET_CURRENT,
    RESET_FROM_FILE,
    RESET_EXPORT,
    RESET_DRY_RUN,
    RESET_FORCE,
    RESET_CONFIG,
    RESET_PROPERTY,
    RESET_TIMEOUT,
    RESET_HELP,
    RESET_OPTIONS
};
extern const struct cli_option reset_options[RESET_OPTIONS];

enum reset_place {
    RESET_TO_TIME,    /* n: LIST_OFFSETS_*, or ms */
    RESET_TO_OFFSET,  /* n */
    RESET_BY_SHIFT,   /* n */
    RESET_TO_CURRENT, /* where the group is; where it is nowhere, the end */
    RESET_TO_PICKS,   /* the offsets in `picks` */
};

enum reset_format {
    RESET_LINES,        /* topic:partition:offset */
    RESET_TABLE,        /* kafka-consumer-groups */
    RESET_CSV,          /* topic,partition,offset */
    RESET_UPDATE_TOOLS, /* UpdateOffsetsInZK */
};

struct reset_plan {
    const char *group;
    const char *connect;
    const char **topics; /* in picks.arena; those that were asked for, each once */
    size_t topic_count;  /* 0: all of which the group has offsets */
    int64_t partition;   /* -1: all */
    struct picks picks;  /* of a topic with any, only these partitions */
    enum reset_place place;
    int64_t n;
    enum reset_format format;
    char *file_group, *file_connect; /* owned; from UpdateOffsetsInZK's file */
    struct offset_store store;
};

/* False: reported. Else the caller ends *plan with reset_plan_deinit(). */
bool reset_plan_init(struct reset_plan *plan, const struct cli_args *args);
void reset_plan_deinit(struct reset_plan *plan);

#endif
