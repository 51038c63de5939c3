#include "zkconsumer/core/group/zk_compat_parts.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

static void drive(struct zk_compat *m, const struct zk_result *answer, struct group_outputs *out);

/* ---- the loop ---- */

static void begin_attempt(struct zk_compat *m, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_TRY_BEGIN);
    o->try_begin.rebalance = m->rebalance;
    o->try_begin.attempt = m->attempt_number;
    group_notice(out, 6, "member", ZKC_OK, "begin rebalancing consumer %s try #%u", m->consumer_id,
                 m->attempt_number);
    m->has_news = false;
    struct attempt_start start = {.rebalance = m->rebalance,
                                  .number = m->attempt_number,
                                  .watch_brokers = m->brokers_watched,
                                  .watch_topics = m->topics_watched};
    attempt_begin(&m->attempt, &m->config, &start, m->owned, m->owned_count);
    drive(m, NULL, out);
}

void compat_rebalance_begin(struct zk_compat *m, enum holder holder, struct group_outputs *out)
{
    assert(m->holder == NOBODY && m->rb == RB_IDLE);
    m->holder = holder;
    m->rebalance++;
    m->attempt_number = 0;
    group_emit(out, GROUP_OUT_REBALANCE_BEGIN)->rebalance_begin.rebalance = m->rebalance;
    begin_attempt(m, out);
}

void compat_rebalance_forget(struct zk_compat *m)
{
    if (m->has_ended)
        attempt_deinit(&m->ended);
    m->has_ended = false;
}

/* Outputs of this step may point into the attempt: it is kept for one step more. */
static void keep_attempt(struct zk_compat *m)
{
    compat_rebalance_forget(m);
    m->ended = m->attempt;
    m->attempt = (struct attempt){0};
    m->has_ended = true;
}

static void end_rebalance(struct zk_compat *m, bool ok, struct group_outputs *out)
{
    bool is_news = !m->is_settled || !ok || m->gave_up;
    m->gave_up = !ok;
    struct group_output *o = group_emit(out, GROUP_OUT_REBALANCE_END);
    o->rebalance_end.rebalance = m->rebalance;
    o->rebalance_end.attempts = m->attempt_number + 1;
    o->rebalance_end.ok = ok;
    o->rebalance_end.gave_up = !ok;
    if (!ok)
        group_notice(
            out, 3, "member", ZKC_ERR_REBALANCE,
            "%s can't rebalance after %u retries: %s. It stays registered and owns nothing "
            "until the next change of members or partitions",
            m->consumer_id, m->attempt_number + 1, m->attempt.why.text);
    m->is_settled = true;
    if (is_news)
        compat_say_state(m, out);
    keep_attempt(m);
    if (m->holder == EVENT_THREAD)
        m->ev = EV_IDLE;
    if (m->holder == CALLER && ok && m->filter)
        event_queue_push(&m->events, EVENT_WATCH_TOPICS, 0);
    m->holder = NOBODY;
    m->rb = RB_IDLE;
}

static void end_attempt(struct zk_compat *m, bool ok, struct group_outputs *out)
{
    group_notice(out, 6, "member", ZKC_OK, "end rebalancing consumer %s try #%u%s%s",
                 m->consumer_id, m->attempt_number, ok ? "" : ": ", ok ? "" : m->attempt.why.text);
    struct group_output *o = group_emit(out, GROUP_OUT_TRY_END);
    o->try_end.rebalance = m->rebalance;
    o->try_end.attempt = m->attempt_number;
    o->try_end.ok = ok;
    o->try_end.why = ok ? "" : m->attempt.why.text;
}

/* Topics of the owned set that were given back whole are ours no more, even if a later delete was
 * refused (ZKRebalancerListener.releasePartitionOwnership removes topic by topic). */
static void forget_released(struct zk_compat *m)
{
    size_t released = m->attempt.released;
    m->attempt.released = 0;
    if (released == 0 || m->owned_count == 0)
        return; /* nothing was given back, or the session has ended meanwhile */
    m->owned_count -= released;
    memmove(&m->owned[0], &m->owned[released], m->owned_count * sizeof *m->owned);
}

static void forget_owned(struct zk_compat *m)
{
    m->owned_count = 0;
    m->attempt.released = 0;
}

static void fail_attempt(struct zk_compat *m, struct group_outputs *out)
{
    forget_released(m);
    if (!m->attempt.is_conflict && !m->attempt.is_shutdown)
        group_notice(out, 6, "member", ZKC_OK, "exception during rebalance: %s",
                     m->attempt.why.text);
    end_attempt(m, false, out);
    group_notice(out, 4, "member", ZKC_OK, "Rebalancing attempt failed: %s", m->attempt.why.text);
    m->rb = RB_CLEANING;
    compat_stop_fetchers(m, GROUP_STOP_FAILED, out);
}

/* A member that watches contested nodes (zookeeper.watch.owners) waits until they are gone, or
 * until there is news. */
static void end_wait(struct zk_compat *m)
{
    bool waits = m->rb == RB_BACKOFF && m->backoff_until_ms == INT64_MAX;
    if (waits && (m->has_news || !attempt_is_contested(&m->attempt)))
        m->backoff_until_ms = m->now_ms;
}

static void back_off(struct zk_compat *m, struct group_outputs *out)
{
    bool waits = attempt_is_contested(&m->attempt) && !m->leave_wanted;
    m->rb = RB_BACKOFF;
    m->backoff_until_ms = waits ? INT64_MAX : m->now_ms + m->settings.rebalance_backoff_ms;
    group_emit(out, GROUP_OUT_BACKOFF)->backoff_ms = waits ? 0 : m->settings.rebalance_backoff_ms;
    end_wait(m);
}

void compat_rebalance_news(struct zk_compat *m)
{
    m->has_news = true;
    end_wait(m);
}

void compat_rebalance_owner_event(struct zk_compat *m, const char *path)
{
    if (m->config.switches.watch_owners && attempt_owner_event(&m->attempt, path))
        end_wait(m);
}

/* Without limit where the switch says so; but a member that leaves waits for the end of its
 * rebalance, and one whose event thread rebalances cannot register again before. */
static bool may_give_up(const struct zk_compat *m)
{
    return !m->config.switches.never_gives_up || m->leave_wanted || m->ev == EV_REBALANCING;
}

void compat_rebalance_time(struct zk_compat *m, struct group_outputs *out)
{
    if (m->rb != RB_BACKOFF || m->now_ms < m->backoff_until_ms)
        return;
    m->backoff_until_ms = INT64_MAX;
    if (m->attempt_number + 1 >= m->settings.rebalance_attempts_max && may_give_up(m)) {
        end_rebalance(m, false, out);
        return;
    }
    m->attempt_number++;
    begin_attempt(m, out);
}

/* ---- one attempt ---- */

/* Remembers what is to be found and what is stored. False: out of memory. */
static bool prepare_claims(struct zk_compat *m)
{
    const struct attempt *a = &m->attempt;
    struct finder_wanted *wanted = calloc(a->claim_count + 1, sizeof *wanted);
    for (size_t i = 0; wanted && i < a->claim_count; i++)
        wanted[i] = (struct finder_wanted){.topic = a->claims[i].topic,
                                           .topic_index = a->claims[i].topic_index,
                                           .partition = a->claims[i].partition};
    bool ok = wanted && finder_want(&m->finder, wanted, a->claim_count) == ZKC_OK;
    for (size_t i = 0; ok && i < a->claim_count; i++) {
        const struct group_claim *c = &a->claims[i];
        struct commit_item item = {.topic = c->topic,
                                   .topic_index = c->topic_index,
                                   .partition = c->partition,
                                   .offset = c->offset,
                                   .version = a->versions[i]};
        ok = committer_known(&m->committer, &item) == ZKC_OK;
    }
    free(wanted);
    return ok;
}

/* Everything is claimed: from here on it is ours. */
static void take_over(struct zk_compat *m, struct group_outputs *out)
{
    struct attempt *a = &m->attempt;
    bool ok = prepare_claims(m);
    free(m->owned);
    m->owned = a->claims;
    m->owned_count = a->claim_count;
    m->lost = false; /* a session that ended before took others with it */
    a->claims = NULL;
    a->claim_count = 0;
    if (!ok) { /* what is owned is released by the next attempt */
        why_set(&a->why, "out of memory");
        fail_attempt(m, out);
        return;
    }
    struct group_output *o = group_emit(out, GROUP_OUT_ASSIGN);
    o->assign.claims = m->owned;
    o->assign.count = m->owned_count;
    m->is_fetching = true;
    end_attempt(m, true, out);
    end_rebalance(m, true, out);
}

/* 0.8.2 leaves everything as it is and from now on rebalances for each change of the brokers. */
static void watch_brokers(struct zk_compat *m, struct group_outputs *out)
{
    group_notice(out, 4, "member", ZKC_OK,
                 "no broker is registered under %s; waiting for one to appear", ZK_PATH_BROKER_IDS);
    m->rb = RB_WATCHING;
    m->brokers_watched = true;
    m->watching_exists = true;
    compat_send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_EXISTS, ZK_PATH_BROKER_IDS, out);
}

static void brokers_watched(struct zk_compat *m, struct group_outputs *out)
{
    if (m->watching_exists) {
        m->watching_exists = false;
        compat_send_watching(m, GROUP_LANE_REBALANCE, ZK_OP_CHILDREN, ZK_PATH_BROKER_IDS, out);
        return;
    }
    end_attempt(m, true, out);
    end_rebalance(m, true, out);
}

/* Asks Kafka for the offsets of what was decided. */
static void fetch_offsets(struct zk_compat *m, struct group_outputs *out)
{
    const struct attempt *a = &m->attempt;
    struct group_offset *list = calloc(a->claim_count + 1, sizeof *list);
    m->rb = RB_FETCHING;
    for (size_t i = 0; list && i < a->claim_count; i++)
        list[i] = (struct group_offset){
            .topic = a->claims[i].topic, .partition = a->claims[i].partition, .offset = -1};
    enum zkc_err err = ZKC_ERR_NOMEM;
    if (list)
        err = offset_manager_begin(&m->offsets, OFFSET_JOB_FETCH, list, a->claim_count, 1);
    free(list);
    if (err) {
        why_set(&m->attempt.why, "fetching offsets: out of memory");
        fail_attempt(m, out);
    }
}

void compat_rebalance_fetched(struct zk_compat *m, struct group_outputs *out)
{
    struct offset_outcome outcome;
    if (m->rb != RB_FETCHING)
        return;
    if (offset_manager_take(&m->offsets, OFFSET_JOB_FETCH, &outcome, out)) {
        attempt_fetched(&m->attempt, outcome.list, outcome.count);
    } else if (m->leave_wanted && offset_manager_cancel(&m->offsets, OFFSET_JOB_FETCH)) {
        attempt_fetched(&m->attempt, NULL, 0);
    } else {
        return;
    }
    drive(m, NULL, out);
}

static void drive(struct zk_compat *m, const struct zk_result *answer, struct group_outputs *out)
{
    struct zk_op op;
    for (;;) {
        m->rb = RB_READING;
        switch (attempt_next(&m->attempt, answer, m->leave_wanted, &op, out)) {
        case ATTEMPT_SEND: compat_send(m, GROUP_LANE_REBALANCE, &op, out); return;
        case ATTEMPT_STOP:
            m->rb = RB_STOPPING;
            compat_stop_fetchers(m, GROUP_STOP_REBALANCE, out);
            return;
        case ATTEMPT_COMMIT: break; /* was queued when the positions came */
        case ATTEMPT_FETCH: fetch_offsets(m, out); return;
        case ATTEMPT_FETCH_AGAIN:
            m->rb = RB_FETCHING;
            offset_manager_fetch_again(&m->offsets, m->now_ms, out);
            return;
        case ATTEMPT_RELEASED: forget_owned(m); break;
        case ATTEMPT_DONE: take_over(m, out); return;
        case ATTEMPT_NO_BROKERS: watch_brokers(m, out); return;
        case ATTEMPT_FAILED: fail_attempt(m, out); return;
        case ATTEMPT_NEXT_PHASE: assert(!"never returned");
        }
        answer = NULL;
    }
}

void compat_rebalance_answer(struct zk_compat *m, const struct zk_result *answer,
                             struct group_outputs *out)
{
    if (m->rb == RB_WATCHING)
        brokers_watched(m, out);
    else
        drive(m, answer, out);
}

/* ---- the fetchers and the commit ---- */

void compat_rebalance_stopped(struct zk_compat *m)
{
    assert(m->rb == RB_STOPPING || m->rb == RB_CLEANING);
    m->rb = m->rb == RB_STOPPING ? RB_COMMITTING : RB_CLEANED;
}

void compat_rebalance_commit_failed(struct zk_compat *m, const char *text,
                                    struct group_outputs *out)
{
    if (m->rb == RB_COMMITTING) { /* an exception within the attempt */
        why_set(&m->attempt.why, "committing before the release: %s", text);
        fail_attempt(m, out);
    } else if (m->rb == RB_CLEANED && may_give_up(m)) { /* not guarded: the loop ends */
        end_rebalance(m, false, out);
    }
}

/* The application's commits have ended too, so none can follow a release. */
void compat_rebalance_commits_done(struct zk_compat *m, struct group_outputs *out)
{
    if (m->rb == RB_COMMITTING)
        drive(m, NULL, out);
    else if (m->rb == RB_CLEANED)
        back_off(m, out);
}
