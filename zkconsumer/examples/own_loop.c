/* A member of a group on the application's own libevent loop: no threads. Messages and changes of
 * ownership come as callbacks, between the application's other events.
 *
 *     own_loop ZOOKEEPER GROUP TOPIC
 *
 * In its rebalance callback it may choose where a partition starts; here it only tells. */
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <zkconsumer/consumer.h>

struct application {
    struct event_base *base;
    zkc_consumer *consumer;
    uint64_t messages;
};

static void die(const char *what, enum zkc_err err, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why ? why : zkc_err_text(err));
    exit(1);
}

static void on_message(zkc_stream *stream, const struct zkc_message *m, void *user)
{
    struct application *app = user;
    (void)stream;
    if (m->err) { /* a report about the partition; the stream goes on */
        fprintf(stderr, "%s/%" PRId32 ": %.*s\n", m->topic, m->partition, (int)m->value_len,
                (const char *)m->value);
        return;
    }
    app->messages++;
    printf("%s/%" PRId32 " %" PRId64 ": %.*s\n", m->topic, m->partition, m->offset,
           (int)m->value_len, m->value ? (const char *)m->value : "");
}

static void on_rebalance(zkc_consumer *consumer, enum zkc_rebalance_kind kind,
                         struct zkc_owned *list, size_t count, void *user)
{
    static const char *const kinds[] = {"assigned", "revoked", "lost"};
    (void)consumer;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        /* In ZKC_REBALANCE_ASSIGN, list[i].offset may be set to where to start: from a database of
         * one's own, for example. */
        fprintf(stderr, "%s %s/%" PRId32 " at %" PRId64 "\n", kinds[kind], list[i].topic,
                list[i].partition, list[i].offset);
    }
}

static void on_error(zkc_consumer *consumer, enum zkc_err err, const char *text, void *user)
{
    (void)consumer;
    (void)user;
    fprintf(stderr, "%s: %s\n", zkc_err_name(err), text);
}

static void on_closed(zkc_consumer *consumer, enum zkc_err err, void *user)
{
    struct application *app = user;
    (void)consumer;
    if (err)
        fprintf(stderr, "close: %s\n", zkc_err_text(err));
    event_base_loopbreak(app->base); /* nothing else keeps this application running */
}

static void on_signal(evutil_socket_t number, short what, void *user)
{
    struct application *app = user;
    (void)number;
    (void)what;
    zkc_consumer_close(app->consumer, 5000, on_closed, app);
}

static zkc_conf *make_conf(char **argv, struct application *app)
{
    char why[512];
    zkc_conf *conf = zkc_conf_new();
    enum zkc_err err = zkc_conf_set(conf, "zookeeper.connect", argv[1], why, sizeof why);
    if (!err)
        err = zkc_conf_set(conf, "group.id", argv[2], why, sizeof why);
    if (!err)
        err = zkc_conf_set(conf, "auto.offset.reset", "smallest", why, sizeof why);
    if (err)
        die("settings", err, why);
    zkc_conf_set_user(conf, app);
    zkc_conf_set_on_rebalance(conf, on_rebalance);
    zkc_conf_set_on_error(conf, on_error);
    return conf;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s ZOOKEEPER GROUP TOPIC\n", argv[0]);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* a line is seen when it is there, in a pipe too */
    struct application app = {.base = event_base_new()};
    struct event *interrupt = evsignal_new(app.base, SIGINT, on_signal, &app);
    struct event *terminate = evsignal_new(app.base, SIGTERM, on_signal, &app);
    event_add(interrupt, NULL);
    event_add(terminate, NULL);

    char why[512];
    zkc_loop *loop;
    zkc_conf *conf = make_conf(argv, &app);
    enum zkc_err err = zkc_loop_open(app.base, &loop);
    if (err)
        die("loop", err, NULL);
    err = zkc_consumer_open(conf, loop, &app.consumer, why, sizeof why);
    if (err)
        die("consumer", err, why);
    zkc_conf_free(conf);
    err = zkc_consumer_subscribe(app.consumer, &(struct zkc_subscription){argv[3], 1}, 1);
    if (err)
        die("subscribe", err, NULL);
    zkc_stream_set_on_message(zkc_consumer_stream(app.consumer, argv[3], 0), on_message, &app, 0);

    event_base_dispatch(app.base);

    fprintf(stderr, "%" PRIu64 " messages\n", app.messages);
    zkc_consumer_free(app.consumer);
    zkc_loop_close(loop);
    event_free(interrupt);
    event_free(terminate);
    event_base_free(app.base);
    return 0;
}
