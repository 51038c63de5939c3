/* What a session does while nothing goes wrong: operations, watches, order, chroot, limits. */
#include "tests/integration/zk_session/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static void test_operations(void **state)
{
    struct app *a = app_connect();

    (void)state;
    assert_int_equal(a->new_sessions, 1);
    assert_int_not_equal(a->session_id, 0);
    assert_int_equal(zk_session_id(a->s), a->session_id);
    assert_string_equal(a->server, at(world.server.port, ""));

    assert_int_equal(app_create(a, "/ops", "one", false), ZK_OK);
    int64_t created = a->zxid;
    assert_int_equal(app_create(a, "/ops", "two", false), ZK_NODE_EXISTS);
    assert_int_equal(app_do(a, ZK_OP_GET, "/ops"), ZK_OK);
    assert_string_equal(a->data, "one");
    assert_int_equal(a->stat.czxid, created);
    assert_int_equal(a->stat.ephemeral_owner, 0);

    struct zk_op set = {.type = ZK_OP_SET, .path = "/ops", .data = bytes_of_text("three")};
    assert_int_equal(app_do_op(a, &set), ZK_OK);
    assert_int_equal(a->stat.version, 1);
    assert_int_equal(a->stat.mzxid, a->zxid);
    assert_int_equal(app_do_op(a, &set), ZK_BAD_VERSION);

    set.version = ZK_ANY_VERSION;
    set.data = bytes_of("", 0);
    assert_int_equal(app_do_op(a, &set), ZK_OK);
    assert_int_equal(app_do(a, ZK_OP_GET, "/ops"), ZK_OK);
    assert_string_equal(a->data, "");
    set.data = BYTES_NULL;
    assert_int_equal(app_do_op(a, &set), ZK_OK);
    assert_int_equal(app_do(a, ZK_OP_GET, "/ops"), ZK_OK);
    assert_string_equal(a->data, "(null)");

    assert_int_equal(app_create(a, "/ops/e", "", true), ZK_OK);
    assert_int_equal(app_create(a, "/ops/e/x", "", false), ZK_NO_CHILDREN_FOR_EPHEMERALS);
    assert_int_equal(app_do(a, ZK_OP_EXISTS, "/ops/e"), ZK_OK);
    assert_int_equal(a->stat.ephemeral_owner, a->session_id);
    assert_int_equal(app_create(a, "/ops/d", NULL, false), ZK_OK);
    assert_int_equal(app_do(a, ZK_OP_CHILDREN, "/ops"), ZK_OK);
    assert_string_equal(a->children, "d e ");
    assert_int_equal(app_do(a, ZK_OP_CHILDREN, "/ops/d"), ZK_OK);
    assert_string_equal(a->children, "");

    assert_int_equal(app_do(a, ZK_OP_EXISTS, "/missing"), ZK_NO_NODE);
    assert_int_equal(app_do(a, ZK_OP_GET, "/missing"), ZK_NO_NODE);
    assert_true(a->zxid >= created);
    assert_int_equal(app_do(a, ZK_OP_DELETE, "/ops"), ZK_NOT_EMPTY);
    assert_int_equal(app_do(a, ZK_OP_DELETE, "/ops/d"), ZK_OK);
    app_end(a);
}

static void test_bad_arguments(void **state)
{
    static const char *const paths[] = {"", "relative", "/end/", "/a//b", "/a/../b"};
    struct app *a = app_connect();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        assert_int_equal(app_do(a, ZK_OP_GET, paths[i]), ZK_BAD_ARGUMENTS);

    char *data = calloc(1, ZK_REQUEST_BYTES_MAX);
    struct zk_op op = {.type = ZK_OP_CREATE, .path = "/large"};
    op.data = bytes_of(data, ZK_REQUEST_BYTES_MAX);
    assert_int_equal(app_do_op(a, &op), ZK_BAD_ARGUMENTS);
    op.data.len = ZK_REQUEST_BYTES_MAX - strlen(op.path); /* just taken, also by the server */
    assert_int_equal(app_do_op(a, &op), ZK_OK);
    free(data);
    assert_int_equal(a->suspended, 0);
    app_end(a);
}

/* Nothing of these reaches the server, and nothing leaks in the client. */
static void test_bad_multis(void **state)
{
    static const char *const paths[] = {"",        "relative", "/end/", "/a//b",
                                        "/a/../b", "/a/.",     "/\x01"};
    static const enum zk_op_type types[] = {ZK_OP_GET, ZK_OP_EXISTS, ZK_OP_CHILDREN, ZK_OP_MULTI,
                                            ZK_OP_SYNC};
    static struct zk_op many[ZK_PARTS_MAX + 1];
    struct zk_op parts[2] = {{.type = ZK_OP_CREATE, .path = "/never"}};
    struct zk_op multi = {.type = ZK_OP_MULTI, .parts = parts, .part_count = 2};
    struct app *a = app_connect();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        parts[1] = (struct zk_op){.type = ZK_OP_CHECK, .path = paths[i]};
        assert_int_equal(app_do_op(a, &multi), ZK_BAD_ARGUMENTS);
    }
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        parts[1] = (struct zk_op){.type = types[i], .path = "/"};
        assert_int_equal(app_do_op(a, &multi), ZK_BAD_ARGUMENTS);
    }
    multi.part_count = 0;
    assert_int_equal(app_do_op(a, &multi), ZK_BAD_ARGUMENTS);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = (struct zk_op){.type = ZK_OP_CHECK, .path = "/", .version = ZK_ANY_VERSION};
    multi.parts = many;
    multi.part_count = ARRAY_LEN(many);
    assert_int_equal(app_do_op(a, &multi), ZK_BAD_ARGUMENTS);
    multi.part_count = ZK_PARTS_MAX; /* just taken */
    assert_int_equal(app_do_op(a, &multi), ZK_OK);
    assert_int_equal(a->part_count, ZK_PARTS_MAX);
    assert_int_equal(a->culprit, ZK_PARTS_MAX);

    char *data = calloc(1, ZK_REQUEST_BYTES_MAX);
    parts[1] = (struct zk_op){.type = ZK_OP_SET, .path = "/never", .version = ZK_ANY_VERSION};
    parts[1].data = bytes_of(data, ZK_REQUEST_BYTES_MAX - 64);
    multi.parts = parts;
    multi.part_count = 2;
    assert_int_equal(app_do_op(a, &multi), ZK_BAD_ARGUMENTS);
    free(data);

    assert_int_equal(app_do(a, ZK_OP_CHECK, "/"), ZK_BAD_ARGUMENTS); /* only within a multi */
    assert_int_equal(app_do(a, ZK_OP_EXISTS, "/never"), ZK_NO_NODE);
    assert_int_equal(a->suspended, 0);
    app_end(a);
}

static void test_multi_below_a_chroot(void **state)
{
    static const struct zk_op parts[] = {
        {.type = ZK_OP_CHECK, .path = "/", .version = ZK_ANY_VERSION},
        {.type = ZK_OP_CREATE, .path = "/in-multi", .data = {(const uint8_t *)"x", 1}},
        {.type = ZK_OP_SET, .path = "/in-multi"},
        {.type = ZK_OP_DELETE, .path = "/missing"}};
    struct zk_op multi = {.type = ZK_OP_MULTI, .parts = parts, .part_count = 4};
    struct app *raw = app_connect();
    struct app *a = app_connect_to(at(world.server.port, "/multi/chroot"));

    (void)state;
    assert_int_equal(app_do_op(a, &multi), ZK_NO_NODE);
    assert_int_equal(a->culprit, 0);
    assert_int_equal(app_ensure_chroot(a), ZK_OK);
    assert_int_equal(app_do_op(a, &multi), ZK_NO_NODE);
    assert_int_equal(a->culprit, 3);
    assert_int_equal(app_do(a, ZK_OP_EXISTS, "/in-multi"), ZK_NO_NODE); /* all or none */
    multi.part_count = 3;
    assert_int_equal(app_do_op(a, &multi), ZK_OK);
    assert_string_equal(a->parts, "Ok Ok Ok 1 ");
    assert_int_equal(app_do(raw, ZK_OP_SYNC, "/"), ZK_OK);
    assert_int_equal(app_do(raw, ZK_OP_EXISTS, "/multi/chroot/in-multi"), ZK_OK);
    assert_int_equal(raw->stat.version, 1);
    assert_int_equal(app_do(a, ZK_OP_SYNC, "/"), ZK_OK);
    app_end(a);
    app_end(raw);
}

/* What tells that children came or went: pzxid, and cversion, which counts them. */
static void test_stat_of_children(void **state)
{
    struct app *a = app_connect();

    (void)state;
    app_create(a, "/counted", "", false);
    int64_t made = a->zxid;
    assert_int_equal(app_do(a, ZK_OP_CHILDREN, "/counted"), ZK_OK);
    assert_int_equal(a->stat.cversion, 0);
    assert_int_equal(a->stat.pzxid, made);
    app_create(a, "/counted/x", "", false);
    assert_int_equal(app_do(a, ZK_OP_DELETE, "/counted/x"), ZK_OK);
    int64_t changed = a->zxid;
    assert_int_equal(app_do(a, ZK_OP_CHILDREN, "/counted"), ZK_OK);
    assert_int_equal(a->stat.cversion, 2);
    assert_int_equal(a->stat.pzxid, changed);
    assert_int_equal(a->stat.mzxid, made);
    app_end(a);
}

static void test_watches(void **state)
{
    struct app *a = app_connect(), *b = app_connect();

    (void)state;
    assert_int_equal(app_watch(a, ZK_OP_EXISTS, "/w"), ZK_NO_NODE);
    app_create(b, "/w", "1", false);
    UNTIL(a->watches == 1);
    assert_int_equal(a->watch_type, ZK_EVENT_CREATED);
    assert_string_equal(a->watch_path, "/w");

    assert_int_equal(app_watch(a, ZK_OP_GET, "/w"), ZK_OK);
    app_do(b, ZK_OP_SET, "/w");
    UNTIL(a->watches == 2);
    assert_int_equal(a->watch_type, ZK_EVENT_DATA_CHANGED);

    assert_int_equal(app_watch(a, ZK_OP_CHILDREN, "/w"), ZK_OK);
    app_create(b, "/w/c", "", false);
    UNTIL(a->watches == 3);
    assert_int_equal(a->watch_type, ZK_EVENT_CHILDREN_CHANGED);
    app_create(b, "/w/d", "", false); /* it fires once */

    app_do(b, ZK_OP_DELETE, "/w/c");
    app_do(b, ZK_OP_DELETE, "/w/d");
    app_watch(a, ZK_OP_EXISTS, "/w");
    app_do(b, ZK_OP_DELETE, "/w");
    UNTIL(a->watches == 4);
    assert_int_equal(a->watch_type, ZK_EVENT_DELETED);
    app_do(a, ZK_OP_EXISTS, "/w"); /* an answer from later than any other event */
    assert_int_equal(a->watches, 4);
    assert_int_equal(b->watches, 0);
    app_end(a);
    app_end(b);
}

/* The watch of a read is told before the answer of a read that sees the change (ZooKeeper's
 * guarantee, kept through both layers). */
static unsigned watches_at_answer;
static void note_watches(struct app *a, int zk_rc)
{
    if (zk_rc == ZK_OK)
        watches_at_answer = a->watches;
}

static void test_watch_before_later_answers(void **state)
{
    struct app *a = app_connect();

    (void)state;
    app_create(a, "/order", "", false);
    for (unsigned i = 0; i < 50; i++) {
        app_watch(a, ZK_OP_GET, "/order");
        a->on_answer = NULL;
        app_send(a, ZK_OP_SET, "/order");
        a->on_answer = note_watches;
        app_do(a, ZK_OP_GET, "/order");
        assert_int_equal(watches_at_answer, i + 1);
    }
    app_end(a);
}

static void test_answers_come_in_order(void **state)
{
    static const enum zk_op_type types[] = {ZK_OP_GET,    ZK_OP_CREATE,   ZK_OP_SET,
                                            ZK_OP_DELETE, ZK_OP_CHILDREN, ZK_OP_EXISTS};
    struct app *a = app_connect();

    (void)state;
    for (unsigned i = 0; i < 2000; i++)
        app_send(a, types[i % ARRAY_LEN(types)], "/in-order");
    UNTIL(a->answered == a->sent);
    assert_int_equal(a->out_of_order, 0);
    assert_int_equal(a->lost + a->other, 0);
    app_end(a);
}

static const struct timeout_case {
    const char *name;
    int64_t asked_ms;
    int32_t granted_ms;
} timeout_cases[] = {
    {"in between", 5000, 5000},          {"below the server's minimum", 1, SESSION_TIMEOUT_MS},
    {"zero", 0, SESSION_TIMEOUT_MS},     {"above its maximum: a day", 24 * 3600 * 1000, 60000},
    {"beyond an int", INT64_MAX, 60000}, {"negative", -5, SESSION_TIMEOUT_MS},
};

static void test_granted_timeout(void **state)
{
    (void)state;
    for (const struct timeout_case *c = timeout_cases; c < timeout_cases + ARRAY_LEN(timeout_cases);
         c++) {
        struct app *a =
            app_open(&(struct app_options){.timeout_ms = c->asked_ms ? c->asked_ms : INT64_MIN});
        UNTIL(a->connected == 1);
        if (a->timeout_ms != c->granted_ms)
            fail_msg("%s: %d ms", c->name, a->timeout_ms);
        bool is_warned = strstr(a->log, "session timeout") != NULL;
        if (is_warned != (c->asked_ms != c->granted_ms))
            fail_msg("%s: warning '%s'", c->name, a->log);
        app_end(a);
    }
}

static void test_chroot(void **state)
{
    struct app *raw = app_connect();
    struct app *a = app_connect_to(at(world.server.port, "/c/h/r"));

    (void)state;
    assert_int_equal(app_do(a, ZK_OP_CHILDREN, "/"), ZK_NO_NODE);
    assert_int_equal(app_create(a, "/n", "x", false), ZK_NO_NODE);
    assert_int_equal(app_do(raw, ZK_OP_EXISTS, "/c"), ZK_NO_NODE); /* nobody made it by the way */
    assert_int_equal(app_ensure_chroot(a), ZK_OK);
    assert_int_equal(app_ensure_chroot(a), ZK_OK);
    assert_int_equal(app_do(raw, ZK_OP_GET, "/c/h/r"), ZK_OK);
    assert_string_equal(raw->data, "(null)");

    assert_int_equal(app_create(a, "/n", "x", false), ZK_OK);
    assert_int_equal(app_do(raw, ZK_OP_GET, "/c/h/r/n"), ZK_OK);
    assert_string_equal(raw->data, "x");
    assert_int_equal(app_do(a, ZK_OP_CHILDREN, "/"), ZK_OK);
    assert_string_equal(a->children, "n ");

    app_watch(a, ZK_OP_GET, "/n");
    app_do(raw, ZK_OP_SET, "/c/h/r/n");
    UNTIL(a->watches == 1);
    assert_string_equal(a->watch_path, "/n");
    app_watch(a, ZK_OP_CHILDREN, "/");
    app_create(raw, "/c/h/r/m", "", false);
    UNTIL(a->watches == 2);
    assert_string_equal(a->watch_path, "/");

    /* Part of it is missing. */
    app_do(raw, ZK_OP_DELETE, "/c/h/r/n");
    app_do(raw, ZK_OP_DELETE, "/c/h/r/m");
    app_do(raw, ZK_OP_DELETE, "/c/h/r");
    app_do(raw, ZK_OP_DELETE, "/c/h");
    assert_int_equal(app_ensure_chroot(a), ZK_OK);
    assert_int_equal(app_do(raw, ZK_OP_EXISTS, "/c/h/r"), ZK_OK);

    assert_int_equal(app_ensure_chroot(raw), ZK_OK); /* has none */

    /* A path longer than what fits without allocation. */
    char path[700] = "/";
    memset(path + 1, 'p', sizeof path - 2);
    assert_int_equal(app_create(a, path, "", false), ZK_OK);
    assert_int_equal(app_do(a, ZK_OP_DELETE, path), ZK_OK);
    app_end(a);
    app_end(raw);
}

static void test_chroot_that_cannot_be(void **state)
{
    struct app *raw = app_connect();
    struct app *a = app_connect_to(at(world.server.port, "/eph/x"));

    (void)state;
    app_create(raw, "/eph", "", true);
    assert_int_equal(app_ensure_chroot(a), ZK_NO_CHILDREN_FOR_EPHEMERALS);
    app_end(a);
    app_end(raw);
}

static void test_authentication(void **state)
{
    struct app *good = app_open(&(struct app_options){.auth = "digest:user:password"});
    struct app *bad = app_open(&(struct app_options){.auth = "no-such:x"});

    (void)state;
    UNTIL(bad->auth_failed == 1);
    assert_false(zk_session_is_connected(bad->s));
    assert_int_equal(app_do(bad, ZK_OP_GET, "/"), ZK_AUTH_FAILED);
    UNTIL(good->connected == 1);
    assert_int_equal(app_do(good, ZK_OP_GET, "/"), ZK_OK);
    turn_ticks(20);
    assert_int_equal(good->auth_failed, 0);
    assert_int_equal(bad->auth_failed, 1); /* final: not tried again */
    assert_int_equal(bad->connected, 1);
    app_end(good);
    app_end(bad);
}

/* Nodes at and below the private path are for the same credentials alone, also those that a
 * transaction makes; all others are open. */
static void test_private_nodes(void **state)
{
    (void)state;
    struct app_options options = {.auth = "digest:user:password", .private_path = "/private"};
    struct app *owner = app_open(&options);
    struct app *other = app_open(&(struct app_options){.auth = "digest:user:other"});
    struct app *none = app_open(&(struct app_options){0});
    struct zk_op parts[] = {{.type = ZK_OP_CREATE, .path = "/private/b"},
                            {.type = ZK_OP_CREATE, .path = "/privateer"}};
    struct zk_op multi = {.type = ZK_OP_MULTI, .parts = parts, .part_count = 2};

    UNTIL(owner->connected && other->connected && none->connected);
    app_create(owner, "/private", "", false);
    assert_int_equal(app_do_op(owner, &multi), ZK_OK);
    app_do(other, ZK_OP_SYNC, "/");
    assert_int_equal(app_do(owner, ZK_OP_GET, "/private"), ZK_OK);
    static const char *const paths[] = {"/private", "/private/b"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        assert_int_equal(app_do(other, ZK_OP_GET, paths[i]), ZK_NO_AUTH);
        assert_int_equal(app_do(none, ZK_OP_GET, paths[i]), ZK_NO_AUTH);
    }
    assert_int_equal(app_do(none, ZK_OP_GET, "/privateer"), ZK_OK);
    /* a chroot that is there is no less there because we could not have made it */
    struct app *within = app_connect_to(at(world.server.port, "/private/b"));
    assert_int_equal(app_ensure_chroot(within), ZK_OK);
    struct app *without = app_connect_to(at(world.server.port, "/private/c"));
    assert_int_equal(app_ensure_chroot(without), ZK_NO_AUTH);
    app_end(within);
    app_end(without);
    app_end(owner);
    app_end(other);
    app_end(none);
}

static void test_invalid_connect_string(void **state)
{
    struct zk_session_config config = {.base = world.base,
                                       .resolver = world.resolver,
                                       .connect = "h1:2181/a,h2:2181/a",
                                       .session_timeout_ms = 6000};
    (void)state;
    assert_null(zk_session_new(&config));
}

/* ZooKeeper's client makes its sockets without close-on-exec. */
static void test_descriptors_are_close_on_exec(void **state)
{
    bool is_old[1024];
    unsigned sockets = 0;

    (void)state;
    for (int fd = 0; fd < 1024; fd++)
        is_old[fd] = fcntl(fd, F_GETFD) != -1;
    struct app *a = app_connect();
    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (is_old[fd] || flags == -1)
            continue;
        sockets++;
        assert_true(flags & FD_CLOEXEC);
    }
    assert_int_equal(sockets, 2);
    app_end(a);
}

/* Looks after a loss and a close too: those are where the client talks. */
static void test_nothing_is_written_anywhere(void **state)
{
    int out = dup(1), err = dup(2);
    char path[] = "/tmp/zkc-output-XXXXXX";
    int file = mkstemp(path);

    (void)state;
    unlink(path);
    fflush(NULL);
    dup2(file, 1);
    dup2(file, 2);
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = app_open(&(struct app_options){.connect = at(zk_proxy_port(p), "")});
    UNTIL(a->connected == 1);
    zk_proxy_set_mode(p, ZK_PROXY_REFUSE);
    zk_proxy_reset(p);
    UNTIL(a->unreachable == 1);
    zk_proxy_set_mode(p, ZK_PROXY_PASS);
    UNTIL(a->connected == 2);
    unsigned errors = a->errors;
    app_end(a);
    zk_proxy_free(p);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    assert_true(errors > 0); /* through on_log instead */
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    close(file);
}

static void test_process_is_left_alone(void **state)
{
    struct sigaction before, after;

    (void)state;
    sigaction(SIGPIPE, NULL, &before);
    world.reseeds = 0;
    struct app *a = app_connect();
    world.getaddrinfos = 0;
    for (unsigned i = 0; i < 200; i++)
        app_do(a, ZK_OP_GET, "/");
    turn_ticks(20);
    assert_int_equal(world.getaddrinfos, 0);
    assert_int_equal(world.reseeds, 0);
    app_end(a);
    sigaction(SIGPIPE, NULL, &after);
    assert_ptr_equal(before.sa_handler, after.sa_handler);
}

/* The server cuts what is one connection too many from an address, before it says a word. */
static void test_connection_limit(void **state)
{
    struct zk_server limited;
    struct app *apps[2], *third;

    (void)state;
    zk_server_init(&limited, &(struct zk_server_options){.extra = "maxClientCnxns=2"});
    zk_server_start(&limited);
    for (unsigned i = 0; i < ARRAY_LEN(apps); i++)
        apps[i] = app_connect_to(at(limited.port, ""));
    third = app_open(&(struct app_options){.connect = at(limited.port, "")});
    UNTIL(third->unreachable == 1);
    assert_non_null(strstr(third->notice, "limit on the server"));
    assert_non_null(strstr(third->notice, "maxClientCnxns"));
    assert_int_equal(third->connected, 0);
    app_end(apps[0]);
    UNTIL(third->connected == 1);
    assert_int_equal(apps[1]->suspended, 0);
    app_end(apps[1]);
    app_end(third);
    zk_server_deinit(&limited);
}

/* No descriptor for the socket, and then none for our duplicate of it. */
static void test_no_descriptors(void **state)
{
    struct rlimit limit, low;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t room = 0; room < 2; room++) {
        struct app *a;
        int lowest = dup(0);
        close(lowest);
        low = (struct rlimit){(rlim_t)lowest + room, limit.rlim_max};
        setrlimit(RLIMIT_NOFILE, &low);
        a = app_open(&(struct app_options){0});
        UNTIL(a->unreachable == 1);
        assert_non_null(strstr(a->notice, "Too many open files"));
        setrlimit(RLIMIT_NOFILE, &limit);
        UNTIL(a->connected == 1);
        app_end(a);
    }
}

static void test_many_sessions(void **state)
{
    enum { MANY = 100 };
    struct app *apps[MANY];
    unsigned before = open_descriptors();

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        apps[i] = app_open(&(struct app_options){.seed = i});
    for (unsigned i = 0; i < MANY; i++)
        UNTIL(apps[i]->connected == 1);
    assert_int_equal(open_descriptors() - before, 2 * MANY);
    for (unsigned i = 0; i < MANY; i++)
        app_send(apps[i], ZK_OP_CHILDREN, "/");
    for (unsigned i = 0; i < MANY; i++)
        UNTIL(apps[i]->ok == 1);
    for (unsigned i = 0; i < MANY; i++)
        app_close(apps[i], 5000);
    for (unsigned i = 0; i < MANY; i++) {
        UNTIL(apps[i]->closed == 1);
        assert_true(apps[i]->is_released);
        app_end(apps[i]);
    }
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_bad_multis),
        cmocka_unit_test(test_multi_below_a_chroot),
        cmocka_unit_test(test_stat_of_children),
        cmocka_unit_test(test_watches),
        cmocka_unit_test(test_watch_before_later_answers),
        cmocka_unit_test(test_answers_come_in_order),
        cmocka_unit_test(test_granted_timeout),
        cmocka_unit_test(test_chroot),
        cmocka_unit_test(test_chroot_that_cannot_be),
        cmocka_unit_test(test_authentication),
        cmocka_unit_test(test_private_nodes),
        cmocka_unit_test(test_invalid_connect_string),
        cmocka_unit_test(test_descriptors_are_close_on_exec),
        cmocka_unit_test(test_nothing_is_written_anywhere),
        cmocka_unit_test(test_process_is_left_alone),
        cmocka_unit_test(test_connection_limit),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_many_sessions),
    };
    return run_group("zk_session_basic", tests, ARRAY_LEN(tests), &(struct zk_server_options){0},
                     NULL);
}
