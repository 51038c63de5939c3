#include "broker/core/offset_store.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

/* Waits for its operation; no code of Kafka's. */
#define PENDING INT16_MAX

static char *copy(struct bytes text)
{
    char *s = malloc(text.len + 1);
    if (!s)
        return NULL;
    if (text.len)
        memcpy(s, text.data, text.len);
    s[text.len] = '\0';
    return s;
}

/* Whether ZooKeeper takes it as the name of a znode. */
static bool is_node_name(struct bytes name)
{
    return name.len > 0 && name.len <= ZK_CONSUMER_ID_MAX && zk_znode_name_span(name) == name.len &&
           !bytes_equal_text(name, ".") && !bytes_equal_text(name, "..");
}

/* ZK_OK and everything else, which 0.8 has no code for. */
static int16_t code_of(int zk_rc)
{
    return zk_rc == ZK_OK ? KAFKA_ERR_NONE : KAFKA_ERR_UNKNOWN_SERVER_ERROR;
}

/* ---- Commit ---- */

static int16_t check_commit(const struct offset_commit_request *request,
                            const struct offset_commit_request_partition *p, struct bytes topic,
                            const struct cluster_view *view, size_t metadata_bytes_max)
{
    if (!cluster_view_topic(view, topic))
        return KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION;
    if (p->committed_metadata.len > metadata_bytes_max)
        return KAFKA_ERR_OFFSET_METADATA_TOO_LARGE;
    return is_node_name(request->group_id) ? PENDING : KAFKA_ERR_UNKNOWN_SERVER_ERROR;
}

static enum zkc_err make_commit_answer(const struct offset_commit_request *request,
                                       const struct cluster_view *view, size_t metadata_bytes_max,
                                       struct arena *arena, struct offset_commit_response *out)
{
    *out = (struct offset_commit_response){.topics_count = request->topics_count};
    out->topics = arena_alloc_array(arena, out->topics_count, sizeof *out->topics);
    for (size_t i = 0; out->topics && i < out->topics_count; i++) {
        const struct offset_commit_request_topic *asked = &request->topics[i];
        struct offset_commit_response_topic *t = &out->topics[i];
        t->name = asked->name;
        t->partitions = arena_alloc_array(arena, asked->partitions_count, sizeof *t->partitions);
        if (!t->partitions)
            break;
        t->partitions_count = asked->partitions_count;
        for (size_t j = 0; j < t->partitions_count; j++)
            t->partitions[j] = (struct offset_commit_response_partition){
                .partition_index = asked->partitions[j].partition_index,
                .error_code = check_commit(request, &asked->partitions[j], asked->name, view,
                                           metadata_bytes_max)};
    }
    return arena->failed;
}

/* The partition under way; NULL when there is none left. */
static struct offset_commit_response_partition *commit_current(struct offset_commit_program *c)
{
    for (; c->topic < c->response->topics_count; c->topic++, c->partition = 0) {
        struct offset_commit_response_topic *t = &c->response->topics[c->topic];
        for (; c->partition < t->partitions_count; c->partition++)
            if (t->partitions[c->partition].error_code == PENDING)
                return &t->partitions[c->partition];
    }
    return NULL;
}

static void set_offset(struct offset_commit_program *c, int state)
{
    c->state = state;
    c->op = (struct zk_op){.type = ZK_OP_SET,
                           .path = c->path,
                           .data = bytes_of_text(c->text),
                           .version = ZK_ANY_VERSION};
}

/* Begins the next partition that has anything to write. */
static enum offset_step commit_begin_next(struct offset_commit_program *c, const struct zk_op **op)
{
    struct offset_commit_response_partition *p;
    while ((p = commit_current(c))) {
        const struct offset_commit_request_topic *asked = &c->request->topics[c->topic];
        char *topic = copy(asked->name);
        free(c->path);
        c->path = topic ? zk_path_offset(c->group, topic, p->partition_index) : NULL;
        free(topic);
        if (c->path) {
            zk_offset_format(asked->partitions[c->partition].committed_offset, c->text);
            set_offset(c, COMMIT_SETTING);
            *op = &c->op;
            return OFFSET_SEND;
        }
        p->error_code = KAFKA_ERR_UNKNOWN_SERVER_ERROR;
    }
    return OFFSET_DONE;
}

enum zkc_err offset_commit_begin(struct offset_commit_program *c,
                                 const struct offset_commit_request *request,
                                 const struct cluster_view *view, size_t metadata_bytes_max,
                                 struct arena *arena, struct offset_commit_response *response,
                                 enum offset_step *step, const struct zk_op **op)
{
    *c = (struct offset_commit_program){.request = request, .response = response};
    enum zkc_err err = make_commit_answer(request, view, metadata_bytes_max, arena, response);
    if (!err && !(c->group = copy(request->group_id)))
        err = ZKC_ERR_NOMEM;
    if (err)
        return err;
    *step = commit_begin_next(c, op);
    return ZKC_OK;
}

static enum offset_step commit_end_partition(struct offset_commit_program *c, int16_t code,
                                             const struct zk_op **op)
{
    commit_current(c)->error_code = code;
    return commit_begin_next(c, op);
}

/* Creates the node, or its parent, which as everything above it has no data. */
static enum offset_step commit_create(struct offset_commit_program *c, int state,
                                      const struct zk_op **op)
{
    bool is_parent = state == COMMIT_PARENT;
    struct bytes data = is_parent ? BYTES_NULL : bytes_of_text(c->text);
    char *slash = strrchr(c->path, '/');
    c->state = state;
    creator_deinit(&c->creator);
    *slash = is_parent ? '\0' : '/';
    enum zkc_err err = creator_begin(&c->creator, c->path, data, false, &c->op);
    *slash = '/';
    if (err)
        return commit_end_partition(c, KAFKA_ERR_UNKNOWN_SERVER_ERROR, op);
    *op = &c->op;
    return OFFSET_SEND;
}

enum offset_step offset_commit_next(struct offset_commit_program *c, const struct zk_result *answer,
                                    const struct zk_op **op)
{
    int zk_rc = answer->zk_rc;
    if ((c->state == COMMIT_PARENT || c->state == COMMIT_CREATING) &&
        creator_next(&c->creator, zk_rc, &c->op, &zk_rc)) {
        *op = &c->op;
        return OFFSET_SEND;
    }
    if (c->state == COMMIT_SETTING && zk_rc == ZK_NO_NODE)
        return commit_create(c, COMMIT_PARENT, op);
    if (c->state == COMMIT_PARENT && (zk_rc == ZK_OK || zk_rc == ZK_NODE_EXISTS))
        return commit_create(c, COMMIT_CREATING, op);
    if (c->state == COMMIT_CREATING && zk_rc == ZK_NODE_EXISTS) {
        set_offset(c, COMMIT_SETTING_AGAIN); /* somebody else committed meanwhile */
        *op = &c->op;
        return OFFSET_SEND;
    }
    return commit_end_partition(c, code_of(zk_rc), op);
}

void offset_commit_deinit(struct offset_commit_program *c)
{
    creator_deinit(&c->creator);
    free(c->group);
    free(c->path);
    *c = (struct offset_commit_program){.request = NULL};
}

/* ---- Fetch ---- */

static struct offset_fetch_response_partition fetched(int32_t partition, int64_t offset,
                                                      int16_t code)
{
    return (struct offset_fetch_response_partition){.partition_index = partition,
                                                    .committed_offset = offset,
                                                    .metadata = bytes_of_text(""),
                                                    .error_code = code};
}

static enum zkc_err make_fetch_answer(const struct offset_fetch_request *request,
                                      const struct cluster_view *view, struct arena *arena,
                                      struct offset_fetch_response *out)
{
    bool group_is_legal = is_node_name(request->group_id);
    *out = (struct offset_fetch_response){.topics_count = request->topics_count};
    out->topics = arena_alloc_array(arena, out->topics_count, sizeof *out->topics);
    for (size_t i = 0; out->topics && i < out->topics_count; i++) {
        const struct offset_fetch_request_topic *asked = &request->topics[i];
        struct offset_fetch_response_topic *t = &out->topics[i];
        int16_t code = !cluster_view_topic(view, asked->name) ? KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION
                       : group_is_legal                       ? PENDING
                                                              : KAFKA_ERR_UNKNOWN_SERVER_ERROR;
        t->name = asked->name;
        t->partitions =
            arena_alloc_array(arena, asked->partition_indexes_count, sizeof *t->partitions);
        if (!t->partitions)
            break;
        t->partitions_count = asked->partition_indexes_count;
        for (size_t j = 0; j < t->partitions_count; j++)
            t->partitions[j] = fetched(asked->partition_indexes[j], -1, code);
    }
    return arena->failed;
}

static struct offset_fetch_response_partition *fetch_current(struct offset_fetch_program *f)
{
    for (; f->topic < f->response->topics_count; f->topic++, f->partition = 0) {
        struct offset_fetch_response_topic *t = &f->response->topics[f->topic];
        for (; f->partition < t->partitions_count; f->partition++)
            if (t->partitions[f->partition].error_code == PENDING)
                return &t->partitions[f->partition];
    }
    return NULL;
}

static enum offset_step fetch_begin_next(struct offset_fetch_program *f, const struct zk_op **op)
{
    struct offset_fetch_response_partition *p;
    while ((p = fetch_current(f))) {
        char *topic = copy(f->request->topics[f->topic].name);
        free(f->path);
        f->path = topic ? zk_path_offset(f->group, topic, p->partition_index) : NULL;
        free(topic);
        if (f->path) {
            f->op = (struct zk_op){.type = ZK_OP_GET, .path = f->path};
            *op = &f->op;
            return OFFSET_SEND;
        }
        p->error_code = KAFKA_ERR_UNKNOWN_SERVER_ERROR;
    }
    return OFFSET_DONE;
}

enum zkc_err offset_fetch_begin(struct offset_fetch_program *f,
                                const struct offset_fetch_request *request,
                                const struct cluster_view *view, struct arena *arena,
                                struct offset_fetch_response *response, enum offset_step *step,
                                const struct zk_op **op)
{
    *f = (struct offset_fetch_program){.request = request, .response = response};
    enum zkc_err err = make_fetch_answer(request, view, arena, response);
    if (!err && !(f->group = copy(request->group_id)))
        err = ZKC_ERR_NOMEM;
    if (err)
        return err;
    *step = fetch_begin_next(f, op);
    return ZKC_OK;
}

enum offset_step offset_fetch_next(struct offset_fetch_program *f, const struct zk_result *answer,
                                   const struct zk_op **op)
{
    struct offset_fetch_response_partition *p = fetch_current(f);
    int64_t offset = -1;
    int16_t code = code_of(answer->zk_rc);
    struct why why;
    if (answer->zk_rc == ZK_NO_NODE)
        code = KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION;
    else if (answer->zk_rc == ZK_OK && zk_offset_read(answer->data, &offset, &why) != ZKC_OK)
        code = KAFKA_ERR_UNKNOWN_SERVER_ERROR;
    *p = fetched(p->partition_index, offset, code);
    return fetch_begin_next(f, op);
}

void offset_fetch_deinit(struct offset_fetch_program *f)
{
    free(f->group);
    free(f->path);
    *f = (struct offset_fetch_program){.request = NULL};
}
