/* What is fetched when, from one leader broker: the rules of Kafka 0.8's fetcher threads
 * (kafka.server.AbstractFetcherThread, kafka.consumer.ConsumerFetcherThread, 0.8.2) as a step
 * machine. No socket here: the shell sends the requests that come out over a connection to the
 * broker and feeds the decoded answers back.
 *
 *     for each event:  fetcher_step(f, &in, &out); carry out all of out, in order
 *     then:            while (fetcher_deadline_ms(f) <= now) feed FETCHER_IN_TURN
 *     and arm one timer for fetcher_deadline_ms(f)
 *
 * A request leaves only in FETCHER_IN_TURN, so that everything that was added, sought or read since
 * goes into one request, and so that a sink that a chunk has just filled can be reported full
 * before the next request is made.
 *
 * One request is outstanding at a time. A fetch request names every partition that has a known
 * position, is not paused, is not backing off, and whose sink has room; a stream that nobody reads
 * stops its own partitions only (0.8 stops all of the broker's). With nothing to fetch, nothing is
 * sent.
 *
 * Where this differs from 0.8: partitions of a full stream are left out of requests instead of
 * blocking the thread; what cannot go on (message too large, corrupt entry) is retried slowly and
 * reported once instead of being fetched again at once for ever; an answer that would exceed
 * answer_bytes_max is asked for in parts.
 *
 * Deterministic: no clock, no chance, partitions in order of topic and number. Memory is needed
 * only by FETCHER_IN_ADD. A step costs O(log n) in the number of partitions, TURN O(n), an answer
 * O(its entries) when they come in request order; adding and removing move an array of n pointers.
 */
#ifndef ZKC_FETCH_FETCHER_H
#define ZKC_FETCH_FETCHER_H

#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/core/wire/fetch.h"
#include <zkconsumer/error.h>

/* auto.offset.reset: where to go without a (valid) offset. */
enum fetcher_reset {
    FETCHER_RESET_LARGEST,  /* the end: ListOffsets -1 */
    FETCHER_RESET_SMALLEST, /* the beginning: ListOffsets -2 */
    FETCHER_RESET_ERROR,    /* nowhere: reported, and the partition stands still until a seek */
};

struct fetcher_config {
    int32_t fetch_bytes_max;   /* fetch.message.max.bytes: of each partition, in one answer; > 0 */
    int32_t fetch_bytes_min;   /* fetch.min.bytes: the broker waits for these, of all partitions */
    int32_t fetch_wait_max_ms; /* fetch.wait.max.ms: but not longer than this */
    int32_t backoff_ms; /* refresh.leader.backoff.ms: pause after an answer that brought nothing
                         * too early, and between repeated jumps; > 0 */
    int32_t stuck_backoff_ms; /* pause of a partition that cannot go on; > 0, F15 wants > 200 */
    int64_t answer_bytes_max; /* what the connection takes as one answer (its response_bytes_max).
                               * Partitions that may fill their share are spread over requests so
                               * that answers stay below it; a request has at least one. Should be
                               * at least fetch_bytes_max + 1024. */
    enum fetcher_reset reset;
};

/* Where a partition starts. */
enum fetcher_from {
    FETCHER_FROM_OFFSET,   /* at the given offset; negative: as FROM_RESET (ZkUtils stores it so) */
    FETCHER_FROM_RESET,    /* there is no stored offset: by auto.offset.reset */
    FETCHER_FROM_EARLIEST, /* the beginning, whatever auto.offset.reset says */
    FETCHER_FROM_LATEST,   /* the end, likewise */
};

enum fetcher_input_type {
    FETCHER_IN_ADD,    /* this broker leads `partition`; nothing happens if it is there already: it
                        * keeps its position (AbstractFetcherThread.addPartitions) */
    FETCHER_IN_REMOVE, /* it is no longer ours, or no longer led here */
    FETCHER_IN_PAUSE,  /* leave it out; what is already asked for is still brought */
    FETCHER_IN_RESUME,
    FETCHER_IN_SEEK,    /* go on elsewhere; what is already asked for is dropped. Also wakes a
                         * partition that stands still after an error */
    FETCHER_IN_ROOM,    /* a sink is full, or has room again */
    FETCHER_IN_TURN,    /* the deadline has come */
    FETCHER_IN_LISTED,  /* the answer to FETCHER_OUT_LIST_OFFSETS */
    FETCHER_IN_FETCHED, /* the answer to FETCHER_OUT_FETCH */
    FETCHER_IN_FAILED,  /* no answer: connection refused or lost, timed out, not decodable */
};

/* One partition's entry of a ListOffsets answer. */
struct fetcher_listed {
    struct bytes topic;
    int32_t partition;
    int16_t kafka_error;
    int64_t offset; /* the first of the answer; -1: the answer has none */
};

/* Inputs about a partition that is not (or no longer) here, and answers to a request that is not
 * the outstanding one, are ignored: both are normal after changes. Everything is borrowed for the
 * call. */
struct fetcher_input {
    enum fetcher_input_type type;
    int64_t now_ms;                   /* monotonic; never goes back */
    struct topic_partition partition; /* ADD, REMOVE, PAUSE, RESUME, SEEK */
    union {
        struct {
            enum fetcher_from from;
            int64_t offset; /* with FETCHER_FROM_OFFSET */
            uint64_t tag;   /* the caller's name of this claim; returned in every output about it */
            uint64_t sink;  /* the queue its chunks go to: a stream */
            bool sink_has_room;
            bool is_paused;
        } add;
        struct {
            enum fetcher_from from;
            int64_t offset;
        } seek;
        struct {
            uint64_t sink;
            bool has_room;
        } room;
        struct {
            uint64_t request; /* its number */
            const struct fetcher_listed *list;
            size_t count;
        } listed;
        struct {
            uint64_t request;
            const struct fetch_response_view *list; /* fetch_response_next() */
            size_t count;
        } fetched;
        struct {
            uint64_t request;
            enum zkc_err err; /* ZKC_ERR_TOO_LARGE: the answer exceeds answer_bytes_max */
        } failed;
    };
};

enum fetcher_output_type {
    FETCHER_OUT_LIST_OFFSETS, /* send ListOffsets v0: replica id -1, one offset each */
    FETCHER_OUT_FETCH,        /* send Fetch v0: replica id -1 */
    FETCHER_OUT_CHUNK,        /* queue it on the partition's sink. If that is full, keep it for the
                               * sink and say that there is no room until it is queued: so a sink
                               * holds its capacity and one answer at most (0.8's bound, 6.3) */
    FETCHER_OUT_MOVED, /* the position was set by ListOffsets: set the consumed position too */
    FETCHER_OUT_ERROR, /* tell the application (fetcher_error_text) */
    FETCHER_OUT_LEADER_LOST, /* the partition is no longer here: give it to the leader finder */
};

struct fetcher_target {
    const char *topic; /* equal names stand together, but for the first one, which may come again
                        * as the last: the order is rotated */
    int32_t partition;
    int64_t offset;    /* FETCH: position */
    int64_t time;      /* LIST_OFFSETS: -1 latest, -2 earliest */
    int32_t bytes_max; /* FETCH */
};

struct fetcher_request {
    uint64_t number; /* comes back with the answer */
    const struct fetcher_target *targets;
    size_t count;        /* > 0 */
    int32_t wait_max_ms; /* FETCH */
    int32_t bytes_min;   /* FETCH */
};

struct fetcher_chunk {
    int64_t offset;         /* asked for; the first entry may begin below it (compressed sets) */
    int64_t next_offset;    /* after the last complete outer entry: the new position; > offset */
    int64_t high_watermark; /* as the broker said */
    struct bytes records;   /* complete outer entries only; view into the answer */
};

enum fetcher_why {
    FETCHER_WHY_START,        /* there was no offset: auto.offset.reset */
    FETCHER_WHY_ASKED,        /* FETCHER_FROM_EARLIEST or _LATEST: as the application wanted */
    FETCHER_WHY_OUT_OF_RANGE, /* the broker has no such offset: auto.offset.reset */
};

struct fetcher_moved {
    int64_t old_offset; /* -1: none */
    int64_t new_offset;
    enum fetcher_why why;
};

/* Reported once for each position at which it happens. */
struct fetcher_error {
    enum zkc_err err;     /* ZKC_ERR_TOO_LARGE     the next message is larger than fetch_bytes_max:
                           *                       the position stays, retried slowly
                           * ZKC_ERR_CORRUPT       the outer entries make no sense: likewise
                           * ZKC_ERR_OFFSET_RANGE  no (valid) offset and FETCHER_RESET_ERROR: the
                           *                       partition stands still until a seek */
    int64_t offset;       /* position; -1: none */
    int64_t bytes_needed; /* TOO_LARGE: what fetch.message.max.bytes must be; 0: not known */
    int64_t bad_offset; /* CORRUPT: the first offset that cannot be read; >= offset. 0.8.2 delivers
                         * nothing of such an answer, also not what stands before it */
    int64_t high_watermark; /* -1: not known */
};

struct fetcher_lost {
    enum fetcher_from from; /* to be used with the next ADD: FROM_OFFSET with the position, or what
                             * was wanted while the position was not found yet */
    int64_t offset;
    int16_t kafka_error; /* what the broker said; 0: `err` says it */
    enum zkc_err err; /* ZKC_ERR_BROKER: kafka_error. Else no answer, twice in a row: that failure;
                       * or ZKC_ERR_NOMEM: the partition could not be added */
    bool is_paused;
};

struct fetcher_output {
    enum fetcher_output_type type;
    struct topic_partition partition; /* all but requests */
    uint64_t tag;                     /* likewise, as given by ADD */
    uint64_t sink;                    /* likewise */
    union {
        struct fetcher_request request;
        struct fetcher_chunk chunk;
        struct fetcher_moved moved;
        struct fetcher_error error;
        struct fetcher_lost lost;
    };
};

/* Lent until the next step; `records` of a chunk as long as the answer they are a view into. */
struct fetcher_outputs {
    const struct fetcher_output *list;
    size_t count;
};

struct fetcher;

/* NULL: out of memory. `config` is copied. */
struct fetcher *fetcher_new(const struct fetcher_config *config);
void fetcher_free(struct fetcher *f); /* NULL is allowed */

/* Feeds one input. Never fails: without memory an ADD comes back as LEADER_LOST with ZKC_ERR_NOMEM,
 * to be tried again later like any other partition without a fetcher. */
void fetcher_step(struct fetcher *f, const struct fetcher_input *in, struct fetcher_outputs *out);

/* When to feed FETCHER_IN_TURN: a time that is not in the future if there is something to send,
 * INT64_MAX if nothing happens without another input. Ask after every step. */
int64_t fetcher_deadline_ms(const struct fetcher *f);

/* How many partitions are here; a fetcher without any may be freed and its connection closed. */
size_t fetcher_partition_count(const struct fetcher *f);

enum fetcher_state {
    FETCHER_STATE_LOCATING, /* its position is being asked for */
    FETCHER_STATE_FETCHING, /* in every request, unless paused or without room */
    FETCHER_STATE_WAITING,  /* backs off */
    FETCHER_STATE_STOPPED,  /* stands still until a seek */
};

struct fetcher_status {
    enum fetcher_state state;
    bool is_paused;
    bool is_asked_for;      /* part of the outstanding request */
    int64_t offset;         /* position; -1 while not known */
    int64_t high_watermark; /* as the last answer said; -1 before the first */
};

/* For statistics and tests. False: no such partition here. */
bool fetcher_status(const struct fetcher *f, struct topic_partition partition,
                    struct fetcher_status *out);

/* Writes for people what FETCHER_OUT_ERROR means, where, and what to do. `size` 512 is enough. */
void fetcher_error_text(const struct fetcher *f, const struct fetcher_output *error, char *text,
                        size_t size);

#endif
