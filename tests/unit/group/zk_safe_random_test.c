/* Groups of safe members under random faults, in any order of whatever is under way, with offsets
 * in ZooKeeper, in Kafka (whose answers are lost, late, or do not come), and in both: connections
 * are lost and come back, requests of a lost connection are carried out all the same, links stall,
 * sessions end, members crash, come back under their id, join and leave, applications take, finish,
 * commit, stand still. At every step SF1 to SF6 are checked (zk_safe_world.h); once the faults are
 * over the group settles and every message has been committed (SF7).
 *
 * The test of that test: each planted bug that this world can show is found.
 *
 * ZK_SAFE_SEED=n runs one seed, ZK_SAFE_SEEDS=n that many from 1. */
#include "tests/unit/group/zk_safe_world.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/kafka_error.h"

#define SEEDS      120
#define ACTIONS    1000
#define HEALING_MS 60000
#define LIVE_MAX   4
#define BUG_SEEDS  1000

struct walk {
    struct safe_world *w;
    struct zk_safe_config config;
    struct zk_subscription subscription;
    int names;
    struct zk_viewer *observer; /* of the process, where views come from one; NULL */
    int64_t observer_session;
    struct zk_view *view; /* its last */
    struct group_outputs outputs;
};

static int below(struct walk *s, int n)
{
    return (int)rng_below(&s->w->rng, (uint64_t)n);
}

static int live(const struct walk *s)
{
    int n = 0;
    for (int i = 0; i < s->w->member_count; i++)
        n += s->w->members[i]->machine != NULL;
    return n;
}

static struct safe_member *any_live(struct walk *s)
{
    int n = live(s);
    int pick = n ? below(s, n) : -1;
    for (int i = 0; i < s->w->member_count; i++)
        if (s->w->members[i]->machine && pick-- == 0)
            return s->w->members[i];
    return NULL;
}

static void join(struct walk *s, const char *id)
{
    char fresh[16];
    if (s->w->member_count == SAFE_MEMBERS_MAX || live(s) >= LIVE_MAX)
        return;
    snprintf(fresh, sizeof fresh, "g_%c", 'a' + s->names++);
    s->subscription.streams = 1 + below(s, 3);
    safe_connect(safe_world_join(s->w, id ? id : fresh, &s->config));
}

/* ---- the observer of the process ---- */

static void observer_feed(struct walk *s, struct group_input *in)
{
    static struct group_output list[GROUP_OUTPUTS_MAX]; /* read before it is called again */
    group_outputs_clear(&s->outputs);
    in->now_ms = s->w->now_ms;
    zk_viewer_feed(s->observer, in, &s->outputs);
    zk_viewer_run(s->observer, s->w->now_ms, &s->outputs);
    size_t count = s->outputs.count, sent = 0;
    struct zk_op *ops = calloc(count + 1, sizeof *ops);
    uint32_t *seqs = calloc(count + 1, sizeof *seqs);
    memcpy(list, s->outputs.list, count * sizeof *list);
    for (size_t i = 0; i < count; i++)
        if (list[i].type == GROUP_OUT_OP) {
            ops[sent] = list[i].op.op;
            seqs[sent++] = list[i].op.seq;
        }
    struct zk_view *v = zk_viewer_take(s->observer);
    if (v) {
        zk_view_unref(s->view);
        s->view = v;
    }
    for (size_t i = 0; i < sent; i++) {
        struct group_input answer = {
            .type = GROUP_IN_RESULT,
            .result = {GROUP_LANE_VIEW, seqs[i],
                       fake_zk_run(s->w->zk, s->observer_session, &ops[i])}};
        observer_feed(s, &answer);
    }
    free(ops);
    free(seqs);
}

static void observer_begin(struct walk *s)
{
    const struct zk_viewer_config config = {.group = "g",
                                            .pattern = ZK_PATTERN_STATIC,
                                            .subscriptions = &s->subscription,
                                            .subscription_count = 1,
                                            .coalesce = true,
                                            .bugs = s->config.bugs};
    struct why why;
    assert_int_equal(zk_viewer_new(&config, &s->observer, &why), ZKC_OK);
    s->observer_session = fake_zk_open(s->w->zk);
    s->w->touched_ms[s->observer_session] = INT64_MAX / 2; /* it does not end */
    struct group_input in = {
        .type = GROUP_IN_CONNECTED,
        .connected = {s->observer_session, SAFE_SESSION_MS, true, s->w->now_ms}};
    observer_feed(s, &in);
}

/* It reads what has changed: here without waiting for its watches. */
static void observer_read(struct walk *s)
{
    zk_viewer_refresh(s->observer);
    struct group_input in = {.type = GROUP_IN_TIME};
    observer_feed(s, &in);
    while (zk_viewer_deadline_ms(s->observer) <= s->w->now_ms)
        observer_feed(s, &in);
}

static void show_view(struct walk *s, struct safe_member *m, bool is_lost)
{
    if (!m->machine || (!s->view && !is_lost))
        return;
    struct group_input in = {.type = GROUP_IN_VIEW, .view = {is_lost ? NULL : s->view}};
    safe_feed(m, &in);
}

static void observe(struct walk *s, struct safe_member *m)
{
    if (!s->observer)
        return;
    if (below(s, 2))
        observer_read(s);
    show_view(s, m, below(s, 20) == 0);
}

/* ---- faults ---- */

static void crash(struct walk *s, struct safe_member *m)
{
    char id[32];
    memcpy(id, m->id, sizeof id);
    safe_crash(m);
    if (below(s, 2))
        join(s, id); /* again at once, under its id */
}

static void fault(struct walk *s, struct safe_member *m)
{
    char path[64];
    if (s->w->has_kafka && below(s, 4) == 0) {
        s->w->is_kafka_silent = below(s, 2);
        s->w->kafka_error = below(s, 3) ? 0 : KAFKA_ERR_NOT_COORDINATOR;
        return;
    }
    switch (below(s, 15)) {
    case 0:
    case 1:
    case 2:
    case 3: safe_cut(m); break;
    case 4:
    case 5: safe_stall(m); break;
    case 6: /* its session ends */
        safe_stall(m);
        s->w->now_ms += SAFE_SESSION_MS;
        safe_world_end_sessions(s->w);
        break;
    case 7: crash(s, m); break;
    case 8: safe_leave(m); break;
    case 9:
    case 10: join(s, NULL); break;
    case 11: m->is_polling = !m->is_polling; break;
    case 14: /* somebody deletes its registration */
        snprintf(path, sizeof path, SAFE_IDS "%s", m->id);
        safe_world_remove(s->w, path);
        break;
    case 12: s->w->now_ms += below(s, 9000); break;
    case 13: s->w->log_end[below(s, s->w->partitions)] += 1 + below(s, 3); break;
    }
}

static void ask_kafka(struct walk *s, struct safe_member *m)
{
    if (below(s, 8))
        safe_serve_kafka(m);
    else
        safe_lose_kafka(m, below(s, 2));
}

static void act(struct walk *s)
{
    struct safe_member *m = any_live(s);
    if (!m) {
        join(s, NULL);
        return;
    }
    int p = below(s, s->w->partitions);
    switch (below(s, 26)) {
    case 24:
    case 25: observe(s, m); break;
    case 0: fault(s, m); break;
    case 1:
    case 2: safe_connect(m); break;
    case 3: safe_serve_zombie(m); break;
    case 4:
        s->w->now_ms += below(s, 1000);
        safe_world_end_sessions(s->w);
        break;
    case 5:
    case 6: safe_take(m, p); break;
    case 7: safe_finish(m, p); break;
    case 8:
    case 9:
        if (zk_safe_deadline_ms(m->machine) <= s->w->now_ms)
            safe_time(m);
        break;
    case 10:
        if (safe_gate_is_open(m, p) && m->held[p].finished > m->held[p].start)
            safe_commit_one(m, p, m->held[p].finished);
        break;
    case 11:
        if (m->is_stalled && below(s, 4) == 0)
            safe_cut(m);
        break;
    default:
        for (int n = 1 + below(s, 4); n > 0; n--)
            if (s->w->has_kafka && below(s, 4) == 0)
                ask_kafka(s, m);
            else if (below(s, 2))
                safe_serve(m);
            else
                safe_read(m);
    }
}

static void heal(struct walk *s)
{
    if (live(s) == 0)
        join(s, NULL);
    s->w->is_kafka_silent = false;
    s->w->kafka_error = 0;
    for (int i = 0; i < s->w->member_count; i++) {
        struct safe_member *m = s->w->members[i];
        m->is_polling = true;
        if (m->is_stalled)
            safe_cut(m);
    }
    for (int ms = 0; ms < HEALING_MS; ms += 1000) {
        safe_world_run_ms(s->w, 1000);
        if (!s->observer)
            continue;
        observer_read(s);
        for (int i = 0; i < s->w->member_count; i++)
            show_view(s, s->w->members[i], false);
    }
    safe_world_run_ms(s->w, 3000);
}

/* NULL: it held; otherwise the first promise that was broken. */
static const char *walk(uint64_t seed, unsigned bug, bool tells)
{
    static char why[300];
    struct walk s = {.w = safe_world_new(seed, 1 + (int)(seed % 5)), .config = safe_world_config()};
    s.w->is_broken_by_plan = true;
    s.subscription.topic = (char *)(uintptr_t) "t";
    s.config.subscriptions = &s.subscription;
    s.config.bugs = bug;
    s.w->keeps_zombies = bug ? bug == ZK_SAFE_BUG_UNFENCED : below(&s, 2);
    s.config.poll_limit_ms = seed % 3 ? 8000 : 0;
    s.config.auto_commit_interval_ms = 300 + (int64_t)(seed % 7) * 200;
    s.config.handover_ms = 1000;
    s.config.sync_before_read = seed % 4 == 0;
    if (seed % 2 && !bug) { /* the switches that take nothing from the promises */
        s.config.claim_multi = below(&s, 2);
        s.config.watch_owners = below(&s, 2);
        s.config.keep_unmoved = below(&s, 2);
        s.config.coalesce = below(&s, 2);
        s.config.lease_probe = below(&s, 2) ? LEASE_PROBE_SYNC : LEASE_PROBE_WRITE;
    }
    if (seed % 8 > 4 && !bug) {
        s.config.offsets_in = seed % 8 == 7 ? COMMIT_TO_BOTH : COMMIT_TO_KAFKA;
        safe_world_use_kafka(s.w);
    }
    for (int p = 0; p < s.w->partitions; p++)
        s.w->log_end[p] = 4 + below(&s, 8);
    if (seed % 3 == 0) {
        s.config.observer_process = true;
        observer_begin(&s);
    }
    join(&s, NULL);
    join(&s, NULL);
    for (int i = 0; i < ACTIONS && !s.w->broken[0]; i++) {
        if (tells)
            print_message("action %d\n", i);
        act(&s);
    }
    const char *unsettled = NULL;
    if (!s.w->broken[0]) {
        heal(&s);
        if (live(&s) > 0)
            unsettled = safe_world_unsettled(s.w);
    }
    why[0] = 0;
    if (s.w->broken[0])
        snprintf(why, sizeof why, "%s", s.w->broken);
    else if (unsettled)
        snprintf(why, sizeof why, "SF7: %s", unsettled);
    zk_viewer_free(s.observer);
    zk_view_unref(s.view);
    safe_world_free(s.w);
    return why[0] ? why : NULL;
}

static void test_promises_hold_under_faults(void **state)
{
    (void)state;
    const char *one = getenv("ZK_SAFE_SEED"), *many = getenv("ZK_SAFE_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t count = one ? 1 : many ? strtoull(many, NULL, 10) : SEEDS;
    for (uint64_t seed = first; seed < first + count; seed++) {
        const char *why = walk(seed, 0, one != NULL);
        if (why)
            fail_msg("ZK_SAFE_SEED=%" PRIu64 ": %s", seed, why);
    }
}

/* Those of the lease need servers that lag behind each other: the simulator has them. To tell a
 * claim by its text does no harm as long as the registration is told by its session. */
static const unsigned planted[] = {
    ZK_SAFE_BUG_COMMIT_IN_NEW_SESSION,
    ZK_SAFE_BUG_CLAIM_BY_TEXT | ZK_SAFE_BUG_REGISTRATION_BY_TEXT,
    ZK_SAFE_BUG_REGISTRATIONS_BY_NAME,
    ZK_SAFE_BUG_VIEW_WITHOUT_SELF,
    ZK_SAFE_BUG_UNRESOLVED_FORGOTTEN,
    ZK_SAFE_BUG_RELEASE_BEFORE_DRAIN,
    ZK_SAFE_BUG_UNFENCED,
};

static void test_planted_bugs_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(planted); i++) {
        const char *why = NULL;
        uint64_t seed = 0;
        while (!why && seed < BUG_SEEDS)
            why = walk(++seed, planted[i], false);
        if (!why)
            fail_msg("bugs %#x are not found in %d seeds", planted[i], BUG_SEEDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promises_hold_under_faults),
        cmocka_unit_test(test_planted_bugs_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
