#include "zkconsumer/core/group/topic_book.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>
#include <string.h>

void topic_book_deinit(struct topic_book *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->topics[i].name);
        free(b->topics[i].path);
    }
    free(b->topics);
    free(b->by_name);
    *b = (struct topic_book){0};
}

/* Where the name stands in by_name, or belongs. */
static size_t position(const struct topic_book *b, const char *name)
{
    size_t lo = 0, hi = b->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(b->topics[b->by_name[mid]].name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool is_at(const struct topic_book *b, size_t at, const char *name)
{
    return at < b->count && strcmp(b->topics[b->by_name[at]].name, name) == 0;
}

bool topic_book_find(const struct topic_book *b, const char *name, uint32_t *number)
{
    size_t at = position(b, name);
    if (!is_at(b, at, name))
        return false;
    *number = b->by_name[at];
    return true;
}

static bool reserve(struct topic_book *b)
{
    if (b->count < b->cap)
        return true;
    size_t cap = b->cap ? b->cap * 2 : 8;
    struct book_topic *topics = realloc(b->topics, cap * sizeof *topics);
    if (!topics)
        return false;
    b->topics = topics;
    uint32_t *by_name = realloc(b->by_name, cap * sizeof *by_name);
    if (!by_name)
        return false;
    b->by_name = by_name;
    b->cap = cap;
    return true;
}

enum zkc_err topic_book_add(struct topic_book *b, const char *name, uint32_t *number)
{
    size_t at = position(b, name);
    if (is_at(b, at, name)) {
        *number = b->by_name[at];
        return ZKC_OK;
    }
    struct book_topic topic = {.name = strdup(name), .path = zk_path_topic(name)};
    if (!topic.name || !topic.path || !reserve(b)) {
        free(topic.name);
        free(topic.path);
        return ZKC_ERR_NOMEM;
    }
    *number = (uint32_t)b->count;
    b->topics[b->count] = topic;
    memmove(&b->by_name[at + 1], &b->by_name[at], (b->count - at) * sizeof *b->by_name);
    b->by_name[at] = *number;
    b->count++;
    return ZKC_OK;
}

bool topic_book_find_path(const struct topic_book *b, const char *path, uint32_t *number)
{
    static const char folder[] = ZK_PATH_BROKER_TOPICS "/";
    size_t len = sizeof folder - 1;
    return strncmp(path, folder, len) == 0 && topic_book_find(b, path + len, number);
}
