/* Ending a session: never blocking, never twice, and saying whether the server knows. The loop's
 * ticks show that it turned while a close waited. */
#include "tests/integration/zk_session/harness.h"

static struct app *watcher; /* looks from outside */

static bool is_there(const char *path)
{
    return app_do(watcher, ZK_OP_EXISTS, path) == ZK_OK;
}

static int set_up(void **state)
{
    (void)state;
    world.blocked_polls = 0;
    watcher = app_connect();
    return 0;
}

/* Whatever happened: nothing has waited inside the client. */
static int tear_down(void **state)
{
    (void)state;
    app_end(watcher);
    assert_int_equal(world.blocked_polls, 0);
    return 0;
}

static void test_releases_at_once(void **state)
{
    struct app *a = app_connect();

    (void)state;
    app_create(a, "/released", "", true);
    app_close(a, 5000);
    assert_int_equal(a->closed, 0); /* never from inside */
    UNTIL(a->closed == 1);
    assert_true(a->is_released);
    assert_false(is_there("/released"));
    app_end(a);
}

static void test_before_it_was_connected(void **state)
{
    struct app *a = app_open(&(struct app_options){0});
    struct app *nowhere = app_open(&(struct app_options){.connect = "127.0.0.1:1"});

    (void)state;
    app_close(a, 5000);
    UNTIL(a->closed == 1);
    assert_true(a->is_released); /* there is nothing to release */
    assert_int_equal(a->connected, 0);
    turn_ticks(10);
    app_close(nowhere, 5000);
    UNTIL(nowhere->closed == 1);
    assert_true(nowhere->is_released);
    app_end(a);
    app_end(nowhere);
}

static void test_without_a_link(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    app_create(a, "/not-released", "", true);
    zk_proxy_set_mode(p, ZK_PROXY_REFUSE);
    zk_proxy_cut(p);
    UNTIL(a->suspended == 1);
    size_t ticks = world.ticks;
    app_close(a, 5000);
    UNTIL(a->closed == 1);
    assert_in_range(world.ticks - ticks, 0, 100); /* does not wait for what cannot come */
    assert_false(a->is_released);
    assert_true(is_there("/not-released"));
    app_end(a);
    zk_proxy_free(p);
}

static void test_frozen_server(void **state)
{
    struct app *a = app_connect();

    (void)state;
    zk_server_freeze(&world.server);
    app_send(a, ZK_OP_GET, "/");
    size_t ticks = world.ticks;
    app_close(a, 100 * TICK_MS);
    UNTIL(a->closed == 1);
    assert_in_range(world.ticks - ticks, 5, 2000); /* it waited, and the loop did not stand */
    assert_false(a->is_released);
    assert_int_equal(a->closing, 1);
    zk_server_thaw(&world.server);
    app_end(a);
}

static void fill_the_link(struct app *a)
{
    static char data[200 * 1000];
    struct zk_op op = {.type = ZK_OP_SET,
                       .path = "/fill",
                       .data = bytes_of(data, sizeof data),
                       .version = ZK_ANY_VERSION};
    for (int i = 0; i < 30; i++)
        app_send_op(a, &op);
    turn_ticks(10);
    assert_int_equal(a->answered, 0);
}

/* A request is half sent: nothing can be put behind it, and nothing must wait for it for ever. */
static void test_full_send_buffer(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    zk_proxy_set_mode(p, ZK_PROXY_STUCK);
    fill_the_link(a);
    size_t ticks = world.ticks;
    app_close(a, 100 * TICK_MS);
    UNTIL(a->closed == 1);
    assert_in_range(world.ticks - ticks, 5, 2000);
    assert_false(a->is_released);
    assert_int_equal(a->closing, 30);
    app_end(a);
    zk_proxy_free(p);
}

static void test_full_send_buffer_drains(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    zk_proxy_set_mode(p, ZK_PROXY_STUCK);
    fill_the_link(a);
    app_close(a, 60000);
    turn_ticks(10);
    assert_int_equal(a->closed, 0);
    zk_proxy_set_mode(p, ZK_PROXY_PASS);
    UNTIL(a->closed == 1);
    assert_true(a->is_released);
    assert_int_equal(a->closing, 30);
    app_end(a);
    zk_proxy_free(p);
}

static void test_confirmation_is_lost(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    app_do(a, ZK_OP_GET, "/");
    zk_proxy_drop_answer(p, 1);
    app_close(a, 5000);
    UNTIL(a->closed == 1);
    assert_false(a->is_released); /* though the server did it: nobody said so */
    app_end(a);
    zk_proxy_free(p);
}

/* ZOOKEEPER-2894: requests under way at close were forgotten, or told twice. */
static void test_100_under_way(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    zk_proxy_set_delay_ms(p, 100);
    for (int i = 0; i < 100; i++)
        app_send(a, i % 10 ? ZK_OP_GET : ZK_OP_CREATE, "/");
    turn_ticks(2);
    app_close(a, 5000);
    for (int i = 0; i < 10; i++)
        app_send(a, ZK_OP_GET, "/"); /* too late */
    UNTIL(a->closed == 1);
    assert_int_equal(a->closing, 110);
    assert_int_equal(a->answered, 110);
    assert_true(a->is_released);
    app_end(a);
    zk_proxy_free(p);
}

static void test_no_time_at_all(void **state)
{
    struct app *a = app_connect();

    (void)state;
    zk_server_freeze(&world.server);
    app_close(a, 0);
    UNTIL(a->closed == 1);
    assert_false(a->is_released);
    zk_server_thaw(&world.server);
    app_end(a);
}

static void test_half_dead_handle(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    zk_proxy_reset(p);
    for (int i = 0; i < 5; i++)
        app_send(a, ZK_OP_GET, "/"); /* the first fails inside */
    app_close(a, 5000);
    UNTIL(a->closed == 1);
    assert_false(a->is_released);
    assert_int_equal(a->closing, 5);
    app_end(a);
    zk_proxy_free(p);
}

static void test_free_does_not_wait(void **state)
{
    struct app *a = app_connect(), *b = app_connect(), *fresh = app_open(&(struct app_options){0});

    (void)state;
    zk_server_freeze(&world.server);
    for (int i = 0; i < 10; i++)
        app_send(a, ZK_OP_GET, "/");
    zk_session_free(a->s);
    a->s = NULL;
    a->closed++; /* it has no callback for it */
    assert_int_equal(a->closing, 10);

    app_close(b, 5000);
    turn_ticks(2);
    zk_session_free(b->s);
    assert_int_equal(b->closed, 1);
    assert_false(b->is_released);

    zk_session_free(fresh->s);
    fresh->s = NULL;
    fresh->closed++;
    zk_session_free(NULL);
    zk_server_thaw(&world.server);
    app_end(a);
    app_end(b);
    app_end(fresh);
}

/* ---- inside callbacks ---- */

static struct app *closing_in(const char *connect, enum close_in where)
{
    struct app *a = app_open(&(struct app_options){
        .connect = connect, .auth = where == CLOSE_IN_AUTH_FAILED ? "no-such:x" : NULL});
    a->close_in = where;
    return a;
}

static void check_closed(struct app *a, bool is_released)
{
    UNTIL(a->closed == 1);
    turn_ticks(4);
    assert_int_equal(a->is_released, is_released);
    app_end(a);
}

static void test_in_connected(void **state)
{
    (void)state;
    check_closed(closing_in(NULL, CLOSE_IN_CONNECTED), true);
}

static void test_in_suspended(void **state)
{
    (void)state;
    for (int fails_inside = 0; fails_inside < 2; fails_inside++) {
        struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
        struct app *a = closing_in(at(zk_proxy_port(p), ""), CLOSE_IN_SUSPENDED);
        UNTIL(a->connected == 1);
        for (int i = 0; i < 5; i++)
            app_send(a, ZK_OP_GET, "/");
        zk_proxy_reset(p);
        if (fails_inside)
            app_send(a, ZK_OP_GET, "/");
        check_closed(a, false);
        zk_proxy_free(p);
    }
}

static void test_in_expired(void **state)
{
    struct app *a = closing_in(NULL, CLOSE_IN_EXPIRED);

    (void)state;
    UNTIL(a->connected == 1);
    app_send(a, ZK_OP_GET, "/");
    assert_true(zk_server_expire(&world.server, a->session_id));
    UNTIL(a->closed == 1);
    assert_int_equal(a->connected, 1); /* no new session */
    check_closed(a, true);
}

static void test_in_unreachable(void **state)
{
    (void)state;
    check_closed(closing_in("127.0.0.1:1", CLOSE_IN_UNREACHABLE), true);
}

static void test_in_auth_failed(void **state)
{
    (void)state;
    check_closed(closing_in(NULL, CLOSE_IN_AUTH_FAILED), false);
}

static void test_in_watch(void **state)
{
    struct app *a = closing_in(NULL, CLOSE_IN_WATCH);

    (void)state;
    UNTIL(a->connected == 1);
    app_watch(a, ZK_OP_EXISTS, "/close-in-watch");
    app_create(watcher, "/close-in-watch", "", false);
    check_closed(a, true);
}

static void test_in_result(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
        struct app *a = closing_in(at(zk_proxy_port(p), ""), CLOSE_NOWHERE);
        UNTIL(a->connected == 1);
        for (int i = 0; i < 10; i++)
            app_send(a, ZK_OP_GET, kind == 1 ? "not valid" : "/");
        if (kind == 2)
            zk_proxy_reset(p); /* of operations that fail with the link */
        a->close_in = CLOSE_IN_RESULT;
        UNTIL(a->closed == 1);
        assert_int_equal(a->answered, 10);
        assert_true(a->closing >= 9 || kind == 2);
        check_closed(a, kind != 2);
        zk_proxy_free(p);
    }
}

static void test_many_at_once(void **state)
{
    enum { MANY = 100 };
    struct app *apps[MANY];

    (void)state;
    app_create(watcher, "/many", "", false);
    for (unsigned i = 0; i < MANY; i++)
        apps[i] = app_open(&(struct app_options){.seed = i});
    for (unsigned i = 0; i < MANY; i++) {
        char path[32];
        UNTIL(apps[i]->connected == 1);
        snprintf(path, sizeof path, "/many/%u", i);
        app_create(apps[i], path, "", true);
        app_watch(apps[i], ZK_OP_CHILDREN, "/many");
    }
    for (unsigned i = 0; i < MANY; i++)
        app_close(apps[i], 10000);
    for (unsigned i = 0; i < MANY; i++) {
        UNTIL(apps[i]->closed == 1);
        assert_true(apps[i]->is_released);
        app_end(apps[i]);
    }
    app_do(watcher, ZK_OP_CHILDREN, "/many");
    assert_string_equal(watcher->children, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_releases_at_once),
        TEST(test_before_it_was_connected),
        TEST(test_without_a_link),
        TEST(test_frozen_server),
        TEST(test_full_send_buffer),
        TEST(test_full_send_buffer_drains),
        TEST(test_confirmation_is_lost),
        TEST(test_100_under_way),
        TEST(test_no_time_at_all),
        TEST(test_half_dead_handle),
        TEST(test_free_does_not_wait),
        TEST(test_in_connected),
        TEST(test_in_suspended),
        TEST(test_in_expired),
        TEST(test_in_unreachable),
        TEST(test_in_auth_failed),
        TEST(test_in_watch),
        TEST(test_in_result),
        TEST(test_many_at_once),
    };
    return run_group("zk_session_close", tests, ARRAY_LEN(tests), &(struct zk_server_options){0},
                     NULL);
}
