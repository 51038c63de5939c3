/* The way to the offsets that Kafka keeps (offsets.storage=kafka), as 0.8.2's consumer goes it:
 * find the broker that is the group's offset manager, keep one connection to it, ask one thing
 * after the other, and look for it again whenever it fails or says that it is not the one.
 *
 * Happy path: read the brokers from ZooKeeper, ask one of them at random for the group's offset
 * manager (ConsumerMetadata), send it OffsetFetch 1 and OffsetCommit 1.
 *
 * Failure modes, as there: a broker that cannot be asked: another one. No offset manager yet (the
 * first question in a cluster makes the offsets topic): the same broker again after
 * offsets.channel.backoff.ms. A fetch is repeated without limit, while the offset manager loads
 * (14), is another (16) or cannot be reached; any other error of a partition counts as "nothing is
 * stored". A commit is tried as often as it says; "metadata too large" (12) is not tried again, and
 * 15 and 16 make it look for the offset manager anew. What is not as there: 0.8.2 looks for a
 * broker without any pause; here a tenth of a second lies between two looks.
 *
 * Sources: ZookeeperConsumerConnector.fetchOffsets, .commitOffsets, ClientUtils
 * .channelToOffsetManager of Kafka 0.8.2.2. */
#ifndef ZKC_GROUP_OFFSET_MANAGER_H
#define ZKC_GROUP_OFFSET_MANAGER_H

#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/base/told.h"
#include "zkconsumer/core/group/broker_scan.h"
#include "zkconsumer/core/group/input.h"
#include "zkconsumer/core/group/output.h"

/* 0.8.2 asks where the offset manager is with this timeout, and keeps it when the broker asked is
 * the one itself. */
#define OFFSET_MANAGER_QUERY_TIMEOUT_MS 3000
#define OFFSET_MANAGER_SEARCH_PAUSE_MS  100

/* One of each kind at a time; they take turns at the connection. */
enum offset_job_kind {
    OFFSET_JOB_FIND, /* find the offset manager, ask nothing */
    OFFSET_JOB_FETCH,
    OFFSET_JOB_COMMIT,
};
#define OFFSET_JOB_KINDS 3

struct offset_job {
    enum { OFFSET_JOB_NONE, OFFSET_JOB_WAITS, OFFSET_JOB_RUNS, OFFSET_JOB_ENDED } state;
    int64_t not_before_ms;
    unsigned tries_left; /* of a commit */
    struct group_offset *list;
    size_t count;
    struct group_offset
        *previous; /* list of the job before: outputs of this step may point to it */
    enum zkc_err err;
    struct why why;
};

struct offset_manager {
    const char *group; /* borrowed */
    int64_t backoff_ms, timeout_ms;
    bool keeps_errors;
    int64_t (*until_ms)(const struct group_offset *offset, const void *owner);
    const void *owner;
    enum {
        OFFSETS_IDLE,
        OFFSETS_SCANNING,
        OFFSETS_FINDING, /* a broker has been asked who it is */
        OFFSETS_PAUSED,  /* between two questions for it */
        OFFSETS_CALLING, /* it has been asked */
    } state;
    struct broker_scan scan;
    struct told search_failed;
    struct rng rng;
    char *host; /* of the connection; NULL: none */
    int32_t port;
    int64_t connection_timeout_ms;
    bool is_found; /* the connection is to the offset manager */
    int64_t resume_at_ms;
    uint32_t seq;
    enum offset_job_kind running;
    struct offset_job jobs[OFFSET_JOB_KINDS];
};

struct offset_manager_config {
    const char *group;  /* must stay */
    int64_t backoff_ms; /* offsets.channel.backoff.ms */
    int64_t timeout_ms; /* offsets.channel.socket.timeout.ms */
    uint64_t seed;
    bool keeps_errors; /* what an error of a partition means in a fetch is its owner's to say */

    /* NULL: always. Until when the offset may be sent, on the clock of now_ms: asked right before
     * each try of a commit is sent. What is over is left out; it is not in the outcome either. */
    int64_t (*until_ms)(const struct group_offset *offset, const void *owner);
    const void *owner;
};

void offset_manager_init(struct offset_manager *m, const struct offset_manager_config *config);
void offset_manager_deinit(struct offset_manager *m);

/* Begins a job; none of its kind may be under way. The list is copied, its names must live as long
 * as the machine. `tries` (1 or more) is a commit's. ZKC_ERR_NOMEM. */
ZKC_MUST_CHECK enum zkc_err offset_manager_begin(struct offset_manager *m,
                                                 enum offset_job_kind kind,
                                                 const struct group_offset *list, size_t count,
                                                 unsigned tries);

/* Lets the jobs go on. Call at the end of each step. `watch_brokers` as in finder_run(). */
void offset_manager_run(struct offset_manager *m, int64_t now_ms, struct lane *lanes,
                        bool connected, bool watch_brokers, struct group_outputs *out);

/* The answer to the operation in GROUP_LANE_OFFSETS. */
void offset_manager_scanned(struct offset_manager *m, int64_t now_ms,
                            const struct zk_result *answer, struct lane *lanes, bool connected,
                            struct group_outputs *out);

/* The answer to GROUP_OUT_OFFSETS_ASK. */
void offset_manager_answered(struct offset_manager *m, int64_t now_ms,
                             const struct group_offsets_answer *answer, struct group_outputs *out);

/* How a job has ended. The list is sorted by topic and partition and lives until the next job of
 * but one of the kind is begun. */
struct offset_outcome {
    enum zkc_err err; /* ZKC_OK; ZKC_ERR_BROKER: Kafka refused some, see kafka_error of each;
                       * ZKC_ERR_UNREACHABLE: nobody answered */
    const char *text;
    const struct group_offset *list;
    size_t count;
};

/* True when a job of this kind has ended since: once. A fetch and a commit are told to `out` as
 * well (GROUP_OUT_OFFSETS_READ, GROUP_OUT_OFFSETS_STORED). */
bool offset_manager_take(struct offset_manager *m, enum offset_job_kind kind,
                         struct offset_outcome *outcome, struct group_outputs *out);

/* Gives up a job that waits for its next try. False: there is none, or it is being tried. */
bool offset_manager_cancel(struct offset_manager *m, enum offset_job_kind kind);

/* Gives up a job wherever it is, if there is one. One that has been asked already (it may be
 * carried out all the same) costs the connection. */
void offset_manager_drop(struct offset_manager *m, enum offset_job_kind kind,
                         struct group_outputs *out);

/* A job of this kind may be begun. */
bool offset_manager_is_free(const struct offset_manager *m, enum offset_job_kind kind);

/* The offset manager has been asked to do the job of this kind, and has not answered. */
bool offset_manager_is_asked(const struct offset_manager *m, enum offset_job_kind kind);

/* What was fetched cannot be used: the same again after a pause, on a new connection. */
void offset_manager_fetch_again(struct offset_manager *m, int64_t now_ms,
                                struct group_outputs *out);

/* When to call offset_manager_run() next; INT64_MAX: after another input. */
int64_t offset_manager_deadline_ms(const struct offset_manager *m);

#endif
