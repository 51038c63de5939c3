#include "broker/core/log_names.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define BASE_OFFSET_DIGITS 20

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), end_len = strlen(end);
    return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

/* The 20 digits in front of the suffix. */
static bool read_base_offset(const char *name, int64_t *out)
{
    uint64_t n = 0;
    for (size_t i = 0; i < BASE_OFFSET_DIGITS; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        unsigned digit = (unsigned)(name[i] - '0');
        if (n > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = (int64_t)n;
    return true;
}

enum log_file_kind log_file_kind(const char *name, int64_t *base_offset)
{
    static const struct {
        const char *suffix;
        enum log_file_kind kind;
    } suffixes[] = {
        {".log", LOG_FILE_SEGMENT},
        {".index", LOG_FILE_INDEX},
        {".log.swap", LOG_FILE_SWAP},
    };
    if (ends_with(name, ".deleted"))
        return LOG_FILE_DELETED;
    if (ends_with(name, ".cleaned"))
        return LOG_FILE_CLEANED;
    if (ends_with(name, ".index.swap"))
        return LOG_FILE_SWAP_INDEX;
    if (!read_base_offset(name, base_offset))
        return LOG_FILE_OTHER;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(name + BASE_OFFSET_DIGITS, suffixes[i].suffix) == 0)
            return suffixes[i].kind;
    return LOG_FILE_OTHER;
}

void log_file_name(int64_t base_offset, const char *suffix, char out[LOG_FILE_NAME_SIZE])
{
    assert(base_offset >= 0);
    snprintf(out, LOG_FILE_NAME_SIZE, "%020" PRId64 "%s", base_offset, suffix);
}

void log_folder_name(const char *topic, int32_t partition, char out[LOG_FOLDER_NAME_SIZE])
{
    snprintf(out, LOG_FOLDER_NAME_SIZE, "%s-%" PRId32, topic, partition);
}

/* A canonical decimal number 0 .. 2^31-1. */
static bool read_partition(const char *text, int32_t *out)
{
    int64_t n = 0;
    if (!*text || (text[0] == '0' && text[1]))
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        n = n * 10 + (*text - '0');
        if (n > INT32_MAX)
            return false;
    }
    *out = (int32_t)n;
    return true;
}

bool log_folder_parse(const char *name, char topic[TOPIC_NAME_MAX + 1], int32_t *partition)
{
    const char *dash = strrchr(name, '-');
    if (!dash || dash - name > TOPIC_NAME_MAX || !read_partition(dash + 1, partition))
        return false;
    memcpy(topic, name, (size_t)(dash - name));
    topic[dash - name] = '\0';
    struct why why;
    return zk_check_topic(topic, &why) == ZKC_OK;
}
