/* What zkclient's event thread has still to run, in order: one thread runs one event after the
 * other (ZkEventThread of zkclient 0.3). At most two of each kind and topic are kept: the first may
 * be under way; the second has not begun, and will see whatever changes until it does. */
#ifndef ZKC_GROUP_EVENT_QUEUE_H
#define ZKC_GROUP_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zkconsumer/export.h>

enum event_kind {
    EVENT_SESSION,        /* a new session in place of one that ended */
    EVENT_TOPICS_SESSION, /* the same, for the watcher of all topics */
    EVENT_IDS,            /* children of the group's ids */
    EVENT_BROKERS,        /* children of /brokers/ids */
    EVENT_WATCH_TOPICS,   /* the watcher of all topics is to be set up */
    EVENT_TOPICS,         /* children of /brokers/topics */
    EVENT_TOPIC,          /* data of a topic */
};

struct event {
    enum event_kind kind;
    uint32_t topic_index; /* of EVENT_TOPIC, 0 otherwise */
};

struct event_queue {
    struct event *list; /* list[0] is next, or under way */
    size_t count, cap;
};

/* For events of up to `topics` topics. False: out of memory. */
ZKC_MUST_CHECK bool event_queue_init(struct event_queue *q, size_t topics);

/* Makes room for more topics. False: out of memory, nothing is lost. */
ZKC_MUST_CHECK bool event_queue_reserve(struct event_queue *q, size_t topics);
void event_queue_deinit(struct event_queue *q);

void event_queue_push(struct event_queue *q, enum event_kind kind, uint32_t topic_index);

/* Removes the first and returns it; there must be one. */
struct event event_queue_pop(struct event_queue *q);

#endif
