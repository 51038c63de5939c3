/* Offsets in znodes (offsets.storage=zookeeper; with dual.commit.enabled beside Kafka's), one
 * writer at a time: the live claiming session. Every write names the version that is known, so that
 * a foreign write is noticed and never overwritten unseen. All that knows of paths and versions of
 * offset nodes is here. */
#include "zkconsumer/core/group/zk_safe_parts.h"
#include "zkconsumer/core/zk/offset.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static char *offset_path(struct zk_safe *m, const struct safe_partition *p)
{
    return arena_format(&m->arena, "/consumers/%s/offsets/%s/%d", m->group, p->topic->name,
                        p->partition);
}

bool safe_commit_is_due(const struct safe_partition *p)
{
    return p->to_commit >= 0 && (p->to_commit > p->committed || p->is_rewind);
}

/* ---- reading ---- */

bool safe_offset_op(struct zk_safe *m, const struct safe_partition *p, struct zk_op *op)
{
    *op = (struct zk_op){.type = ZK_OP_GET, .path = offset_path(m, p)};
    return op->path != NULL;
}

void safe_offset_found(struct safe_partition *p, const struct zk_result *answer, struct why *why)
{
    int64_t offset;
    if (answer->zk_rc == ZK_NO_NODE)
        return;
    p->found_version = answer->stat.version;
    if (zk_offset_read(answer->data, &offset, why)) {
        p->found_odd = true;
        return;
    }
    p->found_offset = offset < 0 ? -1 : offset;
    p->found_forced = answer->data.len > 1 && answer->data.data[0] == '0';
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void known(struct safe_partition *p)
{
    p->version = p->found_version;
    p->unsure_offset = false;
    p->sent_offset = -1;
}

/* Whatever was committed: it may go back. */
static void commit_as_asked(struct zk_safe *m, struct safe_partition *p, int64_t offset)
{
    if (safe_has_stored(m)) {
        safe_store(p, offset, true);
    } else {
        p->is_rewind = offset < p->committed || offset < p->sent_offset;
        p->to_commit = offset;
    }
}

static void want_commit(struct zk_safe *m, struct safe_partition *p, int64_t offset)
{
    if (p->is_moved)
        commit_as_asked(m, p, offset);
    else if (safe_has_stored(m))
        safe_store(p, offset, false);
    else
        p->to_commit = later(p->to_commit, offset);
    p->is_moved = false;
}

/* Goes on from a reset, and writes it back plain so that it is obeyed once. */
static void obey(struct zk_safe *m, struct safe_partition *p)
{
    p->finished = p->to_commit = p->committed = p->found_offset;
    p->is_rewind = true;
    p->is_moved = false;
    if (safe_has_stored(m))
        safe_store_rewind(p, p->found_offset);
}

static void tell_read(const struct safe_partition *p, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_OFFSET_READ);
    o->offset.topic = p->topic->name;
    o->offset.partition = p->partition;
    o->offset.offset = p->found_offset;
    o->offset.zk_rc = p->found_version < 0 ? ZK_NO_NODE : ZK_OK;
}

/* It was set back to `finished`, and that has not been committed: what is stored does not count. */
static bool has_gone_back(const struct safe_partition *p)
{
    return p->finished >= 0 && (p->is_moved || p->is_rewind || p->stored.is_rewind);
}

void safe_offset_read(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    known(p);
    p->committed = p->found_offset;
    p->is_read = false;
    if (p->found_forced) {
        obey(m, p);
    } else if (!has_gone_back(p)) {
        p->finished = later(p->finished, p->stored.offset); /* the larger of both counts */
        if (safe_has_znodes(m))
            p->to_commit = later(p->to_commit, p->stored.offset); /* and the other store gets it */
        p->finished = later(p->finished, p->found_offset);
    }
    if (safe_has_znodes(m))
        tell_read(p, out);
    if (!safe_wants(m, p)) {
        safe_set_state(m, p, STOPPED);
        return;
    }
    p->began = p->doubled_to = p->finished;
    safe_set_state(m, p, OWNED);
    safe_open(m, p, p->finished, out);
}

void safe_tell_foreign(struct zk_safe *m, struct safe_partition *p, int64_t found, int64_t expected,
                       enum safe_foreign kind, struct group_outputs *out)
{
    bool is_obeyed = kind == FOREIGN_OBEYED;
    const char *by = is_obeyed ? NULL : safe_former_name(p);
    m->counts.foreign_writes++;
    struct group_output *o = group_emit(out, GROUP_OUT_FOREIGN);
    o->foreign.topic = p->topic->name;
    o->foreign.partition = p->partition;
    o->foreign.found = found;
    o->foreign.expected = expected;
    o->foreign.is_obeyed = is_obeyed;
    o->foreign.is_in_kafka = kind == FOREIGN_IN_KAFKA;
    o->foreign.by = by ? group_text(out, "%s", by) : NULL;
    o->foreign.doubled = is_obeyed ? 0 : safe_count_doubled(p, found);
    if (is_obeyed)
        group_notice(out, 6, "offset", ZKC_OK,
                     "[%s,%d]: a forced reset by a tool is obeyed: from offset %" PRId64
                     " on, in place of %" PRId64,
                     p->topic->name, p->partition, found, expected);
    else
        group_notice(out, 4, "offset", ZKC_OK,
                     "[%s,%d]: somebody else has %s the offset of a partition that we own: %" PRId64
                     " in place of %" PRId64 "; we go on, and overwrite it%s%s",
                     p->topic->name, p->partition, found < 0 ? "deleted" : "written", found,
                     expected, by ? "; most likely " : "", by ? by : "");
}

static void reset_to_found(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    if (p->is_open)
        safe_close(m, p, GROUP_GATE_REVOKED, out);
    if (!p->is_drained && !p->is_void)
        safe_void(m, p, GROUP_VOID_RESET, out);
    obey(m, p);
    known(p);
    if (p->state == OWNED)
        safe_open(m, p, p->found_offset, out);
}

void safe_offset_reread(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    bool is_next = p->found_version == p->version + 1;
    bool is_ours = p->sent_offset >= 0 && is_next && !p->found_odd && !p->found_forced &&
                   p->found_offset == p->sent_offset;
    if (p->found_version == p->version) {
        known(p); /* not carried out: it is due still */
    } else if (is_ours) {
        struct zk_stat stat = {.version = p->found_version};
        safe_committed(m, p, &stat, out);
        known(p);
    } else if (p->found_forced && !p->found_odd && p->found_offset >= 0) {
        safe_tell_foreign(m, p, p->found_offset, p->committed, FOREIGN_OBEYED, out);
        reset_to_found(m, p, out);
    } else {
        safe_tell_foreign(m, p, p->found_offset, p->committed, FOREIGN_KEPT, out);
        known(p);
    }
    safe_poke(m, p);
}

/* ---- writing ---- */

/* The write of `offset`. False: out of memory. */
static bool write_op(struct zk_safe *m, const struct safe_partition *p, int64_t offset,
                     struct zk_op *op)
{
    char *text = arena_alloc(&m->arena, ZK_OFFSET_TEXT_SIZE);
    char *path = offset_path(m, p);
    if (!text || !path)
        return false;
    bool is_late = p->state == FREE; /* only with the bug planted */
    bool creates = p->version < 0 && !is_late;
    bool is_blind = !m->config.commit_session || is_late;
    *op = (struct zk_op){.type = creates ? ZK_OP_CREATE : ZK_OP_SET,
                         .path = path,
                         .data = bytes_of(text, zk_offset_format(offset, text)),
                         .version = is_blind ? ZK_ANY_VERSION : p->version};
    return true;
}

void safe_send_commit(struct zk_safe *m, struct safe_partition *p, struct group_outputs *out)
{
    struct zk_op op;
    if (!write_op(m, p, p->to_commit, &op) || !safe_can_send(m, 1)) {
        p->op = OP_NONE;
        safe_pause(m, p, GROUP_RESEND_MS);
        return;
    }
    p->sent_offset = p->to_commit;
    safe_send(m, (struct safe_sent){.op = OP_COMMIT, .partition = p}, &op, out);
}

static void tell_commit(const struct safe_partition *p, int zk_rc, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_COMMIT);
    o->offset.topic = p->topic->name;
    o->offset.partition = p->partition;
    o->offset.offset = p->sent_offset;
    o->offset.previous = p->committed;
    o->offset.zk_rc = zk_rc;
}

void safe_committed(struct zk_safe *m, struct safe_partition *p, const struct zk_stat *stat,
                    struct group_outputs *out)
{
    m->counts.commits++;
    told_over(&p->refused_op);
    tell_commit(p, ZK_OK, out);
    p->version = p->version < 0 ? 0 : stat->version;
    p->committed = p->sent_offset;
    p->is_rewind = p->is_rewind && p->to_commit != p->sent_offset;
    p->sent_offset = -1;
}

bool safe_commit_refused(struct zk_safe *m, struct safe_partition *p, int zk_rc,
                         struct group_outputs *out)
{
    if (zk_rc == ZK_NO_NODE && p->version < 0) { /* of a create: the parent is not there */
        safe_want_parent(m, &p->topic->offsets);
        p->sent_offset = -1;
        return true;
    }
    if (p->sent_offset >= 0)
        tell_commit(p, zk_rc, out);
    p->sent_offset = -1; /* it was not carried out, that is certain */
    p->unsure_offset = zk_rc == ZK_BAD_VERSION || zk_rc == ZK_NODE_EXISTS || zk_rc == ZK_NO_NODE;
    return p->unsure_offset;
}

void safe_commit_answer(struct zk_safe *m, struct safe_partition *p, const struct zk_result *answer,
                        struct group_outputs *out)
{
    if (p->state == FREE) { /* only with the bug planted */
        if (answer->zk_rc == ZK_OK)
            tell_commit(p, ZK_OK, out);
        p->op = OP_NONE;
        p->to_commit = p->sent_offset = -1;
    } else if (!lease_is_answer(answer->zk_rc)) {
        safe_op_lost(m, p);
    } else if (answer->zk_rc == ZK_OK) {
        p->op = OP_NONE;
        safe_committed(m, p, &answer->stat, out);
    } else if (safe_commit_refused(m, p, answer->zk_rc, out)) {
        p->op = OP_NONE;
    } else {
        safe_op_refused(m, p, "the commit", answer->zk_rc, out);
    }
    safe_poke(m, p);
}

size_t safe_release_part(struct zk_safe *m, struct safe_partition *p, struct zk_op *op)
{
    p->sent_offset = -1;
    if (safe_commit_is_due(p)) {
        if (!write_op(m, p, p->to_commit, op))
            return SIZE_MAX;
        p->sent_offset = p->to_commit;
        return 1;
    }
    bool checks = p->version >= 0 && m->config.release_session && m->config.commit_session;
    if (!checks)
        return 0;
    if (p->committed >= 0 && !safe_has_bug(m, ZK_SAFE_BUG_UNFENCED))
        return write_op(m, p, p->committed, op) ? 1 : SIZE_MAX;
    return safe_probe_part(m, p, op) ? 1 : SIZE_MAX;
}

bool safe_probe_part(struct zk_safe *m, const struct safe_partition *p, struct zk_op *op)
{
    if (p->version < 0)
        return false;
    *op = (struct zk_op){.type = ZK_OP_CHECK, .path = offset_path(m, p), .version = p->version};
    return op->path != NULL;
}

/* ---- positions of the application ---- */

/* Offsets of one place rise; at another place they begin anew, also below: a seek or a reset of an
 * offset that is out of range means that those messages are wanted again. */
static void take_position(struct safe_partition *p, int64_t offset, uint32_t moves)
{
    if (moves == p->moves) {
        p->finished = later(p->finished, offset);
    } else if (offset >= 0) { /* -1: the place is not known yet */
        p->moves = moves;
        p->finished = offset;
        p->is_moved = true;
    }
}

void safe_finished(struct zk_safe *m, struct safe_partition *p, int64_t offset, uint32_t moves)
{
    take_position(p, offset, moves);
    if (m->config.auto_commit)
        want_commit(m, p, p->finished);
    safe_poke(m, p);
}

/* What still counts of this claim; NULL: nothing. */
static struct safe_partition *find_claim(const struct zk_safe *m, const struct group_position *at)
{
    struct safe_partition *p = safe_find(m, bytes_of_text(at->topic), at->partition);
    if (!p || p->is_lost || (at->claim && at->claim != p->claim))
        return NULL;
    return p->is_open || (!p->is_drained && !p->is_void) ? p : NULL;
}

void safe_positions(struct zk_safe *m, const struct group_input *in)
{
    for (size_t i = 0; i < in->positions.count; i++) {
        const struct group_position *at = &in->positions.list[i];
        struct safe_partition *p = find_claim(m, at);
        if (p && at->offset >= 0)
            safe_finished(m, p, at->offset, at->moves);
    }
    for (size_t i = 0; i < m->partition_count; i++)
        if (m->partitions[i]->is_asked)
            safe_poke(m, m->partitions[i]);
}

/* ---- commits of the application ---- */

static bool add_to_job(struct safe_job *job, struct safe_partition *p)
{
    if (job->count == job->cap) {
        size_t cap = job->cap ? job->cap * 2 : 8;
        struct safe_partition **list =
            realloc(job->partitions, cap * sizeof(struct safe_partition *));
        if (!list)
            return false;
        job->partitions = list;
        job->cap = cap;
    }
    job->partitions[job->count++] = p;
    return true;
}

static struct safe_job *job_for(struct zk_safe *m)
{
    if (m->job_count == SAFE_JOBS_MAX)
        return &m->jobs[SAFE_JOBS_MAX - 1];
    struct safe_job *job = &m->jobs[m->job_count++];
    *job = (struct safe_job){.id = ++m->last_job};
    why_clear(&job->why);
    return job;
}

static void request(struct zk_safe *m, struct safe_partition *p, const struct group_position *at,
                    bool as_asked)
{
    if (as_asked) {
        commit_as_asked(m, p, at->offset);
        return;
    }
    take_position(p, at->offset, at->moves);
    want_commit(m, p, at->offset);
}

/* ZKC_ERR_NOT_OWNED: one of them is not ours. */
static enum zkc_err check_owned(const struct zk_safe *m, const struct group_input *in)
{
    for (size_t i = 0; i < in->commit.count && !in->commit.all_owned; i++)
        if (!find_claim(m, &in->commit.list[i]))
            return ZKC_ERR_NOT_OWNED;
    return ZKC_OK;
}

void safe_commit(struct zk_safe *m, const struct group_input *in, struct group_outputs *out)
{
    enum zkc_err err = check_owned(m, in);
    struct safe_job *job = err ? NULL : job_for(m);
    for (size_t i = 0; job && i < in->commit.count; i++) {
        struct safe_partition *p = find_claim(m, &in->commit.list[i]);
        if (!p || in->commit.list[i].offset < 0)
            continue;
        if (!add_to_job(job, p)) {
            job->err = ZKC_ERR_NOMEM;
            why_set(&job->why, "out of memory");
            break;
        }
        request(m, p, &in->commit.list[i], !in->commit.all_owned);
        safe_poke(m, p);
    }
    struct group_output *o = group_emit(out, GROUP_OUT_COMMIT_QUEUED);
    o->committed.job = job ? job->id : 0;
    o->committed.err = err;
    o->committed.text = err ? "a partition is not owned" : "";
}

static void remove_from_job(struct safe_job *job, size_t i)
{
    job->partitions[i] = job->partitions[--job->count];
}

void safe_job_failed(struct zk_safe *m, const struct safe_partition *p, enum zkc_err err,
                     const char *text)
{
    bool is_settled = !safe_commit_is_due(p) && !safe_store_is_due(p) && !p->unsure_offset;
    for (size_t k = 0; k < m->job_count; k++) {
        struct safe_job *job = &m->jobs[k];
        for (size_t i = job->count; i-- > 0;) {
            if (job->partitions[i] != p)
                continue;
            remove_from_job(job, i);
            if (is_settled || job->err)
                continue;
            job->err = err;
            why_set(&job->why, "[%s,%d]: %s", p->topic->name, p->partition, text);
        }
    }
}

static bool is_settled(const struct safe_partition *p)
{
    return !safe_commit_is_due(p) && !safe_store_is_due(p) && !p->unsure_offset &&
           p->op != OP_COMMIT && p->op != OP_RELEASE;
}

static void end_job(struct zk_safe *m, size_t k, struct group_outputs *out)
{
    struct safe_job *job = &m->jobs[k];
    struct group_output *o = group_emit(out, GROUP_OUT_COMMITTED);
    o->committed.job = job->id;
    o->committed.err = job->err;
    o->committed.text = group_text(out, "%s", job->why.text);
    free(job->partitions);
    m->job_count--;
    memmove(job, job + 1, (m->job_count - k) * sizeof *job);
}

void safe_run_jobs(struct zk_safe *m, struct group_outputs *out)
{
    for (size_t k = 0; k < m->job_count;) {
        struct safe_job *job = &m->jobs[k];
        for (size_t i = job->count; i-- > 0;)
            if (is_settled(job->partitions[i]))
                remove_from_job(job, i);
        if (m->phase == CLOSED && job->count > 0) {
            job->count = 0;
            job->err = ZKC_ERR_CLOSED;
            why_set(&job->why, "the session was closed before it was written");
        }
        if (job->count == 0)
            end_job(m, k, out);
        else
            k++;
    }
}

void safe_free_jobs(struct zk_safe *m)
{
    for (size_t i = 0; i < m->job_count; i++)
        free(m->jobs[i].partitions);
}
