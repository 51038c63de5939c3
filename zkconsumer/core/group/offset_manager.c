#include "zkconsumer/core/group/offset_manager.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include <assert.h>
#include <stdlib.h>

void offset_manager_init(struct offset_manager *m, const struct offset_manager_config *config)
{
    *m = (struct offset_manager){.group = config->group,
                                 .backoff_ms = config->backoff_ms,
                                 .timeout_ms = config->timeout_ms,
                                 .keeps_errors = config->keeps_errors,
                                 .until_ms = config->until_ms,
                                 .owner = config->owner};
    rng_init(&m->rng, config->seed);
}

void offset_manager_deinit(struct offset_manager *m)
{
    broker_scan_deinit(&m->scan);
    for (int i = 0; i < OFFSET_JOB_KINDS; i++) {
        free(m->jobs[i].list);
        free(m->jobs[i].previous);
    }
    free(m->host);
    *m = (struct offset_manager){0};
}

/* ---- jobs ---- */

enum zkc_err offset_manager_begin(struct offset_manager *m, enum offset_job_kind kind,
                                  const struct group_offset *list, size_t count, unsigned tries)
{
    struct offset_job *job = &m->jobs[kind];
    assert(job->state == OFFSET_JOB_NONE && tries > 0);
    struct group_offset *copy = calloc(count + 1, sizeof *copy);
    if (!copy)
        return ZKC_ERR_NOMEM;
    if (count)
        memcpy(copy, list, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, group_offset_compare);
    free(job->previous);
    *job = (struct offset_job){.state = OFFSET_JOB_WAITS,
                               .previous = job->list,
                               .not_before_ms = INT64_MIN,
                               .tries_left = tries,
                               .list = copy,
                               .count = count};
    return ZKC_OK;
}

bool offset_manager_take(struct offset_manager *m, enum offset_job_kind kind,
                         struct offset_outcome *outcome, struct group_outputs *out)
{
    struct offset_job *job = &m->jobs[kind];
    if (job->state != OFFSET_JOB_ENDED)
        return false;
    job->state = OFFSET_JOB_NONE;
    *outcome = (struct offset_outcome){job->err, job->why.text, job->list, job->count};
    if (kind == OFFSET_JOB_FIND)
        return true;
    struct group_output *o = group_emit(out, kind == OFFSET_JOB_FETCH ? GROUP_OUT_OFFSETS_READ
                                                                      : GROUP_OUT_OFFSETS_STORED);
    o->offsets.list = job->list;
    o->offsets.count = job->count;
    return true;
}

bool offset_manager_cancel(struct offset_manager *m, enum offset_job_kind kind)
{
    struct offset_job *job = &m->jobs[kind];
    if (job->state != OFFSET_JOB_WAITS)
        return false;
    job->state = OFFSET_JOB_NONE;
    return true;
}

bool offset_manager_is_free(const struct offset_manager *m, enum offset_job_kind kind)
{
    return m->jobs[kind].state == OFFSET_JOB_NONE;
}

bool offset_manager_is_asked(const struct offset_manager *m, enum offset_job_kind kind)
{
    return m->state == OFFSETS_CALLING && m->running == kind;
}

static void end_job(struct offset_manager *m, enum zkc_err err)
{
    m->jobs[m->running].state = OFFSET_JOB_ENDED;
    m->jobs[m->running].err = err;
    m->state = OFFSETS_IDLE;
}

/* The connection is free for others meanwhile, as the lock is in 0.8.2. */
static void try_later(struct offset_manager *m, int64_t now_ms)
{
    m->jobs[m->running].state = OFFSET_JOB_WAITS;
    m->jobs[m->running].not_before_ms = now_ms + m->backoff_ms;
    m->state = OFFSETS_IDLE;
}

/* ---- the connection ---- */

static void ask(struct offset_manager *m, enum group_offsets_request request,
                const struct offset_job *job, int64_t until_ms, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_OFFSETS_ASK);
    o->offsets_ask.seq = ++m->seq;
    o->offsets_ask.request = request;
    o->offsets_ask.group = m->group;
    o->offsets_ask.host = m->host;
    o->offsets_ask.port = m->port;
    o->offsets_ask.timeout_ms = m->connection_timeout_ms;
    o->offsets_ask.until_ms = until_ms;
    if (!job)
        return;
    o->offsets_ask.list = job->list;
    o->offsets_ask.count = job->count;
}

static void hang_up(struct offset_manager *m, struct group_outputs *out)
{
    m->is_found = false;
    group_emit(out, GROUP_OUT_OFFSETS_HANG_UP);
}

void offset_manager_fetch_again(struct offset_manager *m, int64_t now_ms, struct group_outputs *out)
{
    struct offset_job *job = &m->jobs[OFFSET_JOB_FETCH];
    assert(job->state == OFFSET_JOB_NONE && job->list);
    job->state = OFFSET_JOB_WAITS;
    job->not_before_ms = now_ms + m->backoff_ms;
    if (m->state == OFFSETS_IDLE && m->is_found)
        hang_up(m, out);
}

void offset_manager_drop(struct offset_manager *m, enum offset_job_kind kind,
                         struct group_outputs *out)
{
    m->jobs[kind].state = OFFSET_JOB_NONE;
    if (!offset_manager_is_asked(m, kind))
        return;
    m->state = OFFSETS_IDLE;
    hang_up(m, out);
}

/* False: out of memory. */
static bool point_at(struct offset_manager *m, const char *host, int32_t port, int64_t timeout_ms)
{
    char *copy = strdup(host);
    if (!copy)
        return false;
    free(m->host);
    m->host = copy;
    m->port = port;
    m->connection_timeout_ms = timeout_ms;
    return true;
}

static void forget_broker(struct offset_manager *m)
{
    free(m->host);
    m->host = NULL;
}

static void pause_search(struct offset_manager *m, int64_t at_ms)
{
    m->state = OFFSETS_PAUSED;
    m->resume_at_ms = at_ms;
}

static void begin_search(struct offset_manager *m, struct lane *lanes, bool connected,
                         bool watch_brokers, struct group_outputs *out)
{
    struct zk_op op;
    m->state = OFFSETS_SCANNING;
    forget_broker(m);
    broker_scan_begin(&m->scan, SCAN_USABLE, watch_brokers, &op);
    lane_send(lanes, GROUP_LANE_OFFSETS, &op, connected, out);
}

static void find(struct offset_manager *m, struct group_outputs *out)
{
    m->state = OFFSETS_FINDING;
    ask(m, GROUP_OFFSETS_FIND, NULL, INT64_MAX, out);
}

/* Any broker that has an address. NULL: none. */
static const struct scanned_broker *any_broker(struct offset_manager *m)
{
    size_t usable = 0;
    for (size_t i = 0; i < m->scan.broker_count; i++)
        usable += m->scan.brokers[i].broker.host != NULL;
    if (usable == 0)
        return NULL;
    size_t pick = (size_t)rng_below(&m->rng, usable);
    for (size_t i = 0;; i++)
        if (m->scan.brokers[i].broker.host && pick-- == 0)
            return &m->scan.brokers[i];
}

static void ask_any(struct offset_manager *m, int64_t now_ms, struct group_outputs *out)
{
    const struct scanned_broker *b = any_broker(m);
    if (b && point_at(m, b->broker.host, b->broker.port, OFFSET_MANAGER_QUERY_TIMEOUT_MS)) {
        find(m, out);
        return;
    }
    if (!b)
        group_notice(out, 7, "offset", ZKC_OK,
                     "looking for the offset manager: no broker is registered that could be asked");
    pause_search(m, now_ms + OFFSET_MANAGER_SEARCH_PAUSE_MS);
}

void offset_manager_scanned(struct offset_manager *m, int64_t now_ms,
                            const struct zk_result *answer, struct lane *lanes, bool connected,
                            struct group_outputs *out)
{
    struct zk_op op;
    enum zkc_err err;
    struct why why;
    assert(m->state == OFFSETS_SCANNING);
    switch (broker_scan_next(&m->scan, answer, &op, &err, &why)) {
    case SCAN_SEND: lane_send(lanes, GROUP_LANE_OFFSETS, &op, connected, out); break;
    case SCAN_DONE:
        told_over(&m->search_failed);
        ask_any(m, now_ms, out);
        break;
    case SCAN_FAILED:
        group_notice(out, 4, "offset",
                     told_is_news(&m->search_failed, told_hash(why.text)) ? err : ZKC_OK,
                     "looking for the offset manager: %s", why.text);
        pause_search(m, now_ms + OFFSET_MANAGER_SEARCH_PAUSE_MS);
        break;
    }
}

/* Takes out of a commit what its owner does not let be committed any more. Until when the rest may
 * be sent. */
static int64_t keep_allowed(struct offset_manager *m, int64_t now_ms)
{
    struct offset_job *job = &m->jobs[OFFSET_JOB_COMMIT];
    int64_t earliest = INT64_MAX;
    size_t kept = 0;
    for (size_t i = 0; m->until_ms && i < job->count; i++) {
        int64_t until_ms = m->until_ms(&job->list[i], m->owner);
        if (now_ms >= until_ms)
            continue;
        if (until_ms < earliest)
            earliest = until_ms;
        job->list[kept++] = job->list[i];
    }
    if (m->until_ms)
        job->count = kept;
    return earliest;
}

/* Asks the offset manager, which is known, what the job wants. */
static void call(struct offset_manager *m, int64_t now_ms, struct group_outputs *out)
{
    struct offset_job *job = &m->jobs[m->running];
    if (job->state != OFFSET_JOB_RUNS) { /* dropped meanwhile */
        m->state = OFFSETS_IDLE;
        return;
    }
    bool is_commit = m->running == OFFSET_JOB_COMMIT;
    int64_t until_ms = is_commit ? keep_allowed(m, now_ms) : INT64_MAX;
    if (m->running == OFFSET_JOB_FIND || (is_commit && job->count == 0)) {
        end_job(m, ZKC_OK);
        return;
    }
    m->state = OFFSETS_CALLING;
    ask(m, is_commit ? GROUP_OFFSETS_COMMIT : GROUP_OFFSETS_FETCH, job, until_ms, out);
}

static bool next_due(struct offset_manager *m, int64_t now_ms)
{
    for (int i = 0; i < OFFSET_JOB_KINDS; i++)
        if (m->jobs[i].state == OFFSET_JOB_WAITS && now_ms >= m->jobs[i].not_before_ms) {
            m->running = (enum offset_job_kind)i;
            return true;
        }
    return false;
}

void offset_manager_run(struct offset_manager *m, int64_t now_ms, struct lane *lanes,
                        bool connected, bool watch_brokers, struct group_outputs *out)
{
    if (m->state == OFFSETS_PAUSED && now_ms >= m->resume_at_ms) {
        if (m->jobs[m->running].state != OFFSET_JOB_RUNS)
            m->state = OFFSETS_IDLE; /* dropped: nobody needs it now */
        else if (m->host)
            find(m, out);
        else
            begin_search(m, lanes, connected, watch_brokers, out);
        if (m->state != OFFSETS_IDLE)
            return;
    }
    if (m->state != OFFSETS_IDLE || !next_due(m, now_ms))
        return;
    m->jobs[m->running].state = OFFSET_JOB_RUNS;
    if (m->is_found)
        call(m, now_ms, out);
    else
        begin_search(m, lanes, connected, watch_brokers, out);
}

int64_t offset_manager_deadline_ms(const struct offset_manager *m)
{
    if (m->state == OFFSETS_PAUSED)
        return m->resume_at_ms;
    int64_t at = INT64_MAX;
    for (int i = 0; m->state == OFFSETS_IDLE && i < OFFSET_JOB_KINDS; i++)
        if (m->jobs[i].state == OFFSET_JOB_WAITS && m->jobs[i].not_before_ms < at)
            at = m->jobs[i].not_before_ms;
    return at;
}

/* ---- answers ---- */

static void found(struct offset_manager *m, int64_t now_ms, const struct group_offsets_answer *a,
                  struct group_outputs *out)
{
    if (a->failed) {
        group_notice(out, 6, "offset", ZKC_OK, "Failed to fetch consumer metadata from %s:%d: %s",
                     m->host, m->port, a->text);
        hang_up(m, out);
        forget_broker(m);
        pause_search(m, now_ms + OFFSET_MANAGER_SEARCH_PAUSE_MS);
        return;
    }
    if (a->kafka_error != KAFKA_ERR_NONE) {
        group_notice(out, 6, "offset", ZKC_OK,
                     "Query to %s:%d to locate offset manager for %s failed (%s) - will retry in "
                     "%lld milliseconds",
                     m->host, m->port, m->group, kafka_error_name(a->kafka_error),
                     (long long)m->backoff_ms);
        pause_search(m, now_ms + m->backoff_ms);
        return;
    }
    bool is_same = strcmp(a->host, m->host) == 0 && a->port == m->port;
    if (!is_same && !point_at(m, a->host, a->port, m->timeout_ms)) {
        pause_search(m, now_ms + m->backoff_ms);
        return;
    }
    m->is_found = true;
    group_notice(out, 7, "offset", ZKC_OK, "Connected to offset manager %s:%d", m->host, m->port);
    call(m, now_ms, out);
}

/* Puts the answer's codes, and of a fetch its offsets, into the job's list. False: it does not name
 * every partition; the others have an unknown error. */
static bool take_list(struct offset_job *job, const struct group_offsets_answer *a, bool is_fetch)
{
    const int16_t unnamed = INT16_MIN;
    size_t named = 0;
    for (size_t i = 0; i < job->count; i++)
        job->list[i].kafka_error = unnamed;
    for (size_t i = 0; i < a->count; i++) {
        struct group_offset *mine =
            bsearch(&a->list[i], job->list, job->count, sizeof *job->list, group_offset_compare);
        if (!mine) /* brokers before 0.8.2 added some (KAFKA-1851) */
            continue;
        named += mine->kafka_error == unnamed;
        mine->kafka_error = a->list[i].kafka_error;
        if (is_fetch)
            mine->offset = a->list[i].offset;
    }
    for (size_t i = 0; i < job->count; i++)
        if (job->list[i].kafka_error == unnamed)
            job->list[i].kafka_error = KAFKA_ERR_UNKNOWN_SERVER_ERROR;
    return named == job->count;
}

static bool has_error(const struct offset_job *job, int16_t kafka_error)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->list[i].kafka_error == kafka_error)
            return true;
    return false;
}

/* 0.8.2's fault, told here: an error that comes with offset -1 counts as "nothing is stored". */
static void say_ignored(const struct offset_job *job, struct group_outputs *out)
{
    const struct group_offset *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++) {
        if (job->list[i].kafka_error == KAFKA_ERR_NONE)
            continue;
        if (count++ == 0)
            first = &job->list[i];
    }
    if (first)
        group_notice(out, 4, "offset", ZKC_OK,
                     "offsets of %zu partitions were answered with an error, which counts as "
                     "nothing stored (auto.offset.reset); the first is [%s,%d]: %s",
                     count, first->topic, first->partition, kafka_error_name(first->kafka_error));
}

static void fetched(struct offset_manager *m, int64_t now_ms, const struct group_offsets_answer *a,
                    struct group_outputs *out)
{
    struct offset_job *job = &m->jobs[OFFSET_JOB_FETCH];
    if (a->failed || !take_list(job, a, true)) {
        group_notice(out, 4, "offset", ZKC_OK,
                     "Error while fetching offsets from %s:%d. Possible cause: %s", m->host,
                     m->port, a->failed ? a->text : "the answer lacks a partition");
        hang_up(m, out);
        try_later(m, now_ms);
    } else if (has_error(job, KAFKA_ERR_NOT_COORDINATOR)) {
        group_notice(out, 6, "offset", ZKC_OK,
                     "Could not fetch offsets (because offset manager has moved)");
        hang_up(m, out);
        try_later(m, now_ms);
    } else if (has_error(job, KAFKA_ERR_COORDINATOR_LOAD_IN_PROGRESS)) {
        group_notice(out, 6, "offset", ZKC_OK,
                     "Could not fetch offsets (because offset cache is being loaded)");
        try_later(m, now_ms);
    } else {
        if (!m->keeps_errors)
            say_ignored(job, out);
        end_job(m, ZKC_OK);
    }
}

/* What a commit's answer means (ZookeeperConsumerConnector.commitOffsets). */
struct verdict {
    bool is_worth_retrying, has_moved;
    const struct group_offset *first; /* that was refused; NULL: none */
};

static struct verdict judge(const struct offset_job *job)
{
    struct verdict v = {0};
    for (size_t i = 0; i < job->count; i++) {
        int16_t code = job->list[i].kafka_error;
        if (code == KAFKA_ERR_NONE)
            continue;
        v.is_worth_retrying |= code != KAFKA_ERR_OFFSET_METADATA_TOO_LARGE;
        v.has_moved |=
            code == KAFKA_ERR_NOT_COORDINATOR || code == KAFKA_ERR_COORDINATOR_NOT_AVAILABLE;
        if (!v.first)
            v.first = &job->list[i];
    }
    return v;
}

/* The commit's try has failed. */
static void end_try(struct offset_manager *m, int64_t now_ms, bool is_worth_retrying,
                    enum zkc_err err)
{
    struct offset_job *job = &m->jobs[OFFSET_JOB_COMMIT];
    job->tries_left--;
    if (is_worth_retrying && job->tries_left > 0)
        try_later(m, now_ms);
    else
        end_job(m, err);
}

static void committed(struct offset_manager *m, int64_t now_ms,
                      const struct group_offsets_answer *a, struct group_outputs *out)
{
    static const struct group_offsets_answer nothing = {0};
    struct offset_job *job = &m->jobs[OFFSET_JOB_COMMIT];
    take_list(job, a->failed ? &nothing : a, false);
    if (a->failed) {
        why_set(&job->why, "Error while committing offsets at %s:%d: %s", m->host, m->port,
                a->text);
        hang_up(m, out);
        end_try(m, now_ms, true, ZKC_ERR_UNREACHABLE);
        return;
    }
    struct verdict v = judge(job);
    if (!v.first) {
        end_job(m, ZKC_OK);
        return;
    }
    why_set(&job->why, "offset manager %s:%d refused the offset of [%s,%d]: %s", m->host, m->port,
            v.first->topic, v.first->partition, kafka_error_name(v.first->kafka_error));
    if (v.has_moved)
        hang_up(m, out);
    end_try(m, now_ms, v.is_worth_retrying, ZKC_ERR_BROKER);
}

void offset_manager_answered(struct offset_manager *m, int64_t now_ms,
                             const struct group_offsets_answer *a, struct group_outputs *out)
{
    if (a->seq != m->seq)
        return;
    if (m->state == OFFSETS_FINDING)
        found(m, now_ms, a, out);
    else if (m->state == OFFSETS_CALLING && m->running == OFFSET_JOB_FETCH)
        fetched(m, now_ms, a, out);
    else if (m->state == OFFSETS_CALLING)
        committed(m, now_ms, a, out);
}
