/* A member of a group with two streams of one topic, each worked on by a thread of its own, that
 * commits by itself: a message is committed only when its work is done.
 *
 *     two_streams ZOOKEEPER GROUP TOPIC
 *
 * Taking a message makes it count as consumed, so an automatic commit could cover a message that a
 * thread is still working on; a crash would then lose it. With auto.commit.enable=false and commits
 * of our own after the work, a crash repeats messages instead. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zkconsumer/consumer.h>

#define STREAMS         2
#define PARTITIONS_MAX  64 /* of one worker, at the same time */
#define COMMIT_MESSAGES 1000

static atomic_bool is_stopping; /* read by all threads */

struct worker {
    pthread_t thread;
    zkc_consumer *consumer;
    zkc_stream *stream;
    struct zkc_position done[PARTITIONS_MAX]; /* by partition: the next message to do */
    size_t done_count;
    uint64_t messages, uncommitted;
};

static void on_signal(int number)
{
    (void)number;
    is_stopping = true;
}

static void die(const char *what, enum zkc_err err, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why ? why : zkc_err_text(err));
    exit(1);
}

static void commit(struct worker *w)
{
    if (w->uncommitted == 0)
        return;
    /* Partitions that have moved to another member meanwhile make it ZKC_ERR_NOT_OWNED; that member
     * repeats what was not committed. Each partition is committed alone, so that one which has gone
     * does not keep the others from being committed. */
    for (size_t i = 0; i < w->done_count; i++) {
        enum zkc_err err = zkc_consumer_commit_wait(w->consumer, &w->done[i], 1, 5000);
        if (err && err != ZKC_ERR_NOT_OWNED)
            fprintf(stderr, "commit of %s/%" PRId32 ": %s\n", w->done[i].topic,
                    w->done[i].partition, zkc_err_text(err));
    }
    w->done_count = 0;
    w->uncommitted = 0;
}

static void remember(struct worker *w, const struct zkc_message *m)
{
    size_t i = 0;
    while (i < w->done_count && w->done[i].partition != m->partition)
        i++;
    if (i == PARTITIONS_MAX) {
        commit(w);
        i = 0;
    }
    w->done[i] = (struct zkc_position){m->topic, m->partition, m->offset + 1};
    if (i == w->done_count)
        w->done_count++;
    w->uncommitted++;
}

/* The work: here it only prints a line, in one call, since the threads share stdout. */
static void work(const struct worker *w, const struct zkc_message *m)
{
    printf("stream %d: %s/%" PRId32 " %" PRId64 ": %.*s\n", zkc_stream_index(w->stream), m->topic,
           m->partition, m->offset, (int)m->value_len, m->value ? (const char *)m->value : "");
}

static void *run(void *user)
{
    struct worker *w = user;
    while (!is_stopping) {
        struct zkc_message m;
        enum zkc_err err = zkc_stream_next(w->stream, 500, &m);
        if (err == ZKC_ERR_TIMED_OUT) {
            commit(w);
            continue;
        }
        if (err) {
            fprintf(stderr, "stream %d: %s\n", zkc_stream_index(w->stream), zkc_err_text(err));
            break;
        }
        if (m.err) { /* a report about the partition; the stream goes on */
            fprintf(stderr, "%s/%" PRId32 ": %.*s\n", m.topic, m.partition, (int)m.value_len,
                    (const char *)m.value);
            continue;
        }
        work(w, &m);
        zkc_message_acknowledge(&m);
        w->messages++;
        remember(w, &m);
        if (w->uncommitted >= COMMIT_MESSAGES)
            commit(w);
    }
    commit(w);
    return NULL;
}

static zkc_conf *make_conf(char **argv)
{
    const char *settings[][2] = {
        {"zookeeper.connect", argv[1]},
        {"group.id", argv[2]},
        {"auto.offset.reset", "smallest"},
        {"auto.commit.enable", "false"},
    };
    char why[512];
    zkc_conf *conf = zkc_conf_new();
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        enum zkc_err err = zkc_conf_set(conf, settings[i][0], settings[i][1], why, sizeof why);
        if (err)
            die("settings", err, why);
    }
    return conf;
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

    char why[512];
    zkc_loop *loop;
    zkc_consumer *consumer;
    zkc_conf *conf = make_conf(argv);
    enum zkc_err err = zkc_loop_open(NULL, &loop);
    if (err)
        die("loop", err, NULL);
    err = zkc_consumer_open(conf, loop, &consumer, why, sizeof why);
    if (err)
        die("consumer", err, why);
    zkc_conf_free(conf);
    err = zkc_consumer_subscribe(consumer, &(struct zkc_subscription){argv[3], STREAMS}, 1);
    if (err)
        die("subscribe", err, NULL);

    struct worker workers[STREAMS];
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < STREAMS; i++) {
        workers[i].consumer = consumer;
        workers[i].stream = zkc_consumer_stream(consumer, argv[3], i);
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
            die("thread", ZKC_ERR_SYSTEM, NULL);
    }
    for (int i = 0; i < STREAMS; i++) {
        pthread_join(workers[i].thread, NULL);
        fprintf(stderr, "stream %d: %" PRIu64 " messages\n", i, workers[i].messages);
    }

    err = zkc_consumer_close_wait(consumer, 5000);
    if (err)
        fprintf(stderr, "close: %s\n", zkc_err_text(err));
    zkc_consumer_free(consumer);
    zkc_loop_close(loop);
    return 0;
}
