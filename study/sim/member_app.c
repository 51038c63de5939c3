/* A member's fetching and its application. Per broker one connection and one fetch at a time, which
 * names all partitions that are led there and have room; answers are runs of offsets. The
 * application is one thread for all streams: it takes message after message, each process_ns after
 * the one before. When a message counts as consumed is compat's: when it is taken. */
#include "study/sim/world.h"
#include <string.h>

#define QUERY_NS (30 * SIM_S) /* socket.timeout.ms */

static struct trace_event event_of(const struct member *m, enum trace_type type)
{
    return tracer_event(&m->world->tracer, type, m->node.name);
}

static struct topic_partition name_of(const struct held *h)
{
    return (struct topic_partition){h->name, h->partition};
}

static struct held *find_claim(const struct member *m, uint64_t claim)
{
    for (size_t i = 0; i < m->held_count; i++)
        if (m->held[i].claim == claim)
            return &m->held[i];
    return NULL;
}

static struct held *find_held(struct member *m, const char *topic, int32_t partition)
{
    for (size_t i = 0; i < m->held_count; i++)
        if (m->held[i].partition == partition && strcmp(m->held[i].name, topic) == 0)
            return &m->held[i];
    return NULL;
}

/* ---- the application ---- */

static void deliver(struct member *m, struct held *h, int64_t first, int64_t count,
                    uint64_t first_ns, uint64_t last_ns)
{
    struct sim *w = m->world;
    if (h->partition < w->topics[h->topic].partitions)
        ledger_tell(w, &w->topics[h->topic], h->partition);
    struct trace_event e = event_of(m, TRACE_DELIVER);
    e.deliver.p = name_of(h);
    e.deliver.first = first;
    e.deliver.last = first + count - 1;
    e.deliver.first_ns = first_ns;
    e.deliver.last_ns = last_ns;
    e.deliver.hash =
        trace_messages_hash(w->topics[h->topic].logs[h->partition].hash, first, first + count - 1);
    tracer_emit(&w->tracer, &m->source, &e);
    h->taken = first + count;
    m->busy_claim = h->claim;
    m->taken_ns = last_ns;
}

static void pop_chunk(struct member *m)
{
    m->queue_first = (m->queue_first + 1) % m->queue_cap;
    m->queue_count--;
}

/* From when on nothing of this claim is handed out. */
static uint64_t gate_ns(const struct member *m, const struct held *h)
{
    if (m->has_lease && h->session != m->lease_session)
        return 0;
    return member_lease_end_ns(m);
}

bool app_is_busy(const struct member *m)
{
    return m->busy_claim && m->free_ns > world_now(m->world);
}

void app_settle(struct member *m)
{
    uint64_t now = world_now(m->world);
    while (m->queue_count > 0 && m->free_ns <= now) {
        struct chunk *c = &m->queue[m->queue_first];
        struct held *h = find_claim(m, c->claim);
        if (!h) {
            pop_chunk(m);
            continue;
        }
        uint64_t gate = gate_ns(m, h), last = gate <= now ? gate - 1 : now;
        if (gate <= m->free_ns) { /* it waits until the gate opens again */
            m->free_ns = now;
            return;
        }
        uint64_t step = m->process_ns, n = (uint64_t)c->count;
        if (step && (last - m->free_ns) / step + 1 < n)
            n = (last - m->free_ns) / step + 1;
        deliver(m, h, c->first, (int64_t)n, m->free_ns, m->free_ns + (n - 1) * step);
        c->first += (int64_t)n;
        c->count -= (int64_t)n;
        m->free_ns += n * step;
        if (c->count == 0)
            pop_chunk(m);
    }
}

static void push_chunk(struct member *m, struct chunk chunk)
{
    uint64_t now = world_now(m->world);
    if (m->queue_count == m->queue_cap) {
        size_t cap = m->queue_cap ? m->queue_cap * 2 : 16;
        struct chunk *queue = pool_take(&m->world->pool, cap * sizeof *queue);
        for (size_t i = 0; i < m->queue_count; i++)
            queue[i] = m->queue[(m->queue_first + i) % m->queue_cap];
        pool_give(&m->world->pool, m->queue);
        m->queue = queue;
        m->queue_cap = cap;
        m->queue_first = 0;
    }
    if (m->queue_count == 0 && m->free_ns < now)
        m->free_ns = now;
    m->queue[(m->queue_first + m->queue_count++) % m->queue_cap] = chunk;
}

void app_suspend(struct member *m)
{
    app_settle(m);
}

void app_resume(struct member *m)
{
    uint64_t now = world_now(m->world), since = m->node.suspended_at_ns;
    if (m->free_ns > since)
        m->free_ns += now - since;
    else
        m->free_ns = now;
}

/* ---- fetching ---- */

static bool can_ask(const struct member *m, const struct held *h, int32_t broker)
{
    if (h->broker != broker)
        return false;
    return h->fetched < 0 || h->fetched - (h->taken > 0 ? h->taken : 0) < m->plan.config.queue_max;
}

static void fetch_from(struct member *m, int32_t broker)
{
    struct sim *w = m->world;
    struct member_source *s = &m->sources[broker];
    size_t n = 0;
    if (s->seq || s->retry_at_ns != SIM_NEVER)
        return;
    for (size_t i = 0; i < m->held_count; i++)
        n += can_ask(m, &m->held[i], broker);
    if (n == 0)
        return;
    struct fetch_msg *f = pool_take(&w->pool, sizeof *f + n * sizeof f->items[0]);
    f->type = MSG_FETCH;
    f->wait_ns = (uint64_t)m->plan.config.fetch_wait_ms * SIM_MS;
    f->min = m->plan.config.fetch_min;
    f->max = m->plan.config.fetch_max;
    f->reset_largest = m->plan.config.reset_largest;
    f->seq = s->seq = ++m->fetches;
    for (size_t i = 0; i < m->held_count; i++) {
        const struct held *h = &m->held[i];
        if (can_ask(m, h, broker))
            f->items[f->count++] = (struct fetch_item){.topic = h->topic,
                                                       .partition = h->partition,
                                                       .offset = h->fetched,
                                                       .claim = h->claim};
    }
    if (!s->conn)
        s->conn = net_connect(&m->node, &w->brokers[broker].node, s);
    conn_send(s->conn, &m->node, f);
}

void app_fetch(struct member *m)
{
    if (m->node.is_suspended || m->life != MEMBER_RUNS)
        return;
    for (unsigned b = 0; b < m->world->config.brokers.count; b++)
        fetch_from(m, (int32_t)b);
}

static void end_fetching(struct member *m, struct held *h)
{
    if (!h->is_begun)
        return;
    struct topic_partition p = name_of(h);
    struct trace_event e = event_of(m, TRACE_FETCH_STOP);
    h->is_begun = false;
    e.fetch.ps = &p;
    e.fetch.count = 1;
    tracer_emit(&m->world->tracer, &m->source, &e);
}

/* Gives all partitions that are fetched from this broker (or are refused there) to the finder. */
static void lose_leaders(struct member *m, int32_t broker, const struct fetch_msg *refused)
{
    for (size_t i = 0; i < m->held_count; i++) {
        struct held *h = &m->held[i];
        bool is_lost = h->broker == broker && !refused;
        for (uint32_t k = 0; refused && k < refused->count; k++)
            is_lost |= refused->items[k].is_refused && refused->items[k].claim == h->claim;
        if (!is_lost)
            continue;
        h->broker = -1;
        end_fetching(m, h);
        member_tell_leader_lost(m, h->name, h->partition);
    }
}

static void drop_queued(struct member *m, uint64_t claim)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->queue_count; i++) {
        struct chunk c = m->queue[(m->queue_first + i) % m->queue_cap];
        if (c.claim != claim)
            m->queue[(m->queue_first + kept++) % m->queue_cap] = c;
    }
    m->queue_count = kept;
}

/* safe: it goes on somewhere else; what was fetched of the place before does not count. */
static void move(struct member *m, struct held *h, int64_t offset)
{
    app_settle(m);
    drop_queued(m, h->claim);
    h->claim = ++m->claims;
    h->fetched = h->taken = offset;
    h->moves++;
    struct trace_event e = event_of(m, TRACE_MOVED);
    e.moved.p = name_of(h);
    e.moved.offset = offset;
    tracer_emit(&m->world->tracer, &m->source, &e);
}

bool app_seek(struct member *m, int32_t nth, uint64_t offset)
{
    struct sim *w = m->world;
    if (!m->safe || m->life != MEMBER_RUNS || m->node.is_suspended || m->held_count == 0)
        return false;
    struct held *h = &m->held[(size_t)nth % m->held_count];
    const struct topic_state *t = &w->topics[h->topic];
    if (h->taken < 0 || h->partition >= t->partitions)
        return false;
    int64_t end = log_end(&t->logs[h->partition], world_now(w));
    move(m, h, (int64_t)(offset % (uint64_t)(end + 1)));
    app_fetch(m);
    member_arm(m);
    return true;
}

static void take_item(struct member *m, const struct fetch_item *item)
{
    struct held *h = find_claim(m, item->claim);
    if (!h || item->is_refused)
        return;
    if (h->fetched != item->offset && h->fetched >= 0 && m->safe) { /* it was out of range */
        move(m, h, item->offset);
    } else if (h->fetched != item->offset) { /* where auto.offset.reset says */
        h->fetched = h->taken = item->offset;
        if (h->start < 0)
            h->start = item->offset;
    }
    if (item->count == 0)
        return;
    push_chunk(m, (struct chunk){h->claim, item->offset, item->count});
    h->fetched += item->count;
}

static void fetched(struct member *m, struct member_source *s, struct fetch_msg *f)
{
    bool is_refused = false;
    if (s->seq != f->seq)
        return;
    s->seq = 0;
    s->failures = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        is_refused |= f->items[i].is_refused;
        take_item(m, &f->items[i]);
    }
    app_settle(m);
    if (is_refused)
        lose_leaders(m, -2, f);
    app_fetch(m);
}

static int32_t broker_of(const struct member *m, const struct member_source *s)
{
    return (int32_t)(s - m->sources);
}

/* Once more after a while; the second time the leader is looked for. */
static void source_failed(struct member *m, struct member_source *s)
{
    s->conn = NULL;
    s->seq = 0;
    if (++s->failures < 2) {
        s->retry_at_ns =
            world_now(m->world) + (uint64_t)m->plan.config.refresh_leader_backoff_ms * SIM_MS;
        return;
    }
    s->failures = 0;
    lose_leaders(m, broker_of(m, s), NULL);
}

/* ---- leaders ---- */

void app_ask(struct member *m, uint32_t seq, int32_t broker, const char *const *topics,
             size_t topic_count)
{
    struct sim *w = m->world;
    struct member_query *q = &m->query;
    if (q->conn)
        conn_close(q->conn, &m->node);
    *q = (struct member_query){
        .kind = PEER_BROKER, .seq = seq, .is_open = true, .until_ns = world_now(w) + QUERY_NS};
    struct metadata_msg *a = pool_take(&w->pool, sizeof *a + topic_count * sizeof a->items[0]);
    a->type = MSG_METADATA;
    a->seq = seq;
    for (size_t i = 0; i < topic_count; i++) {
        const struct topic_state *t = world_topic(w, topics[i]);
        if (t)
            a->items[a->count++].topic = (uint32_t)(t - w->topics);
    }
    q->conn = net_connect(&m->node, &w->brokers[broker].node, q);
    conn_send(q->conn, &m->node, a);
}

static void query_ended(struct member *m, const char *failure, const struct metadata_msg *answer)
{
    struct member_query *q = &m->query;
    uint32_t seq = q->seq;
    if (q->conn)
        conn_close(q->conn, &m->node);
    *q = (struct member_query){.kind = PEER_BROKER};
    member_feed_leaders(m, seq, failure, answer);
}

void app_leaders(struct member *m, const struct group_leader *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct held *h = find_held(m, list[i].topic, list[i].partition);
        if (!h || h->broker >= 0)
            continue;
        struct topic_partition p = name_of(h);
        struct trace_event e = event_of(m, TRACE_FETCH_START);
        h->broker = list[i].broker_id;
        h->is_begun = true;
        e.fetch.ps = &p;
        e.fetch.count = 1;
        tracer_emit(&m->world->tracer, &m->source, &e);
    }
    app_fetch(m);
}

/* ---- what comes ---- */

void app_came(struct member *m, struct conn *c, void *message)
{
    struct msg *any = message;
    if (any->type == MSG_FETCHED) {
        struct member_source *s = conn_user(c, &m->node);
        if (s->conn == c)
            fetched(m, s, message);
    } else if (any->type == MSG_LEADERS && m->query.conn == c) {
        query_ended(m, NULL, message);
    }
    msg_free(&m->world->pool, message);
}

void app_closed(struct member *m, struct conn *c)
{
    if (conn_user(c, &m->node) == &m->query) {
        if (m->query.conn != c)
            return;
        m->query.conn = NULL;
        query_ended(m, "connection refused or lost", NULL);
        return;
    }
    struct member_source *s = conn_user(c, &m->node);
    if (s->conn == c)
        source_failed(m, s);
}

/* ---- holding and letting go ---- */

void app_tell_lease(struct member *m)
{
    struct trace_event e = event_of(m, TRACE_LEASE);
    e.lease.session = (uint64_t)m->lease_session;
    e.lease.until_ns = m->held_count ? gate_ns(m, &m->held[0]) : member_lease_end_ns(m);
    tracer_emit(&m->world->tracer, &m->source, &e);
}

void app_hold(struct member *m, const struct group_claim *claims, size_t count)
{
    struct sim *w = m->world;
    if (count > m->held_cap) {
        m->held_cap = count;
        m->held = pool_resize(&w->pool, m->held, count * sizeof *m->held);
    }
    m->held_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct group_claim *c = &claims[i];
        int64_t offset = c->offset < 0 ? -1 : c->offset;
        m->held[i] = (struct held){.topic = (uint32_t)(world_topic(w, c->topic) - w->topics),
                                   .name = c->topic,
                                   .partition = c->partition,
                                   .claim = ++m->claims,
                                   .session = c->session_id,
                                   .broker = -1,
                                   .start = offset,
                                   .fetched = offset,
                                   .taken = offset,
                                   .began_ns = world_now(w)};
        struct trace_event e = event_of(m, TRACE_OWN_BEGIN);
        e.own.p = name_of(&m->held[i]);
        e.own.offset = offset;
        e.own.why = "";
        tracer_emit(&w->tracer, &m->source, &e);
    }
    if (m->has_lease)
        app_tell_lease(m);
}

/* safe: a message is finished when the next one is asked for. */
static int64_t finished_of(const struct member *m, const struct held *h)
{
    return h->taken > 0 && m->busy_claim == h->claim && app_is_busy(m) ? h->taken - 1 : h->taken;
}

void app_keep_positions(struct member *m)
{
    bool is_ahead = m->world->config.bugs & SIM_BUG_COMMIT_AHEAD;
    size_t room = m->held_count + m->draining_count;
    if (room > m->position_cap) {
        m->position_cap = room;
        m->positions =
            pool_resize(&m->world->pool, m->positions, m->position_cap * sizeof *m->positions);
    }
    m->position_count = room;
    for (size_t i = 0; i < m->held_count; i++) {
        const struct held *h = &m->held[i];
        int64_t offset = is_ahead ? h->fetched : m->safe ? finished_of(m, h) : h->taken;
        m->positions[i] =
            (struct group_position){h->name, h->partition, offset, h->number, h->moves};
    }
    for (size_t i = 0; i < m->draining_count; i++) {
        const struct draining *d = &m->draining[i];
        m->positions[m->held_count + i] = (struct group_position){
            d->name, d->partition, d->at_ns <= world_now(m->world) ? d->finished : d->taken_before,
            d->number, d->moves};
    }
}

void app_stop(struct member *m, const char *why)
{
    app_settle(m);
    app_keep_positions(m);
    for (size_t i = 0; i < m->held_count; i++)
        end_fetching(m, &m->held[i]);
    for (size_t i = 0; i < m->held_count; i++) {
        struct trace_event e = event_of(m, TRACE_OWN_END);
        e.own.p = name_of(&m->held[i]);
        e.own.offset = m->held[i].taken;
        e.own.why = why;
        tracer_emit(&m->world->tracer, &m->source, &e);
    }
    m->held_count = 0;
    m->queue_count = 0;
}

/* ---- safe mode: claim by claim ---- */

void app_open(struct member *m, const struct group_claim *c)
{
    struct sim *w = m->world;
    int64_t offset = c->offset < 0 ? -1 : c->offset;
    if (m->held_count == m->held_cap) {
        m->held_cap = m->held_cap ? m->held_cap * 2 : 8;
        m->held = pool_resize(&w->pool, m->held, m->held_cap * sizeof *m->held);
    }
    struct held *h = &m->held[m->held_count++];
    *h = (struct held){.topic = (uint32_t)(world_topic(w, c->topic) - w->topics),
                       .name = c->topic,
                       .partition = c->partition,
                       .claim = ++m->claims,
                       .broker = -1,
                       .start = offset,
                       .fetched = offset,
                       .taken = offset,
                       .began_ns = world_now(w),
                       .number = c->number,
                       .session = c->session_id};
    struct trace_event e = event_of(m, TRACE_OWN_BEGIN);
    e.own.p = name_of(h);
    e.own.offset = offset;
    e.own.why = "";
    tracer_emit(&w->tracer, &m->source, &e);
}

static void drain(struct member *m, const struct held *h)
{
    uint64_t now = world_now(m->world);
    if (m->draining_count == m->draining_cap) {
        m->draining_cap = m->draining_cap ? m->draining_cap * 2 : 8;
        m->draining =
            pool_resize(&m->world->pool, m->draining, m->draining_cap * sizeof *m->draining);
    }
    bool is_out = m->busy_claim == h->claim && app_is_busy(m);
    uint64_t at = is_out ? m->free_ns : now;
    m->draining[m->draining_count++] =
        (struct draining){.name = h->name,
                          .partition = h->partition,
                          .number = h->number,
                          .at_ns = at < now + m->stop_ns ? now + m->stop_ns : at,
                          .finished = h->taken,
                          .taken_before = finished_of(m, h),
                          .moves = h->moves};
}

void app_close(struct member *m, uint64_t number, const char *why)
{
    size_t i = 0;
    app_settle(m);
    while (i < m->held_count && m->held[i].number != number)
        i++;
    if (i == m->held_count)
        return;
    struct held h = m->held[i];
    end_fetching(m, &h);
    struct trace_event e = event_of(m, TRACE_OWN_END);
    e.own.p = name_of(&h);
    e.own.offset = h.taken;
    e.own.why = why;
    e.own.claim = number;
    tracer_emit(&m->world->tracer, &m->source, &e);
    drop_queued(m, h.claim);
    drain(m, &h);
    memmove(&m->held[i], &m->held[i + 1], (--m->held_count - i) * sizeof h);
}

static struct draining take_draining(struct member *m, size_t i)
{
    struct draining d = m->draining[i];
    memmove(&m->draining[i], &m->draining[i + 1], (--m->draining_count - i) * sizeof d);
    return d;
}

void app_void(struct member *m, uint64_t number)
{
    for (size_t i = 0; i < m->draining_count; i++) {
        if (m->draining[i].number != number)
            continue;
        struct draining d = take_draining(m, i);
        struct trace_event e = event_of(m, TRACE_VOID);
        e.voided.p = (struct topic_partition){d.name, d.partition};
        e.voided.offset = d.taken_before;
        e.voided.claim = number;
        tracer_emit(&m->world->tracer, &m->source, &e);
        return;
    }
}

bool app_take_drained(struct member *m, struct draining *out)
{
    for (size_t i = 0; i < m->draining_count; i++)
        if (m->draining[i].at_ns <= world_now(m->world)) {
            *out = take_draining(m, i);
            return true;
        }
    return false;
}

void app_forget(struct member *m)
{
    m->held_count = m->queue_count = m->position_count = m->draining_count = 0;
    m->busy_claim = 0;
    m->query = (struct member_query){.kind = PEER_BROKER};
}

void app_init(struct member *m)
{
    struct sim *w = m->world;
    unsigned n = w->config.brokers.count;
    m->free_ns = 0;
    if (!m->sources)
        m->sources = pool_take(&w->pool, (n + 1) * sizeof *m->sources);
    for (unsigned i = 0; i < n; i++)
        m->sources[i] = (struct member_source){.kind = PEER_BROKER, .retry_at_ns = SIM_NEVER};
    app_forget(m);
}

/* ---- time ---- */

uint64_t app_deadline_ns(const struct member *m)
{
    uint64_t at = m->query.is_open ? m->query.until_ns : SIM_NEVER;
    if (m->queue_count > 0) {
        const struct chunk *c = &m->queue[m->queue_first];
        const struct held *h = find_claim(m, c->claim);
        uint64_t end = m->free_ns + (uint64_t)(c->count - 1) * m->process_ns;
        uint64_t gate = h ? gate_ns(m, h) : SIM_NEVER;
        if (gate > m->free_ns)
            at = end < at ? end : at;
    }
    for (size_t i = 0; i < m->draining_count; i++)
        if (m->draining[i].at_ns < at)
            at = m->draining[i].at_ns;
    if (m->is_evicted && m->free_ns < at)
        at = m->free_ns;
    for (unsigned i = 0; i < m->world->config.brokers.count; i++)
        if (m->sources[i].retry_at_ns < at)
            at = m->sources[i].retry_at_ns;
    return at;
}

void app_tick(struct member *m)
{
    uint64_t now = world_now(m->world);
    if (app_deadline_ns(m) > now)
        return;
    app_settle(m);
    for (unsigned i = 0; i < m->world->config.brokers.count; i++)
        if (m->sources[i].retry_at_ns <= now)
            m->sources[i].retry_at_ns = SIM_NEVER;
    app_fetch(m);
    if (m->query.is_open && m->query.until_ns <= now)
        query_ended(m, "no answer in time", NULL);
}
