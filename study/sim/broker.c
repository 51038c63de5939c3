/* Brokers as counters: how many messages a partition has at a time is a formula, an answer is a run
 * of offsets. */
#include "study/sim/world.h"
#include <stdio.h>
#include <string.h>

#define SESSION_NS (6 * SIM_S) /* of a broker: until its ids node goes after a crash */

/* ---- the truth ---- */

#define MHZ_NS 1000000000000ull /* a rate of 1 mHz is a message in so many nanoseconds */

int64_t log_end(const struct log_state *l, uint64_t t_ns)
{
    if (t_ns <= l->born_ns)
        return l->initial;
    return l->initial + (int64_t)((t_ns - l->born_ns) * l->rate_mhz / MHZ_NS);
}

uint64_t log_time_of(const struct log_state *l, int64_t offset)
{
    if (offset < l->initial)
        return l->born_ns;
    if (l->rate_mhz == 0)
        return SIM_NEVER;
    uint64_t number = (uint64_t)(offset - l->initial) + 1;
    if (number > UINT64_MAX / MHZ_NS)
        return SIM_NEVER;
    return l->born_ns + (number * MHZ_NS + l->rate_mhz - 1) / l->rate_mhz;
}

struct topic_state *world_topic(struct sim *w, const char *name)
{
    for (size_t i = 0; i < w->topic_count; i++)
        if (strcmp(w->topics[i].name, name) == 0)
            return &w->topics[i];
    return NULL;
}

void world_grow_topic(struct sim *w, struct topic_state *t, int32_t partitions)
{
    int32_t brokers = (int32_t)w->config.brokers.count;
    if (partitions > t->logs_cap) {
        t->logs = pool_resize(&w->pool, t->logs, (size_t)partitions * sizeof *t->logs);
        t->logs_cap = partitions;
    }
    for (int32_t p = t->partitions; p < partitions; p++)
        t->logs[p] = (struct log_state){.leader = brokers ? p % brokers : -1,
                                        .born_ns = world_now(w),
                                        .rate_mhz = t->rate_mhz,
                                        .stored = -1,
                                        .hash = trace_partition_hash(t->name, p)};
    t->partitions = partitions;
}

void world_drop_topic(struct sim *w, struct topic_state *t)
{
    for (int32_t p = 0; p < t->partitions; p++)
        ledger_tell(w, t, p);
    t->partitions = 0;
    t->is_gone = true;
}

void world_make_again(struct sim *w, struct topic_state *t)
{
    int32_t partitions = t->partitions_due;
    t->partitions_due = 0;
    t->is_gone = false;
    world_grow_topic(w, t, partitions);
}

uint32_t world_add_topic(struct sim *w, const char *name, int32_t partitions, uint64_t rate_mhz,
                         int64_t initial)
{
    if (w->topic_count == w->topic_cap) {
        w->topic_cap = w->topic_cap ? w->topic_cap * 2 : 8;
        w->topics = pool_resize(&w->pool, w->topics, w->topic_cap * sizeof *w->topics);
    }
    size_t len = strlen(name) + 1;
    struct topic_state *t = &w->topics[w->topic_count];
    *t = (struct topic_state){.name = pool_take(&w->pool, len), .rate_mhz = rate_mhz};
    memcpy(t->name, name, len);
    world_grow_topic(w, t, partitions);
    for (int32_t p = 0; p < partitions; p++)
        t->logs[p].initial = initial;
    return (uint32_t)w->topic_count++;
}

/* What Kafka writes into /brokers/topics/<t>, with one replica each. */
char *world_topic_json(int32_t partitions, char *text, size_t size, size_t brokers)
{
    size_t n = (size_t)snprintf(text, size, "{\"version\":1,\"partitions\":{");
    for (int32_t p = 0; p < partitions && n < size; p++)
        n += (size_t)snprintf(text + n, size - n, "%s\"%d\":[%d]", p ? "," : "", p,
                              brokers ? p % (int32_t)brokers : 0);
    if (n < size)
        snprintf(text + n, size - n, "}}");
    return text;
}

void ledger_tell(struct sim *w, const struct topic_state *t, int32_t partition)
{
    struct log_state *l = &t->logs[partition];
    int64_t end = log_end(l, world_now(w));
    if (end <= l->told)
        return;
    struct trace_event e = tracer_event(&w->tracer, TRACE_PRODUCE, NULL);
    e.produce.p = (struct topic_partition){t->name, partition};
    e.produce.first = l->told;
    e.produce.last = end - 1;
    e.produce.first_ns = log_time_of(l, l->told);
    e.produce.last_ns = log_time_of(l, end - 1);
    e.produce.hash = trace_messages_hash(l->hash, l->told, end - 1);
    l->told = end;
    tracer_emit(&w->tracer, &w->src_ledger, &e);
}

/* ---- fetches ---- */

static struct log_state *led_here(struct broker *b, uint32_t topic, int32_t partition)
{
    struct topic_state *t = &b->world->topics[topic];
    struct log_state *l = partition < t->partitions ? &t->logs[partition] : NULL;
    return l && l->leader == b->id ? l : NULL;
}

static bool is_urgent(struct broker *b, const struct fetch_msg *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (f->items[i].offset < 0 || !led_here(b, f->items[i].topic, f->items[i].partition))
            return true;
    return false;
}

static int64_t available(struct broker *b, const struct fetch_msg *f, uint64_t t_ns)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct fetch_item *item = &f->items[i];
        int64_t end = log_end(led_here(b, item->topic, item->partition), t_ns);
        n += end > item->offset ? end - item->offset : 0;
    }
    return n;
}

/* The same when one message is enough. */
static uint64_t one_at(struct broker *b, const struct fetch_msg *f, uint64_t from_ns,
                       uint64_t until_ns)
{
    uint64_t first = until_ns;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct fetch_item *item = &f->items[i];
        uint64_t t = log_time_of(led_here(b, item->topic, item->partition), item->offset);
        first = t < first ? t : first;
    }
    return first < from_ns ? from_ns : first;
}

/* The first time in (now, until] at which there is enough; until if there is none. */
static uint64_t enough_at(struct broker *b, const struct fetch_msg *f, uint64_t until_ns)
{
    uint64_t low = world_now(b->world), high = until_ns;
    if (f->min == 1)
        return one_at(b, f, low + 1, until_ns);
    if (available(b, f, until_ns) < f->min)
        return until_ns;
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;
        if (available(b, f, mid) >= f->min)
            high = mid;
        else
            low = mid;
    }
    return high;
}

static void fill(struct broker *b, struct fetch_msg *f)
{
    uint64_t now = world_now(b->world);
    for (uint32_t i = 0; i < f->count; i++) {
        struct fetch_item *item = &f->items[i];
        const struct log_state *l = led_here(b, item->topic, item->partition);
        item->is_refused = !l;
        if (!l)
            continue;
        int64_t end = log_end(l, now);
        if (item->offset < 0 || item->offset > end) {
            item->offset = f->reset_largest ? end : 0;
            item->count = 0;
            continue;
        }
        item->count = end - item->offset;
        if (item->count > f->max)
            item->count = f->max;
    }
}

static void answer_fetch(void *self, void *arg)
{
    struct broker *b = self;
    struct fetch_msg *f = arg;
    struct conn *c = f->conn;
    fill(b, f);
    f->type = MSG_FETCHED;
    conn_send(c, &b->node, f);
    conn_let_go(c);
}

static void take_fetch(struct broker *b, struct conn *c, struct fetch_msg *f)
{
    uint64_t now = world_now(b->world);
    b->cpu_until_ns =
        (b->cpu_until_ns > now ? b->cpu_until_ns : now) + b->world->config.brokers.service_ns;
    f->conn = c;
    conn_keep(c);
    uint64_t at = b->cpu_until_ns;
    if (!is_urgent(b, f) && available(b, f, now) < f->min)
        at = enough_at(b, f, now + f->wait_ns) + b->world->config.brokers.service_ns;
    node_later(&b->node, at, answer_fetch, f);
}

/* ---- metadata ---- */

static void answer_leaders(struct broker *b, struct conn *c, const struct metadata_msg *asked)
{
    struct sim *w = b->world;
    size_t n = 0;
    for (uint32_t i = 0; i < asked->count; i++)
        n += (size_t)w->topics[asked->items[i].topic].partitions;
    struct metadata_msg *a = pool_take(&w->pool, sizeof *a + n * sizeof a->items[0]);
    a->type = MSG_LEADERS;
    a->seq = asked->seq;
    for (uint32_t i = 0; i < asked->count; i++) {
        const struct topic_state *t = &w->topics[asked->items[i].topic];
        for (int32_t p = 0; p < t->partitions; p++) {
            int32_t leader = t->logs[p].leader;
            if (leader >= 0 && w->brokers[leader].node.is_up)
                a->items[a->count++] = (struct leader_item){asked->items[i].topic, p, leader};
        }
    }
    conn_send(c, &b->node, a);
}

/* ---- the process ---- */

static void opened(void *self, struct conn *c)
{
    (void)self;
    (void)c;
}

static void came(void *self, struct conn *c, void *message)
{
    struct broker *b = self;
    struct msg *m = message;
    if (m->type == MSG_FETCH) {
        take_fetch(b, c, message);
        return;
    }
    if (m->type == MSG_OFFSETS)
        broker_take_offsets(b, c, message);
    else
        answer_leaders(b, c, message);
    msg_free(&b->world->pool, message);
}

static void closed(void *self, struct conn *c)
{
    (void)self;
    (void)c;
}

static const struct node_ops BROKER_OPS = {opened, came, closed};

static const char *ids_path(const struct broker *b, char *path, size_t size)
{
    snprintf(path, size, "/brokers/ids/%d", b->id);
    return path;
}

static const char *ids_data(const struct broker *b, char *data, size_t size)
{
    snprintf(data, size,
             "{\"jmx_port\":-1,\"timestamp\":\"1424990000000\",\"host\":\"b%d\",\"version\":1,"
             "\"port\":9092}",
             b->id);
    return data;
}

void brokers_init(struct sim *w)
{
    w->brokers = pool_take(&w->pool, (w->config.brokers.count + 1) * sizeof *w->brokers);
    for (unsigned i = 0; i < w->config.brokers.count; i++) {
        struct broker *b = &w->brokers[i];
        char name[NODE_NAME_SIZE];
        snprintf(name, sizeof name, "b%u", i);
        b->world = w;
        b->id = (int32_t)i;
        node_init(&b->node, &w->net, name, NODE_BROKER, &BROKER_OPS, b);
        b->source.name = b->node.name;
    }
}

void brokers_start(struct sim *w)
{
    char path[64], data[200];
    for (unsigned i = 0; i < w->config.brokers.count; i++) {
        node_start(&w->brokers[i].node);
        if (!w->config.brokers.without_listeners)
            zk_ensemble_preset(&w->zk, ids_path(&w->brokers[i], path, sizeof path),
                               ids_data(&w->brokers[i], data, sizeof data));
    }
}

struct ids_job {
    struct broker *broker;
    uint32_t registration;
};

static void session_ended(void *actor, void *arg)
{
    struct broker *b = actor;
    struct ids_job *job = arg;
    bool is_gone = b->registration == job->registration;
    char path[64];
    pool_give(&b->world->pool, job);
    if (is_gone)
        zk_ensemble_write(&b->world->zk, ZK_DO_DELETE, ids_path(b, path, sizeof path), NULL);
}

void broker_crash(struct broker *b)
{
    if (!b->node.is_up)
        return;
    node_crash(&b->node);
    manager_crashed(b);
    struct ids_job *job = pool_take(&b->world->pool, sizeof *job);
    job->registration = ++b->registration;
    kernel_at(&b->world->kernel, world_now(b->world) + SESSION_NS, session_ended, b, job);
}

void broker_restart(struct broker *b)
{
    char path[64], data[200];
    if (b->node.is_up)
        return;
    node_start(&b->node);
    b->cpu_until_ns = 0;
    b->registration++;
    manager_restarted(b->world);
    zk_ensemble_write(&b->world->zk, ZK_DO_CREATE, ids_path(b, path, sizeof path),
                      ids_data(b, data, sizeof data));
}
