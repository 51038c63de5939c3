#include "zkconsumer/core/group/commit_drive.h"

static enum committer_step store(const struct commit_drive *d, struct zk_op *op,
                                 struct commit_ended *e)
{
    struct offset_committer *c = d->committer;
    enum zkc_err err =
        offset_manager_begin(d->manager, OFFSET_JOB_COMMIT, c->stored, c->stored_count, d->tries);
    if (!err)
        return COMMITTER_IDLE;
    return committer_stored(c, err, "committing offsets: out of memory", c->stored, 0, op, &e->job,
                            &e->err, &e->why);
}

static bool take_step(const struct commit_drive *d, enum committer_step step, struct zk_op *op,
                      struct commit_ended *e, struct group_outputs *out)
{
    if (step == COMMITTER_STORE)
        step = store(d, op, e);
    if (step == COMMITTER_SEND)
        lane_send(d->lanes, GROUP_LANE_COMMIT, op, d->is_connected, out);
    return step == COMMITTER_DONE;
}

bool commit_drive(const struct commit_drive *d, const struct zk_result *answer,
                  struct commit_ended *e, struct group_outputs *out)
{
    struct zk_op op;
    enum committer_step step =
        committer_next(d->committer, answer, &op, &e->job, &e->err, &e->why, out);
    return take_step(d, step, &op, e, out);
}

bool commit_drive_stored(const struct commit_drive *d, struct commit_ended *e,
                         struct group_outputs *out)
{
    struct offset_outcome o;
    struct zk_op op;
    if (!offset_manager_take(d->manager, OFFSET_JOB_COMMIT, &o, out))
        return false;
    enum committer_step step = committer_stored(d->committer, o.err, o.text, o.list, o.count, &op,
                                                &e->job, &e->err, &e->why);
    return take_step(d, step, &op, e, out);
}

void commit_tell_ended(const struct commit_ended *ended, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_COMMITTED);
    o->committed.job = ended->job;
    o->committed.err = ended->err;
    o->committed.text = group_text(out, "%s", ended->why.text);
}
