#include "zkconsumer/core/group/event_queue.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KINDS_WITHOUT_TOPIC 6
#define SAME_MAX            2

bool event_queue_init(struct event_queue *q, size_t topics)
{
    *q = (struct event_queue){0};
    return event_queue_reserve(q, topics);
}

bool event_queue_reserve(struct event_queue *q, size_t topics)
{
    size_t cap = SAME_MAX * (topics + KINDS_WITHOUT_TOPIC);
    if (cap <= q->cap)
        return true;
    struct event *list = realloc(q->list, cap * sizeof *list);
    if (!list)
        return false;
    q->list = list;
    q->cap = cap;
    return true;
}

void event_queue_deinit(struct event_queue *q)
{
    free(q->list);
    *q = (struct event_queue){0};
}

void event_queue_push(struct event_queue *q, enum event_kind kind, uint32_t topic_index)
{
    size_t same = 0;
    for (size_t i = 0; i < q->count; i++)
        same += q->list[i].kind == kind && q->list[i].topic_index == topic_index;
    if (same == SAME_MAX)
        return;
    assert(q->count < q->cap);
    q->list[q->count++] = (struct event){kind, topic_index};
}

struct event event_queue_pop(struct event_queue *q)
{
    assert(q->count > 0);
    struct event first = q->list[0];
    q->count--;
    memmove(&q->list[0], &q->list[1], q->count * sizeof *q->list);
    return first;
}
