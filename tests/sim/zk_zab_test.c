/* Servers alone under dense faults: whatever crashes, stands still or is cut, all that is ever
 * committed is one order, and once all is well again each server has all of it. The model's own
 * assertions look while it runs: a second order (zk_tree_apply), a leader that does not know what
 * is committed (zk_welcome_came). SIM_SEED=n runs one seed, SIM_SEEDS=n so many (default 150). */
#include "study/sim/zk_server.h"
#include "tests/unit/test.h"
#include <stdio.h>
#include <stdlib.h>

#define CHAOS_NS (20 * SIM_S)
#define PATH     "/t"

struct world {
    uint64_t seed;
    struct kernel kernel;
    struct pool pool;
    struct net net;
    struct zk_ensemble zk;
    struct stream stream;
    unsigned kinds; /* of faults: each seed has its own mixture */
    int64_t last_zxid;
    uint64_t commits, leaders;
    bool is_over;
};

static void on_commit(void *user, const struct zk_txn *x, const struct zk_server *leader)
{
    struct world *w = user;
    if (x->zxid <= w->last_zxid)
        fail_msg("SIM_SEED=%" PRIu64 ": %s commits %llx behind %llx", w->seed, leader->node.name,
                 (unsigned long long)x->zxid, (unsigned long long)w->last_zxid);
    w->last_zxid = x->zxid;
    w->commits++;
}

static void on_role(void *user, const struct zk_server *s)
{
    struct world *w = user;
    w->leaders += s->role == ZK_LEADING && zk_server_serves(s);
}

static void submit(struct zk_server *s)
{
    struct zk_request *r = pool_take(s->e->pool, sizeof *r);
    r->what = ZK_DO_SET;
    r->origin = -1;
    r->write = (struct zk_write){.what = ZK_DO_SET,
                                 .path = zk_paths_id(&s->e->paths, PATH),
                                 .data = value_new(s->e->pool, "x", 1),
                                 .version = ZK_ANY_VERSION};
    zk_quorum_submit(s, r);
}

/* To whoever believes to lead: the deposed too. */
static void submit_to_leaders(struct world *w)
{
    for (unsigned i = 0; i < w->zk.count; i++)
        if (w->zk.servers[i].role == ZK_LEADING && zk_server_serves(&w->zk.servers[i]))
            submit(&w->zk.servers[i]);
}

static void act(struct world *w)
{
    struct zk_server *a = &w->zk.servers[stream_below(&w->stream, w->zk.count)];
    struct zk_server *b = &w->zk.servers[stream_below(&w->stream, w->zk.count)];
    uint64_t size = stream_below(&w->stream, 100 * SIM_MS);
    unsigned kind = (unsigned)stream_below(&w->stream, 12);
    if (kind % 2 == 0 && !(w->kinds & 1u << kind))
        return;
    switch (kind) {
    case 0: zk_server_crash(a); break;
    case 1: zk_server_restart(a); break;
    case 2:
        if (a->node.is_up)
            node_suspend(&a->node);
        break;
    case 3:
        if (a->node.is_suspended)
            node_resume(&a->node);
        break;
    case 4:
        if (a != b)
            net_cut(&w->net, &a->node, &b->node, true);
        break;
    case 5: net_heal(&w->net); break;
    case 6: a->lag_ns = size; break;
    case 7: a->lag_ns = a->stall_ns = 0; break;
    case 8: a->stall_ns = size; break;
    case 9: zk_server_restart(b); break;
    case 10:
        if (a->leader_conn)
            conn_reset(a->leader_conn);
        break;
    default: break;
    }
}

static void turn(void *actor, void *arg)
{
    struct world *w = actor;
    (void)arg;
    if (w->is_over)
        return;
    submit_to_leaders(w);
    if (stream_below(&w->stream, 4) == 0)
        act(w);
    uint64_t at = w->kernel.now_ns + stream_below(&w->stream, 40 * SIM_MS);
    kernel_at(&w->kernel, at, turn, w, NULL);
}

static void run_for(struct world *w, uint64_t ns)
{
    uint64_t until = w->kernel.now_ns + ns;
    while (kernel_next_ns(&w->kernel) <= until)
        kernel_run_one(&w->kernel);
    w->kernel.now_ns = until;
}

static void heal(struct world *w)
{
    w->is_over = true;
    net_heal(&w->net);
    for (unsigned i = 0; i < w->zk.count; i++) {
        struct zk_server *s = &w->zk.servers[i];
        s->lag_ns = s->stall_ns = 0;
        zk_server_restart(s);
        if (s->node.is_suspended)
            node_resume(&s->node);
    }
}

static void expect_agreement(struct world *w)
{
    uint32_t path = zk_paths_id(&w->zk.paths, PATH);
    const struct znode *truth = zk_tree_node(&w->zk.truth, path);
    for (unsigned i = 0; i < w->zk.count; i++) {
        const struct zk_server *s = &w->zk.servers[i];
        const struct znode *n = zk_tree_node(&s->tree, path);
        if (!zk_server_serves(s))
            fail_msg("SIM_SEED=%" PRIu64 ": %s does not serve", w->seed, s->node.name);
        if (s->tree.zxid != w->last_zxid || n->version != truth->version || s->log.count)
            fail_msg("SIM_SEED=%" PRIu64 ": %s is at %llx, not %llx", w->seed, s->node.name,
                     (unsigned long long)s->tree.zxid, (unsigned long long)w->last_zxid);
    }
}

static void run(struct world *w, uint64_t seed)
{
    struct sim_config config;
    sim_config_init(&config);
    config.seed = seed;
    config.zk.servers = seed % 3 ? 3 : 5;
    config.zk.tick_ms = 100;
    config.zk.sync_limit = 4;
    config.zk.election.low_ns = 10 * SIM_MS;
    config.zk.election.high_ns = 60 * SIM_MS;
    if (seed % 2) { /* what lasts can be interrupted */
        config.zk.fsync.high_ns = 60 * SIM_MS;
        config.zk.link.high_ns = 20 * SIM_MS;
    }
    *w = (struct world){.seed = seed, .stream = stream_of(seed, "zab", "acts")};
    w->kinds = (unsigned)stream_next(&w->stream);
    kernel_init(&w->kernel, seed, true);
    net_init(&w->net, &w->kernel, &w->pool, &config);
    zk_ensemble_init(&w->zk, &w->net, &config);
    w->zk.on_commit = on_commit;
    w->zk.on_role = on_role;
    w->zk.user = w;
    zk_ensemble_preset(&w->zk, PATH, "");
    zk_ensemble_start(&w->zk);
    kernel_at(&w->kernel, 100 * SIM_MS, turn, w, NULL);
    run_for(w, CHAOS_NS);
    heal(w);
    run_for(w, 5 * SIM_S);
    uint64_t before = w->commits;
    submit_to_leaders(w);
    run_for(w, SIM_S);
    expect_agreement(w);
    assert_int_equal(w->commits, before + 1);
}

static void world_deinit(struct world *w)
{
    kernel_deinit(&w->kernel);
    pool_deinit(&w->pool);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void test_one_order(void **state)
{
    uint64_t one = number_from("SIM_SEED", 0), count = number_from("SIM_SEEDS", 150);
    uint64_t commits = 0, leaders = 0;
    static struct world w; /* large: its links */
    (void)state;
    for (uint64_t seed = one ? one : 1; seed <= (one ? one : count); seed++) {
        run(&w, seed);
        commits += w.commits;
        leaders += w.leaders;
        world_deinit(&w);
    }
    print_message("%" PRIu64 " commits, %" PRIu64 " leaders\n", commits, leaders);
    assert_true(leaders > (one ? 1 : 5 * count)); /* else nothing was tested */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
