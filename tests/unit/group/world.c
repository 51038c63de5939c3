#include "tests/unit/group/world.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/path.h"

#define MEMBER_NAME    "g_m%d"
#define OPEN_OPS_MAX   16
#define QUIET_MS       100000
#define TIME_FEEDS_MAX 50 /* without the time going on */

enum message_kind {
    MESSAGE_REQUEST, /* member to server */
    MESSAGE_ANSWER,  /* server to member */
    MESSAGE_WATCH,
    MESSAGE_CUT,     /* the member notices that its connection is gone */
    MESSAGE_CONNECT, /* the member's link is there again */
    MESSAGE_EXPIRE,  /* the server ends a session that was not heard of */
    MESSAGE_DUE,     /* the shell's answer to an output */
};

struct message {
    int64_t at_ms;
    uint64_t order;
    enum message_kind kind;
    struct world_member *member;
    uint32_t connection; /* messages of an older one are lost */
    enum group_lane lane;
    uint32_t seq;
    struct zk_op op; /* its path and data are owned */
    struct zk_result result;
    struct zk_watch_event event;
    enum group_input_type due;
    int64_t session;
};

struct open_op {
    enum group_lane lane;
    uint32_t seq;
    bool is_abandoned; /* the machine does not wait for it any more */
};

/* The part of a member that tests do not look at. */
struct world_link {
    struct zk_subscription *subscriptions;
    size_t subscription_count;
    enum assign_strategy strategy;
    bool is_connected; /* as the member knows it */
    bool is_up;        /* as it is */
    uint32_t connection;
    int64_t last_request_ms, last_answer_ms, last_due_ms;
    int64_t lost_touch_ms; /* when the server last lost the connection */
    struct fake_zk_client client;
    struct open_op open[OPEN_OPS_MAX];
    size_t open_count;
    bool is_fetching; /* between assignment and stop */
    bool has_leader[WORLD_POSITIONS_MAX];
    char *topics[WORLD_POSITIONS_MAX]; /* behind the positions */
    size_t topic_count;
    int64_t time_fed_at_ms;
    int time_fed;
    char **asked;
    size_t asked_count, asked_cap;
};

struct world {
    struct world_options options;
    struct fake_zk *zk;
    struct rng rng;
    int64_t now_ms;
    uint64_t order;
    struct message **heap;
    size_t heap_count, heap_cap;
    struct message *held[64];
    size_t held_count;
    world_hook *hook;
    void *hook_user;
    struct world_member members[WORLD_MEMBERS_MAX];
    size_t member_count;
    struct group_outputs out;
    unsigned long seen; /* what outputs point to is read, so that sanitizers see it */
};

static void feed(struct world_member *m, struct group_input *in);

/* ---- messages ---- */

static bool is_before(const struct message *a, const struct message *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void swap(struct message **a, struct message **b)
{
    struct message *m = *a;
    *a = *b;
    *b = m;
}

static void post(struct world *w, struct message *msg)
{
    msg->order = w->order++;
    if (w->heap_count == w->heap_cap) {
        w->heap_cap = w->heap_cap ? w->heap_cap * 2 : 64;
        w->heap = realloc(w->heap, w->heap_cap * sizeof *w->heap);
        assert_non_null(w->heap);
    }
    size_t i = w->heap_count++;
    w->heap[i] = msg;
    for (; i > 0 && is_before(w->heap[i], w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&w->heap[i], &w->heap[(i - 1) / 2]);
}

static struct message *take(struct world *w)
{
    struct message *first = w->heap[0];
    w->heap[0] = w->heap[--w->heap_count];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2; k++)
            if (k < w->heap_count && is_before(w->heap[k], w->heap[least]))
                least = k;
        if (least == i)
            return first;
        swap(&w->heap[i], &w->heap[least]);
        i = least;
    }
}

static void message_free(struct message *msg)
{
    free((char *)(uintptr_t)msg->op.path);
    free((uint8_t *)(uintptr_t)msg->op.data.data);
    free((uint8_t *)(uintptr_t)msg->result.data.data);
    for (size_t i = 0; i < msg->result.children_count; i++)
        free((char *)(uintptr_t)msg->result.children[i]);
    free((void *)(uintptr_t)msg->result.children);
    free((char *)(uintptr_t)msg->event.path);
    free(msg);
}

static struct bytes copy_bytes(struct bytes b)
{
    if (!b.data)
        return b;
    uint8_t *data = malloc(b.len + 1);
    assert_non_null(data);
    memcpy(data, b.data, b.len);
    return bytes_of(data, b.len);
}

static void copy_result(struct zk_result *to, const struct zk_result *from)
{
    *to = *from;
    to->data = copy_bytes(from->data);
    char **children = calloc(from->children_count + 1, sizeof *children);
    assert_non_null(children);
    for (size_t i = 0; i < from->children_count; i++)
        children[i] = strdup(from->children[i]);
    to->children = (const char *const *)children;
}

static struct message *message_new(struct world_member *m, enum message_kind kind, int64_t at_ms)
{
    struct message *msg = calloc(1, sizeof *msg);
    assert_non_null(msg);
    msg->kind = kind;
    msg->member = m;
    msg->at_ms = at_ms;
    msg->connection = m->link->connection;
    msg->session = m->session;
    return msg;
}

static int64_t later(struct world *w, int64_t *last_ms)
{
    int64_t at = w->now_ms;
    if (w->options.delay_max_ms > 0)
        at += (int64_t)rng_below(&w->rng, (uint64_t)w->options.delay_max_ms + 1);
    if (at < *last_ms)
        at = *last_ms; /* nothing overtakes on one connection */
    *last_ms = at;
    return at;
}

/* ---- the world ---- */

struct world *world_new(const struct world_options *options)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->options = *options;
    if (w->options.session_timeout_ms == 0)
        w->options.session_timeout_ms = 6000;
    w->zk = fake_zk_new();
    rng_init(&w->rng, options->seed);
    w->now_ms = 1000;
    world_put_broker(w, 0);
    fake_zk_put(w->zk, "/consumers", NULL);
    return w;
}

static void free_machine(struct world_member *m)
{
    zk_compat_free(m->machine);
    m->machine = NULL;
}

static void free_link(struct world_link *l)
{
    fake_zk_client_deinit(&l->client);
    for (size_t i = 0; i < l->asked_count; i++)
        free(l->asked[i]);
    for (size_t i = 0; i < l->topic_count; i++)
        free(l->topics[i]);
    for (size_t i = 0; i < l->subscription_count; i++)
        free(l->subscriptions[i].topic);
    free(l->subscriptions);
    free(l->asked);
    free(l);
}

void world_free(struct world *w)
{
    for (size_t i = 0; i < w->member_count; i++) {
        free_machine(&w->members[i]);
        free_link(w->members[i].link);
    }
    for (size_t i = 0; i < w->heap_count; i++)
        message_free(w->heap[i]);
    for (size_t i = 0; i < w->held_count; i++)
        message_free(w->held[i]);
    free(w->heap);
    fake_zk_free(w->zk);
    free(w);
}

struct fake_zk *world_zk(struct world *w)
{
    return w->zk;
}

int64_t world_now_ms(const struct world *w)
{
    return w->now_ms;
}

struct rng *world_rng(struct world *w)
{
    return &w->rng;
}

void world_set_hook(struct world *w, world_hook *hook, void *user)
{
    w->hook = hook;
    w->hook_user = user;
}

struct world_member *world_member_at(struct world *w, size_t i)
{
    return i < w->member_count ? &w->members[i] : NULL;
}

int world_told(const struct world_member *m, enum zkc_err err)
{
    return m->notices[-100 - (int)err];
}

/* What fired goes on its way before any later answer. */
static void send_events(struct world *w)
{
    int64_t session;
    struct zk_watch_event event;
    while (fake_zk_take_event(w->zk, &session, &event)) {
        for (size_t i = 0; i < w->member_count; i++) {
            struct world_member *m = &w->members[i];
            if (m->session != session || !m->machine || !m->link->is_up)
                continue;
            struct message *msg = message_new(m, MESSAGE_WATCH, later(w, &m->link->last_answer_ms));
            msg->event = (struct zk_watch_event){event.type, strdup(event.path)};
            post(w, msg);
        }
    }
}

void world_put(struct world *w, const char *path, const char *text)
{
    fake_zk_put(w->zk, path, text);
    send_events(w);
}

void world_remove(struct world *w, const char *path)
{
    fake_zk_remove(w->zk, path);
    send_events(w);
}

void world_put_topic(struct world *w, const char *topic, int partitions)
{
    char path[300], text[4000];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"version\":1,\"partitions\":{");
    for (int i = 0; i < partitions; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%d\":[0]", i ? "," : "", i);
    snprintf(text + n, sizeof text - n, "}}");
    snprintf(path, sizeof path, "/brokers/topics/%s", topic);
    world_put(w, path, text);
}

void world_put_broker(struct world *w, int id)
{
    char path[64], text[200];
    snprintf(path, sizeof path, "/brokers/ids/%d", id);
    snprintf(text, sizeof text,
             "{\"jmx_port\":-1,\"timestamp\":\"1\",\"host\":\"b%d\",\"version\":1,\"port\":9092}",
             id);
    world_put(w, path, text);
}

void world_remove_broker(struct world *w, int id)
{
    char path[64];
    snprintf(path, sizeof path, "/brokers/ids/%d", id);
    world_remove(w, path);
}

/* ---- the log ---- */

static void log_request(struct world_member *m, enum group_lane lane, const struct zk_op *op,
                        const char *outcome)
{
    struct world_link *l = m->link;
    static const char letters[GROUP_LANE_COUNT] = {'R', 'E', 'C', 'F'};
    char *text;
    bool has_data = op->data.data != NULL;
    int n =
        asprintf(&text, "%c %s%s %s%s%.*s%s%s", letters[lane], zk_op_name(op->type),
                 op->watch ? " w" : "", op->path, has_data ? " = " : "", (int)op->data.len,
                 has_data ? (const char *)op->data.data : "", outcome[0] ? " -> " : "", outcome);
    assert_true(n > 0);
    if (l->asked_count == l->asked_cap) {
        l->asked_cap = l->asked_cap ? l->asked_cap * 2 : 64;
        l->asked = realloc(l->asked, l->asked_cap * sizeof *l->asked);
        assert_non_null(l->asked);
    }
    l->asked[l->asked_count++] = text;
}

size_t world_asked_count(const struct world_member *m)
{
    return m->link->asked_count;
}

const char *world_asked(const struct world_member *m, size_t i)
{
    return m->link->asked[i];
}

void world_forget(struct world_member *m)
{
    for (size_t i = 0; i < m->link->asked_count; i++)
        free(m->link->asked[i]);
    m->link->asked_count = 0;
}

/* ---- the link ---- */

static void close_op(struct world_link *l, enum group_lane lane, uint32_t seq)
{
    for (size_t i = 0; i < l->open_count; i++)
        if (l->open[i].lane == lane && l->open[i].seq == seq) {
            l->open_count--;
            memmove(&l->open[i], &l->open[i + 1], (l->open_count - i) * sizeof l->open[0]);
            return;
        }
    fail_msg("an answer to nothing");
}

static void feed_loss(struct world_member *m, int zk_rc)
{
    struct world_link *l = m->link;
    while (l->open_count > 0 && m->machine) {
        struct open_op op = l->open[0];
        struct zk_result loss = {.zk_rc = zk_rc};
        close_op(l, op.lane, op.seq);
        struct group_input in = {.type = GROUP_IN_RESULT, .result = {op.lane, op.seq, &loss}};
        feed(m, &in);
    }
}

/* The member learns that its connection is gone. Clients differ in what they tell first. */
static void lose(struct world_member *m)
{
    struct world_link *l = m->link;
    if (!l->is_connected || !m->machine)
        return;
    l->is_connected = false;
    struct group_input in = {.type = GROUP_IN_DISCONNECTED};
    bool answers_first = rng_below(&m->world->rng, 2) == 0;
    if (answers_first)
        feed_loss(m, ZK_CONNECTION_LOSS);
    if (m->machine)
        feed(m, &in);
    feed_loss(m, ZK_CONNECTION_LOSS);
}

/* Nothing gets through any more; the server will end the session if that lasts. */
static void go_down(struct world_member *m)
{
    struct world *w = m->world;
    struct world_link *l = m->link;
    if (!l->is_up)
        return;
    l->is_up = false;
    l->connection++;
    l->lost_touch_ms = w->now_ms;
    if (!fake_zk_is_open(w->zk, m->session))
        return;
    fake_zk_disconnect(w->zk, m->session);
    post(w, message_new(m, MESSAGE_EXPIRE, w->now_ms + w->options.session_timeout_ms));
}

void world_cut(struct world_member *m, int64_t silence_ms, int64_t down_ms)
{
    struct world *w = m->world;
    if (!m->link->is_up)
        return;
    go_down(m);
    if (silence_ms > 0)
        post(w, message_new(m, MESSAGE_CUT, w->now_ms + silence_ms));
    else
        lose(m);
    post(w, message_new(m, MESSAGE_CONNECT, w->now_ms + silence_ms + down_ms));
}

void world_end_session(struct world *w, int64_t session)
{
    if (!fake_zk_is_open(w->zk, session))
        return;
    fake_zk_end(w->zk, session);
    send_events(w);
}

void world_expire(struct world_member *m)
{
    world_end_session(m->world, m->session);
    world_cut(m, 0, m->world->options.reconnect_ms);
}

static void feed_connected(struct world_member *m, bool is_new)
{
    m->link->is_up = true;
    m->link->is_connected = true;
    struct group_input in = {.type = GROUP_IN_CONNECTED,
                             .connected = {.session_id = m->session,
                                           .timeout_ms = m->world->options.session_timeout_ms,
                                           .is_new = is_new}};
    feed(m, &in);
}

static void open_session(struct world_member *m)
{
    struct world_link *l = m->link;
    fake_zk_client_forget(&l->client);
    m->session = fake_zk_open(m->world->zk);
    l->connection++;
    feed_connected(m, true);
}

static void reconnect(struct world_member *m)
{
    struct world_link *l = m->link;
    if (!m->machine || l->is_up)
        return;
    if (m->session == 0) {
        open_session(m);
    } else if (fake_zk_is_open(m->world->zk, m->session)) {
        l->is_up = true;
        l->connection++;
        fake_zk_client_return(&l->client, m->world->zk, m->session);
        send_events(m->world);
        feed_connected(m, false);
    } else {
        lose(m);
        struct group_input in = {.type = GROUP_IN_EXPIRED};
        m->expiries++;
        feed(m, &in);
        m->session = 0;
        post(m->world,
             message_new(m, MESSAGE_CONNECT, m->world->now_ms + m->world->options.reconnect_ms));
    }
}

/* ---- requests ---- */

static enum world_verdict ask_hook(struct world *w, struct message *msg, int *zk_rc)
{
    struct world_request request = {msg->member, msg->lane, &msg->op, msg->member->requests++};
    return w->hook ? w->hook(w, &request, zk_rc, w->hook_user) : WORLD_RUN;
}

static struct message *answer_to(const struct message *msg, const struct zk_result *result)
{
    struct message *answer = message_new(msg->member, MESSAGE_ANSWER, 0);
    answer->lane = msg->lane;
    answer->seq = msg->seq;
    answer->op = msg->op;
    answer->op.path = strdup(msg->op.path);
    answer->op.data = BYTES_NULL;
    copy_result(&answer->result, result);
    return answer;
}

static void answer_request(struct world *w, const struct message *msg,
                           const struct zk_result *result)
{
    struct world_member *m = msg->member;
    log_request(m, msg->lane, &msg->op, result->zk_rc ? zk_rc_name(result->zk_rc) : "");
    struct message *answer = answer_to(msg, result);
    send_events(w);
    answer->at_ms = later(w, &m->link->last_answer_ms);
    post(w, answer);
}

static void lose_answer(struct world *w, const struct message *msg, bool is_expired)
{
    log_request(msg->member, msg->lane, &msg->op, "answer lost");
    send_events(w);
    if (is_expired)
        world_expire(msg->member);
    else
        world_cut(msg->member, 0, w->options.reconnect_ms);
}

static void run_request(struct world *w, const struct message *msg, enum world_verdict verdict,
                        int zk_rc)
{
    struct world_member *m = msg->member;
    struct zk_result failed = {.zk_rc = zk_rc};
    switch (verdict) {
    case WORLD_RUN: answer_request(w, msg, fake_zk_run(w->zk, m->session, &msg->op)); return;
    case WORLD_FAIL: answer_request(w, msg, &failed); return;
    case WORLD_CUT_BEFORE:
        log_request(m, msg->lane, &msg->op, "not run");
        world_cut(m, 0, w->options.reconnect_ms);
        return;
    case WORLD_CUT_AFTER:
    case WORLD_EXPIRE_AFTER:
        fake_zk_run(w->zk, m->session, &msg->op);
        lose_answer(w, msg, verdict == WORLD_EXPIRE_AFTER);
        return;
    case WORLD_HOLD: break;
    }
    fail_msg("held requests are kept elsewhere");
}

static bool is_lost(const struct message *msg)
{
    const struct world_member *m = msg->member;
    return !m->machine || !m->link->is_up || msg->connection != m->link->connection;
}

/* True: the message has been kept. */
static bool deliver_request(struct world *w, struct message *msg)
{
    int zk_rc = ZK_OK;
    if (is_lost(msg))
        return false;
    enum world_verdict verdict = ask_hook(w, msg, &zk_rc);
    if (verdict != WORLD_HOLD) {
        run_request(w, msg, verdict, zk_rc);
        return false;
    }
    assert_true(w->held_count < ARRAY_LEN(w->held));
    w->held[w->held_count++] = msg;
    return true;
}

void world_release(struct world *w)
{
    for (size_t i = 0; i < w->held_count; i++) {
        if (!is_lost(w->held[i]))
            run_request(w, w->held[i], WORLD_RUN, ZK_OK);
        message_free(w->held[i]);
    }
    w->held_count = 0;
}

/* ---- what arrives at a member ---- */

static void deliver_answer(struct message *msg)
{
    struct world_member *m = msg->member;
    if (is_lost(msg))
        return;
    close_op(m->link, msg->lane, msg->seq);
    fake_zk_client_answered(&m->link->client, &msg->op, &msg->result);
    struct group_input in = {.type = GROUP_IN_RESULT,
                             .result = {msg->lane, msg->seq, &msg->result}};
    feed(m, &in);
}

static void deliver_watch(struct message *msg)
{
    if (is_lost(msg))
        return;
    fake_zk_client_fired(&msg->member->link->client, &msg->event);
    struct group_input in = {.type = GROUP_IN_WATCH, .watch = msg->event};
    feed(msg->member, &in);
}

static void feed_leaders(struct world_member *m, uint32_t seq)
{
    struct group_leader list[WORLD_POSITIONS_MAX];
    for (size_t i = 0; i < m->position_count; i++)
        list[i] =
            (struct group_leader){m->positions[i].topic, m->positions[i].partition, 0, "b0", 9092};
    struct group_input in = {.type = GROUP_IN_METADATA,
                             .metadata = {.seq = seq, .list = list, .count = m->position_count}};
    feed(m, &in);
}

static void deliver_due(struct message *msg)
{
    struct world_member *m = msg->member;
    if (!m->machine)
        return;
    if (msg->due == GROUP_IN_METADATA) {
        feed_leaders(m, msg->seq);
        return;
    }
    struct group_input in = {.type = msg->due, .positions = {m->positions, m->position_count}};
    feed(m, &in);
}

static void deliver_expire(struct world *w, const struct message *msg)
{
    const struct world_member *m = msg->member;
    bool is_heard_of = m->machine && m->session == msg->session &&
                       (m->link->is_up || m->link->connection != msg->connection);
    if (!is_heard_of)
        world_end_session(w, msg->session);
}

/* True: the message has been kept. */
static bool deliver(struct world *w, struct message *msg)
{
    switch (msg->kind) {
    case MESSAGE_REQUEST: return deliver_request(w, msg);
    case MESSAGE_ANSWER: deliver_answer(msg); break;
    case MESSAGE_WATCH: deliver_watch(msg); break;
    case MESSAGE_CUT: lose(msg->member); break;
    case MESSAGE_CONNECT: reconnect(msg->member); break;
    case MESSAGE_EXPIRE: deliver_expire(w, msg); break;
    case MESSAGE_DUE: deliver_due(msg); break;
    }
    return false;
}

/* ---- the shell ---- */

static void abandon(struct world_link *l, enum group_lane lane)
{
    for (size_t i = 0; i < l->open_count; i++)
        l->open[i].is_abandoned |= l->open[i].lane == lane;
}

static void send_request(struct world_member *m, const struct group_output *o)
{
    struct world_link *l = m->link;
    for (size_t i = 0; i < l->open_count; i++)
        if (l->open[i].lane == o->op.lane && !l->open[i].is_abandoned)
            fail_msg("two operations at once in lane %d, the second: %s %s", o->op.lane,
                     zk_op_name(o->op.op.type), o->op.op.path);
    if (!l->is_connected)
        fail_msg("sent without a connection: %s %s", zk_op_name(o->op.op.type), o->op.op.path);
    assert_true(l->open_count < OPEN_OPS_MAX);
    l->open[l->open_count++] = (struct open_op){o->op.lane, o->op.seq, false};
    struct message *msg = message_new(m, MESSAGE_REQUEST, later(m->world, &l->last_request_ms));
    msg->lane = o->op.lane;
    msg->seq = o->op.seq;
    msg->op = o->op.op;
    msg->op.path = strdup(o->op.op.path);
    msg->op.data = copy_bytes(o->op.op.data);
    post(m->world, msg);
}

static void be_due(struct world_member *m, enum group_input_type type, uint32_t seq)
{
    struct message *msg = message_new(m, MESSAGE_DUE, later(m->world, &m->link->last_due_ms));
    msg->due = type;
    msg->seq = seq;
    post(m->world, msg);
}

static void stop(struct world_member *m, enum group_stop_why why)
{
    m->last_stop = why;
    m->link->is_fetching = false;
    abandon(m->link, GROUP_LANE_FINDER);
    if (why == GROUP_STOP_LEAVE) {
        abandon(m->link, GROUP_LANE_REBALANCE);
        abandon(m->link, GROUP_LANE_EVENTS);
    }
    be_due(m, GROUP_IN_STOPPED, 0);
}

static void assign(struct world_member *m, const struct group_output *o)
{
    struct world_link *l = m->link;
    assert_false(l->is_fetching);
    l->is_fetching = true;
    assert_true(o->assign.count <= WORLD_POSITIONS_MAX);
    for (size_t i = 0; i < l->topic_count; i++)
        free(l->topics[i]);
    l->topic_count = m->position_count = o->assign.count;
    for (size_t i = 0; i < o->assign.count; i++) {
        const struct group_claim *c = &o->assign.claims[i];
        l->topics[i] = strdup(c->topic);
        l->has_leader[i] = false;
        m->positions[i] = (struct group_position){l->topics[i], c->partition, c->offset};
    }
}

static void take_leaders(struct world_member *m, const struct group_output *o)
{
    struct world_link *l = m->link;
    if (!l->is_fetching)
        fail_msg("leaders are told between stop and assignment");
    for (size_t i = 0; i < o->leaders.count; i++) {
        const struct group_leader *leader = &o->leaders.list[i];
        size_t k = 0;
        while (k < m->position_count && (strcmp(m->positions[k].topic, leader->topic) != 0 ||
                                         m->positions[k].partition != leader->partition))
            k++;
        if (k == m->position_count)
            fail_msg("a leader of [%s,%d], which is not held", leader->topic, leader->partition);
        l->has_leader[k] = true;
        if (m->positions[k].offset < 0)
            m->positions[k].offset = 0;
    }
}

static void take_notice(struct world_member *m, const struct group_output *o)
{
    if (!o->notice.text[0])
        fail_msg("m%d: a notice without room for its text", m->number);
    m->world->seen += strlen(o->notice.facility);
    if (!o->notice.err)
        return;
    m->notices[-100 - (int)o->notice.err]++;
    snprintf(m->last_error, sizeof m->last_error, "%s", o->notice.text);
}

static void take_commit(struct world_member *m, const struct group_output *o)
{
    if (o->type == GROUP_OUT_COMMIT_QUEUED) {
        m->commits_queued += o->committed.err == ZKC_OK;
        m->last_job = o->committed.job;
    } else {
        m->commits_done++;
        m->commits_failed += o->committed.err != ZKC_OK;
    }
    m->last_commit_err = o->committed.err;
    m->world->seen += strlen(o->committed.text);
}

/* Reads whatever the outputs of the trace point to. */
static void look_at(struct world *w, const struct group_output *o)
{
    for (size_t i = 0; o->type == GROUP_OUT_VIEW && i < o->view.member_count; i++)
        w->seen += strlen(o->view.members[i].consumer_id);
    for (size_t i = 0; o->type == GROUP_OUT_VIEW && i < o->view.topic_count; i++) {
        w->seen += strlen(o->view.topics[i].topic);
        for (size_t k = 0; k < o->view.topics[i].count; k++)
            w->seen += (unsigned long)o->view.topics[i].partitions[k];
    }
    for (size_t i = 0; o->type == GROUP_OUT_DECIDE && i < o->decide.count; i++)
        w->seen += strlen(o->decide.claims[i].topic);
    if (o->type == GROUP_OUT_CLAIM)
        w->seen += strlen(o->claim.topic) + (o->claim.holder ? strlen(o->claim.holder) : 0);
    if (o->type == GROUP_OUT_RELEASE)
        w->seen += strlen(o->release.topic);
    if (o->type == GROUP_OUT_OFFSET_READ || o->type == GROUP_OUT_COMMIT)
        w->seen += strlen(o->offset.topic);
    for (size_t i = 0; o->type == GROUP_OUT_METADATA && i < o->metadata.topic_count; i++)
        w->seen += strlen(o->metadata.topics[i]) + strlen(o->metadata.host);
}

static void count(struct world_member *m, const struct group_output *o)
{
    m->rebalances += o->type == GROUP_OUT_REBALANCE_BEGIN;
    m->attempts += o->type == GROUP_OUT_TRY_BEGIN;
    if (o->type == GROUP_OUT_TRY_END && !o->try_end.ok) {
        m->attempts_failed++;
        snprintf(m->last_failure, sizeof m->last_failure, "%s", o->try_end.why);
    }
    m->give_ups += o->type == GROUP_OUT_REBALANCE_END && o->rebalance_end.gave_up;
}

static void carry_out(struct world_member *m, const struct group_output *o)
{
    look_at(m->world, o);
    count(m, o);
    switch (o->type) {
    case GROUP_OUT_OP: send_request(m, o); break;
    case GROUP_OUT_STOP: stop(m, o->stop); break;
    case GROUP_OUT_POSITIONS:
        m->positions_asked++;
        be_due(m, GROUP_IN_POSITIONS, 0);
        break;
    case GROUP_OUT_ASSIGN: assign(m, o); break;
    case GROUP_OUT_METADATA: be_due(m, GROUP_IN_METADATA, o->metadata.seq); break;
    case GROUP_OUT_LEADERS: take_leaders(m, o); break;
    case GROUP_OUT_COMMIT_QUEUED:
    case GROUP_OUT_COMMITTED: take_commit(m, o); break;
    case GROUP_OUT_CLOSE_SESSION: m->is_closed = true; break;
    case GROUP_OUT_NOTICE: take_notice(m, o); break;
    case GROUP_OUT_STATE:
        m->is_registered = o->state.registered;
        m->is_settled = o->state.settled;
        m->gave_up = o->state.gave_up;
        break;
    default: break;
    }
}

static void close_session(struct world_member *m)
{
    free_machine(m);
    if (m->link->is_up)
        world_end_session(m->world, m->session);
    m->link->is_up = m->link->is_connected = false;
    m->link->connection++;
}

static void feed(struct world_member *m, struct group_input *in)
{
    struct world *w = m->world;
    in->now_ms = w->now_ms;
    in->wall_ms = 1424990000000 + w->now_ms;
    if (w->options.around_step)
        w->options.around_step(true);
    zk_compat_step(m->machine, in, &w->out);
    if (w->options.around_step)
        w->options.around_step(false);
    if (w->out.count > m->outputs_max)
        m->outputs_max = w->out.count;
    for (size_t i = 0; i < w->out.count; i++) {
        if (m->is_closed)
            fail_msg("an output after GROUP_OUT_CLOSE_SESSION");
        carry_out(m, &w->out.list[i]);
    }
    if (m->is_closed)
        close_session(m);
}

void world_feed(struct world_member *m, struct group_input *in)
{
    feed(m, in);
}

/* ---- the clock ---- */

static struct world_member *next_deadline(struct world *w, int64_t *at_ms)
{
    struct world_member *first = NULL;
    for (size_t i = 0; i < w->member_count; i++) {
        struct world_member *m = &w->members[i];
        int64_t at = m->machine ? zk_compat_deadline_ms(m->machine) : INT64_MAX;
        if (at == INT64_MAX || (first && at >= *at_ms))
            continue;
        first = m;
        *at_ms = at;
    }
    return first;
}

static void feed_time(struct world_member *m)
{
    struct world_link *l = m->link;
    l->time_fed = l->time_fed_at_ms == m->world->now_ms ? l->time_fed + 1 : 0;
    l->time_fed_at_ms = m->world->now_ms;
    if (l->time_fed > TIME_FEEDS_MAX)
        fail_msg("m%d: its deadline stays in the past", m->number);
    struct group_input in = {.type = GROUP_IN_TIME};
    feed(m, &in);
}

static bool step_until(struct world *w, int64_t end_ms)
{
    int64_t deadline = INT64_MAX;
    struct world_member *m = next_deadline(w, &deadline);
    int64_t message = w->heap_count ? w->heap[0]->at_ms : INT64_MAX;
    int64_t at = message <= deadline ? message : deadline;
    if (at > end_ms)
        return false;
    if (at > w->now_ms)
        w->now_ms = at;
    if (message > deadline) {
        feed_time(m);
        return true;
    }
    struct message *msg = take(w);
    if (!deliver(w, msg))
        message_free(msg);
    return true;
}

bool world_step(struct world *w)
{
    return step_until(w, w->now_ms + QUIET_MS);
}

void world_run_ms(struct world *w, int64_t ms)
{
    int64_t end = w->now_ms + ms;
    while (step_until(w, end))
        ;
    w->now_ms = end;
}

void world_settle(struct world *w, int steps_max)
{
    for (int i = 0; i < steps_max; i++)
        if (!world_step(w))
            return;
    fail_msg("still busy after %d steps, at %" PRId64 " ms", steps_max, w->now_ms);
}

/* ---- members ---- */

struct zk_compat_config world_config(void)
{
    static const struct zk_subscription one[] = {{.topic = (char *)(uintptr_t) "t", .streams = 1}};
    return (struct zk_compat_config){
        .subscriptions = one,
        .subscription_count = 1,
        .variant = ZK_VARIANT_0_8,
        .strategy = ASSIGN_RANGE,
        .exclude_internal_topics = true,
        .auto_commit = true,
        .auto_commit_interval_ms = 1000000,
        .session_timeout_ms = 6000,
        .rebalance_backoff_ms = 2000,
        .rebalance_attempts_max = 4,
        .refresh_leader_backoff_ms = 200,
    };
}

static void copy_subscriptions(struct world_link *l, const struct zk_compat_config *config)
{
    l->strategy = config->strategy;
    l->subscription_count = config->subscription_count;
    l->subscriptions = calloc(l->subscription_count + 1, sizeof *l->subscriptions);
    assert_non_null(l->subscriptions);
    for (size_t i = 0; i < l->subscription_count; i++)
        l->subscriptions[i] = (struct zk_subscription){strdup(config->subscriptions[i].topic),
                                                       config->subscriptions[i].streams};
}

struct world_member *world_join(struct world *w, const struct zk_compat_config *config)
{
    assert_true(w->member_count < WORLD_MEMBERS_MAX);
    struct world_member *m = &w->members[w->member_count];
    *m = (struct world_member){.world = w, .number = (int)w->member_count};
    w->member_count++;
    m->link = calloc(1, sizeof *m->link);
    assert_non_null(m->link);
    copy_subscriptions(m->link, config);
    snprintf(m->consumer_id, sizeof m->consumer_id, MEMBER_NAME, m->number);
    struct zk_compat_config c = *config;
    c.group = WORLD_GROUP;
    c.consumer_id = m->consumer_id;
    c.seed = w->options.seed + (uint64_t)m->number;
    assert_int_equal(zk_compat_new(&c, w->now_ms, &m->machine), ZKC_OK);
    m->link->time_fed_at_ms = -1;
    post(w, message_new(m, MESSAGE_CONNECT, later(w, &m->link->last_answer_ms)));
    return m;
}

void world_leave(struct world_member *m)
{
    struct group_input in = {.type = GROUP_IN_LEAVE};
    feed(m, &in);
}

void world_crash(struct world_member *m)
{
    go_down(m);
    m->link->is_connected = false;
    free_machine(m);
}

void world_consume(struct world_member *m, int64_t n)
{
    for (size_t i = 0; i < m->position_count; i++)
        if (m->link->is_fetching && m->link->has_leader[i])
            m->positions[i].offset += n;
}

void world_commit(struct world_member *m)
{
    struct group_input in = {
        .type = GROUP_IN_COMMIT,
        .commit = {.list = m->positions, .count = m->position_count, .all_owned = true}};
    feed(m, &in);
}

void world_commit_one(struct world_member *m, const char *topic, int32_t partition, int64_t offset)
{
    struct group_position position = {topic, partition, offset};
    struct group_input in = {.type = GROUP_IN_COMMIT, .commit = {.list = &position, .count = 1}};
    feed(m, &in);
}

const struct zk_subscription *world_subscriptions(const struct world_member *m, size_t *n,
                                                  enum assign_strategy *strategy)
{
    *n = m->link->subscription_count;
    *strategy = m->link->strategy;
    return m->link->subscriptions;
}
