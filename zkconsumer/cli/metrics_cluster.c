#include "zkconsumer/cli/metrics_cluster.h"
#include "zkconsumer/cli/log_ends.h"
#include <jansson.h>

/* The partitions that have a leader; texts lent by the document. */
static struct log_end *partitions_of(const json_t *document, struct arena *arena, size_t *count)
{
    const json_t *list = json_object_get(document, "partitions");
    struct log_end *out = arena_alloc_array(arena, json_array_size(list), sizeof *out);
    *count = 0;
    for (size_t i = 0; out && i < json_array_size(list); i++) {
        const json_t *p = json_array_get(list, i);
        const char *topic = json_string_value(json_object_get(p, "topic"));
        int64_t leader = json_integer_value(json_object_get(p, "leader"));
        if (!topic || leader < 0)
            continue;
        out[(*count)++] = (struct log_end){
            .topic = topic,
            .partition = (int32_t)json_integer_value(json_object_get(p, "partition")),
            .leader = (int32_t)leader,
        };
    }
    return out;
}

static bool ask(struct zk_reader *r, const json_t *document, struct arena *arena,
                struct metrics_cluster *out)
{
    struct brokers brokers;
    struct why why;
    size_t count;
    struct log_end *ends = partitions_of(document, arena, &count);
    if (!ends || brokers_read(r, arena, &brokers, &why))
        return false;
    *out = (struct metrics_cluster){.is_known = true, .broker_count = brokers.count};
    struct metrics_oldest *oldest = arena_alloc_array(arena, count, sizeof *oldest);
    if (!oldest ||
        log_ends_read(&brokers, ends, count, LIST_OFFSETS_EARLIEST, zk_reader_left_ms(r), arena))
        return true;
    for (size_t i = 0; i < count; i++) {
        char *topic = ends[i].err ? NULL : arena_format(arena, "%s", ends[i].topic);
        if (topic)
            oldest[out->oldest_count++] =
                (struct metrics_oldest){topic, ends[i].partition, ends[i].offset};
    }
    out->oldest = oldest;
    return true;
}

bool metrics_cluster_ask(const char *connect, const char *auth, const char *json, size_t len,
                         struct arena *arena, struct metrics_cluster *out)
{
    struct zk_reader *r;
    struct why why;
    json_t *document = json_loadb(json, len, 0, NULL);
    *out = (struct metrics_cluster){0};
    if (!document || zk_reader_open_with(connect, auth, METRICS_CLUSTER_ASK_MS, &r, &why)) {
        json_decref(document);
        return false;
    }
    bool is_known = ask(r, document, arena, out);
    zk_reader_close(r);
    json_decref(document);
    return is_known;
}
