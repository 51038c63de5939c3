#include "zkconsumer/core/group/zk_compat_parts.h"

static enum zkc_err add(struct zk_compat *m, const struct group_position *list, size_t count,
                        bool is_strict, bool is_joinable, uint32_t *job)
{
    struct commit_request request = {.held = m->owned,
                                     .held_count = m->owned_count,
                                     .positions = list,
                                     .count = count,
                                     .is_strict = is_strict,
                                     .is_joinable = is_joinable};
    return committer_add(&m->committer, &request, job);
}

static void say_failed(enum zkc_err err, const char *text, struct group_outputs *out)
{
    group_notice(out, 3, "offset", err, "exception during commitOffsets: %s", text);
}

void compat_commit(struct zk_compat *m, const struct group_input *in, struct group_outputs *out)
{
    uint32_t job = 0;
    enum zkc_err err = add(m, in->commit.list, in->commit.count, !in->commit.all_owned, true, &job);
    struct group_output *o = group_emit(out, GROUP_OUT_COMMIT_QUEUED);
    o->committed.job = job;
    o->committed.err = err;
    o->committed.text = "";
}

void compat_commit_timer(struct zk_compat *m, const struct group_input *in,
                         struct group_outputs *out)
{
    enum zkc_err err =
        add(m, in->positions.list, in->positions.count, false, true, &m->timer_commit);
    if (err)
        say_failed(err, zkc_err_text(err), out);
}

void compat_commit_stopped(struct zk_compat *m, const struct group_input *in,
                           struct group_outputs *out)
{
    if (!m->settings.auto_commit || m->owned_count == 0)
        return;
    enum zkc_err err = add(m, in->positions.list, in->positions.count, false, false, &m->rb_commit);
    if (err)
        say_failed(err, zkc_err_text(err), out);
}

void compat_commit_time(struct zk_compat *m, struct group_outputs *out)
{
    if (m->now_ms < m->commit_at_ms)
        return;
    m->commit_at_ms += m->settings.auto_commit_interval_ms; /* at a fixed rate */
    if (m->commit_at_ms <= m->now_ms)
        m->commit_at_ms = m->now_ms + m->settings.auto_commit_interval_ms;
    if (m->owned_count > 0 && m->timer_commit == 0)
        group_emit(out, GROUP_OUT_POSITIONS);
}

static void ended(struct zk_compat *m, uint32_t job, enum zkc_err err, const char *text,
                  struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_COMMITTED);
    o->committed.job = job;
    o->committed.err = err;
    o->committed.text = group_text(out, "%s", text);
    if (err)
        say_failed(err, text, out);
    if (job == m->timer_commit)
        m->timer_commit = 0;
    if (job != m->rb_commit)
        return;
    m->rb_commit = 0;
    if (err && m->settings.offsets_in == COMMIT_TO_ZOOKEEPER)
        compat_rebalance_commit_failed(m, text, out);
}

/* What the committer wants next, and how a job of it has ended. */
struct progress {
    enum committer_step step;
    struct zk_op op;
    uint32_t job;
    enum zkc_err err;
    struct why why;
};

/* Commits the running job to Kafka. Only the last commit of all is tried more than once. */
static void store(struct zk_compat *m, struct progress *p)
{
    unsigned tries = m->state == LEAVING ? 1 + m->settings.offsets_commit_retries : 1;
    struct offset_committer *c = &m->committer;
    enum zkc_err err =
        offset_manager_begin(&m->offsets, OFFSET_JOB_COMMIT, c->stored, c->stored_count, tries);
    p->step = COMMITTER_IDLE;
    if (err)
        p->step = committer_stored(c, err, "committing offsets: out of memory", c->stored, 0,
                                   &p->op, &p->job, &p->err, &p->why);
}

/* Carries out what the committer wants. True: a job has ended, and the next may begin. */
static bool take_step(struct zk_compat *m, struct progress *p, struct group_outputs *out)
{
    if (p->step == COMMITTER_STORE)
        store(m, p);
    if (p->step == COMMITTER_SEND)
        compat_send(m, GROUP_LANE_COMMIT, &p->op, out);
    if (p->step != COMMITTER_DONE)
        return false;
    ended(m, p->job, p->err, p->why.text, out);
    return true;
}

void compat_commit_drive(struct zk_compat *m, const struct zk_result *answer,
                         struct group_outputs *out)
{
    struct progress p;
    do {
        p.step = committer_next(&m->committer, answer, &p.op, &p.job, &p.err, &p.why, out);
        answer = NULL;
    } while (take_step(m, &p, out));
    if (committer_is_idle(&m->committer))
        compat_rebalance_commits_done(m, out);
}

void compat_commit_stored(struct zk_compat *m, struct group_outputs *out)
{
    struct offset_outcome o;
    struct progress p;
    if (!offset_manager_take(&m->offsets, OFFSET_JOB_COMMIT, &o))
        return;
    struct group_output *stored = group_emit(out, GROUP_OUT_OFFSETS_STORED);
    stored->offsets.list = o.list;
    stored->offsets.count = o.count;
    p.step = committer_stored(&m->committer, o.err, o.text, o.list, o.count, &p.op, &p.job, &p.err,
                              &p.why);
    if (take_step(m, &p, out))
        compat_commit_drive(m, NULL, out);
}
