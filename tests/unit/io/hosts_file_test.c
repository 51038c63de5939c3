#include "tests/unit/test.h"
#include "zkconsumer/io/hosts_file.h"

static const char hosts[] = "# comment\n"
                            "127.0.0.1\tlocalhost  Alias\n"
                            "::1 localhost ip6-localhost # the same name\n"
                            "  10.0.0.1 indented\n"
                            "10.0.0.2 dos\r\n"
                            "not-an-address broken\n"
                            "10.0.0.3\n"
                            "10.0.0.4 #commented\n"
                            "\n"
                            "10.0.0.5 last";

static const struct hosts_case {
    const char *name, *lookup, *want;
} cases[] = {
    {"both families, in the order of the file", "localhost", "127.0.0.1:7 [::1]:7 "},
    {"second name of a line", "ip6-localhost", "[::1]:7 "},
    {"case does not matter", "aLIAS", "127.0.0.1:7 "},
    {"blanks before the address", "indented", "10.0.0.1:7 "},
    {"line ends of another system", "dos", "10.0.0.2:7 "},
    {"address that is none", "broken", ""},
    {"in a comment", "commented", ""},
    {"last line without its end", "last", "10.0.0.5:7 "},
    {"part of a name", "local", ""},
    {"an address is no name", "10.0.0.3", ""},
    {"not there", "elsewhere", ""},
};

static void test_find(void **state)
{
    (void)state;
    for (const struct hosts_case *c = cases; c < cases + ARRAY_LEN(cases); c++) {
        union resolver_address found[4];
        char text[sizeof hosts], got[256] = "", one[RESOLVER_TEXT_MAX];
        memcpy(text, hosts, sizeof hosts);
        size_t count = hosts_file_find(text, c->lookup, 7, found, ARRAY_LEN(found));
        for (size_t i = 0; i < count; i++) {
            strcat(got, resolver_address_text(&found[i], one));
            strcat(got, " ");
        }
        if (strcmp(got, c->want) != 0)
            fail_msg("%s: got '%s', want '%s'", c->name, got, c->want);
    }
}

static void test_no_more_than_asked_for(void **state)
{
    union resolver_address found[2];
    char text[] = "10.0.0.1 h\n10.0.0.2 h\n10.0.0.3 h\n";

    (void)state;
    assert_int_equal(hosts_file_find(text, "h", 7, found, 2), 2);
}

static const struct numeric_case {
    const char *text, *want; /* NULL: not numeric */
} numerics[] = {
    {"127.0.0.1", "127.0.0.1:2181"},
    {"::1", "[::1]:2181"},
    {"fe80::1%lo", "[fe80::1%lo]:2181"},
    {"2001:db8::5", "[2001:db8::5]:2181"},
    {"localhost", NULL},
    {"", NULL},
    {"10.0.0.256", NULL},
    {"zk-1.example.org", NULL},
};

static void test_numeric(void **state)
{
    (void)state;
    for (const struct numeric_case *c = numerics; c < numerics + ARRAY_LEN(numerics); c++) {
        union resolver_address address;
        char text[RESOLVER_TEXT_MAX];
        bool is_numeric = hosts_file_numeric(c->text, 2181, &address);
        if (is_numeric != (c->want != NULL))
            fail_msg("'%s': numeric %d", c->text, is_numeric);
        if (is_numeric && strcmp(resolver_address_text(&address, text), c->want) != 0)
            fail_msg("'%s': got '%s', want '%s'", c->text, text, c->want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_no_more_than_asked_for),
        cmocka_unit_test(test_numeric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
