#include "zkconsumer/core/group/claims.h"
#include "zkconsumer/core/group/zk_safe_parts.h"
#include "zkconsumer/core/zk/consumer_id.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define HOLDER_MAX 255 /* bytes of a holder's name that are told */

/* From (row) to (column); to FREE from anywhere. safe_act() and the answers draw the arrows:
 *
 *   FREE -> CLAIMING -> HELD -> OWNED -> STOPPED -> RELEASING -> FREE
 *
 * and aside: LOOKING, WAITING (another has it), UNSURE (an outcome is unknown). */
static const bool MOVES[SAFE_STATE_COUNT][SAFE_STATE_COUNT] = {
    [FREE] = {[CLAIMING] = true, [LOOKING] = true, [UNSURE] = true},
    [CLAIMING] = {[HELD] = true, [LOOKING] = true, [UNSURE] = true, [FREE] = true},
    [LOOKING] = {[HELD] = true, [WAITING] = true, [FREE] = true},
    [WAITING] = {[FREE] = true},
    [UNSURE] = {[HELD] = true, [WAITING] = true, [FREE] = true},
    [HELD] = {[OWNED] = true, [STOPPED] = true, [FREE] = true},
    [OWNED] = {[STOPPED] = true, [UNSURE] = true, [FREE] = true, [RELEASING] = true},
    [STOPPED] = {[RELEASING] = true, [UNSURE] = true, [FREE] = true},
    [RELEASING] = {[FREE] = true, [STOPPED] = true, [UNSURE] = true},
};

void safe_set_state(struct zk_safe *m, struct safe_partition *p, enum safe_state to)
{
    assert(MOVES[p->state][to]);
    p->state = to;
    p->must_move = p->must_move && to != FREE; /* it has */
    safe_poke(m, p);
}

/* ---- the table of partitions ---- */

static int compare(struct bytes topic, int32_t partition, const struct safe_partition *p)
{
    int order = bytes_compare(topic, bytes_of_text(p->topic->name));
    return order ? order : (partition > p->partition) - (partition < p->partition);
}

static size_t position(const struct zk_safe *m, struct bytes topic, int32_t partition)
{
    size_t lo = 0, hi = m->partition_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare(topic, partition, m->partitions[mid]) > 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct safe_partition *safe_find(const struct zk_safe *m, struct bytes topic, int32_t partition)
{
    size_t at = position(m, topic, partition);
    bool found = at < m->partition_count && compare(topic, partition, m->partitions[at]) == 0;
    return found ? m->partitions[at] : NULL;
}

/* The list with room for one more, and its new capacity; NULL: out of memory. */
static void *grown(void *list, size_t *cap, size_t count, size_t size)
{
    if (count < *cap)
        return list;
    size_t more = *cap ? *cap * 2 : 8;
    void *bigger = realloc(list, more * size);
    if (bigger)
        *cap = more;
    return bigger;
}

struct safe_topic *safe_topic_of(struct zk_safe *m, const char *name)
{
    size_t lo = 0, hi = m->topic_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(m->topics[mid]->name, name);
        if (order == 0)
            return m->topics[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    struct safe_topic **topics =
        grown(m->topics, &m->topic_cap, m->topic_count, sizeof(struct safe_topic *));
    if (!topics)
        return NULL;
    m->topics = topics;
    struct safe_topic *t = calloc(1, sizeof *t);
    char *copy = t ? strdup(name) : NULL;
    if (!copy) {
        free(t);
        return NULL;
    }
    t->name = copy;
    t->retry_at_ms = INT64_MIN;
    t->index = (uint32_t)m->topic_count;
    memmove(&m->topics[lo + 1], &m->topics[lo],
            (m->topic_count - lo) * sizeof(struct safe_topic *));
    m->topics[lo] = t;
    m->topic_count++;
    return t;
}

static void reset(struct safe_partition *p)
{
    p->finished = p->to_commit = p->committed = p->sent_offset = -1;
    p->version = -1;
    p->began = p->doubled_to = -1;
    p->is_drained = true;
    p->is_void = p->is_asked = p->is_rewind = p->unsure_offset = p->is_told_odd = false;
    p->is_moved = false;
    told_over(&p->refused_op);
    p->must_move = p->must_release = p->is_unwatched = p->is_called = false;
    p->watch_at_ms = INT64_MIN;
    p->unsure_of = OP_NONE;
    p->deadline_ms = INT64_MAX;
    safe_stored_forget(p);
}

/* Room for the partition in all lists that hold each of them once. */
static bool make_room(struct zk_safe *m)
{
    size_t cap = m->partition_cap;
    struct safe_partition **list =
        grown(m->partitions, &cap, m->partition_count, sizeof(struct safe_partition *));
    if (!list)
        return false;
    m->partitions = list;
    if (cap == m->partition_cap)
        return true;
    struct group_claim *owned = realloc(m->owned, cap * sizeof *owned);
    if (!owned)
        return false; /* the other has more room than it is known to have, that is all */
    m->owned = owned;
    m->partition_cap = cap;
    return true;
}

struct safe_partition *safe_partition_of(struct zk_safe *m, const char *topic, int32_t partition)
{
    struct safe_partition *p = safe_find(m, bytes_of_text(topic), partition);
    if (p)
        return p;
    struct safe_topic *t = safe_topic_of(m, topic);
    if (!t || !make_room(m))
        return NULL;
    p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->topic = t;
    p->partition = partition;
    p->retry_at_ms = INT64_MIN;
    p->late_commit = -1;
    p->waiting_since_ms = INT64_MAX;
    reset(p);
    size_t at = position(m, bytes_of_text(topic), partition);
    memmove(&m->partitions[at + 1], &m->partitions[at],
            (m->partition_count - at) * sizeof(struct safe_partition *));
    m->partitions[at] = p;
    m->partition_count++;
    return p;
}

void safe_collect(struct zk_safe *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        if (p->state == FREE && p->op == OP_NONE && !p->is_watching && !p->is_wanted &&
            !p->is_poked && !p->is_lost && !p->is_told_waiting && !p->may_come_true &&
            p->late_commit < 0) {
            safe_forget_former(p);
            free(p);
        } else {
            m->partitions[kept++] = p;
        }
    }
    m->partition_count = kept;
}

void safe_free_partitions(struct zk_safe *m)
{
    for (size_t i = 0; i < m->partition_count; i++) {
        free(m->partitions[i]->holder);
        safe_forget_former(m->partitions[i]);
        free(m->partitions[i]);
    }
    for (size_t i = 0; i < m->topic_count; i++) {
        creator_deinit(&m->topics[i]->creator);
        free(m->topics[i]->name);
        free(m->topics[i]);
    }
    for (size_t i = 0; i < m->host_count; i++)
        free(m->hosts[i]);
    free(m->hosts);
    free(m->partitions);
    free(m->topics);
    free(m->owned);
}

/* ---- what is to be done ---- */

void safe_poke(struct zk_safe *m, struct safe_partition *p)
{
    if (p->is_poked)
        return;
    p->is_poked = true;
    p->next_poked = NULL;
    *m->poked_end = p;
    m->poked_end = &p->next_poked;
}

void safe_poke_all(struct zk_safe *m)
{
    for (size_t i = 0; i < m->partition_count; i++)
        safe_poke(m, m->partitions[i]);
}

void safe_poke_topic(struct zk_safe *m, const struct safe_topic *topic)
{
    size_t i = position(m, bytes_of_text(topic->name), 0);
    for (; i < m->partition_count && m->partitions[i]->topic == topic; i++)
        safe_poke(m, m->partitions[i]);
}

void safe_wake(struct zk_safe *m, int64_t at_ms)
{
    if (at_ms < m->partition_deadline_ms)
        m->partition_deadline_ms = at_ms;
}

void safe_pause(struct zk_safe *m, struct safe_partition *p, int64_t ms)
{
    p->retry_at_ms = m->now_ms + ms;
    safe_poke(m, p);
}

bool safe_wants(const struct zk_safe *m, const struct safe_partition *p)
{
    bool takes_part = m->phase == IN || m->phase == REGISTERING;
    return p->is_wanted && !p->must_move && !p->must_release && takes_part;
}

/* ---- gates ---- */

static size_t owned_position(const struct zk_safe *m, const struct safe_partition *p)
{
    return claims_place(m->owned, m->owned_count, p->topic->name, p->partition);
}

void safe_want_leader(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    struct finder_wanted wanted = {p->topic->name, p->topic->index, p->partition};
    p->lacks_leader = finder_want(&m->finder, &wanted, 1) != ZKC_OK;
    if (p->lacks_leader) { /* out of memory: once more, later */
        group_notice(out, 3, "fetch", ZKC_ERR_NOMEM, "[%s,%d] is not fetched yet: out of memory",
                     p->topic->name, p->partition);
        safe_pause(m, p, GROUP_RESEND_MS);
    }
}

/* Ahead of time, while it is another's: so the fetch is sent when the gate opens. Without memory
 * for it there is another time, then. */
static void seek_leader(struct zk_safe *m, const struct safe_partition *p)
{
    struct finder_wanted wanted = {p->topic->name, p->topic->index, p->partition};
    if (!p->leader_host && finder_want(&m->finder, &wanted, 1) != ZKC_OK)
        return;
}

static void forget_leader(struct zk_safe *m, struct safe_partition *p)
{
    p->leader_host = NULL;
    finder_unwant(&m->finder, p->topic->index, p->partition);
}

void safe_forget_leaders(struct zk_safe *m)
{
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        bool was_kept = p->leader_host != NULL;
        p->leader_host = NULL;
        if (was_kept)
            seek_leader(m, p);
    }
}

/* Ours of this text; NULL: out of memory. */
static const char *keep_host(struct zk_safe *m, const char *host)
{
    for (size_t i = 0; i < m->host_count; i++)
        if (strcmp(m->hosts[i], host) == 0)
            return m->hosts[i];
    char **hosts = grown(m->hosts, &m->host_cap, m->host_count, sizeof *hosts);
    char *copy = hosts ? strdup(host) : NULL;
    m->hosts = hosts ? hosts : m->hosts;
    if (copy)
        m->hosts[m->host_count++] = copy;
    return copy;
}

static void keep_leader(struct zk_safe *m, struct safe_partition *p, const struct group_leader *l)
{
    p->leader_host = keep_host(m, l->host);
    p->leader_id = l->broker_id;
    p->leader_port = l->port;
}

/* The list is the finder's. How many of it are for the fetchers, which come first then. */
static size_t keep_of(struct zk_safe *m, struct group_leader *list, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        struct safe_partition *p = safe_find(m, bytes_of_text(list[i].topic), list[i].partition);
        if (p && p->is_open)
            list[left++] = list[i];
        else if (p)
            keep_leader(m, p, &list[i]);
    }
    return left;
}

void safe_keep_leaders(struct zk_safe *m, size_t first, struct group_outputs *out)
{
    size_t left = first;
    for (size_t i = first; i < out->count; i++) {
        struct group_output *o = &out->list[i];
        if (o->type == GROUP_OUT_LEADERS)
            o->leaders.count = keep_of(m, m->finder.leaders, o->leaders.count);
        if (o->type != GROUP_OUT_LEADERS || o->leaders.count > 0)
            out->list[left++] = *o;
    }
    out->count = left;
}

static void end_waiting(struct safe_partition *p, struct group_outputs *out)
{
    if (p->is_told_waiting) {
        struct group_output *o = group_emit(out, GROUP_OUT_WAITING);
        o->waiting.topic = p->topic->name;
        o->waiting.partition = p->partition;
        o->waiting.since_ms = p->waiting_since_ms;
    }
    p->is_told_waiting = false;
    p->waiting_since_ms = INT64_MAX;
    free(p->holder);
    p->holder = NULL;
}

void safe_open(struct zk_safe *m, struct safe_partition *p, int64_t position,
               struct group_outputs *out)
{
    assert(!p->is_open);
    p->is_open = true;
    p->is_drained = p->is_void = p->is_asked = false;
    p->deadline_ms = p->stored.deadline_ms = INT64_MAX;
    p->claim = ++m->claims_made;
    p->moves = 0;
    struct group_claim claim = {.topic = p->topic->name,
                                .partition = p->partition,
                                .thread = p->thread,
                                .offset = position,
                                .topic_index = p->topic->index,
                                .number = p->claim,
                                .session_id = m->session_id,
                                .leader_host = p->leader_host,
                                .leader_id = p->leader_id,
                                .leader_port = p->leader_port};
    size_t at = owned_position(m, p);
    memmove(&m->owned[at + 1], &m->owned[at], (m->owned_count - at) * sizeof *m->owned);
    m->owned[at] = claim;
    m->owned_count++;
    group_emit(out, GROUP_OUT_FETCH_START)->fetch_start = claim;
    if (!p->leader_host)
        safe_want_leader(m, p, out);
    p->leader_host = NULL; /* the fetcher's from here on */
}

void safe_close(struct zk_safe *m, struct safe_partition *p, enum group_gate gate,
                struct group_outputs *out)
{
    assert(p->is_open);
    p->is_open = p->lacks_leader = false;
    size_t at = owned_position(m, p);
    m->owned_count--;
    memmove(&m->owned[at], &m->owned[at + 1], (m->owned_count - at) * sizeof *m->owned);
    finder_unwant(&m->finder, p->topic->index, p->partition);
    struct group_output *o = group_emit(out, GROUP_OUT_FETCH_STOP);
    o->fetch_stop.topic = p->topic->name;
    o->fetch_stop.partition = p->partition;
    o->fetch_stop.claim = p->claim;
    o->fetch_stop.gate = gate;
    o->fetch_stop.is_restreamed = p->is_wanted && p->thread != p->thread_wanted;
}

void safe_void(struct zk_safe *m, struct safe_partition *p, enum group_void reason,
               struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_VOID);
    o->voided.topic = p->topic->name;
    o->voided.partition = p->partition;
    o->voided.claim = p->claim;
    o->voided.reason = reason;
    o->voided.reset = reason == GROUP_VOID_RESET ? p->found_offset : -1;
    p->is_void = true;
    m->counts.voided++;
}

void safe_forget(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    if (p->is_open)
        safe_close(m, p, GROUP_GATE_LOST, out);
    else if (!p->is_drained && !p->is_void && p->claim)
        safe_void(m, p, GROUP_VOID_LOST, out);
    safe_job_failed(m, p, ZKC_ERR_NOT_OWNED, "the partition is not owned any more");
    forget_leader(m, p);
    reset(p);
    if (p->state != FREE)
        safe_set_state(m, p, FREE);
    safe_poke(m, p);
}

/* ---- one partition acts ---- */

static bool may_send(struct zk_safe *m, const struct safe_partition *p)
{
    if (!m->is_connected || m->phase >= CLOSING || p->op != OP_NONE)
        return false;
    if (m->now_ms < p->retry_at_ms) {
        safe_wake(m, p->retry_at_ms);
        return false;
    }
    return true;
}

char *safe_owner_path(struct zk_safe *m, const struct safe_partition *p)
{
    return arena_format(&m->arena, "/consumers/%s/owners/%s/%d", m->group, p->topic->name,
                        p->partition);
}

char *safe_thread_id(struct zk_safe *m, int32_t thread)
{
    return arena_format(&m->arena, "%s-%d", m->consumer_id, thread);
}

static void begin_op(struct safe_partition *p, enum safe_op op, unsigned answers)
{
    p->op = op;
    p->answers_left = answers;
    p->op_lost = false;
    p->refused = ZK_OK;
    p->found = FOUND_NONE;
    p->found_offset = p->found_version = -1;
    p->found_forced = p->found_odd = false;
}

/* Sends the parts of an operation that reads: a sync, the offset, the owner node. */
static void send_reads(struct zk_safe *m, struct safe_partition *p, enum safe_op op,
                       struct group_outputs *out)
{
    bool syncs = op == OP_RESOLVE || op == OP_REREAD;
    bool looks = op == OP_LOOK || op == OP_RESOLVE;
    bool reads_offset = !looks && safe_has_znodes(m);
    bool reads_text = looks || safe_has_bug(m, ZK_SAFE_BUG_CLAIM_BY_TEXT);
    struct zk_op owner = {.type = reads_text ? ZK_OP_GET : ZK_OP_EXISTS,
                          .path = safe_owner_path(m, p),
                          .watch = m->config.watch_owners && op != OP_REREAD,
                          .may_move = op != OP_RESOLVE}; /* its sync is of this session */
    struct zk_op sync = {.type = ZK_OP_SYNC, .path = owner.path};
    struct zk_op offset = {0};
    if (!owner.path || (reads_offset && !safe_offset_op(m, p, &offset)) || !safe_can_send(m, 3)) {
        safe_pause(m, p, GROUP_RESEND_MS);
        return;
    }
    begin_op(p, op, 1 + syncs + reads_offset);
    struct safe_sent sent = {.op = op, .partition = p};
    if (syncs) {
        sent.step = STEP_SYNC;
        safe_send(m, sent, &sync, out);
    }
    if (reads_offset) {
        sent.step = STEP_OFFSET;
        safe_send(m, sent, &offset, out);
    }
    sent.step = STEP_OWNER;
    safe_send(m, sent, &owner, out);
}

static void act_free(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    if (p->late_commit >= 0 && m->phase == IN && may_send(m, p)) {
        p->to_commit = p->late_commit; /* only with the bug planted */
        p->late_commit = -1;
        begin_op(p, OP_COMMIT, 1);
        safe_send_commit(m, p, out);
        return;
    }
    if (!safe_wants(m, p)) {
        end_waiting(p, out);
        forget_leader(m, p);
        return;
    }
    bool waits = !p->is_called && (p->topic->hint != HINT_NONE || safe_holds_claims(m));
    if (m->phase != IN || waits || p->topic->owners != PARENT_THERE || !may_send(m, p))
        return;
    p->is_called = false;
    if (p->is_taken) {
        safe_set_state(m, p, LOOKING);
        return;
    }
    begin_op(p, OP_CLAIM, 1);
    p->thread = p->thread_wanted;
    safe_set_state(m, p, CLAIMING);
    safe_add_claim(m, p, out);
}

static void act_waiting(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    if (!safe_wants(m, p))
        safe_forget(m, p, out);
    else if (!m->config.watch_owners && may_send(m, p))
        safe_set_state(m, p, FREE); /* nobody tells: it is tried */
}

/* Stops to deliver; what the application holds it may finish until the deadline. */
static void stop(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    safe_close(m, p, GROUP_GATE_REVOKED, out);
    safe_set_state(m, p, STOPPED);
}

/* Reads the offset and the owner node, and lets Kafka be asked meanwhile. One that is not wanted
 * any more does not wait for Kafka. */
static void act_held(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    end_waiting(p, out);
    safe_act_stored(m, p, out);
    bool waits = safe_has_stored(m) && !p->stored.is_known && safe_wants(m, p);
    if (p->is_read && !waits)
        safe_offset_read(m, p, out);
    else if (!p->is_read && may_send(m, p))
        send_reads(m, p, OP_READ, out);
}

/* Leaves the watch on our own owner node again. Nothing waits for it. */
static void watch_again(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    if (!p->is_unwatched || p->is_watching || !m->is_connected || m->phase >= LEAVING)
        return;
    if (m->now_ms < p->watch_at_ms) {
        safe_wake(m, p->watch_at_ms);
        return;
    }
    struct zk_op op = {
        .type = ZK_OP_EXISTS, .path = safe_owner_path(m, p), .watch = true, .may_move = true};
    if (!op.path || !safe_can_send(m, 1)) {
        p->watch_at_ms = m->now_ms + GROUP_RESEND_MS;
        safe_wake(m, p->watch_at_ms);
        return;
    }
    p->is_unwatched = false;
    p->is_watching = true;
    safe_send(m, (struct safe_sent){.op = OP_WATCH, .partition = p}, &op, out);
}

static void act_owned(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    bool want = safe_wants(m, p);
    if (!want && !safe_has_bug(m, ZK_SAFE_BUG_RELEASE_BEFORE_DRAIN)) {
        stop(m, p, out);
        return;
    }
    if (p->lacks_leader && m->now_ms >= p->retry_at_ms)
        safe_want_leader(m, p, out);
    safe_act_stored(m, p, out);
    watch_again(m, p, out);
    if (!may_send(m, p))
        return;
    if (p->unsure_offset) {
        send_reads(m, p, OP_REREAD, out);
    } else if (!want) { /* only with the bug planted */
        begin_op(p, OP_RELEASE, 1);
        safe_set_state(m, p, RELEASING);
        safe_add_release(m, p, out);
    } else if (safe_commit_is_due(p) && p->topic->offsets == PARENT_THERE &&
               m->now_ms < lease_end_ms(&m->lease)) {
        begin_op(p, OP_COMMIT, 1);
        safe_send_commit(m, p, out);
    }
}

/* Whether what the application holds is done or does not count any more. */
static bool is_over(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    if (p->deadline_ms == INT64_MAX)
        p->deadline_ms =
            m->now_ms + (m->phase == LEAVING && !m->is_leaving ? 0 : m->config.handover_ms);
    if (p->is_drained || p->is_void)
        return true;
    if (m->now_ms < p->deadline_ms) {
        safe_wake(m, p->deadline_ms);
        return false;
    }
    if (!p->is_asked) { /* what is finished by now still counts */
        p->is_asked = true;
        m->wants_positions = true;
        safe_wake(m, m->now_ms);
        return false;
    }
    safe_void(m, p, GROUP_VOID_LATE, out);
    return true;
}

static void act_stopped(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    bool over = is_over(m, p, out);
    safe_act_stored(m, p, out);
    over = over && safe_store_is_over(m, p, out);
    watch_again(m, p, out);
    if (!may_send(m, p))
        return;
    if (p->unsure_offset) {
        send_reads(m, p, OP_REREAD, out);
    } else if (over && p->topic->offsets == PARENT_THERE && safe_is_fenced(m)) {
        begin_op(p, OP_RELEASE, 1);
        safe_set_state(m, p, RELEASING);
        safe_add_release(m, p, out);
    }
}

/* The session has ended: nothing is sent, nothing is kept. */
static void act_lost(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    p->is_lost = false;
    if (safe_has_bug(m, ZK_SAFE_BUG_COMMIT_IN_NEW_SESSION) && p->to_commit > p->committed)
        p->late_commit = p->to_commit;
    p->is_void |= !p->is_open; /* what is still out is told with the end of the session */
    p->is_taken = p->may_come_true = p->must_resolve = false;
    p->retry_at_ms = INT64_MIN;
    safe_forget(m, p, out);
}

static void act(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    if (p->is_lost)
        act_lost(m, p, out);
    switch (p->state) {
    case FREE: act_free(m, p, out); break;
    case LOOKING:
        if (may_send(m, p))
            send_reads(m, p, OP_LOOK, out);
        break;
    case WAITING: act_waiting(m, p, out); break;
    case UNSURE:
        if (may_send(m, p) && (p->unsure_of != OP_RELEASE || safe_is_fenced(m)))
            send_reads(m, p, OP_RESOLVE, out);
        break;
    case HELD: act_held(m, p, out); break;
    case OWNED: act_owned(m, p, out); break;
    case STOPPED: act_stopped(m, p, out); break;
    case CLAIMING:
    case RELEASING: break; /* the answer decides */
    }
}

/* How long a partition may be another's before that is out of the ordinary: it hands over, or its
 * session ends. */
static int64_t patience_ms(const struct zk_safe *m)
{
    return m->timeout_ms + m->config.handover_ms;
}

static void count(struct zk_safe *m)
{
    struct zk_safe_counts *c = &m->counts;
    c->wanted = c->owned = c->waiting = c->unsure = c->placed = c->overdue = 0;
    m->overdue_at_ms = INT64_MAX;
    for (size_t i = 0; i < m->partition_count; i++) {
        const struct safe_partition *p = m->partitions[i];
        c->wanted += p->is_wanted;
        c->owned += p->state == OWNED;
        c->waiting += p->state == WAITING;
        c->unsure += p->state == UNSURE;
        c->placed += p->is_wanted && (p->state == OWNED || p->state == WAITING || p->is_told_odd ||
                                      p->refused_op.cause);
        if (p->waiting_since_ms == INT64_MAX)
            continue;
        int64_t at = p->waiting_since_ms + patience_ms(m);
        c->overdue += at <= m->now_ms;
        if (at > m->now_ms && at < m->overdue_at_ms)
            m->overdue_at_ms = at;
    }
}

/* The longest of them. */
static const struct safe_partition *first_overdue(const struct zk_safe *m)
{
    const struct safe_partition *first = NULL;
    for (size_t i = 0; i < m->partition_count; i++)
        if (m->partitions[i]->waiting_since_ms != INT64_MAX &&
            (!first || m->partitions[i]->waiting_since_ms < first->waiting_since_ms))
            first = m->partitions[i];
    return first;
}

/* Told when the first is, and when there are twice as many: a group in trouble is not told of line
 * by line. */
static void tell_overdue(struct zk_safe *m, struct group_outputs *out)
{
    size_t n = m->counts.overdue;
    const struct safe_partition *p = n ? first_overdue(m) : NULL;
    if (p && n >= 2 * m->overdue_told)
        group_notice(out, 4, "claim", ZKC_ERR_NOT_OWNED,
                     "%zu of %zu partitions that are ours are held by others: [%s,%d] by %s for "
                     "%" PRId64 " ms; what we have is consumed, these are claimed when they are "
                     "deleted",
                     n, m->counts.wanted, p->topic->name, p->partition,
                     p->holder ? p->holder : "somebody", m->now_ms - p->waiting_since_ms);
    else if (!n && m->overdue_told)
        group_notice(out, 6, "claim", ZKC_OK, "no partition of ours is held by others any more");
    else
        return;
    m->overdue_told = n;
}

void safe_run_partitions(struct zk_safe *m, struct group_outputs *out)
{
    if (m->now_ms >= m->partition_deadline_ms) {
        m->partition_deadline_ms = INT64_MAX;
        safe_poke_all(m);
    }
    bool acted = m->poked != NULL;
    while (m->poked && safe_has_room(out, SAFE_OUTPUTS_SPARE)) {
        struct safe_partition *p = m->poked;
        m->poked = p->next_poked;
        if (!m->poked)
            m->poked_end = &m->poked;
        p->is_poked = false;
        act(m, p, out);
    }
    safe_flush(m, out);
    if (acted || m->partition_count == 0 /* the last may have been freed */ ||
        m->now_ms >= m->overdue_at_ms) {
        count(m);
        tell_overdue(m, out);
    }
}

void safe_lose_all(struct zk_safe *m)
{
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        p->op = OP_NONE;
        p->is_watching = false;
        p->is_lost = true;
        p->is_wanted = false;
        safe_poke(m, p);
    }
}

/* ---- answers ---- */

static void resolve_again(struct zk_safe *m, struct safe_partition *p)
{
    p->must_resolve = false;
    if (p->state == WAITING)
        safe_set_state(m, p, FREE);
    p->unsure_of = OP_CLAIM;
    safe_set_state(m, p, UNSURE);
}

void safe_look_again(struct zk_safe *m)
{
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        bool is_aside = p->state == FREE || p->state == LOOKING || p->state == WAITING;
        if (!p->may_come_true || !is_aside || p->is_lost || safe_has_bug(m, ZK_SAFE_BUG_UNFENCED))
            continue;
        p->must_resolve = true;
        if (p->state != LOOKING) /* that has an end first: it may be under way elsewhere */
            resolve_again(m, p);
    }
}

void safe_op_lost(struct zk_safe *m, struct safe_partition *p)
{
    enum safe_op op = p->op;
    p->op = OP_NONE;
    safe_pause(m, p, m->is_connected ? GROUP_RESEND_MS : 0);
    if (op == OP_CLAIM) {
        p->unsure_of = OP_CLAIM;
        p->may_come_true = !safe_has_bug(m, ZK_SAFE_BUG_UNRESOLVED_FORGOTTEN);
        safe_set_state(m, p, safe_has_bug(m, ZK_SAFE_BUG_UNRESOLVED_FORGOTTEN) ? FREE : UNSURE);
    } else if (op == OP_RELEASE) {
        p->unsure_of = OP_RELEASE;
        safe_set_state(m, p, UNSURE);
    } else if (op == OP_COMMIT) {
        p->unsure_offset = true;
    }
}

/* It may go on for long, with hundreds of partitions: each is told of once, and of those that go on
 * there is a line now and then. */
static void tell_refused(struct zk_safe *m, struct safe_partition *p, const char *what, int zk_rc,
                         struct group_outputs *out)
{
    bool is_news = told_is_news(&p->refused_op, told_hash(what) ^ ((uint64_t)(uint32_t)zk_rc << 1));
    if (!is_news && m->now_ms < m->refused_logged_ms + SAFE_REFUSED_LOG_MS)
        return;
    m->refused_logged_ms = m->now_ms;
    group_notice(out, 3, "claim", is_news ? ZKC_ERR_ZOOKEEPER : ZKC_OK,
                 "%s of [%s,%d] is refused: %s (%d); trying again every %d ms", what,
                 p->topic->name, p->partition, zk_rc_name(zk_rc), zk_rc, SAFE_REFUSED_MS);
}

void safe_op_refused(struct zk_safe *m, struct safe_partition *p, const char *what, int zk_rc,
                     struct group_outputs *out)
{
    enum safe_op op = p->op;
    p->op = OP_NONE;
    tell_refused(m, p, what, zk_rc, out);
    safe_pause(m, p, SAFE_REFUSED_MS);
    if (op == OP_CLAIM)
        safe_set_state(m, p, FREE);
    else if (op == OP_RELEASE)
        safe_set_state(m, p, STOPPED);
    else if (op == OP_COMMIT)
        safe_job_failed(m, p, ZKC_ERR_ZOOKEEPER, zk_rc_name(zk_rc));
}

void safe_tell_claim(const struct safe_partition *p, int zk_rc, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_CLAIM);
    o->claim.topic = p->topic->name;
    o->claim.partition = p->partition;
    o->claim.zk_rc = zk_rc;
}

static void wait_for(struct zk_safe *m, struct safe_partition *p, struct bytes holder,
                     struct group_outputs *out)
{
    if (!safe_wants(m, p)) {
        safe_forget(m, p, out);
        return;
    }
    reset(p);
    safe_set_state(m, p, WAITING);
    if (!m->config.watch_owners)
        safe_pause(m, p, SAFE_REFUSED_MS);
    if (p->waiting_since_ms == INT64_MAX)
        p->waiting_since_ms = m->now_ms;
    p->is_told_waiting = true;
    seek_leader(m, p);
    free(p->holder);
    p->holder = strndup(holder.data ? (const char *)holder.data : "",
                        holder.len < HOLDER_MAX ? holder.len : HOLDER_MAX);
    safe_remember_holder(m, p, holder);
    struct group_output *o = group_emit(out, GROUP_OUT_WAITING);
    o->waiting.topic = p->topic->name;
    o->waiting.partition = p->partition;
    o->waiting.holder = group_text(out, "%s", p->holder ? p->holder : "somebody");
    o->waiting.since_ms = p->waiting_since_ms;
}

/* Who has the owner node, after a look or a resolve. */
static void looked(struct zk_safe *m, struct safe_partition *p, struct bytes holder,
                   struct group_outputs *out)
{
    enum safe_op of = p->unsure_of;
    p->is_taken = false;
    p->unsure_of = OP_NONE;
    if (of == OP_RELEASE && p->found != FOUND_OURS)
        safe_tell_released(m, p, ZK_OK, out);
    if (p->found == FOUND_OURS) {
        if (p->state == LOOKING)
            p->thread = p->thread_wanted;
        if (of == OP_CLAIM || p->state == LOOKING) {
            m->counts.claims++;
            safe_tell_claim(p, ZK_OK, out);
        }
        p->must_release |= of == OP_RELEASE; /* another makes the lost one void */
        p->must_resolve = false;
        safe_set_state(m, p, HELD);
        return;
    }
    if (p->state == UNSURE && of == OP_NONE)
        safe_tell_deleted(m, p, p->found == FOUND_OTHERS ? holder : BYTES_NULL, out);
    if (p->found == FOUND_OTHERS) {
        if (!p->is_drained && !p->is_void && p->claim)
            safe_void(m, p, GROUP_VOID_LOST, out);
        wait_for(m, p, holder, out);
    } else {
        safe_forget(m, p, out);
    }
    if (p->must_resolve)
        resolve_again(m, p);
}

static void read_done(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    if (p->found != FOUND_OURS) {
        safe_tell_deleted(m, p, BYTES_NULL, out);
        safe_forget(m, p, out);
    } else if (p->found_odd && safe_wants(m, p)) {
        safe_pause(m, p,
                   SAFE_ODD_OFFSET_MS); /* delivering from anywhere else might lose messages */
    } else {
        p->is_read = true;
        act_held(m, p, out);
    }
}

static void reread_done(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    if (p->state != OWNED && p->state != STOPPED)
        return; /* its owner node has changed meanwhile: that is looked into */
    if (p->found != FOUND_OURS) {
        safe_tell_deleted(m, p, BYTES_NULL, out);
        safe_forget(m, p, out);
    } else {
        safe_offset_reread(m, p, out);
    }
}

static bool is_ours(struct zk_safe *m, const struct safe_partition *p,
                    const struct zk_result *answer)
{
    if (answer->stat.ephemeral_owner == m->session_id)
        return true;
    if (!safe_has_bug(m, ZK_SAFE_BUG_CLAIM_BY_TEXT))
        return false;
    const char *id = safe_thread_id(m, p->thread_wanted);
    return id && bytes_equal_text(answer->data, id);
}

static void take_part(struct zk_safe *m, struct safe_partition *p, const struct safe_sent *sent,
                      const struct zk_result *answer, struct group_outputs *out)
{
    struct why why;
    if (!lease_is_answer(answer->zk_rc)) {
        p->op_lost = true;
    } else if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE) {
        p->refused = answer->zk_rc;
    } else if (sent->step == STEP_OWNER) {
        p->found = answer->zk_rc == ZK_NO_NODE ? FOUND_NONE
                   : is_ours(m, p, answer)     ? FOUND_OURS
                                               : FOUND_OTHERS;
    } else if (sent->step == STEP_OFFSET) {
        safe_offset_found(p, answer, &why);
        if (p->found_odd && !p->is_told_odd)
            group_notice(out, 3, "offset", ZKC_ERR_CORRUPT,
                         "[%s,%d]: %s; set it to a bare decimal number, or delete the node",
                         p->topic->name, p->partition, why.text);
        p->is_told_odd = p->found_odd;
    }
}

void safe_partition_answer(struct zk_safe *m, const struct safe_sent *sent,
                           const struct zk_result *answer, struct group_outputs *out)
{
    struct safe_partition *p = sent->partition;
    assert(p->op == sent->op && p->answers_left > 0);
    p->answers_left--;
    if (sent->op == OP_COMMIT) {
        safe_commit_answer(m, p, answer, out);
        return;
    }
    take_part(m, p, sent, answer, out);
    if (p->answers_left > 0)
        return;
    if (p->op_lost) {
        safe_op_lost(m, p);
        return;
    }
    if (p->refused != ZK_OK) {
        safe_op_refused(m, p, "a read", p->refused, out);
        return;
    }
    p->op = OP_NONE;
    told_over(&p->refused_op);
    safe_poke(m, p);
    switch (sent->op) {
    case OP_LOOK:
    case OP_RESOLVE: looked(m, p, answer->data, out); break;
    case OP_READ: read_done(m, p, out); break;
    case OP_REREAD: reread_done(m, p, out); break;
    default: assert(!"no operation of one partition");
    }
}

/* ---- events ---- */

void safe_owner_event(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    switch (p->state) {
    case WAITING: /* claimed at once, no look before */
        p->retry_at_ms = INT64_MIN;
        p->is_called = true;
        safe_set_state(m, p, FREE);
        break;
    case OWNED:
        safe_close(m, p, GROUP_GATE_LOST, out);
        safe_set_state(m, p, UNSURE);
        break;
    case STOPPED: safe_set_state(m, p, UNSURE); break;
    case HELD:
        p->is_read = false; /* what waits for Kafka only has to look again */
        safe_poke(m, p);
        break;
    case FREE:
    case CLAIMING:
    case LOOKING:
    case UNSURE:
    case RELEASING: break; /* what is under way looks anyway, or it is our own delete */
    }
}

void safe_owner_unwatched(struct zk_safe *m, struct safe_partition *p)
{
    switch (p->state) {
    case WAITING: /* most probably it is another's still: a look, and no claim before */
        p->is_taken = true;
        p->retry_at_ms = INT64_MIN;
        safe_set_state(m, p, FREE);
        break;
    case HELD: /* what is under way may have looked before; what waits for Kafka looks again */
        p->is_unwatched = p->op != OP_NONE;
        p->is_read = false;
        safe_poke(m, p);
        break;
    case OWNED:
    case STOPPED:
    case RELEASING:
    case UNSURE:
        p->is_unwatched = true;
        safe_poke(m, p);
        break;
    case FREE:
    case CLAIMING:
    case LOOKING: break; /* what is under way looks anyway */
    }
}

void safe_watched(struct zk_safe *m, const struct safe_sent *sent, const struct zk_result *answer,
                  struct group_outputs *out)
{
    struct safe_partition *p = sent->partition;
    bool is_answer = lease_is_answer(answer->zk_rc);
    bool exists = answer->zk_rc == ZK_OK;
    p->is_watching = false;
    safe_poke(m, p);
    if (p->state != OWNED && p->state != STOPPED)
        return;
    if (!is_answer || (!exists && answer->zk_rc != ZK_NO_NODE)) {
        p->is_unwatched = true;
        p->watch_at_ms = m->now_ms + (is_answer ? SAFE_REFUSED_MS : GROUP_RESEND_MS);
    } else if (!exists || !is_ours(m, p, answer)) {
        safe_owner_event(m, p, out);
    }
}

void safe_drained(struct zk_safe *m, const struct group_input *in)
{
    struct safe_partition *p =
        safe_find(m, bytes_of_text(in->drained.topic), in->drained.partition);
    if (!p || p->claim != in->drained.claim || p->is_open || p->is_drained || p->is_void ||
        p->is_lost)
        return; /* of a claim that is forgotten, or void */
    p->is_drained = true;
    safe_finished(m, p, in->drained.finished, in->drained.moves);
}
