/* Writing topics and states: the controller's work, and the creation of topics, which any broker
 * does. Source: kafka.controller, kafka.admin.AdminUtils (0.8.2). */
#include "broker/core/controller.h"
#include "broker/core/machine.h"
#include "zkconsumer/core/zk/cluster.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>

static enum task_step nomem(struct broker_machine *m)
{
    machine_nomem(m);
    return TASK_DONE;
}

/* ---- Requests of tools that need replicas: an election of preferred leaders, which with one
 * replica there always are, and a move of partitions, which nobody could carry out. They are taken
 * away, so that the tools come to their end and can make another ---- */

enum { REQUEST_WATCHING, REQUEST_DELETING };

static const char *const request_paths[] = {ZK_PATH_PREFERRED_ELECTION, ZK_PATH_REASSIGN};

/* key.number: which of them. */
enum task_step tool_request_begin(struct broker_machine *m, struct task *t)
{
    if (!m->is_controller)
        return TASK_DONE;
    t->stage = REQUEST_WATCHING;
    return task_op(m, t, ZK_OP_EXISTS, strdup(request_paths[t->key.number]), true);
}

enum task_step tool_request_answer(struct broker_machine *m, struct task *t,
                                   const struct zk_result *r)
{
    if (t->stage != REQUEST_WATCHING || r->zk_rc != ZK_OK)
        return TASK_DONE;
    if (t->key.number == TOOL_REASSIGN)
        machine_notice(m, 4,
                       "%s is taken away: each partition stays with its broker, for there are no "
                       "replicas to move it with",
                       ZK_PATH_REASSIGN);
    t->stage = REQUEST_DELETING;
    return task_op(m, t, ZK_OP_DELETE, strdup(request_paths[t->key.number]), false);
}

/* ---- Partition states ---- */

enum { STATE_CREATING, STATE_SETTING };

enum task_step write_state_begin(struct broker_machine *m, struct task *t)
{
    struct view_topic *topic;
    struct view_partition *p = machine_partition(m, t->key.name, t->key.number, &topic);
    if (!p)
        return TASK_DONE;
    struct controller_decision d = controller_decide(&m->view, p);
    if (!m->is_controller || topic->is_deleting || !d.writes) {
        p->is_writing = false;
        return TASK_DONE;
    }
    struct zk_partition_state state = {
        .leader = d.leader,
        .leader_epoch = d.leader_epoch,
        .controller_epoch = m->controller_epoch,
        .isr = d.keeps_isr ? p->isr : d.isr,
        .isr_count = d.keeps_isr ? p->isr_count : d.isr_count,
    };
    buf_clear(&t->data);
    zk_partition_state_write(&t->data, &state);
    char *path = zk_path_partition_state(t->key.name, t->key.number);
    t->stage = p->node == VIEW_NODE_ABSENT ? STATE_CREATING : STATE_SETTING;
    if (t->stage == STATE_CREATING)
        return task_create(m, t, path, false, true);
    return task_set(m, t, path, p->version);
}

/* What we wrote is what the node says now. */
static void take_written(struct broker_machine *m, struct task *t, struct view_partition *p,
                         int32_t version)
{
    struct zk_partition_state state;
    struct why why;
    if (zk_partition_state_read(buf_bytes(&t->data), &state, &why)) {
        machine_nomem(m);
        return;
    }
    free(p->isr);
    p->node = VIEW_NODE_READ;
    p->leader = state.leader;
    p->leader_epoch = state.leader_epoch;
    p->version = version;
    p->isr = state.isr;
    p->isr_count = state.isr_count;
}

/* Of a topic itself: it was deleted, and must not come back by way of a partition's parents. */
static bool is_topic_path(const char *path)
{
    return zk_path_parse(path).kind == ZK_PATH_TOPIC;
}

enum task_step write_state_answer(struct broker_machine *m, struct task *t,
                                  const struct zk_result *r)
{
    int zk_rc = r->zk_rc;
    if (t->stage == STATE_CREATING && creator_next(&t->creator, zk_rc, &t->op, &zk_rc)) {
        if (!is_topic_path(t->op.path))
            return TASK_SEND;
        zk_rc = ZK_NO_NODE;
    }
    struct view_topic *topic;
    struct view_partition *p = machine_partition(m, t->key.name, t->key.number, &topic);
    if (!p)
        return TASK_DONE;
    p->is_writing = false;
    if (zk_rc == ZK_OK) {
        take_written(m, t, p, t->stage == STATE_SETTING ? r->stat.version : 0);
        machine_state_known(m, topic, p);
        return TASK_DONE;
    }
    /* Somebody else wrote it, or our own answer was lost, or the topic is going. */
    if (zk_rc == ZK_NO_NODE)
        machine_queue_topic(m, topic);
    if (zk_rc == ZK_BAD_VERSION || zk_rc == ZK_NODE_EXISTS || zk_rc == ZK_NO_NODE)
        machine_queue_state(m, topic, p);
    else
        machine_notice(m, 3, "the state of %s/%" PRId32 " cannot be written: %s (%d)", topic->name,
                       p->partition, zk_rc_name(zk_rc), zk_rc);
    return TASK_DONE;
}

/* ---- Creation: the configuration, then the topic (AdminUtils
 * .createOrUpdateTopicPartitionAssignmentPathInZK, ZkUtils.updatePersistentPath) ---- */

enum { CONFIG_SETTING, CONFIG_PARENT, CONFIG_CREATING, TOPIC_CREATING };

static enum task_step write_config(struct broker_machine *m, struct task *t)
{
    buf_clear(&t->data);
    zk_topic_config_write(&t->data, NULL, 0);
    t->stage = CONFIG_SETTING;
    return task_set(m, t, zk_path_topic_config(t->key.name), ZK_ANY_VERSION);
}

enum task_step create_topic_begin(struct broker_machine *m, struct task *t)
{
    if (machine_topic(m, t->key.name))
        return TASK_DONE;
    if (!m->view.broker_count) {
        machine_notice(m, 4, "topic %s cannot be created: no broker is registered", t->key.name);
        return TASK_DONE;
    }
    return write_config(m, t);
}

/* One replica for each partition, spread over the brokers that live. */
static bool write_assignment(struct broker_machine *m, struct buf *out)
{
    size_t n = (size_t)m->config.default_partitions, brokers = m->view.broker_count;
    struct zk_replicas *partitions = calloc(n, sizeof *partitions);
    int32_t *ids = malloc(n * sizeof *ids);
    bool ok = partitions && ids;
    size_t start = (size_t)rng_below(&m->rng, brokers);
    for (size_t i = 0; ok && i < n; i++) {
        ids[i] = m->view.brokers[zk_replica_broker(brokers, start, 0, 0, (int32_t)i, 0)].id;
        partitions[i] =
            (struct zk_replicas){.partition = (int32_t)i, .broker_ids = &ids[i], .broker_count = 1};
    }
    if (ok)
        zk_topic_write(out, partitions, n);
    free(partitions);
    free(ids);
    return ok;
}

static enum task_step write_topic(struct broker_machine *m, struct task *t)
{
    if (!m->view.broker_count)
        return TASK_DONE; /* they all went meanwhile */
    buf_clear(&t->data);
    if (!write_assignment(m, &t->data))
        return nomem(m);
    t->stage = TOPIC_CREATING;
    return task_create(m, t, zk_path_topic(t->key.name), false, true);
}

enum task_step create_topic_answer(struct broker_machine *m, struct task *t,
                                   const struct zk_result *r)
{
    int zk_rc = r->zk_rc;
    if (t->stage != CONFIG_SETTING && creator_next(&t->creator, zk_rc, &t->op, &zk_rc))
        return TASK_SEND;
    bool is_there = zk_rc == ZK_OK || zk_rc == ZK_NODE_EXISTS;
    if (t->stage == CONFIG_SETTING && zk_rc == ZK_NO_NODE) {
        t->stage = CONFIG_PARENT;
        return task_create(m, t, strdup(ZK_PATH_TOPIC_CONFIGS), false, false);
    }
    if (t->stage == CONFIG_PARENT && is_there) {
        t->stage = CONFIG_CREATING;
        return task_create(m, t, zk_path_topic_config(t->key.name), false, true);
    }
    if ((t->stage == CONFIG_SETTING || t->stage == CONFIG_CREATING) && is_there)
        return write_topic(m, t);
    if (is_there) /* by another broker, if not by us */
        machine_notice(m, 6, "topic %s was created automatically", t->key.name);
    else
        machine_notice(m, 3, "topic %s cannot be created: %s (%d)", t->key.name, zk_rc_name(zk_rc),
                       zk_rc);
    return TASK_DONE;
}

/* ---- Deletion, in 0.8.2's order: the topic's tree, its configuration, the request ---- */

enum { DELETING_TOPIC, DELETING_CONFIG, DELETING_REQUEST };

static enum task_step delete_tree(struct broker_machine *m, struct task *t, int stage, char *path)
{
    t->stage = stage;
    tree_deleter_deinit(&t->deleter);
    bool ok = path && tree_deleter_begin(&t->deleter, path, &t->op) == ZKC_OK;
    free(path);
    return ok ? TASK_SEND : nomem(m);
}

static enum task_step delete_request(struct broker_machine *m, struct task *t)
{
    t->stage = DELETING_REQUEST;
    return task_op(m, t, ZK_OP_DELETE, zk_path_delete_topic(t->key.name), false);
}

enum task_step delete_topic_begin(struct broker_machine *m, struct task *t)
{
    struct view_topic *topic = machine_topic(m, t->key.name);
    if (!m->is_controller)
        return TASK_DONE;
    if (topic && topic->is_deleting)
        return delete_tree(m, t, DELETING_TOPIC, zk_path_topic(t->key.name));
    machine_notice(m, 4, "the request to delete topic %s is dropped: %s", t->key.name,
                   topic ? "delete.topic.enable is off" : "there is no such topic");
    return delete_request(m, t);
}

/* The deletion will be tried again when anything changes. */
static enum task_step deletion_failed(struct broker_machine *m, struct task *t, int zk_rc)
{
    struct view_topic *topic = machine_topic(m, t->key.name);
    if (topic)
        topic->is_deleting = false;
    machine_notice(m, 3, "topic %s cannot be deleted: %s (%d)", t->key.name, zk_rc_name(zk_rc),
                   zk_rc);
    return TASK_DONE;
}

enum task_step delete_topic_answer(struct broker_machine *m, struct task *t,
                                   const struct zk_result *r)
{
    int zk_rc = r->zk_rc;
    if (t->stage == DELETING_REQUEST) {
        if (zk_rc != ZK_OK && zk_rc != ZK_NO_NODE)
            return deletion_failed(m, t, zk_rc);
        machine_drop_delete(m, t->key.name);
        return TASK_DONE;
    }
    if (!m->is_controller)
        return TASK_DONE;
    if (tree_deleter_next(&t->deleter, r, &t->op, &zk_rc))
        return TASK_SEND;
    if (zk_rc == ZK_SYSTEM_ERROR && r->zk_rc != ZK_SYSTEM_ERROR)
        return nomem(m);
    if (zk_rc != ZK_OK)
        return deletion_failed(m, t, zk_rc);
    if (t->stage == DELETING_TOPIC)
        return delete_tree(m, t, DELETING_CONFIG, zk_path_topic_config(t->key.name));
    machine_notice(m, 6, "topic %s was deleted", t->key.name);
    return delete_request(m, t);
}
