#include "tests/unit/group/replay.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/group/zk_compat.h"
#include <ctype.h>
#include <jansson.h>

#define LINES_MAX     1000
#define POSITIONS_MAX 64
#define DUE_MAX       8

enum kind { KIND_OTHER, KIND_OFFSET_READ, KIND_CLAIM, KIND_RELEASE, KIND_OFFSET_WRITE, KIND_TOPIC };

struct line {
    json_t *json;
    int number;
    int64_t ms;
    const char *op, *path, *app, *event, *delivered;
    bool is_done, is_skipped;
};

struct pending {
    bool is_open;
    struct zk_op op;
    uint32_t seq;
};

struct due {
    enum group_input_type type; /* STOPPED, POSITIONS, METADATA or OFFSETS */
    uint32_t seq;               /* of METADATA and OFFSETS */
    enum group_offsets_request request;
    int32_t broker_id;
};

struct replay {
    const struct replay_scene *scene;
    struct line lines[LINES_MAX];
    size_t count;
    size_t at;
    struct zk_compat *machine;
    struct group_outputs out;
    struct pending pending[GROUP_LANE_COUNT];
    struct due due[DUE_MAX]; /* inputs that answer outputs, fed once these are carried out */
    size_t due_count;
    struct group_position positions[POSITIONS_MAX];
    size_t position_count;
    struct group_offset asked[POSITIONS_MAX]; /* of the request for offsets that is due */
    size_t asked_count;
    struct group_position kafka[POSITIONS_MAX]; /* what Kafka has stored */
    size_t kafka_count;
    int64_t now_ms;
    int compared;
    bool close_wanted, gave_up;
    char *topics[POSITIONS_MAX]; /* names behind `positions` */
};

static const char *text_of(const json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

static void complain(struct replay *r, const struct line *l, const char *what)
{
    char open[1500] = "";
    for (int i = 0; i < GROUP_LANE_COUNT; i++)
        if (r->pending[i].is_open)
            snprintf(open + strlen(open), sizeof open - strlen(open), "\n  lane %d asks: %s%s %s",
                     i, zk_op_name(r->pending[i].op.type), r->pending[i].op.watch ? " (watch)" : "",
                     r->pending[i].op.path);
    char *json = l ? json_dumps(l->json, JSON_COMPACT) : NULL;
    fail_msg("%s, member %s, line %d: %s\n  recorded: %s\n  state: %s%s", r->scene->scene,
             r->scene->member, l ? l->number : -1, what, json ? json : "-",
             zk_compat_state_name(r->machine), open);
}

/* ---- reading the scene ---- */

static bool is_new_connect(const struct line *l)
{
    return l->op && strcmp(l->op, "connect") == 0 && strcmp(text_of(l->json, "session"), "0") == 0;
}

static void load(struct replay *r)
{
    char path[512];
    snprintf(path, sizeof path, "%s/zookeeper/%s.jsonl", TEST_VECTORS, r->scene->scene);
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("cannot read %s", path);
    char text[20000];
    int number = 0, life = -1;
    bool after_expiry = false;
    while (fgets(text, sizeof text, f)) {
        number++;
        json_t *json = json_loads(text, 0, NULL);
        assert_non_null(json);
        const char *m = text_of(json, "m");
        struct line l = {.json = json,
                         .number = number,
                         .ms = json_integer_value(json_object_get(json, "ms")),
                         .op = text_of(json, "op"),
                         .path = text_of(json, "path"),
                         .app = text_of(json, "app"),
                         .event = text_of(json, "event"),
                         .delivered = text_of(json, "delivered")};
        bool ours = m && strcmp(m, r->scene->member) == 0;
        if (ours && is_new_connect(&l)) {
            life += !after_expiry;
            after_expiry = false;
        }
        if (ours && l.op && strcmp(l.op, "connect") == 0 && text_of(json, "got") &&
            strcmp(text_of(json, "got"), "expired") == 0)
            after_expiry = true;
        size_t chroot = r->scene->chroot ? strlen(r->scene->chroot) : 0;
        if (l.path && chroot && strncmp(l.path, r->scene->chroot, chroot) == 0)
            l.path += chroot;
        if (!ours || life != r->scene->life || (r->scene->until_ms && l.ms > r->scene->until_ms)) {
            json_decref(json);
            continue;
        }
        assert_true(r->count < LINES_MAX);
        r->lines[r->count++] = l;
    }
    fclose(f);
    assert_true(r->count > 0);
}

/* The member's own settings stand in its registration. */
static void make_machine(struct replay *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct line *l = &r->lines[i];
        if (!l->op || strcmp(l->op, "create") != 0 || !strstr(l->path, "/ids/"))
            continue;
        json_t *registration = json_loads(text_of(l->json, "data"), 0, NULL);
        json_t *subscription = json_object_get(registration, "subscription");
        struct zk_subscription subscriptions[8];
        size_t n = 0;
        const char *topic;
        json_t *streams;
        json_object_foreach(subscription, topic, streams)
        {
            subscriptions[n++] = (struct zk_subscription){
                .topic = (char *)(uintptr_t)topic, .streams = (int32_t)json_integer_value(streams)};
        }
        char group[64];
        snprintf(group, sizeof group, "%s", l->path + strlen("/consumers/"));
        *strchr(group, '/') = 0;
        const char *pattern = json_string_value(json_object_get(registration, "pattern"));
        const struct replay_scene *s = r->scene;
        struct zk_compat_config config = {
            .group = group,
            .offsets_in = s->store,
            .offsets_channel_backoff_ms = 1000,
            .offsets_channel_timeout_ms = 10000,
            .offsets_commit_retries = 5,
            .consumer_id = strrchr(l->path, '/') + 1,
            .subscriptions = subscriptions,
            .subscription_count = n,
            .pattern = strcmp(pattern, "white_list") == 0   ? ZK_PATTERN_WHITE_LIST
                       : strcmp(pattern, "black_list") == 0 ? ZK_PATTERN_BLACK_LIST
                                                            : ZK_PATTERN_STATIC,
            .variant = ZK_VARIANT_0_8,
            .strategy = s->roundrobin ? ASSIGN_ROUNDROBIN : ASSIGN_RANGE,
            .exclude_internal_topics = true,
            .auto_commit = !s->auto_commit_off,
            .auto_commit_interval_ms = s->commit_interval_ms ? s->commit_interval_ms : 60000,
            .session_timeout_ms = 6000,
            .rebalance_backoff_ms = 2000,
            .rebalance_attempts_max = 4,
            .refresh_leader_backoff_ms = 200,
            .seed = 1,
        };
        r->now_ms = r->lines[0].ms;
        assert_int_equal(zk_compat_new(&config, r->now_ms, &r->machine), ZKC_OK);
        json_decref(registration);
        return;
    }
    fail_msg("%s: no registration of %s", r->scene->scene, r->scene->member);
}

/* ---- the shell's part ---- */

static struct group_position *position_of(struct replay *r, const char *topic, int32_t partition)
{
    for (size_t i = 0; i < r->position_count; i++)
        if (strcmp(r->positions[i].topic, topic) == 0 && r->positions[i].partition == partition)
            return &r->positions[i];
    return NULL;
}

static void drop_positions(struct replay *r)
{
    for (size_t i = 0; i < r->position_count; i++)
        free(r->topics[i]);
    r->position_count = 0;
}

static void carry_out_assign(struct replay *r, const struct group_output *o)
{
    drop_positions(r);
    for (size_t i = 0; i < o->assign.count; i++) {
        const struct group_claim *c = &o->assign.claims[i];
        assert_true(r->position_count < POSITIONS_MAX);
        r->topics[r->position_count] = strdup(c->topic);
        r->positions[r->position_count] =
            (struct group_position){r->topics[r->position_count], c->partition, c->offset, 0, 0};
        r->position_count++;
    }
}

static bool has_leaders(const struct replay *r)
{
    return r->now_ms < r->scene->no_leaders_from_ms || r->now_ms >= r->scene->no_leaders_to_ms;
}

static void be_due(struct replay *r, struct due due)
{
    assert_true(r->due_count < DUE_MAX);
    r->due[r->due_count++] = due;
}

/* Leaders are known: a fetcher asks where partitions without an offset begin. */
static void carry_out_leaders(struct replay *r, const struct group_output *o)
{
    for (size_t i = 0; i < o->leaders.count; i++) {
        struct group_position *p =
            position_of(r, o->leaders.list[i].topic, o->leaders.list[i].partition);
        if (p && p->offset < 0 && !r->scene->reset_largest)
            p->offset = 0;
        else if (p && p->offset < 0 && r->scene->log_end)
            p->offset = r->scene->log_end;
    }
}

/* The Java member's streams deliver until its fetchers are down, which takes a moment there: what
 * it delivered before its next write counts. */
static void run_delivered(struct replay *r, const struct line *l);

static void deliver_the_rest(struct replay *r)
{
    for (size_t i = r->at; i < r->count; i++) {
        const struct line *l = &r->lines[i];
        if (l->op && (strcmp(l->op, "setData") == 0 || strcmp(l->op, "delete") == 0))
            return;
        if (l->delivered)
            run_delivered(r, l);
    }
}

static void carry_out(struct replay *r, const struct group_output *o)
{
    switch (o->type) {
    case GROUP_OUT_OP:
        assert_false(r->pending[o->op.lane].is_open && r->pending[o->op.lane].seq == o->op.seq);
        r->pending[o->op.lane] = (struct pending){true, o->op.op, o->op.seq};
        break;
    case GROUP_OUT_STOP:
        r->pending[GROUP_LANE_FINDER].is_open = false;
        if (o->stop != GROUP_STOP_LEAVE)
            deliver_the_rest(r);
        be_due(r, (struct due){.type = GROUP_IN_STOPPED});
        break;
    case GROUP_OUT_POSITIONS: be_due(r, (struct due){.type = GROUP_IN_POSITIONS}); break;
    case GROUP_OUT_ASSIGN: carry_out_assign(r, o); break;
    case GROUP_OUT_METADATA:
        be_due(r, (struct due){.type = GROUP_IN_METADATA,
                               .seq = o->metadata.seq,
                               .broker_id = o->metadata.broker_id});
        break;
    case GROUP_OUT_OFFSETS_ASK:
        r->asked_count = o->offsets_ask.count;
        for (size_t i = 0; i < r->asked_count; i++)
            r->asked[i] = o->offsets_ask.list[i];
        be_due(r, (struct due){.type = GROUP_IN_OFFSETS,
                               .seq = o->offsets_ask.seq,
                               .request = o->offsets_ask.request});
        break;
    case GROUP_OUT_LEADERS: carry_out_leaders(r, o); break;
    case GROUP_OUT_CLOSE_SESSION: r->close_wanted = true; break;
    case GROUP_OUT_REBALANCE_END: r->gave_up |= o->rebalance_end.gave_up; break;
    default: break;
    }
}

static void feed_alone(struct replay *r, struct group_input *in)
{
    in->now_ms = r->now_ms;
    in->wall_ms = 1424990000000 + r->now_ms;
    zk_compat_step(r->machine, in, &r->out);
    for (size_t i = 0; i < r->out.count; i++)
        carry_out(r, &r->out.list[i]);
}

/* All partitions held are led by the broker asked. */
static void feed_leaders(struct replay *r, const struct due *due)
{
    struct group_leader leaders[POSITIONS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < r->position_count && has_leaders(r); i++)
        leaders[n++] = (struct group_leader){r->positions[i].topic, r->positions[i].partition,
                                             due->broker_id, "127.0.0.1", 1};
    struct group_input in = {.type = GROUP_IN_METADATA,
                             .metadata = {.seq = due->seq, .list = leaders, .count = n}};
    feed_alone(r, &in);
}

/* Kafka, as far as offsets go: one broker, which is the offset manager. */
static struct group_position *kafka_of(struct replay *r, const struct group_offset *o)
{
    for (size_t i = 0; i < r->kafka_count; i++)
        if (r->kafka[i].partition == o->partition && strcmp(r->kafka[i].topic, o->topic) == 0)
            return &r->kafka[i];
    assert_true(r->kafka_count < POSITIONS_MAX);
    struct group_position *p = &r->kafka[r->kafka_count++];
    *p = (struct group_position){.topic = o->topic,
                                 .partition = o->partition,
                                 .offset = r->scene->kafka_offset ? r->scene->kafka_offset : -1};
    return p;
}

static void feed_offsets(struct replay *r, const struct due *due)
{
    struct group_offset list[POSITIONS_MAX];
    for (size_t i = 0; i < r->asked_count; i++) {
        struct group_position *p = kafka_of(r, &r->asked[i]);
        if (due->request == GROUP_OFFSETS_COMMIT)
            p->offset = r->asked[i].offset;
        list[i] = r->asked[i];
        list[i].offset = p->offset;
    }
    struct group_input in = {.type = GROUP_IN_OFFSETS,
                             .offsets = {.seq = due->seq,
                                         .host = "127.0.0.1",
                                         .port = 22200,
                                         .list = list,
                                         .count = r->asked_count}};
    if (due->request == GROUP_OFFSETS_FIND && r->now_ms < r->scene->no_manager_to_ms)
        in.offsets.kafka_error = 15;
    feed_alone(r, &in);
}

static void feed_due(struct replay *r)
{
    struct due due = r->due[0];
    memmove(&r->due[0], &r->due[1], --r->due_count * sizeof due);
    if (due.type == GROUP_IN_OFFSETS) {
        feed_offsets(r, &due);
        return;
    }
    if (due.type == GROUP_IN_METADATA) {
        feed_leaders(r, &due);
        return;
    }
    struct group_input in = {.type = due.type, .positions = {r->positions, r->position_count}};
    feed_alone(r, &in);
}

static void feed(struct replay *r, struct group_input *in)
{
    feed_alone(r, in);
    while (r->due_count > 0)
        feed_due(r);
}

static void feed_type(struct replay *r, enum group_input_type type)
{
    struct group_input in = {.type = type};
    feed(r, &in);
}

static void advance(struct replay *r, int64_t ms)
{
    int64_t at;
    while ((at = zk_compat_deadline_ms(r->machine)) <= ms) {
        if (at > r->now_ms)
            r->now_ms = at;
        feed_type(r, GROUP_IN_TIME);
    }
    if (ms > r->now_ms)
        r->now_ms = ms;
}

/* ---- comparing ---- */

static bool same_but_timestamp(struct bytes a, const char *b)
{
    if (!a.data || !b)
        return !a.data && !b;
    const char *mark = "\"timestamp\":\"";
    const char *stamp = strstr(b, mark);
    size_t head = stamp ? (size_t)(stamp - b) + strlen(mark) : strlen(b);
    if (!stamp)
        return a.len == head && memcmp(a.data, b, head) == 0;
    if (a.len < head || memcmp(a.data, b, head) != 0)
        return false;
    size_t i = head;
    while (i < a.len && isdigit(a.data[i]))
        i++;
    return i > head && a.len - i == 2 && memcmp(a.data + i, "\"}", 2) == 0;
}

static bool is_flagged(const struct line *l, const char *key)
{
    return json_object_get(l->json, key) != NULL;
}

static bool is_same(const struct zk_op *op, const struct line *l)
{
    if (!l->op || strcmp(zk_op_name(op->type), l->op) != 0 || strcmp(op->path, l->path) != 0)
        return false;
    if (op->watch != is_flagged(l, "w") || op->ephemeral != is_flagged(l, "flags"))
        return false;
    if ((op->type == ZK_OP_DELETE || op->type == ZK_OP_SET) && op->version != ZK_ANY_VERSION)
        return false;
    if (op->type != ZK_OP_CREATE && op->type != ZK_OP_SET)
        return true;
    return same_but_timestamp(op->data, text_of(l->json, "data"));
}

/* What a machine asks for, as opposed to what its session does. */
static bool is_operation(const struct line *l)
{
    return l->op && l->path;
}

static enum kind kind_of(const char *op, const char *path)
{
    if (strstr(path, "/offsets"))
        return strcmp(op, "getData") == 0 ? KIND_OFFSET_READ : KIND_OFFSET_WRITE;
    if (strstr(path, "/owners"))
        return strcmp(op, "delete") == 0 ? KIND_RELEASE : KIND_CLAIM;
    if (strstr(path, "/brokers/topics/"))
        return KIND_TOPIC;
    return KIND_OTHER;
}

static bool is_error(const struct line *l, const char *name)
{
    const char *err = text_of(l->json, "err");
    return err && strcmp(err, name) == 0;
}

static bool in_same_folder(const char *a, const char *b)
{
    size_t na = (size_t)(strrchr(a, '/') - a), nb = (size_t)(strrchr(b, '/') - b);
    return na == nb && memcmp(a, b, na) == 0;
}

/* Whichever claim comes first in a folder meets the missing parents. */
static bool is_first_claim(const struct zk_op *op, const struct line *l)
{
    return op->type == ZK_OP_CREATE && op->ephemeral && l->op && strcmp(l->op, "create") == 0 &&
           is_flagged(l, "flags") && is_error(l, "NoNode") && in_same_folder(op->path, l->path);
}

/* A release stands for the next of its topic: topics follow a hash table, partitions ascend. */
static struct line *find_release(struct replay *r, size_t from, const struct zk_op *op)
{
    for (size_t i = from; i < r->count; i++) {
        struct line *l = &r->lines[i];
        if (!l->op || l->is_done)
            continue;
        if (!l->path || strcmp(l->op, "delete") != 0)
            break;
        if (in_same_folder(op->path, l->path))
            return is_same(op, l) ? l : NULL;
    }
    return NULL;
}

/* The recorded line, from `from` on and in its block, that this operation stands for. */
static struct line *find_in_block(struct replay *r, size_t from, const struct zk_op *op)
{
    enum kind kind = kind_of(r->lines[from].op, r->lines[from].path);
    if (kind == KIND_RELEASE)
        return find_release(r, from, op);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = from; i < r->count; i++) {
            struct line *l = &r->lines[i];
            if (!l->op || l->is_done)
                continue;
            if (!l->path)
                break;
            enum kind other = kind_of(l->op, l->path);
            if (other != kind && (other == KIND_CLAIM || other == KIND_OFFSET_READ ||
                                  strstr(l->path, "/ids/") || strcmp(l->op, "delete") == 0))
                break;
            if (other == kind && (pass == 0 ? is_first_claim(op, l) : is_same(op, l)))
                return l;
        }
    return NULL;
}

static int rc_of(const struct line *l)
{
    static const int codes[] = {ZK_NO_NODE, ZK_NODE_EXISTS, ZK_BAD_VERSION, ZK_NOT_EMPTY};
    const char *err = text_of(l->json, "err");
    if (!err)
        return ZK_OK;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (strcmp(zk_rc_name(codes[i]), err) == 0)
            return codes[i];
    fail_msg("unknown error %s", err);
    return 0;
}

static void answer(struct replay *r, int lane, struct line *l)
{
    const char *children[64];
    struct zk_result result = {.zk_rc = rc_of(l)};
    json_t *got = json_object_get(l->json, "got");
    if (json_is_string(got))
        result.data = bytes_of(json_string_value(got), json_string_length(got));
    for (size_t i = 0; i < json_array_size(got); i++)
        children[i] = json_string_value(json_array_get(got, i));
    result.children = children;
    result.children_count = json_array_size(got);
    uint32_t seq = r->pending[lane].seq;
    r->pending[lane].is_open = false;
    l->is_done = true;
    r->compared++;
    struct group_input in = {
        .type = GROUP_IN_RESULT,
        .result = {.lane = (enum group_lane)lane, .seq = seq, .result = &result}};
    feed(r, &in);
}

static int find_pending(struct replay *r, const struct line *l)
{
    for (int i = 0; i < GROUP_LANE_COUNT; i++)
        if (r->pending[i].is_open && is_same(&r->pending[i].op, l))
            return i;
    return -1;
}

/* What made the Java member do this may stand nowhere in the recording: an explicit commit, a
 * fetcher that lost its leader, a timer that was a moment early. */
static bool provoke(struct replay *r, const struct line *l)
{
    int64_t at = zk_compat_deadline_ms(r->machine);
    if (at <= l->ms + 60) {
        advance(r, at);
        return true;
    }
    if (kind_of(l->op, l->path) == KIND_OFFSET_WRITE && !r->pending[GROUP_LANE_COMMIT].is_open) {
        struct group_input in = {
            .type = GROUP_IN_COMMIT,
            .commit = {.list = r->positions, .count = r->position_count, .all_owned = true}};
        feed(r, &in);
        return true;
    }
    if (!has_leaders(r) && strcmp(l->path, "/brokers/ids") == 0 && r->position_count) {
        for (size_t i = 0; i < r->position_count; i++) {
            struct group_input in = {
                .type = GROUP_IN_LEADER_LOST,
                .leader_lost = {r->positions[i].topic, r->positions[i].partition}};
            feed(r, &in);
        }
        return true;
    }
    return false;
}

static void run_block(struct replay *r, struct line *l)
{
    enum kind kind = kind_of(l->op, l->path);
    bool provoked = false;
    while (!l->is_done) {
        int lane = -1;
        struct line *stands_for = NULL;
        for (int i = 0; i < GROUP_LANE_COUNT && !stands_for; i++) {
            const struct pending *p = &r->pending[i];
            if (!p->is_open || kind_of(zk_op_name(p->op.type), p->op.path) != kind)
                continue;
            lane = i;
            stands_for = find_in_block(r, r->at, &p->op);
        }
        if (stands_for) {
            answer(r, lane, stands_for);
        } else if (r->scene->fails_reading_offsets && kind == KIND_OFFSET_READ) {
            l->is_done = l->is_skipped = true; /* Java's hash order met the bad one later */
        } else if (provoked || !provoke(r, l)) {
            complain(r, l, "the machine does not ask for this");
        } else {
            provoked = true;
        }
    }
}

static void run_op(struct replay *r, struct line *l)
{
    if (l->is_done)
        return;
    if (kind_of(l->op, l->path) != KIND_OTHER) {
        run_block(r, l);
        return;
    }
    int lane = find_pending(r, l);
    for (int tries = 0; lane < 0 && tries < 3 && provoke(r, l); tries++)
        lane = find_pending(r, l);
    if (lane < 0)
        complain(r, l, "the machine does not ask for this");
    answer(r, lane, l);
}

static void lose_connection(struct replay *r)
{
    static const struct zk_result loss = {.zk_rc = ZK_CONNECTION_LOSS};
    feed_type(r, GROUP_IN_DISCONNECTED);
    for (int i = 0; i < GROUP_LANE_COUNT; i++) {
        if (!r->pending[i].is_open)
            continue;
        r->pending[i].is_open = false;
        struct group_input in = {
            .type = GROUP_IN_RESULT,
            .result = {.lane = (enum group_lane)i, .seq = r->pending[i].seq, .result = &loss}};
        feed(r, &in);
    }
}

static void run_connect(struct replay *r, const struct line *l)
{
    if (strcmp(text_of(l->json, "got"), "expired") == 0) {
        feed_type(r, GROUP_IN_EXPIRED);
        return;
    }
    struct group_input in = {.type = GROUP_IN_CONNECTED,
                             .connected = {.timeout_ms = 6000, .is_new = is_new_connect(l)}};
    feed(r, &in);
}

static void run_event(struct replay *r, const struct line *l)
{
    static const enum zk_event_type types[] = {ZK_EVENT_CREATED, ZK_EVENT_DELETED,
                                               ZK_EVENT_DATA_CHANGED, ZK_EVENT_CHILDREN_CHANGED};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (strcmp(zk_event_name(types[i]), l->event) != 0)
            continue;
        struct group_input in = {.type = GROUP_IN_WATCH, .watch = {types[i], l->path}};
        feed(r, &in);
        return;
    }
    fail_msg("unknown event %s", l->event);
}

static void run_delivered(struct replay *r, const struct line *l)
{
    char topic[64];
    const char *slash = strchr(l->delivered, '/');
    snprintf(topic, sizeof topic, "%.*s", (int)(slash - l->delivered), l->delivered);
    struct group_position *p = position_of(r, topic, atoi(slash + 1));
    if (p)
        p->offset = json_integer_value(json_object_get(l->json, "to")) + 1;
}

static void run_line(struct replay *r, struct line *l)
{
    advance(r, l->ms);
    if (l->delivered)
        run_delivered(r, l);
    else if (l->event)
        run_event(r, l);
    else if (l->app && strcmp(l->app, "shutdown called") == 0)
        feed_type(r, GROUP_IN_LEAVE);
    else if (!l->op || strcmp(l->op, "setWatches") == 0)
        return;
    else if (strcmp(l->op, "connect") == 0)
        run_connect(r, l);
    else if (strcmp(l->op, "disconnect") == 0)
        lose_connection(r);
    else if (strcmp(l->op, "closeSession") != 0)
        run_op(r, l);
    else if (!r->close_wanted)
        complain(r, l, "the machine does not close the session");
}

void replay_run(const struct replay_scene *scene)
{
    struct replay *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->scene = scene;
    load(r);
    make_machine(r);
    for (r->at = 0; r->at < r->count; r->at++)
        run_line(r, &r->lines[r->at]);
    for (int i = 0; i < GROUP_LANE_COUNT && !scene->until_ms; i++)
        if (r->pending[i].is_open)
            complain(r, NULL, "the machine asks for more than was recorded");
    size_t operations = 0;
    for (size_t i = 0; i < r->count; i++)
        operations += is_operation(&r->lines[i]) && !r->lines[i].is_skipped;
    if ((size_t)r->compared != operations || operations < 10)
        fail_msg("%s %s: %d of %zu operations compared", scene->scene, scene->member, r->compared,
                 operations);
    if (r->gave_up != scene->expect_gave_up)
        fail_msg("%s %s: gave up: %d", scene->scene, scene->member, r->gave_up);
    if (getenv("REPLAY_VERBOSE"))
        printf("%s %s: %d operations\n", scene->scene, scene->member, r->compared);
    for (size_t i = 0; i < r->count; i++)
        json_decref(r->lines[i].json);
    drop_positions(r);
    zk_compat_free(r->machine);
    free(r);
}
