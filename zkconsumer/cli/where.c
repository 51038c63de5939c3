#include "zkconsumer/cli/where.h"
#include "zkconsumer/cli/options.h"
#include "zkconsumer/core/base/array.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool where_parse_topic(const char *text, struct where_topic *out, char *why, size_t why_size)
{
    size_t len = strcspn(text, ":");
    int64_t streams = 1;
    if (len == 0 || len > TOPIC_NAME_MAX) {
        snprintf(why, why_size, "topic \"%.300s\": a name has 1 to %d characters", text,
                 TOPIC_NAME_MAX);
        return false;
    }
    if (text[len] == ':' && !cli_parse_number(text + len + 1, 1, WHERE_STREAMS_MAX, &streams)) {
        snprintf(why, why_size,
                 "topic \"%.300s\": expected TOPIC or TOPIC:STREAMS with 1 .. %d streams", text,
                 WHERE_STREAMS_MAX);
        return false;
    }
    memcpy(out->name, text, len);
    out->name[len] = 0;
    out->streams = (int32_t)streams;
    return true;
}

struct partitions {
    int32_t *list;
    size_t count;
};

static bool contains(const struct partitions *p, int32_t partition)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->list[i] == partition)
            return true;
    return false;
}

/* "N" or "N-M", within [at, end). */
static bool add_range(struct partitions *p, const char *at, const char *end)
{
    char text[32];
    int64_t first, last;
    if (end <= at || (size_t)(end - at) >= sizeof text)
        return false;
    memcpy(text, at, (size_t)(end - at));
    text[end - at] = 0;
    char *dash = strchr(text, '-');
    if (dash)
        *dash = 0;
    if (!cli_parse_number(text, 0, INT32_MAX, &first) ||
        !cli_parse_number(dash ? dash + 1 : text, first, INT32_MAX, &last) ||
        last - first >= (int64_t)(WHERE_PARTITIONS_MAX - p->count))
        return false;
    for (int64_t n = first; n <= last; n++) {
        if (contains(p, (int32_t)n))
            return false;
        p->list[p->count++] = (int32_t)n;
    }
    return true;
}

bool where_parse_partitions(const char *text, int32_t **list, size_t *count, char *why,
                            size_t why_size)
{
    struct partitions p = {.list = malloc(WHERE_PARTITIONS_MAX * sizeof *p.list)};
    bool ok = p.list != NULL;
    for (const char *at = text; ok; at++) {
        const char *end = at + strcspn(at, ",");
        ok = add_range(&p, at, end);
        at = end;
        if (!*at)
            break;
    }
    if (!ok) {
        free(p.list);
        snprintf(why, why_size,
                 "partition \"%.200s\": expected numbers such as 3, 0,2,5 or 0-7, each once", text);
        return false;
    }
    *list = p.list;
    *count = p.count;
    return true;
}

bool where_parse_start(const char *text, struct where_start *out, char *why, size_t why_size)
{
    static const struct {
        const char *word;
        enum where_start_kind kind;
    } words[] = {
        {"beginning", WHERE_BEGINNING}, {"smallest", WHERE_BEGINNING},
        {"earliest", WHERE_BEGINNING},  {"end", WHERE_END},
        {"largest", WHERE_END},         {"latest", WHERE_END},
        {"stored", WHERE_STORED},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(text, words[i].word) == 0) {
            *out = (struct where_start){words[i].kind, 0};
            return true;
        }
    }
    int64_t n;
    if (!cli_parse_number(text, -INT64_MAX, INT64_MAX, &n)) {
        snprintf(why, why_size,
                 "offset \"%.200s\": expected beginning, end, stored, N or -N (N before "
                 "the end)",
                 text);
        return false;
    }
    *out = text[0] == '-' ? (struct where_start){WHERE_FROM_END, -n}
                          : (struct where_start){WHERE_OFFSET, n};
    return true;
}
