#include "zkconsumer/cli/topic_settings.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/json.h"
#include "zkconsumer/core/zk/log_config.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>

/* Others may write at the same time, each of them once. */
#define TRIES_MAX 100

/* ---- what is wanted ---- */

static bool can_be_set(const char *key, const char *value, struct why *why)
{
    struct log_config unused = log_config_default();
    return log_config_set(&unused, key, value, why) == ZKC_OK;
}

/* One of these is a value of any setting. */
static bool is_setting(const char *key)
{
    static const char *const values[] = {"1000000", "1", "true", "delete"};
    struct why unused;
    size_t i = 0;
    while (i < ARRAY_LEN(values) && !can_be_set(key, values[i], &unused))
        i++;
    return i < ARRAY_LEN(values);
}

/* Blanks at the ends and around '=' do not count (TopicCommand.parseTopicConfigsToBeAdded). */
static char *trim(char *text)
{
    char *end = text + strlen(text);
    while (end > text && end[-1] == ' ')
        *--end = 0;
    return text + strspn(text, " ");
}

static bool add(struct topic_settings *s, const char *text)
{
    struct why why;
    char *copy = s->set_count < TOPIC_SETTINGS_MAX ? strdup(text) : NULL;
    char *equals = copy ? strchr(copy, '=') : NULL;
    if (!equals || equals == copy) {
        report_error("--config=%s: expected KEY=VALUE, %d of them at the most", text,
                     TOPIC_SETTINGS_MAX);
        free(copy);
        return false;
    }
    *equals = 0;
    /* the key is where the memory begins */
    size_t skip = strspn(copy, " ");
    char *value = trim(equals + 1);
    memmove(copy, copy + skip, strlen(copy + skip) + 1);
    s->set[s->set_count++] = (struct zk_setting){trim(copy), value};
    if (can_be_set(copy, value, &why))
        return true;
    report_error("--config: %s", why.text);
    return false;
}

static bool take_away(struct topic_settings *s, const char *key)
{
    if (s->removed_count < TOPIC_SETTINGS_MAX && is_setting(key)) {
        s->removed[s->removed_count++] = key;
        return true;
    }
    if (is_setting(key))
        report_error("--delete-config=%s: more than %d of them", key, TOPIC_SETTINGS_MAX);
    else
        report_error("--delete-config: \"%s\" is no setting of topics", key);
    return false;
}

bool topic_settings_init(struct topic_settings *s, const struct cli_args *args, size_t config,
                         size_t delete_config)
{
    const char *text;
    bool ok = true;
    *s = (struct topic_settings){0};
    for (size_t i = 0; ok && (text = cli_args_value(args, config, i)); i++)
        ok = add(s, text);
    for (size_t i = 0; ok && delete_config != TOPIC_SETTINGS_NONE &&
                       (text = cli_args_value(args, delete_config, i));
         i++)
        ok = take_away(s, text);
    if (!ok)
        topic_settings_deinit(s);
    return ok;
}

void topic_settings_deinit(struct topic_settings *s)
{
    for (size_t i = 0; i < s->set_count; i++)
        free((char *)(uintptr_t)s->set[i].key);
    *s = (struct topic_settings){0};
}

/* ---- what the topic has then ---- */

struct merged {
    struct arena *arena;
    struct zk_setting *list;
    size_t count, max;
};

static enum zkc_err put(struct merged *m, const struct zk_setting *setting)
{
    size_t i = 0;
    while (i < m->count && strcmp(m->list[i].key, setting->key) != 0)
        i++;
    if (i == m->max) {
        struct zk_setting *more = arena_alloc_array(m->arena, m->max * 2 + 16, sizeof *more);
        if (!more)
            return m->arena->failed;
        if (m->count)
            memcpy(more, m->list, m->count * sizeof *more);
        m->list = more;
        m->max = m->max * 2 + 16;
    }
    m->list[i] = (struct zk_setting){arena_format(m->arena, "%s", setting->key),
                                     arena_format(m->arena, "%s", setting->value)};
    m->count += i == m->count;
    return m->arena->failed;
}

static enum zkc_err keep(const struct zk_setting *setting, void *user)
{
    return put(user, setting);
}

static void drop(struct merged *m, const char *key)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->list[i].key, key) == 0) {
            memmove(&m->list[i], &m->list[i + 1], (m->count - i - 1) * sizeof *m->list);
            m->count--;
            return;
        }
}

static enum zkc_err merge(const struct topic_settings *s, struct admin *a, const char *topic,
                          struct bytes old, struct buf *out)
{
    struct merged m = {.arena = &a->arena};
    struct why why;
    why_clear(&why);
    enum zkc_err err = zk_topic_config_read(old, keep, &m, &why);
    if (err && why.text[0])
        why_set(&a->why, "settings of topic %s: %s", topic, why.text);
    for (size_t i = 0; !err && i < s->set_count; i++)
        err = put(&m, &s->set[i]);
    for (size_t i = 0; i < s->removed_count; i++)
        drop(&m, s->removed[i]);
    if (!err)
        zk_topic_config_write(out, m.list, m.count);
    return err ? err : out->failed;
}

/* ---- writing ---- */

/* *done: nobody has written in between. */
static enum zkc_err try_write(const struct topic_settings *s, struct admin *a, const char *topic,
                              struct buf *data, bool *done)
{
    struct zk_result result;
    bool exists = false;
    enum zkc_err err = admin_do(a, ZK_OP_GET, zk_path_topic_config(topic), BYTES_NULL, &result);
    if (err)
        return err;
    bool is_there = result.zk_rc == ZK_OK;
    buf_clear(data);
    err = merge(s, a, topic, is_there ? result.data : BYTES_NULL, data);
    if (!err && is_there)
        err = admin_set(a, zk_path_topic_config(topic), buf_bytes(data), result.stat.version, done);
    else if (!err)
        err = admin_create(a, zk_path_topic_config(topic), buf_bytes(data), &exists);
    *done = is_there ? *done : !exists;
    return err;
}

static enum zkc_err too_busy(struct admin *a, const char *path)
{
    why_set(&a->why, "%s: others write there all the time", path);
    return ZKC_ERR_ZOOKEEPER;
}

static enum zkc_err write_settings(const struct topic_settings *s, struct admin *a,
                                   const char *topic)
{
    struct buf data;
    bool done = false;
    enum zkc_err err = ZKC_OK;
    buf_init(&data, ZK_DATA_BYTES_MAX);
    for (int tries = 0; !err && !done && tries < TRIES_MAX; tries++)
        err = try_write(s, a, topic, &data, &done);
    buf_deinit(&data);
    return err || done ? err : too_busy(a, ZK_PATH_TOPIC_CONFIGS);
}

/* A sequential node by its name: the server counts creations, which it tells twice less the
 * children that are there (org.apache.zookeeper.server.DataNode.copyStat). Brokers look at numbers
 * above the last they have seen. */
static enum zkc_err create_change(struct admin *a, struct bytes data)
{
    struct zk_result parent;
    bool exists = true;
    enum zkc_err err = ZKC_OK;
    for (int tries = 0; !err && exists && tries < TRIES_MAX; tries++) {
        err = admin_do(a, ZK_OP_CHILDREN, strdup(ZK_PATH_CONFIG_CHANGES), BYTES_NULL, &parent);
        if (err)
            break;
        int64_t number = parent.zk_rc == ZK_OK
                             ? ((int64_t)parent.stat.cversion + (int64_t)parent.children_count) / 2
                             : 0;
        const char *path =
            arena_format(&a->arena, ZK_PATH_CONFIG_CHANGES "/config_change_%010" PRId64, number);
        err = path ? admin_create(a, strdup(path), data, &exists) : a->arena.failed;
    }
    return err || !exists ? err : too_busy(a, ZK_PATH_CONFIG_CHANGES);
}

/* As each of the brokers that are there reads it: 0.8 the topic, as a text of JSON's; 0.9 and
 * later, whose registrations have version 2 and above, an object. */
static enum zkc_err tell_brokers(struct admin *a, const char *topic)
{
    struct brokers brokers;
    struct buf data;
    enum zkc_err err = brokers_read(a->zk, &a->arena, &brokers, &a->why);
    if (err)
        return err;
    size_t old = 0;
    for (size_t i = 0; i < brokers.count; i++)
        old += brokers.list[i].version <= 1 && !brokers.list[i].problem;
    buf_init(&data, ZK_DATA_BYTES_MAX);
    if (old || brokers.count == 0) {
        zk_json_append_string(&data, topic);
        err = data.failed ? data.failed : create_change(a, buf_bytes(&data));
    }
    if (!err && old < brokers.count) {
        buf_clear(&data);
        buf_append_text(&data, "{\"version\":1,\"entity_type\":\"topics\",\"entity_name\":");
        zk_json_append_string(&data, topic);
        buf_append_byte(&data, '}');
        err = data.failed ? data.failed : create_change(a, buf_bytes(&data));
    }
    buf_deinit(&data);
    return err;
}

enum zkc_err topic_settings_change(const struct topic_settings *s, struct admin *a,
                                   const char *topic)
{
    enum zkc_err err = write_settings(s, a, topic);
    return err ? err : tell_brokers(a, topic);
}
