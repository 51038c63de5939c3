#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/core/base/utf8.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char *format(const char *fmt, ...) ZKC_PRINTF(1, 2);

static char *format(const char *fmt, ...)
{
    char most[256]; /* nearly all of them */
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(most, sizeof most, fmt, args);
    char *text = len < 0 ? NULL : malloc((size_t)len + 1);
    if (text && (size_t)len < sizeof most)
        memcpy(text, most, (size_t)len + 1);
    else if (text)
        vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

char *zk_path_group(const char *group)
{
    return format(ZK_PATH_CONSUMERS "/%s", group);
}

char *zk_path_ids(const char *group)
{
    return format(ZK_PATH_CONSUMERS "/%s/ids", group);
}

char *zk_path_id(const char *group, const char *consumer_id)
{
    return format(ZK_PATH_CONSUMERS "/%s/ids/%s", group, consumer_id);
}

char *zk_path_owners(const char *group)
{
    return format(ZK_PATH_CONSUMERS "/%s/owners", group);
}

char *zk_path_owner_topic(const char *group, const char *topic)
{
    return format(ZK_PATH_CONSUMERS "/%s/owners/%s", group, topic);
}

char *zk_path_owner(const char *group, const char *topic, int32_t partition)
{
    return format(ZK_PATH_CONSUMERS "/%s/owners/%s/%" PRId32, group, topic, partition);
}

char *zk_path_offsets(const char *group)
{
    return format(ZK_PATH_CONSUMERS "/%s/offsets", group);
}

char *zk_path_offset_topic(const char *group, const char *topic)
{
    return format(ZK_PATH_CONSUMERS "/%s/offsets/%s", group, topic);
}

char *zk_path_offset(const char *group, const char *topic, int32_t partition)
{
    return format(ZK_PATH_CONSUMERS "/%s/offsets/%s/%" PRId32, group, topic, partition);
}

char *zk_path_broker(int32_t broker_id)
{
    return format(ZK_PATH_BROKER_IDS "/%" PRId32, broker_id);
}

char *zk_path_topic(const char *topic)
{
    return format(ZK_PATH_BROKER_TOPICS "/%s", topic);
}

char *zk_path_partitions(const char *topic)
{
    return format(ZK_PATH_BROKER_TOPICS "/%s/partitions", topic);
}

char *zk_path_partition(const char *topic, int32_t partition)
{
    return format(ZK_PATH_BROKER_TOPICS "/%s/partitions/%" PRId32, topic, partition);
}

char *zk_path_partition_state(const char *topic, int32_t partition)
{
    return format(ZK_PATH_BROKER_TOPICS "/%s/partitions/%" PRId32 "/state", topic, partition);
}

size_t zk_path_parent_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

const char *zk_path_leaf(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The longest path that has a meaning here is /brokers/topics/<t>/partitions/<p>/state. */
#define ELEMENTS_MAX 6

/* Cuts the path into its elements; 0 when it has none, too many, or an empty one. */
static size_t split(const char *path, struct bytes elements[ELEMENTS_MAX])
{
    size_t n = 0;
    while (*path == '/') {
        path++;
        size_t len = strcspn(path, "/");
        if (!len || n == ELEMENTS_MAX)
            return 0;
        elements[n++] = bytes_of(path, len);
        path += len;
    }
    return n;
}

/* A canonical decimal number 0 .. 2^31-1; -1 for anything else. */
static int32_t partition_number(struct bytes text)
{
    if (!text.len || text.len > 10 || (text.len > 1 && text.data[0] == '0'))
        return -1;
    int64_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        n = n * 10 + (text.data[i] - '0');
    }
    return n > INT32_MAX ? -1 : (int32_t)n;
}

/* e: what follows /consumers; n >= 1. */
static void parse_group(const struct bytes *e, size_t n, struct zk_path_parts *out)
{
    out->group = e[0];
    if (n == 1) {
        out->kind = ZK_PATH_GROUP;
    } else if (bytes_equal_text(e[1], "ids") && n <= 3) {
        out->kind = n == 2 ? ZK_PATH_IDS : ZK_PATH_ID;
        out->name = n == 3 ? e[2] : BYTES_NULL;
    } else if (n == 4 && (out->partition = partition_number(e[3])) >= 0) {
        out->topic = e[2];
        if (bytes_equal_text(e[1], "owners"))
            out->kind = ZK_PATH_OWNER;
        else if (bytes_equal_text(e[1], "offsets"))
            out->kind = ZK_PATH_OFFSET;
    }
}

/* e: what follows /brokers; n >= 1. */
static void parse_brokers(const struct bytes *e, size_t n, struct zk_path_parts *out)
{
    if (bytes_equal_text(e[0], "ids") && n <= 2) {
        out->kind = n == 1 ? ZK_PATH_BROKERS : ZK_PATH_BROKER;
        out->name = n == 2 ? e[1] : BYTES_NULL;
    } else if (bytes_equal_text(e[0], "topics") && n <= 2) {
        out->kind = n == 1 ? ZK_PATH_TOPICS : ZK_PATH_TOPIC;
        out->topic = n == 2 ? e[1] : BYTES_NULL;
    } else if (bytes_equal_text(e[0], "topics") && n == 5 && bytes_equal_text(e[2], "partitions") &&
               bytes_equal_text(e[4], "state") && (out->partition = partition_number(e[3])) >= 0) {
        out->kind = ZK_PATH_PARTITION_STATE;
        out->topic = e[1];
    }
}

struct zk_path_parts zk_path_parse(const char *path)
{
    static const struct zk_path_parts other = {.kind = ZK_PATH_OTHER, .partition = -1};
    struct zk_path_parts out = other;
    struct bytes elements[ELEMENTS_MAX];
    size_t n = split(path, elements);
    if (n < 2)
        return other;
    if (bytes_equal_text(elements[0], "consumers"))
        parse_group(elements + 1, n - 1, &out);
    else if (bytes_equal_text(elements[0], "brokers"))
        parse_brokers(elements + 1, n - 1, &out);
    return out.kind == ZK_PATH_OTHER ? other : out;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

static enum zkc_err check_chars(const char *what, const char *name, struct why *why)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++) {
        if (is_name_char(name[i]))
            continue;
        why_set(why,
                "%s \"%s\": character \"%s\" at position %zu; expected only letters, digits, "
                "'.', '_' and '-'",
                what, why_quote(bytes_of(name, len)).text,
                why_quote_first(bytes_of(name + i, len - i)).text, i + 1);
        return ZKC_ERR_INVALID;
    }
    return ZKC_OK;
}

/* What ZooKeeper takes as an element of a path, by length and dots. */
static enum zkc_err check_element(const char *what, const char *name, size_t max, struct why *why)
{
    size_t len = strlen(name);
    why_clear(why);
    if (!len)
        why_set(why, "%s is empty; expected a name of 1 to %zu bytes", what, max);
    else if (len > max)
        why_set(why, "%s \"%s\" has %zu bytes; expected at most %zu", what,
                why_quote(bytes_of(name, len)).text, len, max);
    else if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        why_set(why, "%s is \"%s\", which ZooKeeper does not take as the name of a znode", what,
                name);
    else
        return ZKC_OK;
    return ZKC_ERR_INVALID;
}

enum zkc_err zk_check_group(const char *group, struct why *why)
{
    enum zkc_err err = check_element("group id", group, ZK_NAME_MAX, why);
    return err ? err : check_chars("group id", group, why);
}

enum zkc_err zk_check_client_id(const char *client_id, struct why *why)
{
    why_clear(why);
    return check_chars("client id", client_id, why);
}

enum zkc_err zk_check_topic(const char *topic, struct why *why)
{
    enum zkc_err err = check_element("topic", topic, TOPIC_NAME_MAX, why);
    return err ? err : check_chars("topic", topic, why);
}

/* ZooKeeper's PathUtils.validatePath, which looks at UTF-16 units: a character above the basic
 * plane is two surrogates and so refused. */
static bool is_znode_char(struct utf8_char c)
{
    return c.valid && c.code >= 0x20 && c.code != '/' && (c.code < 0x7F || c.code > 0x9F) &&
           (c.code < 0xD800 || c.code > 0xF8FF) && c.code < 0xFFF0;
}

size_t zk_znode_name_span(struct bytes name)
{
    size_t at = 0;
    while (at < name.len) {
        struct utf8_char c = utf8_decode(name.data + at, name.len - at);
        if (!is_znode_char(c))
            break;
        at += c.len;
    }
    return at;
}

enum zkc_err zk_check_consumer_id(const char *consumer_id, struct why *why)
{
    enum zkc_err err = check_element("consumer id", consumer_id, ZK_CONSUMER_ID_MAX, why);
    if (err)
        return err;
    struct bytes name = bytes_of_text(consumer_id);
    size_t legal = zk_znode_name_span(name);
    if (legal == name.len)
        return ZKC_OK;
    why_set(why,
            "consumer id \"%s\": \"%s\" at byte %zu, which ZooKeeper does not take in the name of "
            "a znode",
            why_quote(name).text,
            why_quote_first(bytes_of(name.data + legal, name.len - legal)).text, legal + 1);
    return ZKC_ERR_INVALID;
}
