#include "zkconsumer/core/fetch/partition_set.h"
#include <stdlib.h>

static int compare(struct bytes topic, int32_t number, const struct partition *p)
{
    int c = bytes_compare(topic, bytes_of(p->topic->text, p->topic->len));
    return c ? c : (number > p->number) - (number < p->number);
}

/* Where it stands, or would stand. Adding in order, which is usual, finds the end at once. */
static size_t partition_index(const struct partition_set *s, struct bytes topic, int32_t number)
{
    if (s->count == 0 || compare(topic, number, s->list[s->count - 1]) > 0)
        return s->count;
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(topic, number, s->list[middle]) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct partition *partition_set_find(const struct partition_set *s, struct bytes topic,
                                     int32_t number)
{
    size_t i = partition_index(s, topic, number);
    return i < s->count && compare(topic, number, s->list[i]) == 0 ? s->list[i] : NULL;
}

static size_t sink_index(const struct partition_set *s, uint64_t id)
{
    size_t low = 0, high = s->sinks_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->sinks[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct sink *partition_set_find_sink(const struct partition_set *s, uint64_t id)
{
    size_t i = sink_index(s, id);
    return i < s->sinks_count && s->sinks[i]->id == id ? s->sinks[i] : NULL;
}

/* Room for one more element; the list as it is now, or NULL. */
static void *grown(void *list, size_t *cap, size_t count, size_t element)
{
    if (count < *cap)
        return list;
    size_t want = *cap ? *cap * 2 : 8;
    void *larger = realloc(list, want * element);
    if (larger)
        *cap = want;
    return larger;
}

/* Counts the new partition. */
static struct sink *sink_get(struct partition_set *s, uint64_t id, bool has_room)
{
    size_t i = sink_index(s, id);
    if (i < s->sinks_count && s->sinks[i]->id == id) {
        s->sinks[i]->partitions++;
        return s->sinks[i];
    }
    struct sink **sinks = grown(s->sinks, &s->sinks_cap, s->sinks_count, sizeof *sinks);
    if (!sinks)
        return NULL;
    s->sinks = sinks;
    struct sink *sink = malloc(sizeof *sink);
    if (!sink)
        return NULL;
    *sink = (struct sink){.id = id, .partitions = 1, .has_room = has_room};
    memmove(s->sinks + i + 1, s->sinks + i, (s->sinks_count - i) * sizeof *s->sinks);
    s->sinks[i] = sink;
    s->sinks_count++;
    return sink;
}

static void sink_put(struct partition_set *s, struct sink *sink)
{
    if (--sink->partitions > 0)
        return;
    size_t i = sink_index(s, sink->id);
    memmove(s->sinks + i, s->sinks + i + 1, (s->sinks_count - i - 1) * sizeof *s->sinks);
    s->sinks_count--;
    free(sink);
}

/* The name, shared with a neighbour of the same topic if there is one. */
static struct topic_name *topic_get(const struct partition_set *s, size_t index, struct bytes topic)
{
    for (size_t i = index > 0 ? index - 1 : 0; i <= index && i < s->count; i++) {
        struct topic_name *name = s->list[i]->topic;
        if (bytes_equal(topic, bytes_of(name->text, name->len))) {
            name->refs++;
            return name;
        }
    }
    struct topic_name *name = malloc(sizeof *name + topic.len + 1);
    if (!name)
        return NULL;
    name->refs = 1;
    name->len = topic.len;
    memcpy(name->text, topic.data, topic.len);
    name->text[topic.len] = 0;
    return name;
}

static void topic_put(struct topic_name *name)
{
    if (--name->refs == 0)
        free(name);
}

static void partition_free(struct partition *p)
{
    topic_put(p->topic);
    free(p);
}

struct partition *partition_set_add(struct partition_set *s, struct topic_partition name,
                                    uint64_t sink_id, bool has_room, size_t *index)
{
    struct bytes topic = bytes_of_text(name.topic);
    size_t at = partition_index(s, topic, name.partition);
    struct partition **list = grown(s->list, &s->cap, s->count, sizeof *list);
    if (!list)
        return NULL;
    s->list = list;
    struct partition *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->number = name.partition;
    p->topic = topic_get(s, at, topic);
    if (!p->topic)
        goto no_topic;
    p->sink = sink_get(s, sink_id, has_room);
    if (!p->sink)
        goto no_sink;
    memmove(s->list + at + 1, s->list + at, (s->count - at) * sizeof *s->list);
    s->list[at] = p;
    s->count++;
    *index = at;
    return p;

no_sink:
    topic_put(p->topic);
no_topic:
    free(p);
    return NULL;
}

static void bury(struct partition_set *s, struct partition *p)
{
    sink_put(s, p->sink);
    p->next_removed = s->removed;
    s->removed = p;
}

size_t partition_set_take_out(struct partition_set *s, struct partition *p)
{
    size_t at = partition_index(s, bytes_of(p->topic->text, p->topic->len), p->number);
    memmove(s->list + at, s->list + at + 1, (s->count - at - 1) * sizeof *s->list);
    s->count--;
    bury(s, p);
    return at;
}

size_t partition_set_take_out_gone(struct partition_set *s, size_t index)
{
    size_t kept = 0, before = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct partition *p = s->list[i];
        if (p->is_gone) {
            before += i < index;
            bury(s, p);
        } else {
            s->list[kept++] = p;
        }
    }
    s->count = kept;
    return before;
}

void partition_set_free_removed(struct partition_set *s)
{
    while (s->removed) {
        struct partition *p = s->removed;
        s->removed = p->next_removed;
        partition_free(p);
    }
}

void partition_set_deinit(struct partition_set *s)
{
    partition_set_free_removed(s);
    for (size_t i = 0; i < s->count; i++)
        partition_free(s->list[i]);
    for (size_t i = 0; i < s->sinks_count; i++)
        free(s->sinks[i]);
    free(s->list);
    free(s->sinks);
    *s = (struct partition_set){0};
}
