#include "zkconsumer/core/group/commit_drive.h"
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

static void ended(struct zk_compat *m, const struct commit_ended *e, struct group_outputs *out)
{
    commit_tell_ended(e, out);
    if (e->err) /* the timer's next will say the same */
        say_failed(told_is_news(&m->uncommitted, told_hash(e->why.text)) ? e->err : ZKC_OK,
                   e->why.text, out);
    else
        told_over(&m->uncommitted);
    if (e->job == m->timer_commit)
        m->timer_commit = 0;
    if (e->job != m->rb_commit)
        return;
    m->rb_commit = 0;
    if (e->err && m->settings.offsets_in == COMMIT_TO_ZOOKEEPER)
        compat_rebalance_commit_failed(m, e->why.text, out);
}

/* Only the last commit of all is tried more than once. */
static struct commit_drive drive(struct zk_compat *m)
{
    unsigned tries = m->state == LEAVING ? 1 + m->settings.offsets_commit_retries : 1;
    return (struct commit_drive){&m->committer, &m->offsets, m->lanes, m->connected, tries};
}

void compat_commit_drive(struct zk_compat *m, const struct zk_result *answer,
                         struct group_outputs *out)
{
    struct commit_drive d = drive(m);
    struct commit_ended e;
    for (; commit_drive(&d, answer, &e, out); answer = NULL)
        ended(m, &e, out);
    if (committer_is_idle(&m->committer))
        compat_rebalance_commits_done(m, out);
}

void compat_commit_stored(struct zk_compat *m, struct group_outputs *out)
{
    struct commit_drive d = drive(m);
    struct commit_ended e;
    if (!commit_drive_stored(&d, &e, out))
        return;
    ended(m, &e, out);
    compat_commit_drive(m, NULL, out);
}
