#include "zkconsumer/cli/ends.h"
#include <stdlib.h>
#include <string.h>

void ends_init(struct ends *e)
{
    *e = (struct ends){0};
}

void ends_deinit(struct ends *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->list[i].topic);
    free(e->list);
    *e = (struct ends){0};
}

static struct topic_partition name_at(const void *list, size_t i)
{
    const struct ends_partition *p = (const struct ends_partition *)list + i;
    return (struct topic_partition){p->topic, p->partition};
}

/* Where the partition is, or where it belongs. */
static size_t place_of(const struct ends *e, struct topic_partition tp)
{
    return topic_partition_place(e->list, e->count, name_at, tp);
}

struct ends_partition *ends_find(struct ends *e, struct topic_partition tp)
{
    size_t i = place_of(e, tp);
    if (i == e->count || e->list[i].partition != tp.partition ||
        strcmp(e->list[i].topic, tp.topic) != 0)
        return NULL;
    return &e->list[i];
}

void ends_update_begin(struct ends *e)
{
    for (size_t i = 0; i < e->count; i++)
        e->list[i].is_still_ours = false;
}

static bool grow(struct ends *e)
{
    if (e->count < e->cap)
        return true;
    size_t cap = e->cap ? 2 * e->cap : 16;
    struct ends_partition *list = realloc(e->list, cap * sizeof *list);
    if (!list)
        return false;
    e->list = list;
    e->cap = cap;
    return true;
}

bool ends_update_add(struct ends *e, struct topic_partition tp)
{
    struct ends_partition *known = ends_find(e, tp);
    if (known) {
        known->is_still_ours = true;
        return true;
    }
    char *topic = strdup(tp.topic);
    if (!topic || !grow(e)) {
        free(topic);
        return false;
    }
    size_t i = place_of(e, tp);
    memmove(&e->list[i + 1], &e->list[i], (e->count - i) * sizeof *e->list);
    e->list[i] = (struct ends_partition){
        .topic = topic,
        .partition = tp.partition,
        .end = -1,
        .position = -1,
        .is_still_ours = true,
    };
    e->count++;
    return true;
}

void ends_update_commit(struct ends *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->count; i++) {
        if (e->list[i].is_still_ours)
            e->list[kept++] = e->list[i];
        else
            free(e->list[i].topic);
    }
    e->count = kept;
}

bool ends_observe(struct ends_partition *p, int64_t position, int64_t end)
{
    if (position >= 0)
        p->position = position;
    if (p->end < 0)
        p->end = end;
    if (p->is_reached || p->end < 0 || p->position < p->end)
        return false;
    p->is_reached = true;
    return true;
}

bool ends_all_finished(const struct ends *e)
{
    for (size_t i = 0; i < e->count; i++)
        if (!e->list[i].is_reached && !e->list[i].is_standing)
            return false;
    return true;
}

size_t ends_standing_count(const struct ends *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->count; i++)
        n += e->list[i].is_standing && !e->list[i].is_reached;
    return n;
}
