/* Names, checkpoints and settings of partition logs. */
#include "broker/core/checkpoint.h"
#include "zkconsumer/core/zk/log_config.h"
#include "broker/core/log_names.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"

/* ---- Names ---- */

static void test_file_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum log_file_kind want;
        int64_t base;
    } cases[] = {
        {"00000000000000000000.log", LOG_FILE_SEGMENT, 0},
        {"00000000000000000035.index", LOG_FILE_INDEX, 35},
        {"09223372036854775807.log", LOG_FILE_SEGMENT, INT64_MAX},
        {"09223372036854775808.log", LOG_FILE_OTHER, 0},
        {"99999999999999999999.log", LOG_FILE_OTHER, 0},
        {"0000000000000000035.log", LOG_FILE_OTHER, 0},
        {"000000000000000000035.log", LOG_FILE_OTHER, 0},
        {"0000000000000000003x.log", LOG_FILE_OTHER, 0},
        {"00000000000000000000.timeindex", LOG_FILE_OTHER, 0},
        {"00000000000000000000.log.deleted", LOG_FILE_DELETED, 0},
        {"00000000000000000000.index.deleted", LOG_FILE_DELETED, 0},
        {"00000000000000000000.log.cleaned", LOG_FILE_CLEANED, 0},
        {"00000000000000000007.log.swap", LOG_FILE_SWAP, 7},
        {"00000000000000000007.index.swap", LOG_FILE_SWAP_INDEX, 0},
        {"leader-epoch-checkpoint", LOG_FILE_OTHER, 0},
        {"", LOG_FILE_OTHER, 0},
        {".log", LOG_FILE_OTHER, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t base = 0;
        enum log_file_kind got = log_file_kind(cases[i].name, &base);
        bool has_base = got == LOG_FILE_SEGMENT || got == LOG_FILE_INDEX || got == LOG_FILE_SWAP;
        if (got != cases[i].want || (has_base && base != cases[i].base))
            fail_msg("%s: got %d, base %" PRId64, cases[i].name, got, base);
    }
}

static void test_file_names(void **state)
{
    (void)state;
    char name[LOG_FILE_NAME_SIZE];
    log_file_name(35, ".log", name);
    assert_string_equal(name, "00000000000000000035.log");
    log_file_name(INT64_MAX, ".index.deleted", name);
    assert_string_equal(name, "09223372036854775807.index.deleted");
}

static void test_folders(void **state)
{
    (void)state;
    static const struct {
        const char *name, *topic;
        int32_t partition;
    } good[] = {{"t-0", "t", 0}, {"a-b-12", "a-b", 12}, {"t.x_y--2147483647", "t.x_y-", INT32_MAX}};
    static const char *const bad[] = {"",      "t",    "t-",   "-0",        "t-x",
                                      "t-00",  "t-01", "t--",  "t-+1",      "t-2147483648",
                                      "a b-0", "..-0", "t-0 ", "lost+found"};
    char topic[TOPIC_NAME_MAX + 1], name[LOG_FOLDER_NAME_SIZE];
    int32_t partition;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(log_folder_parse(good[i].name, topic, &partition));
        assert_string_equal(topic, good[i].topic);
        assert_int_equal(partition, good[i].partition);
        log_folder_name(topic, partition, name);
        assert_string_equal(name, good[i].name);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (log_folder_parse(bad[i], topic, &partition))
            fail_msg("\"%s\" is taken", bad[i]);
    char longest[TOPIC_NAME_MAX + 4];
    memset(longest, 'x', sizeof longest);
    strcpy(longest + TOPIC_NAME_MAX, "-7");
    assert_true(log_folder_parse(longest, topic, &partition));
    strcpy(longest + TOPIC_NAME_MAX, "x-7");
    assert_false(log_folder_parse(longest, topic, &partition));
}

/* ---- Checkpoints ---- */

static void test_checkpoints_of_kafka(void **state)
{
    (void)state;
    static const char *const files[] = {
        TEST_VECTORS "/broker/logs/root/recovery-point-offset-checkpoint",
        TEST_VECTORS "/broker/logs/root/replication-offset-checkpoint",
        TEST_VECTORS "/broker/logs/root/cleaner-offset-checkpoint",
        TEST_VECTORS "/broker/logs/killed/root/recovery-point-offset-checkpoint",
    };
    static const size_t counts[] = {13, 13, 3, 0};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char text[1000];
        FILE *f = fopen(files[i], "rb");
        assert_non_null(f);
        size_t len = fread(text, 1, sizeof text, f);
        fclose(f);
        struct checkpoint c;
        struct why why;
        assert_int_equal(checkpoint_read(bytes_of(text, len), &c, &why), ZKC_OK);
        assert_int_equal(c.count, counts[i]);
        if (i == 0) {
            assert_int_equal(checkpoint_find(&c, (struct topic_partition){"segments", 1}, -1), 15);
            assert_int_equal(checkpoint_find(&c, (struct topic_partition){"killed", 0}, -1), 64);
            assert_int_equal(checkpoint_find(&c, (struct topic_partition){"segments", 2}, -1), -1);
        }
        checkpoint_deinit(&c);
    }
}

static void test_checkpoint_is_written(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1000);
    checkpoint_write_begin(&out, 2);
    checkpoint_write_entry(&out, (struct topic_partition){"t2", 1}, 0);
    checkpoint_write_entry(&out, (struct topic_partition){"t2", 0}, INT64_MAX);
    assert_string_equal(buf_text(&out), "0\n2\nt2 1 0\nt2 0 9223372036854775807\n");
    buf_deinit(&out);
}

static void test_checkpoints_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "1\n0\n",
        "\n",
        "0\n",
        "0",
        "0\nx\n",
        "0\n-1\n",
        "0\n1\n",
        "0\n2\nt 0 5\n",
        "0\n0\nt 0 5\n",
        "0\n1\nt 0 5\n\n",
        "0\n1\nt 0\n",
        "0\n1\n t 0\n",
        "0\n1\n 0 5\n",
        "0\n1\nt 0 -5\n",
        "0\n1\nt x 5\n",
        "0\n1\nt 2147483648 5\n",
        "0\n1\nt 0 9223372036854775808\n",
        "0\n1\nt 0 5 \n",
        "0\n2147483647\nt 0 5\n",
        "0\n99999999999999999999\nt 0 5\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct checkpoint c = {NULL, 99};
        struct why why;
        enum zkc_err got = checkpoint_read(bytes_of_text(bad[i]), &c, &why);
        if (got != ZKC_ERR_CORRUPT || !why.text[0] || c.count != 99)
            fail_msg("\"%s\": got %s", bad[i], zkc_err_name(got));
    }
}

static void test_checkpoints_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        int64_t offset; /* of t 0 */
    } good[] = {
        {"", 0, -1},
        {"0\n0\n", 0, -1},
        {"0\n1\nt 0 5", 1, 5},
        {"0\n3\nt 0 5\nu 0 6\nt 0 7\n", 2, 7}, /* the last one counts */
        {"0\n1\nt 0 0\n", 1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct checkpoint c;
        struct why why;
        assert_int_equal(checkpoint_read(bytes_of_text(good[i].text), &c, &why), ZKC_OK);
        assert_int_equal(c.count, good[i].count);
        assert_int_equal(checkpoint_find(&c, (struct topic_partition){"t", 0}, -1), good[i].offset);
        checkpoint_deinit(&c);
    }
}

static enum zkc_err read_checkpoint(const void *input)
{
    struct checkpoint c;
    struct why why;
    enum zkc_err err = checkpoint_read(bytes_of_text(input), &c, &why);
    if (!err)
        checkpoint_deinit(&c);
    return err;
}

static void test_without_memory(void **state)
{
    (void)state;
    alloc_fail_each(read_checkpoint, "0\n3\nt 0 5\nu 0 6\nt 0 7\n");
}

/* ---- Settings ---- */

static void test_settings(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        enum zkc_err want;
    } cases[] = {
        {"segment.bytes", "14", ZKC_OK},
        {"segment.bytes", "13", ZKC_ERR_CONFIG},
        {"segment.bytes", "2147483648", ZKC_ERR_CONFIG},
        {"segment.bytes", "", ZKC_ERR_CONFIG},
        {"segment.bytes", " 20", ZKC_ERR_CONFIG},
        {"segment.bytes", "20x", ZKC_ERR_CONFIG},
        {"retention.ms", "-1", ZKC_OK},
        {"retention.ms", "-2", ZKC_ERR_CONFIG},
        {"retention.bytes", "9223372036854775807", ZKC_OK},
        {"retention.bytes", "9223372036854775808", ZKC_ERR_CONFIG},
        {"flush.messages", "0", ZKC_ERR_CONFIG},
        {"cleanup.policy", "compact", ZKC_OK},
        {"cleanup.policy", "Delete", ZKC_ERR_CONFIG},
        {"min.insync.replicas", "2", ZKC_OK},
        {"min.insync.replicas", "two", ZKC_ERR_CONFIG},
        {"min.cleanable.dirty.ratio", "0.5", ZKC_OK},
        {"min.cleanable.dirty.ratio", "50%", ZKC_ERR_CONFIG},
        {"unclean.leader.election.enable", "false", ZKC_OK},
        {"unclean.leader.election.enable", "no", ZKC_ERR_CONFIG},
        {"cleanup.policy", "compact,delete", ZKC_OK},
        {"unknown.key", "2", ZKC_ERR_CONFIG},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct log_config c = log_config_default();
        struct why why;
        enum zkc_err got = log_config_set(&c, cases[i].key, cases[i].value, &why);
        if (got != cases[i].want || (why.text[0] != 0) != (got != ZKC_OK))
            fail_msg("%s=%s: got %s, \"%s\"", cases[i].key, cases[i].value, zkc_err_name(got),
                     why.text);
        if (got)
            assert_int_equal(c.segment_bytes, 1 << 30);
    }
    struct log_config c = log_config_default();
    struct why why;
    assert_int_equal(log_config_set(&c, "segment.bytes", "1000", &why), ZKC_OK);
    assert_int_equal(log_config_set(&c, "flush.ms", "7", &why), ZKC_OK);
    assert_int_equal(log_config_set(&c, "cleanup.policy", "compact", &why), ZKC_OK);
    assert_int_equal(c.segment_bytes, 1000);
    assert_int_equal(c.flush_ms, 7);
    assert_true(c.compact);
    assert_int_equal(c.message_bytes_max, 1000012);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_kinds),
        cmocka_unit_test(test_file_names),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_checkpoints_of_kafka),
        cmocka_unit_test(test_checkpoint_is_written),
        cmocka_unit_test(test_checkpoints_refused),
        cmocka_unit_test(test_checkpoints_taken),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
