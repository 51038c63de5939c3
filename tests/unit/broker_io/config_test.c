#include "broker/io/config.h"
#include "tests/unit/test.h"
#include <unistd.h>

#define MINIMAL "broker.id=1\nzookeeper.connect=localhost:2181\n"

struct notes {
    size_t count;
    int level;
    char text[WHY_SIZE]; /* the last one */
};

static void on_note(int level, const char *text, void *user)
{
    struct notes *notes = user;
    notes->count++;
    notes->level = level;
    snprintf(notes->text, sizeof notes->text, "%s", text);
}

/* The file is called server.properties, as texts name it. */
static char folder[] = "/tmp/zkc-config-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/server.properties", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static bool read_text(struct config *config, const char *text, const char *override,
                      struct notes *notes, struct why *why)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    *notes = (struct notes){0};
    return config_read(config, path, &override, override ? 1 : 0, on_note, notes, why);
}

static void test_defaults_are_kafkas(void **state)
{
    (void)state;
    struct config c;
    struct notes notes;
    struct why why;
    assert_true(read_text(&c, MINIMAL, NULL, &notes, &why));
    assert_int_equal(c.port, 9092);
    assert_int_equal(c.log_dirs_count, 1);
    assert_string_equal(c.log_dirs[0], "/tmp/kafka-logs");
    assert_int_equal(c.zookeeper_session_timeout_ms, 6000);
    assert_int_equal(c.num_network_threads, 3);
    assert_int_equal(c.socket_request_max_bytes, 104857600);
    assert_int_equal(c.message_max_bytes, 1000012);
    assert_int_equal(c.log_segment_bytes, 1073741824);
    assert_int_equal(c.log_roll_ms, 168 * INT64_C(3600000));
    assert_int_equal(c.log_retention_ms, 168 * INT64_C(3600000));
    assert_int_equal(c.log_retention_bytes, -1);
    assert_int_equal(c.log_flush_interval_messages, INT64_MAX);
    assert_true(c.log_flush_interval_ms == CONFIG_NEVER);
    assert_true(c.auto_create_topics_enable);
    assert_false(c.delete_topic_enable);
    assert_false(c.log_cleanup_compact);
    assert_int_equal(c.log_level, 6);
    assert_null(c.host_name);
    assert_int_equal(notes.count, 0);
    config_deinit(&c);
}

static const struct refused_case {
    const char *text;
    const char *why;
} refused[] = {
    {"zookeeper.connect=h:1\n", "broker.id is not set; give each broker a number of its own"},
    {"broker.id=1\n", "zookeeper.connect is not set; expected host:port, or host:port/path"},
    {"broker.id=-1\n", "server.properties:1: broker.id=-1: not a number of 0 .. 2147483647"},
    {"broker.id=x\n", "server.properties:1: broker.id=x: not a number of 0 .. 2147483647"},
    {MINIMAL "port=65536\n", "server.properties:3: port=65536: not a number of 0 .. 65535"},
    {MINIMAL "\nport=\n", "server.properties:4: port=: not a number of 0 .. 65535"},
    {MINIMAL "delete.topic.enable=yes\n",
     "server.properties:3: delete.topic.enable=yes: neither true nor false"},
    {MINIMAL "log.dirs= , \n", "server.properties:3: log.dirs=,: no folder is named"},
    {MINIMAL "log.cleanup.policy=shrink\n",
     "server.properties:3: log.cleanup.policy=shrink: neither delete nor compact"},
    {MINIMAL "log.cleaner.enable=true\n",
     "server.properties:3: log.cleaner.enable=true: logs are not compacted here, only false can "
     "be set"},
    {MINIMAL "default.replication.factor=2\n",
     "server.properties:3: default.replication.factor=2: not a number of 1 .. 1"},
    {MINIMAL "log.level=LOUD\n",
     "server.properties:3: log.level=LOUD: none of ERROR, WARN, INFO, DEBUG"},
    {MINIMAL "max.connections.per.ip.overrides=127.0.0.1\n",
     "max.connections.per.ip.overrides=127.0.0.1: expected address:limit,..."},
    {MINIMAL "strict.config=true\nnum.partition=2\n",
     "server.properties:4: unknown key num.partition; did you mean num.partitions?"},
    {MINIMAL "a\\u12=2\n", "line 3"},
};

static void test_refused(void **state)
{
    (void)state;
    for (const struct refused_case *r = refused; r < refused + ARRAY_LEN(refused); r++) {
        struct config c;
        struct notes notes;
        struct why why;
        if (read_text(&c, r->text, NULL, &notes, &why))
            fail_msg("%s: accepted", r->text);
        if (!strstr(why.text, r->why))
            fail_msg("%s: %s", r->text, why.text);
    }
}

static void test_a_file_that_is_not_there(void **state)
{
    (void)state;
    struct config c;
    struct notes notes = {0};
    struct why why;
    assert_false(config_read(&c, "/nowhere/server.properties", NULL, 0, on_note, &notes, &why));
    assert_string_equal(why.text, "/nowhere/server.properties: No such file or directory");
}

static void test_unknown_keys_warn(void **state)
{
    (void)state;
    struct config c;
    struct notes notes;
    struct why why;
    assert_true(read_text(&c, MINIMAL "num.partition=2\n", NULL, &notes, &why));
    assert_int_equal(notes.count, 1);
    assert_int_equal(notes.level, 4);
    assert_string_equal(notes.text, "server.properties:3: unknown key num.partition; did you mean "
                                    "num.partitions?");
    assert_int_equal(c.num_partitions, 1);
    config_deinit(&c);
}

static void test_keys_without_effect_are_told(void **state)
{
    (void)state;
    struct config c;
    struct notes notes;
    struct why why;
    assert_true(
        read_text(&c, MINIMAL "strict.config=true\nnum.io.threads=8\n", NULL, &notes, &why));
    assert_int_equal(notes.count, 1);
    assert_int_equal(notes.level, 6);
    assert_non_null(strstr(notes.text, "server.properties:4: num.io.threads has no effect: "));
    config_deinit(&c);
}

static void test_which_of_several_keys_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *override;
        int64_t retention_ms;
    } cases[] = {
        {MINIMAL "log.retention.hours=1\n", NULL, 3600000},
        {MINIMAL "log.retention.ms=5\nlog.retention.hours=1\nlog.retention.minutes=1\n", NULL, 5},
        {MINIMAL "log.retention.minutes=2\nlog.retention.hours=1\n", NULL, 120000},
        {MINIMAL "log.retention.ms=5\n", "log.retention.hours=1", 3600000},
        {MINIMAL "log.retention.ms=-1\n", NULL, -1},
        {MINIMAL "log.retention.hours=-1\n", NULL, -1},
        {MINIMAL "log.retention.ms=5\nlog.retention.ms=6\n", NULL, 6},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct config c;
        struct notes notes;
        struct why why;
        if (!read_text(&c, cases[i].text, cases[i].override, &notes, &why))
            fail_msg("%s: %s", cases[i].text, why.text);
        if (c.log_retention_ms != cases[i].retention_ms)
            fail_msg("%s: %" PRId64, cases[i].text, c.log_retention_ms);
        config_deinit(&c);
    }
}

static void test_folders(void **state)
{
    (void)state;
    struct config c;
    struct notes notes;
    struct why why;
    assert_true(read_text(&c, MINIMAL "log.dirs=/a, /b b ,\nlog.dir=/c\n", NULL, &notes, &why));
    assert_int_equal(c.log_dirs_count, 2);
    assert_string_equal(c.log_dirs[0], "/a");
    assert_string_equal(c.log_dirs[1], "/b b");
    config_deinit(&c);
}

static void test_overrides(void **state)
{
    (void)state;
    struct config c;
    struct notes notes;
    struct why why;
    assert_true(read_text(&c, MINIMAL, "broker.id=7", &notes, &why));
    assert_int_equal(c.broker_id, 7);
    config_deinit(&c);
    assert_false(read_text(&c, MINIMAL, "broker.id", &notes, &why));
    assert_string_equal(why.text, "--override broker.id: expected key=value");
    assert_false(read_text(&c, MINIMAL, "port=x", &notes, &why));
    assert_string_equal(why.text, "--override: port=x: not a number of 0 .. 65535");
}

/* Every key says what it does, once. */
static void test_the_table(void **state)
{
    (void)state;
    const struct config_doc *doc, *other;
    size_t count = 0;
    for (; (doc = config_doc(count)); count++) {
        assert_true(doc->text && doc->text[0]);
        for (size_t i = 0; i < count && (other = config_doc(i)); i++)
            assert_string_not_equal(doc->name, other->name);
    }
    assert_true(count > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_kafkas),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_a_file_that_is_not_there),
        cmocka_unit_test(test_unknown_keys_warn),
        cmocka_unit_test(test_keys_without_effect_are_told),
        cmocka_unit_test(test_which_of_several_keys_counts),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_the_table),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
