/* Groups and their assignments as text: the form of the files in tests/vectors/assign. */
#ifndef ZKC_TEST_GROUP_TEXT_H
#define ZKC_TEST_GROUP_TEXT_H

#include "tests/unit/vectors.h"
#include "zkconsumer/core/assign/assign.h"

#define GROUP_TEXT_MEMBERS_MAX    64
#define GROUP_TEXT_TOPICS_MAX     16
#define GROUP_TEXT_PARTITIONS_MAX 256
#define GROUP_TEXT_LINES_MAX      512

/* A case of such a file. Its texts are lent by the file. */
struct group_text {
    char name[64]; /* "range R4" */
    enum assign_strategy strategy;
    struct assign_group group;
    struct assign_member members[GROUP_TEXT_MEMBERS_MAX];
    struct assign_subscription subscriptions[GROUP_TEXT_MEMBERS_MAX][GROUP_TEXT_TOPICS_MAX];
    struct assign_topic topics[GROUP_TEXT_TOPICS_MAX];
    int32_t partitions[GROUP_TEXT_TOPICS_MAX][GROUP_TEXT_PARTITIONS_MAX];
    const char *owns[GROUP_TEXT_LINES_MAX]; /* "thread-id topic:p,p ..." in order of the file */
    size_t owns_count;
    const char *deals[GROUP_TEXT_LINES_MAX]; /* "topic:p hash" */
    size_t deals_count;
    bool is_refused;
};

/* Reads the case that begins with line *at, and moves *at behind it; false at the end. The lines
 * are cut up. Fails the test at what it does not understand. */
bool group_text_read(struct vectors *v, size_t *at, struct group_text *out);

/* Fails the test, naming the case, unless the assignment says what its "owns" lines say. */
void group_text_check(const struct group_text *text, const struct assignment *assignment);

#endif
