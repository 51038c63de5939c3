/* Commits offsets. Into znodes, as 0.8.2 does (ZookeeperConsumerConnector.commitOffsets,
 * ZkUtils.updatePersistentPath): partition by partition, only what differs from the value last
 * written or read by this member (KAFKA-987), unconditionally. Missing nodes: the parent is created
 * first, then the node; if that loses a race, the data is set. An error ends the job: what was
 * written before stays.
 *
 * With zookeeper.commit=session an offset is written only in the session that claimed its
 * partition, and only on the version that was last read or written. A refused one is read: it may
 * be our own, whose answer was lost; else somebody else has written, which is told, costs this
 * commit, and is overwritten by the next one that has got further.
 *
 * Into Kafka (offsets.storage=kafka): all of a job's offsets, changed or not, unknown ones (-1)
 * too, in one request that the owner makes through the offset manager (COMMITTER_STORE); with both
 * stores (dual.commit.enabled) what Kafka took is then written into znodes.
 *
 * Jobs are done one after the other in the order they came. A job that waits takes up those that
 * come after it, later offsets winning, so that at most four jobs exist. */
#ifndef ZKC_GROUP_OFFSET_COMMITTER_H
#define ZKC_GROUP_OFFSET_COMMITTER_H

#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/group/creator.h"
#include "zkconsumer/core/group/output.h"

struct commit_item {
    const char *topic; /* lent as long as the machine */
    uint32_t topic_index;
    int32_t partition;
    int64_t offset;     /* for the cache: -1 when nothing is stored */
    int32_t version;    /* for the cache: of the node; OFFSET_NO_NODE, OFFSET_NOT_READ */
    int64_t session_id; /* of a job: that claimed the partition */
    bool is_refused;    /* by Kafka: not to be written into ZooKeeper either */
};

#define OFFSET_NO_NODE  (-1)
#define OFFSET_NOT_READ (-2)

struct commit_job {
    uint32_t id;
    bool joinable;             /* later jobs may be added to it while it waits */
    bool dropped;              /* what it would commit is not ours any more */
    struct commit_item *items; /* sorted by topic index and partition, each once */
    size_t count, cap;
};

#define COMMIT_JOBS_MAX 4

struct offset_committer {
    const char *group; /* borrowed */
    enum commit_store store;
    bool by_session;                         /* zookeeper.commit=session */
    int64_t session_id;                      /* that lives now; 0: none. Kept by the machine */
    struct commit_job jobs[COMMIT_JOBS_MAX]; /* jobs[0] runs or is next */
    size_t job_count;
    bool running;
    size_t at; /* item of jobs[0] being written */
    enum {
        COMMIT_SETTING,
        COMMIT_MAKING_PARENT,
        COMMIT_CREATING,
        COMMIT_SETTING_AGAIN,
        COMMIT_LOOKING, /* by_session: at a version that is not known */
        COMMIT_READING, /* by_session: what is there instead */
        COMMIT_STORING, /* Kafka has been asked */
    } state;
    size_t refused;  /* items of jobs[0]: not of this session, or written by somebody else */
    int32_t version; /* of the current item: what it is conditional on */
    int32_t found;   /* ... and what it has now */
    struct group_offset *stored; /* what COMMITTER_STORE asks for; room for stored_cap */
    size_t stored_count, stored_cap;
    enum zkc_err kafka_err; /* how Kafka answered the running job */
    struct why kafka_why;
    uint32_t last_id;
    struct commit_item *cache; /* values last read or written; sorted, each once */
    size_t cache_count, cache_cap;
    struct creator creator;
    char *path; /* of the item */
    char text[24];
    size_t text_len;
};

void committer_init(struct offset_committer *c, const char *group, enum commit_store store);
void committer_deinit(struct offset_committer *c);

/* Remembers a value read from ZooKeeper (-1: no node), and its version. ZKC_ERR_NOMEM: it is
 * forgotten, so that the next commit writes. */
ZKC_MUST_CHECK enum zkc_err committer_known(struct offset_committer *c,
                                            const struct commit_item *item);

/* What to commit. */
struct commit_request {
    const struct group_claim *held; /* by topic name and partition */
    size_t held_count;
    const struct group_position *positions; /* those of held partitions count; for ZooKeeper alone,
                                             * with an offset >= 0 */
    size_t count;
    bool is_strict;   /* a position of a partition that is not held refuses the whole */
    bool is_joinable; /* as in commit_job */
};

/* Adds a job and gives its id, which may be that of a waiting job that took it up.
 *
 * ZKC_ERR_NOT_OWNED  is_strict, and a partition is not held: no job
 * ZKC_ERR_NOMEM      no job */
ZKC_MUST_CHECK enum zkc_err committer_add(struct offset_committer *c,
                                          const struct commit_request *request, uint32_t *id);

/* What is owned has been forgotten: jobs that have not begun write nothing. Joinable ones end with
 * ZKC_ERR_NOT_OWNED; Java computes what to commit when it has the lock, and then finds nothing. */
void committer_drop_waiting(struct offset_committer *c);

enum committer_step {
    COMMITTER_SEND,  /* send op */
    COMMITTER_STORE, /* commit `stored` to Kafka, then committer_stored() */
    COMMITTER_DONE,  /* job *id has ended with *err; call again with no answer */
    COMMITTER_IDLE,  /* nothing to do, or an answer is awaited */
};

/* Goes on: with the answer to its operation, or with NULL when there is none. */
enum committer_step committer_next(struct offset_committer *c, const struct zk_result *answer,
                                   struct zk_op *op, uint32_t *id, enum zkc_err *err,
                                   struct why *why, struct group_outputs *out);

/* How Kafka has taken what COMMITTER_STORE asked for: `list` is that, sorted by topic and
 * partition, with the error of each. Goes on as committer_next() does. */
enum committer_step committer_stored(struct offset_committer *c, enum zkc_err kafka_err,
                                     const char *text, const struct group_offset *list,
                                     size_t count, struct zk_op *op, uint32_t *id,
                                     enum zkc_err *err, struct why *why);

/* True when no job runs or waits. */
bool committer_is_idle(const struct offset_committer *c);

#endif
