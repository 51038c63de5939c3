#include "broker/core/cluster_view.h"
#include <stdlib.h>
#include <string.h>

static void free_partition(struct view_partition *p)
{
    free(p->replicas);
    free(p->isr);
}

void view_topic_deinit(struct view_topic *t)
{
    for (size_t i = 0; i < t->partition_count; i++)
        free_partition(&t->partitions[i]);
    free(t->partitions);
    free(t->name);
    *t = (struct view_topic){.name = NULL};
}

void cluster_view_deinit(struct cluster_view *v)
{
    for (size_t i = 0; i < v->broker_count; i++)
        free(v->brokers[i].host);
    free(v->brokers);
    for (size_t i = 0; i < v->topic_count; i++)
        view_topic_deinit(&v->topics[i]);
    free(v->topics);
    *v = (struct cluster_view){.controller_id = -1};
}

/* ---- Copying ---- */

static enum zkc_err copy_ids(const int32_t *ids, size_t count, int32_t **out)
{
    *out = NULL;
    if (!count)
        return ZKC_OK;
    *out = malloc(count * sizeof *ids);
    if (!*out)
        return ZKC_ERR_NOMEM;
    memcpy(*out, ids, count * sizeof *ids);
    return ZKC_OK;
}

static enum zkc_err copy_partition(const struct view_partition *p, struct view_partition *out)
{
    *out = *p;
    out->isr = NULL;
    enum zkc_err err = copy_ids(p->replicas, p->replica_count, &out->replicas);
    if (!err)
        err = copy_ids(p->isr, p->isr_count, &out->isr);
    return err;
}

static enum zkc_err copy_topic(const struct view_topic *t, struct view_topic *out)
{
    *out = *t;
    out->partitions = NULL;
    out->partition_count = 0;
    out->name = strdup(t->name);
    if (!out->name)
        return ZKC_ERR_NOMEM;
    if (t->partition_count &&
        !(out->partitions = calloc(t->partition_count, sizeof *out->partitions)))
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < t->partition_count; i++) {
        out->partition_count++;
        enum zkc_err err = copy_partition(&t->partitions[i], &out->partitions[i]);
        if (err)
            return err;
    }
    return ZKC_OK;
}

static enum zkc_err copy_brokers(const struct cluster_view *v, struct cluster_view *out)
{
    if (!v->broker_count)
        return ZKC_OK;
    out->brokers = calloc(v->broker_count, sizeof *out->brokers);
    if (!out->brokers)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < v->broker_count; i++) {
        out->brokers[i] = v->brokers[i];
        out->brokers[i].host = strdup(v->brokers[i].host);
        if (!out->brokers[i].host)
            return ZKC_ERR_NOMEM;
        out->broker_count++;
    }
    return ZKC_OK;
}

static enum zkc_err copy_topics(const struct cluster_view *v, struct cluster_view *out)
{
    if (!v->topic_count)
        return ZKC_OK;
    out->topics = calloc(v->topic_count, sizeof *out->topics);
    if (!out->topics)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < v->topic_count; i++) {
        out->topic_count++;
        enum zkc_err err = copy_topic(&v->topics[i], &out->topics[i]);
        if (err)
            return err;
    }
    return ZKC_OK;
}

enum zkc_err cluster_view_copy(const struct cluster_view *v, struct cluster_view *out)
{
    *out = (struct cluster_view){.controller_id = v->controller_id};
    enum zkc_err err = copy_brokers(v, out);
    if (!err)
        err = copy_topics(v, out);
    if (err)
        cluster_view_deinit(out);
    return err;
}

/* ---- Questions ---- */

struct view_topic *cluster_view_find_topic(const struct cluster_view *v, struct bytes name,
                                           size_t *at)
{
    size_t low = 0, high = v->topic_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = bytes_compare(bytes_of_text(v->topics[middle].name), name);
        if (c == 0) {
            *at = middle;
            return &v->topics[middle];
        }
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return NULL;
}

const struct view_topic *cluster_view_topic(const struct cluster_view *v, struct bytes name)
{
    size_t at;
    return cluster_view_find_topic(v, name, &at);
}

const struct view_partition *view_topic_partition(const struct view_topic *t, int32_t partition)
{
    /* Nearly always partition n is the n-th. */
    if (partition >= 0 && (size_t)partition < t->partition_count &&
        t->partitions[partition].partition == partition)
        return &t->partitions[partition];
    for (size_t i = 0; i < t->partition_count; i++)
        if (t->partitions[i].partition == partition)
            return &t->partitions[i];
    return NULL;
}

bool cluster_view_lives(const struct cluster_view *v, int32_t broker_id)
{
    for (size_t i = 0; i < v->broker_count; i++)
        if (v->brokers[i].id == broker_id)
            return true;
    return false;
}

int32_t view_partition_leader(const struct cluster_view *v, const struct view_partition *p)
{
    return p->node == VIEW_NODE_READ && cluster_view_lives(v, p->leader) ? p->leader : -1;
}

enum kafka_error cluster_view_check(const struct cluster_view *v, int32_t me, struct bytes topic,
                                    int32_t partition)
{
    const struct view_topic *t = cluster_view_topic(v, topic);
    const struct view_partition *p = t ? view_topic_partition(t, partition) : NULL;
    if (!p)
        return KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION;
    if (p->node == VIEW_NODE_READ && p->leader == me)
        return KAFKA_ERR_NONE;
    return view_partition_leader(v, p) < 0 ? KAFKA_ERR_LEADER_NOT_AVAILABLE
                                           : KAFKA_ERR_NOT_LEADER_OR_FOLLOWER;
}
