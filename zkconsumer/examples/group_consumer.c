/* A member of a group that takes messages in a loop and prints them.
 *
 *     group_consumer ZOOKEEPER GROUP TOPIC
 *
 * Start it several times: the processes share the topic's partitions. Ctrl-C leaves in order. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <zkconsumer/consumer.h>

static volatile sig_atomic_t is_stopping;

static void on_signal(int number)
{
    (void)number;
    is_stopping = 1;
}

static void die(const char *what, enum zkc_err err, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why ? why : zkc_err_text(err));
    exit(1);
}

static void print(const struct zkc_message *m)
{
    if (m->err) /* a report about the partition; the stream goes on */
        fprintf(stderr, "%s/%" PRId32 ": %.*s\n", m->topic, m->partition, (int)m->value_len,
                (const char *)m->value);
    else
        printf("%s/%" PRId32 " %" PRId64 ": %.*s\n", m->topic, m->partition, m->offset,
               (int)m->value_len, m->value ? (const char *)m->value : "");
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s ZOOKEEPER GROUP TOPIC\n", argv[0]);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* a line is seen when it is there, in a pipe too */
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);

    const char *settings[][2] = {
        {"zookeeper.connect", argv[1]},
        {"group.id", argv[2]},
        {"auto.offset.reset", "smallest"}, /* a new group begins at the oldest message */
    };
    char why[512];
    zkc_conf *conf = zkc_conf_new();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        enum zkc_err err = zkc_conf_set(conf, settings[i][0], settings[i][1], why, sizeof why);
        if (err)
            die("settings", err, why);
    }

    zkc_loop *loop; /* a thread of the library does the work */
    zkc_consumer *consumer;
    enum zkc_err err = zkc_loop_open(NULL, &loop);
    if (err)
        die("loop", err, NULL);
    err = zkc_consumer_open(conf, loop, &consumer, why, sizeof why);
    if (err)
        die("consumer", err, why);
    zkc_conf_free(conf); /* it was copied */

    struct zkc_subscription subscription = {argv[3], 1};
    err = zkc_consumer_subscribe(consumer, &subscription, 1);
    if (err)
        die("subscribe", err, NULL);
    zkc_stream *stream = zkc_consumer_stream(consumer, argv[3], 0);

    while (!is_stopping) {
        struct zkc_message m;
        err = zkc_stream_next(stream, 500, &m); /* half a second: to look at is_stopping */
        if (err == ZKC_OK) {
            print(&m);
            zkc_message_acknowledge(&m); /* done with it: asking for the next would say so, too */
        } else if (err != ZKC_ERR_TIMED_OUT) {
            break; /* the first rebalance was given up, for example */
        }
    }
    if (err && err != ZKC_ERR_TIMED_OUT)
        fprintf(stderr, "%s\n", zkc_err_text(err));

    /* Commits what was taken, gives the partitions back. */
    enum zkc_err closed = zkc_consumer_close_wait(consumer, 5000);
    if (closed)
        fprintf(stderr, "close: %s\n", zkc_err_text(closed));
    zkc_consumer_free(consumer);
    zkc_loop_close(loop);
    return err && err != ZKC_ERR_TIMED_OUT;
}
