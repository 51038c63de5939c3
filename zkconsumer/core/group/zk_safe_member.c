#include "zkconsumer/core/group/zk_safe_parts.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the session ---- */

void safe_tell_lease(struct zk_safe *m, struct group_outputs *out)
{
    int64_t end = lease_end_ms(&m->lease);
    if (end == m->lease_told_ms)
        return;
    if (m->lease_told_ms <= m->now_ms && end > m->now_ms)
        safe_poke_all(m); /* commits that came while it was over are due */
    m->lease_told_ms = end;
    struct group_output *o = group_emit(out, GROUP_OUT_LEASE);
    o->lease.session_id = m->session_id;
    o->lease.end_ms = end;
}

void safe_connected(struct zk_safe *m, const struct group_input *in, struct group_outputs *out)
{
    bool is_new = in->connected.is_new;
    if (is_new && m->session_id)
        safe_session_over(m, "a new session has begun", out);
    m->is_connected = true;
    m->session_id = in->connected.session_id;
    m->timeout_ms = in->connected.timeout_ms;
    lease_connected(&m->lease, m->now_ms, m->timeout_ms, in->connected.connect_sent_ms, is_new);
    safe_tell_lease(m, out);
    m->reg_retry_at_ms = m->fence_retry_at_ms = m->resend_at_ms = INT64_MIN;
    for (size_t i = 0; i < m->partition_count; i++)
        m->partitions[i]->retry_at_ms = INT64_MIN;
    safe_poke_all(m);
    if (!is_new)
        safe_look_again(m);
    zk_viewer_feed(m->viewer, in, out);
    lanes_resend(m->lanes, out);
    m->resend_at_ms = INT64_MAX;
    if (m->phase == CONNECTING)
        safe_move(m, REGISTERING);
}

void safe_disconnected(struct zk_safe *m, struct group_outputs *out)
{
    m->is_connected = false;
    lease_disconnected(&m->lease);
    safe_tell_lease(m, out);
}

void safe_session_over(struct zk_safe *m, const char *why, struct group_outputs *out)
{
    m->is_connected = false;
    lease_over(&m->lease);
    safe_tell_lease(m, out);
    m->session_id = 0;
    m->lease_told_ms = INT64_MIN;
    safe_forget_sent(m);
    lanes_park(m->lanes);
    safe_stored_lost(m, out);
    m->holds_claims = false;
    safe_lose_all(m);
    safe_forget_topics(m);
    finder_forget_brokers(&m->finder);
    creator_deinit(&m->creator);
    m->reg = REG_NONE;
    m->id_version_min = 0;
    m->is_fencing = false;
    m->is_lacking = m->has_acted = m->must_decide = false;
    m->acted_pzxid = INT64_MIN;
    safe_end_audit(m);
    safe_end_round(m, why, out);
    if (m->phase == REGISTERING || m->phase == IN)
        safe_move(m, CONNECTING);
}

/* ---- registration ---- */

void safe_id_event(struct zk_safe *m)
{
    if (m->reg == REG_WAITING) {
        m->reg = REG_NONE;
    } else if (m->reg == REG_OURS) {
        m->reg = REG_UNSURE;
        if (m->phase == IN)
            safe_move(m, REGISTERING);
    }
}

static const char *declared_strategies(enum zk_safe_strategy strategy)
{
    switch (strategy) {
    case ZK_SAFE_AUTO: return "ceil,range";
    case ZK_SAFE_CEIL: return "ceil";
    case ZK_SAFE_RANGE: return "range";
    case ZK_SAFE_RENDEZVOUS: return "rendezvous,ceil,range";
    case ZK_SAFE_ROUNDROBIN: return "roundrobin";
    }
    return "";
}

static bool write_registration(struct zk_safe *m)
{
    char timestamp[24];
    char strategy[32];
    snprintf(timestamp, sizeof timestamp, "%" PRId64, m->wall_ms);
    snprintf(strategy, sizeof strategy, "%s", declared_strategies(m->config.strategy));
    struct zk_registration registration = {
        .pattern = m->config.pattern,
        .subscriptions = m->subscriptions,
        .subscription_count = m->config.subscription_count,
        .timestamp = timestamp,
        .strategy = strategy,
    };
    buf_clear(&m->registration);
    zk_registration_write(&m->registration, &registration);
    return !m->registration.failed;
}

static void retry_registration(struct zk_safe *m, enum safe_registering to, int64_t ms)
{
    creator_deinit(&m->creator);
    m->reg = to;
    m->reg_retry_at_ms = m->now_ms + ms;
}

static void create_id(struct zk_safe *m, struct group_outputs *out)
{
    struct zk_op op;
    creator_deinit(&m->creator);
    if (!write_registration(m) || !safe_can_send(m, 1) ||
        creator_begin(&m->creator, m->id_path, buf_bytes(&m->registration), true, &op)) {
        retry_registration(m, REG_NONE, GROUP_RESEND_MS);
        return;
    }
    m->reg = REG_CREATING;
    safe_send(m, (struct safe_sent){.op = OP_REGISTER}, &op, out);
}

static void look_at_id(struct zk_safe *m, struct group_outputs *out)
{
    if (!safe_can_send(m, 2)) {
        retry_registration(m, REG_UNSURE, GROUP_RESEND_MS);
        return;
    }
    struct zk_op sync = {.type = ZK_OP_SYNC, .path = m->id_path};
    struct zk_op exists = {.type = ZK_OP_EXISTS, .path = m->id_path, .watch = true};
    m->reg = REG_LOOKING;
    m->id_lost = false;
    safe_send(m, (struct safe_sent){.op = OP_LOOK_ID, .step = STEP_SYNC}, &sync, out);
    safe_send(m, (struct safe_sent){.op = OP_LOOK_ID, .step = STEP_OWNER}, &exists, out);
}

void safe_run_registration(struct zk_safe *m, struct group_outputs *out)
{
    if (!m->is_connected || m->now_ms < m->reg_retry_at_ms)
        return;
    if (m->reg == REG_NONE && m->phase == REGISTERING)
        create_id(m, out);
    else if (m->reg == REG_UNSURE && (m->phase == REGISTERING || m->phase == LEAVING))
        look_at_id(m, out);
}

/* What we have read before we registered (again) may be a group that has not been one since:
 * nothing is stopped by it. An observer's view that has us may have come before the answer to our
 * own create, and does not come again: it stands. */
static void forget_views(struct zk_safe *m)
{
    if (m->has_observer)
        return;
    bool has_any = m->view || m->is_lacking || zk_viewer_is_busy(m->viewer);
    zk_view_unref(m->view);
    m->view = NULL;
    m->must_decide = false;
    if (has_any)
        zk_viewer_refresh(m->viewer);
}

/* `zxid`: of the transaction that has created the node, or later, until it is looked at. */
static void registered(struct zk_safe *m, int64_t zxid, int32_t version)
{
    creator_deinit(&m->creator);
    m->id_version = version;
    m->fence_retry_at_ms = INT64_MIN;
    told_over(&m->refused_registration);
    bool is_earlier = zxid < m->registered_zxid; /* the view that was refused may be good */
    m->must_decide = m->must_decide || (is_earlier && m->view && m->is_lacking);
    m->registered_zxid = zxid;
    m->reg = REG_OURS;
    if (m->phase != REGISTERING)
        return;
    safe_move(m, IN);
    safe_poke_all(m);
    forget_views(m);
    m->is_lacking = false; /* an observer that lags: its watch will bring the next view */
}

static void refused_registration(struct zk_safe *m, int zk_rc, struct group_outputs *out)
{
    bool is_news = told_is_news(&m->refused_registration, (uint32_t)zk_rc);
    group_notice(out, 3, "member", is_news ? ZKC_ERR_ZOOKEEPER : ZKC_OK,
                 "registering %s is refused: %s (%d); trying again in %d ms", m->id_path,
                 zk_rc_name(zk_rc), zk_rc, SAFE_REFUSED_MS);
    retry_registration(m, REG_NONE, SAFE_REFUSED_MS);
}

static void created(struct zk_safe *m, const struct zk_result *answer, struct group_outputs *out)
{
    struct zk_op op;
    int zk_rc;
    if (!lease_is_answer(answer->zk_rc) || !safe_can_send(m, 1)) {
        retry_registration(m, REG_UNSURE, m->is_connected ? GROUP_RESEND_MS : 0);
        return;
    }
    if (creator_next(&m->creator, answer->zk_rc, &op, &zk_rc)) {
        safe_send(m, (struct safe_sent){.op = OP_REGISTER}, &op, out);
        return;
    }
    bool exists = zk_rc == ZK_NODE_EXISTS;
    if (zk_rc == ZK_OK || (exists && safe_has_bug(m, ZK_SAFE_BUG_REGISTRATION_BY_TEXT)))
        registered(m, answer->zxid, 0);
    else if (exists)
        retry_registration(m, REG_UNSURE, 0);
    else
        refused_registration(m, zk_rc, out);
}

static void looked_at_id(struct zk_safe *m, const struct zk_result *answer,
                         struct group_outputs *out)
{
    bool exists = answer->zk_rc == ZK_OK;
    bool by_text = exists && safe_has_bug(m, ZK_SAFE_BUG_REGISTRATION_BY_TEXT);
    if (m->id_lost || !lease_is_answer(answer->zk_rc)) {
        retry_registration(m, REG_UNSURE, m->is_connected ? GROUP_RESEND_MS : 0);
    } else if (by_text || (exists && answer->stat.ephemeral_owner == m->session_id)) {
        registered(m, answer->stat.czxid, answer->stat.version);
    } else if (exists) {
        m->reg = REG_WAITING;
        safe_poke_all(m); /* what waited for a registration goes without */
        group_notice(out, 4, "member", ZKC_OK,
                     "%s is registered by another session (0x%" PRIx64
                     "): a former one of ours that has not ended yet, or another process with the "
                     "same consumer id; waiting until it goes",
                     m->id_path, (uint64_t)answer->stat.ephemeral_owner);
    } else if (answer->zk_rc == ZK_NO_NODE) {
        m->reg = REG_NONE;
    } else {
        refused_registration(m, answer->zk_rc, out);
    }
}

void safe_registered_answer(struct zk_safe *m, const struct safe_sent *sent,
                            const struct zk_result *answer, struct group_outputs *out)
{
    if (sent->op == OP_REGISTER)
        created(m, answer, out);
    else if (sent->step == STEP_SYNC)
        m->id_lost = !lease_is_answer(answer->zk_rc);
    else
        looked_at_id(m, answer, out);
    if (m->phase == LEAVING)
        safe_poke_all(m); /* releases wait for what has become of our node */
}

/* ---- the fence before what is lost ---- */

bool safe_is_fenced(const struct zk_safe *m)
{
    if (m->reg == REG_OURS)
        return m->id_version >= m->id_version_min || safe_has_bug(m, ZK_SAFE_BUG_UNFENCED);
    return m->reg == REG_WAITING || (m->reg == REG_NONE && m->phase != REGISTERING);
}

bool safe_fence_part(const struct zk_safe *m, struct zk_op *op)
{
    if (m->reg != REG_OURS || safe_has_bug(m, ZK_SAFE_BUG_UNFENCED))
        return false;
    *op = (struct zk_op){.type = ZK_OP_CHECK, .path = m->id_path, .version = m->id_version};
    return true;
}

void safe_want_fence(struct zk_safe *m, const struct safe_batch *batch)
{
    if (batch->id_version >= m->id_version_min)
        m->id_version_min = batch->id_version + 1;
}

/* One write does, but for a node that was deleted and that we have made again: it has to go beyond
 * all versions that were checked before. */
void safe_run_fence(struct zk_safe *m, struct group_outputs *out)
{
    if (!m->is_connected || m->phase >= CLOSING || m->is_fencing || safe_is_fenced(m) ||
        m->reg != REG_OURS || m->now_ms < m->fence_retry_at_ms)
        return;
    size_t count = (size_t)(m->id_version_min - m->id_version);
    if (count > SAFE_BATCH_MAX)
        count = SAFE_BATCH_MAX;
    struct zk_op *parts = arena_alloc_array(&m->arena, count, sizeof *parts);
    if (!parts || !safe_can_send(m, 1)) {
        m->fence_retry_at_ms = m->now_ms + GROUP_RESEND_MS;
        safe_wake(m, m->fence_retry_at_ms);
        return;
    }
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct zk_op){.type = ZK_OP_SET,
                                  .path = m->id_path,
                                  .data = buf_bytes(&m->registration),
                                  .version = ZK_ANY_VERSION};
    m->is_fencing = true;
    struct zk_op op = {.type = ZK_OP_MULTI, .parts = parts, .part_count = count};
    safe_send(m, (struct safe_sent){.op = OP_FENCE}, &op, out);
}

void safe_fence_answer(struct zk_safe *m, const struct zk_result *answer, struct group_outputs *out)
{
    m->is_fencing = false;
    if (m->reg != REG_OURS)
        return; /* it was deleted meanwhile, and is looked at */
    if (answer->zk_rc == ZK_OK) {
        m->id_version = answer->parts[answer->part_count - 1].stat.version;
    } else if (answer->zk_rc == ZK_NO_NODE) {
        safe_id_event(m);
    } else {
        bool lost = !lease_is_answer(answer->zk_rc);
        if (!lost)
            group_notice(out, 3, "member", ZKC_ERR_ZOOKEEPER,
                         "writing %s is refused: %s (%d); trying again in %d ms", m->id_path,
                         zk_rc_name(answer->zk_rc), answer->zk_rc, SAFE_REFUSED_MS);
        m->fence_retry_at_ms = m->now_ms + (lost ? GROUP_RESEND_MS : SAFE_REFUSED_MS);
        safe_wake(m, m->fence_retry_at_ms);
    }
    safe_poke_all(m);
}

/* ---- probes of the lease ---- */

/* Those of the next owned partitions, in turn, that have nothing under way. */
static size_t add_offsets(struct zk_safe *m, struct zk_op *parts, struct safe_batch *batch)
{
    size_t n = 0;
    for (size_t i = 0; i < m->partition_count && n < SAFE_PROBE_OFFSETS; i++) {
        m->probe_at = (m->probe_at + 1) % m->partition_count;
        struct safe_partition *p = m->partitions[m->probe_at];
        bool is_known = p->state == OWNED && p->op == OP_NONE && !p->unsure_offset && !p->is_lost;
        if (is_known && safe_probe_part(m, p, &parts[n]))
            batch->partitions[n++] = p;
    }
    return n;
}

/* The write of a probe. False: out of memory. */
static bool probe_op(struct zk_safe *m, struct zk_op *op, struct safe_batch **batch)
{
    if (safe_has_bug(m, ZK_SAFE_BUG_LEASE_ON_READ)) {
        *op = (struct zk_op){.type = ZK_OP_EXISTS, .path = m->id_path};
        return true;
    }
    if (m->config.lease_probe == LEASE_PROBE_SYNC) {
        *op = (struct zk_op){.type = ZK_OP_SYNC, .path = m->id_path};
        return true;
    }
    struct zk_op *parts = arena_alloc_array(&m->arena, 1 + SAFE_PROBE_OFFSETS, sizeof *parts);
    *batch = calloc(1, sizeof **batch);
    if (!parts || !*batch)
        return false;
    parts[0] = (struct zk_op){.type = ZK_OP_CHECK, .path = m->id_path, .version = ZK_ANY_VERSION};
    if (lease_is_first(&m->lease))
        (*batch)->count = add_offsets(m, &parts[1], *batch);
    *op = (struct zk_op){.type = ZK_OP_MULTI, .parts = parts, .part_count = 1 + (*batch)->count};
    return true;
}

void safe_run_probes(struct zk_safe *m, struct group_outputs *out)
{
    if (!m->is_connected || m->phase >= CLOSING || !lease_is_due(&m->lease, m->now_ms))
        return;
    struct zk_op op;
    struct safe_batch *batch = NULL;
    if (!safe_can_send(m, 1) || !probe_op(m, &op, &batch)) {
        free(batch);
        lease_unanswered(&m->lease, m->now_ms + GROUP_RESEND_MS);
        return;
    }
    m->counts.probes += lease_is_first(&m->lease);
    lease_sent(&m->lease, m->now_ms);
    safe_send(m, (struct safe_sent){.op = OP_PROBE, .batch = batch}, &op, out);
}

/* A check has failed: of the own id node, or of an offset's version. */
static void take_failed_check(struct zk_safe *m, const struct safe_batch *batch,
                              const struct zk_result *answer)
{
    size_t at = 0;
    while (at < answer->part_count && (answer->parts[at].zk_rc == ZK_OK ||
                                       answer->parts[at].zk_rc == ZK_RUNTIME_INCONSISTENCY))
        at++;
    if (at == 0 && answer->part_count > 0 && !safe_has_bug(m, ZK_SAFE_BUG_VIEW_WITHOUT_SELF))
        safe_id_event(m); /* with the bug, nothing tells it */
    if (at == 0 || at > batch->count)
        return;
    const struct safe_partition *named = batch->partitions[at - 1]; /* it may be gone by now */
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        if (p == named && p->state == OWNED && !p->is_lost) {
            p->unsure_offset = true;
            safe_poke(m, p);
        }
    }
}

void safe_probe_answer(struct zk_safe *m, const struct safe_sent *sent,
                       const struct zk_result *answer, struct group_outputs *out)
{
    if (!lease_is_answer(answer->zk_rc)) {
        lease_unanswered(&m->lease, m->now_ms + GROUP_RESEND_MS);
    } else {
        lease_answered(&m->lease, m->now_ms);
        if (answer->zk_rc != ZK_OK && sent->batch)
            take_failed_check(m, sent->batch, answer);
    }
    free(sent->batch);
    safe_tell_lease(m, out);
}

/* ---- rounds ---- */

static void begin_try(struct zk_safe *m, struct group_outputs *out)
{
    if (!m->is_round_open) {
        m->is_round_open = true;
        m->attempt = 0;
        group_emit(out, GROUP_OUT_REBALANCE_BEGIN)->rebalance_begin.rebalance = ++m->round;
    }
    if (m->is_trying)
        return;
    m->is_trying = true;
    struct group_output *o = group_emit(out, GROUP_OUT_TRY_BEGIN);
    o->try_begin.rebalance = m->round;
    o->try_begin.attempt = m->attempt;
}

/* `why` NULL: it went well. */
static void end_try(struct zk_safe *m, const char *why, struct group_outputs *out)
{
    if (!m->is_trying)
        return;
    m->is_trying = false;
    struct group_output *o = group_emit(out, GROUP_OUT_TRY_END);
    o->try_end.rebalance = m->round;
    o->try_end.attempt = m->attempt++;
    o->try_end.ok = why == NULL;
    o->try_end.why = why ? group_text(out, "%s", why) : "";
}

void safe_end_round(struct zk_safe *m, const char *why, struct group_outputs *out)
{
    end_try(m, why, out);
    if (!m->is_round_open)
        return;
    m->is_round_open = false;
    struct group_output *o = group_emit(out, GROUP_OUT_REBALANCE_END);
    o->rebalance_end.rebalance = m->round;
    o->rebalance_end.attempts = m->attempt;
    o->rebalance_end.ok = why == NULL;
}

/* ---- which rule ---- */

/* Whether a list like "ceil,range" has the word. */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, len) == 0 && (at[len] == 0 || at[len] == ','))
            return true;
    }
    return false;
}

/* A member that declares nothing is a Java member: as far as we know it uses 0.8's default. */
static bool declares(const struct zk_view_content *c, const char *word)
{
    const char *list = c->registration.strategy;
    return list ? has_word(list, word) : strcmp(word, "range") == 0;
}

/* NULL: all declare it. */
static const struct group_view_member *first_without(const struct zk_view *v, const char *word)
{
    const struct zk_view_content *last = NULL;
    for (size_t i = 0; i < v->member_count; i++) {
        const struct zk_view_content *c = v->registrations[i]->content;
        if (c != last && c->is_readable && !declares(c, word))
            return &v->members[i];
        last = c;
    }
    return NULL;
}

static enum assign_strategy choose_by_view(const struct zk_view *v)
{
    return first_without(v, "ceil") ? ASSIGN_RANGE : ASSIGN_CEIL;
}

static enum assign_strategy choose(const struct zk_safe *m, const struct zk_view *v)
{
    switch (m->config.strategy) {
    case ZK_SAFE_AUTO: return choose_by_view(v);
    case ZK_SAFE_CEIL: return ASSIGN_CEIL;
    case ZK_SAFE_RANGE: return ASSIGN_RANGE;
    case ZK_SAFE_RENDEZVOUS:
        return first_without(v, "rendezvous") ? choose_by_view(v) : ASSIGN_RENDEZVOUS;
    case ZK_SAFE_ROUNDROBIN: return ASSIGN_SPREAD; /* one odd member breaks no other */
    }
    return ASSIGN_RANGE;
}

/* Names the members that do not use our rule, once for each set of them. */
static void tell_disagreement(struct zk_safe *m, const struct zk_view *v, struct group_outputs *out)
{
    const char *rule = assign_strategy_name(m->strategy);
    uint64_t hash = 0;
    size_t count = 0;
    const char *first = NULL;
    for (size_t i = 0; i < v->member_count; i++) {
        const struct zk_view_content *c = v->registrations[i]->content;
        if (!c->is_readable || declares(c, rule))
            continue;
        first = first ? first : v->members[i].consumer_id;
        hash = group_view_hash(&v->members[i], 1, NULL, 0) + 31 * hash;
        count++;
    }
    if (hash != m->disagreement && count > 0)
        group_notice(out, 4, "member", ZKC_OK,
                     "%zu members do not assign by %s as we do, the first is %s: partitions may be "
                     "claimed by two and owned by none",
                     count, rule, first);
    m->disagreement = hash;
}

/* Says by which rule instead of rendezvous, and for whose sake, whenever one of both is another. */
static void tell_rendezvous(struct zk_safe *m, const struct zk_view *v, bool is_news,
                            struct group_outputs *out)
{
    const struct group_view_member *without = first_without(v, "rendezvous");
    uint64_t hash = without ? group_view_hash(without, 1, NULL, 0) : 0;
    is_news = is_news || hash != m->without_rendezvous;
    m->without_rendezvous = hash;
    if (is_news && without)
        group_notice(out, 4, "member", ZKC_OK,
                     "%s does not declare that it knows rendezvous: partitions are assigned by %s",
                     without->consumer_id, assign_strategy_name(m->strategy));
    else if (is_news)
        group_notice(out, 5, "member", ZKC_OK,
                     "all members know rendezvous: partitions are assigned by it");
}

static void choose_rule(struct zk_safe *m, const struct zk_view *v, struct group_outputs *out)
{
    enum assign_strategy strategy = choose(m, v);
    bool is_other = m->has_acted && strategy != m->strategy;
    bool is_news = is_other || (!m->has_acted && strategy == ASSIGN_RANGE);
    m->strategy = strategy;
    if (m->config.strategy == ZK_SAFE_RENDEZVOUS)
        tell_rendezvous(m, v, is_other, out);
    else if (is_news && m->config.strategy == ZK_SAFE_AUTO)
        group_notice(out, 5, "member", ZKC_OK,
                     strategy == ASSIGN_CEIL
                         ? "all members know ceil: partitions are assigned by it"
                         : "a member does not declare that it knows ceil: partitions are assigned "
                           "by range");
    tell_disagreement(m, v, out);
}

/* ---- deciding ---- */

static void decide_later(struct zk_safe *m)
{
    m->must_decide = true;
    m->decide_at_ms = m->now_ms + GROUP_RESEND_MS;
}

static void tell_view(struct zk_safe *m, const struct zk_view *v, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_VIEW);
    o->view.rebalance = m->round;
    o->view.attempt = m->attempt;
    o->view.hash = v->hash;
    o->view.members = v->members;
    o->view.member_count = v->member_count;
    o->view.topics = v->topics;
    o->view.topic_count = v->topic_count;
}

/* Ours: of this session. A namesake's is not ours, whatever it says. */
/* A view of names from before our registration has ours, too, when we had been registered under the
 * same id before: an observer may read them while we come back. */
static bool finds_self(const struct zk_safe *m, const struct zk_view *v, size_t *self)
{
    *self = zk_view_find(v, m->consumer_id);
    if (*self == SIZE_MAX)
        return false;
    bool is_ours = v->registrations[*self]->session_id == m->session_id;
    return (is_ours && v->pzxid >= m->registered_zxid) ||
           safe_has_bug(m, ZK_SAFE_BUG_REGISTRATION_BY_TEXT);
}

/* What the assignment gives to us. */
struct share {
    const struct assignment *all;
    size_t self, count; /* count 0: nothing, and no `all` is needed */
};

/* Makes the partitions that are not there yet, and the list for GROUP_OUT_DECIDE. NULL: out of
 * memory. */
static struct group_claim *prepare(struct zk_safe *m, const struct zk_view *v,
                                   const struct share *share)
{
    struct group_claim *claims = arena_alloc_array(&m->arena, share->count, sizeof *claims);
    for (size_t i = 0; claims && i < share->count; i++) {
        const struct assign_entry *e = assignment_member_entry(share->all, share->self, i);
        struct safe_partition *p = safe_partition_of(m, v->topics[e->topic].topic, e->partition);
        if (!p)
            return NULL;
        claims[i] = (struct group_claim){.topic = p->topic->name,
                                         .partition = e->partition,
                                         .thread = e->thread,
                                         .offset = -1,
                                         .topic_index = p->topic->index};
    }
    return claims;
}

static bool is_held(const struct safe_partition *p)
{
    return p->state == CLAIMING || p->state == UNSURE || p->state == HELD || p->state == OWNED;
}

/* The new wanted set. */
static void want(struct zk_safe *m, const struct group_claim *claims, size_t count)
{
    for (size_t i = 0; i < m->partition_count; i++) {
        m->partitions[i]->was_wanted = m->partitions[i]->is_wanted;
        m->partitions[i]->is_wanted = false;
    }
    for (size_t i = 0; i < count; i++) {
        struct safe_partition *p =
            safe_find(m, bytes_of_text(claims[i].topic), claims[i].partition);
        p->is_wanted = true;
        if (!p->was_wanted)
            safe_remember_former(m, p);
        p->thread_wanted = claims[i].thread;
        if (is_held(p))
            p->must_move =
                p->thread != p->thread_wanted || (p->state == OWNED && !m->config.keep_unmoved);
    }
}

/* A look at what is taken, where that may spare failed claims. */
static void want_hints(struct zk_safe *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->partition_count; i++) {
        const struct safe_partition *p = m->partitions[i];
        n = i > 0 && m->partitions[i - 1]->topic == p->topic ? n : 0;
        n += p->is_wanted && p->state == FREE;
        if (n == 2)
            safe_want_hint(m, p->topic);
    }
}

/* Something of ours is about to be stopped. */
static bool gives_any(const struct zk_safe *m)
{
    for (size_t i = 0; i < m->partition_count; i++)
        if (m->partitions[i]->state == OWNED && !safe_wants(m, m->partitions[i]))
            return true;
    return false;
}

static void act_on(struct zk_safe *m, struct zk_view *v, const struct group_claim *claims,
                   size_t count, struct group_outputs *out)
{
    safe_tell_returns(m, v, out);
    want(m, claims, count);
    tell_view(m, v, out);
    struct group_output *o = group_emit(out, GROUP_OUT_DECIDE);
    o->decide.claims = claims;
    o->decide.count = count;
    safe_end_round(m, NULL, out);
    m->counts.rounds++;
    want_hints(m);
    m->holds_claims = gives_any(m);
    m->has_acted = true;
    m->acted_pzxid = v->pzxid;
    safe_acted(m, v, out);
    safe_collect(m);
    safe_poke_all(m);
}

static void decide(struct zk_safe *m, struct zk_view *v, struct group_outputs *out)
{
    struct share share = {0};
    struct why why;
    m->must_decide = false;
    if (v->pzxid < m->acted_pzxid)
        return; /* of an observer that lags */
    begin_try(m, out);
    bool finds = finds_self(m, v, &share.self);
    if (!finds && !safe_has_bug(m, ZK_SAFE_BUG_VIEW_WITHOUT_SELF)) {
        m->is_lacking = true;
        end_try(m, "the view lacks our registration", out);
        safe_id_event(m);
        return;
    }
    enum zkc_err err = ZKC_OK;
    if (finds) {
        choose_rule(m, v, out);
        err = zk_view_assign(v, m->strategy, &share.all, &why);
    }
    if (err && err != ZKC_ERR_NOMEM) {
        bool is_news = told_is_news(&m->undecided, told_hash(why.text));
        group_notice(out, 3, "member", is_news ? err : ZKC_OK, "nothing changes: %s", why.text);
        tell_view(m, v, out);
        safe_end_round(m, why.text, out);
        return;
    }
    if (!err)
        told_over(&m->undecided);
    if (!err && share.all)
        share.count = assignment_member_count(share.all, share.self);
    struct group_claim *claims = err ? NULL : prepare(m, v, &share);
    if (!claims) {
        end_try(m, "out of memory", out);
        decide_later(m);
        return;
    }
    act_on(m, v, claims, share.count, out);
}

static void keep_view(struct zk_safe *m, struct zk_view *v)
{
    zk_view_unref(m->view);
    m->view = v;
    m->must_decide = true;
    m->decide_at_ms = INT64_MIN;
}

void safe_observer_view(struct zk_safe *m, const struct zk_view *view, struct group_outputs *out)
{
    if (!view) {
        m->has_observer = false;
        zk_viewer_refresh(m->viewer);
        return;
    }
    m->has_observer = true;
    size_t self;
    if (m->phase != IN && !finds_self(m, view, &self))
        return;                                            /* from before our registration */
    struct zk_view *v = (struct zk_view *)(uintptr_t)view; /* shared, and counted */
    zk_view_ref(v);
    keep_view(m, v);
    group_emit(out, GROUP_OUT_TRIGGER)->trigger = "watch";
}

void safe_run_rounds(struct zk_safe *m, struct group_outputs *out)
{
    if (m->phase != IN)
        return;
    if (!m->has_observer && m->is_connected) {
        if (zk_viewer_is_busy(m->viewer))
            begin_try(m, out);
        zk_viewer_run(m->viewer, m->now_ms, out);
        struct zk_view *v = zk_viewer_take(m->viewer);
        if (v)
            keep_view(m, v);
    }
    if (m->must_decide && m->now_ms >= m->decide_at_ms && m->view)
        decide(m, m->view, out);
}
