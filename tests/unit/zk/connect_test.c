#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/connect.h"

/* The faults of F29: where a chroot may stand, and how it is written. */
static const struct {
    const char *text;
    const char *want; /* canonical */
    size_t hosts;
    const char *chroot;
} accepted[] = {
    {"h1:2181,h2:2182/a/b", "h1:2181,h2:2182/a/b", 2, "/a/b"},
    {"h1", "h1:2181", 1, ""},
    {"h1:2181", "h1:2181", 1, ""},
    {"h1:2181/", "h1:2181", 1, ""},
    {"h1/a", "h1:2181/a", 1, "/a"},
    {"h1:2181/a/", "h1:2181/a", 1, "/a"},
    {" h1:1 ,\th2 , h3:3/c ", "h1:1,h2:2181,h3:3/c", 3, "/c"},
    {"h1,h1", "h1:2181,h1:2181", 2, ""},
    {"127.0.0.1:65535", "127.0.0.1:65535", 1, ""},
    {"[::1]:2182", "[::1]:2182", 1, ""},
    {"[::1]", "[::1]:2181", 1, ""},
    {"[fe80::1%eth0]:1,[::]/x", "[fe80::1%eth0]:1,[::]:2181/x", 2, "/x"},
    {"h1/.a/..b/c.", "h1:2181/.a/..b/c.", 1, "/.a/..b/c."},
    {"[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]:2181", 1, ""},
    {"h1/with blank/\xC3\xA9", "h1:2181/with blank/\xC3\xA9", 1, "/with blank/\xC3\xA9"},
    {"h_1.example-x:00001", "h_1.example-x:1", 1, ""},
};

static void test_accepts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
        struct zk_connect c;
        struct why why;
        struct buf b;
        enum zkc_err err = zk_connect_parse(accepted[i].text, &c, &why);
        if (err)
            fail_msg("%s: %s (%s)", accepted[i].text, zkc_err_name(err), why.text);
        buf_init(&b, 1000);
        zk_connect_format(&c, &b);
        if (strcmp(buf_text(&b), accepted[i].want) != 0 || c.host_count != accepted[i].hosts ||
            strcmp(c.chroot, accepted[i].chroot) != 0 || why.text[0])
            fail_msg("%s: %s", accepted[i].text, buf_text(&b));
        buf_deinit(&b);
        zk_connect_deinit(&c);
    }
}

static void test_hosts_are_taken_apart(void **state)
{
    (void)state;
    struct zk_connect c;
    struct why why;
    struct buf b;
    assert_int_equal(zk_connect_parse("h1,[::1]:5", &c, &why), ZKC_OK);
    assert_string_equal(c.hosts[0].name, "h1");
    assert_int_equal(c.hosts[0].port, 2181);
    assert_string_equal(c.hosts[1].name, "::1");
    assert_int_equal(c.hosts[1].port, 5);
    buf_init(&b, 100);
    zk_host_format(&c.hosts[1], &b);
    assert_string_equal(buf_text(&b), "[::1]:5");
    buf_deinit(&b);
    zk_connect_deinit(&c);
}

static const struct {
    const char *text;
    const char *why; /* after "zookeeper.connect"; beginning */
} refused[] = {
    {"", " has 0 bytes; expected host1:port1,host2:port2/chroot, at most 4096 bytes"},
    {" \t ", " has 0 bytes"},
    {"/", ": host 1 is empty; expected host1:port1,host2:port2/chroot"},
    {"/a", ": host 1 is empty"},
    {",h1", ": host 1 is empty"},
    {"h1,,h2", ": host 2 is empty"},
    {"h1,", ": host 2 is empty"},
    {"h1, /a", ": host 2 is empty"},
    {"h1/a,h2/a",
     ": \",h2/a\" after the chroot \"/a\"; the chroot stands once, after the last host, and holds "
     "for all: expected host1:port1,host2:port2/chroot"},
    {"h1/,h2", ": \",h2\" after the chroot \"/\""},
    {"h1//a", ": chroot \"//a\" has the element \"\"; expected names that are not"},
    {"h1/a//b", ": chroot \"/a//b\" has the element \"\""},
    {"h1/a//", ": chroot \"/a/\" has the element \"\""},
    {"h1//", ": chroot \"/\" has the element \"\""},
    {"h1/a /b", ": chroot \"/a /b\" has the element \"a \""},
    {"h1/ a", ": chroot \"/ a\" has the element \" a\""},
    {"h1/a /", ": chroot \"/a \" has the element \"a \""},
    {"h1/./a", ": chroot \"/./a\" has the element \".\""},
    {"h1/a/..", ": chroot \"/a/..\" has the element \"..\""},
    {"h1/a\x01",
     ": chroot \"/a\\x01\": \"\\x01\", which ZooKeeper does not take in the name of a znode"},
    {"h1/a/\xFF.", ": chroot \"/a/\\xff.\": \"\\xff\", which ZooKeeper does not take"},
    {"h1:", ": port \"\" of \"h1:\"; expected a number in 1 .. 65535"},
    {"h1:0", ": port \"0\" of \"h1:0\""},
    {"h1:65536", ": port \"65536\""},
    {"h1:123456", ": port \"123456\""},
    {"h1:-1", ": port \"-1\""},
    {"h1:21 81", ": port \"21 81\""},
    {"h1:x", ": port \"x\""},
    {":2181", ": \":2181\": expected a host name of 1 to 255 bytes"},
    {"::1", ": \"::1\" has several ':'; write an IPv6 address in brackets, [::1]:2181"},
    {"::1:2181", ": \"::1:2181\" has several ':'"},
    {"h1:2181:h2:2181", ": \"h1:2181:h2:2181\" has several ':'"},
    {"[::1", ": \"[::1\" has no closing ']'"},
    {"[::1]2181", ": \"[::1]2181\": expected ':' and a port after ']'"},
    {"[]", ": \"[]\": expected an IPv6 address in the brackets"},
    {"[]:1", ": \"[]:1\": expected an IPv6 address"},
    {"[h1]:1", ": \"[h1]:1\": expected an IPv6 address"},
    {"[127.0.0.1]:1", ": \"[127.0.0.1]:1\": expected an IPv6 address"},
    {"[::g]:1", ": \"[::g]:1\": expected an IPv6 address"},
    {"[::1%]:1", ": \"[::1%]:1\": expected an IPv6 address"},
    {"[::1%a%b]:1", ": \"[::1%a%b]:1\": expected an IPv6 address"},
    {"[%a:b]:1", ": \"[%a:b]:1\": expected an IPv6 address"},
    {"h\xC3\xA9", ": \"\xC3\xA9\" in host \"h\xC3\xA9\""},
    {"[::1]:", ": port \"\""},
    {"h1 h2", ": \" \" in host \"h1 h2\"; expected host1"},
    {"h1;h2", ": \";\" in host \"h1;h2\""},
    {"zk://h1:2181", ": chroot \"//h1:2181\" has the element \"\""},
    {"h%1", ": \"%\" in host \"h%1\""},
};

static void test_refuses_with_the_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct zk_connect c;
        struct why why;
        char want[400];
        snprintf(want, sizeof want, "zookeeper.connect%s", refused[i].why);
        enum zkc_err err = zk_connect_parse(refused[i].text, &c, &why);
        if (err != ZKC_ERR_CONFIG || strncmp(why.text, want, strlen(want)) != 0)
            fail_msg("%s: %s (%s)", refused[i].text, zkc_err_name(err), why.text);
    }
}

static void repeat(char *text, size_t n, char c)
{
    memset(text, c, n);
    text[n] = '\0';
}

static void test_limits(void **state)
{
    (void)state;
    char text[2 * ZK_CONNECT_TEXT_MAX];
    struct zk_connect c;
    struct why why;
    for (size_t hosts = ZK_CONNECT_HOSTS_MAX; hosts <= ZK_CONNECT_HOSTS_MAX + 1; hosts++) {
        for (size_t i = 0; i < hosts; i++)
            memcpy(text + 2 * i, "h,", 2);
        text[2 * hosts - 1] = '\0';
        enum zkc_err err = zk_connect_parse(text, &c, &why);
        assert_int_equal(err, hosts > ZK_CONNECT_HOSTS_MAX ? ZKC_ERR_CONFIG : ZKC_OK);
        if (!err)
            zk_connect_deinit(&c);
    }
    assert_string_equal(why.text, "zookeeper.connect: 65 hosts; expected at most 64");
    repeat(text, 255, 'h');
    assert_int_equal(zk_connect_parse(text, &c, &why), ZKC_OK);
    zk_connect_deinit(&c);
    repeat(text, 256, 'h');
    assert_int_equal(zk_connect_parse(text, &c, &why), ZKC_ERR_CONFIG);
    repeat(text, ZK_CONNECT_TEXT_MAX, 'a');
    memcpy(text, "h/", 2);
    assert_int_equal(zk_connect_parse(text, &c, &why), ZKC_OK);
    zk_connect_deinit(&c);
    repeat(text, ZK_CONNECT_TEXT_MAX + 1, 'a');
    memcpy(text, "h/", 2);
    assert_int_equal(zk_connect_parse(text, &c, &why), ZKC_ERR_CONFIG);
    assert_non_null(strstr(why.text, "has 4097 bytes"));
}

static enum zkc_err parse_once(const void *text)
{
    struct zk_connect c;
    struct why why;
    enum zkc_err err = zk_connect_parse(text, &c, &why);
    if (!err)
        zk_connect_deinit(&c);
    return err;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    alloc_fail_each(parse_once, "h1,h2:2,[::1]/a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_hosts_are_taken_apart),
        cmocka_unit_test(test_refuses_with_the_reason),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
