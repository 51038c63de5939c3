#include "tests/unit/group/zk_safe_world.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/path.h"

struct safe_message {
    struct safe_message *next;
    bool is_event;
    enum group_lane lane;
    uint32_t seq;
    struct zk_op op; /* its texts are owned */
    struct zk_result result;
    struct zk_part_result *parts;
    char **children;
    uint8_t *data;
    struct zk_watch_event event;
    char *path;
};

/* ---- messages ---- */

static struct zk_op copy_op(const struct zk_op *op)
{
    struct zk_op copied = *op;
    copied.path = op->path ? strdup(op->path) : NULL;
    if (op->data.data) {
        uint8_t *data = malloc(op->data.len + 1);
        memcpy(data, op->data.data, op->data.len);
        copied.data.data = data;
    }
    if (op->part_count) {
        struct zk_op *parts = calloc(op->part_count, sizeof *parts);
        for (size_t i = 0; i < op->part_count; i++)
            parts[i] = copy_op(&op->parts[i]);
        copied.parts = parts;
    }
    return copied;
}

static void free_op(struct zk_op *op)
{
    for (size_t i = 0; i < op->part_count; i++) {
        struct zk_op part = op->parts[i];
        free_op(&part);
    }
    free((void *)(uintptr_t)op->parts);
    free((void *)(uintptr_t)op->path);
    free((void *)(uintptr_t)op->data.data);
}

static void free_message(struct safe_message *x)
{
    free_op(&x->op);
    for (size_t i = 0; x->children && i < x->result.children_count; i++)
        free(x->children[i]);
    free(x->children);
    free(x->parts);
    free(x->data);
    free(x->path);
    free(x);
}

static void free_messages(struct safe_message **list)
{
    while (*list) {
        struct safe_message *x = *list;
        *list = x->next;
        free_message(x);
    }
}

static void set_result(struct safe_message *x, const struct zk_result *r)
{
    x->result = *r;
    if (r->data.data) {
        x->data = malloc(r->data.len + 1);
        memcpy(x->data, r->data.data, r->data.len);
        x->result.data.data = x->data;
    }
    if (r->children_count) {
        x->children = calloc(r->children_count, sizeof *x->children);
        for (size_t i = 0; i < r->children_count; i++)
            x->children[i] = strdup(r->children[i]);
        x->result.children = (const char *const *)x->children;
    }
    if (r->part_count) {
        x->parts = calloc(r->part_count, sizeof *x->parts);
        memcpy(x->parts, r->parts, r->part_count * sizeof *x->parts);
        x->result.parts = x->parts;
    }
}

static void push(struct safe_message ***end, struct safe_message *x)
{
    x->next = NULL;
    **end = x;
    *end = &x->next;
}

static struct safe_message *pop(struct safe_message **list, struct safe_message ***end)
{
    struct safe_message *x = *list;
    if (!x)
        return NULL;
    *list = x->next;
    if (!*list)
        *end = list;
    return x;
}

/* ---- the world ---- */

struct safe_world *safe_world_new(uint64_t seed, int partitions)
{
    struct safe_world *w = calloc(1, sizeof *w);
    rng_init(&w->rng, seed);
    w->zk = fake_zk_new();
    w->now_ms = 1000000;
    w->partitions = partitions;
    char text[16 * SAFE_PARTITIONS_MAX] = "{\"version\":1,\"partitions\":{";
    size_t len = strlen(text);
    for (int p = 0; p < partitions; p++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s\"%d\":[0]", p ? "," : "", p);
    snprintf(text + len, sizeof text - len, "}}");
    fake_zk_put(w->zk, "/brokers/topics/t", text);
    return w;
}

static void free_member(struct safe_member *m)
{
    zk_safe_free(m->machine);
    free_messages(&m->requests);
    free_messages(&m->replies);
    free_messages(&m->zombies);
    fake_zk_client_deinit(&m->client);
    free(m->question.list);
    safe_forget_asked(m);
    free(m);
}

struct safe_world *safe_world_with_foreigner(int partitions, int64_t *session)
{
    struct safe_world *w = safe_world_new(1, partitions);
    w->has_foreigners = true;
    *session = fake_zk_open(w->zk);
    w->touched_ms[*session] = INT64_MAX / 2;
    fake_zk_put(w->zk, "/consumers/g/owners/t", NULL);
    fake_zk_put(w->zk, "/consumers/g/offsets/t", NULL);
    fake_zk_put(w->zk, "/consumers/g/ids", NULL);
    return w;
}

void safe_world_free(struct safe_world *w)
{
    for (int i = 0; i < w->member_count; i++)
        free_member(w->members[i]);
    fake_zk_free(w->zk);
    free(w);
}

struct zk_safe_config safe_world_config(void)
{
    static const struct zk_subscription subscription = {(char *)(uintptr_t) "t", 1};
    struct zk_safe_config config = zk_safe_config_default();
    config.group = "g";
    config.subscriptions = &subscription;
    config.subscription_count = 1;
    config.auto_commit_interval_ms = 5000;
    config.close_timeout_ms = 20000;
    return config;
}

struct safe_member *safe_world_join(struct safe_world *w, const char *id,
                                    const struct zk_safe_config *config)
{
    assert_true(w->member_count < SAFE_MEMBERS_MAX);
    struct safe_member *m = calloc(1, sizeof *m);
    struct zk_safe_config mine = *config;
    struct why why;
    snprintf(m->id, sizeof m->id, "%s", id);
    mine.consumer_id = id;
    m->world = w;
    m->requests_end = &m->requests;
    m->replies_end = &m->replies;
    m->is_polling = m->is_opening = true;
    m->polled_ms = w->now_ms;
    assert_int_equal(zk_safe_new(&mine, w->now_ms, &m->machine, &why), ZKC_OK);
    w->members[w->member_count++] = m;
    return m;
}

/* ---- promises ---- */

static void broken(struct safe_world *w, const char *fmt, ...) ZKC_PRINTF(2, 3);
static void broken(struct safe_world *w, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!w->is_broken_by_plan)
        fail_msg("at %" PRId64 " ms: %s", w->now_ms - 1000000, text);
    if (!w->broken[0])
        memcpy(w->broken, text, sizeof text);
}

int64_t safe_owner(struct safe_world *w, int p)
{
    char path[64];
    snprintf(path, sizeof path, SAFE_OWNERS "%d", p);
    return fake_zk_owner(w->zk, path);
}

static int64_t committed_in_znode(struct safe_world *w, int p)
{
    char path[64];
    int64_t offset;
    struct why why;
    snprintf(path, sizeof path, SAFE_OFFSETS "%d", p);
    const char *text = fake_zk_text(w->zk, path);
    return text && zk_offset_read(bytes_of_text(text), &offset, &why) == ZKC_OK ? offset : 0;
}

static int64_t committed(struct safe_world *w, int p)
{
    int64_t znode = committed_in_znode(w, p);
    return w->has_kafka && w->stored[p] > znode ? w->stored[p] : znode;
}

bool safe_gate_is_open(const struct safe_member *m, int p)
{
    const struct safe_held *h = &m->held[p];
    return m->machine && h->is_open && h->session == m->lease_session &&
           m->world->now_ms < m->lease_end_ms;
}

/* SF2 (against this server's clock), SF1, SF3: an open gate has the owner node and is alone. */
static void check_gates(struct safe_world *w)
{
    for (int p = 0; p < w->partitions; p++) {
        int open = 0;
        for (int i = 0; i < w->member_count; i++) {
            const struct safe_member *m = w->members[i];
            if (!safe_gate_is_open(m, p))
                continue;
            open++;
            if (!fake_zk_is_open(w->zk, m->held[p].session))
                broken(w, "SF2: %s hands out [t,%d] after its session", m->id, p);
            if (safe_owner(w, p) != m->held[p].session && !w->has_foreigners)
                broken(w, "SF1: %s hands out [t,%d] without the owner node", m->id, p);
        }
        if (open > 1 && !w->has_foreigners)
            broken(w, "SF3: %d hand out [t,%d]", open, p);
    }
}

/* SF6: no own owner node that the member has forgotten, when nothing is under way. */
static void check_forgotten(struct safe_world *w)
{
    for (int i = 0; i < w->member_count; i++) {
        const struct safe_member *m = w->members[i];
        if (!m->machine || !m->is_connected || m->is_stalled || m->requests || m->replies ||
            m->zombies || m->is_closing)
            continue;
        for (int p = 0; p < w->partitions; p++)
            if (m->session && safe_owner(w, p) == m->session &&
                !zk_safe_may_own(m->machine, "t", p))
                broken(w, "SF6: %s has forgotten its owner node of [t,%d]", m->id, p);
    }
}

/* SF4 and SF5, before an operation of the member is run. */
static void check_write(struct safe_member *m, const struct zk_op *op)
{
    struct zk_path_parts parts = zk_path_parse(op->path);
    struct safe_world *w = m->world;
    if (parts.partition < 0 || parts.partition >= w->partitions)
        return;
    if (op->type == ZK_OP_DELETE && parts.kind == ZK_PATH_OWNER) {
        int64_t owner = fake_zk_owner(w->zk, op->path);
        if (owner && owner != m->session)
            broken(w, "SF4: %s deletes another's owner node of [t,%d]", m->id, parts.partition);
        const struct safe_held *h = &m->held[parts.partition];
        if (safe_gate_is_open(m, parts.partition) && h->session == m->session)
            broken(w, "SF1: %s releases [t,%d], whose gate is open", m->id, parts.partition);
    }
    if (parts.kind == ZK_PATH_OFFSET && op->type == ZK_OP_SET && !w->has_foreigners) {
        int64_t offset;
        struct why why;
        if (zk_offset_read(op->data, &offset, &why) != ZKC_OK)
            broken(w, "a commit that is no number");
        else if (offset < committed_in_znode(w, parts.partition) &&
                 m->held[parts.partition].moves == 0)
            broken(w, "SF5: %s turns the offset of [t,%d] back", m->id, parts.partition);
    }
}

/* ---- outputs ---- */

static void say_op(char *text, size_t size, const struct zk_op *op)
{
    if (op->type == ZK_OP_MULTI) {
        size_t len = (size_t)snprintf(text, size, "multi");
        for (size_t i = 0; i < op->part_count && len < size; i++) {
            char part[256];
            say_op(part, sizeof part, &op->parts[i]);
            len += (size_t)snprintf(text + len, size - len, "%s%s", i ? "; " : " ", part);
        }
        return;
    }
    const char *prefix = "/consumers/g/";
    const char *path =
        strncmp(op->path, prefix, strlen(prefix)) == 0 ? op->path + strlen(prefix) : op->path;
    size_t len =
        (size_t)snprintf(text, size, "%s%s %s", zk_op_name(op->type), op->watch ? " w" : "", path);
    bool shows_data = op->data.data && strncmp(path, "ids/", 4) != 0;
    if (shows_data && len < size)
        len += (size_t)snprintf(text + len, size - len, " = %.*s", (int)op->data.len,
                                (const char *)op->data.data);
    bool has_version = op->type == ZK_OP_SET || op->type == ZK_OP_DELETE || op->type == ZK_OP_CHECK;
    if (has_version && len < size)
        snprintf(text + len, size - len, " v%d", op->version);
}

static void send_op(struct safe_member *m, const struct group_output *o)
{
    char text[65536];
    assert_true(m->is_connected || m->is_being_cut);
    struct safe_message *x = calloc(1, sizeof *x);
    x->lane = o->op.lane;
    x->seq = o->op.seq;
    x->op = copy_op(&o->op.op);
    push(&m->requests_end, x);
    say_op(text, sizeof text, &x->op);
    m->broker_lists += o->op.lane == GROUP_LANE_FINDER && strcmp(x->op.path, "/brokers/ids") == 0;
    bool is_search = o->op.lane == GROUP_LANE_FINDER || o->op.lane == GROUP_LANE_OFFSETS;
    if (!is_search && m->asked_count < (int)ARRAY_LEN(m->asked))
        m->asked[m->asked_count++] = strdup(text);
}

/* SF5 in Kafka: sent by the owner of record, in its lease. */
static void check_commit(struct safe_member *m, const struct group_output *o)
{
    struct safe_world *w = m->world;
    if (w->now_ms >= o->offsets_ask.until_ms || o->offsets_ask.until_ms > m->lease_end_ms)
        broken(w, "SF5: %s commits to Kafka without a lease", m->id);
    for (size_t i = 0; i < o->offsets_ask.count; i++) {
        const struct group_offset *at = &o->offsets_ask.list[i];
        if (safe_owner(w, at->partition) != m->session && !w->has_foreigners)
            broken(w, "SF5: %s commits [t,%d] to Kafka without the owner node", m->id,
                   at->partition);
        if (at->offset < w->stored[at->partition] && !w->has_foreigners &&
            m->held[at->partition].moves == 0)
            broken(w, "SF5: %s turns the offset of [t,%d] back in Kafka", m->id, at->partition);
    }
}

static void take_question(struct safe_member *m, const struct group_output *o)
{
    static const char *const names[] = {"find", "fetch", "commit"};
    struct safe_question *q = &m->question;
    char text[4096];
    assert_false(q->is_asked);
    size_t count = o->offsets_ask.count;
    free(q->list);
    *q = (struct safe_question){.is_asked = true,
                                .seq = o->offsets_ask.seq,
                                .request = o->offsets_ask.request,
                                .until_ms = o->offsets_ask.until_ms,
                                .list = calloc(count + 1, sizeof *q->list),
                                .count = count};
    size_t len = (size_t)snprintf(text, sizeof text, "kafka %s", names[q->request]);
    for (size_t i = 0; i < count; i++) {
        q->list[i] = o->offsets_ask.list[i];
        q->list[i].topic = "t";
        if (len < sizeof text)
            len += (size_t)snprintf(text + len, sizeof text - len, " %d", q->list[i].partition);
        if (q->request == GROUP_OFFSETS_COMMIT && len < sizeof text)
            len += (size_t)snprintf(text + len, sizeof text - len, "=%" PRId64, q->list[i].offset);
    }
    if (q->request == GROUP_OFFSETS_COMMIT)
        check_commit(m, o);
    if (m->asked_count < (int)ARRAY_LEN(m->asked))
        m->asked[m->asked_count++] = strdup(text);
}

static void fetch_start(struct safe_member *m, const struct group_claim *c)
{
    struct safe_held *h = &m->held[c->partition];
    assert_false(h->is_open);
    int64_t from = c->offset < 0 ? 0 : c->offset;
    if (!m->world->has_foreigners && from < committed(m->world, c->partition) &&
        fake_zk_is_open(m->world->zk, c->session_id))
        broken(m->world, "SF5: %s begins [t,%d] at %" PRId64 ", committed is %" PRId64, m->id,
               c->partition, from, committed(m->world, c->partition));
    *h = (struct safe_held){.is_open = true,
                            .number = c->number,
                            .session = c->session_id,
                            .next = from,
                            .finished = from,
                            .start = from,
                            .leader_port = c->leader_host ? c->leader_port : 0};
}

static void fetch_stop(struct safe_member *m, const struct group_output *o)
{
    struct safe_held *h = &m->held[o->fetch_stop.partition];
    assert_true(h->is_open && h->number == o->fetch_stop.claim);
    h->is_open = false;
    h->is_stopped = true;
}

static void take_waiting(struct safe_member *m, const struct group_output *o)
{
    snprintf(m->waiting_for, sizeof m->waiting_for, "%s",
             o->waiting.holder ? o->waiting.holder : "");
    m->waits += o->waiting.holder != NULL;
}

/* A round is told as begin, tries, of which the last is well or not, end. */
static void take_round(struct safe_member *m, const struct group_output *o)
{
    switch (o->type) {
    case GROUP_OUT_REBALANCE_BEGIN:
        assert_false(m->in_round);
        m->in_round = true;
        break;
    case GROUP_OUT_TRY_BEGIN:
        assert_true(m->in_round && !m->in_try);
        m->in_try = true;
        m->tries++;
        break;
    case GROUP_OUT_VIEW: assert_true(m->in_try); break;
    case GROUP_OUT_DECIDE:
        assert_true(m->in_try);
        m->decided = (int)o->decide.count;
        break;
    case GROUP_OUT_TRY_END:
        assert_true(m->in_try);
        m->in_try = false;
        break;
    case GROUP_OUT_REBALANCE_END:
        assert_true(m->in_round && !m->in_try);
        m->in_round = false;
        m->rounds++;
        m->rounds_failed += !o->rebalance_end.ok;
        break;
    default: break;
    }
}

static void carry_out(struct safe_member *m, const struct group_output *o)
{
    take_round(m, o);
    switch (o->type) {
    case GROUP_OUT_OP: send_op(m, o); break;
    case GROUP_OUT_LEASE:
        m->lease_session = o->lease.session_id;
        m->lease_end_ms = o->lease.end_ms;
        break;
    case GROUP_OUT_FETCH_START: fetch_start(m, &o->fetch_start); break;
    case GROUP_OUT_FETCH_STOP: fetch_stop(m, o); break;
    case GROUP_OUT_METADATA: m->metadata_seq = o->metadata.seq; break;
    case GROUP_OUT_VOID:
        m->held[o->voided.partition].is_stopped = false;
        m->voids++;
        m->voided = o->voided.reason;
        m->voided_reset = o->voided.reset;
        break;
    case GROUP_OUT_POSITIONS: m->wants_positions = true; break;
    case GROUP_OUT_OFFSETS_ASK: take_question(m, o); break;
    case GROUP_OUT_OFFSETS_HANG_UP:
        m->question.is_asked = false;
        m->hang_ups++;
        break;
    case GROUP_OUT_OPEN_SESSION: m->is_opening = true; break;
    case GROUP_OUT_CLOSE_SESSION: m->is_closing = true; break;
    case GROUP_OUT_EVICTED: m->evictions++; break;
    case GROUP_OUT_FOREIGN:
        m->foreigns++;
        m->obeyed += o->foreign.is_obeyed;
        m->doubled += o->foreign.doubled;
        snprintf(m->blamed, sizeof m->blamed, "%s", o->foreign.by ? o->foreign.by : "");
        break;
    case GROUP_OUT_DELETED:
        m->deletes++;
        snprintf(m->blamed, sizeof m->blamed, "%s", o->deleted.by ? o->deleted.by : "");
        break;
    case GROUP_OUT_RETURNED:
        m->returns++;
        snprintf(m->returned, sizeof m->returned, "%s", o->returned.consumer_id);
        m->returned_sum = 0;
        for (size_t i = 0; i < o->returned.count; i++)
            m->returned_sum += o->returned.list[i].offset;
        break;
    case GROUP_OUT_GAVE_UP:
        m->gave_ups++;
        snprintf(m->gave_up, sizeof m->gave_up, "%s", o->gave_up.consumer_id);
        m->free = o->gave_up.free;
        m->share = o->gave_up.share;
        break;
    case GROUP_OUT_WAITING: take_waiting(m, o); break;
    case GROUP_OUT_COMMITTED:
        m->commits_done++;
        m->last_commit_err = o->committed.err;
        break;
    case GROUP_OUT_COMMIT_QUEUED:
        if (o->committed.err)
            m->last_commit_err = o->committed.err;
        break;
    case GROUP_OUT_STATE:
        m->is_settled = o->state.settled;
        m->is_registered = o->state.registered;
        break;
    case GROUP_OUT_NOTICE:
        if (strcmp(o->notice.facility, "fetch") == 0)
            break; /* there are no brokers here */
        m->notices++;
        m->errors += o->notice.err != ZKC_OK;
        m->last_error = o->notice.err ? o->notice.err : m->last_error;
        snprintf(m->last_notice, sizeof m->last_notice, "%s", o->notice.text);
        break;
    default: break;
    }
}

static void step(struct safe_member *m, struct group_input *in)
{
    struct safe_world *w = m->world;
    in->now_ms = w->now_ms;
    in->wall_ms = 1424990000000 + w->now_ms;
    if (m->is_polling)
        m->polled_ms = w->now_ms;
    in->polled_ms = m->polled_ms;
    if (w->around_step)
        w->around_step(true);
    zk_safe_step(m->machine, in, &w->outputs);
    if (w->around_step)
        w->around_step(false);
    if (w->outputs.count > m->outputs_max)
        m->outputs_max = w->outputs.count;
    for (size_t i = 0; i < w->outputs.count; i++)
        carry_out(m, &w->outputs.list[i]);
}

static void feed_positions(struct safe_member *m)
{
    static struct group_position list[SAFE_PARTITIONS_MAX];
    size_t n = 0;
    for (int p = 0; p < m->world->partitions; p++)
        if (m->held[p].is_open || m->held[p].is_stopped)
            list[n++] = (struct group_position){"t", p, m->held[p].finished, m->held[p].number,
                                                m->held[p].moves};
    struct group_input in = {.type = GROUP_IN_POSITIONS, .positions = {list, n}};
    step(m, &in);
}

/* What the shell owes the machine: positions at once, then what has been drained. */
static void pay(struct safe_member *m)
{
    for (bool more = true; more && m->machine;) {
        more = m->wants_positions;
        if (m->wants_positions) {
            m->wants_positions = false;
            feed_positions(m);
        }
        for (int p = 0; p < m->world->partitions && !more; p++) {
            struct safe_held *h = &m->held[p];
            if (!h->is_stopped || h->next != h->finished)
                continue;
            h->is_stopped = false;
            more = true;
            struct group_input in = {.type = GROUP_IN_DRAINED,
                                     .drained = {"t", p, h->number, h->finished, h->moves}};
            step(m, &in);
        }
    }
}

void safe_feed(struct safe_member *m, struct group_input *in)
{
    step(m, in);
    pay(m);
    if (m->machine && m->is_closing && !m->requests && !m->replies) {
        m->is_closing = false;
        if (m->session && fake_zk_is_open(m->world->zk, m->session)) {
            fake_zk_end(m->world->zk, m->session);
        }
        free_messages(&m->zombies);
        fake_zk_client_forget(&m->client);
        m->session = 0;
        m->is_connected = m->is_opening = false;
        struct group_input closed = {.type = GROUP_IN_SESSION_CLOSED};
        step(m, &closed);
        pay(m);
    }
    if (m->machine && zk_safe_is_closed(m->machine)) {
        zk_safe_free(m->machine);
        m->machine = NULL;
    }
    check_gates(m->world);
    check_forgotten(m->world);
}

void safe_time(struct safe_member *m)
{
    struct group_input in = {.type = GROUP_IN_TIME};
    safe_feed(m, &in);
}

void safe_leave(struct safe_member *m)
{
    struct group_input in = {.type = GROUP_IN_LEAVE};
    safe_feed(m, &in);
}

/* ---- the offset manager ---- */

void safe_world_use_kafka(struct safe_world *w)
{
    w->has_kafka = true;
    for (int p = 0; p < SAFE_PARTITIONS_MAX; p++)
        w->stored[p] = -1;
    fake_zk_put(w->zk, "/brokers/ids/1",
                "{\"version\":1,\"host\":\"h\",\"port\":9,\"jmx_port\":-1,\"timestamp\":\"1\"}");
}

static void run_question(struct safe_world *w, struct safe_question *q)
{
    for (size_t i = 0; i < q->count; i++) {
        struct group_offset *at = &q->list[i];
        at->kafka_error = w->kafka_error;
        if (q->request == GROUP_OFFSETS_FETCH)
            at->offset = w->kafka_error ? -1 : w->stored[at->partition];
        else if (!w->kafka_error)
            w->stored[at->partition] = at->offset;
    }
}

static bool answer_question(struct safe_member *m, bool is_run, const char *failure)
{
    struct safe_question *q = &m->question;
    if (!m->machine || !q->is_asked)
        return false;
    bool is_late = m->world->now_ms >= q->until_ms;
    if (is_run && !is_late)
        run_question(m->world, q);
    q->is_asked = false;
    struct group_input in = {.type = GROUP_IN_OFFSETS,
                             .offsets = {.seq = q->seq,
                                         .failed = failure || is_late,
                                         .text = failure ? failure : "it is too late",
                                         .host = "h",
                                         .port = 9,
                                         .list = q->list,
                                         .count = q->count}};
    struct group_offset *list = q->list; /* the next may be asked in this step */
    q->list = NULL;
    safe_feed(m, &in);
    free(list);
    return true;
}

bool safe_serve_kafka(struct safe_member *m)
{
    return !m->world->is_kafka_silent && answer_question(m, true, NULL);
}

bool safe_lose_kafka(struct safe_member *m, bool is_run)
{
    return answer_question(m, is_run, "the connection was lost");
}

/* ---- the link ---- */

static void take_events(struct safe_world *w)
{
    int64_t session;
    struct zk_watch_event event;
    while (fake_zk_take_event(w->zk, &session, &event))
        for (int i = 0; i < w->member_count; i++) {
            struct safe_member *m = w->members[i];
            if (!m->machine || m->session != session || !m->is_connected)
                continue;
            struct safe_message *x = calloc(1, sizeof *x);
            x->is_event = true;
            x->path = strdup(event.path);
            x->event = (struct zk_watch_event){event.type, x->path};
            push(&m->replies_end, x);
        }
}

static void run_op(struct safe_member *m, struct safe_message *x)
{
    struct safe_world *w = m->world;
    struct zk_op *op = &x->op;
    /* what a refused transaction would have done was not done: it is looked at by its outcome */
    struct fake_zk *zk = w->zk;
    if (op->type == ZK_OP_MULTI) {
        bool fits = true;
        for (size_t i = 0; i < op->part_count && fits; i++) {
            const struct zk_op *part = &op->parts[i];
            bool sets_offset =
                part->type == ZK_OP_SET && zk_path_parse(part->path).kind == ZK_PATH_OFFSET;
            if (part->type == ZK_OP_CREATE) {
                fits = !fake_zk_exists(zk, part->path);
            } else if (part->type == ZK_OP_DELETE || part->type == ZK_OP_CHECK || sets_offset) {
                struct zk_op exists = {.type = ZK_OP_EXISTS, .path = part->path};
                const struct zk_result *r = fake_zk_run(zk, 0, &exists);
                fits = r->zk_rc == ZK_OK && (part->version < 0 || part->version == r->stat.version);
            }
        }
        for (size_t i = 0; i < op->part_count && fits; i++)
            check_write(m, &op->parts[i]);
    } else if (op->type == ZK_OP_DELETE || op->type == ZK_OP_SET) {
        struct zk_op exists = {.type = ZK_OP_EXISTS, .path = op->path};
        const struct zk_result *r = fake_zk_run(zk, 0, &exists);
        if (r->zk_rc == ZK_OK && (op->version < 0 || op->version == r->stat.version))
            check_write(m, op);
    }
    set_result(x, fake_zk_run(zk, m->session, op));
    w->touched_ms[m->session] = w->now_ms;
}

bool safe_serve(struct safe_member *m)
{
    if (!m->machine || m->is_stalled || !m->session || !fake_zk_is_open(m->world->zk, m->session))
        return false;
    struct safe_message *x = pop(&m->requests, &m->requests_end);
    if (!x)
        return false;
    run_op(m, x);
    /* events of this very operation come before its answer, as from a real server */
    take_events(m->world);
    push(&m->replies_end, x);
    check_gates(m->world);
    return true;
}

bool safe_serve_zombie(struct safe_member *m)
{
    struct safe_message *x = m->zombies;
    if (!x)
        return false;
    m->zombies = x->next;
    if (m->session && fake_zk_is_open(m->world->zk, m->session)) {
        int64_t touched = m->world->touched_ms[m->session];
        x->op.watch = false; /* nobody is there to be told */
        run_op(m, x);
        m->world->touched_ms[m->session] = touched; /* a write that passes through */
        take_events(m->world);
    }
    free_message(x);
    check_gates(m->world);
    if (m->is_connected && m->machine) /* the leader takes its session to be where this came from */
        safe_cut(m);
    return true;
}

bool safe_read(struct safe_member *m)
{
    if (!m->machine || m->is_stalled || !m->is_connected)
        return false;
    struct safe_message *x = pop(&m->replies, &m->replies_end);
    if (!x)
        return false;
    struct group_input in = {.type = GROUP_IN_WATCH, .watch = x->event};
    if (x->is_event) {
        fake_zk_client_fired(&m->client, &x->event);
    } else {
        fake_zk_client_answered(&m->client, &x->op, &x->result);
        in = (struct group_input){.type = GROUP_IN_RESULT, .result = {x->lane, x->seq, &x->result}};
    }
    safe_feed(m, &in);
    free_message(x);
    return true;
}

static void feed_lost(struct safe_member *m, enum group_lane lane, uint32_t seq)
{
    static const struct zk_result lost = {.zk_rc = ZK_CONNECTION_LOSS};
    struct group_input in = {.type = GROUP_IN_RESULT, .result = {lane, seq, &lost}};
    if (!m->machine)
        return; /* closed meanwhile */
    step(m, &in);
    pay(m);
}

void safe_cut(struct safe_member *m)
{
    if (!m->machine || !m->is_connected)
        return;
    m->is_connected = m->is_stalled = false;
    m->is_being_cut = true; /* the member may have been told only by an answer that is lost */
    if (m->session && fake_zk_is_open(m->world->zk, m->session))
        fake_zk_disconnect(m->world->zk, m->session);
    struct safe_message *lost = m->replies, *under_way = m->requests;
    m->replies = m->requests = NULL;
    m->replies_end = &m->replies;
    m->requests_end = &m->requests;
    bool first = rng_below(&m->world->rng, 2);
    struct group_input in = {.type = GROUP_IN_DISCONNECTED};
    if (first)
        safe_feed(m, &in);
    while (lost) {
        struct safe_message *x = lost;
        lost = x->next;
        if (!x->is_event)
            feed_lost(m, x->lane, x->seq);
        free_message(x);
    }
    struct safe_message **end = &m->zombies;
    while (*end)
        end = &(*end)->next;
    while (under_way) {
        struct safe_message *x = under_way;
        under_way = x->next;
        feed_lost(m, x->lane, x->seq);
        x->next = NULL;
        if (rng_below(&m->world->rng, 2)) {
            *end = x;
            end = &x->next;
        } else {
            free_messages(&x);
            while (under_way) { /* and nothing after it got through */
                struct safe_message *y = under_way;
                under_way = y->next;
                feed_lost(m, y->lane, y->seq);
                free_message(y);
            }
        }
    }
    if (!first && m->machine)
        safe_feed(m, &in);
    m->is_being_cut = false;
    for (struct safe_message *x; (x = pop(&m->requests, &m->requests_end)); free_message(x))
        feed_lost(m, x->lane, x->seq);
}

void safe_stall(struct safe_member *m)
{
    if (m->machine && m->is_connected)
        m->is_stalled = true;
}

bool safe_swallow(struct safe_member *m, enum group_lane lane)
{
    struct safe_message **at = &m->requests;
    while (*at && (*at)->lane != lane)
        at = &(*at)->next;
    struct safe_message *x = *at;
    if (!x)
        return false;
    *at = x->next;
    if (m->requests_end == &x->next)
        m->requests_end = at;
    free_message(x);
    return true;
}

void safe_expire(struct safe_member *m)
{
    if (m->session && fake_zk_is_open(m->world->zk, m->session))
        fake_zk_end(m->world->zk, m->session);
    take_events(m->world);
}

static void open_new(struct safe_member *m)
{
    m->session = fake_zk_open(m->world->zk);
    assert_true(m->session < (int64_t)ARRAY_LEN(m->world->touched_ms));
    m->world->touched_ms[m->session] = m->world->now_ms;
    m->is_opening = false;
    m->is_connected = true;
    struct group_input in = {.type = GROUP_IN_CONNECTED,
                             .connected = {m->session, SAFE_SESSION_MS, true, m->world->now_ms}};
    safe_feed(m, &in);
}

void safe_connect(struct safe_member *m)
{
    if (!m->machine || m->is_connected)
        return;
    if (!m->session) {
        if (m->is_opening)
            open_new(m);
        return;
    }
    if (!m->world->keeps_zombies || !fake_zk_is_open(m->world->zk, m->session))
        free_messages(&m->zombies); /* once we are attached again, they are refused */
    if (!fake_zk_is_open(m->world->zk, m->session)) {
        fake_zk_client_forget(&m->client);
        m->session = 0;
        m->is_opening = true;
        struct group_input in = {.type = GROUP_IN_EXPIRED};
        safe_feed(m, &in);
        for (int p = 0; p < m->world->partitions; p++)
            m->held[p].is_stopped = false;
        if (m->machine && m->is_opening)
            open_new(m);
        return;
    }
    m->is_connected = true;
    m->world->touched_ms[m->session] = m->world->now_ms;
    fake_zk_client_return(&m->client, m->world->zk, m->session);
    struct group_input in = {.type = GROUP_IN_CONNECTED,
                             .connected = {m->session, SAFE_SESSION_MS, false, m->world->now_ms}};
    safe_feed(m, &in);
    take_events(m->world);
}

void safe_crash(struct safe_member *m)
{
    if (!m->machine)
        return;
    if (m->session && fake_zk_is_open(m->world->zk, m->session))
        fake_zk_disconnect(m->world->zk, m->session);
    zk_safe_free(m->machine);
    m->machine = NULL;
    memset(m->held, 0, sizeof m->held);
    m->question.is_asked = false;
}

/* ---- the application ---- */

bool safe_take(struct safe_member *m, int p)
{
    struct safe_held *h = &m->held[p];
    if (!safe_gate_is_open(m, p) || h->next >= m->world->log_end[p])
        return false;
    check_gates(m->world);
    if (!m->world->has_foreigners && h->next < committed(m->world, p))
        broken(m->world, "SF5: %s hands out %" PRId64 " of [t,%d], which is committed", m->id,
               h->next, p);
    h->next++;
    return true;
}

void safe_finish(struct safe_member *m, int p)
{
    m->held[p].finished = m->held[p].next;
    if (m->machine)
        pay(m);
}

void safe_seek(struct safe_member *m, int p, int64_t offset)
{
    m->held[p].next = m->held[p].finished = offset;
    m->held[p].moves++;
}

void safe_commit_one(struct safe_member *m, int p, int64_t offset)
{
    struct group_position at = {"t", p, offset, 0, 0};
    struct group_input in = {.type = GROUP_IN_COMMIT, .commit = {&at, 1, false}};
    safe_feed(m, &in);
}

void safe_poll(struct safe_member *m)
{
    if (!m->machine || !m->is_polling || strcmp(zk_safe_state_name(m->machine), "evicted") != 0)
        return;
    struct group_input in = {.type = GROUP_IN_POLLED};
    safe_feed(m, &in);
}

void safe_world_remove(struct safe_world *w, const char *path)
{
    fake_zk_remove(w->zk, path);
    take_events(w);
}

void safe_world_put(struct safe_world *w, const char *path, const char *text)
{
    fake_zk_put(w->zk, path, text);
    take_events(w);
}

/* ---- many steps ---- */

void safe_world_end_sessions(struct safe_world *w)
{
    for (int64_t s = 1; s < (int64_t)ARRAY_LEN(w->touched_ms); s++) {
        if (!fake_zk_is_open(w->zk, s))
            continue;
        for (int i = 0; i < w->member_count; i++) {
            const struct safe_member *m = w->members[i];
            if (m->machine && m->session == s && m->is_connected && !m->is_stalled)
                w->touched_ms[s] = w->now_ms; /* it pings */
        }
        if (w->now_ms - w->touched_ms[s] >= SAFE_SESSION_MS) {
            fake_zk_end(w->zk, s);
            take_events(w);
        }
    }
}

void safe_world_calm(struct safe_world *w)
{
    int steps = 0;
    for (bool more = true; more;) {
        more = false;
        assert_true(++steps < 100000);
        for (int i = 0; i < w->member_count; i++) {
            struct safe_member *m = w->members[i];
            while (safe_serve(m) || safe_read(m) || safe_serve_kafka(m)) {
                more = true;
                assert_true(++steps < 100000);
            }
            if (m->machine && zk_safe_deadline_ms(m->machine) <= w->now_ms) {
                safe_time(m);
                more = true;
            }
        }
    }
}

void safe_world_run_ms(struct safe_world *w, int64_t ms)
{
    int64_t end = w->now_ms + ms;
    for (;;) {
        for (int i = 0; i < w->member_count; i++) {
            struct safe_member *m = w->members[i];
            if (m->is_stalled)
                safe_cut(m);
            while (safe_serve_zombie(m))
                ;
            safe_connect(m);
            safe_poll(m);
            for (int p = 0; m->machine && m->is_polling && p < w->partitions; p++) {
                while (safe_take(m, p))
                    ;
                safe_finish(m, p);
            }
        }
        safe_world_calm(w);
        if (w->now_ms >= end)
            return;
        w->now_ms += 50;
        safe_world_end_sessions(w);
    }
}

const char *safe_world_unsettled(struct safe_world *w)
{
    static char text[128];
    for (int p = 0; p < w->partitions; p++) {
        int owners = 0;
        for (int i = 0; i < w->member_count; i++)
            owners +=
                safe_gate_is_open(w->members[i], p) && safe_owner(w, p) == w->members[i]->session;
        if (owners != 1) {
            snprintf(text, sizeof text, "[t,%d] is delivered by %d members", p, owners);
            return text;
        }
        if (committed(w, p) != w->log_end[p]) {
            snprintf(text, sizeof text, "[t,%d] is committed up to %" PRId64 " of %" PRId64, p,
                     committed(w, p), w->log_end[p]);
            return text;
        }
    }
    for (int i = 0; i < w->member_count; i++)
        if (w->members[i]->machine &&
            strcmp(zk_safe_state_name(w->members[i]->machine), "owning") != 0 &&
            strcmp(zk_safe_state_name(w->members[i]->machine), "idle") != 0) {
            snprintf(text, sizeof text, "%s is %s", w->members[i]->id,
                     zk_safe_state_name(w->members[i]->machine));
            return text;
        }
    return NULL;
}

/* ---- what was asked ---- */

void safe_forget_asked(struct safe_member *m)
{
    for (int i = 0; i < m->asked_count; i++)
        free(m->asked[i]);
    m->asked_count = 0;
}

int safe_asked_like(const struct safe_member *m, const char *part)
{
    int n = 0;
    for (int i = 0; i < m->asked_count; i++)
        n += strstr(m->asked[i], part) != NULL;
    return n;
}

void safe_expect(struct safe_member *m, const char *const *want)
{
    int i = 0;
    for (; want[i]; i++)
        if (i >= m->asked_count || strcmp(m->asked[i], want[i]) != 0)
            fail_msg("operation %d: want \"%s\", was \"%s\"", i, want[i],
                     i < m->asked_count ? m->asked[i] : "nothing");
    if (i < m->asked_count)
        fail_msg("one more operation: \"%s\"", m->asked[i]);
    safe_forget_asked(m);
}
