/* Reading the cluster, with watches, so that every change is read again. */
#include "broker/core/machine.h"
#include "zkconsumer/core/zk/broker.h"
#include "zkconsumer/core/zk/cluster.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>

static enum task_step nomem(struct broker_machine *m)
{
    machine_nomem(m);
    return TASK_DONE;
}

/* Tells that a node could not be read. */
static enum task_step unreadable(struct broker_machine *m, const struct task *t, int zk_rc)
{
    machine_notice(m, 3, "%s cannot be read: %s (%d)", t->op.path, zk_rc_name(zk_rc), zk_rc);
    return TASK_DONE;
}

/* ---- Brokers ---- */

enum task_step brokers_begin(struct broker_machine *m, struct task *t)
{
    return task_op(m, t, ZK_OP_CHILDREN, strdup(ZK_PATH_BROKER_IDS), true);
}

static bool read_id(const char *text, int32_t *out)
{
    struct why why;
    return zk_controller_epoch_read(bytes_of_text(text), out, &why) == ZKC_OK;
}

static bool is_listed(const struct zk_result *r, int32_t id)
{
    int32_t listed;
    for (size_t i = 0; i < r->children_count; i++)
        if (read_id(r->children[i], &listed) && listed == id)
            return true;
    return false;
}

static void remove_broker(struct broker_machine *m, size_t at)
{
    struct cluster_view *v = &m->view;
    free(v->brokers[at].host);
    memmove(v->brokers + at, v->brokers + at + 1, (v->broker_count - at - 1) * sizeof *v->brokers);
    v->broker_count--;
    machine_dirty(m);
}

/* Those that are gone go; those that are there are read, also again: a broker may have come back
 * at another address. */
enum task_step brokers_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    if (r->zk_rc != ZK_OK)
        return unreadable(m, t, r->zk_rc);
    for (size_t i = m->view.broker_count; i-- > 0;)
        if (!is_listed(r, m->view.brokers[i].id))
            remove_broker(m, i);
    for (size_t i = 0; i < r->children_count; i++) {
        int32_t id;
        if (read_id(r->children[i], &id))
            machine_queue(m, TASK_BROKER, NULL, id);
    }
    m->brokers_read = true;
    machine_dirty(m);
    return TASK_DONE;
}

enum task_step broker_begin(struct broker_machine *m, struct task *t)
{
    return task_op(m, t, ZK_OP_GET, zk_path_broker(t->key.number), false);
}

/* Where the broker is, or belongs. */
static size_t find_broker(const struct cluster_view *v, int32_t id, bool *found)
{
    size_t at = 0;
    while (at < v->broker_count && v->brokers[at].id < id)
        at++;
    *found = at < v->broker_count && v->brokers[at].id == id;
    return at;
}

static enum task_step put_broker(struct broker_machine *m, int32_t id, struct zk_broker *b)
{
    struct cluster_view *v = &m->view;
    bool found;
    size_t at = find_broker(v, id, &found);
    if (!found) {
        struct view_broker *grown = realloc(v->brokers, (v->broker_count + 1) * sizeof *grown);
        if (!grown) {
            zk_broker_deinit(b);
            return nomem(m);
        }
        v->brokers = grown;
        memmove(grown + at + 1, grown + at, (v->broker_count - at) * sizeof *grown);
        v->broker_count++;
    } else {
        free(v->brokers[at].host);
    }
    v->brokers[at] = (struct view_broker){.id = id, .host = b->host, .port = b->port};
    machine_dirty(m);
    return TASK_DONE;
}

enum task_step broker_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    int32_t id = t->key.number;
    bool found;
    struct zk_broker b;
    struct why why;
    enum zkc_err err = ZKC_ERR_CORRUPT;
    why_set(&why, "%s (%d)", zk_rc_name(r->zk_rc), r->zk_rc);
    if (r->zk_rc == ZK_OK)
        err = zk_broker_read(r->data, &b, &why);
    if (err == ZKC_OK)
        return put_broker(m, id, &b);
    if (err == ZKC_ERR_NOMEM)
        return nomem(m);
    if (r->zk_rc != ZK_NO_NODE)
        machine_notice(m, 4, "broker %" PRId32 " is left out: %s", id, why.text);
    size_t at = find_broker(&m->view, id, &found);
    if (found)
        remove_broker(m, at);
    return TASK_DONE;
}

/* ---- Topics ---- */

enum task_step topics_begin(struct broker_machine *m, struct task *t)
{
    return task_op(m, t, ZK_OP_CHILDREN, strdup(ZK_PATH_BROKER_TOPICS), true);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void remove_topic(struct broker_machine *m, size_t at)
{
    struct cluster_view *v = &m->view;
    machine_forget_hosted(m, &v->topics[at]);
    view_topic_deinit(&v->topics[at]);
    memmove(v->topics + at, v->topics + at + 1, (v->topic_count - at - 1) * sizeof *v->topics);
    v->topic_count--;
    machine_dirty(m);
}

static void queue_listed(struct broker_machine *m, const char *name)
{
    struct why why;
    struct view_topic *t = machine_topic(m, name);
    if (t && t->session == m->session)
        return; /* its own watch stands */
    if (t)
        machine_queue_topic(m, t);
    else if (zk_check_topic(name, &why) == ZKC_OK)
        machine_queue(m, TASK_TOPIC, name, 0);
    else
        machine_notice(m, 4, "%s is left out: %s", ZK_PATH_BROKER_TOPICS, why.text);
}

enum task_step topics_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    if (r->zk_rc != ZK_OK)
        return unreadable(m, t, r->zk_rc);
    size_t n = r->children_count;
    const char **names = n ? malloc(n * sizeof *names) : NULL;
    if (n && !names)
        return nomem(m);
    for (size_t i = 0; i < n; i++)
        names[i] = r->children[i];
    if (n)
        qsort(names, n, sizeof *names, by_text);
    for (size_t i = m->view.topic_count; i-- > 0;) {
        const char *name = m->view.topics[i].name;
        if (!n || !bsearch(&name, names, n, sizeof *names, by_text))
            remove_topic(m, i);
    }
    for (size_t i = 0; i < n; i++)
        queue_listed(m, names[i]);
    free(names);
    m->topics_read = true;
    machine_dirty(m);
    return TASK_DONE;
}

enum task_step topic_begin(struct broker_machine *m, struct task *t)
{
    struct view_topic *topic = machine_topic(m, t->key.name);
    if (topic)
        topic->is_queued = false;
    return task_op(m, t, ZK_OP_GET, zk_path_topic(t->key.name), true);
}

static struct view_topic *add_topic(struct broker_machine *m, const char *name, size_t at)
{
    struct cluster_view *v = &m->view;
    char *copy = strdup(name);
    struct view_topic *grown =
        copy ? realloc(v->topics, (v->topic_count + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(copy);
        machine_nomem(m);
        return NULL;
    }
    v->topics = grown;
    memmove(grown + at + 1, grown + at, (v->topic_count - at) * sizeof *grown);
    v->topic_count++;
    grown[at] = (struct view_topic){.name = copy, .config = m->config.log};
    return &grown[at];
}

static void drop_partitions(struct view_topic *t)
{
    for (size_t i = 0; i < t->partition_count; i++) {
        free(t->partitions[i].replicas);
        free(t->partitions[i].isr);
    }
    free(t->partitions);
    t->partitions = NULL;
    t->partition_count = 0;
}

/* The partitions as the node assigns them; what is known of their states stays. */
static bool take_partitions(struct view_topic *t, struct zk_topic *read)
{
    size_t n = read->partition_count;
    struct view_partition *fresh = n ? calloc(n, sizeof *fresh) : NULL;
    if (n && !fresh)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct zk_replicas *r = &read->partitions[i];
        struct view_partition *old = (struct view_partition *)view_topic_partition(t, r->partition);
        if (old) {
            fresh[i] = *old;
            free(old->replicas);
            old->replicas = old->isr = NULL;
        }
        fresh[i].partition = r->partition;
        fresh[i].replicas = r->broker_ids;
        fresh[i].replica_count = r->broker_count;
        r->broker_ids = NULL;
    }
    drop_partitions(t);
    t->partitions = fresh;
    t->partition_count = n;
    return true;
}

/* A node of another birth is another topic. */
static void reborn(struct broker_machine *m, struct view_topic *t)
{
    machine_forget_hosted(m, t);
    drop_partitions(t);
    t->has_config = false;
    t->is_deleting = false;
}

static enum task_step take_topic(struct broker_machine *m, struct task *task,
                                 const struct zk_result *r, struct zk_topic *read)
{
    size_t at;
    struct view_topic *t = cluster_view_find_topic(&m->view, bytes_of_text(task->key.name), &at);
    if (!t)
        t = add_topic(m, task->key.name, at);
    else if (t->czxid != r->stat.czxid)
        reborn(m, t);
    if (!t || !take_partitions(t, read))
        return nomem(m);
    bool is_known = t->session == m->session && t->czxid == r->stat.czxid;
    t->czxid = r->stat.czxid;
    t->session = m->session;
    for (size_t i = 0; i < t->partition_count; i++)
        if (!is_known || t->partitions[i].node == VIEW_NODE_UNREAD)
            machine_queue_state(m, t, &t->partitions[i]);
    if (!is_known && t->has_config)
        machine_queue_config(m, t);
    machine_dirty(m);
    return TASK_DONE;
}

enum task_step topic_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    if (r->zk_rc == ZK_NO_NODE) {
        size_t at;
        if (cluster_view_find_topic(&m->view, bytes_of_text(t->key.name), &at))
            remove_topic(m, at);
        return TASK_DONE;
    }
    if (r->zk_rc != ZK_OK)
        return unreadable(m, t, r->zk_rc);
    struct zk_topic read;
    struct why why;
    enum zkc_err err = zk_topic_read(r->data, &read, &why);
    if (err == ZKC_ERR_NOMEM)
        return nomem(m);
    if (why.text[0])
        machine_notice(m, 4, "topic %s: %s", t->key.name, why.text);
    if (err)
        return TASK_DONE;
    enum task_step step = take_topic(m, t, r, &read);
    zk_topic_deinit(&read);
    return step;
}

/* ---- States: read with a watch on data, or on the birth of the node ---- */

enum { NODE_READING, NODE_WATCHING };

enum task_step state_begin(struct broker_machine *m, struct task *t)
{
    struct view_topic *topic;
    struct view_partition *p = machine_partition(m, t->key.name, t->key.number, &topic);
    if (!p)
        return TASK_DONE;
    p->is_queued = false;
    t->stage = NODE_READING;
    return task_op(m, t, ZK_OP_GET, zk_path_partition_state(t->key.name, t->key.number), true);
}

void machine_state_known(struct broker_machine *m, struct view_topic *t, struct view_partition *p)
{
    if (p->node == VIEW_NODE_READ && p->leader == m->config.broker_id && !t->has_config)
        machine_queue_config(m, t);
    machine_dirty(m);
}

static void take_state(struct broker_machine *m, struct task *t, const struct zk_result *r,
                       struct view_partition *p)
{
    struct zk_partition_state state;
    struct why why;
    enum zkc_err err = zk_partition_state_read(r->data, &state, &why);
    if (err == ZKC_ERR_NOMEM) {
        machine_nomem(m);
    } else if (err) {
        machine_notice(m, 4, "%s: %s", t->op.path, why.text);
        p->node = VIEW_NODE_BROKEN;
    } else {
        p->node = VIEW_NODE_READ;
        p->leader = state.leader;
        p->leader_epoch = state.leader_epoch;
        p->version = r->stat.version;
        free(p->isr);
        p->isr = state.isr;
        p->isr_count = state.isr_count;
    }
}

enum task_step state_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    struct view_topic *topic;
    struct view_partition *p = machine_partition(m, t->key.name, t->key.number, &topic);
    if (!p)
        return TASK_DONE; /* the topic has gone meanwhile */
    if (t->stage == NODE_READING && r->zk_rc == ZK_NO_NODE) {
        t->stage = NODE_WATCHING;
        return task_op(m, t, ZK_OP_EXISTS, zk_path_partition_state(t->key.name, t->key.number),
                       true);
    }
    if (t->stage == NODE_WATCHING && r->zk_rc == ZK_OK)
        return state_begin(m, t);
    if (r->zk_rc == ZK_OK) {
        take_state(m, t, r, p);
    } else if (r->zk_rc == ZK_NO_NODE) {
        p->node = VIEW_NODE_ABSENT;
    } else {
        unreadable(m, t, r->zk_rc);
        p->node = VIEW_NODE_BROKEN;
    }
    machine_state_known(m, topic, p);
    return TASK_DONE;
}

/* ---- Configurations, of topics that are hosted here ---- */

enum task_step config_begin(struct broker_machine *m, struct task *t)
{
    struct view_topic *topic = machine_topic(m, t->key.name);
    if (!topic)
        return TASK_DONE;
    topic->is_config_queued = false;
    t->stage = NODE_READING;
    return task_op(m, t, ZK_OP_GET, zk_path_topic_config(t->key.name), true);
}

struct reading_config {
    struct broker_machine *m;
    const char *topic;
    struct log_config *config;
};

static enum zkc_err take_setting(const struct zk_setting *s, void *user)
{
    struct reading_config *r = user;
    struct why why;
    if (log_config_set(r->config, s->key, s->value, &why))
        machine_notice(r->m, 4, "configuration of topic %s: %s", r->topic, why.text);
    return ZKC_OK;
}

static void take_config(struct broker_machine *m, struct view_topic *t, struct bytes data)
{
    struct log_config config = m->config.log;
    struct reading_config reading = {m, t->name, &config};
    struct why why;
    enum zkc_err err = zk_topic_config_read(data, take_setting, &reading, &why);
    if (err == ZKC_ERR_NOMEM)
        machine_nomem(m);
    else if (err)
        machine_notice(m, 4, "configuration of topic %s: %s", t->name, why.text);
    if (err && t->has_config)
        return; /* better the old one than none */
    t->config = config;
    if (t->has_config) {
        struct broker_output *o = machine_emit(m, BROKER_OUT_CONFIG);
        o->host.topic = machine_text(m, t->name);
        o->host.partition = -1;
        o->host.config = config;
    }
    t->has_config = true;
    machine_dirty(m);
}

enum task_step config_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    struct view_topic *topic = machine_topic(m, t->key.name);
    if (!topic)
        return TASK_DONE;
    if (t->stage == NODE_READING && r->zk_rc == ZK_NO_NODE) {
        t->stage = NODE_WATCHING;
        return task_op(m, t, ZK_OP_EXISTS, zk_path_topic_config(t->key.name), true);
    }
    if (t->stage == NODE_WATCHING && r->zk_rc == ZK_OK)
        return config_begin(m, t);
    if (r->zk_rc != ZK_OK && r->zk_rc != ZK_NO_NODE)
        unreadable(m, t, r->zk_rc);
    take_config(m, topic, r->zk_rc == ZK_OK ? r->data : BYTES_NULL);
    return TASK_DONE;
}

/* ---- Topics to be deleted ---- */

enum task_step deletes_begin(struct broker_machine *m, struct task *t)
{
    if (!m->is_controller)
        return TASK_DONE;
    return task_op(m, t, ZK_OP_CHILDREN, strdup(ZK_PATH_DELETE_TOPICS), true);
}

void machine_free_deletes(struct broker_machine *m)
{
    for (size_t i = 0; i < m->deletes_count; i++)
        free(m->deletes[i]);
    free(m->deletes);
    m->deletes = NULL;
    m->deletes_count = 0;
}

enum task_step deletes_answer(struct broker_machine *m, struct task *t, const struct zk_result *r)
{
    if (!m->is_controller)
        return TASK_DONE;
    if (r->zk_rc != ZK_OK)
        return unreadable(m, t, r->zk_rc);
    machine_free_deletes(m);
    if (r->children_count && !(m->deletes = calloc(r->children_count, sizeof *m->deletes)))
        return nomem(m);
    for (size_t i = 0; i < r->children_count; i++) {
        m->deletes[i] = strdup(r->children[i]);
        if (!m->deletes[i])
            return nomem(m);
        m->deletes_count++;
    }
    machine_dirty(m);
    return TASK_DONE;
}

void machine_drop_delete(struct broker_machine *m, const char *topic)
{
    for (size_t i = m->deletes_count; i-- > 0;) {
        if (strcmp(m->deletes[i], topic) != 0)
            continue;
        free(m->deletes[i]);
        m->deletes[i] = m->deletes[--m->deletes_count];
    }
}
