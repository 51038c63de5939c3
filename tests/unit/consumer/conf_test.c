#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/consumer/conf.h"
#include "zkconsumer/consumer/log.h"
#include <sys/stat.h>
#include <unistd.h>

static int set_up(void **state)
{
    *state = zkc_conf_new();
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    zkc_conf_free(*state);
    return 0;
}

static void set(zkc_conf *conf, const char *key, const char *value)
{
    char why[400] = "";
    if (zkc_conf_set(conf, key, value, why, sizeof why))
        fail_msg("%s=%s: %s", key, value, why);
}

static void expect_text(const zkc_conf *conf, const char *key, const char *want)
{
    const char *got = zkc_conf_get(conf, key);
    if (!want != !got || (want && strcmp(want, got)))
        fail_msg("%s: got %s, want %s", key, got ? got : "NULL", want ? want : "NULL");
}

/* ---- values ---- */

static const struct set_case {
    const char *key, *value;
    const char *want; /* as zkc_conf_get() gives it; NULL: refused */
    const char *why;  /* refused: a part of the explanation */
} set_cases[] = {
    /* Kafka's */
    {"group.id", "orders-1_x.y", "orders-1_x.y", NULL},
    {"group.id", "a/b", NULL, "group.id=a/b"},
    {"group.id", "a b", NULL, "letters, digits"},
    {"group.id", "..", NULL, "znode"},
    {"client.id", "me", "me", NULL},
    {"consumer.id", "host:1", "host:1", NULL},
    {"consumer.id", "a/b", NULL, "not allowed"},
    {"zookeeper.connect", "a:1,b:2/kafka", "a:1,b:2/kafka", NULL},
    {"zookeeper.connect", "a:1\n", "a:1", NULL},
    {"zookeeper.connect", "a\nb", NULL, "a\\nb"},
    {"zookeeper.session.timeout.ms", "4000", "4000", NULL},
    {"zookeeper.session.timeout.ms", " 4000 ", "4000", NULL},
    {"zookeeper.session.timeout.ms", "+4000", "4000", NULL},
    {"zookeeper.session.timeout.ms", "0004000", "4000", NULL},
    {"zookeeper.session.timeout.ms", "abc", NULL, "abc: is not a whole number"},
    {"zookeeper.session.timeout.ms", "4s", NULL, "whole number"},
    {"zookeeper.session.timeout.ms", "4.5", NULL, "whole number"},
    {"zookeeper.session.timeout.ms", "0x10", NULL, "whole number"},
    {"zookeeper.session.timeout.ms", "", NULL, "whole number"},
    {"zookeeper.session.timeout.ms", "-5", NULL, "expected 1 .. 2147483647"},
    {"zookeeper.session.timeout.ms", "2147483648", NULL, "out of range"},
    {"zookeeper.session.timeout.ms", "99999999999999999999999", NULL, "out of range"},
    {"consumer.timeout.ms", "-1", "-1", NULL},
    {"consumer.timeout.ms", "-2", NULL, "-1 .. 2147483647"},
    {"trace.origin.ns", "9223372036854775807", "9223372036854775807", NULL},
    {"auto.commit.enable", "false", "false", NULL},
    {"auto.commit.enable", "yes", NULL, "expected true, false"},
    {"auto.commit.enable", "True", NULL, "did you mean true"},
    {"zookeeper.connect", "h1:2181,h2:2181/a/b", "h1:2181,h2:2181/a/b", NULL},
    {"zookeeper.connect", "h1:2181/a,h2:2181/a", NULL, "zookeeper.connect: "},
    {"zookeeper.connect", "h1:99999", NULL, "zookeeper.connect: "},
    {"auto.offset.reset", "smallest", "smallest", NULL},
    {"auto.offset.reset", "earliest", "smallest", NULL},
    {"auto.offset.reset", "latest", "largest", NULL},
    {"auto.offset.reset", "none", "error", NULL},
    {"auto.offset.reset", "error", "error", NULL},
    {"auto.offset.reset", "newest", NULL, "smallest, largest, error"},
    {"partition.assignment.strategy", "roundrobin", "roundrobin", NULL},
    {"partition.assignment.strategy", "ceil", "ceil", NULL},
    {"partition.assignment.strategy", "rendezvous", "rendezvous", NULL},
    {"partition.assignment.strategy", "rendevous", NULL, "did you mean rendezvous?"},
    {"partition.assignment.strategy", "rangee", NULL, "did you mean range?"}, /* KAFKA-2032 */
    {"partition.assignment.strategy", "RoundRobin", NULL, "did you mean roundrobin?"},
    {"num.consumer.fetchers", "0", NULL, "1 .. 2147483647"},
    /* Kafka has no ranges */
    {"num.consumer.fetchers", "100", "100", NULL},
    {"fetch.min.bytes", "0", "0", NULL},
    {"offsets.commit.max.retries", "2147483647", "2147483647", NULL},
    {"queued.max.message.chunks", "100000", "100000", NULL},
    {"refresh.leader.backoff.ms", "0", "0", NULL},
    {"auto.commit.interval.ms", "0", "0", NULL},
    {"log.level", "8", NULL, "0 .. 7"},
    {"debug", "zk,claim", "zk,claim", NULL},
    {"debug", "all", "all", NULL},
    {"debug", "zk,coord", NULL, "zk, member, claim"},
    /* what this version acts on, and what it does not */
    {"group.protocol", "zookeeper", "zookeeper", NULL},
    {"group.protocol", "classic", NULL, "group.protocol=classic is not available"},
    {"group.protocol", "consumer", NULL, "use zookeeper"},
    {"zookeeper.mode", "compat", "compat", NULL},
    {"zookeeper.mode", "safe", "safe", NULL},
    {"zookeeper.mode", "fast", NULL, "compat, safe"},
    {"zookeeper.variant", "documented", "documented", NULL},
    {"zookeeper.variant", "0.9", NULL, "0.8, 0.7, documented"},
    {"zookeeper.watch.brokers", "true", "true", NULL},
    {"zookeeper.coalesce", "false", "false", NULL},
    {"zookeeper.watch.owners", "true", "true", NULL},
    {"zookeeper.acl", "creator", "creator", NULL},
    {"zookeeper.acl", "sasl", NULL, "open, creator"},
    {"zookeeper.auth", "digest:user:password", "digest:user:password", NULL},
    {"zookeeper.auth", "secret", NULL, "zookeeper.auth: expected scheme:credentials, such as"},
    {"zookeeper.claim", "multi", "multi", NULL},
    {"zookeeper.claim", "double", NULL, "auto, single, multi"},
    {"zookeeper.release", "session", "session", NULL},
    {"zookeeper.commit", "session", "session", NULL},
    {"zookeeper.fence", "lease", "lease", NULL},
    {"zookeeper.fence", "disconnect", "disconnect", NULL},
    {"zookeeper.sync.before.read", "true", "true", NULL},
    {"zookeeper.give.up", "never", "never", NULL},
    {"zookeeper.observer", "process", "process", NULL},
    {"zookeeper.jute.maxbuffer", "65536", "65536", NULL},
    {"zookeeper.jute.maxbuffer", "4095", NULL, "out of range"},
    {"zookeeper.watch.sessions.max", "16", "16", NULL},
    {"zookeeper.watch.sessions.max", "17", NULL, "out of range"},
    {"zookeeper.hand.over.ms", "0", "0", NULL},
    {"zookeeper.hand.over.ms", "-1", NULL, "out of range"},
    {"max.poll.interval.ms", "0", "0", NULL},
    {"acknowledgement.mode", "explicit", "explicit", NULL},
    {"acknowledgement.mode", "implicit", NULL, "explicit?"},
    {"partition.assignment.strategy", "sticky", NULL, "not available"},
    {"offsets.storage", "kafka", "kafka", NULL},
    {"offsets.storage", "KAFKA", "kafka", NULL},
    {"offsets.storage", "disk", NULL, "zookeeper, kafka"},
    {"dual.commit.enabled", "true", "true", NULL},
    {"dual.commit.enabled", "True", NULL, "auto, true, false"},
    {"dual.commit.enabled", "false", "false", NULL},
    {"exclude.internal.topics", "false", "false", NULL},
    {"zookeeper.lease.probe", "sync", "sync", NULL},
    {"zookeeper.lease.probe", "read", NULL, "write, sync"},
    {"zookeeper.keep.unmoved", "false", "false", NULL},
    {"offsets.commit.max.retries", "5", "5", NULL},
    {"offsets.channel.backoff.ms", "-1", NULL, "out of range"},
    {"offsets.channel.socket.timeout.ms", "0", NULL, "out of range"},
    {"bootstrap.servers", "a:9092", NULL, "zookeeper.connect"},
    {"metadata.broker.list", "a:9092", NULL, "zookeeper.connect"},
    {"group.instance.id", "i", NULL, "group.protocol=classic"},
    {"heartbeat.interval.ms", "3000", NULL, "group.protocol=classic"},
    {"value.deserializer", "x", NULL, "bytes"},
    /* typing errors */
    {"auto.comit.enable", "false", NULL, "did you mean auto.commit.enable?"},
    {"Group.Id", "g", NULL, "did you mean group.id?"},
    {"gruop.id", "g", NULL, "did you mean group.id?"},
    {"zookeeper_connect", "a:1", NULL, "did you mean zookeeper.connect?"},
    {"frobnicate", "1", NULL, "unknown key frobnicate; docs/configuration.md"},
    {"a.key.with\na.line", "1", NULL, "with\\na.line"},
    {"", "1", NULL, "unknown key"},
    {", ", "1", NULL, "unknown key"},
    {"enable.auto.commit, autocommit.enable", "true", NULL, "unknown key"},
};

static void test_set(void **state)
{
    (void)state;
    for (const struct set_case *c = set_cases; c < set_cases + ARRAY_LEN(set_cases); c++) {
        zkc_conf *conf = zkc_conf_new();
        assert_non_null(conf);
        char why[400] = "untouched";
        enum zkc_err err = zkc_conf_set(conf, c->key, c->value, why, sizeof why);
        if (err != (c->want ? ZKC_OK : ZKC_ERR_CONFIG))
            fail_msg("%s=%s: got %s, %s", c->key, c->value, zkc_err_name(err), why);
        if (c->want)
            expect_text(conf, c->key, c->want);
        else if (!strstr(why, c->why))
            fail_msg("%s=%s: \"%s\" does not say \"%s\"", c->key, c->value, why, c->why);
        zkc_conf_free(conf);
    }
}

static void test_refused_value_changes_nothing(void **state)
{
    zkc_conf *conf = *state;
    set(conf, "rebalance.max.retries", "7");
    assert_int_equal(zkc_conf_set(conf, "rebalance.max.retries", "x", NULL, 0), ZKC_ERR_CONFIG);
    expect_text(conf, "rebalance.max.retries", "7");
    char cut[8];
    assert_int_equal(zkc_conf_set(conf, "rebalance.max.retries", "x", cut, sizeof cut),
                     ZKC_ERR_CONFIG);
    assert_int_equal(strlen(cut), 7);
    assert_int_equal(zkc_conf_set(conf, NULL, "x", NULL, 0), ZKC_ERR_CONFIG);
    assert_int_equal(zkc_conf_set(conf, "group.id", NULL, NULL, 0), ZKC_ERR_CONFIG);
}

static void test_value_of_any_length(void **state)
{
    zkc_conf *conf = *state;
    char *value = malloc(20001);
    memset(value, 'a', 20000);
    value[20000] = '\0';
    char why[400] = "";
    assert_int_equal(zkc_conf_set(conf, "group.id", value, why, sizeof why), ZKC_ERR_CONFIG);
    assert_non_null(strstr(why, "too long"));
    value[8000] = '\0';
    set(conf, "trace.path", value);
    expect_text(conf, "trace.path", value);
    free(value);
}

static void test_defaults_follow_other_keys(void **state)
{
    zkc_conf *conf = *state;
    expect_text(conf, "client.id", NULL);
    expect_text(conf, "group.id", NULL);
    expect_text(conf, "rebalance.backoff.ms", "2000");
    expect_text(conf, "zookeeper.connection.timeout.ms", "6000");
    set(conf, "group.id", "g");
    set(conf, "zookeeper.sync.time.ms", "300");
    set(conf, "zookeeper.session.timeout.ms", "900");
    expect_text(conf, "client.id", "g");
    expect_text(conf, "rebalance.backoff.ms", "300");
    expect_text(conf, "zookeeper.connection.timeout.ms", "900");
    set(conf, "rebalance.backoff.ms", "1");
    expect_text(conf, "rebalance.backoff.ms", "1");
    set(conf, "client.id", "me");
    expect_text(conf, "client.id", "me");
    set(conf, "client.id", "  "); /* back to the default */
    expect_text(conf, "client.id", "g");
    expect_text(conf, "no.such.key", NULL);
    expect_text(conf, "bootstrap.servers", NULL);
    assert_null(zkc_conf_get(conf, NULL));
}

/* The defaults of Kafka 0.8.2.2 (ConsumerConfig.scala). */
static void test_defaults(void **state)
{
    static const char *const want[][2] = {
        {"auto.commit.enable", "true"},         {"auto.commit.interval.ms", "60000"},
        {"auto.offset.reset", "largest"},       {"consumer.timeout.ms", "-1"},
        {"dual.commit.enabled", "auto"},        {"exclude.internal.topics", "true"},
        {"fetch.message.max.bytes", "1048576"}, {"fetch.min.bytes", "1"},
        {"fetch.wait.max.ms", "100"},           {"num.consumer.fetchers", "1"},
        {"offsets.channel.backoff.ms", "1000"}, {"offsets.channel.socket.timeout.ms", "10000"},
        {"offsets.commit.max.retries", "5"},    {"offsets.storage", "zookeeper"},
        {"queued.max.message.chunks", "2"},     {"rebalance.max.retries", "4"},
        {"refresh.leader.backoff.ms", "200"},   {"socket.receive.buffer.bytes", "65536"},
        {"socket.timeout.ms", "30000"},         {"zookeeper.session.timeout.ms", "6000"},
        {"zookeeper.sync.time.ms", "2000"},
    };
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        expect_text(*state, want[i][0], want[i][1]);
}

/* ---- the table itself ---- */

struct walk {
    zkc_conf *conf;
    char last[64];
    unsigned count, aliases;
};

static void walk_key(const struct zkc_conf_key *key, void *user)
{
    struct walk *walk = user;
    if (strcmp(walk->last, key->name) >= 0)
        fail_msg("%s is not in order", key->name);
    snprintf(walk->last, sizeof walk->last, "%s", key->name);
    walk->count++;
    if (strlen(key->text) < 20 || !*key->range || !*key->type)
        fail_msg("%s: a key needs its description", key->name);

    /* the default is a value that can be set, and its text the one that is read */
    const char *got = zkc_conf_get(walk->conf, key->name);
    if (key->default_value[0] == '=') {
        const char *from = zkc_conf_get(walk->conf, key->default_value + 2);
        assert_true(got == from);
    } else {
        assert_string_equal(got ? got : "", key->default_value);
    }
    if (got)
        set(walk->conf, key->name, got);

    /* each word of the range is one that can be set */
    bool is_words = !strcmp(key->type, "word") || !strcmp(key->type, "boolean");
    char list[256];
    snprintf(list, sizeof list, "%s", is_words ? key->range : "");
    for (char *save, *word = strtok_r(list, ", ", &save); word; word = strtok_r(NULL, ", ", &save))
        set(walk->conf, key->name, word);

    /* each alias is the same key */
    snprintf(list, sizeof list, "%s", key->aliases);
    for (char *save, *a = strtok_r(list, ", ", &save); a; a = strtok_r(NULL, ", ", &save)) {
        walk->aliases++;
        if (zkc_conf_get(walk->conf, a) != zkc_conf_get(walk->conf, key->name))
            fail_msg("%s is no alias of %s", a, key->name);
    }
}

static void test_table_agrees_with_itself(void **state)
{
    struct walk walk = {.conf = *state};
    zkc_conf_describe(walk_key, &walk);
    assert_true(walk.count > 40);
    assert_true(walk.aliases > 10);
}

struct dump {
    char last[64];
    unsigned count, set;
};

static void dump_key(const char *key, const char *value, bool is_default, void *user)
{
    struct dump *dump = user;
    assert_non_null(value);
    assert_true(strcmp(dump->last, key) < 0);
    snprintf(dump->last, sizeof dump->last, "%s", key);
    dump->count++;
    dump->set += !is_default;
    if (!strcmp(key, "auto.offset.reset"))
        assert_string_equal(value, "smallest");
    if (!strcmp(key, "zookeeper.auth"))
        assert_string_equal(value, is_default ? "" : "[hidden]");
}

static void test_dump(void **state)
{
    set(*state, "auto.offset.reset", "earliest");
    set(*state, "group.id", "g");
    struct dump dump = {0};
    zkc_conf_dump(*state, dump_key, &dump);
    assert_true(dump.count > 40);
    assert_int_equal(dump.set, 2);
    set(*state, "zookeeper.auth", "digest:user:password");
    dump = (struct dump){0};
    zkc_conf_dump(*state, dump_key, &dump);
    assert_int_equal(dump.set, 3);
    expect_text(*state, "zookeeper.auth", "digest:user:password");
}

static void test_dup_is_independent(void **state)
{
    zkc_conf *conf = *state;
    set(conf, "group.id", "one");
    zkc_conf *dup = zkc_conf_dup(conf);
    assert_non_null(dup);
    set(conf, "group.id", "two");
    expect_text(dup, "group.id", "one");
    zkc_conf_free(dup);
    zkc_conf_free(NULL);
}

/* ---- files ---- */

struct warned {
    char text[8][400];
    unsigned count;
};

static void on_log(zkc_consumer *consumer, int level, const char *facility, const char *text,
                   void *user)
{
    struct warned *w = user;
    assert_null(consumer);
    assert_int_equal(level, 4);
    assert_string_equal(facility, "conf");
    if (w->count < ARRAY_LEN(w->text))
        snprintf(w->text[w->count], sizeof w->text[0], "%s", text);
    w->count++;
}

/* A file with this text; the name is the caller's to remove. */
static void write_file(char path[64], const char *text)
{
    snprintf(path, 64, "/tmp/zkc-conf-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static const struct load_case {
    const char *name, *text;
    const char *why;     /* refused: a part of the text after the path; NULL: loaded */
    const char *warning; /* a part of the only warning; NULL: none */
} load_cases[] = {
    {"plain", "group.id=g\n", NULL, NULL},
    {"colon, blanks, CRLF, comments", "# c\r\n! c\r\n  group.id : g\r\n\r\n", NULL, NULL},
    {"continued", "group.\\\n   id=g\n", NULL, NULL},
    {"no newline at the end", "group.id g", NULL, NULL},
    {"the last one counts", "group.id=x\ngroup.id=g\n", NULL, NULL},
    {"blanks at the end", "group.id=g  \n", NULL, ":1: blanks at the end"},
    {"unknown key", "group.id=g\nauto.comit.enable=false\n", NULL,
     ":2: ignored: unknown key auto.comit.enable; did you mean auto.commit.enable?"},
    {"key of others", "group.id=g\nbootstrap.servers=a:1\n", NULL,
     ":2: ignored: bootstrap.servers: brokers are found through zookeeper.connect"},
    {"key that changes what is expected", "group.id=g\ngroup.instance.id=i\n",
     ":2: group.instance.id: belongs to the coordinator", NULL},
    {"alias", "groupid=g\n", NULL, NULL},
    {"bad value", "group.id=g\n\nzookeeper.session.timeout.ms=abc\n",
     ":3: zookeeper.session.timeout.ms=abc: is not a whole number", NULL},
    {"negative value", "zookeeper.session.timeout.ms=-5\n", ":1: zookeeper.session.timeout.ms=-5",
     NULL},
    {"bad word", "# x\npartition.assignment.strategy=rangee\n", ":2: partition.assign", NULL},
    {"value of later", "group.protocol=classic\n", ":1: group.protocol=classic is not available",
     NULL},
    {"strict", "strict.config=true\nno.such=1\n", ":2: unknown key no.such", NULL},
    {"strict, said later", "no.such=1\nstrict.config=true\n", ":1: unknown key no.such", NULL},
    {"strict, key of others", "strict.config=true\nbootstrap.servers=a\n", ":2: bootstrap.servers",
     NULL},
    {"bad strictness", "a=1\nstrict.config=maybe\n", ":2: strict.config=maybe", NULL},
    {"bad escape", "group.id=\\u00zz\n", ": line 1: ", NULL},
    {"no key", "=g\n", ": line 1: ", NULL},
};

static void test_load(void **state)
{
    (void)state;
    for (const struct load_case *c = load_cases; c < load_cases + ARRAY_LEN(load_cases); c++) {
        char path[64], why[500] = "";
        write_file(path, c->text);
        struct warned warned = {0};
        zkc_conf *conf = zkc_conf_new();
        zkc_conf_set_user(conf, &warned);
        zkc_conf_set_on_log(conf, on_log);
        set(conf, "group.id", "before");
        enum zkc_err err = zkc_conf_load(conf, path, why, sizeof why);
        unlink(path);
        if (err != (c->why ? ZKC_ERR_CONFIG : ZKC_OK))
            fail_msg("%s: got %s: %s", c->name, zkc_err_name(err), why);
        expect_text(conf, "group.id", c->why ? "before" : "g"); /* all or nothing */
        bool is_named = !c->why || !strncmp(why, path, strlen(path));
        if (!is_named || (c->why && strncmp(why + strlen(path), c->why, strlen(c->why))))
            fail_msg("%s: \"%s\" does not say \"%s\"", c->name, why, c->why);
        if (warned.count != (c->warning ? 1 : 0))
            fail_msg("%s: %u warnings, %s", c->name, warned.count, warned.text[0]);
        if (c->warning && !strstr(warned.text[0], c->warning))
            fail_msg("%s: warned \"%s\"", c->name, warned.text[0]);
        zkc_conf_free(conf);
    }
}

static void test_load_keeps_quiet_when_told(void **state)
{
    zkc_conf *conf = *state;
    char path[64];
    write_file(path, "log.level=3\nno.such=1\n");
    struct warned warned = {0};
    zkc_conf_set_user(conf, &warned);
    zkc_conf_set_on_log(conf, on_log);
    assert_int_equal(zkc_conf_load(conf, path, NULL, 0), ZKC_OK);
    unlink(path);
    assert_int_equal(warned.count, 0);
    expect_text(conf, "log.level", "3");
}

static void test_load_what_cannot_be_read(void **state)
{
    zkc_conf *conf = *state;
    char why[400] = "";
    assert_int_equal(zkc_conf_load(conf, "/nonexistent/x", why, sizeof why), ZKC_ERR_SYSTEM);
    assert_string_equal(why, "/nonexistent/x: No such file or directory");
    assert_int_equal(zkc_conf_load(conf, "/tmp", why, sizeof why), ZKC_ERR_SYSTEM);
    assert_string_equal(why, "/tmp: Is a directory");
    assert_int_equal(zkc_conf_load(conf, "/dev/zero", why, sizeof why), ZKC_ERR_SYSTEM);
    assert_non_null(strstr(why, "too large"));
    assert_int_equal(zkc_conf_load(conf, "/dev/null", why, sizeof why), ZKC_OK);
}

/* ---- the view ---- */

static void note(const char *text, void *user)
{
    struct warned *w = user;
    if (w->count < ARRAY_LEN(w->text))
        snprintf(w->text[w->count], sizeof w->text[0], "%s", text);
    w->count++;
}

static struct conf_view read_view(const zkc_conf *conf, struct warned *warned)
{
    struct conf_view view;
    char why[400] = "";
    memset(warned, 0, sizeof *warned);
    if (conf_read(conf, &view, note, warned, why, sizeof why))
        fail_msg("refused: %s", why);
    return view;
}

static void test_view_of_the_defaults(void **state)
{
    zkc_conf *conf = *state;
    set(conf, "zookeeper.connect", "a:1");
    struct warned warned;
    struct conf_view v = read_view(conf, &warned);
    assert_int_equal(v.mode, CONF_MODE_SAFE);
    assert_int_equal(warned.count, 0);
    assert_null(v.group_id);
    assert_null(v.consumer_id);
    assert_string_equal(v.client_id, "zkconsumer"); /* 0.9 brokers fail on null */
    assert_string_equal(v.zookeeper_connect, "a:1");
    assert_int_equal(v.zookeeper_session_timeout_ms, 6000);
    assert_int_equal(v.zookeeper_connection_timeout_ms, 6000);
    assert_int_equal(v.variant, CONF_VARIANT_08);
    assert_int_equal(v.strategy, CONF_STRATEGY_RANGE);
    assert_true(v.is_strategy_auto);
    assert_false(v.watch_brokers);
    assert_int_equal(v.rebalance_retries_max, 4);
    assert_int_equal(v.rebalance_backoff_ms, 2000);
    assert_int_equal(v.refresh_leader_backoff_ms, 200);
    assert_int_equal(v.socket_timeout_ms, 30000);
    assert_int_equal(v.socket_receive_buffer_bytes, 65536);
    assert_int_equal(v.fetch_message_bytes_max, 1048576);
    assert_int_equal(v.fetch_bytes_min, 1);
    assert_int_equal(v.fetch_wait_ms_max, 100);
    assert_int_equal(v.fetchers_per_broker, 1);
    assert_int_equal(v.queued_chunks_max, 2);
    assert_int_equal(v.decompressed_bytes_max, 67108864);
    assert_int_equal(v.offset_reset, CONF_RESET_LARGEST);
    assert_int_equal(v.consumer_timeout_ms, -1);
    assert_true(v.auto_commit);
    assert_true(v.exclude_internal_topics);
    assert_int_equal(v.auto_commit_interval_ms, 60000);
    assert_int_equal(v.statistics_interval_ms, 0);
    assert_int_equal(v.log_level, 4);
    assert_int_equal(v.log_debug, 0);
    assert_null(v.trace_path);
    assert_int_equal(v.trace_level, 1);
    assert_null(v.trace_member);
    assert_int_equal(v.trace_origin_ns, 0);
}

static const struct view_case {
    const char *variant, *strategy, *watch;
    enum conf_variant want_variant;
    enum conf_strategy want_strategy;
    bool want_watch;
} view_cases[] = {
    {"0.8", "auto", "auto", CONF_VARIANT_08, CONF_STRATEGY_RANGE, false},
    {"0.7", "auto", "auto", CONF_VARIANT_07, CONF_STRATEGY_RANGE, true},
    {"documented", "auto", "auto", CONF_VARIANT_DOCUMENTED, CONF_STRATEGY_CEIL, true},
    {"documented", "range", "false", CONF_VARIANT_DOCUMENTED, CONF_STRATEGY_RANGE, false},
    {"0.8", "ceil", "true", CONF_VARIANT_08, CONF_STRATEGY_CEIL, true},
    {"0.8", "rendezvous", "false", CONF_VARIANT_08, CONF_STRATEGY_RENDEZVOUS, false},
    {"0.8", "roundrobin", "false", CONF_VARIANT_08, CONF_STRATEGY_ROUNDROBIN, false},
};

static void test_view_of_the_switches(void **state)
{
    zkc_conf *conf = *state;
    set(conf, "zookeeper.connect", "a:1");
    set(conf, "zookeeper.mode", "compat");
    for (const struct view_case *c = view_cases; c < view_cases + ARRAY_LEN(view_cases); c++) {
        set(conf, "zookeeper.variant", c->variant);
        set(conf, "partition.assignment.strategy", c->strategy);
        set(conf, "zookeeper.watch.brokers", c->watch);
        struct warned warned;
        struct conf_view v = read_view(conf, &warned);
        if (v.variant != c->want_variant || v.strategy != c->want_strategy ||
            v.watch_brokers != c->want_watch)
            fail_msg("%s %s %s: got %d %d %d", c->variant, c->strategy, c->watch, v.variant,
                     v.strategy, v.watch_brokers);
        assert_int_equal(v.is_strategy_auto, !strcmp(c->strategy, "auto"));
    }
}

static void test_view_of_the_rest(void **state)
{
    zkc_conf *conf = *state;
    set(conf, "zookeeper.connect", "a:1");
    set(conf, "group.id", "g");
    set(conf, "auto.commit.enable", "false");
    set(conf, "auto.offset.reset", "smallest");
    set(conf, "exclude.internal.topics", "false");
    set(conf, "debug", "zk, offset");
    set(conf, "trace.path", "/x");
    set(conf, "trace.member", "m3");
    set(conf, "trace.origin.ns", "5000000000000");
    int pointer;
    zkc_conf_set_user(conf, &pointer);
    zkc_conf_set_on_log(conf, on_log);
    struct warned warned;
    struct conf_view v = read_view(conf, &warned);
    assert_string_equal(v.client_id, "g");
    assert_false(v.auto_commit);
    assert_false(v.exclude_internal_topics);
    assert_int_equal(v.offset_reset, CONF_RESET_SMALLEST);
    assert_int_equal(v.log_debug, 1U << LOG_FACILITY_ZK | 1U << LOG_FACILITY_OFFSET);
    assert_string_equal(v.trace_path, "/x");
    assert_string_equal(v.trace_member, "m3");
    assert_int_equal(v.trace_origin_ns, INT64_C(5000000000000));
    assert_ptr_equal(v.user, &pointer);
    assert_true(v.on_log == on_log);
    set(conf, "auto.offset.reset", "none");
    set(conf, "debug", "all");
    v = read_view(conf, &warned);
    assert_int_equal(v.offset_reset, CONF_RESET_ERROR);
    assert_int_equal(v.log_debug, (1U << LOG_FACILITIES) - 1);
}

static void test_settings_that_contradict_each_other(void **state)
{
    zkc_conf *conf = *state;
    struct conf_view v;
    char why[400] = "";
    assert_int_equal(conf_read(conf, &v, NULL, NULL, why, sizeof why), ZKC_ERR_CONFIG);
    assert_non_null(strstr(why, "zookeeper.connect is not set"));
    set(conf, "zookeeper.connect", "a:1");
    set(conf, "fetch.wait.max.ms", "500");
    set(conf, "socket.timeout.ms", "499");
    assert_int_equal(conf_read(conf, &v, NULL, NULL, why, sizeof why), ZKC_ERR_CONFIG);
    assert_non_null(strstr(why, "socket.timeout.ms=499 is less than fetch.wait.max.ms=500"));
    set(conf, "socket.timeout.ms", "500");
    assert_int_equal(conf_read(conf, &v, NULL, NULL, why, sizeof why), ZKC_OK);
    set(conf, "zookeeper.acl", "creator");
    assert_int_equal(conf_read(conf, &v, NULL, NULL, why, sizeof why), ZKC_ERR_CONFIG);
    assert_non_null(strstr(why, "zookeeper.acl=creator needs zookeeper.auth"));
    set(conf, "zookeeper.auth", "digest:user:password");
    assert_int_equal(conf_read(conf, &v, NULL, NULL, why, sizeof why), ZKC_OK);
    assert_true(v.acl_creator);
    assert_string_equal(v.zookeeper_auth, "digest:user:password");
}

/* What only one of the modes acts on is refused with the other: nobody is to believe in it. */
static const struct mode_case {
    const char *key, *value;
    bool works_in_compat, works_in_safe;
} mode_cases[] = {
    {"acknowledgement.mode", "auto", true, true},
    {"acknowledgement.mode", "taken", true, false},
    {"acknowledgement.mode", "next", false, true},
    {"acknowledgement.mode", "explicit", true, true},
    {"max.poll.interval.ms", "1000", true, true},
    {"offsets.storage", "kafka", true, true},
    {"partition.assignment.strategy", "ceil", true, true},
    {"partition.assignment.strategy", "rendezvous", true, true},
    {"rebalance.max.retries", "9", true, true},
    {"zookeeper.acl", "open", true, true},
    {"zookeeper.acl", "creator", false, true},
    {"zookeeper.claim", "auto", true, true},
    {"zookeeper.claim", "single", true, true},
    {"zookeeper.claim", "multi", true, true},
    {"zookeeper.coalesce", "false", true, true},
    {"zookeeper.commit", "blind", true, true},
    {"zookeeper.commit", "session", true, true},
    {"zookeeper.fence", "none", true, true},
    {"zookeeper.fence", "disconnect", true, true},
    {"zookeeper.fence", "lease", true, true},
    {"zookeeper.give.up", "retries", true, false},
    {"zookeeper.give.up", "never", true, true},
    {"zookeeper.hand.over.ms", "4000", false, true},
    {"zookeeper.keep.unmoved", "true", false, true},
    {"zookeeper.lease.probe", "write", false, true},
    {"zookeeper.jute.maxbuffer", "1048575", true, true},
    {"zookeeper.observer", "own", false, true},
    {"zookeeper.release", "session", true, true},
    {"zookeeper.sync.before.read", "true", true, true},
    {"zookeeper.variant", "0.8", true, true},
    {"zookeeper.variant", "0.7", true, false},
    {"zookeeper.variant", "documented", true, false},
    {"zookeeper.watch.brokers", "true", true, false},
    {"zookeeper.watch.brokers", "false", true, true},
    {"zookeeper.watch.owners", "true", true, true},
    {"zookeeper.watch.owners", "false", true, true},
    {"zookeeper.watch.sessions.max", "8", false, true},
};

static void check_mode_case(const struct mode_case *c, bool is_safe)
{
    zkc_conf *conf = zkc_conf_new();
    struct conf_view v;
    char why[400] = "", want[200];
    assert_non_null(conf);
    set(conf, "zookeeper.connect", "a:1");
    set(conf, "zookeeper.auth", "digest:user:password");
    set(conf, "zookeeper.mode", is_safe ? "safe" : "compat");
    set(conf, c->key, c->value);
    bool works = is_safe ? c->works_in_safe : c->works_in_compat;
    enum zkc_err err = conf_read(conf, &v, NULL, NULL, why, sizeof why);
    snprintf(want, sizeof want, "%s=%s acts with zookeeper.mode=%s only", c->key, c->value,
             is_safe ? "compat" : "safe");
    if (err != (works ? ZKC_OK : ZKC_ERR_CONFIG) || (err && strcmp(why, want)))
        fail_msg("%s=%s: %s, %s", c->key, c->value, zkc_err_name(err), why);
    zkc_conf_free(conf);
}

static void test_settings_of_the_other_mode(void **state)
{
    (void)state;
    for (const struct mode_case *c = mode_cases; c < mode_cases + ARRAY_LEN(mode_cases); c++) {
        check_mode_case(c, false);
        check_mode_case(c, true);
    }
}

static void test_switches_by_mode(void **state)
{
    zkc_conf *conf = *state;
    struct warned warned;
    set(conf, "zookeeper.connect", "a:1");
    struct conf_view v = read_view(conf, &warned);
    assert_int_equal(v.mode, CONF_MODE_SAFE);
    assert_true(v.claim_multi && v.release_session && v.commit_session && v.watch_owners);
    assert_true(v.coalesce && v.keep_unmoved);
    assert_false(v.sync_before_read || v.observer_process || v.probe_sync || v.is_acknowledged);
    assert_int_equal(v.fence, CONF_FENCE_LEASE);
    assert_int_equal(v.hand_over_ms, 4000);
    assert_int_equal(v.poll_interval_ms_max, 300000);
    set(conf, "zookeeper.claim", "single");
    set(conf, "zookeeper.release", "blind");
    set(conf, "zookeeper.commit", "blind");
    set(conf, "zookeeper.watch.owners", "false");
    set(conf, "zookeeper.coalesce", "false");
    set(conf, "zookeeper.keep.unmoved", "false");
    set(conf, "zookeeper.sync.before.read", "true");
    set(conf, "zookeeper.observer", "process");
    set(conf, "zookeeper.lease.probe", "sync");
    set(conf, "zookeeper.fence", "disconnect");
    set(conf, "acknowledgement.mode", "explicit");
    v = read_view(conf, &warned);
    assert_false(v.claim_multi || v.release_session || v.commit_session || v.watch_owners);
    assert_false(v.coalesce || v.keep_unmoved);
    assert_true(v.sync_before_read && v.observer_process && v.probe_sync && v.is_acknowledged);
    assert_int_equal(v.fence, CONF_FENCE_DISCONNECT);
    set(conf, "zookeeper.fence", "none");
    assert_int_equal(read_view(conf, &warned).fence, CONF_FENCE_NONE);
}

static void test_a_poll_limit_in_compat_is_told(void **state)
{
    zkc_conf *conf = *state;
    struct warned warned;
    set(conf, "zookeeper.connect", "a:1");
    set(conf, "zookeeper.mode", "compat");
    set(conf, "max.poll.interval.ms", "1000");
    read_view(conf, &warned);
    assert_int_equal(warned.count, 1);
    assert_non_null(strstr(warned.text[0], "max.poll.interval.ms acts with zookeeper.mode=safe"));
}

static void test_attempts_that_end_before_the_session(void **state)
{
    zkc_conf *conf = *state;
    set(conf, "zookeeper.connect", "a:1");
    set(conf, "zookeeper.mode", "compat");
    set(conf, "rebalance.max.retries", "3");
    struct warned warned;
    struct conf_view v = read_view(conf, &warned);
    assert_int_equal(warned.count, 1);
    assert_non_null(strstr(warned.text[0], "3 * 2000 = 6000 ms"));
    assert_non_null(strstr(warned.text[0], "6000 ms: when"));
    char text[400];
    assert_true(conf_retries_too_short(&v, 6000, text, sizeof text));
    assert_false(conf_retries_too_short(&v, 5999, text, sizeof text));
    set(conf, "rebalance.max.retries", "2147483647");
    set(conf, "rebalance.backoff.ms", "2147483647");
    v = read_view(conf, &warned);
    assert_int_equal(warned.count, 0); /* the product does not overflow */
}

/* Memory stays bounded, and nothing is done without a pause. */
static void test_values_that_act_as_others(void **state)
{
    static const struct {
        const char *name, *value, *notice;
    } cases[] = {
        {"auto.commit.interval.ms", "0", "auto.commit.interval.ms=0 acts as 1"},
        {"fetch.min.bytes", "0", "fetch.min.bytes=0 acts as 1"},
        {"queued.max.message.chunks", "100000", "queued.max.message.chunks=100000 acts as 10000"},
        {"refresh.leader.backoff.ms", "0", "refresh.leader.backoff.ms=0 acts as 1"},
    };
    zkc_conf *conf = *state;
    struct warned warned;
    set(conf, "zookeeper.connect", "a:1");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        set(conf, cases[i].name, cases[i].value);
    struct conf_view v = read_view(conf, &warned);
    assert_int_equal(warned.count, ARRAY_LEN(cases));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(warned.text[i], cases[i].notice);
    assert_int_equal(v.auto_commit_interval_ms, 1);
    assert_int_equal(v.fetch_bytes_min, 1);
    assert_int_equal(v.queued_chunks_max, 10000);
    assert_int_equal(v.refresh_leader_backoff_ms, 1);
}

/* In files of 0.7; see also the list of what is refused. */
static void test_shallow_iterators(void **state)
{
    zkc_conf *conf = *state;
    char why[200];
    assert_int_equal(zkc_conf_set(conf, "shallowiterator.enable", "false", why, sizeof why),
                     ZKC_OK);
    assert_int_equal(zkc_conf_set(conf, "shallowiterator.enable", "true", why, sizeof why),
                     ZKC_ERR_CONFIG);
    assert_non_null(strstr(why, "KAFKA-732"));
}

static void test_other_names_are_noticed_once(void **state)
{
    zkc_conf *conf = *state;
    set(conf, "zk.connect", "a:1");
    set(conf, "enable.auto.commit", "false");
    set(conf, "enable.auto.commit", "true");
    zkc_conf *dup = zkc_conf_dup(conf); /* as zkc_consumer_open() does */
    struct warned warned;
    read_view(dup, &warned);
    zkc_conf_free(dup);
    assert_int_equal(warned.count, 2);
    assert_string_equal(warned.text[0],
                        "enable.auto.commit is taken as auto.commit.enable, its name in Kafka 0.8");
    assert_string_equal(warned.text[1],
                        "zk.connect is taken as zookeeper.connect, its name in Kafka 0.8");
    set(conf, "auto.commit.enable", "true");
    read_view(conf, &warned);
    assert_int_equal(warned.count, 1);
    set(conf, "groupid", ""); /* nothing is set, so there is nothing to say */
    read_view(conf, &warned);
    assert_int_equal(warned.count, 1);
}

/* ---- no memory ---- */

static void test_without_memory(void **state)
{
    (void)state;
    char path[64];
    write_file(path, "group.id=g\nzookeeper.connect=a:1\n");
    ALLOC_FAIL_EACH(n, failed, {
        zkc_conf *conf = zkc_conf_new();
        zkc_conf *dup = NULL;
        enum zkc_err err = ZKC_ERR_NOMEM;
        if (conf)
            err = zkc_conf_set(conf, "trace.path", "/x", NULL, 0);
        if (!err)
            err = zkc_conf_load(conf, path, NULL, 0);
        if (!err && !(dup = zkc_conf_dup(conf)))
            err = ZKC_ERR_NOMEM;
        failed = err == ZKC_ERR_NOMEM;
        zkc_conf_free(dup);
        zkc_conf_free(conf);
    });
    unlink(path);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_set),
        T(test_refused_value_changes_nothing),
        T(test_value_of_any_length),
        T(test_defaults_follow_other_keys),
        T(test_defaults),
        T(test_table_agrees_with_itself),
        T(test_dump),
        T(test_dup_is_independent),
        T(test_load),
        T(test_load_keeps_quiet_when_told),
        T(test_load_what_cannot_be_read),
        T(test_view_of_the_defaults),
        T(test_view_of_the_switches),
        T(test_view_of_the_rest),
        T(test_settings_that_contradict_each_other),
        T(test_switches_by_mode),
        T(test_a_poll_limit_in_compat_is_told),
        cmocka_unit_test(test_settings_of_the_other_mode),
        T(test_attempts_that_end_before_the_session),
        T(test_values_that_act_as_others),
        T(test_shallow_iterators),
        T(test_other_names_are_noticed_once),
        T(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
