/* Against a name server of our own on loopback. */
#include "tests/support/dns_server.h"
#include "tests/unit/test.h"
#include "zkconsumer/io/resolver.h"

#include <event2/event.h>
#include <fcntl.h>
#include <unistd.h>

/* With a dot at the end of the questions: whatever the machine's search domains are, they are not
 * asked for. */
static const struct dns_entry entries[] = {
    {.name = "v4.test", .v4 = "10.1.0.1 10.1.0.2"},
    {.name = "v6.test", .v6 = "2001:db8::1"},
    {.name = "dual.test", .v4 = "10.2.0.1", .v6 = "2001:db8::2"},
    {.name = "empty.test"},
    {.name = "silent.test", .is_silent = 1},
};

struct fixture {
    struct event_base *base;
    struct dns_server *dns;
    struct resolver *r;
    char hosts_path[64];
};

struct answer {
    unsigned calls;
    bool is_late; /* never while resolver_lookup() runs */
    char addresses[512], error[128];
    struct resolver *free_it; /* in the callback */
};

static struct fixture f;
static bool is_looking_up;

static int set_up(void **state)
{
    FILE *hosts;
    int fd;

    (void)state;
    f.base = event_base_new();
    f.dns = dns_server_new(f.base, entries, ARRAY_LEN(entries));
    strcpy(f.hosts_path, "/tmp/zkc-hosts-XXXXXX");
    fd = mkstemp(f.hosts_path);
    hosts = fdopen(fd, "w");
    fputs("10.9.0.1 filed.test\n::9 filed.test\n", hosts);
    fclose(hosts);
    f.r = resolver_new_with(&(struct resolver_options){
        .base = f.base, .nameserver = dns_server_address(f.dns), .hosts_path = f.hosts_path});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    resolver_free(f.r);
    event_base_loop(f.base, EVLOOP_NONBLOCK);
    dns_server_free(f.dns);
    event_base_free(f.base);
    unlink(f.hosts_path);
    return 0;
}

static void on_result(const struct resolver_result *result, void *user)
{
    struct answer *answer = user;
    char text[RESOLVER_TEXT_MAX];

    answer->calls++;
    answer->is_late = !is_looking_up;
    for (size_t i = 0; i < result->count; i++) {
        strcat(answer->addresses, resolver_address_text(&result->addresses[i], text));
        strcat(answer->addresses, " ");
    }
    snprintf(answer->error, sizeof answer->error, "%s", result->error ? result->error : "");
    if (answer->free_it) {
        resolver_free(answer->free_it);
        f.r = NULL;
    }
}

static struct resolver_request *look_up(const char *host, struct answer *answer)
{
    struct resolver_request *request;
    is_looking_up = true;
    request = resolver_lookup(f.r, host, 99, on_result, answer);
    is_looking_up = false;
    assert_non_null(request);
    return request;
}

static void wait_for(const struct answer *answer)
{
    while (answer->calls == 0)
        assert_int_equal(event_base_loop(f.base, EVLOOP_ONCE), 0);
}

static const struct lookup_case {
    const char *name, *host, *addresses, *error;
    size_t questions;
} cases[] = {
    {"several addresses", "v4.test.", "10.1.0.1:99 10.1.0.2:99 ", "", 2},
    {"IPv6 only", "v6.test.", "[2001:db8::1]:99 ", "", 2},
    {"IPv4 before IPv6", "dual.test.", "10.2.0.1:99 [2001:db8::2]:99 ", "", 2},
    {"no such name", "missing.test.", "", "no such host", 2},
    {"a name without addresses", "empty.test.", "", "the name has no address", 2},
    {"number, IPv4", "10.0.0.7", "10.0.0.7:99 ", "", 0},
    {"number, IPv6", "::7", "[::7]:99 ", "", 0},
    {"hosts file, both families", "FILED.test", "10.9.0.1:99 [::9]:99 ", "", 0},
    {"label too long",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test.", "",
     "not a valid host name", 0},
};

static void test_lookups(void **state)
{
    (void)state;
    for (const struct lookup_case *c = cases; c < cases + ARRAY_LEN(cases); c++) {
        struct answer answer = {0};
        size_t before = dns_server_questions(f.dns);
        look_up(c->host, &answer);
        wait_for(&answer);
        size_t questions = dns_server_questions(f.dns) - before;
        if (answer.calls != 1 || !answer.is_late || strcmp(answer.addresses, c->addresses) != 0 ||
            strcmp(answer.error, c->error) != 0 || questions != c->questions)
            fail_msg("%s: %u calls, late %d, '%s', error '%s', %zu questions", c->name,
                     answer.calls, answer.is_late, answer.addresses, answer.error, questions);
    }
}

static void test_a_silent_name_keeps_nobody_waiting(void **state)
{
    struct answer silent = {0}, other = {0};

    (void)state;
    struct resolver_request *request = look_up("silent.test.", &silent);
    look_up("v4.test.", &other);
    wait_for(&other);
    assert_int_equal(silent.calls, 0);
    resolver_cancel(request);
}

static void test_no_call_after_cancel(void **state)
{
    static const char *const hosts[] = {"10.0.0.1", "filed.test", "v4.test.", "silent.test."};
    struct answer cancelled = {0}, last = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        resolver_cancel(look_up(hosts[i], &cancelled));
    resolver_cancel(NULL);
    look_up("dual.test.", &last);
    wait_for(&last);
    assert_int_equal(cancelled.calls, 0);
}

/* An answer that has come in but was not delivered yet is the hard case. */
static void test_free_with_lookups_under_way(void **state)
{
    struct answer silent = {0}, number = {0}, answered = {0};

    (void)state;
    look_up("silent.test.", &silent);
    look_up("10.0.0.1", &number);
    look_up("v4.test.", &answered);
    while (dns_server_questions(f.dns) < 4)
        event_base_loop(f.base, EVLOOP_ONCE);
    unsigned before = answered.calls; /* it may have been fast */
    resolver_free(f.r);
    f.r = NULL;
    for (int i = 0; i < 10; i++)
        event_base_loop(f.base, EVLOOP_NONBLOCK);
    assert_int_equal(silent.calls, 0);
    assert_int_equal(answered.calls, before);
}

static void test_free_in_the_callback(void **state)
{
    struct answer answer = {.free_it = f.r}, other = {0};

    (void)state;
    look_up("v4.test.", &answer);
    look_up("v4.test.", &other);
    wait_for(&answer);
    for (int i = 0; i < 10; i++)
        event_base_loop(f.base, EVLOOP_NONBLOCK);
    assert_int_equal(answer.calls, 1);
    assert_true(other.calls <= 1);
}

static void test_descriptors_are_close_on_exec(void **state)
{
    struct answer answer = {0};
    bool is_open_before[256], is_any_new = false;

    (void)state;
    for (int fd = 0; fd < 256; fd++)
        is_open_before[fd] = fcntl(fd, F_GETFD) != -1;
    look_up("v4.test.", &answer);
    wait_for(&answer);
    for (int fd = 0; fd < 256; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (is_open_before[fd] || flags == -1)
            continue;
        is_any_new = true;
        if (!(flags & FD_CLOEXEC))
            fail_msg("descriptor %d is inherited", fd);
    }
    assert_true(is_any_new);
}

/* Without its question the loop ends: an idle resolver keeps no application running. */
static void test_idle_resolver_does_not_keep_the_loop(void **state)
{
    struct answer answer = {0};

    (void)state;
    look_up("v4.test.", &answer);
    wait_for(&answer);
    dns_server_free(f.dns);
    assert_int_equal(event_base_dispatch(f.base), 1); /* 1: no events */
    f.dns = dns_server_new(f.base, entries, ARRAY_LEN(entries));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lookups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_silent_name_keeps_nobody_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_call_after_cancel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_free_with_lookups_under_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_free_in_the_callback, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_are_close_on_exec, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_idle_resolver_does_not_keep_the_loop, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
