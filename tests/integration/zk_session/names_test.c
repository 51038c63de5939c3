/* Names instead of addresses, asked of a name server of our own. */
#include "tests/integration/zk_session/harness.h"
#include "tests/support/dns_server.h"

#include <arpa/inet.h>
#include <event2/listener.h>
#include <unistd.h>

static struct dns_entry entries[] = {
    {.name = "zk.test", .v4 = "127.0.0.1"},
    {.name = "dual.test", .v4 = "127.0.0.1", .v6 = "::1"},
    {.name = "silent.test", .is_silent = 1},
    {.name = "moving.test", .v4 = "127.0.0.99"}, /* nobody listens there */
    {.name = "waking.test", .v4 = "127.0.0.1", .is_silent = 1},
};

enum { MOVING = 3, WAKING = 4 };

static struct dns_server *dns;
static struct resolver *resolver;

static int set_up(void **state)
{
    (void)state;
    dns = dns_server_new(world.base, entries, ARRAY_LEN(entries));
    resolver = resolver_new_with(&(struct resolver_options){
        .base = world.base, .nameserver = dns_server_address(dns), .hosts_path = "/dev/null"});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    resolver_free(resolver);
    turn();
    dns_server_free(dns);
    return 0;
}

static struct app *open_names(const char *format, int port)
{
    char connect[128];
    snprintf(connect, sizeof connect, format, port, port);
    return app_open(
        &(struct app_options){.connect = connect, .resolver = resolver, .timeout_ms = 20000});
}

static void test_a_name(void **state)
{
    struct app *a = open_names("zk.test.:%d", world.server.port);

    (void)state;
    UNTIL(a->connected == 1);
    assert_string_equal(a->server, at(world.server.port, ""));
    app_end(a);
}

/* Two addresses, of which one does not listen: see ZOOKEEPER-2466. */
static void test_a_name_of_both_families(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = open_names("dual.test.:%d", zk_proxy_port(p));

    (void)state;
    UNTIL(a->connected == 1);
    for (unsigned i = 1; i <= 5; i++) {
        zk_proxy_reset(p);
        UNTIL(a->connected == i + 1);
    }
    app_end(a);
    zk_proxy_free(p);
}

/* A name server that does not answer: the loop turns on, the good address is used at once, and
 * while connected nothing is looked up at all. */
static void test_slow_name_server(void **state)
{
    struct app *a = open_names("silent.test.:%d,127.0.0.1:%d", world.server.port);
    size_t ticks = world.ticks;

    (void)state;
    UNTIL(a->connected == 1);
    assert_in_range(world.ticks - ticks, 0, 400);
    size_t questions = dns_server_questions(dns);
    world.getaddrinfos = 0;
    ticks = world.ticks;
    for (unsigned i = 0; i < 100; i++) {
        turn_ticks(1);
        assert_int_equal(app_do(a, ZK_OP_GET, "/"), ZK_OK);
    }
    assert_true(world.ticks - ticks >= 100);
    assert_int_equal(world.getaddrinfos, 0);
    assert_int_equal(dns_server_questions(dns), questions);
    assert_int_equal(a->unreachable, 0);
    app_end(a);
}

/* The first question is lost; evdns asks again after its 5 s. */
static void test_name_server_wakes_up(void **state)
{
    struct app *a = open_names("waking.test.:%d", world.server.port);

    (void)state;
    turn_ticks(20);
    assert_int_equal(a->connected, 0);
    entries[WAKING].is_silent = 0;
    UNTIL(a->connected == 1);
    app_end(a);
}

/* The servers move: their name is looked up again while nothing answers. */
static void test_address_changes(void **state)
{
    struct zk_proxy *p = zk_proxy_new(world.base, world.server.port);
    struct app *a = open_names("moving.test.:%d", zk_proxy_port(p));

    (void)state;
    UNTIL(a->unreachable == 1);
    assert_non_null(strstr(a->notice, "moving.test.:"));
    assert_non_null(strstr(a->notice, "127.0.0.99:"));
    entries[MOVING].v4 = "127.0.0.1";
    UNTIL(a->connected == 1);
    app_end(a);
    zk_proxy_free(p);
}

static void test_unknown_name(void **state)
{
    struct app *a = open_names("missing.test.:%d", 2181);

    (void)state;
    UNTIL(a->unreachable == 1);
    assert_non_null(strstr(a->notice, "missing.test.: no such host"));
    app_end(a);
}

static unsigned accepted_v6;

static void on_v6(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                  int len, void *arg)
{
    (void)listener;
    (void)address;
    (void)len;
    (void)arg;
    accepted_v6++;
    close(fd);
}

static void test_ipv6_address(void **state)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t len = sizeof address;
    struct evconnlistener *listener =
        evconnlistener_new_bind(world.base, on_v6, NULL, LEV_OPT_CLOSE_ON_FREE, 16,
                                (struct sockaddr *)&address, sizeof address);
    char server[64];

    (void)state;
    if (!listener)
        skip(); /* a machine without IPv6 */
    getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &len);
    struct app *a = open_names("[::1]:%d", ntohs(address.sin6_port));
    UNTIL(a->unreachable == 1);
    assert_true(accepted_v6 > 0);
    snprintf(server, sizeof server, "[::1]:%d", ntohs(address.sin6_port));
    assert_non_null(strstr(a->notice, server));
    app_end(a);
    evconnlistener_free(listener);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_name),           TEST(test_a_name_of_both_families),
        TEST(test_slow_name_server), TEST(test_name_server_wakes_up),
        TEST(test_address_changes),  TEST(test_unknown_name),
        TEST(test_ipv6_address),
    };
    return run_group("zk_session_names", tests, ARRAY_LEN(tests), &(struct zk_server_options){0},
                     NULL);
}
