/* A member's way to offsets that Kafka keeps: what consumer/offset_channel.c is in production. What
 * may be sent until a certain time only is looked at again when there is a connection to write it
 * to. */
#include "study/sim/world.h"
#include <string.h>

static struct broker *broker_named(struct sim *w, const char *host)
{
    for (unsigned i = 0; i < w->config.brokers.count; i++)
        if (strcmp(w->brokers[i].node.name, host) == 0)
            return &w->brokers[i];
    return NULL;
}

static int64_t local_ms(const struct member *m)
{
    return (int64_t)(member_local_ns(m) / SIM_MS);
}

static void drop_unsent(struct member *m)
{
    msg_free(&m->world->pool, m->channel.unsent);
    m->channel.unsent = NULL;
}

void channel_hang_up(struct member *m)
{
    struct member_channel *ch = &m->channel;
    drop_unsent(m);
    if (ch->conn)
        conn_close(ch->conn, &m->node);
    ch->conn = NULL;
    ch->is_waiting = false;
}

void channel_forget(struct member *m)
{
    drop_unsent(m);
    m->channel = (struct member_channel){.kind = PEER_OFFSETS};
}

static struct offsets_msg *message_of(struct sim *w, const struct group_output *ask)
{
    size_t n = ask->offsets_ask.count;
    struct offsets_msg *a = pool_take(&w->pool, sizeof *a + n * sizeof a->items[0]);
    a->type = MSG_OFFSETS;
    a->request = ask->offsets_ask.request;
    a->seq = ask->offsets_ask.seq;
    a->count = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        const struct group_offset *o = &ask->offsets_ask.list[i];
        a->items[i] =
            (struct offsets_item){.topic = (uint32_t)(world_topic(w, o->topic) - w->topics),
                                  .partition = o->partition,
                                  .offset = o->offset};
    }
    return a;
}

static void answer_failed(struct member *m, const char *text)
{
    struct group_offsets_answer answer = {.seq = m->channel.seq, .failed = true, .text = text};
    drop_unsent(m);
    m->channel.is_waiting = false;
    member_feed_offsets(m, &answer);
}

static void write_unsent(struct member *m)
{
    struct member_channel *ch = &m->channel;
    struct offsets_msg *a = ch->unsent;
    ch->unsent = NULL;
    a->session = m->zk.session;
    a->sent_ns = world_now(m->world);
    if (a->request != GROUP_OFFSETS_FIND)
        faults_point(m->world, m,
                     a->request == GROUP_OFFSETS_COMMIT ? SIM_POINT_STORE : SIM_POINT_STORED);
    conn_send(ch->conn, &m->node, a);
}

static bool can_write(const struct member *m)
{
    return m->channel.unsent && m->channel.conn && m->channel.conn->ready_ns <= world_now(m->world);
}

/* One question at a time: an earlier one without an answer costs the connection. */
void channel_ask(struct member *m, const struct group_output *ask)
{
    struct member_channel *ch = &m->channel;
    struct broker *b = broker_named(m->world, ask->offsets_ask.host);
    if (ch->is_waiting ||
        (ch->conn && (ch->broker != b->id || ch->timeout_ms != ask->offsets_ask.timeout_ms)))
        channel_hang_up(m);
    if (!ch->conn)
        ch->conn = net_connect(&m->node, &b->node, ch);
    ch->broker = b->id;
    ch->timeout_ms = ask->offsets_ask.timeout_ms;
    ch->seq = ask->offsets_ask.seq;
    ch->is_waiting = true;
    ch->until_ns = world_now(m->world) + (uint64_t)ch->timeout_ms * SIM_MS;
    ch->write_until_ms = ask->offsets_ask.until_ms;
    ch->unsent = message_of(m->world, ask);
    if (can_write(m))
        write_unsent(m);
}

void channel_came(struct member *m, struct conn *c, void *message)
{
    struct sim *w = m->world;
    struct member_channel *ch = &m->channel;
    struct offsets_msg *a = message;
    if (ch->conn != c || !ch->is_waiting || a->seq != ch->seq) {
        msg_free(&w->pool, a);
        return;
    }
    struct group_offset *list = pool_take(&w->pool, (a->count + 1) * sizeof *list);
    for (uint32_t i = 0; i < a->count; i++)
        list[i] = (struct group_offset){.topic = w->topics[a->items[i].topic].name,
                                        .partition = a->items[i].partition,
                                        .offset = a->items[i].offset,
                                        .kafka_error = a->items[i].kafka_error};
    struct group_offsets_answer answer = {
        .seq = a->seq, .kafka_error = a->kafka_error, .list = list, .count = a->count};
    if (a->request == GROUP_OFFSETS_FIND && !a->kafka_error) {
        answer.host = w->brokers[a->broker].node.name;
        answer.port = 9092;
    }
    ch->is_waiting = false;
    member_feed_offsets(m, &answer);
    pool_give(&w->pool, list);
    msg_free(&w->pool, a);
}

void channel_closed(struct member *m, struct conn *c)
{
    if (m->channel.conn != c)
        return;
    m->channel.conn = NULL;
    if (m->channel.is_waiting)
        answer_failed(m, "connection refused or lost");
}

uint64_t channel_deadline_ns(const struct member *m)
{
    const struct member_channel *ch = &m->channel;
    if (!ch->is_waiting)
        return SIM_NEVER;
    return ch->unsent && ch->conn->ready_ns < ch->until_ns ? ch->conn->ready_ns : ch->until_ns;
}

void channel_tick(struct member *m)
{
    struct member_channel *ch = &m->channel;
    if (channel_deadline_ns(m) > world_now(m->world))
        return;
    if (ch->until_ns <= world_now(m->world))
        answer_failed(m, "no answer in time");
    else if (can_write(m) && local_ms(m) < ch->write_until_ms)
        write_unsent(m);
    else
        answer_failed(m, "its time to be sent is over");
}
