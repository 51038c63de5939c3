/* The group's offset manager: one of the brokers, as Kafka 0.8.2's OffsetManager and the KafkaApis
 * around it have it. What it keeps is in its log, so that the next one has it too, once it has read
 * it. A commit is carried out when its broker is still the manager by then, in the order of
 * arrival; who waits longer than offsets.commit.timeout.ms is told so, and it is carried out all
 * the same. */
#include "study/sim/world.h"
#include "zkconsumer/core/wire/kafka_error.h"

#define COMMIT_TIMEOUT_NS (5 * SIM_S) /* offsets.commit.timeout.ms */
#define MOVE_NS           (2 * SIM_S) /* at most, until the manager that has died has a successor */
#define LOAD_NS           (2 * SIM_S) /* at most, until a new one has read the log */
#define LEARN_NS          (3 * SIM_S) /* at most, until it knows all topics */

void manager_init(struct sim *w)
{
    unsigned count = w->config.brokers.count;
    w->manager_stream = stream_of(w->config.seed, "manager", "moves");
    w->manager = count ? (int32_t)stream_below(&w->manager_stream, count) : -1;
}

bool broker_manages(struct broker *b)
{
    struct sim *w = b->world;
    uint64_t now = world_now(w);
    if (!w->has_manager || !b->node.is_up || w->manager == b->id)
        return false;
    w->manager = b->id;
    w->manager_turn++;
    b->loads_until_ns = now + stream_below(&w->manager_stream, LOAD_NS);
    b->learns_until_ns =
        stream_below(&w->manager_stream, 3) ? 0 : now + stream_below(&w->manager_stream, LEARN_NS);
    return true;
}

struct move {
    uint32_t turn;
};

/* The next one that is up. */
static void move(void *actor, void *arg)
{
    struct sim *w = actor;
    struct move *move = arg;
    bool is_late = move->turn != w->manager_turn;
    unsigned count = w->config.brokers.count;
    unsigned first = (unsigned)stream_below(&w->manager_stream, count);
    pool_give(&w->pool, move);
    for (unsigned i = 0; !is_late && i < count; i++)
        if (broker_manages(&w->brokers[(first + i) % count]))
            return;
}

static void begin_move(struct sim *w)
{
    struct move *m = pool_take(&w->pool, sizeof *m);
    m->turn = ++w->manager_turn;
    w->manager = -1;
    kernel_at(&w->kernel, world_now(w) + stream_below(&w->manager_stream, MOVE_NS), move, w, m);
}

void manager_crashed(struct broker *b)
{
    struct sim *w = b->world;
    b->store_ns = 0;
    if (w->has_manager && w->manager == b->id)
        begin_move(w);
}

void manager_restarted(struct sim *w)
{
    if (w->has_manager && w->manager < 0)
        begin_move(w);
}

static bool is_manager(const struct broker *b)
{
    return b->world->manager == b->id;
}

/* ---- answers ---- */

static void answer(struct broker *b, struct conn *c, struct offsets_msg *a)
{
    enum sim_point point = a->request == GROUP_OFFSETS_COMMIT ? SIM_POINT_STORE : SIM_POINT_STORED;
    a->type = MSG_OFFSETS_ANSWER;
    if (a->request != GROUP_OFFSETS_FIND &&
        faults_lose_answer(b->world, conn_peer(c, &b->node), point)) {
        msg_free(&b->world->pool, a);
        conn_close(c, &b->node);
    } else {
        conn_send(c, &b->node, a);
    }
}

static void set_errors(struct offsets_msg *a, int16_t kafka_error)
{
    for (uint32_t i = 0; i < a->count; i++)
        a->items[i].kafka_error = kafka_error;
}

/* Any broker knows; it may not be so any more when the answer is there. */
static void find(struct broker *b, struct offsets_msg *a)
{
    a->broker = b->world->manager;
    a->kafka_error = a->broker < 0 ? KAFKA_ERR_COORDINATOR_NOT_AVAILABLE : KAFKA_ERR_NONE;
}

static void fetch(struct broker *b, struct offsets_msg *a)
{
    struct sim *w = b->world;
    uint64_t now = world_now(w);
    int16_t kafka_error = !is_manager(b)            ? KAFKA_ERR_NOT_COORDINATOR
                          : now < b->loads_until_ns ? KAFKA_ERR_COORDINATOR_LOAD_IN_PROGRESS
                                                    : KAFKA_ERR_NONE;
    set_errors(a, kafka_error);
    for (uint32_t i = 0; i < a->count; i++) {
        struct offsets_item *item = &a->items[i];
        const struct topic_state *t = &w->topics[item->topic];
        bool is_known = now >= b->learns_until_ns && item->partition < t->partitions;
        if (!kafka_error && !is_known)
            item->kafka_error = KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION;
        item->offset = item->kafka_error ? -1 : t->logs[item->partition].stored;
    }
}

/* ---- commits ---- */

static void store(struct broker *b, struct conn *c, const struct offsets_msg *a)
{
    struct sim *w = b->world;
    const struct node *asker = conn_peer(c, &b->node);
    for (uint32_t i = 0; i < a->count; i++) {
        const struct offsets_item *item = &a->items[i];
        struct topic_state *t = &w->topics[item->topic];
        struct log_state *l = &t->logs[item->partition];
        struct trace_event e = tracer_event(&w->tracer, TRACE_STORE, asker->name);
        e.store.p = (struct topic_partition){t->name, item->partition};
        e.store.offset = item->offset;
        e.store.previous = l->stored;
        e.store.session = a->session;
        e.store.sent_ns = a->sent_ns;
        e.store.is_awaited = !a->is_answered && c->is_open[conn_side(c, asker)];
        l->stored = item->offset;
        tracer_emit(&w->tracer, &b->source, &e);
    }
}

static void commit_is_due(void *self, void *arg)
{
    struct broker *b = self;
    struct offsets_msg *a = arg;
    struct conn *c = a->conn;
    if (is_manager(b))
        store(b, c, a);
    set_errors(a, is_manager(b) ? KAFKA_ERR_NONE : KAFKA_ERR_NOT_COORDINATOR);
    if (a->is_answered)
        msg_free(&b->world->pool, a);
    else
        answer(b, c, a);
    conn_let_go(c);
}

static struct offsets_msg *copy_of(struct sim *w, const struct offsets_msg *a)
{
    size_t size = sizeof *a + a->count * sizeof a->items[0];
    struct offsets_msg *copy = pool_take(&w->pool, size);
    memcpy(copy, a, size);
    return copy;
}

static void time_is_up(void *self, void *arg)
{
    struct broker *b = self;
    struct offsets_msg *a = arg;
    struct conn *c = a->conn;
    set_errors(a, KAFKA_ERR_REQUEST_TIMED_OUT);
    answer(b, c, a);
    conn_let_go(c);
}

static void take_commit(struct broker *b, struct conn *c, struct offsets_msg *a)
{
    uint64_t now = world_now(b->world), at = now + b->world->config.brokers.service_ns;
    if (!is_manager(b)) {
        set_errors(a, KAFKA_ERR_NOT_COORDINATOR);
        answer(b, c, a);
        return;
    }
    at += b->store_ns;
    if (at <= b->stored_until_ns)
        at = b->stored_until_ns + 1;
    b->stored_until_ns = at;
    a->conn = c;
    conn_keep(c);
    if (at > now + COMMIT_TIMEOUT_NS) {
        conn_keep(c);
        node_later(&b->node, now + COMMIT_TIMEOUT_NS, time_is_up, copy_of(b->world, a));
        a->is_answered = true;
    }
    node_later(&b->node, at, commit_is_due, a);
}

void broker_take_offsets(struct broker *b, struct conn *c, struct offsets_msg *asked)
{
    struct offsets_msg *a = copy_of(b->world, asked);
    switch (a->request) {
    case GROUP_OFFSETS_FIND: find(b, a); break;
    case GROUP_OFFSETS_FETCH: fetch(b, a); break;
    case GROUP_OFFSETS_COMMIT: take_commit(b, c, a); return;
    }
    answer(b, c, a);
}
