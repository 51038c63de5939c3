/* The requests that this broker answers, from their bytes to their answers: what Kafka 0.8.2 does,
 * and ApiVersions 0. What is not answered closes the connection (wire-protocol 1.7): unknown keys
 * (ConsumerMetadata, the group requests, the inter-broker ones), other versions (OffsetCommit and
 * OffsetFetch 1), bodies that are malformed. Bytes behind a body are ignored.
 *
 * One request at a time on a connection, answers in order. The shell's part of each:
 *
 *   Produce      per partition: cluster_view_check(), its own log, log_append_plan() ...
 * (partition_log.h); sets error_code and base_offset in the answer. Then produce_answer_decide().
 *   Fetch        per partition: cluster_view_check(), log_locate(), segment_scan(); then
 * fetch_is_due() or fetch_wait(); when answered, fetch_answer_layout() and the bytes of the logs.
 *   ListOffsets  cluster_view_check(), log_offsets_before().
 *   Metadata     metadata_answer() from a view; the topics in `create` to BROKER_IN_CREATE_TOPIC.
 *   OffsetCommit, OffsetFetch  offset_store.h.
 *   ApiVersions  api_versions_answer(). */
#ifndef ZKC_BROKER_REQUESTS_H
#define ZKC_BROKER_REQUESTS_H

#include "broker/core/cluster_view.h"
#include "broker/core/partition_log.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/api_versions.h"
#include "zkconsumer/core/wire/fetch.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include "zkconsumer/core/wire/metadata.h"
#include "zkconsumer/core/wire/offset_commit.h"
#include "zkconsumer/core/wire/offset_fetch.h"
#include "zkconsumer/core/wire/produce.h"
#include "zkconsumer/core/wire/request_header.h"

/* A request that was read. Views point into the frame, arrays are the arena's: both must stay until
 * it is answered. */
struct request {
    struct request_header header;
    union {
        struct produce_request produce;
        struct fetch_request fetch;
        struct list_offsets_request list_offsets;
        struct metadata_request metadata;
        struct offset_commit_request offset_commit;
        struct offset_fetch_request offset_fetch;
    };
    enum kafka_error api_versions_error; /* ApiVersions: 35 for a version that is not spoken */
};

/* Reads the contents of a frame. The arena should be born with a maximum (REQUEST_ARENA_BYTES_MAX)
 * and cleared between requests.
 *
 * ZKC_OK             header.api_key says which
 * ZKC_ERR_PROTOCOL   close the connection; `why` names key, version and reason, for the log
 * ZKC_ERR_TOO_LARGE  over the arena's maximum: close
 * ZKC_ERR_NOMEM      close */
ZKC_MUST_CHECK enum zkc_err request_read(struct bytes frame, struct arena *arena,
                                         struct request *out, struct why *why);

#define REQUEST_ARENA_BYTES_MAX (16 * 1024 * 1024)

/* Begins an answer's frame with its header, and ends it: between them, the body's *_fields() with
 * wire_codec_write(). A failure is kept by `out`: close the connection then. */
size_t answer_begin(struct buf *out, int32_t correlation_id);
void answer_end(struct buf *out, size_t mark);

/* ---- Produce ---- */

/* Makes the answer's arrays, one entry for each partition asked, in the request's order, with
 * error_code UNKNOWN_SERVER_ERROR and base_offset -1. ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE. */
ZKC_MUST_CHECK enum zkc_err produce_answer_make(const struct produce_request *request,
                                                struct arena *arena, struct produce_response *out);

enum produce_answer {
    PRODUCE_ANSWER,       /* send it */
    PRODUCE_NO_ANSWER,    /* acks 0 */
    PRODUCE_CLOSE,        /* acks 0 and an error: closing is the only way to tell */
    PRODUCE_ANSWER_LATER, /* acks 2 and more: nobody else will ever have it. The codes were changed
                           * to REQUEST_TIMED_OUT (7); send it timeout_ms from now (at once when not
                           * above 0), nothing before it on this connection */
};

/* With all partitions filled in. Source: KafkaApis.handleProducerRequest. */
enum produce_answer produce_answer_decide(const struct produce_request *request,
                                          struct produce_response *response);

/* ---- Fetch ---- */

struct fetch_answer_partition {
    int32_t partition;
    int16_t error_code;
    int64_t high_watermark; /* the log's end; -1 with an error */
    uint32_t records_len; /* of the bytes that the shell sends from the log; 0: an empty set, never
                             null */
    size_t split; /* set by fetch_answer_layout(): the records come behind this many bytes of the
                   * frame's other bytes */
};

/* Writes the whole frame but its records: `partitions` are in the order of the request's. What goes
 * to the socket is out[0 .. split of the first), its records, out[its split .. split of the
 * second), and so on. Failure is kept by `out` (over 2 GiB in all: ZKC_ERR_TOO_LARGE). */
void fetch_answer_layout(struct buf *out, int32_t correlation_id,
                         const struct fetch_request *request,
                         struct fetch_answer_partition *partitions, size_t count);

/* ---- ListOffsets ---- */

/* Arrays as for Produce; the offsets of a partition come from the arena, log_offsets_max() of them.
 */
ZKC_MUST_CHECK enum zkc_err list_offsets_answer_make(const struct list_offsets_request *request,
                                                     struct arena *arena,
                                                     struct list_offsets_response *out);

/* ---- Metadata ---- */

struct metadata_rules {
    bool auto_create; /* auto.create.topics.enable, and a broker lives to put it on */
};

/* From the view: live brokers; the topics asked, or all. An unknown topic: 5 and in `create` when
 * it may be created, 17 when its name is not allowed, else 3. A topic that has no state yet: 5,
 * without partitions. A partition without a live leader: 5, leader -1, no replicas. Replicas are
 * told as assigned, dead or not, error 0. A topic asked twice is answered twice. `create`: names in
 * the request, room for topics_count of them. ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE. */
ZKC_MUST_CHECK enum zkc_err metadata_answer(const struct cluster_view *view,
                                            const struct metadata_rules *rules,
                                            const struct metadata_request *request,
                                            struct arena *arena, struct metadata_response *out,
                                            struct bytes *create, size_t *create_count);

/* Whether a topic of this name would be created: Kafka's Topic.validate, and short enough for its
 * folder (LOG_TOPIC_NAME_MAX). */
bool topic_name_may_be_created(struct bytes name);

/* ---- ApiVersions ---- */

/* What this broker answers, by key. With an error (35) only ApiVersions itself, so that a newer
 * client learns which version to ask with (KIP-511). ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE. */
ZKC_MUST_CHECK enum zkc_err api_versions_answer(enum kafka_error error, struct arena *arena,
                                                struct api_versions_response *out);

#endif
