/* What a broker does once in a session: common paths, election, registration. Source: ZkUtils
 * .setupCommonPaths, ZookeeperLeaderElector, ZkUtils.registerBrokerInZk (0.8.2). */
#include "broker/core/machine.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/broker.h"
#include "zkconsumer/core/zk/cluster.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdio.h>

/* ---- Common paths, in 0.8.2's order ---- */

static const char *const common_paths[] = {
    ZK_PATH_CONSUMERS,      ZK_PATH_BROKER_IDS,    ZK_PATH_BROKER_TOPICS,
    ZK_PATH_CONFIG_CHANGES, ZK_PATH_TOPIC_CONFIGS, ZK_PATH_DELETE_TOPICS,
};

enum { PATHS_LOOKING, PATHS_CREATING };

/* t->number: the path under way. */
enum task_step paths_begin(struct broker_machine *m, struct task *t)
{
    t->stage = PATHS_LOOKING;
    return task_op(m, t, ZK_OP_EXISTS, strdup(common_paths[t->number]), false);
}

enum task_step paths_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    int zk_rc = r->zk_rc;
    if (t->stage == PATHS_CREATING && creator_next(&t->creator, zk_rc, &t->op, &zk_rc))
        return TASK_SEND;
    if (t->stage == PATHS_LOOKING && zk_rc == ZK_NO_NODE) {
        t->stage = PATHS_CREATING;
        return task_create(m, t, strdup(common_paths[t->number]), false, false);
    }
    if (zk_rc != ZK_OK && zk_rc != ZK_NODE_EXISTS) {
        machine_fatal(m, "%s cannot be created in ZooKeeper: %s (%d)", common_paths[t->number],
                      zk_rc_name(zk_rc), zk_rc);
        return TASK_DONE;
    }
    if (++t->number < (int32_t)ARRAY_LEN(common_paths))
        return paths_begin(m, t);
    machine_queue(m, TASK_ELECT, NULL, 0);
    machine_queue(m, TASK_BROKERS, NULL, 0);
    machine_queue(m, TASK_TOPICS, NULL, 0);
    return TASK_DONE;
}

/* ---- Election ---- */

enum {
    ELECT_WATCHING, /* exists, with a watch: also where there is no node */
    ELECT_READING,
    ELECT_CREATING,
    EPOCH_READING,
    EPOCH_SETTING,
    EPOCH_CREATING,
};

enum task_step elect_begin(struct broker_machine *m, struct task *t)
{
    t->stage = ELECT_WATCHING;
    return task_op(m, t, ZK_OP_EXISTS, strdup(ZK_PATH_CONTROLLER), true);
}

static enum task_step elect_end(struct broker_machine *m)
{
    if (m->elects_again)
        machine_queue(m, TASK_ELECT, NULL, 0);
    m->elects_again = false;
    if (!m->is_registered && !machine_has_task(m, TASK_REGISTER, NULL))
        machine_queue(m, TASK_REGISTER, NULL, 0);
    return TASK_DONE;
}

void machine_resign(struct broker_machine *m)
{
    if (!m->is_controller)
        return;
    m->is_controller = false;
    machine_free_deletes(m);
    for (size_t i = 0; i < m->view.topic_count; i++)
        m->view.topics[i].is_deleting = false;
    struct broker_output *o = machine_emit(m, BROKER_OUT_CONTROLLER);
    o->controller.is_controller = false;
    o->controller.epoch = m->controller_epoch;
    machine_notice(m, 6, "no longer the controller (epoch %" PRId32 ")", m->controller_epoch);
}

static enum task_step take_office(struct broker_machine *m)
{
    m->is_controller = true;
    m->view.controller_id = m->config.broker_id;
    struct broker_output *o = machine_emit(m, BROKER_OUT_CONTROLLER);
    o->controller.is_controller = true;
    o->controller.epoch = m->controller_epoch;
    machine_notice(m, 6, "elected as the controller, epoch %" PRId32, m->controller_epoch);
    machine_queue(m, TASK_TOOL_REQUEST, NULL, TOOL_PREFERRED);
    machine_queue(m, TASK_TOOL_REQUEST, NULL, TOOL_REASSIGN);
    machine_queue(m, TASK_DELETES, NULL, 0);
    machine_dirty(m);
    return elect_end(m);
}

static enum task_step read_controller(struct broker_machine *m, struct task *t)
{
    t->stage = ELECT_READING;
    return task_op(m, t, ZK_OP_GET, strdup(ZK_PATH_CONTROLLER), true);
}

static enum task_step read_epoch(struct broker_machine *m, struct task *t)
{
    t->stage = EPOCH_READING;
    return task_op(m, t, ZK_OP_GET, strdup(ZK_PATH_CONTROLLER_EPOCH), false);
}

static enum task_step stand(struct broker_machine *m, struct task *t)
{
    t->stage = ELECT_CREATING;
    buf_clear(&t->data);
    zk_controller_write(&t->data, m->config.broker_id, m->wall_ms);
    return task_create(m, t, strdup(ZK_PATH_CONTROLLER), true, true);
}

/* The node is there: ours (an answer was lost), or another's. */
static enum task_step follow(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    if (r->stat.ephemeral_owner == m->session_id)
        return m->is_controller ? elect_end(m) : read_epoch(m, t);
    machine_resign(m);
    struct why why;
    int32_t id;
    enum zkc_err err = zk_controller_read(r->data, &id, &why);
    if (err == ZKC_ERR_NOMEM)
        machine_nomem(m);
    if (err) {
        machine_notice(m, 4, "%s: %s", ZK_PATH_CONTROLLER, why.text);
        id = -1;
    }
    m->view.controller_id = id;
    machine_dirty(m);
    return elect_end(m);
}

/* The next epoch: one above what the node says; the first is 1. */
static enum task_step set_epoch(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    struct why why;
    int32_t epoch = 0, version = 0;
    if (r->zk_rc == ZK_OK) {
        version = r->stat.version;
        if (zk_controller_epoch_read(r->data, &epoch, &why) || epoch == INT32_MAX) {
            machine_notice(m, 4, "%s: %s", ZK_PATH_CONTROLLER_EPOCH, why.text);
            epoch = 0;
        }
    }
    m->controller_epoch = epoch + 1;
    t->stage = EPOCH_SETTING;
    buf_clear(&t->data);
    buf_appendf(&t->data, "%" PRId32, m->controller_epoch);
    return task_set(m, t, strdup(ZK_PATH_CONTROLLER_EPOCH), version);
}

static enum task_step election_failed(struct broker_machine *m, int zk_rc)
{
    machine_notice(m, 3, "the election of a controller failed: %s (%d)", zk_rc_name(zk_rc), zk_rc);
    return elect_end(m);
}

enum task_step elect_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    int zk_rc = r->zk_rc;
    switch (t->stage) {
    case ELECT_WATCHING:
        if (zk_rc == ZK_OK || zk_rc == ZK_NO_NODE)
            return read_controller(m, t);
        break;
    case ELECT_READING:
        if (zk_rc == ZK_OK)
            return follow(m, t, r);
        if (zk_rc == ZK_NO_NODE) {
            machine_resign(m);
            return stand(m, t);
        }
        break;
    case ELECT_CREATING:
        if (creator_next(&t->creator, zk_rc, &t->op, &zk_rc))
            return TASK_SEND;
        if (zk_rc == ZK_OK)
            return read_epoch(m, t);
        if (zk_rc == ZK_NODE_EXISTS)
            return read_controller(m, t);
        break;
    case EPOCH_READING:
        if (zk_rc == ZK_OK || zk_rc == ZK_NO_NODE)
            return set_epoch(m, t, r);
        break;
    case EPOCH_SETTING:
        if (zk_rc == ZK_OK)
            return take_office(m);
        if (zk_rc == ZK_BAD_VERSION) /* by another, or our own lost answer: higher still */
            return read_epoch(m, t);
        if (zk_rc == ZK_NO_NODE) {
            t->stage = EPOCH_CREATING;
            return task_create(m, t, strdup(ZK_PATH_CONTROLLER_EPOCH), false, true);
        }
        break;
    case EPOCH_CREATING:
        if (creator_next(&t->creator, zk_rc, &t->op, &zk_rc))
            return TASK_SEND;
        if (zk_rc == ZK_OK)
            return take_office(m);
        if (zk_rc == ZK_NODE_EXISTS)
            return read_epoch(m, t);
        break;
    }
    return election_failed(m, zk_rc);
}

/* ---- Registration ---- */

enum { REGISTER_CREATING, REGISTER_READING, REGISTER_WATCHING };

enum task_step register_begin(struct broker_machine *m, struct task *t)
{
    if (m->is_registered)
        return TASK_DONE;
    t->stage = REGISTER_CREATING;
    buf_clear(&t->data);
    zk_broker_write(&t->data, m->config.host, m->config.port, m->config.jmx_port, m->wall_ms);
    return task_create(m, t, zk_path_broker(m->config.broker_id), true, true);
}

static enum task_step registered(struct broker_machine *m)
{
    m->is_registered = true;
    machine_notice(m, 6, "registered as broker %" PRId32 " at %s:%" PRId32, m->config.broker_id,
                   m->config.host, m->config.port);
    machine_dirty(m);
    return TASK_DONE;
}

/* Somebody's node is there. The same address must be our own of an earlier session, for the port
 * is ours: it goes when that session ends. */
static enum task_step conflict(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    if (r->stat.ephemeral_owner == m->session_id)
        return registered(m);
    struct zk_broker other = {.host = NULL};
    struct why why;
    enum zkc_err err = zk_broker_read(r->data, &other, &why);
    if (err == ZKC_ERR_NOMEM) {
        machine_nomem(m);
        return TASK_DONE;
    }
    bool is_ours = !err && strcmp(other.host, m->config.host) == 0 && other.port == m->config.port;
    if (!is_ours)
        machine_fatal(m,
                      "a broker with id %" PRId32 " is registered already, at another address "
                      "(%s:%" PRId32 "): give each broker a broker.id of its own",
                      m->config.broker_id, err ? "unreadable" : other.host, other.port);
    zk_broker_deinit(&other);
    if (!is_ours)
        return TASK_DONE;
    t->stage = REGISTER_WATCHING;
    return task_op(m, t, ZK_OP_EXISTS, zk_path_broker(m->config.broker_id), true);
}

static enum task_step wait_for_it(struct broker_machine *m)
{
    m->register_at_ms = m->now_ms + m->config.session_timeout_ms;
    machine_notice(m, 6,
                   "broker %" PRId32 " is registered by an earlier session of ours: waiting until "
                   "ZooKeeper ends it",
                   m->config.broker_id);
    return TASK_WAIT;
}

enum task_step register_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    int zk_rc = r->zk_rc;
    switch (t->stage) {
    case REGISTER_CREATING:
        if (creator_next(&t->creator, zk_rc, &t->op, &zk_rc))
            return TASK_SEND;
        if (zk_rc == ZK_OK)
            return registered(m);
        if (zk_rc == ZK_NODE_EXISTS) {
            t->stage = REGISTER_READING;
            return task_op(m, t, ZK_OP_GET, zk_path_broker(m->config.broker_id), false);
        }
        break;
    case REGISTER_READING:
        if (zk_rc == ZK_OK)
            return conflict(m, t, r);
        if (zk_rc == ZK_NO_NODE)
            return register_begin(m, t);
        break;
    case REGISTER_WATCHING:
        if (zk_rc == ZK_OK)
            return wait_for_it(m);
        if (zk_rc == ZK_NO_NODE)
            return register_begin(m, t);
        break;
    }
    machine_fatal(m, "broker %" PRId32 " cannot be registered in ZooKeeper: %s (%d)",
                  m->config.broker_id, zk_rc_name(zk_rc), zk_rc);
    return TASK_DONE;
}
