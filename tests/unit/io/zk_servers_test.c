#include "tests/support/dns_server.h"
#include "tests/unit/test.h"
#include "zkconsumer/io/zk_servers.h"

#include <event2/event.h>

static struct dns_entry entries[] = {
    {.name = "three.test", .v4 = "10.1.0.1 10.1.0.2 10.1.0.3"},
    {.name = "dual.test", .v4 = "10.2.0.1", .v6 = "2001:db8::2"},
    {.name = "silent.test", .is_silent = 1},
};

static struct event_base *base;
static struct dns_server *dns;
static struct resolver *resolver;
static unsigned answers;

static int set_up(void **state)
{
    (void)state;
    answers = 0;
    base = event_base_new();
    dns = dns_server_new(base, entries, ARRAY_LEN(entries));
    resolver = resolver_new_with(&(struct resolver_options){
        .base = base, .nameserver = dns_server_address(dns), .hosts_path = "/dev/null"});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    resolver_free(resolver);
    event_base_loop(base, EVLOOP_NONBLOCK);
    dns_server_free(dns);
    event_base_free(base);
    return 0;
}

static void on_answer(void *user)
{
    (void)user;
    answers++;
}

static void open_servers(struct zk_servers *servers, const char *text)
{
    struct zk_connect connect;
    struct why why;

    assert_int_equal(zk_connect_parse(text, &connect, &why), ZKC_OK);
    assert_true(zk_servers_init_take(servers, resolver, &connect, on_answer, NULL));
    zk_connect_deinit(&connect);
}

static void resolve(struct zk_servers *servers, unsigned wanted)
{
    unsigned before = answers;
    zk_servers_resolve(servers);
    while (answers - before < wanted)
        event_base_loop(base, EVLOOP_ONCE);
}

/* How often each entry stands in the list; fails on an entry that is not among `want`. */
static size_t count_entries(const char *list, const char *const *want, size_t want_count,
                            size_t *counts)
{
    char copy[1024], *save = NULL;
    size_t len = 0;

    snprintf(copy, sizeof copy, "%s", list);
    memset(counts, 0, want_count * sizeof *counts);
    for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        size_t i = 0;
        while (i < want_count && strcmp(word, want[i]) != 0)
            i++;
        if (i == want_count)
            fail_msg("'%s' in '%s'", word, list);
        counts[i]++;
        len++;
    }
    return len;
}

static const struct list_case {
    const char *name, *connect;
    const char *want[5];
    size_t count;
} cases[] = {
    {"one", "10.0.0.1:1", {"10.0.0.1:1"}, 1},
    {"two, made odd", "10.0.0.1:1,10.0.0.2:2", {"10.0.0.1:1", "10.0.0.2:2"}, 2},
    {"IPv6 as the client takes it", "[::1]:2181", {"::1:2181"}, 1},
    {"a name of three", "three.test.:5", {"10.1.0.1:5", "10.1.0.2:5", "10.1.0.3:5"}, 3},
    {"four",
     "10.0.0.1:1,three.test.:5",
     {"10.0.0.1:1", "10.1.0.1:5", "10.1.0.2:5", "10.1.0.3:5"},
     4},
    {"both families", "dual.test.:5", {"10.2.0.1:5", "2001:db8::2:5"}, 2},
};

/* ZOOKEEPER-2466: the client takes every other address after a failure, so an odd number reaches
 * all of them. */
static void test_lists(void **state)
{
    (void)state;
    for (const struct list_case *c = cases; c < cases + ARRAY_LEN(cases); c++) {
        struct zk_servers servers;
        size_t counts[5], last_len = 0;
        struct rng rng;

        open_servers(&servers, c->connect);
        resolve(&servers, (unsigned)servers.count);
        assert_true(servers.is_changed);
        for (uint64_t seed = 0; seed < 20; seed++) {
            rng_init(&rng, seed);
            char *list = zk_servers_list(&servers, &rng);
            size_t len = count_entries(list, c->want, c->count, counts);
            if (len % 2 == 0 || len == last_len)
                fail_msg("%s: %zu entries after %zu", c->name, len, last_len);
            for (size_t i = 0; i < c->count; i++)
                if (counts[i] == 0)
                    fail_msg("%s: '%s' lacks %s", c->name, list, c->want[i]);
            last_len = len;
            free(list);
        }
        assert_false(servers.is_changed);
        zk_servers_deinit(&servers);
    }
}

static void test_order_follows_the_seed(void **state)
{
    struct zk_servers servers;
    char first[8][64];
    unsigned distinct = 0;

    (void)state;
    open_servers(&servers, "10.0.0.1:1,10.0.0.2:1,10.0.0.3:1");
    resolve(&servers, 3);
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct rng rng;
        rng_init(&rng, seed);
        char *list = zk_servers_list(&servers, &rng);
        snprintf(first[seed], sizeof first[seed], "%s", list);
        free(list);
        bool is_new = true;
        for (uint64_t i = 0; i < seed; i++)
            is_new = is_new && strncmp(first[i], first[seed], 10) != 0;
        distinct += is_new;
    }
    assert_int_equal(distinct, 3); /* each comes first for some seed */
    zk_servers_deinit(&servers);
}

static void test_bad_names_do_not_hide_good_ones(void **state)
{
    struct zk_servers servers;
    struct buf text;
    struct rng rng;

    (void)state;
    open_servers(&servers, "missing.test.:1,silent.test.:1,10.0.0.1:1");
    resolve(&servers, 2);
    assert_true(zk_servers_is_resolving(&servers));
    rng_init(&rng, 1);
    char *list = zk_servers_list(&servers, &rng);
    assert_string_equal(list, "10.0.0.1:1");
    free(list);
    buf_init(&text, 1024);
    zk_servers_format_errors(&servers, &text);
    assert_string_equal(buf_text(&text), "missing.test.: no such host");
    buf_clear(&text);
    zk_servers_format(&servers, &text);
    assert_string_equal(buf_text(&text), "missing.test.:1,silent.test.:1,10.0.0.1:1");
    buf_deinit(&text);
    zk_servers_deinit(&servers);
}

static void test_new_addresses_replace_old_ones(void **state)
{
    struct zk_servers servers;
    const struct dns_entry saved = entries[0];
    struct rng rng;

    (void)state;
    open_servers(&servers, "three.test.:1");
    resolve(&servers, 1);
    rng_init(&rng, 1);
    free(zk_servers_list(&servers, &rng));

    entries[0].v4 = "10.1.0.3 10.1.0.1 10.1.0.2"; /* only turned round */
    resolve(&servers, 1);
    assert_false(servers.is_changed);

    entries[0].name = "gone.test"; /* a name that fails keeps what it had */
    resolve(&servers, 1);
    assert_false(servers.is_changed);
    assert_int_equal(zk_servers_address_count(&servers), 3);

    entries[0] = saved;
    entries[0].v4 = "10.1.0.9";
    resolve(&servers, 1);
    assert_true(servers.is_changed);
    assert_int_equal(zk_servers_address_count(&servers), 1);
    entries[0] = saved;
    zk_servers_deinit(&servers);
}

static void test_no_list_without_addresses(void **state)
{
    struct zk_servers servers;
    struct rng rng;

    (void)state;
    open_servers(&servers, "missing.test.:1");
    rng_init(&rng, 1);
    assert_null(zk_servers_list(&servers, &rng));
    resolve(&servers, 1);
    assert_null(zk_servers_list(&servers, &rng));
    zk_servers_deinit(&servers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order_follows_the_seed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_names_do_not_hide_good_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_new_addresses_replace_old_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_list_without_addresses, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
