/* Stories of brokers on one ZooKeeper. */
#include "tests/unit/broker/machine_sim.h"
#include "tests/unit/test.h"

static struct sim *start(int brokers)
{
    struct sim *s = sim_new(7);
    for (int i = 0; i < brokers; i++) {
        struct broker_config c = sim_config(i);
        sim_start(s, i, &c);
        sim_run(s);
        assert_true(s->brokers[i].is_ready);
        assert_string_equal(s->brokers[i].fatal, "");
    }
    return s;
}

static void assert_node(struct sim *s, const char *path, const char *want)
{
    const char *got = zk_model_text(s->zk, path);
    if (!got || strcmp(got, want) != 0)
        fail_msg("%s: got %s, want %s", path, got ? got : "nothing", want);
}

#define STATE(epoch, leader, leader_epoch, isr)                                                    \
    "{\"controller_epoch\":" #epoch ",\"leader\":" #leader                                         \
    ",\"version\":1,\"leader_epoch\":" #leader_epoch ",\"isr\":" isr "}"

static void create(struct sim *s, const char *topic, const char *assignment)
{
    char path[128], data[256];
    snprintf(path, sizeof path, "/config/topics/%s", topic);
    zk_model_create(s->zk, path, "{\"version\":1,\"config\":{}}");
    snprintf(path, sizeof path, "/brokers/topics/%s", topic);
    snprintf(data, sizeof data, "{\"version\":1,\"partitions\":{%s}}", assignment);
    assert_int_equal(zk_model_create(s->zk, path, data), ZK_OK);
    sim_run(s);
}

static void test_one_broker(void **state)
{
    (void)state;
    struct sim *s = start(1);
    assert_true(s->brokers[0].is_controller);
    assert_node(s, "/controller", "{\"version\":1,\"brokerid\":0,\"timestamp\":\"1600000000000\"}");
    assert_node(s, "/controller_epoch", "1");
    assert_node(
        s, "/brokers/ids/0",
        "{\"jmx_port\":-1,\"timestamp\":\"1600000000000\",\"host\":\"127.0.0.1\",\"version\":"
        "1,\"port\":22200}");
    const struct cluster_view *v = broker_machine_view(s->brokers[0].machine);
    assert_int_equal(v->broker_count, 1);
    assert_int_equal(v->controller_id, 0);
    assert_string_equal(broker_machine_state_name(s->brokers[0].machine), "ready");
    sim_free(s);
}

static void test_a_topic_appears(void **state)
{
    (void)state;
    struct sim *s = start(2);
    create(s, "t", "\"0\":[0],\"1\":[1],\"2\":[1]");
    assert_node(s, "/brokers/topics/t/partitions/0/state", STATE(1, 0, 0, "[0]"));
    assert_node(s, "/brokers/topics/t/partitions/2/state", STATE(1, 1, 0, "[1]"));
    assert_non_null(sim_hosts(s, 0, "t", 0));
    assert_int_equal(s->brokers[0].hosted_count, 1);
    assert_non_null(sim_hosts(s, 1, "t", 1));
    assert_int_equal(s->brokers[1].hosted_count, 2);
    for (int i = 0; i < 2; i++) {
        const struct cluster_view *v = broker_machine_view(s->brokers[i].machine);
        assert_int_equal(cluster_view_check(v, i, bytes_of_text("t"), i), KAFKA_ERR_NONE);
        assert_int_equal(cluster_view_check(v, i, bytes_of_text("t"), !i),
                         KAFKA_ERR_NOT_LEADER_OR_FOLLOWER);
        assert_int_equal(cluster_view_check(v, i, bytes_of_text("t"), 3),
                         KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION);
    }
    sim_free(s);
}

static void test_partitions_are_added(void **state)
{
    (void)state;
    struct sim *s = start(2);
    create(s, "t", "\"0\":[0]");
    zk_model_set(s->zk, "/brokers/topics/t",
                 "{\"version\":1,\"partitions\":{\"0\":[0],\"1\":[1]}}");
    sim_run(s);
    assert_non_null(sim_hosts(s, 1, "t", 1));
    assert_non_null(sim_hosts(s, 0, "t", 0));
    assert_int_equal(s->brokers[0].unhosted, 0);
    sim_free(s);
}

static void test_broker_dies_and_returns(void **state)
{
    (void)state;
    struct sim *s = start(2);
    create(s, "t", "\"0\":[0],\"1\":[1]");
    sim_kill(s, 1);
    sim_run(s);
    assert_node(s, "/brokers/topics/t/partitions/1/state", STATE(1, 1, 0, "[1]"));
    sim_expire_dead(s, 1);
    sim_run(s);
    assert_node(s, "/brokers/topics/t/partitions/1/state", STATE(1, -1, 1, "[]"));
    const struct cluster_view *v = broker_machine_view(s->brokers[0].machine);
    assert_int_equal(cluster_view_check(v, 0, bytes_of_text("t"), 1),
                     KAFKA_ERR_LEADER_NOT_AVAILABLE);
    struct broker_config c = sim_config(1);
    sim_start(s, 1, &c);
    sim_run(s);
    assert_node(s, "/brokers/topics/t/partitions/1/state", STATE(1, 1, 2, "[1]"));
    assert_non_null(sim_hosts(s, 1, "t", 1));
    sim_free(s);
}

/* Unlike 0.8.2's, the new controller says at once that the dead one's partitions have no leader. */
static void test_controller_dies(void **state)
{
    (void)state;
    struct sim *s = start(2);
    create(s, "t", "\"0\":[0],\"1\":[1]");
    sim_kill(s, 0);
    sim_expire_dead(s, 0);
    sim_run(s);
    assert_true(s->brokers[1].is_controller);
    assert_node(s, "/controller_epoch", "2");
    assert_node(s, "/brokers/topics/t/partitions/0/state", STATE(2, -1, 1, "[]"));
    assert_node(s, "/brokers/topics/t/partitions/1/state", STATE(1, 1, 0, "[1]"));
    struct broker_config c = sim_config(0);
    sim_start(s, 0, &c);
    sim_run(s);
    assert_node(s, "/brokers/topics/t/partitions/0/state", STATE(2, 0, 2, "[0]"));
    assert_false(s->brokers[0].is_controller);
    assert_int_equal(broker_machine_view(s->brokers[0].machine)->controller_id, 1);
    sim_free(s);
}

/* With more replicas assigned than we keep, only whoever has the data may lead. */
static void test_replicas_are_not_followed(void **state)
{
    (void)state;
    struct sim *s = start(2);
    create(s, "t", "\"0\":[1,0]");
    assert_node(s, "/brokers/topics/t/partitions/0/state", STATE(1, 1, 0, "[1]"));
    sim_stop(s, 1);
    sim_run(s);
    assert_node(s, "/brokers/topics/t/partitions/0/state", STATE(1, -1, 1, "[1]"));
    assert_int_equal(s->brokers[0].hosted_count, 0);
    struct broker_config c = sim_config(1);
    sim_start(s, 1, &c);
    sim_run(s);
    assert_node(s, "/brokers/topics/t/partitions/0/state", STATE(1, 1, 2, "[1]"));
    sim_free(s);
}

static void test_no_replica_lives(void **state)
{
    (void)state;
    struct sim *s = start(1);
    create(s, "t", "\"0\":[5],\"1\":[]");
    assert_false(zk_model_has(s->zk, "/brokers/topics/t/partitions/0/state"));
    struct broker_config c = sim_config(5);
    sim_start(s, 5, &c);
    sim_run(s);
    assert_node(s, "/brokers/topics/t/partitions/0/state", STATE(1, 5, 0, "[5]"));
    assert_false(zk_model_has(s->zk, "/brokers/topics/t/partitions/1/state"));
    sim_free(s);
}

/* ---- Registration ---- */

static void test_same_id_other_address(void **state)
{
    (void)state;
    struct sim *s = start(1);
    struct broker_config c = sim_config(0);
    c.port = 9999;
    sim_start(s, 3, &c);
    sim_run(s);
    assert_non_null(strstr(s->brokers[3].fatal, "id 0 is registered already"));
    assert_non_null(strstr(s->brokers[3].fatal, "22200"));
    assert_false(s->brokers[3].is_ready);
    sim_free(s);
}

static void test_own_earlier_session(void **state)
{
    (void)state;
    struct sim *s = start(1);
    struct broker_config c = sim_config(0);
    sim_kill(s, 0);
    /* The next process, with its own client to the same ZooKeeper. */
    sim_start(s, 3, &c);
    sim_run(s);
    assert_false(s->brokers[3].is_ready);
    assert_non_null(strstr(buf_text(&s->brokers[3].notices), "waiting"));
    sim_wait(s, 20000); /* asks again and again */
    assert_false(s->brokers[3].is_ready);
    assert_string_equal(s->brokers[3].fatal, "");
    sim_expire_dead(s, 0);
    sim_run(s); /* no need to wait for the next time */
    assert_true(s->brokers[3].is_ready);
    assert_true(s->brokers[3].is_controller);
    sim_free(s);
}

static void test_answer_to_the_registration_is_lost(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
        struct sim *s = sim_new(seed);
        struct broker_config c = sim_config(0);
        sim_start(s, 0, &c);
        for (uint64_t i = 0; i < seed / 4; i++)
            sim_turn(s);
        sim_cut(s, 0);
        sim_run(s);
        sim_reconnect(s, 0);
        sim_wait(s, 1000);
        assert_string_equal(s->brokers[0].fatal, "");
        assert_true(s->brokers[0].is_ready && s->brokers[0].is_controller);
        sim_free(s);
    }
}

static void test_session_expires(void **state)
{
    (void)state;
    struct sim *s = start(2);
    create(s, "t", "\"0\":[0],\"1\":[1]");
    sim_expire(s, 0);
    assert_non_null(sim_hosts(s, 0, "t", 0)); /* goes on serving meanwhile */
    sim_run(s);
    assert_true(s->brokers[0].is_controller != s->brokers[1].is_controller);
    assert_node(s, "/controller_epoch", "2");
    assert_non_null(sim_hosts(s, 0, "t", 0));
    assert_true(zk_model_has(s->zk, "/brokers/ids/0"));
    assert_int_equal(s->brokers[0].deleted, 0);
    sim_free(s);
}

/* ZooKeeper comes back empty: whatever is told about topics, no log is deleted. */
static void test_zookeeper_lost_its_data(void **state)
{
    (void)state;
    struct sim *s = start(1);
    create(s, "t", "\"0\":[0]");
    zk_model_delete(s->zk, "/brokers/topics/t/partitions/0/state");
    s->zk->clients[0].is_connected = false;
    while (s->zk->node_count) {
        size_t before = s->zk->node_count;
        for (size_t i = s->zk->node_count; i-- > 0;) {
            char *path = strdup(s->zk->nodes[i].path);
            zk_model_delete(s->zk, path);
            free(path);
            if (s->zk->node_count < before)
                break;
        }
    }
    sim_expire(s, 0);
    sim_run(s);
    assert_true(s->brokers[0].is_controller);
    assert_int_equal(s->brokers[0].hosted_count, 0);
    assert_int_equal(s->brokers[0].deleted, 0);
    assert_int_equal(s->brokers[0].unhosted, 1);
    sim_free(s);
}

/* ---- Creation ---- */

static void test_automatic_creation(void **state)
{
    (void)state;
    struct sim *s = sim_new(1);
    for (int i = 0; i < 3; i++) {
        struct broker_config c = sim_config(i);
        c.default_partitions = 5;
        sim_start(s, i, &c);
    }
    sim_run(s);
    for (int i = 0; i < 3; i++) { /* all at once, and twice */
        sim_create_topic(s, i, "auto");
        sim_create_topic(s, i, "auto");
    }
    sim_run(s);
    assert_node(s, "/config/topics/auto", "{\"version\":1,\"config\":{}}");
    size_t hosted = 0;
    for (int i = 0; i < 3; i++) {
        assert_true(s->brokers[i].hosted_count >= 1 && s->brokers[i].hosted_count <= 2);
        hosted += s->brokers[i].hosted_count;
    }
    assert_int_equal(hosted, 5);
    sim_create_topic(s, 0, "auto");
    sim_create_topic(s, 0, "not/allowed");
    sim_create_topic(s, 0, "");
    sim_create_topic(s, 0, "..");
    size_t before = s->zk->node_count;
    sim_run(s);
    assert_int_equal(s->zk->node_count, before);
    sim_free(s);
}

static void test_creation_is_off(void **state)
{
    (void)state;
    struct sim *s = sim_new(1);
    struct broker_config c = sim_config(0);
    c.auto_create_topics = false;
    sim_start(s, 0, &c);
    sim_run(s);
    sim_create_topic(s, 0, "t");
    sim_run(s);
    assert_false(zk_model_has(s->zk, "/brokers/topics/t"));
    sim_free(s);
}

/* ---- Deletion ---- */

static void request_deletion(struct sim *s, const char *topic)
{
    char path[128];
    snprintf(path, sizeof path, "/admin/delete_topics/%s", topic);
    assert_int_equal(zk_model_create(s->zk, path, ""), ZK_OK);
    sim_run(s);
}

static void test_deletion(void **state)
{
    (void)state;
    struct sim *s = start(2);
    create(s, "t", "\"0\":[0],\"1\":[1]");
    create(s, "u", "\"0\":[0]");
    request_deletion(s, "t");
    assert_false(zk_model_has(s->zk, "/brokers/topics/t"));
    assert_false(zk_model_has(s->zk, "/config/topics/t"));
    assert_false(zk_model_has(s->zk, "/admin/delete_topics/t"));
    assert_int_equal(s->brokers[0].deleted, 1);
    assert_int_equal(s->brokers[1].deleted, 1);
    assert_non_null(sim_hosts(s, 0, "u", 0));
    create(s, "t", "\"0\":[1]");
    assert_non_null(sim_hosts(s, 1, "t", 0));
    sim_free(s);
}

static void test_deletion_is_off(void **state)
{
    (void)state;
    struct sim *s = sim_new(1);
    struct broker_config c = sim_config(0);
    c.delete_topics = false;
    sim_start(s, 0, &c);
    sim_run(s);
    create(s, "t", "\"0\":[0]");
    request_deletion(s, "t");
    assert_false(zk_model_has(s->zk, "/admin/delete_topics/t"));
    assert_true(zk_model_has(s->zk, "/brokers/topics/t"));
    assert_non_null(sim_hosts(s, 0, "t", 0));
    /* By hand: the log stays. */
    zk_model_delete(s->zk, "/brokers/topics/t/partitions/0/state");
    zk_model_delete(s->zk, "/brokers/topics/t/partitions/0");
    zk_model_delete(s->zk, "/brokers/topics/t/partitions");
    zk_model_delete(s->zk, "/brokers/topics/t");
    sim_run(s);
    assert_int_equal(s->brokers[0].deleted, 0);
    assert_int_equal(s->brokers[0].hosted_count, 0);
    assert_false(zk_model_has(s->zk, "/brokers/topics/t"));
    sim_free(s);
}

static void test_deletion_waits_for_the_dead(void **state)
{
    (void)state;
    struct sim *s = start(2);
    create(s, "t", "\"0\":[0],\"1\":[1]");
    sim_stop(s, 1);
    sim_run(s);
    request_deletion(s, "t");
    assert_true(zk_model_has(s->zk, "/brokers/topics/t"));
    struct broker_config c = sim_config(1);
    sim_start(s, 1, &c);
    sim_run(s);
    assert_false(zk_model_has(s->zk, "/brokers/topics/t"));
    assert_false(zk_model_has(s->zk, "/admin/delete_topics/t"));
    sim_free(s);
}

static void test_deletion_of_nothing(void **state)
{
    (void)state;
    struct sim *s = start(1);
    request_deletion(s, "missing");
    assert_false(zk_model_has(s->zk, "/admin/delete_topics/missing"));
    assert_non_null(strstr(buf_text(&s->brokers[0].notices), "there is no such topic"));
    sim_free(s);
}

/* What is deeper than anything of Kafka's is left alone, and told once, not again and again. */
static void test_deletion_of_a_deep_tree(void **state)
{
    (void)state;
    struct sim *s = start(1);
    create(s, "t", "\"0\":[0]");
    char path[200] = "/brokers/topics/t";
    for (int i = 0; i < 9; i++) {
        strcat(path, "/x");
        assert_int_equal(zk_model_create(s->zk, path, NULL), ZK_OK);
    }
    request_deletion(s, "t");
    assert_true(zk_model_has(s->zk, path));
    const char *told = strstr(buf_text(&s->brokers[0].notices), "cannot be deleted");
    assert_non_null(told);
    assert_null(strstr(told + 1, "cannot be deleted"));
    sim_free(s);
}

/* Deleted and created again before a broker has looked: the old log goes, then the new one comes.
 */
static void test_created_again_unseen(void **state)
{
    (void)state;
    struct sim *s = start(2);
    create(s, "t", "\"0\":[1]");
    static const char *const paths[] = {"/brokers/topics/t/partitions/0/state",
                                        "/brokers/topics/t/partitions/0",
                                        "/brokers/topics/t/partitions", "/brokers/topics/t"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        assert_int_equal(zk_model_delete(s->zk, paths[i]), ZK_OK);
    create(s, "t", "\"0\":[1]");
    assert_int_equal(s->brokers[1].deleted, 1);
    assert_non_null(sim_hosts(s, 1, "t", 0));
    sim_free(s);
}

static void test_requests_of_tools_are_taken_away(void **state)
{
    (void)state;
    static const char *const paths[] = {"/admin/preferred_replica_election",
                                        "/admin/reassign_partitions"};
    struct sim *s = sim_new(7);
    zk_model_create(s->zk, "/admin", NULL);
    zk_model_create(s->zk, paths[1], "{\"version\":1,\"partitions\":[]}"); /* older than we */
    struct broker_config c = sim_config(0);
    sim_start(s, 0, &c);
    sim_run(s);
    assert_false(zk_model_has(s->zk, paths[1]));
    assert_non_null(strstr(buf_text(&s->brokers[0].notices), "reassign_partitions is taken away"));
    for (int i = 0; i < 4; i++) {
        zk_model_create(s->zk, paths[i % 2], "{\"version\":1,\"partitions\":[]}");
        sim_run(s);
        assert_false(zk_model_has(s->zk, paths[i % 2]));
    }
    sim_free(s);
}

/* ---- Configuration ---- */

static void test_configuration(void **state)
{
    (void)state;
    struct sim *s = start(1);
    zk_model_create(s->zk, "/config/topics/t",
                    "{\"version\":1,\"config\":{\"retention.ms\":\"86400000\",\"odd\":\"x\"}}");
    create(s, "t", "\"0\":[0]");
    assert_int_equal(sim_hosts(s, 0, "t", 0)->config.retention_ms, 86400000);
    assert_non_null(strstr(buf_text(&s->brokers[0].notices), "\"odd\" is no setting"));
    zk_model_set(s->zk, "/config/topics/t",
                 "{\"version\":1,\"config\":{\"segment.bytes\":\"1000\"}}");
    sim_run(s);
    assert_int_equal(sim_hosts(s, 0, "t", 0)->config.segment_bytes, 1000);
    assert_int_equal(sim_hosts(s, 0, "t", 0)->config.retention_ms, 168 * 3600000);
    zk_model_set(s->zk, "/config/topics/t", "no JSON");
    sim_run(s);
    assert_int_equal(sim_hosts(s, 0, "t", 0)->config.segment_bytes, 1000); /* the last good one */
    zk_model_delete(s->zk, "/config/topics/t");
    sim_run(s);
    assert_int_equal(sim_hosts(s, 0, "t", 0)->config.segment_bytes, 1 << 30);
    zk_model_create(s->zk, "/config/topics/t", "{\"version\":1,\"config\":{\"segment.ms\":\"7\"}}");
    sim_run(s);
    assert_int_equal(sim_hosts(s, 0, "t", 0)->config.segment_ms, 7);
    sim_free(s);
}

/* ---- Odd contents ---- */

static void test_odd_contents(void **state)
{
    (void)state;
    struct sim *s = start(1);
    zk_model_create(s->zk, "/brokers/topics/broken", "{");
    zk_model_create(s->zk, "/brokers/topics/null", NULL);
    zk_model_create(s->zk, "/brokers/topics/bad key", "{\"version\":1,\"partitions\":{\"0\":[0]}}");
    zk_model_create(s->zk, "/brokers/topics/keys", "{\"version\":1,\"partitions\":{\"x\":[0]}}");
    zk_model_create(s->zk, "/brokers/ids/7", "nonsense");
    zk_model_create(s->zk, "/brokers/ids/x", NULL);
    create(s, "t", "\"0\":[0]");
    zk_model_set(s->zk, "/brokers/topics/t/partitions/0/state", "what?");
    sim_run(s);
    assert_node(s, "/brokers/topics/t/partitions/0/state", "what?"); /* left alone */
    assert_int_equal(s->brokers[0].hosted_count, 0);
    zk_model_set(s->zk, "/brokers/topics/t/partitions/0/state", STATE(1, 0, 9, "[0]"));
    sim_run(s);
    assert_non_null(sim_hosts(s, 0, "t", 0));
    const struct cluster_view *v = broker_machine_view(s->brokers[0].machine);
    assert_int_equal(v->broker_count, 1);
    assert_string_equal(s->brokers[0].fatal, "");
    sim_free(s);
}

static void test_odd_controller_nodes(void **state)
{
    (void)state;
    struct sim *s = sim_new(1);
    zk_model_create(s->zk, "/controller", "foreign");
    zk_model_create(s->zk, "/controller_epoch", "many");
    struct broker_config c = sim_config(0);
    sim_start(s, 0, &c);
    sim_run(s);
    assert_true(s->brokers[0].is_ready);
    assert_false(s->brokers[0].is_controller);
    assert_int_equal(broker_machine_view(s->brokers[0].machine)->controller_id, -1);
    zk_model_delete(s->zk, "/controller");
    sim_run(s);
    assert_true(s->brokers[0].is_controller);
    assert_node(s, "/controller_epoch", "1");
    zk_model_delete(s->zk, "/controller"); /* by hand: it stands again */
    sim_run(s);
    assert_true(s->brokers[0].is_controller);
    assert_node(s, "/controller_epoch", "2");
    sim_free(s);
}

static void test_a_log_that_cannot_be_opened(void **state)
{
    (void)state;
    struct sim *s = start(1);
    s->brokers[0].fails_to_host = true;
    create(s, "t", "\"0\":[0]");
    assert_int_equal(s->brokers[0].hosted_count, 1);
    int64_t deadline = broker_machine_deadline_ms(s->brokers[0].machine);
    assert_true(deadline > s->now_ms && deadline <= s->now_ms + 10000);
    sim_wait(s, 35000);
    s->brokers[0].fails_to_host = false;
    create(s, "u", "\"0\":[0]");
    assert_non_null(sim_hosts(s, 0, "u", 0));
    sim_free(s);
}

/* More work than operations may be under way. */
static void test_many_partitions(void **state)
{
    (void)state;
    struct sim *s = start(1);
    char assignment[4000] = "";
    size_t at = 0;
    for (int i = 0; i < 200; i++)
        at += (size_t)snprintf(assignment + at, sizeof assignment - at, "%s\"%d\":[0]",
                               i ? "," : "", i);
    char *data = malloc(5000);
    snprintf(data, 5000, "{\"version\":1,\"partitions\":{%s}}", assignment);
    zk_model_create(s->zk, "/brokers/topics/many", data);
    free(data);
    sim_run(s);
    assert_int_equal(s->brokers[0].hosted_count, 200);
    assert_true(s->brokers[0].views < 20); /* not one for each */
    sim_expire(s, 0);
    sim_run(s);
    assert_int_equal(s->brokers[0].hosted_count, 200);
    request_deletion(s, "many");
    assert_int_equal(s->brokers[0].deleted, 200);
    assert_false(zk_model_has(s->zk, "/brokers/topics/many"));
    sim_free(s);
}

static void test_stopped(void **state)
{
    (void)state;
    struct sim *s = start(2);
    sim_stop(s, 0);
    sim_run(s);
    assert_true(s->brokers[1].is_controller);
    sim_free(s);
}

/* ---- Anything at any time ---- */

static void disturb(struct sim *s, int *topics)
{
    int32_t id = (int32_t)rng_below(&s->rng, 3);
    struct model_client *c = &s->zk->clients[id];
    char path[64];
    switch (rng_below(&s->rng, 8)) {
    case 0:
        if (c->is_connected)
            sim_cut(s, id);
        else
            sim_reconnect(s, id);
        break;
    case 1: sim_expire(s, id); break;
    case 2:
    case 3: {
        char name[16];
        snprintf(name, sizeof name, "t%d", (*topics)++ % 5);
        sim_create_topic(s, id, name);
        break;
    }
    case 4:
        snprintf(path, sizeof path, "/admin/delete_topics/t%d", (int)rng_below(&s->rng, 5));
        zk_model_create(s->zk, path, "");
        break;
    case 5: {
        char data[64];
        snprintf(path, sizeof path, "/brokers/topics/t%d", (int)rng_below(&s->rng, 5));
        snprintf(data, sizeof data, "{\"version\":1,\"partitions\":{\"0\":[%d],\"1\":[%d]}}", id,
                 (id + 1) % 3);
        if (!zk_model_has(s->zk, path))
            zk_model_create(s->zk, path, data);
        break;
    }
    default:
        for (uint64_t n = rng_below(&s->rng, 200); n > 0; n--)
            sim_turn(s);
        s->now_ms += (int64_t)rng_below(&s->rng, 300);
    }
}

/* Every broker sees the same; each partition is hosted by its leader and by nobody else. */
static void assert_at_rest(struct sim *s, uint64_t seed)
{
    int controllers = 0;
    const struct cluster_view *first = broker_machine_view(s->brokers[0].machine);
    size_t hosted = 0, partitions = 0;
    for (int i = 0; i < 3; i++) {
        const struct cluster_view *v = broker_machine_view(s->brokers[i].machine);
        controllers += s->brokers[i].is_controller;
        hosted += s->brokers[i].hosted_count;
        if (s->brokers[i].fatal[0] || !s->brokers[i].is_ready || v->broker_count != 3 ||
            v->topic_count != first->topic_count)
            fail_msg("seed %" PRIu64 ": broker %d: %s", seed, i, s->brokers[i].fatal);
    }
    for (size_t t = 0; t < first->topic_count; t++)
        for (size_t p = 0; p < first->topics[t].partition_count; p++) {
            const struct view_topic *topic = &first->topics[t];
            int32_t partition = topic->partitions[p].partition;
            int32_t leader = view_partition_leader(first, &topic->partitions[p]);
            partitions++;
            if (leader < 0 || !sim_hosts(s, leader, topic->name, partition))
                fail_msg("seed %" PRIu64 ": %s/%d is not hosted by its leader %d", seed,
                         topic->name, partition, leader);
        }
    if (controllers != 1 || hosted != partitions)
        fail_msg("seed %" PRIu64 ": %d controllers, %zu of %zu partitions hosted", seed,
                 controllers, hosted, partitions);
    for (size_t i = 0; i < s->zk->node_count; i++)
        if (strncmp(s->zk->nodes[i].path, "/admin/delete_topics/", 21) == 0)
            fail_msg("seed %" PRIu64 ": %s is left", seed, s->zk->nodes[i].path);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sim *s = sim_new(seed);
        int topics = 0;
        for (int i = 0; i < 3; i++) {
            struct broker_config c = sim_config(i);
            c.default_partitions = 2;
            sim_start(s, i, &c);
        }
        for (int i = 0; i < 60; i++)
            disturb(s, &topics);
        for (int i = 0; i < 3; i++)
            if (!s->zk->clients[i].is_connected)
                sim_reconnect(s, i);
        sim_wait(s, 30000);
        assert_at_rest(s, seed);
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_broker),
        cmocka_unit_test(test_a_topic_appears),
        cmocka_unit_test(test_partitions_are_added),
        cmocka_unit_test(test_broker_dies_and_returns),
        cmocka_unit_test(test_controller_dies),
        cmocka_unit_test(test_replicas_are_not_followed),
        cmocka_unit_test(test_no_replica_lives),
        cmocka_unit_test(test_same_id_other_address),
        cmocka_unit_test(test_own_earlier_session),
        cmocka_unit_test(test_answer_to_the_registration_is_lost),
        cmocka_unit_test(test_session_expires),
        cmocka_unit_test(test_zookeeper_lost_its_data),
        cmocka_unit_test(test_automatic_creation),
        cmocka_unit_test(test_creation_is_off),
        cmocka_unit_test(test_deletion),
        cmocka_unit_test(test_deletion_is_off),
        cmocka_unit_test(test_deletion_waits_for_the_dead),
        cmocka_unit_test(test_deletion_of_nothing),
        cmocka_unit_test(test_deletion_of_a_deep_tree),
        cmocka_unit_test(test_created_again_unseen),
        cmocka_unit_test(test_requests_of_tools_are_taken_away),
        cmocka_unit_test(test_configuration),
        cmocka_unit_test(test_odd_contents),
        cmocka_unit_test(test_odd_controller_nodes),
        cmocka_unit_test(test_a_log_that_cannot_be_opened),
        cmocka_unit_test(test_many_partitions),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
