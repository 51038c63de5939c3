/* Single partitions of topics, some with an offset: what kafka-consumer-groups --reset-offsets is
 * given by --topic=TOPIC:PARTITIONS and --from-file. */
#ifndef ZKC_CLI_PICKS_H
#define ZKC_CLI_PICKS_H

#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/why.h"
#include <zkconsumer/export.h>

#define PICKS_MAX 1000000

struct pick {
    const char *topic;
    int32_t partition;
    int64_t offset; /* -1: none is said */
};

struct picks {
    struct pick *list; /* by topic and partition, each once */
    size_t count, max;
    struct arena arena;
};

void picks_init(struct picks *p);
void picks_deinit(struct picks *p);

/* Adds those of a topic, partitions as where_parse_partitions() takes them.
 *
 * ZKC_ERR_CONFIG  not such a list; one that is there already; the topic is no name
 * ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE */
ZKC_MUST_CHECK enum zkc_err picks_add_topic(struct picks *p, const char *topic,
                                            const char *partitions, struct why *why);

/* Adds lines of "topic,partition,offset", the form of --export
 * (ConsumerGroupCommand.parseResetPlan); blanks around the three and empty lines do not count.
 * Errors as above, with the line. */
ZKC_MUST_CHECK enum zkc_err picks_add_lines(struct picks *p, struct bytes text, struct why *why);

/* NULL: not picked. */
const struct pick *picks_find(const struct picks *p, const char *topic, int32_t partition);

/* Those of a topic, and how many there are. */
const struct pick *picks_of(const struct picks *p, const char *topic, size_t *count);

#endif
