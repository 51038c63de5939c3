/* Processes and links, each rule alone: two processes that send each other numbers. */
#include "study/sim/net.h"
#include "study/sim/zk_msg.h"
#include "tests/unit/test.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LINK_NS (10 * SIM_MS)

struct world;

struct actor {
    struct node node;
    struct world *world;
    struct conn *conn;
    char log[4000]; /* what came, and when: "1@10.0 closed@12.5" */
};

struct world {
    struct kernel kernel;
    struct pool pool;
    struct net net;
    struct actor a, b;
};

static void note(struct actor *at, const char *fmt, ...) ZKC_PRINTF(2, 3);
static void note(struct actor *at, const char *fmt, ...)
{
    size_t n = strlen(at->log);
    va_list args;
    if (n)
        at->log[n++] = ' ';
    va_start(args, fmt);
    n += (size_t)vsnprintf(at->log + n, sizeof at->log - n, fmt, args);
    va_end(args);
    snprintf(at->log + n, sizeof at->log - n, "@%g",
             (double)(at->world->kernel.now_ns / 1000) / 1000); /* whole microseconds */
}

static void opened(void *self, struct conn *c)
{
    struct actor *at = self;
    at->conn = c;
    note(at, "open");
}

static void came(void *self, struct conn *c, void *message)
{
    struct actor *at = self;
    struct zk_answer *m = message;
    (void)c;
    note(at, "%u", m->xid);
    msg_free(&at->world->pool, m);
}

static void closed(void *self, struct conn *c)
{
    struct actor *at = self;
    if (at->conn == c)
        at->conn = NULL;
    note(at, "closed");
}

static const struct node_ops OPS = {opened, came, closed};

static void actor_init(struct world *w, struct actor *at, const char *name, enum node_kind kind)
{
    *at = (struct actor){.world = w};
    node_init(&at->node, &w->net, name, kind, &OPS, at);
    node_start(&at->node);
}

static void world_init(struct world *w, const struct sim_dist *link)
{
    struct sim_config c;
    sim_config_init(&c);
    c.client_link = link ? *link : (struct sim_dist){SIM_CONSTANT, LINK_NS, 0, NULL, 0};
    memset(w, 0, sizeof *w);
    kernel_init(&w->kernel, 1, false);
    net_init(&w->net, &w->kernel, &w->pool, &c);
    actor_init(w, &w->a, "m1", NODE_MEMBER);
    actor_init(w, &w->b, "b0", NODE_BROKER);
}

static void world_deinit(struct world *w)
{
    kernel_deinit(&w->kernel);
    pool_deinit(&w->pool);
}

static void run_until(struct world *w, uint64_t ms)
{
    while (kernel_next_ns(&w->kernel) <= ms * SIM_MS)
        kernel_run_one(&w->kernel);
    w->kernel.now_ns = ms * SIM_MS;
}

static void send(struct actor *from, uint32_t number)
{
    struct zk_answer *m = pool_take(&from->world->pool, sizeof *m);
    m->type = MSG_ZK_PONG;
    m->xid = number;
    conn_send(from->conn, &from->node, m);
}

/* m1 has connected to b0; what was noted of it is forgotten. */
static struct world *connected(const struct sim_dist *link)
{
    static struct world w;
    world_init(&w, link);
    w.a.conn = net_connect(&w.a.node, &w.b.node, NULL);
    run_until(&w, 100);
    assert_non_null(w.b.conn);
    w.a.log[0] = w.b.log[0] = '\0';
    return &w;
}

static void test_connecting(void **state)
{
    static struct world w;
    (void)state;
    world_init(&w, NULL);
    w.a.conn = net_connect(&w.a.node, &w.b.node, NULL);
    send(&w.a, 1); /* at once: it leaves when the handshake is over */
    run_until(&w, 100);
    assert_string_equal(w.b.log, "open@10 1@30");
    world_deinit(&w);
}

static void test_who_is_down_refuses(void **state)
{
    static struct world w;
    (void)state;
    world_init(&w, NULL);
    node_crash(&w.b.node);
    w.a.conn = net_connect(&w.a.node, &w.b.node, NULL);
    run_until(&w, 100);
    assert_string_equal(w.a.log, "closed@20");
    assert_string_equal(w.b.log, "");
    assert_null(w.a.node.conns);
    world_deinit(&w);
}

/* Whatever latencies are drawn, nothing overtakes within a direction; each has its own. */
static void test_order_under_latency(void **state)
{
    static const struct sim_dist link = {SIM_UNIFORM, 0, 50 * SIM_MS, NULL, 0};
    struct world *w = connected(&link);
    char want[4000] = "";
    (void)state;
    for (uint32_t i = 1; i <= 100; i++) {
        send(&w->a, i);
        snprintf(want + strlen(want), sizeof want - strlen(want), " %u", i);
        run_until(w, 200 + i);
    }
    run_until(w, 1000);
    char *at = w->b.log, got[4000] = "";
    double last = 0, spread_max = 0;
    for (uint32_t i = 1; i <= 100; i++) {
        char *end;
        snprintf(got + strlen(got), sizeof got - strlen(got), " %lu", strtoul(at, &end, 10));
        double t = strtod(end + 1, &at);
        assert_true(t >= last);
        spread_max = t - last > spread_max ? t - last : spread_max;
        last = t;
    }
    assert_string_equal(got, want);
    assert_true(spread_max > 5); /* it was not one latency for all */
    world_deinit(w);
}

static void test_one_way_cut(void **state)
{
    struct world *w = connected(NULL);
    (void)state;
    send(&w->a, 1); /* in flight as the cut begins: held too */
    net_cut(&w->net, &w->a.node, &w->b.node, true);
    assert_true(net_is_cut(&w->net, &w->a.node, &w->b.node));
    assert_false(net_is_cut(&w->net, &w->b.node, &w->a.node));
    send(&w->a, 2);
    send(&w->b, 3);
    run_until(w, 200);
    assert_string_equal(w->b.log, "");
    assert_string_equal(w->a.log, "3@110");
    net_cut(&w->net, &w->a.node, &w->b.node, false);
    send(&w->a, 4); /* behind what was held */
    run_until(w, 300);
    assert_string_equal(w->b.log, "1@200 2@200 4@210");
    world_deinit(w);
}

/* Cut both ways it is a black hole: nobody is told; who gives up does not reach the other, who
 * learns of it when the way is free again. */
static void test_black_hole(void **state)
{
    struct world *w = connected(NULL);
    (void)state;
    net_cut(&w->net, &w->a.node, &w->b.node, true);
    net_cut(&w->net, &w->b.node, &w->a.node, true);
    send(&w->a, 1);
    send(&w->b, 2);
    run_until(w, 200);
    conn_close(w->a.conn, &w->a.node);
    run_until(w, 10000);
    assert_string_equal(w->a.log, "");
    assert_string_equal(w->b.log, "");
    net_heal(&w->net);
    run_until(w, 20000);
    assert_string_equal(w->a.log, ""); /* 2 came to nobody */
    assert_string_equal(w->b.log, "1@10000 closed@10000");
    assert_null(w->net.held);
    world_deinit(w);
}

static void test_reset(void **state)
{
    struct world *w = connected(NULL);
    (void)state;
    send(&w->a, 1);
    conn_reset(w->a.conn);
    send(&w->a, 2); /* behind the reset: to nobody */
    run_until(w, 200);
    assert_string_equal(w->b.log, "1@110 closed@110");
    assert_string_equal(w->a.log, "closed@110");
    assert_null(w->a.node.conns);
    assert_null(w->b.node.conns);
    world_deinit(w);
}

/* A step up delays what is sent from then on; a step down lets nothing overtake it. */
static void test_delay_steps(void **state)
{
    struct world *w = connected(NULL);
    (void)state;
    send(&w->a, 1);
    net_delay(&w->net, &w->a.node, &w->b.node, 50 * SIM_MS);
    send(&w->a, 2);
    send(&w->b, 3); /* the other way is as it was */
    net_delay(&w->net, &w->a.node, &w->b.node, 0);
    send(&w->a, 4);
    run_until(w, 300);
    assert_string_equal(w->b.log, "1@110 2@160 4@160");
    assert_string_equal(w->a.log, "3@110");
    assert_int_equal(w->net.fault_count, 0);
    world_deinit(w);
}

static void ring(void *self, void *arg)
{
    (void)arg;
    note(self, "ring");
}

/* Stopped, it finds later what came meanwhile: first what lies in its socket, in order, and each at
 * the instant of resuming; a timer that was due rings when its turn comes. */
static void test_suspended(void **state)
{
    struct world *w = connected(NULL);
    (void)state;
    node_later(&w->b.node, 150 * SIM_MS, ring, NULL);
    node_suspend(&w->b.node);
    send(&w->a, 1);
    run_until(w, 200);
    send(&w->a, 2);
    conn_close(w->a.conn, &w->a.node);
    run_until(w, 500);
    assert_string_equal(w->b.log, "");
    node_resume(&w->b.node);
    send(&w->b, 9); /* to who has closed */
    run_until(w, 600);
    assert_string_equal(w->b.log, "1@500 ring@500 2@500 closed@500");
    assert_string_equal(w->a.log, "");
    world_deinit(w);
}

/* What is in the inbox, on the way, and in timers belongs to the life that has ended. */
static void test_crash_and_restart(void **state)
{
    struct world *w = connected(NULL);
    (void)state;
    node_later(&w->b.node, 150 * SIM_MS, ring, NULL);
    node_suspend(&w->b.node);
    send(&w->a, 1);
    run_until(w, 120);
    send(&w->a, 2);
    node_crash(&w->b.node); /* with 1 in its socket and 2 on the way */
    node_start(&w->b.node);
    run_until(w, 500);
    assert_string_equal(w->b.log, "");
    assert_string_equal(w->a.log, "closed@130");
    w->a.conn = net_connect(&w->a.node, &w->b.node, NULL);
    run_until(w, 600);
    assert_string_equal(w->b.log, "open@510");
    world_deinit(w);
}

static void test_a_cut_hides_a_crash(void **state)
{
    struct world *w = connected(NULL);
    (void)state;
    net_cut(&w->net, &w->b.node, &w->a.node, true);
    node_crash(&w->b.node);
    run_until(w, 5000);
    assert_string_equal(w->a.log, "");
    net_heal(&w->net);
    run_until(w, 6000);
    assert_string_equal(w->a.log, "closed@5000");
    world_deinit(w);
}

/* One CPU: while it works on one event the others wait, in order. */
static void test_cpu_queue(void **state)
{
    struct world *w = connected(NULL);
    (void)state;
    w->b.node.step_ns = 5 * SIM_MS;
    send(&w->a, 1);
    send(&w->a, 2);
    send(&w->a, 3);
    run_until(w, 112);
    node_later(&w->b.node, 112 * SIM_MS, ring, NULL); /* behind what came before */
    run_until(w, 300);
    assert_string_equal(w->b.log, "1@110 2@115 3@120 ring@125");
    world_deinit(w);
}

/* A connection's memory goes when both sides have closed it and nothing is on its way, or later if
 * it is kept. */
static void test_memory_of_a_connection(void **state)
{
    struct world *w = connected(NULL);
    struct conn *c = w->a.conn;
    (void)state;
    conn_keep(c);
    send(&w->a, 1);
    conn_close(c, &w->a.node);
    run_until(w, 200);
    assert_false(c->is_open[0] || c->is_open[1]);
    assert_int_equal(c->packets, 1);
    conn_let_go(c);
    assert_string_equal(w->b.log, "1@110 closed@110");
    /* the piece is used again */
    assert_ptr_equal(net_connect(&w->a.node, &w->b.node, NULL), c);
    world_deinit(w);
}

/* ---- the pool ---- */

static void test_pool(void **state)
{
    struct pool p = {0};
    (void)state;
    unsigned char *a = pool_take(&p, 100), *b = pool_take(&p, 100);
    assert_true((uintptr_t)a % 16 == 0 && (uintptr_t)b % 16 == 0);
    memset(a, 0xff, 100);
    memset(b, 0xee, 100);
    pool_give(&p, a);
    unsigned char *again = pool_take(&p, 90);
    assert_ptr_equal(again, a); /* of the same class */
    for (int i = 0; i < 90; i++)
        assert_int_equal(again[i], 0);
    assert_int_equal(b[99], 0xee);
    unsigned char *big = pool_resize(&p, b, 300000); /* more than a block */
    assert_int_equal(big[99], 0xee);
    for (int i = 112; i < 300000; i++)
        assert_int_equal(big[i], 0);
    pool_give(&p, NULL);
    struct value *v = value_new(&p, "abc", 3);
    value_ref(v);
    value_unref(&p, v);
    assert_memory_equal(v->data, "abc", 3);
    value_unref(&p, v);
    uint64_t blocks = p.allocations;
    for (int i = 0; i < 100000; i++)
        pool_give(&p, pool_take(&p, 1000));
    assert_int_equal(p.allocations, blocks);
    pool_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connecting),
        cmocka_unit_test(test_who_is_down_refuses),
        cmocka_unit_test(test_order_under_latency),
        cmocka_unit_test(test_one_way_cut),
        cmocka_unit_test(test_black_hole),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_delay_steps),
        cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_crash_and_restart),
        cmocka_unit_test(test_a_cut_hides_a_crash),
        cmocka_unit_test(test_cpu_queue),
        cmocka_unit_test(test_memory_of_a_connection),
        cmocka_unit_test(test_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
