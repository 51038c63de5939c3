#include "tests/unit/group/world_parts.h"

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

void world_post(struct world *w, struct message *msg)
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

struct message *world_take(struct world *w)
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

static void free_op(const struct zk_op *op)
{
    free((char *)(uintptr_t)op->path);
    free((uint8_t *)(uintptr_t)op->data.data);
    for (size_t i = 0; i < op->part_count; i++)
        free_op(&op->parts[i]);
    free((struct zk_op *)(uintptr_t)op->parts);
}

struct zk_op world_copy_op(const struct zk_op *op)
{
    struct zk_op copy = *op;
    struct zk_op *parts = op->part_count ? calloc(op->part_count, sizeof *parts) : NULL;
    copy.path = op->path ? strdup(op->path) : NULL;
    copy.data = world_copy_bytes(op->data);
    copy.parts = parts;
    assert_true(parts || op->part_count == 0);
    for (size_t i = 0; i < op->part_count; i++)
        parts[i] = world_copy_op(&op->parts[i]);
    return copy;
}

void world_message_free(struct message *msg)
{
    free_op(&msg->op);
    free((void *)(uintptr_t)msg->result.parts);
    free((uint8_t *)(uintptr_t)msg->result.data.data);
    for (size_t i = 0; i < msg->result.children_count; i++)
        free((char *)(uintptr_t)msg->result.children[i]);
    free((void *)(uintptr_t)msg->result.children);
    free((char *)(uintptr_t)msg->event.path);
    free(msg);
}

struct bytes world_copy_bytes(struct bytes b)
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
    to->data = world_copy_bytes(from->data);
    struct zk_part_result *parts = calloc(from->part_count + 1, sizeof *parts);
    assert_non_null(parts);
    if (from->part_count)
        memcpy(parts, from->parts, from->part_count * sizeof *parts);
    to->parts = parts;
    char **children = calloc(from->children_count + 1, sizeof *children);
    assert_non_null(children);
    for (size_t i = 0; i < from->children_count; i++)
        children[i] = strdup(from->children[i]);
    to->children = (const char *const *)children;
}

struct message *world_message(struct world_member *m, enum message_kind kind, int64_t at_ms)
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

int64_t world_later(struct world *w, int64_t *last_ms)
{
    int64_t at = w->now_ms;
    if (w->options.delay_max_ms > 0)
        at += (int64_t)rng_below(&w->rng, (uint64_t)w->options.delay_max_ms + 1);
    if (at < *last_ms)
        at = *last_ms; /* nothing overtakes on one connection */
    *last_ms = at;
    return at;
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
        world_feed(m, &in);
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
        world_feed(m, &in);
    feed_loss(m, ZK_CONNECTION_LOSS);
}

/* Nothing gets through any more; the server will end the session if that lasts. */
void world_go_down(struct world_member *m)
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
    world_post(w, world_message(m, MESSAGE_EXPIRE, w->now_ms + w->options.session_timeout_ms));
}

void world_cut(struct world_member *m, int64_t silence_ms, int64_t down_ms)
{
    struct world *w = m->world;
    if (!m->link->is_up)
        return;
    world_go_down(m);
    if (silence_ms > 0)
        world_post(w, world_message(m, MESSAGE_CUT, w->now_ms + silence_ms));
    else
        lose(m);
    world_post(w, world_message(m, MESSAGE_CONNECT, w->now_ms + silence_ms + down_ms));
}

void world_end_session(struct world *w, int64_t session)
{
    if (!fake_zk_is_open(w->zk, session))
        return;
    fake_zk_end(w->zk, session);
    world_send_events(w);
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
                                           .is_new = is_new,
                                           .connect_sent_ms = m->world->now_ms}};
    world_feed(m, &in);
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
        world_send_events(m->world);
        feed_connected(m, false);
    } else {
        lose(m);
        struct group_input in = {.type = GROUP_IN_EXPIRED};
        m->expiries++;
        world_feed(m, &in);
        m->session = 0;
        world_post(m->world, world_message(m, MESSAGE_CONNECT,
                                           m->world->now_ms + m->world->options.reconnect_ms));
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
    struct message *answer = world_message(msg->member, MESSAGE_ANSWER, 0);
    answer->lane = msg->lane;
    answer->seq = msg->seq;
    answer->op = world_copy_op(&msg->op);
    copy_result(&answer->result, result);
    return answer;
}

static void answer_request(struct world *w, const struct message *msg,
                           const struct zk_result *result)
{
    struct world_member *m = msg->member;
    world_log(m, msg->lane, &msg->op, result->zk_rc ? zk_rc_name(result->zk_rc) : "");
    struct message *answer = answer_to(msg, result);
    world_send_events(w);
    answer->at_ms = world_later(w, &m->link->last_answer_ms);
    world_post(w, answer);
}

static void lose_answer(struct world *w, const struct message *msg, bool is_expired)
{
    world_log(msg->member, msg->lane, &msg->op, "answer lost");
    world_send_events(w);
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
        world_log(m, msg->lane, &msg->op, "not run");
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
        world_message_free(w->held[i]);
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
    world_feed(m, &in);
}

static void deliver_watch(struct message *msg)
{
    if (is_lost(msg))
        return;
    fake_zk_client_fired(&msg->member->link->client, &msg->event);
    struct group_input in = {.type = GROUP_IN_WATCH, .watch = msg->event};
    world_feed(msg->member, &in);
}

static void feed_leaders(struct world_member *m, uint32_t seq)
{
    struct group_leader list[WORLD_POSITIONS_MAX];
    for (size_t i = 0; i < m->position_count; i++)
        list[i] =
            (struct group_leader){m->positions[i].topic, m->positions[i].partition, 0, "b0", 9092};
    struct group_input in = {.type = GROUP_IN_METADATA,
                             .metadata = {.seq = seq, .list = list, .count = m->position_count}};
    world_feed(m, &in);
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
    if (msg->due == GROUP_IN_OFFSETS) {
        world_answer_offsets(m, msg->seq);
        return;
    }
    struct group_input in = {.type = msg->due, .positions = {m->positions, m->position_count}};
    world_feed(m, &in);
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
bool world_deliver(struct world *w, struct message *msg)
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
