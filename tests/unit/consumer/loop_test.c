#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/consumer/loop.h"
#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_loop(void **state)
{
    zkc_loop *loop;
    if (zkc_loop_open(NULL, &loop))
        return -1;
    *state = loop;
    return 0;
}

static int close_loop(void **state)
{
    zkc_loop_close(*state);
    return 0;
}

/* ---- calls ---- */

struct seen {
    zkc_loop *loop;
    bool is_current;
    unsigned count;
};

static void see(void *arg)
{
    struct seen *seen = arg;
    seen->is_current = zkc_loop_is_current(seen->loop);
    seen->count++;
}

static void test_call_runs_on_the_loops_thread(void **state)
{
    struct seen seen = {.loop = *state};
    assert_false(zkc_loop_is_current(*state));
    assert_int_equal(loop_call(*state, see, &seen), ZKC_OK);
    assert_true(seen.is_current);
    assert_int_equal(seen.count, 1);
}

static void call_inside(void *arg)
{
    struct seen *seen = arg;
    unsigned before = seen->count;
    if (loop_call(seen->loop, see, seen) == ZKC_OK && seen->count == before + 1)
        seen->count += 10; /* it ran at once, inside of the call */
}

static void test_call_on_the_loops_thread_is_direct(void **state)
{
    struct seen seen = {.loop = *state};
    assert_int_equal(loop_call(*state, call_inside, &seen), ZKC_OK);
    assert_int_equal(seen.count, 11);
}

static void *call_often(void *arg)
{
    struct seen *seen = arg;
    for (int i = 0; i < 500; i++)
        if (loop_call(seen->loop, see, seen))
            return seen;
    return NULL;
}

static void test_calls_of_many_threads_take_turns(void **state)
{
    struct seen seen = {.loop = *state};
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &seen), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(seen.count, 2000);
}

/* ---- items, on a base of the application so that each turn can be looked at ---- */

struct recorder {
    zkc_loop *loop;
    struct loop_item item, other;
    char order[32];
    unsigned again;
};

static void record(struct recorder *r, char c)
{
    size_t len = strlen(r->order);
    if (len + 1 < sizeof r->order)
        r->order[len] = c;
}

static void run_a(void *arg)
{
    struct recorder *r = arg;
    record(r, 'a');
    if (r->again) {
        r->again--;
        loop_post(r->loop, &r->item);
    }
}

static void run_b(void *arg)
{
    record(arg, 'b');
}

static void run_cancel(void *arg)
{
    struct recorder *r = arg;
    record(r, 'c');
    loop_cancel(r->loop, &r->other);
}

static void with_base(struct recorder *r, struct event_base **base)
{
    memset(r, 0, sizeof *r);
    *base = event_base_new();
    assert_non_null(*base);
    assert_int_equal(zkc_loop_open(*base, &r->loop), ZKC_OK);
    loop_item_init(&r->item, run_a, r);
    loop_item_init(&r->other, run_b, r);
}

static void end_base(struct recorder *r, struct event_base *base)
{
    zkc_loop_close(r->loop);
    event_base_free(base);
}

static void test_application_base_is_used(void **state)
{
    (void)state;
    struct recorder r;
    struct event_base *base;
    with_base(&r, &base);
    assert_ptr_equal(loop_base(r.loop), base);
    assert_true(zkc_loop_is_current(r.loop));
    loop_post(r.loop, &r.item);
    assert_string_equal(r.order, ""); /* not from inside of the call */
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "a");
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "a");
    end_base(&r, base);
}

static void test_posting_twice_is_once(void **state)
{
    (void)state;
    struct recorder r;
    struct event_base *base;
    with_base(&r, &base);
    loop_post(r.loop, &r.item);
    loop_post(r.loop, &r.other);
    loop_post(r.loop, &r.item);
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "ab");
    end_base(&r, base);
}

static void test_what_is_posted_in_a_turn_runs_in_the_next(void **state)
{
    (void)state;
    struct recorder r;
    struct event_base *base;
    with_base(&r, &base);
    r.again = 2;
    loop_post(r.loop, &r.item);
    loop_post(r.loop, &r.other);
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "ab");
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "aba");
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "abaa");
    end_base(&r, base);
}

static void test_cancelled_items_do_not_run(void **state)
{
    (void)state;
    struct recorder r;
    struct event_base *base;
    with_base(&r, &base);

    loop_post(r.loop, &r.item); /* the last of the queue, then the first, then the only one */
    loop_post(r.loop, &r.other);
    loop_cancel(r.loop, &r.other);
    loop_post(r.loop, &r.other);
    loop_cancel(r.loop, &r.item);
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "b");
    loop_post(r.loop, &r.item);
    loop_cancel(r.loop, &r.item);
    loop_cancel(r.loop, &r.item);
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "b");

    loop_item_init(&r.item, run_cancel, &r); /* by an item of the same turn */
    loop_post(r.loop, &r.item);
    loop_post(r.loop, &r.other);
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "bc");
    loop_post(r.loop, &r.other);
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_string_equal(r.order, "bcb");
    end_base(&r, base);
}

static void *call_once(void *arg)
{
    struct seen *seen = arg;
    return loop_call(seen->loop, see, seen) ? seen : NULL;
}

static void test_other_threads_wait_for_the_dispatching_thread(void **state)
{
    (void)state;
    struct recorder r;
    struct event_base *base;
    with_base(&r, &base);
    struct seen seen = {.loop = r.loop};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_once, &seen), 0);
    while (!seen.count)
        event_base_loop(base, EVLOOP_ONCE);
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_true(seen.is_current);
    end_base(&r, base);
}

/* ---- waiting ---- */

static void end_wait(void *arg)
{
    loop_wait_end(arg, ZKC_ERR_REBALANCE);
}

static void test_wait_gets_the_answer(void **state)
{
    struct loop_wait *w = loop_wait_new();
    assert_non_null(w);
    struct loop_item item;
    loop_item_init(&item, end_wait, w);
    loop_post(*state, &item);
    enum zkc_err err = ZKC_OK;
    assert_true(loop_wait(w, -1, &err));
    assert_int_equal(err, ZKC_ERR_REBALANCE);
    loop_wait_free(w);
}

static void test_wait_gives_up_in_time(void **state)
{
    (void)state;
    struct loop_wait *w = loop_wait_new();
    assert_non_null(w);
    enum zkc_err err = ZKC_ERR_END;
    assert_false(loop_wait(w, 0, &err));
    assert_false(loop_wait(w, 1, &err));
    assert_int_equal(err, ZKC_ERR_END);
    loop_wait_end(w, ZKC_OK); /* an answer that is there is taken, whatever the time */
    assert_true(loop_wait(w, 0, &err));
    assert_int_equal(err, ZKC_OK);
    loop_wait_free(w);
    loop_wait_free(NULL);
}

/* ---- a good guest ---- */

static void get_mask(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
}

static void test_signals_are_the_applications(void **state)
{
    sigset_t before, after, inside;
    struct sigaction pipe_before, pipe_after;
    sigaction(SIGPIPE, NULL, &pipe_before);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    zkc_loop *loop;
    assert_int_equal(zkc_loop_open(NULL, &loop), ZKC_OK);
    zkc_loop_close(loop);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    sigaction(SIGPIPE, NULL, &pipe_after);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
    assert_int_equal(sigismember(&after, SIGUSR1), sigismember(&before, SIGUSR1));
    assert_true(pipe_before.sa_handler == pipe_after.sa_handler);

    assert_int_equal(loop_call(*state, get_mask, &inside), ZKC_OK);
    assert_int_equal(sigismember(&inside, SIGTERM), 1);
    assert_int_equal(sigismember(&inside, SIGINT), 1);
}

static void test_descriptors_close_on_exec(void **state)
{
    (void)state;
    bool was_open[256];
    for (int fd = 0; fd < 256; fd++)
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
    zkc_loop *loop;
    assert_int_equal(zkc_loop_open(NULL, &loop), ZKC_OK);
    int ours = 0;
    for (int fd = 0; fd < 256; fd++) {
        int flags = was_open[fd] ? -1 : fcntl(fd, F_GETFD);
        if (flags < 0)
            continue;
        ours++;
        if (!(flags & FD_CLOEXEC))
            fail_msg("descriptor %d stays open over exec", fd);
    }
    assert_true(ours >= 2); /* epoll and eventfd at least, or the test looks at nothing */
    zkc_loop_close(loop);
}

static void test_forked_child_is_kept_out(void **state)
{
    zkc_loop *loop = *state;
    assert_false(loop_is_foreign(loop));
    pid_t child = fork();
    if (child == 0) {
        struct seen seen = {.loop = loop};
        bool is_good = loop_is_foreign(loop) &&
                       loop_call(loop, see, &seen) == ZKC_ERR_WRONG_PROCESS && !seen.count;
        zkc_loop_close(loop); /* must neither wait for the parent's thread nor wake it */
        _exit(is_good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    struct seen seen = {.loop = loop};
    assert_int_equal(loop_call(loop, see, &seen), ZKC_OK); /* the parent's is unharmed */
}

static void test_close_allows_null(void **state)
{
    (void)state;
    zkc_loop_close(NULL);
}

static void test_without_memory(void **state)
{
    (void)state;
    ALLOC_FAIL_EACH(n, failed, {
        zkc_loop *loop = NULL;
        failed = zkc_loop_open(NULL, &loop) == ZKC_ERR_NOMEM;
        zkc_loop_close(loop);
    });
    alloc_fail_at(0);
    assert_null(loop_wait_new());
    assert_true(alloc_fail_stop());
}

/* Each number of descriptors too few is an error, and leaves nothing open. */
static void test_without_descriptors(void **state)
{
    (void)state;
    int lowest = dup(0);
    assert_true(lowest >= 0);
    close(lowest);
    struct rlimit before, tight;
    getrlimit(RLIMIT_NOFILE, &before);
    enum zkc_err err = ZKC_ERR_SYSTEM;
    rlim_t given = 0;
    for (; err && given < 16; given++) {
        tight = before;
        tight.rlim_cur = (rlim_t)lowest + given;
        setrlimit(RLIMIT_NOFILE, &tight);
        zkc_loop *loop = NULL;
        err = zkc_loop_open(NULL, &loop);
        setrlimit(RLIMIT_NOFILE, &before);
        zkc_loop_close(loop);
        if (err && err != ZKC_ERR_SYSTEM)
            fail_msg("%d descriptors: %s", (int)given, zkc_err_name(err));
        int now = dup(0);
        close(now);
        if (now != lowest)
            fail_msg("%d descriptors: some stay open", (int)given);
    }
    assert_int_equal(err, ZKC_OK);
    assert_true(given > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_call_runs_on_the_loops_thread, open_loop, close_loop),
        cmocka_unit_test_setup_teardown(test_call_on_the_loops_thread_is_direct, open_loop,
                                        close_loop),
        cmocka_unit_test_setup_teardown(test_calls_of_many_threads_take_turns, open_loop,
                                        close_loop),
        cmocka_unit_test(test_application_base_is_used),
        cmocka_unit_test(test_posting_twice_is_once),
        cmocka_unit_test(test_what_is_posted_in_a_turn_runs_in_the_next),
        cmocka_unit_test(test_cancelled_items_do_not_run),
        cmocka_unit_test(test_other_threads_wait_for_the_dispatching_thread),
        cmocka_unit_test_setup_teardown(test_wait_gets_the_answer, open_loop, close_loop),
        cmocka_unit_test(test_wait_gives_up_in_time),
        cmocka_unit_test_setup_teardown(test_signals_are_the_applications, open_loop, close_loop),
        cmocka_unit_test(test_descriptors_close_on_exec),
        cmocka_unit_test_setup_teardown(test_forked_child_is_kept_out, open_loop, close_loop),
        cmocka_unit_test(test_close_allows_null),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_without_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
