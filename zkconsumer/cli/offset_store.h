/* Where the tools that read and write a group's offsets find them: in znodes, in Kafka
 * (offsets.storage=kafka, kafka_offsets.h), or in both (dual.commit.enabled). The group does not
 * say it anywhere: whoever asks does, by the members' own keys, or it is seen by what Kafka has. */
#ifndef ZKC_CLI_OFFSET_STORE_H
#define ZKC_CLI_OFFSET_STORE_H

#include "zkconsumer/cli/group_offsets.h"
#include "zkconsumer/cli/group_read.h"

enum offset_storage { OFFSET_STORAGE_UNSAID, OFFSET_STORAGE_ZOOKEEPER, OFFSET_STORAGE_KAFKA };
enum offset_dual { OFFSET_DUAL_UNSAID, OFFSET_DUAL_OFF, OFFSET_DUAL_ON };

struct offset_store {
    enum offset_storage storage; /* offsets.storage */
    enum offset_dual dual;       /* dual.commit.enabled; unsaid: a znode that is there is written */
    bool is_asked;               /* of the last offset_store_read(): Kafka was, and has answered */
    bool is_doubtful; /* offset_store_check() does not know whether Kafka has any, and told it */
    struct group_read read; /* of the same */
    struct arena arena;     /* of `read` */
};

#define OPTION_STORE_CONFIG                                                                        \
    {                                                                                              \
        "config consumer.config consumer-config", 'F', "FILE", false,                              \
            "The members' properties file: where their offsets are (offsets.storage, "             \
            "dual.commit.enabled)."                                                                \
    }

#define OPTION_STORE_PROPERTY                                                                      \
    {                                                                                              \
        "property", 'X', "KEY=VALUE", true,                                                        \
            "offsets.storage=zookeeper|kafka, as the members have it, and "                        \
            "dual.commit.enabled=true|false: with kafka, whether ZooKeeper is written, too. "      \
            "Default of that: where it has an offset."                                             \
    }

/* By these two options; what is wrong with them is reported. On success the caller ends *s with
 * offset_store_deinit(). */
bool offset_store_init(struct offset_store *s, const struct cli_args *args, size_t config,
                       size_t property);
/* Nothing is said. */
void offset_store_init_unsaid(struct offset_store *s);
void offset_store_deinit(struct offset_store *s);

/* Takes a key of the members' properties; others are none of its business. False: not a value. */
bool offset_store_take(struct offset_store *s, const char *key, const char *value);

/* Whether Kafka has to be asked of what it keeps: not when the offsets are said to be in ZooKeeper,
 * nor, where nothing is said, when no broker keeps any. */
ZKC_MUST_CHECK enum zkc_err offset_store_may_be_kafka(const struct offset_store *s, struct admin *a,
                                                      bool *out);

/* Reads what both stores have of the group's topics and of `topics` into s->read (group_stored.h).
 * When Kafka cannot be asked: an error if the offsets are said to be there; else told, and
 * s->is_asked is false. */
ZKC_MUST_CHECK enum zkc_err offset_store_read(struct offset_store *s, struct admin *a,
                                              const char *group, const char *const *topics,
                                              size_t topic_count, enum zkc_err *kafka_err);

/* After offset_store_read(): calls `take` for each offset that counts, as offsets check shows them,
 * by topic and partition; `only` NULL: of all topics. Returns how many are Kafka's; where the two
 * differ is told. */
size_t offset_store_each(const struct offset_store *s, const char *only, group_offset_fn *take,
                         void *user);

/* After offset_store_read(): Kafka has an offset of one of its partitions. */
bool offset_store_has(const struct group_topic *topic);

/* After offset_store_read(): the offset that counts; -1: none. */
int64_t offset_store_find(const struct offset_store *s, const char *topic, int32_t partition);

/* Before a write. When nobody has said where the offsets are and Kafka has some of these topics,
 * what to say is reported: CLI_PROBLEM. A reset of the znodes would not be seen by the group. */
enum cli_exit offset_store_check(struct offset_store *s, struct admin *a, const char *group,
                                 const char *const *topics, size_t topic_count);

/* For Kafka's own tools, which write znodes only: tells what they leave as it is. */
ZKC_MUST_CHECK enum zkc_err offset_store_tell_left(struct offset_store *s, struct admin *a,
                                                   const char *group, const char *const *topics,
                                                   size_t topic_count, size_t *left);

/* The same, where nothing is said, of the topic (NULL: of all) of which a group is going to lose
 * what it has: brokers of 0.8.2 have no request that deletes offsets. Before that: its nodes say of
 * which topics it may be. */
ZKC_MUST_CHECK enum zkc_err offset_store_tell_kept(struct admin *a, const char *group,
                                                   const char *topic, size_t *left);

/* Writes offsets: Kafka's part of all of them, in one request (nothing, when they are not there);
 * then the znode's part of each. `list` is of any order; the last of a partition counts. */
struct offset_write {
    const char *topic;
    int32_t partition;
    int64_t offset;
};
ZKC_MUST_CHECK enum zkc_err offset_store_commit(const struct offset_store *s, struct admin *a,
                                                const char *group, const struct offset_write *list,
                                                size_t count);
/* `forced` as in group_offsets_write(). */
ZKC_MUST_CHECK enum zkc_err offset_store_write_znode(const struct offset_store *s, struct admin *a,
                                                     const char *group,
                                                     const struct offset_write *w, bool forced);

#endif
