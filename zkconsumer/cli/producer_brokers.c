#include "zkconsumer/cli/producer_brokers.h"
#include "zkconsumer/cli/brokers.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>

#define BROKERS_BYTES_MAX ((size_t)64 << 20)

bool producer_conf_set(rd_kafka_conf_t *conf, const char *where, const char *key, const char *value)
{
    char text[512];
    if (rd_kafka_conf_set(conf, key, value, text, sizeof text) == RD_KAFKA_CONF_OK)
        return true;
    report_error("%s: %s=%s: %s", where, key, value, text);
    return false;
}

bool producer_conf_is_javas(const char *key)
{
    static const char *const keys[] = {
        "producer.type",
        "serializer.class",
        "key.serializer.class",
        "key.serializer",
        "value.serializer",
        "partitioner.class",
        "queue.enqueue.timeout.ms",
        "buffer.memory",
        "block.on.buffer.full",
        "max.block.ms",
        "send.buffer.bytes",
        "receive.buffer.bytes",
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static void tell_of_missing_topic(struct zk_reader *r, const char *topic, struct arena *arena)
{
    char *path = zk_path_topic(topic);
    struct zk_op op = {.type = ZK_OP_EXISTS, .path = path};
    struct zk_result result;
    struct why why;
    if (path && zk_reader_run(r, &op, 1, arena, &result, &why) == ZKC_OK &&
        result.zk_rc == ZK_NO_NODE)
        report_status("topic %s does not exist yet; brokers with auto.create.topics.enable create "
                      "it",
                      topic);
    free(path);
}

/* Brokers before 0.10 close the connection on the question what they speak. */
static bool set_dialect(rd_kafka_conf_t *conf, const char *fallback)
{
    return producer_conf_set(conf, "dialect", "api.version.request", "false") &&
           producer_conf_set(conf, "dialect", "broker.version.fallback", fallback);
}

static enum cli_exit tell_brokers(rd_kafka_conf_t *conf, const struct brokers *brokers,
                                  const char *connect, bool keeps_dialect)
{
    struct buf addresses;
    buf_init(&addresses, BROKERS_BYTES_MAX);
    size_t count = brokers_append_addresses(brokers, &addresses);
    const char *text = buf_text(&addresses);
    const char *fallback = brokers_version_fallback(brokers);
    enum cli_exit code = CLI_DONE;
    for (size_t i = 0; i < brokers->count; i++)
        if (brokers->list[i].problem)
            report_warning("broker %" PRId32 ": %s", brokers->list[i].id, brokers->list[i].problem);
    if (count == 0 || !text) {
        report_error("no broker to write to: %zu are registered in ZooKeeper at %s", brokers->count,
                     connect);
        code = CLI_UNREACHABLE;
    } else if (!producer_conf_set(conf, "brokers", "bootstrap.servers", text) ||
               (fallback && !keeps_dialect && !set_dialect(conf, fallback))) {
        code = CLI_FAILED;
    } else {
        report_status("brokers %s, %s", text,
                      fallback ? fallback : "which tell by themselves what they speak");
    }
    buf_deinit(&addresses);
    return code;
}

enum cli_exit producer_brokers_by_zookeeper(rd_kafka_conf_t *conf, const char *connect,
                                            const char *topic, bool keeps_dialect,
                                            int64_t timeout_ms)
{
    struct zk_reader *r;
    struct why why;
    enum zkc_err err = zk_reader_open(connect, timeout_ms, &r, &why);
    if (err) {
        report_error("%s", why.text);
        return report_exit_of(err);
    }
    struct arena arena;
    struct brokers brokers;
    arena_init(&arena, BROKERS_BYTES_MAX);
    err = brokers_read(r, &arena, &brokers, &why);
    enum cli_exit code = report_exit_of(err);
    if (err) {
        report_error("%s", why.text);
    } else {
        if (topic)
            tell_of_missing_topic(r, topic, &arena);
        code = tell_brokers(conf, &brokers, connect, keeps_dialect);
    }
    arena_deinit(&arena);
    zk_reader_close(r);
    return code;
}

enum cli_exit producer_brokers_by_list(rd_kafka_conf_t *conf, const char *list, bool keeps_dialect)
{
    bool ok = producer_conf_set(conf, "--broker-list", "bootstrap.servers", list) &&
              (keeps_dialect ||
               (producer_conf_set(conf, "dialect", "broker.version.fallback", "0.8.2.2") &&
                producer_conf_set(conf, "dialect", "api.version.fallback.ms", "3600000")));
    return ok ? CLI_DONE : CLI_FAILED;
}
