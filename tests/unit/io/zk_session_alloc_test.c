/* A session without memory: it is not there, or it tries again; nothing is lost, nothing crashes.
 * (What the C client allocates for itself cannot be made to fail here: it would not survive it.) */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/io/resolver.h"
#include "zkconsumer/io/zk_session.h"

#include <event2/event.h>

static unsigned notices;

static void on_event(const struct zk_session_event *event, void *user)
{
    (void)user;
    if (event->type != ZK_SESSION_EVENT_UNREACHABLE)
        return;
    assert_true(event->is_news && *event->text);
    notices++;
}

static void on_watch(const struct zk_watch_event *event, void *user)
{
    (void)event;
    (void)user;
}

static void test_each_allocation_fails_once(void **state)
{
    struct event_base *base = event_base_new();
    size_t refused = 0, survived = 0, n = 0;

    (void)state;
    do {
        alloc_fail_at(n++);
        struct resolver *resolver = resolver_new(base);
        struct zk_session_config config = {.base = base,
                                           .resolver = resolver,
                                           .connect = "127.0.0.1:1,[::1]:1/chroot", /* refused */
                                           .session_timeout_ms = 1000,
                                           .auth = "digest:user:password",
                                           .private_path = "/mine",
                                           .on_event = on_event,
                                           .on_watch = on_watch};
        struct zk_session *s = resolver ? zk_session_new(&config) : NULL;
        notices = 0;
        if (s) {
            survived++;
            while (notices == 0)
                assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
        } else {
            refused++;
        }
        zk_session_free(s);
        resolver_free(resolver);
        event_base_loop(base, EVLOOP_NONBLOCK);
    } while (alloc_fail_stop());
    assert_true(refused > 5);
    assert_true(survived > 5);
    event_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation_fails_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
