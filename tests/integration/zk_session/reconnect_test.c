/* Links that break: every way in which the C client loses its socket, and what it must not cost. */
#include "tests/integration/zk_session/harness.h"
#include "zkconsumer/core/base/rng.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static struct zk_proxy *proxy_new(void)
{
    return zk_proxy_new(world.base, world.server.port);
}

/* ZOOKEEPER-2466: with an even number of addresses, of which only one lives, the client alone would
 * never come back, in every order. */
static void test_one_living_server_of(unsigned count)
{
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct zk_proxy *living = proxy_new(), *dead[3];
        char connect[128];
        size_t tried = 0;

        snprintf(connect, sizeof connect, "%s", at(zk_proxy_port(living), ""));
        for (unsigned i = 0; i < count - 1; i++) {
            dead[i] = zk_proxy_new(world.base, 0);
            zk_proxy_set_mode(dead[i], ZK_PROXY_SLAM);
            strcat(strcat(connect, ","), at(zk_proxy_port(dead[i]), ""));
        }
        struct app *a = app_open(&(struct app_options){.connect = connect, .seed = seed});
        UNTIL(a->connected == 1);
        for (unsigned loss = 1; loss <= 2; loss++) {
            zk_proxy_set_mode(living, ZK_PROXY_REFUSE);
            zk_proxy_reset(living);
            UNTIL(a->suspended == loss);
            turn_ticks(10);
            zk_proxy_set_mode(living, ZK_PROXY_PASS);
            UNTIL(a->connected == loss + 1);
        }
        assert_int_equal(a->new_sessions, 1);
        for (unsigned i = 0; i < count - 1; i++)
            tried += zk_proxy_accepted(dead[i]);
        assert_in_range(tried, 0, 200); /* without backoff: thousands */
        app_end(a);
        zk_proxy_free(living);
        for (unsigned i = 0; i < count - 1; i++)
            zk_proxy_free(dead[i]);
    }
}

static void test_two_addresses(void **state)
{
    (void)state;
    test_one_living_server_of(2);
}

static void test_four_addresses(void **state)
{
    (void)state;
    test_one_living_server_of(4);
}

/* A send fails inside an operation, because the peer is gone and the loop has not turned: the
 * client drops its socket, tells nobody, and would answer what is under way with nonsense later on.
 */
static void test_send_error_inside_an_operation(void **state)
{
    struct zk_proxy *p = proxy_new();
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    zk_proxy_set_delay_ms(p, 1000);
    for (int i = 0; i < 5; i++)
        app_send(a, ZK_OP_GET, "/");
    turn_ticks(4);
    zk_proxy_set_delay_ms(p, 0);
    zk_proxy_reset(p);
    for (int i = 0; i < 5; i++)
        app_send(a, ZK_OP_GET, "/");
    assert_false(zk_session_is_connected(a->s));
    assert_int_equal(a->answered, 0);
    UNTIL(a->suspended == 1);
    assert_int_equal(a->answered, 10); /* at once, not with the next attempt */
    assert_int_equal(a->lost, 10);
    assert_int_equal(a->suspended_at_loss, 1); /* told first */
    UNTIL(a->connected == 2);
    assert_int_equal(app_do(a, ZK_OP_GET, "/"), ZK_OK);
    assert_int_equal(a->suspended, 1);
    assert_int_equal(a->new_sessions, 1);
    app_end(a);
    zk_proxy_free(p);
}

static void send_again(struct app *a)
{
    app_send(a, ZK_OP_GET, "/");
}

static void test_sends_in_the_suspended_callback(void **state)
{
    struct zk_proxy *p = proxy_new();
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    a->on_suspended = send_again;
    for (unsigned i = 1; i <= 6; i++) {
        app_send(a, ZK_OP_GET, "/");
        zk_proxy_reset(p);
        if (i % 2)
            app_send(a, ZK_OP_GET, "/"); /* fails inside */
        UNTIL(a->suspended == i);
        UNTIL(a->answered == a->sent);
        assert_int_equal(a->last_rc, ZK_CONNECTION_LOSS);
        UNTIL(a->connected == i + 1);
    }
    app_end(a);
    zk_proxy_free(p);
}

static void test_operations_without_a_connection(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, 0);
    struct app *a = app_open(&(struct app_options){.connect = at(zk_proxy_port(p), "")});

    (void)state;
    zk_proxy_set_mode(p, ZK_PROXY_SILENT);
    for (int i = 0; i < 3; i++)
        app_send(a, ZK_OP_GET, "/");
    app_send(a, ZK_OP_GET, "not valid");
    UNTIL(a->answered == 4);
    assert_int_equal(a->lost, 4);
    assert_int_equal(a->refused_inside, 0);
    app_end(a);
    zk_proxy_free(p);
}

/* ---- the descriptor ---- */

enum { PAIRS = 8 };
static int pairs[PAIRS][2];
static unsigned pairs_read;

static void on_pair(evutil_socket_t fd, short what, void *arg)
{
    char c;
    (void)what;
    (void)arg;
    pairs_read += read(fd, &c, 1) == 1;
}

/* The application opens descriptors the moment the client has closed one: they get its number. */
static void take_its_number(struct app *a)
{
    (void)a;
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
        event_base_once(world.base, pairs[i][0], EV_READ, on_pair, NULL, NULL);
    }
}

static void test_number_is_taken_by_others(void **state)
{
    struct zk_proxy *p = proxy_new();
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    for (unsigned round = 1; round <= 2; round++) {
        pairs_read = 0;
        a->on_suspended = take_its_number;
        zk_proxy_reset(p);
        if (round == 2)
            app_send(a, ZK_OP_GET, "/");
        UNTIL(a->suspended == round);
        for (int i = 0; i < PAIRS; i++)
            assert_int_equal(write(pairs[i][1], "x", 1), 1);
        UNTIL(pairs_read == PAIRS);
        UNTIL(a->connected == round + 1);
        assert_int_equal(app_do(a, ZK_OP_GET, "/"), ZK_OK);
        for (int i = 0; i < PAIRS; i++) {
            close(pairs[i][0]);
            close(pairs[i][1]);
        }
    }
    assert_int_equal(world.loop_warnings, 0);
    app_end(a);
    zk_proxy_free(p);
}

/* Known from ZOOKEEPER-1494: after a reconnect under the same number the loop hears nothing more.
 */
static void test_500_resets(void **state)
{
    enum { SESSIONS = 5, RESETS = 500 };
    struct zk_proxy *p = proxy_new();
    struct app *apps[SESSIONS];
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (unsigned i = 0; i < SESSIONS; i++)
        apps[i] = app_connect_to(at(zk_proxy_port(p), ""));
    unsigned before = open_descriptors();
    for (unsigned round = 1; round <= RESETS / SESSIONS; round++) {
        for (unsigned i = 0; i < SESSIONS; i++)
            for (uint64_t k = rng_below(&rng, 4); k > 0; k--)
                app_send(apps[i], ZK_OP_GET, "/");
        for (uint64_t k = rng_below(&rng, 4); k > 0; k--)
            turn();
        zk_proxy_reset(p);
        for (unsigned i = 0; i < SESSIONS; i++)
            if (rng_below(&rng, 2))
                app_send(apps[i], ZK_OP_GET, "/");
        for (unsigned i = 0; i < SESSIONS; i++)
            UNTIL(apps[i]->suspended == round && apps[i]->connected == round + 1);
        for (unsigned i = 0; i < SESSIONS; i++)
            assert_int_equal(app_do(apps[i], ZK_OP_GET, "/"), ZK_OK);
    }
    assert_int_equal(world.loop_warnings, 0);
    UNTIL(zk_proxy_connections(p) == SESSIONS);
    assert_int_equal(open_descriptors(), before);
    for (unsigned i = 0; i < SESSIONS; i++) {
        assert_int_equal(apps[i]->new_sessions, 1);
        assert_int_equal(apps[i]->expired, 0);
        app_end(apps[i]);
    }
    zk_proxy_free(p);
}

/* ---- silence, pace ---- */

/* The client alone waits for a silent server for 2/3 of the session timeout: a second one would
 * cost the session. */
static void test_silent_servers_beside_a_good_one(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct zk_proxy *silent = zk_proxy_new(world.base, 0), *stuck = zk_proxy_new(world.base, 0);
        struct zk_proxy *good = proxy_new();
        char connect[128];
        zk_proxy_set_mode(silent, ZK_PROXY_SILENT);
        zk_proxy_set_mode(stuck, ZK_PROXY_STUCK);
        snprintf(connect, sizeof connect, "%s,%s", two(zk_proxy_port(silent), zk_proxy_port(stuck)),
                 at(zk_proxy_port(good), ""));
        struct app *a =
            app_open(&(struct app_options){.connect = connect, .seed = seed, .timeout_ms = 1600});
        UNTIL(a->connected == 1);
        for (unsigned i = 1; i <= 3; i++) {
            zk_proxy_reset(good);
            UNTIL(a->connected == i + 1);
            assert_int_equal(a->new_sessions, 1); /* in time for the session */
        }
        assert_int_equal(a->unreachable, 0);
        app_end(a);
        zk_proxy_free(silent);
        zk_proxy_free(stuck);
        zk_proxy_free(good);
    }
}

static void test_silence_suspends(void **state)
{
    struct zk_proxy *p = proxy_new();
    struct app *a =
        app_open(&(struct app_options){.connect = at(zk_proxy_port(p), ""), .timeout_ms = 1000});

    (void)state;
    UNTIL(a->connected == 1);
    zk_proxy_set_mode(p, ZK_PROXY_SILENT);
    app_send(a, ZK_OP_GET, "/");
    UNTIL(a->suspended == 1);
    UNTIL(a->answered == 1);
    assert_int_equal(a->last_rc, ZK_OPERATION_TIMEOUT);
    zk_proxy_set_mode(p, ZK_PROXY_PASS);
    UNTIL(a->connected == 2);
    app_end(a);
    zk_proxy_free(p);
}

/* Pings keep it: three session timeouts without an operation. */
static void test_idle_session_stays(void **state)
{
    struct app *a = app_open(&(struct app_options){.timeout_ms = SESSION_TIMEOUT_MS});

    (void)state;
    UNTIL(a->connected == 1);
    turn_ticks(3 * SESSION_TIMEOUT_MS / TICK_MS);
    assert_int_equal(a->suspended, 0);
    assert_int_equal(app_do(a, ZK_OP_GET, "/"), ZK_OK);
    app_end(a);
}

/* Answers that came while the loop was busy are no silence. More than 2/3 of the timeout, less than
 * all of it. */
static struct app *stalled;
static void stall(void)
{
    usleep(750 * 1000);
}

static void stall_after_sending(void)
{
    app_send(stalled, ZK_OP_GET, "/");
    stall();
    world.on_tick = NULL;
}

static void test_stalled_loop(void **state)
{
    struct app *a = app_open(&(struct app_options){.timeout_ms = SESSION_TIMEOUT_MS});

    (void)state;
    UNTIL(a->connected == 1);
    app_send(a, ZK_OP_GET, "/");
    turn();
    stall(); /* between two turns */
    UNTIL(a->answered == a->sent);
    stalled = a;
    world.on_tick = stall_after_sending; /* in a callback, before our own */
    UNTIL(a->answered == 2);
    assert_int_equal(a->suspended, 0);
    assert_int_equal(a->lost, 0);
    app_end(a);
}

static void test_pace_and_notice(void **state)
{
    struct zk_proxy *p = proxy_new();
    struct app *a =
        app_open(&(struct app_options){.connect = at(zk_proxy_port(p), "/c"), .timeout_ms = 2000});

    (void)state;
    UNTIL(a->connected == 1);
    zk_proxy_set_mode(p, ZK_PROXY_REFUSE);
    zk_proxy_reset(p);
    UNTIL(a->unreachable == 1);
    assert_non_null(strstr(a->notice, at(zk_proxy_port(p), "")));
    assert_non_null(strstr(a->notice, "Connection refused"));
    turn_ticks(100);
    assert_int_equal(a->unreachable, 1); /* not again so soon */
    zk_proxy_set_mode(p, ZK_PROXY_SLAM);
    size_t before = zk_proxy_accepted(p);
    turn_ticks(100);
    assert_in_range(zk_proxy_accepted(p) - before, 1, 100);
    app_end(a);
    zk_proxy_free(p);
}

/* A server that takes the session on and cuts it at once, for ever (ZOOKEEPER-706: the list of
 * watches is too large for it), is not asked without pause. */
static struct zk_proxy *cutting;
static void cut_at_once(struct app *a)
{
    (void)a;
    zk_proxy_cut(cutting);
}

static void test_cut_after_each_connect(void **state)
{
    struct app *a;

    (void)state;
    cutting = proxy_new();
    a = app_connect_to(at(zk_proxy_port(cutting), ""));
    size_t until = world.ticks + 200;
    unsigned seen = a->connected;
    cut_at_once(a);
    UNTIL(a->suspended == 1);
    while (world.ticks < until) {
        turn();
        if (a->connected > seen) {
            seen = a->connected;
            cut_at_once(a);
        }
    }
    assert_in_range(a->connected, 3, 60);
    assert_true(a->unreachable >= 1);
    assert_non_null(strstr(a->notice, "cuts the connection"));
    app_end(a);
    zk_proxy_free(cutting);
}

static void test_slammed_door_names_the_limit(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, 0);
    zk_proxy_set_mode(p, ZK_PROXY_SLAM);
    struct app *a = app_open(&(struct app_options){.connect = at(zk_proxy_port(p), "")});

    (void)state;
    UNTIL(a->unreachable == 1);
    assert_non_null(strstr(a->notice, "limit on the server"));
    assert_non_null(strstr(a->notice, at(zk_proxy_port(p), "")));
    app_end(a);
    zk_proxy_free(p);
}

/* ---- what survives ---- */

static void test_answer_is_lost(void **state)
{
    struct zk_proxy *p = proxy_new();
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    zk_proxy_drop_answer(p, 2);
    app_send(a, ZK_OP_GET, "/");
    assert_int_equal(app_create(a, "/lost-answer", "", true), ZK_CONNECTION_LOSS);
    assert_int_equal(a->ok, 1);
    UNTIL(a->connected == 2);
    assert_int_equal(app_create(a, "/lost-answer", "", true), ZK_NODE_EXISTS);
    assert_int_equal(app_do(a, ZK_OP_EXISTS, "/lost-answer"), ZK_OK);
    assert_int_equal(a->stat.ephemeral_owner, a->session_id);
    app_end(a);
    zk_proxy_free(p);
}

/* A multi whose answer is lost was done all the same; nothing is said of its parts. */
static void test_answer_of_a_multi_is_lost(void **state)
{
    static const struct zk_op parts[] = {
        {.type = ZK_OP_CREATE, .path = "/lost-multi", .ephemeral = true},
        {.type = ZK_OP_SET, .path = "/lost-multi"}};
    struct zk_op multi = {.type = ZK_OP_MULTI, .parts = parts, .part_count = 2};
    struct zk_proxy *p = proxy_new();
    struct app *a = app_connect_to(at(zk_proxy_port(p), ""));

    (void)state;
    zk_proxy_drop_answer(p, 1);
    assert_int_equal(app_do_op(a, &multi), ZK_CONNECTION_LOSS);
    assert_int_equal(a->part_count, 0);
    assert_int_equal(app_do_op(a, &multi), ZK_CONNECTION_LOSS); /* not sent */
    assert_int_equal(a->part_count, 0);
    UNTIL(a->connected == 2);
    assert_int_equal(app_do_op(a, &multi), ZK_NODE_EXISTS);
    assert_int_equal(a->culprit, 0);
    assert_int_equal(app_do(a, ZK_OP_SYNC, "/"), ZK_OK);
    assert_int_equal(app_do(a, ZK_OP_EXISTS, "/lost-multi"), ZK_OK);
    assert_int_equal(a->stat.ephemeral_owner, a->session_id);
    assert_int_equal(a->stat.version, 1);
    app_end(a);
    zk_proxy_free(p);
}

static void test_watch_fires_for_what_was_missed(void **state)
{
    struct zk_proxy *p = proxy_new();
    struct app *a = app_connect_to(at(zk_proxy_port(p), "")), *b = app_connect();

    (void)state;
    app_create(b, "/missed", "", false);
    app_watch(a, ZK_OP_CHILDREN, "/missed");
    zk_proxy_set_mode(p, ZK_PROXY_REFUSE);
    zk_proxy_reset(p);
    UNTIL(a->suspended == 1);
    app_create(b, "/missed/c", "", false);
    assert_int_equal(a->watches, 0);
    zk_proxy_set_mode(p, ZK_PROXY_PASS);
    UNTIL(a->watches == 1);
    assert_int_equal(a->connected, 2);
    assert_int_equal(a->watch_type, ZK_EVENT_CHILDREN_CHANGED);
    app_end(a);
    app_end(b);
    zk_proxy_free(p);
}

static void test_server_restarts(void **state)
{
    struct app *a = app_open(&(struct app_options){.timeout_ms = 20000});

    (void)state;
    UNTIL(a->connected == 1);
    app_create(a, "/restart", "", true);
    zk_server_kill(&world.server);
    app_send(a, ZK_OP_GET, "/");
    UNTIL(a->suspended == 1 && a->answered == a->sent);
    UNTIL(a->unreachable == 1);
    zk_server_start(&world.server);
    UNTIL(a->connected == 2);
    assert_int_equal(a->new_sessions, 1);
    app_do(a, ZK_OP_EXISTS, "/restart");
    assert_int_equal(a->stat.ephemeral_owner, a->session_id);
    app_end(a);
}

/* ---- names ---- */

/* No name server is asked for it: a label may have 63 characters. */
#define LABEL16  "abcdefghijklmnop"
#define BAD_NAME LABEL16 LABEL16 LABEL16 LABEL16 ".test"

static void test_bad_name_beside_a_good_address(void **state)
{
    char connect[128];
    struct app *a;

    (void)state;
    snprintf(connect, sizeof connect, BAD_NAME ",%s", at(world.server.port, ""));
    a = app_connect_to(connect);
    UNTIL(strstr(a->log, BAD_NAME) != NULL); /* a warning */
    assert_int_equal(a->unreachable, 0);
    app_end(a);
}

static void test_no_name_is_known(void **state)
{
    struct app *a = app_open(&(struct app_options){.connect = BAD_NAME ":1,x" BAD_NAME ":2"});

    (void)state;
    UNTIL(a->unreachable == 1);
    assert_non_null(strstr(a->notice, ": " BAD_NAME ": not a valid host name"));
    assert_non_null(strstr(a->notice, "x" BAD_NAME ": not a valid host name"));
    app_end(a);
}

static const char *backend;

static void test_backend(void **state)
{
    (void)state;
    assert_string_equal(event_base_get_method(world.base), backend);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_addresses),
        cmocka_unit_test(test_four_addresses),
        cmocka_unit_test(test_send_error_inside_an_operation),
        cmocka_unit_test(test_sends_in_the_suspended_callback),
        cmocka_unit_test(test_operations_without_a_connection),
        cmocka_unit_test(test_number_is_taken_by_others),
        cmocka_unit_test(test_silent_servers_beside_a_good_one),
        cmocka_unit_test(test_silence_suspends),
        cmocka_unit_test(test_idle_session_stays),
        cmocka_unit_test(test_stalled_loop),
        cmocka_unit_test(test_pace_and_notice),
        cmocka_unit_test(test_cut_after_each_connect),
        cmocka_unit_test(test_slammed_door_names_the_limit),
        cmocka_unit_test(test_answer_is_lost),
        cmocka_unit_test(test_answer_of_a_multi_is_lost),
        cmocka_unit_test(test_watch_fires_for_what_was_missed),
        cmocka_unit_test(test_server_restarts),
        cmocka_unit_test(test_bad_name_beside_a_good_address),
        cmocka_unit_test(test_no_name_is_known),
    };
    const struct CMUnitTest resets[] = {cmocka_unit_test(test_backend),
                                        cmocka_unit_test(test_500_resets),
                                        cmocka_unit_test(test_number_is_taken_by_others)};
    static const char *const avoid[] = {"epoll", "poll", NULL};
    const struct zk_server_options options = {.tick_ms = 200};

    signal(SIGPIPE, SIG_DFL); /* a write to a dead peer that raises it would end this process */
    if (argc == 1)
        return run_group("zk_session_reconnect", tests, ARRAY_LEN(tests), &options, NULL);
    backend = argv[1]; /* what libevent chooses when those before it are not to be used */
    const char *skip[3] = {NULL};
    memcpy(skip, avoid,
           (strcmp(backend, "epoll") == 0  ? 0
            : strcmp(backend, "poll") == 0 ? 1
                                           : 2) *
               sizeof *avoid);
    return run_group(backend, resets, ARRAY_LEN(resets), &options, skip);
}
