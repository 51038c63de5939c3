/* The partitions of one fetcher, sorted by topic and number, and the sinks they feed. */
#ifndef ZKC_FETCH_PARTITION_SET_H
#define ZKC_FETCH_PARTITION_SET_H

#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/core/fetch/fetcher.h"

/* A queue that chunks go to. */
struct sink {
    uint64_t id;
    size_t partitions; /* that feed it; > 0 */
    size_t ready;      /* of them, those that could be asked for if there is room */
    bool has_room;
};

/* A topic's name, shared by its partitions. */
struct topic_name {
    size_t refs;
    size_t len;
    char text[];
};

#define NOT_ASKED_FOR SIZE_MAX

enum partition_state {
    PARTITION_LOCATING, /* position unknown; `from` says how to find it */
    PARTITION_FETCHING, /* position known */
    PARTITION_STOPPED,  /* until a seek */
};

struct partition {
    struct topic_name *topic;
    int32_t number;
    uint64_t tag;
    struct sink *sink;

    enum partition_state state;
    enum fetcher_from from;  /* LOCATING: not FETCHER_FROM_OFFSET */
    enum fetcher_why why;    /* LOCATING */
    int64_t offset;          /* position; LOCATING: the one that was out of range; -1: none */
    int64_t high_watermark;  /* -1: unknown */
    int64_t wait_until_ms;   /* INT64_MIN: does not back off */
    size_t asked_at;         /* index in the outstanding request, or NOT_ASKED_FOR */
    unsigned silent_answers; /* in a row: nothing, although the high watermark is above `offset` */
    bool is_paused;
    bool is_reported; /* an error at this position */
    bool may_fill;    /* its next answer may be fetch_bytes_max long: not known to be at the end */
    bool has_jumped;  /* out of range, and no good answer since */
    bool is_gone;     /* to be taken out at the end of the step */
    struct partition *next_removed;
};

struct partition_set {
    struct partition **list; /* sorted */
    size_t count;
    size_t cap;
    struct sink **sinks; /* sorted by id */
    size_t sinks_count;
    size_t sinks_cap;
    struct partition *removed; /* their names are lent by outputs until the next step */
};

void partition_set_deinit(struct partition_set *s);

/* The partition, or NULL. */
struct partition *partition_set_find(const struct partition_set *s, struct bytes topic,
                                     int32_t number);
struct sink *partition_set_find_sink(const struct partition_set *s, uint64_t id);

/* Adds a partition that is not there yet, zeroed but for its names and its sink (found, or made
 * with `has_room`). *index is where it stands. NULL: out of memory, nothing has changed. */
struct partition *partition_set_add(struct partition_set *s, struct topic_partition name,
                                    uint64_t sink_id, bool has_room, size_t *index);

/* Takes one partition, or in one pass all that are gone, out of the list and keeps them until
 * partition_set_free_removed(). Returns where it stood; or how many stood before `index`. */
size_t partition_set_take_out(struct partition_set *s, struct partition *p);
size_t partition_set_take_out_gone(struct partition_set *s, size_t index);
void partition_set_free_removed(struct partition_set *s);

#endif
