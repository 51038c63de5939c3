/* Sessions that a server declares over. */
#include "tests/integration/zk_session/harness.h"

#include <sys/socket.h>

static void expire(struct app *a)
{
    assert_true(zk_server_expire(&world.server, a->session_id));
}

static void test_a_new_session_follows(void **state)
{
    struct app *a = app_connect();
    int64_t old = a->session_id;

    (void)state;
    assert_int_equal(app_create(a, "/gone", "", true), ZK_OK);
    expire(a);
    UNTIL(a->expired == 1);
    assert_int_equal(a->connected, 1);
    assert_int_equal(a->suspended, 1);
    UNTIL(a->connected == 2);
    assert_int_equal(a->new_sessions, 2);
    assert_int_not_equal(a->session_id, old);
    assert_int_equal(app_do(a, ZK_OP_EXISTS, "/gone"), ZK_NO_NODE);
    assert_int_equal(app_create(a, "/gone", "", true), ZK_OK);
    assert_int_equal(a->expired, 1);
    app_end(a);
}

static void test_operations_are_answered_before(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    zk_proxy_set_delay_ms(p, 500);
    for (int i = 0; i < 20; i++)
        app_send(a, ZK_OP_GET, "/");
    turn_ticks(4);
    expire(a);
    zk_proxy_set_delay_ms(p, 0);
    zk_proxy_reset(p);
    app_send(a, ZK_OP_GET, "/"); /* fails inside */
    UNTIL(a->expired == 1);
    assert_int_equal(a->answered_at_expiry, 21);
    assert_int_equal(a->lost, 21);
    app_end(a);
    zk_proxy_free(p);
}

static void send_one(struct app *a)
{
    app_send(a, ZK_OP_GET, "/");
}

/* Sent when the loss is told, and again when that fails, until there is a connection. */
static void send_until_connected(struct app *a, int zk_rc)
{
    if (zk_rc == ZK_CONNECTION_LOSS && a->sent < 200 && !zk_session_is_connected(a->s))
        app_send(a, ZK_OP_GET, "/");
}

static void test_sends_between_the_sessions(void **state)
{
    struct app *a = app_connect();

    (void)state;
    a->on_suspended = send_one;
    a->on_answer = send_until_connected;
    expire(a);
    UNTIL(a->connected == 2);
    UNTIL(a->answered == a->sent);
    assert_true(a->sent > 1);
    assert_int_equal(a->ok, 0);
    a->on_answer = NULL;
    assert_int_equal(app_do(a, ZK_OP_GET, "/"), ZK_OK);
    app_end(a);
}

/* Watches die with their session: the machine above registers anew. */
static void test_watches_are_gone(void **state)
{
    struct app *a = app_connect(), *b = app_connect();

    (void)state;
    app_create(b, "/watched", "", false);
    app_watch(a, ZK_OP_GET, "/watched");
    expire(a);
    UNTIL(a->connected == 2);
    app_do(b, ZK_OP_SET, "/watched");
    app_do(a, ZK_OP_GET, "/watched");
    assert_int_equal(a->watches, 0);
    app_end(a);
    app_end(b);
}

static void test_again_and_again(void **state)
{
    struct app *a = app_connect();
    unsigned before = open_descriptors();

    (void)state;
    for (unsigned i = 1; i <= 20; i++) {
        app_send(a, ZK_OP_GET, "/");
        expire(a);
        UNTIL(a->expired == i && a->connected == i + 1);
    }
    assert_int_equal(a->new_sessions, 21);
    assert_int_equal(a->suspended, 20);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(world.loop_warnings, 0);
    app_end(a);
}

/* All sessions of a server that stood still for longer than their timeout are over at once. */
static void test_server_stands_still(void **state)
{
    enum { MANY = 20 };
    struct app *apps[MANY];

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        apps[i] = app_open(&(struct app_options){.timeout_ms = SESSION_TIMEOUT_MS, .seed = i});
    for (unsigned i = 0; i < MANY; i++) {
        UNTIL(apps[i]->connected == 1);
        app_create(apps[i], at((int)i, "")[0] ? "/still" : "", "", true);
    }
    zk_server_freeze(&world.server);
    turn_ticks(2 * SESSION_TIMEOUT_MS / TICK_MS);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(apps[i]->suspended, 1);
    zk_server_thaw(&world.server);
    for (unsigned i = 0; i < MANY; i++) {
        UNTIL(apps[i]->connected >= 2);
        UNTIL(zk_session_is_connected(apps[i]->s));
        assert_int_equal(app_do(apps[i], ZK_OP_GET, "/"), ZK_OK);
        app_end(apps[i]);
    }
}

/* A session that was lost for good while no server answered: told by the first that does. */
static void test_long_outage(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = app_open(&(struct app_options){.connect = at(zk_proxy_port(p), ""),
                                                   .timeout_ms = SESSION_TIMEOUT_MS});
    (void)state;
    UNTIL(a->connected == 1);
    app_create(a, "/outage", "", true);
    zk_proxy_set_mode(p, ZK_PROXY_REFUSE);
    zk_proxy_cut(p);
    turn_ticks(3 * SESSION_TIMEOUT_MS / TICK_MS);
    assert_int_equal(a->suspended, 1);
    assert_int_equal(a->expired, 0); /* nobody can know */
    zk_proxy_set_mode(p, ZK_PROXY_PASS);
    UNTIL(a->expired == 1);
    UNTIL(a->connected == 2);
    assert_int_equal(app_do(a, ZK_OP_EXISTS, "/outage"), ZK_NO_NODE);
    app_end(a);
    zk_proxy_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_session_follows),
        cmocka_unit_test(test_operations_are_answered_before),
        cmocka_unit_test(test_sends_between_the_sessions),
        cmocka_unit_test(test_watches_are_gone),
        cmocka_unit_test(test_again_and_again),
        cmocka_unit_test(test_server_stands_still),
        cmocka_unit_test(test_long_outage),
    };
    return run_group("zk_session_expiry", tests, ARRAY_LEN(tests),
                     &(struct zk_server_options){.tick_ms = 100}, NULL);
}
