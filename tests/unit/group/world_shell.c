#include "tests/unit/group/world_parts.h"

/* ---- the shell ---- */

static void abandon(struct world_link *l, enum group_lane lane)
{
    for (size_t i = 0; i < l->open_count; i++)
        l->open[i].is_abandoned |= l->open[i].lane == lane;
}

static void send_request(struct world_member *m, const struct group_output *o)
{
    struct world_link *l = m->link;
    for (size_t i = 0; i < l->open_count; i++)
        if (l->open[i].lane == o->op.lane && !l->open[i].is_abandoned)
            fail_msg("two operations at once in lane %d, the second: %s %s", o->op.lane,
                     zk_op_name(o->op.op.type), zk_op_path(&o->op.op));
    if (!l->is_connected)
        fail_msg("sent without a connection: %s %s", zk_op_name(o->op.op.type),
                 zk_op_path(&o->op.op));
    assert_true(l->open_count < OPEN_OPS_MAX);
    l->open[l->open_count++] = (struct open_op){o->op.lane, o->op.seq, false};
    struct message *msg =
        world_message(m, MESSAGE_REQUEST, world_later(m->world, &l->last_request_ms));
    msg->lane = o->op.lane;
    msg->seq = o->op.seq;
    msg->op = world_copy_op(&o->op.op);
    world_post(m->world, msg);
}

static void be_due(struct world_member *m, enum group_input_type type, uint32_t seq)
{
    struct message *msg =
        world_message(m, MESSAGE_DUE, world_later(m->world, &m->link->last_due_ms));
    msg->due = type;
    msg->seq = seq;
    world_post(m->world, msg);
}

static void stop(struct world_member *m, enum group_stop_why why)
{
    m->last_stop = why;
    m->link->is_fetching = false;
    abandon(m->link, GROUP_LANE_FINDER);
    if (why == GROUP_STOP_LEAVE) {
        abandon(m->link, GROUP_LANE_REBALANCE);
        abandon(m->link, GROUP_LANE_EVENTS);
    }
    be_due(m, GROUP_IN_STOPPED, 0);
}

static void assign(struct world_member *m, const struct group_output *o)
{
    struct world_link *l = m->link;
    assert_false(l->is_fetching);
    l->is_fetching = true;
    assert_true(o->assign.count <= WORLD_POSITIONS_MAX);
    for (size_t i = 0; i < l->topic_count; i++)
        free(l->topics[i]);
    l->topic_count = m->position_count = o->assign.count;
    for (size_t i = 0; i < o->assign.count; i++) {
        const struct group_claim *c = &o->assign.claims[i];
        l->topics[i] = strdup(c->topic);
        l->has_leader[i] = false;
        m->positions[i] = (struct group_position){l->topics[i], c->partition, c->offset, 0, 0};
    }
}

static void take_leaders(struct world_member *m, const struct group_output *o)
{
    struct world_link *l = m->link;
    if (!l->is_fetching)
        fail_msg("leaders are told between stop and assignment");
    for (size_t i = 0; i < o->leaders.count; i++) {
        const struct group_leader *leader = &o->leaders.list[i];
        size_t k = 0;
        while (k < m->position_count && (strcmp(m->positions[k].topic, leader->topic) != 0 ||
                                         m->positions[k].partition != leader->partition))
            k++;
        if (k == m->position_count)
            fail_msg("a leader of [%s,%d], which is not held", leader->topic, leader->partition);
        l->has_leader[k] = true;
        if (m->positions[k].offset < 0)
            m->positions[k].offset = 0;
    }
}

static void take_notice(struct world_member *m, const struct group_output *o)
{
    if (!o->notice.text[0])
        fail_msg("m%d: a notice without room for its text", m->number);
    m->world->seen += strlen(o->notice.facility);
    for (int i = 0; m->world->phrases && m->world->phrases[i]; i++)
        if (strstr(o->notice.text, m->world->phrases[i])) {
            m->said[i] = true;
            m->said_level[i] = o->notice.level;
        }
    if (!o->notice.err)
        return;
    m->notices[-100 - (int)o->notice.err]++;
    snprintf(m->last_error, sizeof m->last_error, "%s", o->notice.text);
}

static void take_commit(struct world_member *m, const struct group_output *o)
{
    if (o->type == GROUP_OUT_COMMIT_QUEUED) {
        m->commits_queued += o->committed.err == ZKC_OK;
        m->last_job = o->committed.job;
    } else {
        m->commits_done++;
        m->commits_failed += o->committed.err != ZKC_OK;
    }
    m->last_commit_err = o->committed.err;
    m->world->seen += strlen(o->committed.text);
}

void world_listen(struct world *w, const char *const *phrases)
{
    w->phrases = phrases;
}

/* ---- offsets in Kafka ---- */

static void take_question(struct world_member *m, const struct group_output *o)
{
    struct world_link *l = m->link;
    l->offsets_request = o->offsets_ask.request;
    l->offsets_count = o->offsets_ask.count;
    assert_true(l->offsets_count <= WORLD_POSITIONS_MAX);
    for (size_t i = 0; i < l->offsets_count; i++)
        l->offsets[i] = o->offsets_ask.list[i];
    m->world->seen += strlen(o->offsets_ask.host);
    be_due(m, GROUP_IN_OFFSETS, o->offsets_ask.seq);
}

static struct group_offset *stored(struct world *w, const struct group_offset *o)
{
    for (size_t i = 0; i < w->kafka_count; i++)
        if (w->kafka[i].partition == o->partition && strcmp(w->kafka[i].topic, o->topic) == 0)
            return &w->kafka[i];
    assert_true(w->kafka_count < WORLD_POSITIONS_MAX);
    struct group_offset *at = &w->kafka[w->kafka_count++];
    *at = (struct group_offset){strdup(o->topic), o->partition, -1, 0};
    return at;
}

void world_answer_offsets(struct world_member *m, uint32_t seq)
{
    struct world_link *l = m->link;
    struct group_offset list[WORLD_POSITIONS_MAX];
    for (size_t i = 0; i < l->offsets_count; i++) {
        struct group_offset *at = stored(m->world, &l->offsets[i]);
        if (l->offsets_request == GROUP_OFFSETS_COMMIT)
            at->offset = l->offsets[i].offset;
        list[i] = *at;
    }
    struct group_input in = {
        .type = GROUP_IN_OFFSETS,
        .offsets = {
            .seq = seq, .host = "h", .port = 9092, .list = list, .count = l->offsets_count}};
    world_feed(m, &in);
}

/* Reads whatever the outputs of the trace point to. */
static void look_at(struct world *w, const struct group_output *o)
{
    for (size_t i = 0; o->type == GROUP_OUT_VIEW && i < o->view.member_count; i++)
        w->seen += strlen(o->view.members[i].consumer_id);
    for (size_t i = 0; o->type == GROUP_OUT_VIEW && i < o->view.topic_count; i++) {
        w->seen += strlen(o->view.topics[i].topic);
        for (size_t k = 0; k < o->view.topics[i].count; k++)
            w->seen += (unsigned long)o->view.topics[i].partitions[k];
    }
    for (size_t i = 0; o->type == GROUP_OUT_DECIDE && i < o->decide.count; i++)
        w->seen += strlen(o->decide.claims[i].topic);
    if (o->type == GROUP_OUT_CLAIM)
        w->seen += strlen(o->claim.topic) + (o->claim.holder ? strlen(o->claim.holder) : 0);
    if (o->type == GROUP_OUT_RELEASE)
        w->seen += strlen(o->release.topic);
    if (o->type == GROUP_OUT_OFFSET_READ || o->type == GROUP_OUT_COMMIT)
        w->seen += strlen(o->offset.topic);
    bool has_offsets = o->type == GROUP_OUT_OFFSETS_READ || o->type == GROUP_OUT_OFFSETS_STORED;
    for (size_t i = 0; has_offsets && i < o->offsets.count; i++)
        w->seen += strlen(o->offsets.list[i].topic);
    for (size_t i = 0; o->type == GROUP_OUT_METADATA && i < o->metadata.topic_count; i++)
        w->seen += strlen(o->metadata.topics[i]) + strlen(o->metadata.host);
}

static void count(struct world_member *m, const struct group_output *o)
{
    m->rebalances += o->type == GROUP_OUT_REBALANCE_BEGIN;
    m->attempts += o->type == GROUP_OUT_TRY_BEGIN;
    if (o->type == GROUP_OUT_TRY_END && !o->try_end.ok) {
        m->attempts_failed++;
        snprintf(m->last_failure, sizeof m->last_failure, "%s", o->try_end.why);
    }
    m->give_ups += o->type == GROUP_OUT_REBALANCE_END && o->rebalance_end.gave_up;
}

static void carry_out(struct world_member *m, const struct group_output *o)
{
    look_at(m->world, o);
    count(m, o);
    switch (o->type) {
    case GROUP_OUT_OP: send_request(m, o); break;
    case GROUP_OUT_STOP: stop(m, o->stop); break;
    case GROUP_OUT_POSITIONS:
        m->positions_asked++;
        be_due(m, GROUP_IN_POSITIONS, 0);
        break;
    case GROUP_OUT_ASSIGN: assign(m, o); break;
    case GROUP_OUT_METADATA: be_due(m, GROUP_IN_METADATA, o->metadata.seq); break;
    case GROUP_OUT_LEADERS: take_leaders(m, o); break;
    case GROUP_OUT_OFFSETS_ASK: take_question(m, o); break;
    case GROUP_OUT_COMMIT_QUEUED:
    case GROUP_OUT_COMMITTED: take_commit(m, o); break;
    case GROUP_OUT_CLOSE_SESSION: m->is_closed = true; break;
    case GROUP_OUT_LEASE:
        m->leases_told++;
        m->lease_session = o->lease.session_id;
        m->lease_end_ms = o->lease.end_ms;
        break;
    case GROUP_OUT_NOTICE: take_notice(m, o); break;
    case GROUP_OUT_STATE:
        m->is_registered = o->state.registered;
        m->is_settled = o->state.settled;
        m->gave_up = o->state.gave_up;
        break;
    default: break;
    }
}

static void close_session(struct world_member *m)
{
    world_free_machine(m);
    if (m->link->is_up)
        world_end_session(m->world, m->session);
    m->link->is_up = m->link->is_connected = false;
    m->link->connection++;
}

void world_feed(struct world_member *m, struct group_input *in)
{
    struct world *w = m->world;
    in->now_ms = w->now_ms;
    in->wall_ms = 1424990000000 + w->now_ms;
    if (w->options.around_step)
        w->options.around_step(true);
    zk_compat_step(m->machine, in, &w->out);
    if (w->options.around_step)
        w->options.around_step(false);
    if (w->out.count > m->outputs_max)
        m->outputs_max = w->out.count;
    for (size_t i = 0; i < w->out.count; i++) {
        if (m->is_closed)
            fail_msg("an output after GROUP_OUT_CLOSE_SESSION");
        carry_out(m, &w->out.list[i]);
    }
    if (m->is_closed)
        close_session(m);
}
