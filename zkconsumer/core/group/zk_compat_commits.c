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
    if (err)
        compat_rebalance_commit_failed(m, text, out);
}

void compat_commit_drive(struct zk_compat *m, const struct zk_result *answer,
                         struct group_outputs *out)
{
    for (;;) {
        struct zk_op op;
        struct why why;
        uint32_t job = 0;
        enum zkc_err err;
        enum committer_step step =
            committer_next(&m->committer, answer, &op, &job, &err, &why, out);
        answer = NULL;
        if (step == COMMITTER_SEND)
            compat_send(m, GROUP_LANE_COMMIT, &op, out);
        if (step != COMMITTER_DONE)
            break;
        ended(m, job, err, why.text, out);
    }
    if (committer_is_idle(&m->committer))
        compat_rebalance_commits_done(m, out);
}
