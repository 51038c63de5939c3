#include "tests/unit/test.h"
#include "zkconsumer/cli/metrics.h"
#include "zkconsumer/cli/metrics_merge.h"

static const struct metrics_counters counters = {.assigned = 3, .revoked = 2, .errors = 7};

static const struct metrics_oldest oldest[] = {{"t", 0, 3}, {"t", 1, 0}};
static const struct metrics_cluster cluster = {true, 2, oldest, ARRAY_LEN(oldest)};

static void render(const char *json, struct buf *out)
{
    buf_init(out, 1 << 20);
    metrics_append(json, json ? strlen(json) : 0, &counters, &cluster, out);
    assert_non_null(buf_text(out));
}

static void expect_lines(const char *json, const char *const *lines, size_t count)
{
    struct buf out;
    render(json, &out);
    for (size_t i = 0; i < count; i++) {
        char line[256];
        snprintf(line, sizeof line, "\n%s\n", lines[i]);
        if (!strstr(buf_text(&out), line))
            fail_msg("%s is missing in:\n%s", lines[i], buf_text(&out));
    }
    buf_deinit(&out);
}

static void test_without_a_document(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "zkconsumer_partition_changes_total{kind=\"assigned\"} 3",
        "zkconsumer_partition_changes_total{kind=\"lost\"} 0",
        "zkconsumer_errors_total 7",
        "kafka_brokers 2",
        "kafka_topic_partition_oldest_offset{topic=\"t\",partition=\"0\"} 3",
        "kafka_topic_partition_oldest_offset{topic=\"t\",partition=\"1\"} 0",
    };
    static const char *const documents[] = {NULL, "", "{", "[]", "{\"member\":3}"};
    for (size_t i = 0; i < ARRAY_LEN(documents); i++)
        expect_lines(documents[i], lines, ARRAY_LEN(lines));
}

static void test_partitions(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "kafka_consumergroup_current_offset{consumergroup=\"g\",topic=\"t\",partition=\"0\"} 9",
        "kafka_consumergroup_lag{consumergroup=\"g\",topic=\"t\",partition=\"0\"} 6",
        ("kafka_consumergroupzookeeper_lag_zookeeper{consumergroup=\"g\",topic=\"t\",partition="
         "\"0\"} 8"),
        "zkconsumer_position{consumergroup=\"g\",topic=\"t\",partition=\"0\"} 10",
        "zkconsumer_position_lag{consumergroup=\"g\",topic=\"t\",partition=\"0\"} 5",
        "kafka_topic_partition_leader{topic=\"t\",partition=\"0\"} 1",
        "kafka_topic_partition_current_offset{topic=\"t\",partition=\"0\"} 15",
        "kafka_consumergroup_current_offset_sum{consumergroup=\"g\",topic=\"t\"} 9",
        "kafka_consumergroup_lag_sum{consumergroup=\"g\",topic=\"t\"} 6",
        "zkconsumer_owned_partitions{consumergroup=\"g\",topic=\"t\"} 2",
        "zkconsumer_owned_partitions{consumergroup=\"g\",topic=\"u\"} 1",
        "zkconsumer_state{state=\"owning\"} 1",
        "zkconsumer_state{state=\"idle\"} 0",
    };
    const char *json = "{\"member\":{\"group\":\"g\",\"state\":\"owning\"},\"partitions\":["
                       "{\"topic\":\"t\",\"partition\":0,\"position\":10,\"log_end\":15,\"lag\":5,"
                       "\"leader\":1,\"committed\":9,\"committed_zookeeper\":7},"
                       "{\"topic\":\"t\",\"partition\":1,\"position\":-1,\"log_end\":-1,\"lag\":-1,"
                       "\"leader\":-1},"
                       "{\"topic\":\"u\",\"partition\":0,\"position\":1,\"log_end\":1,\"lag\":0}]}";
    expect_lines(json, lines, ARRAY_LEN(lines));
    struct buf out;
    render(json, &out); /* what is not known is left out */
    assert_null(strstr(buf_text(&out), "consumergroup=\"g\",topic=\"t\",partition=\"1\""));
    assert_null(strstr(buf_text(&out), "kafka_consumergroup_lag{consumergroup=\"g\",topic=\"u\""));
    assert_null(
        strstr(buf_text(&out), "kafka_consumergroup_lag_sum{consumergroup=\"g\",topic=\"u\""));
    buf_deinit(&out);
}

static void test_safe_mode(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "zkconsumer_lease_left_seconds 4.070", "zkconsumer_leases_total 3",
        "zkconsumer_lease_probes_total 8",     "zkconsumer_claims_total 2",
        "zkconsumer_waiting_partitions 1",     "zkconsumer_state{state=\"moving\"} 1",
        "zkconsumer_foreign_deletes_total 6",  "zkconsumer_stranger_doubled_messages_total 11",
        "zkconsumer_stranger_returns_total 1", "zkconsumer_stranger_free_partitions 2",
        "zkconsumer_zk_watches 1207",          "zkconsumer_zk_watch_sessions 2",
        "zkconsumer_zk_watch_bytes 524010",    "zkconsumer_zk_unwatched_paths 30",
        "# TYPE zkconsumer_zk_watches gauge",
    };
    static const char *const endless[] = {"zkconsumer_lease_left_seconds +Inf"};
    expect_lines("{\"member\":{\"state\":\"moving\"},\"safe\":{\"lease_left_ms\":4070,"
                 "\"leases\":3,\"probes\":8,\"claims\":2,\"waiting\":[{}],\"foreign_deletes\":6,"
                 "\"watches\":{\"left\":1207,\"sessions\":2,\"own_bytes\":524010,"
                 "\"unwatched\":30},\"strangers\":[{\"doubled\":7,\"returns\":1},{\"doubled\":4,"
                 "\"free\":2}]}}",
                 lines, ARRAY_LEN(lines));
    expect_lines("{\"safe\":{\"lease_left_ms\":-1}}", endless, 1);
    struct buf out;
    render("{\"member\":{}}", &out);
    assert_null(strstr(buf_text(&out), "zkconsumer_lease"));
    assert_null(strstr(buf_text(&out), "zkconsumer_zk_watches"));
    buf_deinit(&out);
}

static void test_counts(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "kafka_consumergroup_members{consumergroup=\"g\"} 3",
        "kafka_topic_partitions{topic=\"t\"} 8",
        "zkconsumer_zk_ops_total{op=\"create\",result=\"ok\"} 5",
        "zkconsumer_zk_ops_total{op=\"create\",result=\"node_exists\"} 1",
        "# TYPE zkconsumer_zk_op_seconds histogram",
        "zkconsumer_zk_op_seconds_bucket{op=\"create\",le=\"0.0005\"} 4",
        "zkconsumer_zk_op_seconds_bucket{op=\"create\",le=\"10\"} 4",
        "zkconsumer_zk_op_seconds_bucket{op=\"create\",le=\"+Inf\"} 6",
        "zkconsumer_zk_op_seconds_sum{op=\"create\"} 21.000400",
        "zkconsumer_zk_op_seconds_count{op=\"create\"} 6",
        "zkconsumer_zk_watch_events_total{kind=\"deleted\"} 2",
        "zkconsumer_rebalances_total{cause=\"watch\",result=\"gave_up\"} 1",
        "zkconsumer_rebalance_attempts_total 4",
        "zkconsumer_rebalance_duration_seconds_bucket{le=\"10\"} 1",
        "zkconsumer_rebalance_duration_seconds_sum 3.000000",
        "zkconsumer_rebalance_duration_seconds_count 1",
        "zkconsumer_rebalance_phase_seconds_sum{phase=\"claim\"} 2.500000",
        "zkconsumer_claim_total{result=\"conflict\"} 7",
        "zkconsumer_commit_total{store=\"kafka\",result=\"failed\"} 9",
        "zkconsumer_fenced_total{reason=\"lease\"} 1",
        "zkconsumer_partition_unowned_seconds_total{topic=\"t\",partition=\"3\"} 1.050",
    };
    expect_lines("{\"member\":{\"group\":\"g\"},"
                 "\"group\":{\"members\":3,\"topics\":[{\"topic\":\"t\",\"partitions\":8}]},"
                 "\"bucket_bounds_us\":[500,10000000],"
                 "\"requests\":[{\"op\":\"create\",\"answers\":{\"ok\":5,\"node_exists\":1},"
                 "\"time\":{\"count\":6,\"sum_us\":21000400,\"buckets\":[4,0,2]}}],"
                 "\"watch_events\":{\"deleted\":2},"
                 "\"rebalancing\":{\"attempts\":4,\"ended\":{\"watch\":{\"done\":2,\"gave_up\":1}},"
                 "\"duration\":{\"count\":1,\"sum_us\":3000000,\"buckets\":[0,1,0]},"
                 "\"phases\":{\"claim\":{\"count\":1,\"sum_us\":2500000,\"buckets\":[0,1,0]}}},"
                 "\"claims\":{\"conflict\":7},\"commits\":{\"kafka\":{\"failed\":9}},"
                 "\"fenced\":{\"lease\":1},"
                 "\"unowned\":[{\"topic\":\"t\",\"partition\":3,\"ms\":1050}]}",
                 lines, ARRAY_LEN(lines));
}

static void test_labels_are_escaped(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "zkconsumer_owned_partitions{consumergroup=\"a\\\"b\\\\c\\nd\",topic=\"t\"} 1"};
    expect_lines("{\"member\":{\"group\":\"a\\\"b\\\\c\\nd\"},\"partitions\":[{\"topic\":\"t\"}]}",
                 lines, 1);
}

static void test_several_consumers_on_one_page(void **state)
{
    (void)state;
    static const char one[] = "# HELP a Aa.\n# TYPE a gauge\na{x=\"1 {}\"} 1\na{x=\"2\"} 2\n"
                              "# HELP b Bb.\n# TYPE b counter\n"
                              "# HELP c Cc.\n# TYPE c gauge\nc 3\n";
    static const char two[] = "# HELP c Cc.\n# TYPE c gauge\nc 4\n"
                              "# HELP d Dd.\n# TYPE d histogram\nd_bucket{le=\"+Inf\"} 5\n";
    static const char three[] = "# HELP d Dd.\n# TYPE d histogram\nd_bucket{le=\"+Inf\"} 6";
    const struct metrics_page pages[] = {{bytes_of_text(one), "g@z"},
                                         {bytes_of_text(two), "q\""},
                                         {bytes_of_text(three), "r"},
                                         {bytes_of_text(""), "nothing"},
                                         {bytes_of_text("odd"), "odd"}};
    struct buf out;
    buf_init(&out, 1 << 16);
    metrics_merge(pages, ARRAY_LEN(pages), &out);
    assert_string_equal(buf_text(&out),
                        "# HELP a Aa.\n# TYPE a gauge\na{source=\"g@z\",x=\"1 {}\"} 1\n"
                        "a{source=\"g@z\",x=\"2\"} 2\n"
                        "# HELP b Bb.\n# TYPE b counter\n"
                        "# HELP c Cc.\n# TYPE c gauge\nc{source=\"g@z\"} 3\nc{source=\"q\\\"\"} 4\n"
                        "# HELP d Dd.\n# TYPE d histogram\n"
                        "d_bucket{source=\"q\\\"\",le=\"+Inf\"} 5\n"
                        "d_bucket{source=\"r\",le=\"+Inf\"} 6");
    buf_deinit(&out);
}

static void test_a_mirror_counts(void **state)
{
    (void)state;
    static const struct metrics_counters mirror = {
        .is_mirror = true, .copied = 5, .delivered = 3, .refused = 1};
    struct buf out;
    buf_init(&out, 1 << 16);
    metrics_append(NULL, 0, &mirror, &cluster, &out);
    assert_non_null(strstr(buf_text(&out), "\nzkconsumer_mirror_copied_total 5\n"));
    assert_non_null(strstr(buf_text(&out), "\nzkconsumer_mirror_delivered_total 3\n"));
    assert_non_null(strstr(buf_text(&out), "\nzkconsumer_mirror_refused_total 1\n"));
    buf_clear(&out);
    metrics_append(NULL, 0, &counters, &cluster, &out);
    assert_null(strstr(buf_text(&out), "mirror"));
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_document),
        cmocka_unit_test(test_several_consumers_on_one_page),
        cmocka_unit_test(test_a_mirror_counts),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_safe_mode),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_labels_are_escaped),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
