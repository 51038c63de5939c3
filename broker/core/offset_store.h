/* OffsetCommit 0 and OffsetFetch 0: offsets in ZooKeeper (KafkaApis.handleOffsetCommitRequest and
 * handleOffsetFetchRequest with version 0, ZkUtils.updatePersistentPath). Any broker takes them.
 *
 * One program answers one request: begin gives the first operation, next takes an answer and gives
 * the next. At most one operation is under way; requests are independent of each other. Operations
 * whose connection is lost are answered with error -1: the client asks again. */
#ifndef ZKC_BROKER_OFFSET_STORE_H
#define ZKC_BROKER_OFFSET_STORE_H

#include "broker/core/cluster_view.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/group/creator.h"
#include "zkconsumer/core/wire/offset_commit.h"
#include "zkconsumer/core/wire/offset_fetch.h"
#include "zkconsumer/core/zk/offset.h"

enum offset_step {
    OFFSET_SEND, /* send op; lent until the next call */
    OFFSET_DONE, /* the answer is complete */
};

struct offset_commit_program {
    const struct offset_commit_request *request;
    struct offset_commit_response *response;
    char *group;             /* owned */
    size_t topic, partition; /* under way */
    char *path;              /* owned */
    char text[ZK_OFFSET_TEXT_SIZE];
    enum { COMMIT_SETTING, COMMIT_PARENT, COMMIT_CREATING, COMMIT_SETTING_AGAIN } state;
    struct creator creator;
    struct zk_op op;
};

/* Makes the answer's arrays in the arena and checks each partition: unknown topic 3, metadata
 * longer than metadata_bytes_max 12, a group or topic that is no znode's name -1; the others are
 * written. `request`, `arena` and `response` are borrowed until OFFSET_DONE; view only for this
 * call.
 *
 * ZKC_OK  c->state; *step says whether there is anything to send
 * ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE: close the connection */
ZKC_MUST_CHECK enum zkc_err offset_commit_begin(struct offset_commit_program *c,
                                                const struct offset_commit_request *request,
                                                const struct cluster_view *view,
                                                size_t metadata_bytes_max, struct arena *arena,
                                                struct offset_commit_response *response,
                                                enum offset_step *step, const struct zk_op **op);
enum offset_step offset_commit_next(struct offset_commit_program *c, const struct zk_result *answer,
                                    const struct zk_op **op);
void offset_commit_deinit(struct offset_commit_program *c); /* at any time */

struct offset_fetch_program {
    const struct offset_fetch_request *request;
    struct offset_fetch_response *response;
    char *group; /* owned */
    size_t topic, partition;
    char *path; /* owned */
    struct zk_op op;
};

/* The same for reading. No node, or an unknown topic: offset -1, metadata "", error 3. A node that
 * is no number: -1 and error -1. */
ZKC_MUST_CHECK enum zkc_err offset_fetch_begin(struct offset_fetch_program *f,
                                               const struct offset_fetch_request *request,
                                               const struct cluster_view *view, struct arena *arena,
                                               struct offset_fetch_response *response,
                                               enum offset_step *step, const struct zk_op **op);
enum offset_step offset_fetch_next(struct offset_fetch_program *f, const struct zk_result *answer,
                                   const struct zk_op **op);
void offset_fetch_deinit(struct offset_fetch_program *f);

#endif
