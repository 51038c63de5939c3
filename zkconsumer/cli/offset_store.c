#include "zkconsumer/cli/offset_store.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/cli/group_stored.h"
#include "zkconsumer/cli/kafka_offsets.h"
#include "zkconsumer/cli/property_option.h"
#include "zkconsumer/core/base/properties.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX    ((size_t)1 << 20)
#define ANSWERS_BYTES_MAX ((size_t)1 << 30)

/* ---- what is said ---- */

bool offset_store_take(struct offset_store *s, const char *key, const char *value)
{
    if (strcmp(key, "offsets.storage") == 0) {
        s->storage = strcmp(value, "kafka") == 0       ? OFFSET_STORAGE_KAFKA
                     : strcmp(value, "zookeeper") == 0 ? OFFSET_STORAGE_ZOOKEEPER
                                                       : OFFSET_STORAGE_UNSAID;
        return s->storage != OFFSET_STORAGE_UNSAID;
    }
    if (strcmp(key, "dual.commit.enabled") == 0) {
        s->dual = strcmp(value, "true") == 0    ? OFFSET_DUAL_ON
                  : strcmp(value, "false") == 0 ? OFFSET_DUAL_OFF
                                                : OFFSET_DUAL_UNSAID;
        return s->dual != OFFSET_DUAL_UNSAID || strcmp(value, "auto") == 0;
    }
    return true;
}

static enum zkc_err take_line(const struct property *p, void *user)
{
    if (offset_store_take(user, p->key, p->value))
        return ZKC_OK;
    report_error("line %zu: %s=%s is no value of it", p->line, p->key, p->value);
    return ZKC_ERR_CONFIG;
}

static bool load(struct offset_store *s, const char *path)
{
    struct buf text;
    struct why why;
    why_clear(&why);
    buf_init(&text, FILE_BYTES_MAX);
    bool ok = read_whole_file(path, &text, &why) &&
              properties_parse(buf_bytes(&text), take_line, s, &why) == ZKC_OK;
    buf_deinit(&text);
    if (!ok)
        report_error("%s%s%s", path, why.text[0] ? ": " : "", why.text);
    return ok;
}

static bool take_option(const char *key, const char *value, void *user)
{
    bool is_known = strcmp(key, "offsets.storage") == 0 || strcmp(key, "dual.commit.enabled") == 0;
    if (is_known && offset_store_take(user, key, value))
        return true;
    report_error("--property=%s=%s: expected offsets.storage=zookeeper|kafka or "
                 "dual.commit.enabled=true|false",
                 key, value);
    return false;
}

void offset_store_init_unsaid(struct offset_store *s)
{
    *s = (struct offset_store){.storage = OFFSET_STORAGE_UNSAID};
    arena_init(&s->arena, ANSWERS_BYTES_MAX);
}

bool offset_store_init(struct offset_store *s, const struct cli_args *args, size_t config,
                       size_t property)
{
    const char *path = cli_args_text(args, config, NULL);
    offset_store_init_unsaid(s);
    if ((!path || load(s, path)) && property_option_each(args, property, take_option, s))
        return true;
    offset_store_deinit(s);
    return false;
}

void offset_store_deinit(struct offset_store *s)
{
    arena_deinit(&s->arena);
}

/* ---- reading ---- */

enum zkc_err offset_store_may_be_kafka(const struct offset_store *s, struct admin *a, bool *out)
{
    struct zk_result found;
    *out = s->storage == OFFSET_STORAGE_KAFKA;
    if (s->storage != OFFSET_STORAGE_UNSAID)
        return ZKC_OK;
    enum zkc_err err =
        admin_do(a, ZK_OP_EXISTS, strdup(KAFKA_OFFSETS_TOPIC_PATH), BYTES_NULL, &found);
    *out = !err && found.zk_rc == ZK_OK;
    return err;
}

enum zkc_err offset_store_read(struct offset_store *s, struct admin *a, const char *group,
                               const char *const *topics, size_t topic_count,
                               enum zkc_err *kafka_err)
{
    struct group_read_options what = {
        .topics = topics, .topic_count = topic_count, .without_ends = true};
    struct why why;
    *kafka_err = ZKC_OK;
    s->is_asked = false;
    enum zkc_err err = group_read(a->zk, group, &what, &s->arena, &s->read, &a->why);
    if (err || s->storage == OFFSET_STORAGE_ZOOKEEPER)
        return err;
    err = group_stored_read(a->zk, &s->read, &s->arena, &why);
    s->is_asked = !err;
    if (err && s->storage == OFFSET_STORAGE_KAFKA) {
        why_set(&a->why, "the offsets that Kafka keeps of group %s: %s", group, why.text);
        return err;
    }
    if (err)
        report_warning("whether Kafka keeps offsets of group %s is not known: %s", group, why.text);
    *kafka_err = err;
    return ZKC_OK;
}

/* What does not count where the offsets are said to be in Kafka only. */
static bool counts(const struct offset_store *s, const struct group_partition *p)
{
    bool only_kafka = s->storage == OFFSET_STORAGE_KAFKA && s->dual == OFFSET_DUAL_OFF;
    return p->is_stored || p->stored_missing || !only_kafka;
}

size_t offset_store_each(const struct offset_store *s, const char *only, group_offset_fn *take,
                         void *user)
{
    size_t stored = 0, differing = 0;
    for (size_t t = 0; t < s->read.view.topic_count; t++) {
        const struct group_topic *topic = &s->read.view.topics[t];
        for (size_t i = 0; i < topic->partition_count; i++) {
            const struct group_partition *p = &topic->partitions[i];
            struct group_offset o = {topic->name, p->partition, p->offset,
                                     p->stored_missing ? p->stored_missing : p->offset_odd};
            if ((only && strcmp(only, topic->name) != 0) || !counts(s, p) ||
                (o.offset < 0 && !o.trouble))
                continue;
            stored += p->is_stored;
            if (group_stored_differs(p) && differing++ == 0)
                report_warning("[%s,%d] of group %s has offset %" PRId64
                               " in Kafka, which counts here, and %" PRId64 " in ZooKeeper",
                               o.topic, o.partition, s->read.view.group, p->offset,
                               p->znode_offset);
            if (!take(&o, user))
                return stored;
        }
    }
    if (differing > 1)
        report_warning("so it is with %zu more partitions of group %s", differing - 1,
                       s->read.view.group);
    return stored;
}

bool offset_store_has(const struct group_topic *topic)
{
    size_t i = 0;
    while (i < topic->partition_count && !topic->partitions[i].is_stored)
        i++;
    return i < topic->partition_count;
}

static const struct group_partition *find(const struct offset_store *s, const char *topic,
                                          int32_t partition)
{
    for (size_t t = 0; t < s->read.view.topic_count; t++) {
        const struct group_topic *in = &s->read.view.topics[t];
        for (size_t i = 0; strcmp(in->name, topic) == 0 && i < in->partition_count; i++)
            if (in->partitions[i].partition == partition)
                return &in->partitions[i];
    }
    return NULL;
}

int64_t offset_store_find(const struct offset_store *s, const char *topic, int32_t partition)
{
    const struct group_partition *p = find(s, topic, partition);
    return p && counts(s, p) && !p->stored_missing && !p->offset_odd ? p->offset : -1;
}

/* ---- before writing ---- */

static bool is_among(const char *name, const char *const *topics, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(topics[i], name) == 0)
            return true;
    return false;
}

/* How many partitions of these topics (none: of all) Kafka has offsets of, and the first. */
static size_t count_stored(const struct offset_store *s, const char *const *topics, size_t count,
                           const char **topic, const struct group_partition **first)
{
    size_t stored = 0;
    for (size_t t = 0; s->is_asked && t < s->read.view.topic_count; t++) {
        const struct group_topic *in = &s->read.view.topics[t];
        for (size_t i = 0; i < in->partition_count; i++) {
            if (!in->partitions[i].is_stored || (count && !is_among(in->name, topics, count)))
                continue;
            if (stored++ == 0) {
                *topic = in->name;
                *first = &in->partitions[i];
            }
        }
    }
    return stored;
}

/* Reads what Kafka keeps, where it may keep something. */
static enum zkc_err look(struct offset_store *s, struct admin *a, const char *group,
                         const char *const *topics, size_t topic_count, bool *may_be_kafka,
                         enum zkc_err *kafka_err)
{
    *kafka_err = ZKC_OK;
    enum zkc_err err = offset_store_may_be_kafka(s, a, may_be_kafka);
    if (!err && *may_be_kafka)
        err = offset_store_read(s, a, group, topics, topic_count, kafka_err);
    return err;
}

enum cli_exit offset_store_check(struct offset_store *s, struct admin *a, const char *group,
                                 const char *const *topics, size_t topic_count)
{
    bool may_be_kafka;
    enum zkc_err kafka_err;
    const char *topic;
    const struct group_partition *first;
    enum zkc_err err = look(s, a, group, topics, topic_count, &may_be_kafka, &kafka_err);
    if (err)
        return admin_fail(a, err);
    s->is_doubtful = may_be_kafka && kafka_err;
    if (s->storage != OFFSET_STORAGE_UNSAID || !may_be_kafka ||
        count_stored(s, topics, topic_count, &topic, &first) == 0)
        return CLI_DONE;
    char znode[32] = "none";
    if (first->znode_offset >= 0)
        snprintf(znode, sizeof znode, "%" PRId64, first->znode_offset);
    report_error("Kafka keeps offsets of group %s ([%s,%d]: %" PRId64 " there, in ZooKeeper %s): "
                 "give --property=offsets.storage=kafka to write them there, and in ZooKeeper "
                 "where it has some, or --property=offsets.storage=zookeeper to write ZooKeeper's "
                 "only, which members with offsets.storage=kafka need not look at; nothing was "
                 "written",
                 group, topic, first->partition, first->offset, znode);
    return CLI_PROBLEM;
}

enum zkc_err offset_store_tell_left(struct offset_store *s, struct admin *a, const char *group,
                                    const char *const *topics, size_t topic_count, size_t *left)
{
    bool may_be_kafka;
    enum zkc_err kafka_err;
    const char *topic;
    const struct group_partition *first;
    *left = 0;
    enum zkc_err err = look(s, a, group, topics, topic_count, &may_be_kafka, &kafka_err);
    if (!err && may_be_kafka)
        *left = count_stored(s, topics, topic_count, &topic, &first);
    if (*left)
        report_warning("Kafka keeps offsets of %zu partitions of group %s, the first is [%s,%d]: "
                       "%" PRId64 ". They stay as they are",
                       *left, group, topic, first->partition, first->offset);
    return err;
}

enum zkc_err offset_store_tell_kept(struct admin *a, const char *group, const char *topic,
                                    size_t *left)
{
    struct offset_store store;
    offset_store_init_unsaid(&store);
    enum zkc_err err = offset_store_tell_left(&store, a, group, &topic, topic != NULL, left);
    offset_store_deinit(&store);
    return err;
}

/* ---- writing ---- */

static int by_place(const void *a, const void *b)
{
    const struct kafka_offset *x = a, *y = b;
    int order = strcmp(x->topic, y->topic);
    return order ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

/* Sorted, each partition once: the last of the list. */
static size_t put_in_order(const struct offset_write *from, size_t count, struct kafka_offset *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        to[i] = (struct kafka_offset){from[i].topic, from[i].partition, (int64_t)i, NULL};
    qsort(to, count, sizeof *to, by_place);
    for (size_t i = 0; i < count;
         i++) { /* `offset` is the index so far: the greatest is the last */
        if (kept && by_place(&to[kept - 1], &to[i]) == 0) {
            if (to[i].offset > to[kept - 1].offset)
                to[kept - 1] = to[i];
        } else {
            to[kept++] = to[i];
        }
    }
    for (size_t i = 0; i < kept; i++)
        to[i].offset = from[to[i].offset].offset;
    return kept;
}

enum zkc_err offset_store_commit(const struct offset_store *s, struct admin *a, const char *group,
                                 const struct offset_write *list, size_t count)
{
    struct brokers brokers;
    if (s->storage != OFFSET_STORAGE_KAFKA || count == 0)
        return ZKC_OK;
    struct kafka_offset *sorted = arena_alloc_array(&a->arena, count, sizeof *sorted);
    if (!sorted)
        return a->arena.failed;
    count = put_in_order(list, count, sorted);
    enum zkc_err err = brokers_read(a->zk, &a->arena, &brokers, &a->why);
    return err ? err
               : kafka_offsets_write(a->zk, &brokers, group, sorted, count, &a->arena, &a->why);
}

enum zkc_err offset_store_write_znode(const struct offset_store *s, struct admin *a,
                                      const char *group, const struct offset_write *w, bool forced)
{
    struct zk_result found = {.zk_rc = ZK_OK};
    enum zkc_err err = ZKC_OK;
    if (s->storage == OFFSET_STORAGE_KAFKA && s->dual == OFFSET_DUAL_OFF)
        return ZKC_OK;
    if (s->storage == OFFSET_STORAGE_KAFKA && s->dual == OFFSET_DUAL_UNSAID)
        err = admin_do(a, ZK_OP_EXISTS, zk_path_offset(group, w->topic, w->partition), BYTES_NULL,
                       &found);
    if (err || found.zk_rc != ZK_OK)
        return err;
    return group_offsets_write(a, group, w->topic, w->partition, w->offset, forced);
}
