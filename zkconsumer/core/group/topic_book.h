/* The topics that a member has to do with, each with a number and texts that last as long as the
 * member: those it has subscribed to, or, of a filter, those that it has ever allowed. Topics are
 * never taken out, as 0.8.2 never takes one out of its maps (kafkaMessageAndMetadataStreams). */
#ifndef ZKC_GROUP_TOPIC_BOOK_H
#define ZKC_GROUP_TOPIC_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zkconsumer/error.h>

struct book_topic {
    char *name;
    char *path;         /* /brokers/topics/<name> */
    bool is_subscribed; /* something listens to its data: reads of it leave a watch */
};

struct topic_book {
    struct book_topic *topics; /* by number */
    uint32_t *by_name;         /* their numbers, sorted by name */
    size_t count, cap;
};

void topic_book_deinit(struct topic_book *b);

bool topic_book_find(const struct topic_book *b, const char *name, uint32_t *number);

/* Finds it, or adds it. ZKC_ERR_NOMEM. */
ZKC_MUST_CHECK enum zkc_err topic_book_add(struct topic_book *b, const char *name,
                                           uint32_t *number);

/* The topic whose znode this is. */
bool topic_book_find_path(const struct topic_book *b, const char *path, uint32_t *number);

#endif
