/* Offsets in Kafka (offsets.storage=kafka), one writer at a time as well, but by the lease alone:
 * Kafka knows of no session and of no version. A commit is sent only while the lease of its claim
 * runs, which is looked at right before it goes (until_ms() below, and the shell again when bytes
 * are written); one whose outcome is not known is fetched; a fetch begins after the claim.
 *
 * Partitions of one kind of need go in one request. While one is under way the next ones gather. A
 * release waits for the commit, but for a limited time: the offset manager may be away for long,
 * and the group must not stand still for that. What is not committed then is delivered again. */
#include "zkconsumer/core/group/zk_safe_parts.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* Kafka said neither that it has stored it nor that it has not. */
static bool is_unknown_outcome(int16_t kafka_error)
{
    return kafka_error == KAFKA_ERR_UNKNOWN_SERVER_ERROR ||
           kafka_error == KAFKA_ERR_REQUEST_TIMED_OUT;
}

static bool is_held(const struct safe_partition *p)
{
    return !p->is_lost && (p->state == OWNED || p->state == STOPPED);
}

/* offset_manager_config.until_ms */
static int64_t until_ms(const struct group_offset *offset, const void *owner)
{
    const struct zk_safe *m = owner;
    const struct safe_partition *p = safe_find(m, bytes_of_text(offset->topic), offset->partition);
    bool is_asked = p && p->stored.state == STORED_ASKED && !p->stored.is_fetch;
    bool may_be_sent = is_asked && is_held(p) && m->session_id != 0 && m->phase < CLOSING;
    if (may_be_sent && safe_has_bug(m, ZK_SAFE_BUG_STORE_AFTER_LEASE))
        return INT64_MAX;
    return may_be_sent ? lease_end_ms(&m->lease) : INT64_MIN;
}

void safe_stored_init(struct zk_safe *m)
{
    struct offset_manager_config config = {.group = m->group,
                                           .backoff_ms = m->config.offsets_channel_backoff_ms,
                                           .timeout_ms = m->config.offsets_channel_timeout_ms,
                                           .seed = m->config.seed + 1,
                                           .keeps_errors = true,
                                           .until_ms = until_ms,
                                           .owner = m};
    offset_manager_init(&m->manager, &config);
    m->silent_at_ms = INT64_MAX;
}

void safe_stored_forget(struct safe_partition *p)
{
    p->stored = (struct safe_stored){.found = -1,
                                     .offset = -1,
                                     .target = -1,
                                     .sent = -1,
                                     .retry_at_ms = INT64_MIN,
                                     .deadline_ms = INT64_MAX};
    p->is_read = false;
}

bool safe_store_is_due(const struct safe_partition *p)
{
    const struct safe_stored *k = &p->stored;
    return k->target >= 0 && (k->target > k->offset || k->is_rewind);
}

void safe_store(struct safe_partition *p, int64_t offset, bool as_asked)
{
    struct safe_stored *k = &p->stored;
    if (as_asked)
        k->is_rewind = offset < k->offset || offset < k->sent;
    if (as_asked || offset > k->target)
        k->target = offset;
}

void safe_store_rewind(struct safe_partition *p, int64_t offset)
{
    p->stored.target = offset;
    p->stored.is_rewind = true;
}

/* ---- what a partition needs ---- */

static void expect_answer(struct zk_safe *m)
{
    if (m->silent_at_ms == INT64_MAX)
        m->silent_at_ms = m->now_ms + m->config.offsets_channel_timeout_ms;
}

static void ask(struct zk_safe *m, struct safe_partition *p, bool is_fetch)
{
    p->stored.state = STORED_WANTED;
    p->stored.is_fetch = is_fetch;
    m->are_stored_wanted = true;
    expect_answer(m);
}

static void pause_stored(struct zk_safe *m, struct safe_partition *p, int64_t ms)
{
    p->stored.retry_at_ms = m->now_ms + ms;
    safe_poke(m, p);
}

static void stored(struct zk_safe *m, struct safe_partition *p)
{
    struct safe_stored *k = &p->stored;
    bool is_rewind = k->is_rewind && k->target == k->sent;
    m->counts.commits++;
    k->offset = k->sent;
    k->is_rewind = k->is_rewind && !is_rewind;
    k->sent = -1;
    k->failures = 0;
    if (!safe_has_znodes(m))
        return;
    p->to_commit = k->offset; /* what Kafka has taken, and nothing else */
    p->is_rewind |= is_rewind;
}

/* A fetch of what was known once: what has become of a commit. */
static void reread(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    struct safe_stored *k = &p->stored;
    int64_t known = k->offset;
    if (k->sent >= 0 && k->found == k->sent) {
        stored(m, p);
        return;
    }
    k->sent = -1;
    k->offset = k->found;
    if (k->found != known)
        safe_tell_foreign(m, p, k->found, known, FOREIGN_IN_KAFKA, out);
}

static void fetched(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    struct safe_stored *k = &p->stored;
    k->state = STORED_IDLE;
    if (k->kafka_error != KAFKA_ERR_NONE && !safe_has_bug(m, ZK_SAFE_BUG_ERROR_IS_NO_OFFSET)) {
        if (!k->is_told)
            group_notice(out, 3, "offset", ZKC_ERR_BROKER,
                         "[%s,%d]: the offset that Kafka keeps cannot be fetched: %s; trying again",
                         p->topic->name, p->partition, kafka_error_name(k->kafka_error));
        k->is_told = true;
        pause_stored(m, p, SAFE_REFUSED_MS); /* delivering from anywhere else might lose messages */
        return;
    }
    bool is_first = !k->was_known;
    k->is_known = k->was_known = true;
    k->is_told = false;
    if (is_first)
        k->offset = k->found;
    else
        reread(m, p, out);
    safe_poke(m, p);
}

void safe_act_stored(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    struct safe_stored *k = &p->stored;
    if (!safe_has_stored(m) || m->phase >= CLOSING)
        return;
    if (k->state == STORED_ANSWERED)
        fetched(m, p, out);
    bool is_needed = p->state == HELD ? !k->is_known && safe_wants(m, p) : safe_store_is_due(p);
    if (k->state != STORED_IDLE || !is_needed)
        return;
    bool is_late = k->is_known && m->now_ms >= lease_end_ms(&m->lease) &&
                   !safe_has_bug(m, ZK_SAFE_BUG_STORE_AFTER_LEASE);
    int64_t at_ms = is_late ? m->now_ms + GROUP_RESEND_MS : k->retry_at_ms;
    if (is_late || m->now_ms < at_ms)
        safe_wake(m, at_ms);
    else
        ask(m, p, !k->is_known);
}

/* ---- hand-over ---- */

/* What was asked together has no outcome that anybody would wait for. */
static void drop_commit(struct zk_safe *m, struct group_outputs *out)
{
    bool was_asked = offset_manager_is_asked(&m->manager, OFFSET_JOB_COMMIT);
    offset_manager_drop(&m->manager, OFFSET_JOB_COMMIT, out);
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        if (p->stored.state != STORED_ASKED || p->stored.is_fetch)
            continue;
        p->stored.state = STORED_IDLE;
        p->stored.is_known = !was_asked;
        safe_poke(m, p);
    }
    m->are_stored_wanted = true;
}

static void give_up(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    struct safe_stored *k = &p->stored;
    group_notice(out, 3, "offset", ZKC_ERR_UNREACHABLE,
                 "[%s,%d]: Kafka has not confirmed the offset %" PRId64
                 " in the time for handing over (zookeeper.hand.over.ms); the partition is given "
                 "back without it: the next owner may deliver messages again, from offset %" PRId64,
                 p->topic->name, p->partition, k->target, k->offset < 0 ? 0 : k->offset);
    safe_job_failed(m, p, ZKC_ERR_UNREACHABLE, "Kafka did not confirm it in time");
    if (k->state == STORED_ASKED && !k->is_fetch &&
        offset_manager_is_asked(&m->manager, OFFSET_JOB_COMMIT))
        drop_commit(m, out);
    k->state = STORED_IDLE;
    k->target = -1;
    k->is_rewind = false;
}

bool safe_store_is_over(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    struct safe_stored *k = &p->stored;
    if (!safe_store_is_due(p) || safe_has_bug(m, ZK_SAFE_BUG_RELEASE_BEFORE_STORED))
        return true;
    if (k->deadline_ms == INT64_MAX) {
        int64_t least_ms = m->now_ms + SAFE_STORE_MS;
        k->deadline_ms = p->deadline_ms > least_ms ? p->deadline_ms : least_ms;
    }
    if (m->now_ms < k->deadline_ms) {
        safe_wake(m, k->deadline_ms);
        return false;
    }
    give_up(m, p, out);
    return true;
}

void safe_stored_lost(struct zk_safe *m, struct group_outputs *out)
{
    offset_manager_drop(&m->manager, OFFSET_JOB_FETCH, out);
    offset_manager_drop(&m->manager, OFFSET_JOB_COMMIT, out);
    for (size_t i = 0; i < m->partition_count; i++)
        m->partitions[i]->stored.state = STORED_IDLE;
    m->silent_at_ms = INT64_MAX;
}

/* ---- requests ---- */

static bool is_of(const struct safe_partition *p, int state, bool is_fetch)
{
    return !p->is_lost && (int)p->stored.state == state && p->stored.is_fetch == is_fetch;
}

/* Asks for all that wait for a request of this kind. */
static void begin(struct zk_safe *m, bool is_fetch)
{
    enum offset_job_kind kind = is_fetch ? OFFSET_JOB_FETCH : OFFSET_JOB_COMMIT;
    if (!offset_manager_is_free(&m->manager, kind))
        return; /* its end begins the next */
    size_t wanted = 0, n = 0;
    for (size_t i = 0; i < m->partition_count; i++)
        wanted += is_of(m->partitions[i], STORED_WANTED, is_fetch);
    if (wanted == 0)
        return;
    struct group_offset *list = arena_alloc_array(&m->arena, wanted, sizeof *list);
    for (size_t i = 0; list && i < m->partition_count; i++) {
        const struct safe_partition *p = m->partitions[i];
        if (is_of(p, STORED_WANTED, is_fetch))
            list[n++] = (struct group_offset){.topic = p->topic->name,
                                              .partition = p->partition,
                                              .offset = is_fetch ? -1 : p->stored.target};
    }
    if (!list || offset_manager_begin(&m->manager, kind, list, n, 1)) {
        m->are_stored_wanted = true; /* out of memory: once more, later */
        safe_wake(m, m->now_ms + GROUP_RESEND_MS);
        return;
    }
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        if (!is_of(p, STORED_WANTED, is_fetch))
            continue;
        p->stored.state = STORED_ASKED;
        p->stored.sent = is_fetch ? p->stored.sent : p->stored.target;
    }
    expect_answer(m);
}

static void take_fetched(struct zk_safe *m, const struct offset_outcome *o)
{
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        if (!is_of(p, STORED_ASKED, true))
            continue;
        const struct group_offset *at =
            group_offset_find(o->list, o->count, p->topic->name, p->partition);
        p->stored.state = at ? STORED_ANSWERED : STORED_IDLE;
        p->stored.found = at && at->offset >= 0 ? at->offset : -1;
        p->stored.kafka_error = at ? at->kafka_error : KAFKA_ERR_NONE;
        safe_poke(m, p);
    }
}

/* A commit was not carried out, or its outcome is not known. */
static void commit_failed(struct zk_safe *m, struct safe_partition *p,
                          const struct offset_outcome *o, bool is_unknown)
{
    p->stored.is_known = !is_unknown;
    p->stored.sent = is_unknown ? p->stored.sent : -1;
    if (++p->stored.failures > m->config.offsets_commit_retries)
        safe_job_failed(m, p, o->err, o->text);
    pause_stored(m, p, m->config.offsets_channel_backoff_ms);
}

static void take_stored(struct zk_safe *m, const struct offset_outcome *o,
                        struct group_outputs *out)
{
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        if (!is_of(p, STORED_ASKED, false))
            continue;
        const struct group_offset *at =
            group_offset_find(o->list, o->count, p->topic->name, p->partition);
        p->stored.state = STORED_IDLE;
        safe_poke(m, p);
        if (!at) /* it was not sent: its lease had ended, or it is not held now */
            p->stored.sent = -1;
        else if (at->kafka_error == KAFKA_ERR_NONE)
            stored(m, p);
        else
            commit_failed(m, p, o, is_unknown_outcome(at->kafka_error));
    }
    if (!o->err)
        told_over(&m->store_failed);
    else
        group_notice(out, 3, "offset",
                     told_is_news(&m->store_failed, told_hash(o->text)) ? o->err : ZKC_OK,
                     "committing offsets to Kafka: %s; trying again", o->text);
}

static void heard(struct zk_safe *m, struct group_outputs *out)
{
    m->silent_at_ms = INT64_MAX;
    if (m->is_told_silent)
        group_notice(out, 6, "offset", ZKC_OK, "the group's offset manager answers again");
    m->is_told_silent = false;
}

void safe_take_stored(struct zk_safe *m, struct group_outputs *out)
{
    struct offset_outcome o;
    if (offset_manager_take(&m->manager, OFFSET_JOB_FETCH, &o, out)) {
        heard(m, out);
        take_fetched(m, &o);
        m->are_stored_wanted = true; /* others may have gathered */
    }
    if (offset_manager_take(&m->manager, OFFSET_JOB_COMMIT, &o, out)) {
        if (o.err != ZKC_ERR_UNREACHABLE)
            heard(m, out);
        take_stored(m, &o, out);
        m->are_stored_wanted = true;
    }
}

/* The application need not wait for it any longer; what is due stays due. */
static void check_silence(struct zk_safe *m, struct group_outputs *out)
{
    size_t waiting = 0;
    if (m->now_ms < m->silent_at_ms)
        return;
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        waiting += p->stored.state != STORED_IDLE;
        if (safe_store_is_due(p))
            safe_job_failed(m, p, ZKC_ERR_UNREACHABLE, "the offset manager does not answer");
    }
    m->silent_at_ms = waiting ? m->now_ms + m->config.offsets_channel_timeout_ms : INT64_MAX;
    if (waiting == 0 || m->is_told_silent)
        return;
    m->is_told_silent = true;
    group_notice(out, 3, "offset", ZKC_ERR_UNREACHABLE,
                 "the group's offset manager has not answered for %" PRId64
                 " ms: the offsets of %zu partitions are neither fetched nor committed until it "
                 "does",
                 m->config.offsets_channel_timeout_ms, waiting);
}

void safe_run_stored(struct zk_safe *m, struct group_outputs *out)
{
    if (!safe_has_stored(m) || m->phase >= CLOSING)
        return;
    if (m->are_stored_wanted) {
        m->are_stored_wanted = false;
        begin(m, true);
        begin(m, false);
    }
    offset_manager_run(&m->manager, m->now_ms, m->lanes, m->is_connected, false, out);
    safe_take_stored(m, out); /* what nobody was to be asked for */
    check_silence(m, out);
}

int64_t safe_stored_deadline_ms(const struct zk_safe *m)
{
    if (m->phase >= CLOSING)
        return INT64_MAX;
    int64_t at_ms = offset_manager_deadline_ms(&m->manager);
    return m->silent_at_ms < at_ms ? m->silent_at_ms : at_ms;
}
