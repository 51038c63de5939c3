/* Further sessions for watches, against a server that takes connections and never says a word, and
 * against none: what is opened and closed, and that nothing is lost without memory. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/consumer/watch_sessions.h"
#include <arpa/inet.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#define JUTE    1024 /* a few paths and no more */
#define PATHS   16
#define NO_PORT 1 /* refused */

struct rig {
    struct event_base *base;
    zkc_loop *loop;
    struct watch_sessions *w;
    struct zk_session *own;
    struct watch_ask asks[PATHS];
    char paths[PATHS][128];
    int opened, closed, notices, news, answers, lost;
    char notice[900];
};

static void on_watch(const struct zk_watch_event *event, void *user)
{
    (void)event;
    (void)user;
}

static void on_notice(bool is_news, const char *text, void *user)
{
    struct rig *r = user;
    r->notices++;
    r->news += is_news;
    snprintf(r->notice, sizeof r->notice, "%s", text);
}

static void on_log(int level, const char *cause, const char *text, void *user)
{
    struct rig *r = user;
    (void)level;
    (void)cause;
    r->opened += strstr(text, "watches is opened") != NULL;
    r->closed += strstr(text, "watches is closed") != NULL;
}

static void on_own_event(const struct zk_session_event *event, void *user)
{
    (void)event;
    (void)user;
}

static void on_answer(const struct zk_result *result, void *user)
{
    struct rig *r = user;
    r->answers++;
    r->lost += result->zk_rc == ZK_CONNECTION_LOSS;
}

/* False: out of memory. */
static bool open_sessions(struct rig *r, int port)
{
    char connect[32];
    snprintf(connect, sizeof connect, "127.0.0.1:%d", port);
    struct watch_sessions_config config = {.loop = r->loop,
                                           .connect = connect,
                                           .session_timeout_ms = 6000,
                                           .jute_maxbuffer = JUTE,
                                           .sessions_max = 1,
                                           .seed = 1,
                                           .on_watch = on_watch,
                                           .on_notice = on_notice,
                                           .on_log = on_log,
                                           .user = r};
    r->w = watch_sessions_new(&config);
    return r->w != NULL;
}

static void begin(struct rig *r)
{
    memset(r, 0, sizeof *r);
    r->base = event_base_new();
    assert_int_equal(zkc_loop_open(r->base, &r->loop), ZKC_OK);
    struct zk_session_config own = {.base = r->base,
                                    .resolver = loop_resolver(r->loop),
                                    .connect = "127.0.0.1:1",
                                    .session_timeout_ms = 6000,
                                    .on_event = on_own_event,
                                    .on_watch = on_watch,
                                    .user = r};
    r->own = zk_session_new(&own);
    assert_non_null(r->own);
    for (int i = 0; i < PATHS; i++)
        snprintf(r->paths[i], sizeof r->paths[i], "/%0100d", i);
}

static void end(struct rig *r)
{
    zk_session_free(r->own);
    watch_sessions_free(r->w);
    zkc_loop_close(r->loop);
    event_base_free(r->base);
}

static void read_path(struct rig *r, int i)
{
    struct zk_op op = {.type = ZK_OP_GET, .path = r->paths[i], .watch = true, .may_move = true};
    r->asks[i].path = r->paths[i];
    watch_sessions_send(r->w, r->own, &op, &r->asks[i], on_answer, r);
}

static void read_all(struct rig *r)
{
    for (int i = 0; i < PATHS; i++)
        read_path(r, i);
}

/* What was posted is done; timers that are not due do nothing. */
static void turn(struct rig *r)
{
    for (int i = 0; i < 5; i++)
        event_base_loop(r->base, EVLOOP_NONBLOCK);
}

/* A server that takes connections and is silent; its port. */
static int listen_silently(int *fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(*fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(*fd, 8), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

/* Given up, and wanted again before the loop has had a turn to close it: another one is opened, at
 * once. */
static void test_wanted_again_before_it_was_closed(void **state)
{
    (void)state;
    struct rig r;
    int fd;
    begin(&r);
    assert_true(open_sessions(&r, listen_silently(&fd)));
    read_all(&r);
    assert_int_equal(r.opened, 1);
    turn(&r);
    assert_int_equal(r.answers, PATHS); /* of the own session, which is not there */
    watch_sessions_rest(r.w);
    read_all(&r);
    assert_int_equal(r.closed, 0);
    turn(&r);
    assert_int_equal(r.closed, 1);
    assert_int_equal(r.opened, 2);
    assert_int_equal(watch_sessions_counts(r.w).sessions, 1);
    assert_false(watch_sessions_counts(r.w).is_short);
    watch_sessions_rest(r.w); /* and not wanted any more */
    turn(&r);
    assert_int_equal(r.closed, 2);
    assert_int_equal(r.opened, 2);
    close(fd);
    end(&r);
}

static void test_refused_is_told(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    assert_true(open_sessions(&r, NO_PORT));
    read_all(&r);
    while (r.notices == 0)
        assert_int_equal(event_base_loop(r.base, EVLOOP_ONCE), 0);
    assert_int_equal(r.news, 1);
    assert_non_null(strstr(r.notice, "a further session for watches cannot be had"));
    assert_non_null(strstr(r.notice, "zookeeper.jute.maxbuffer = 1024"));
    turn(&r);
    assert_int_equal(r.answers, PATHS);
    read_all(&r);
    assert_int_equal(r.opened, 1); /* not so soon again */
    assert_true(watch_sessions_counts(r.w).is_short);
    end(&r);
}

/* Without memory there are none of them, or a read goes uncounted to the own session: each is
 * answered, once. */
static void test_memory(void **state)
{
    (void)state;
    struct rig r;
    begin(&r);
    ALLOC_FAIL_EACH(n, failed, {
        failed = !open_sessions(&r, NO_PORT);
        if (!failed) {
            alloc_fail_pause(true); /* the loop has an item of it now */
            watch_sessions_free(r.w);
            alloc_fail_pause(false);
        }
        r.w = NULL;
    });
    assert_true(open_sessions(&r, NO_PORT));
    alloc_fail_at(0); /* the first of a read is the spread's: what a session allocates is its own */
    read_path(&r, 0);
    assert_true(alloc_fail_stop());
    turn(&r);
    assert_int_equal(r.answers, 1);
    assert_int_equal(r.lost, 1);
    assert_int_equal(watch_sessions_counts(r.w).watches, 0);
    read_all(&r);
    turn(&r);
    assert_int_equal(r.answers, 1 + PATHS);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted_again_before_it_was_closed),
        cmocka_unit_test(test_refused_is_told),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
