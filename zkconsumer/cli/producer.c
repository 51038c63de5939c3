#include "zkconsumer/cli/producer.h"
#include "zkconsumer/cli/report.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define FAILURES_SHOWN_MAX 10
#define QUEUE_FULL_WAIT_MS 100

struct producer {
    rd_kafka_t *rk;
    rd_kafka_topic_t *topic; /* NULL: of each message */
    int32_t partition;
    const char *noun;
    int wake_fds[2]; /* librdkafka writes into it when its queue was empty and is no more */
    struct producer_counts counts;
    uint64_t failures_shown;
};

static bool means_unreachable(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT || err == RD_KAFKA_RESP_ERR__TRANSPORT ||
           err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || err == RD_KAFKA_RESP_ERR__RESOLVE;
}

static void count_failure(struct producer *p, rd_kafka_resp_err_t err, uint64_t line)
{
    p->counts.is_unreachable &= means_unreachable(err);
    p->counts.failed++;
    if (p->failures_shown == FAILURES_SHOWN_MAX)
        report_warning("further %ss that are not delivered are only counted", p->noun);
    if (p->failures_shown++ < FAILURES_SHOWN_MAX)
        report_warning("%s %" PRIu64 " is not delivered: %s (%s)", p->noun, line,
                       rd_kafka_err2str(err), rd_kafka_err2name(err));
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *user)
{
    struct producer *p = user;
    (void)rk;
    if (message->err)
        count_failure(p, message->err, (uint64_t)(uintptr_t)message->_private);
    else
        p->counts.delivered++;
}

/* Errors are librdkafka's news, not the end: it goes on trying. */
static void on_error(rd_kafka_t *rk, int err, const char *reason, void *user)
{
    (void)rk;
    (void)user;
    report_status("%s: %s", rd_kafka_err2name(err), reason);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk;
    if (report_level() == REPORT_VERBOSE)
        report_status("librdkafka %d %s: %s", level, facility, text);
}

static void wake_by_pipe(struct producer *p)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_get_main(p->rk);
    rd_kafka_queue_io_event_enable(queue, p->wake_fds[1], "1", 1);
    rd_kafka_queue_destroy(queue);
}

/* Leaves conf to the caller when it fails. */
static bool start(struct producer *p, rd_kafka_conf_t *conf, struct why *why)
{
    char text[WHY_SIZE];
    if (pipe2(p->wake_fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        why_set(why, "no descriptors: %s", strerror(errno));
        return false;
    }
    rd_kafka_conf_set_opaque(conf, p);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    p->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    if (!p->rk)
        why_set(why, "%s", text);
    return p->rk != NULL;
}

struct producer *producer_open_take(rd_kafka_conf_t *conf, const char *topic, int32_t partition,
                                    const char *noun, struct why *why)
{
    struct producer *p = calloc(1, sizeof *p);
    why_set(why, "out of memory");
    if (p) {
        p->partition = partition;
        p->noun = noun;
        p->wake_fds[0] = p->wake_fds[1] = -1;
        p->counts.is_unreachable = true;
    }
    if (!p || !start(p, conf, why)) {
        rd_kafka_conf_destroy(conf);
        producer_close(p);
        return NULL;
    }
    wake_by_pipe(p);
    if (!topic)
        return p;
    p->topic = rd_kafka_topic_new(p->rk, topic, NULL);
    if (p->topic)
        return p;
    why_set(why, "topic %s: %s", topic, rd_kafka_err2str(rd_kafka_last_error()));
    producer_close(p);
    return NULL;
}

int producer_fd(const struct producer *p)
{
    return p->wake_fds[0];
}

void producer_poll(struct producer *p)
{
    char bytes[64];
    while (read(p->wake_fds[0], bytes, sizeof bytes) > 0)
        ;
    while (rd_kafka_poll(p->rk, 0) > 0)
        ;
}

void producer_send(struct producer *p, struct bytes key, struct bytes value, uint64_t line)
{
    p->counts.sent++;
    for (;;) {
        if (rd_kafka_produce(p->topic, p->partition, RD_KAFKA_MSG_F_COPY, (void *)value.data,
                             value.len, key.data, key.len, (void *)(uintptr_t)line) == 0)
            return;
        rd_kafka_resp_err_t err = rd_kafka_last_error();
        if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            count_failure(p, err, line);
            return;
        }
        rd_kafka_poll(p->rk, QUEUE_FULL_WAIT_MS);
    }
}

bool producer_try_send(struct producer *p, const char *topic, struct bytes key, struct bytes value,
                       uint64_t line)
{
    rd_kafka_resp_err_t err = rd_kafka_producev(
        p->rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(p->partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_VALUE((void *)value.data, value.len),
        RD_KAFKA_V_KEY((void *)key.data, key.len), RD_KAFKA_V_OPAQUE((void *)(uintptr_t)line),
        RD_KAFKA_V_END);
    if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL)
        return false;
    p->counts.sent++;
    if (err)
        count_failure(p, err, line);
    return true;
}

struct producer_counts producer_counts(const struct producer *p)
{
    return p->counts;
}

bool producer_flush(struct producer *p, int wait_ms)
{
    return rd_kafka_flush(p->rk, wait_ms) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

void producer_close(struct producer *p)
{
    if (!p)
        return;
    if (p->topic)
        rd_kafka_topic_destroy(p->topic);
    if (p->rk) {
        rd_kafka_purge(p->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_destroy(p->rk);
    }
    for (int i = 0; i < 2; i++)
        if (p->wake_fds[i] >= 0)
            close(p->wake_fds[i]);
    free(p);
}
