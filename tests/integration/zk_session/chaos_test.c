/* Many sessions, and whatever can go wrong, in any order: each request is answered once, each close
 * ends once, everybody who is left comes back, nothing is left behind. CHAOS_SEED=n repeats a run
 * as far as a real server lets it be repeated; CHAOS_ROUNDS makes it longer. */
#include "tests/integration/zk_session/harness.h"
#include "zkconsumer/core/base/rng.h"

enum { SESSIONS = 12, LINKS = 3, ROUNDS = 120 };

static struct rng rng;
static struct zk_proxy *links[LINKS];
static struct app *apps[SESSIONS];
static bool is_frozen, is_over;
static unsigned opened, requests;

static uint64_t dice(uint64_t n)
{
    return rng_below(&rng, n);
}

static void ask_on(struct app *a, int zk_rc)
{
    static const enum zk_op_type types[] = {ZK_OP_GET, ZK_OP_CHILDREN, ZK_OP_EXISTS,
                                            ZK_OP_SET, ZK_OP_CREATE,   ZK_OP_DELETE};
    if (is_over || a->closed || zk_rc == ZK_CLOSING)
        return;
    if (dice(2000) == 0)
        a->close_in = (enum close_in)(1 + dice(CLOSE_IN_RESULT));
    if (zk_session_is_connected(a->s) && dice(20) > 0)
        app_send_op(a, &(struct zk_op){.type = types[dice(ARRAY_LEN(types))],
                                       .path = dice(2) ? "/chaos" : "/chaos/x",
                                       .version = ZK_ANY_VERSION,
                                       .watch = dice(3) == 0,
                                       .ephemeral = dice(2) == 0});
}

static struct app *open_one(void)
{
    char connect[128];
    struct app *a;

    snprintf(connect, sizeof connect, "%s,%s",
             two(zk_proxy_port(links[0]), zk_proxy_port(links[1])),
             at(zk_proxy_port(links[2]), ""));
    a = app_open(&(struct app_options){
        .connect = connect, .timeout_ms = 1000 + (int64_t)dice(3000), .seed = opened++});
    a->on_answer = ask_on;
    a->close_deadline_ms = (int64_t)dice(300);
    return a;
}

static void end_one(struct app *a)
{
    requests += a->sent;
    app_end(a);
}

static void disturb(void)
{
    struct zk_proxy *p = links[dice(LINKS)];

    switch (dice(14)) {
    case 0: zk_proxy_set_mode(p, ZK_PROXY_SILENT); break;
    case 1: zk_proxy_set_mode(p, ZK_PROXY_STUCK); break;
    case 2: zk_proxy_set_mode(p, ZK_PROXY_SLAM); break;
    case 3: zk_proxy_set_mode(p, ZK_PROXY_REFUSE); break;
    case 4:
    case 5: zk_proxy_reset(p); break;
    case 6: zk_proxy_cut(p); break;
    case 7: zk_proxy_drop_answer(p, 1 + (unsigned)dice(20)); break;
    case 8: zk_proxy_set_delay_ms(p, (int)dice(50)); break;
    case 9:
        if (!is_frozen)
            zk_server_freeze(&world.server);
        is_frozen = true;
        break;
    case 10:
        if (apps[0]->s && !is_frozen && zk_session_id(apps[0]->s))
            zk_server_expire(&world.server, zk_session_id(apps[0]->s));
        break;
    default: /* some peace */
        for (unsigned i = 0; i < LINKS; i++)
            zk_proxy_set_mode(links[i], ZK_PROXY_PASS);
        if (is_frozen)
            zk_server_thaw(&world.server);
        is_frozen = false;
    }
}

static void round_of_chaos(void)
{
    for (unsigned i = 0; i < SESSIONS; i++) {
        if (apps[i]->closed) {
            end_one(apps[i]);
            apps[i] = open_one();
        }
        for (unsigned k = 0; k < 3 && apps[i]->sent - apps[i]->answered < 10; k++)
            app_send(apps[i], ZK_OP_GET, "/chaos");
        if (apps[i]->close_in == CLOSE_NOWHERE && dice(100) == 0)
            apps[i]->close_in = CLOSE_IN_RESULT;
    }
    disturb();
    turn_ticks(dice(20));
}

static void test_chaos(void **state)
{
    const char *seed = getenv("CHAOS_SEED"), *rounds = getenv("CHAOS_ROUNDS");
    unsigned before;

    (void)state;
    rng_init(&rng, seed ? strtoull(seed, NULL, 10) : 1);
    for (unsigned i = 0; i < LINKS; i++)
        links[i] = zk_proxy_new(world.base, world.server.port);
    before = open_descriptors();
    for (unsigned i = 0; i < SESSIONS; i++)
        apps[i] = open_one();
    for (int i = rounds ? atoi(rounds) : ROUNDS; i > 0; i--)
        round_of_chaos();

    is_over = true;
    for (unsigned i = 0; i < LINKS; i++) {
        zk_proxy_set_mode(links[i], ZK_PROXY_PASS);
        zk_proxy_set_delay_ms(links[i], 0);
        zk_proxy_drop_answer(links[i], 0);
    }
    if (is_frozen)
        zk_server_thaw(&world.server);
    for (unsigned i = 0; i < SESSIONS; i++)
        UNTIL(apps[i]->closed || zk_session_is_connected(apps[i]->s));
    for (unsigned i = 0; i < SESSIONS; i++)
        end_one(apps[i]);
    for (unsigned i = 0; i < LINKS; i++)
        zk_proxy_cut(links[i]);
    turn_ticks(4);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(world.loop_warnings, 0);
    assert_int_equal(world.blocked_polls, 0);
    for (unsigned i = 0; i < LINKS; i++)
        zk_proxy_free(links[i]);
    print_message("%u sessions, %u requests\n", opened, requests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chaos)};
    return run_group("zk_session_chaos", tests, ARRAY_LEN(tests),
                     &(struct zk_server_options){.tick_ms = 100}, NULL);
}
