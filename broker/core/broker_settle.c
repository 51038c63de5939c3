/* Acting upon a view of one piece: which partitions are served here, and what a controller has to
 * write. */
#include "broker/core/controller.h"
#include "broker/core/machine.h"
#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/core/zk/cluster.h"
#include <stdlib.h>

#define HOST_RETRY_MS 10000

/* ---- What is hosted ---- */

void machine_free_hosted(struct hosted *h)
{
    free(h->topic);
}

void machine_forget_hosted(struct broker_machine *m, const struct view_topic *t)
{
    if (!m->config.delete_topics || t->session != m->session)
        return; /* the log stays */
    for (size_t i = 0; i < m->hosted_count; i++)
        if (strcmp(m->hosted[i].topic, t->name) == 0)
            m->hosted[i].is_deleted = true;
}

void machine_host_failed(struct broker_machine *m, const char *topic, int32_t partition)
{
    for (size_t i = 0; i < m->hosted_count; i++) {
        struct hosted *h = &m->hosted[i];
        if (strcmp(h->topic, topic) == 0 && h->partition == partition) {
            h->has_failed = true;
            m->host_retry_ms = m->now_ms + HOST_RETRY_MS;
        }
    }
}

static void tell(struct broker_machine *m, enum broker_output_type type, const char *topic,
                 int32_t partition, const struct view_topic *t, const struct view_partition *p)
{
    struct broker_output *o = machine_emit(m, type);
    o->host.topic = machine_text(m, topic);
    o->host.partition = partition;
    o->host.leader_epoch = p ? p->leader_epoch : -1;
    o->host.config = t ? t->config : m->config.log;
}

static bool is_ours(const struct broker_machine *m, const struct view_topic *t,
                    const struct view_partition *p)
{
    return t->has_config && p->node == VIEW_NODE_READ && p->leader == m->config.broker_id;
}

/* Its state node vanished: a topic being deleted, or somebody's hand. What is hosted stays so until
 * the topic has gone, too, or the node is back. */
static bool is_undecided(const struct view_partition *p)
{
    return p->node == VIEW_NODE_ABSENT;
}

/* At most so many. */
static size_t count_ours(const struct broker_machine *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->view.topic_count; i++)
        for (size_t j = 0; j < m->view.topics[i].partition_count; j++)
            n += is_ours(m, &m->view.topics[i], &m->view.topics[i].partitions[j]) ||
                 is_undecided(&m->view.topics[i].partitions[j]);
    return n;
}

static void let_go(struct broker_machine *m, struct hosted *h)
{
    tell(m, h->is_deleted ? BROKER_OUT_DELETE : BROKER_OUT_UNHOST, h->topic, h->partition, NULL,
         NULL);
    machine_free_hosted(h);
}

/* The merge of what is hosted and what ought to be; both are sorted. */
struct merge {
    struct hosted *old;
    size_t old_count, at; /* old[at] is the next to be looked at */
    struct hosted *fresh;
    size_t count;
};

static void merge_one(struct broker_machine *m, struct merge *s, const struct view_topic *t,
                      const struct view_partition *p)
{
    struct topic_partition key = {t->name, p->partition};
    int c = 1;
    while (s->at < s->old_count) {
        struct hosted *h = &s->old[s->at];
        c = topic_partition_compare((struct topic_partition){h->topic, h->partition}, key);
        if (c > 0)
            break;
        s->at++;
        if (c == 0 && !h->is_deleted) {
            if (is_ours(m, t, p) && h->has_failed && m->now_ms >= m->host_retry_ms) {
                h->has_failed = false;
                tell(m, BROKER_OUT_HOST, t->name, p->partition, t, p);
            }
            s->fresh[s->count++] = *h;
            return;
        }
        let_go(m, h);
    }
    if (!is_ours(m, t, p))
        return;
    char *name = strdup(t->name);
    if (!name) {
        machine_nomem(m);
        return;
    }
    s->fresh[s->count++] = (struct hosted){.topic = name, .partition = p->partition};
    tell(m, BROKER_OUT_HOST, t->name, p->partition, t, p);
}

static void settle_hosting(struct broker_machine *m)
{
    size_t n = count_ours(m);
    struct merge s = {.old = m->hosted, .old_count = m->hosted_count};
    s.fresh = malloc((n ? n : 1) * sizeof *s.fresh);
    if (!s.fresh) {
        machine_nomem(m);
        return;
    }
    for (size_t i = 0; i < m->view.topic_count; i++) {
        const struct view_topic *t = &m->view.topics[i];
        for (size_t j = 0; j < t->partition_count; j++)
            if (is_ours(m, t, &t->partitions[j]) || is_undecided(&t->partitions[j]))
                merge_one(m, &s, t, &t->partitions[j]);
    }
    while (s.at < s.old_count)
        let_go(m, &s.old[s.at++]);
    free(s.old);
    m->hosted = s.fresh;
    m->hosted_count = s.count;
    if (m->now_ms >= m->host_retry_ms)
        m->host_retry_ms = INT64_MAX;
}

/* ---- What a controller writes ---- */

static bool replicas_live(const struct broker_machine *m, const struct view_topic *t)
{
    for (size_t i = 0; i < t->partition_count; i++)
        for (size_t j = 0; j < t->partitions[i].replica_count; j++)
            if (!cluster_view_lives(&m->view, t->partitions[i].replicas[j]))
                return false;
    return true;
}

static bool is_being_written(const struct view_topic *t)
{
    for (size_t i = 0; i < t->partition_count; i++)
        if (t->partitions[i].is_writing)
            return true;
    return false;
}

/* Deletion waits for all who may have the data; a request for what is not there is dropped, and so
 * is every one where deletion is off (TopicDeletionManager, DeleteTopicsListener). */
static void settle_deletions(struct broker_machine *m)
{
    for (size_t i = 0; i < m->deletes_count; i++) {
        const char *name = m->deletes[i];
        struct view_topic *t = machine_topic(m, name);
        if (machine_has_task(m, TASK_DELETE_TOPIC, name))
            continue;
        if (m->config.delete_topics && t && (!replicas_live(m, t) || is_being_written(t)))
            continue;
        if (t)
            t->is_deleting = m->config.delete_topics;
        machine_queue(m, TASK_DELETE_TOPIC, name, 0);
    }
}

static void settle_states(struct broker_machine *m)
{
    for (size_t i = 0; i < m->view.topic_count; i++) {
        struct view_topic *t = &m->view.topics[i];
        for (size_t j = 0; !t->is_deleting && j < t->partition_count; j++) {
            struct view_partition *p = &t->partitions[j];
            if (p->is_writing || !controller_decide(&m->view, p).writes)
                continue;
            p->is_writing = true;
            machine_queue(m, TASK_WRITE_STATE, t->name, p->partition);
        }
    }
}

/* We lead a partition whose settings are still to be read, so it is not hosted yet. Whoever sees
 * such a view asks us for the partition and is refused; without acknowledgements that loses
 * messages. */
static bool awaits_config(const struct broker_machine *m)
{
    for (size_t i = 0; i < m->view.topic_count; i++) {
        const struct view_topic *t = &m->view.topics[i];
        for (size_t j = 0; !t->has_config && j < t->partition_count; j++)
            if (t->partitions[j].node == VIEW_NODE_READ &&
                t->partitions[j].leader == m->config.broker_id)
                return true;
    }
    return false;
}

void machine_settle(struct broker_machine *m)
{
    m->is_view_due = m->is_view_due || m->is_dirty;
    m->is_dirty = false;
    m->was_settled = true;
    settle_hosting(m);
    if (m->is_controller) {
        settle_deletions(m);
        settle_states(m);
    }
    if (m->is_view_due && !awaits_config(m)) {
        m->is_view_due = false;
        machine_emit(m, BROKER_OUT_VIEW);
    }
    if (!m->is_ready && m->is_registered && cluster_view_lives(&m->view, m->config.broker_id)) {
        m->is_ready = true;
        machine_emit(m, BROKER_OUT_READY);
    }
}
