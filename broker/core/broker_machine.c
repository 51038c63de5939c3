#include "broker/core/machine.h"
#include "broker/core/requests.h"
#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/core/zk/cluster.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXTS_BYTES_MAX        (256u << 20)
#define RESEND_MS              100  /* an operation that failed though there is a connection */
#define SETTLE_MS              200  /* reads that never end do not keep the view back longer */
#define QUEUED_FOR_CREATES_MAX 1000 /* with more to do no topic is created: clients ask again */

static const struct task_type types[TASK_KINDS] = {
    [TASK_PATHS] = {paths_begin, paths_answer},
    [TASK_ELECT] = {elect_begin, elect_answer},
    [TASK_REGISTER] = {register_begin, register_answer},
    [TASK_BROKERS] = {brokers_begin, brokers_answer},
    [TASK_BROKER] = {broker_begin, broker_answer},
    [TASK_TOPICS] = {topics_begin, topics_answer},
    [TASK_TOPIC] = {topic_begin, topic_answer},
    [TASK_STATE] = {state_begin, state_answer},
    [TASK_CONFIG] = {config_begin, config_answer},
    [TASK_DELETES] = {deletes_begin, deletes_answer},
    [TASK_TOOL_REQUEST] = {tool_request_begin, tool_request_answer},
    [TASK_WRITE_STATE] = {write_state_begin, write_state_answer},
    [TASK_CREATE_TOPIC] = {create_topic_begin, create_topic_answer},
    [TASK_DELETE_TOPIC] = {delete_topic_begin, delete_topic_answer},
};

static bool is_read(enum task_kind kind)
{
    return kind >= TASK_BROKERS && kind <= TASK_DELETES;
}

/* ---- Outputs ---- */

void machine_nomem(struct broker_machine *m)
{
    m->out_of_memory = true;
}

struct broker_output *machine_emit(struct broker_machine *m, enum broker_output_type type)
{
    if (m->out_count == m->out_cap) {
        size_t cap = m->out_cap ? 2 * m->out_cap : 64;
        struct broker_output *grown = realloc(m->out, cap * sizeof *grown);
        if (!grown) {
            machine_nomem(m);
            return &m->fatal; /* overwritten at the end of the step */
        }
        m->out = grown;
        m->out_cap = cap;
    }
    struct broker_output *o = &m->out[m->out_count++];
    memset(o, 0, sizeof *o);
    o->type = type;
    return o;
}

const char *machine_text(struct broker_machine *m, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_alloc(&m->texts, size);
    if (!copy) {
        machine_nomem(m);
        return "";
    }
    return memcpy(copy, text, size);
}

void machine_notice(struct broker_machine *m, int level, const char *fmt, ...)
{
    char text[WHY_SIZE + 256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct broker_output *o = machine_emit(m, BROKER_OUT_NOTICE);
    o->notice.level = level;
    o->notice.text = machine_text(m, text);
}

void machine_fatal(struct broker_machine *m, const char *fmt, ...)
{
    char text[WHY_SIZE + 256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct broker_output *o = machine_emit(m, BROKER_OUT_FATAL);
    o->notice.level = 3;
    o->notice.text = machine_text(m, text);
}

void machine_dirty(struct broker_machine *m)
{
    if (!m->is_dirty)
        m->dirty_ms = m->now_ms;
    m->is_dirty = true;
}

/* ---- The queue ---- */

static bool grow_queue(struct broker_machine *m)
{
    size_t cap = m->queue_cap ? 2 * m->queue_cap : 64;
    struct task_key *grown = malloc(cap * sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < m->queue_count; i++)
        grown[i] = m->queue[(m->queue_first + i) % m->queue_cap];
    free(m->queue);
    m->queue = grown;
    m->queue_cap = cap;
    m->queue_first = 0;
    return true;
}

void machine_queue(struct broker_machine *m, enum task_kind kind, const char *name, int32_t number)
{
    char *copy = name ? strdup(name) : NULL;
    if ((name && !copy) || (m->queue_count == m->queue_cap && !grow_queue(m))) {
        free(copy);
        machine_nomem(m);
        return;
    }
    m->queue[(m->queue_first + m->queue_count) % m->queue_cap] =
        (struct task_key){.kind = kind, .name = copy, .number = number};
    m->queue_count++;
    m->reads += is_read(kind);
}

static bool is_key(const struct task_key *k, enum task_kind kind, const char *name)
{
    return k->kind == kind && (!name || strcmp(k->name, name) == 0);
}

static bool is_queued(const struct broker_machine *m, enum task_kind kind, const char *name)
{
    for (size_t i = 0; i < m->queue_count; i++)
        if (is_key(&m->queue[(m->queue_first + i) % m->queue_cap], kind, name))
            return true;
    return false;
}

bool machine_has_task(const struct broker_machine *m, enum task_kind kind, const char *name)
{
    for (size_t i = 0; i < BROKER_OPS_MAX; i++)
        if (m->tasks[i].state != TASK_FREE && is_key(&m->tasks[i].key, kind, name))
            return true;
    return is_queued(m, kind, name);
}

static void queue_once(struct broker_machine *m, enum task_kind kind)
{
    if (!is_queued(m, kind, NULL))
        machine_queue(m, kind, NULL, 0);
}

void machine_elect(struct broker_machine *m)
{
    m->elects_again = machine_has_task(m, TASK_ELECT, NULL);
    if (!m->elects_again)
        machine_queue(m, TASK_ELECT, NULL, 0);
}

void machine_queue_state(struct broker_machine *m, struct view_topic *t, struct view_partition *p)
{
    if (!p->is_queued)
        machine_queue(m, TASK_STATE, t->name, p->partition);
    p->is_queued = true;
}

void machine_queue_topic(struct broker_machine *m, struct view_topic *t)
{
    if (!t->is_queued)
        machine_queue(m, TASK_TOPIC, t->name, 0);
    t->is_queued = true;
}

void machine_queue_config(struct broker_machine *m, struct view_topic *t)
{
    if (!t->is_config_queued)
        machine_queue(m, TASK_CONFIG, t->name, 0);
    t->is_config_queued = true;
}

/* ---- Tasks ---- */

static void end_task(struct broker_machine *m, struct task *t)
{
    m->reads -= is_read(t->key.kind);
    free(t->key.name);
    free(t->path);
    buf_deinit(&t->data);
    creator_deinit(&t->creator);
    tree_deleter_deinit(&t->deleter);
    uint32_t seq = t->seq;
    *t = (struct task){.state = TASK_FREE, .seq = seq};
    buf_init(&t->data, ZK_DATA_BYTES_MAX);
}

static void send_op(struct broker_machine *m, struct task *t)
{
    t->state = m->is_connected ? TASK_SENT : TASK_PARKED;
    if (t->state == TASK_PARKED)
        return;
    t->seq++;
    struct broker_output *o = machine_emit(m, BROKER_OUT_OP);
    o->op.slot = (uint32_t)(t - m->tasks);
    o->op.seq = t->seq;
    o->op.op = t->op;
}

static void take_step(struct broker_machine *m, struct task *t, enum task_step step)
{
    if (step == TASK_DONE || m->out_of_memory)
        end_task(m, t);
    else if (step == TASK_WAIT)
        t->state = TASK_WAITING;
    else
        send_op(m, t);
}

static struct task *free_task(struct broker_machine *m)
{
    for (size_t i = 0; i < BROKER_OPS_MAX; i++)
        if (m->tasks[i].state == TASK_FREE)
            return &m->tasks[i];
    return NULL;
}

/* Begins what is queued, as far as there are slots. */
static void run_queue(struct broker_machine *m)
{
    struct task *t;
    while (m->is_connected && m->queue_count && !m->out_of_memory && (t = free_task(m))) {
        t->key = m->queue[m->queue_first];
        m->queue_first = (m->queue_first + 1) % m->queue_cap;
        m->queue_count--;
        take_step(m, t, types[t->key.kind].begin(m, t));
    }
}

static enum task_step nomem(struct broker_machine *m)
{
    machine_nomem(m);
    return TASK_DONE;
}

static bool take_path(struct task *t, char *path)
{
    if (path != t->path)
        free(t->path);
    t->path = path;
    return path != NULL;
}

enum task_step task_op(struct broker_machine *m, struct task *t, enum zk_op_type type, char *path,
                       bool watch)
{
    if (!take_path(t, path))
        return nomem(m);
    t->op = (struct zk_op){.type = type, .path = path, .watch = watch, .version = ZK_ANY_VERSION};
    return TASK_SEND;
}

enum task_step task_set(struct broker_machine *m, struct task *t, char *path, int32_t version)
{
    if (!take_path(t, path) || t->data.failed)
        return nomem(m);
    t->op = (struct zk_op){
        .type = ZK_OP_SET, .path = path, .data = buf_bytes(&t->data), .version = version};
    return TASK_SEND;
}

enum task_step task_create(struct broker_machine *m, struct task *t, char *path, bool ephemeral,
                           bool has_data)
{
    creator_deinit(&t->creator);
    if (!take_path(t, path) || t->data.failed)
        return nomem(m);
    struct bytes data = has_data ? buf_bytes(&t->data) : BYTES_NULL;
    if (creator_begin(&t->creator, path, data, ephemeral, &t->op) != ZKC_OK)
        return nomem(m);
    return TASK_SEND;
}

struct view_topic *machine_topic(struct broker_machine *m, const char *name)
{
    size_t at;
    return cluster_view_find_topic(&m->view, bytes_of_text(name), &at);
}

struct view_partition *machine_partition(struct broker_machine *m, const char *topic,
                                         int32_t partition, struct view_topic **t)
{
    *t = machine_topic(m, topic);
    return *t ? (struct view_partition *)view_topic_partition(*t, partition) : NULL;
}

/* ---- Inputs ---- */

static void drop_tasks(struct broker_machine *m)
{
    for (size_t i = 0; i < BROKER_OPS_MAX; i++)
        if (m->tasks[i].state != TASK_FREE)
            end_task(m, &m->tasks[i]);
    for (size_t i = 0; i < m->queue_count; i++)
        free(m->queue[(m->queue_first + i) % m->queue_cap].name);
    m->queue_count = 0;
    m->reads = 0;
    m->elects_again = false;
    m->register_at_ms = m->resend_at_ms = INT64_MAX;
    for (size_t i = 0; i < m->view.topic_count; i++) {
        struct view_topic *t = &m->view.topics[i];
        t->is_queued = t->is_config_queued = false;
        for (size_t j = 0; j < t->partition_count; j++)
            t->partitions[j].is_queued = t->partitions[j].is_writing = false;
    }
}

static void resend(struct broker_machine *m)
{
    m->resend_at_ms = INT64_MAX;
    for (size_t i = 0; i < BROKER_OPS_MAX; i++)
        if (m->tasks[i].state == TASK_PARKED)
            send_op(m, &m->tasks[i]);
}

static void lose_session(struct broker_machine *m)
{
    drop_tasks(m);
    machine_resign(m);
    m->is_registered = false;
    m->brokers_read = m->topics_read = m->was_settled = false;
}

static void on_connected(struct broker_machine *m, const struct broker_input *in)
{
    m->is_connected = true;
    if (m->state == MACHINE_RUNNING && !in->connected.is_new) {
        resend(m);
        return;
    }
    lose_session(m); /* if its end was not told */
    m->state = MACHINE_RUNNING;
    m->session_id = in->connected.session_id;
    m->session++;
    machine_queue(m, TASK_PATHS, NULL, 0);
}

static void on_result(struct broker_machine *m, const struct broker_input *in)
{
    assert(in->result.slot < BROKER_OPS_MAX);
    struct task *t = &m->tasks[in->result.slot];
    if (t->state != TASK_SENT || t->seq != in->result.seq)
        return; /* of an operation that was given up */
    if (zk_rc_is_retriable(in->result.result->zk_rc)) {
        t->state = TASK_PARKED;
        if (m->is_connected)
            m->resend_at_ms = m->now_ms + RESEND_MS;
        return;
    }
    take_step(m, t, types[t->key.kind].answer(m, t, in->result.result));
}

/* Runs the registration again, which waits for another session's node to go. */
static void register_again(struct broker_machine *m)
{
    m->register_at_ms = INT64_MAX;
    for (size_t i = 0; i < BROKER_OPS_MAX; i++) {
        struct task *t = &m->tasks[i];
        if (t->state == TASK_WAITING && t->key.kind == TASK_REGISTER)
            take_step(m, t, register_begin(m, t));
    }
}

static void on_topic_watch(struct broker_machine *m, struct bytes name, int32_t partition)
{
    size_t at;
    struct view_topic *t = cluster_view_find_topic(&m->view, name, &at);
    struct view_partition *p =
        t ? (struct view_partition *)view_topic_partition(t, partition) : NULL;
    if (t && partition < 0)
        machine_queue_topic(m, t);
    else if (p)
        machine_queue_state(m, t, p);
}

static void on_watch(struct broker_machine *m, const struct zk_watch_event *e)
{
    struct zk_path_parts parts = zk_path_parse(e->path);
    static const char configs[] = ZK_PATH_TOPIC_CONFIGS "/";
    if (strcmp(e->path, ZK_PATH_BROKER_IDS) == 0)
        queue_once(m, TASK_BROKERS);
    else if (strcmp(e->path, ZK_PATH_BROKER_TOPICS) == 0)
        queue_once(m, TASK_TOPICS);
    else if (strcmp(e->path, ZK_PATH_CONTROLLER) == 0)
        machine_elect(m);
    else if (strcmp(e->path, ZK_PATH_DELETE_TOPICS) == 0 && m->is_controller)
        queue_once(m, TASK_DELETES);
    else if (strcmp(e->path, ZK_PATH_PREFERRED_ELECTION) == 0 && m->is_controller)
        machine_queue(m, TASK_TOOL_REQUEST, NULL, TOOL_PREFERRED);
    else if (strcmp(e->path, ZK_PATH_REASSIGN) == 0 && m->is_controller)
        machine_queue(m, TASK_TOOL_REQUEST, NULL, TOOL_REASSIGN);
    else if (parts.kind == ZK_PATH_TOPIC)
        on_topic_watch(m, parts.topic, -1);
    else if (parts.kind == ZK_PATH_PARTITION_STATE)
        on_topic_watch(m, parts.topic, parts.partition);
    else if (parts.kind == ZK_PATH_BROKER)
        register_again(m);
    else if (strncmp(e->path, configs, sizeof configs - 1) == 0) {
        struct view_topic *t = machine_topic(m, e->path + sizeof configs - 1);
        if (t)
            machine_queue_config(m, t);
    }
}

static void on_time(struct broker_machine *m)
{
    if (m->now_ms >= m->register_at_ms)
        register_again(m);
    if (m->now_ms >= m->resend_at_ms)
        resend(m);
}

static void on_create_topic(struct broker_machine *m, struct bytes name)
{
    char text[TOPIC_NAME_MAX + 1];
    if (!m->config.auto_create_topics || !topic_name_may_be_created(name))
        return;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    if (!machine_topic(m, text) && m->queue_count < QUEUED_FOR_CREATES_MAX &&
        !machine_has_task(m, TASK_CREATE_TOPIC, text))
        machine_queue(m, TASK_CREATE_TOPIC, text, 0);
}

static void stop(struct broker_machine *m)
{
    drop_tasks(m);
    m->state = MACHINE_STOPPED;
}

static void take_input(struct broker_machine *m, const struct broker_input *in)
{
    switch (in->type) {
    case BROKER_IN_CONNECTED: on_connected(m, in); break;
    case BROKER_IN_DISCONNECTED:
        m->is_connected = false;
        m->resend_at_ms = INT64_MAX;
        break;
    case BROKER_IN_EXPIRED:
        m->is_connected = false;
        lose_session(m);
        break;
    case BROKER_IN_RESULT: on_result(m, in); break;
    case BROKER_IN_WATCH: on_watch(m, &in->watch); break;
    case BROKER_IN_TIME: on_time(m); break;
    case BROKER_IN_CREATE_TOPIC: on_create_topic(m, in->create_topic); break;
    case BROKER_IN_HOST_FAILED:
        machine_host_failed(m, in->host_failed.topic, in->host_failed.partition);
        break;
    case BROKER_IN_STOP: stop(m); break;
    }
}

static bool may_settle(const struct broker_machine *m)
{
    if (!m->brokers_read || !m->topics_read)
        return false;
    if (m->was_settled && m->now_ms >= m->host_retry_ms)
        return true;
    return m->is_dirty &&
           (m->reads == 0 || (m->was_settled && m->now_ms - m->dirty_ms >= SETTLE_MS));
}

void broker_machine_step(struct broker_machine *m, const struct broker_input *in,
                         struct broker_outputs *out)
{
    m->out_count = 0;
    arena_clear(&m->texts);
    m->now_ms = in->now_ms;
    m->wall_ms = in->wall_ms;
    if (m->state != MACHINE_STOPPED && !m->out_of_memory) {
        take_input(m, in);
        run_queue(m);
        while (!m->out_of_memory && may_settle(m)) {
            machine_settle(m);
            run_queue(m);
        }
    }
    *out = (struct broker_outputs){.list = m->out, .count = m->out_count};
    if (m->out_of_memory) {
        m->fatal = (struct broker_output){.type = BROKER_OUT_FATAL,
                                          .notice = {.level = 3, .text = "out of memory"}};
        *out = (struct broker_outputs){.list = &m->fatal, .count = 1};
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t broker_machine_deadline_ms(const struct broker_machine *m)
{
    if (m->state != MACHINE_RUNNING || m->out_of_memory)
        return INT64_MAX;
    int64_t at = earlier(m->register_at_ms, m->resend_at_ms);
    if (m->was_settled)
        at = earlier(at, m->host_retry_ms);
    if (m->was_settled && m->is_dirty)
        at = earlier(at, m->dirty_ms + SETTLE_MS);
    return at;
}

const struct cluster_view *broker_machine_view(const struct broker_machine *m)
{
    return &m->view;
}

const char *broker_machine_state_name(const struct broker_machine *m)
{
    if (m->state == MACHINE_NEW)
        return "new";
    if (m->state == MACHINE_STOPPED)
        return "stopped";
    if (m->is_ready)
        return "ready";
    return m->is_registered ? "reading" : "registering";
}

enum zkc_err broker_machine_new(const struct broker_config *config, struct broker_machine **out)
{
    struct broker_machine *m = calloc(1, sizeof *m);
    char *host = strdup(config->host);
    if (!m || !host) {
        free(m);
        free(host);
        return ZKC_ERR_NOMEM;
    }
    m->config = *config;
    m->config.host = host;
    m->view.controller_id = -1;
    m->register_at_ms = m->resend_at_ms = m->host_retry_ms = INT64_MAX;
    rng_init(&m->rng, config->seed);
    arena_init(&m->texts, TEXTS_BYTES_MAX);
    for (size_t i = 0; i < BROKER_OPS_MAX; i++)
        buf_init(&m->tasks[i].data, ZK_DATA_BYTES_MAX);
    *out = m;
    return ZKC_OK;
}

void broker_machine_free(struct broker_machine *m)
{
    if (!m)
        return;
    drop_tasks(m);
    free(m->queue);
    for (size_t i = 0; i < m->hosted_count; i++)
        machine_free_hosted(&m->hosted[i]);
    free(m->hosted);
    machine_free_deletes(m);
    cluster_view_deinit(&m->view);
    arena_deinit(&m->texts);
    free(m->out);
    free((char *)m->config.host);
    free(m);
}
