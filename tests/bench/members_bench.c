/* Many members of groups in one process, on one loop, each with a session of its own; driven by
 * lines on standard input, answered by lines on standard output:
 *
 *     members_bench --zookeeper=A --topic=T --members=N --groups=N
 *
 *     open     opens all and waits until each has been through its first rebalance
 *     report   memory, CPU time and rebalances so far, and how many members own partitions
 *     trim     has malloc() give back to the system what it keeps for later
 *     close    closes all
 *
 * One consumer of a group of its own comes and goes before, so that what the process needs once is
 * not counted as the members'. */
#include "tests/bench/measure.h"
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zkconsumer/consumer.h>

#define PATIENCE_MS (10 * 60 * 1000)

struct fleet {
    const char *zookeeper, *topic;
    int64_t members, groups;
    zkc_loop *loop;
    zkc_consumer **list;
    int64_t before_bytes, before_heap_bytes;
    struct usage begin;
};

static atomic_llong rebalances, errors;

static void on_rebalance(zkc_consumer *consumer, enum zkc_rebalance_kind kind,
                         struct zkc_owned *list, size_t count, void *user)
{
    (void)consumer;
    (void)list;
    (void)count;
    (void)user;
    rebalances += kind == ZKC_REBALANCE_ASSIGN;
}

static void on_error(zkc_consumer *consumer, enum zkc_err err, const char *text, void *user)
{
    (void)consumer;
    (void)err;
    (void)user;
    if (errors++ < 5)
        fprintf(stderr, "error: %s\n", text);
}

static void on_log(zkc_consumer *consumer, int level, const char *facility, const char *text,
                   void *user)
{
    (void)consumer;
    (void)level;
    (void)facility;
    (void)text;
    (void)user;
}

static void set(zkc_conf *conf, const char *key, const char *value)
{
    char why[512];
    if (zkc_conf_set(conf, key, value, why, sizeof why))
        die("%s", why);
}

static zkc_consumer *join(const struct fleet *f, const char *group)
{
    char why[512];
    zkc_conf *conf = zkc_conf_new();
    zkc_consumer *consumer;
    struct zkc_subscription subscription = {f->topic, 1};
    set(conf, "zookeeper.connect", f->zookeeper);
    set(conf, "group.id", group);
    set(conf, "zookeeper.session.timeout.ms", "30000");
    set(conf, "fetch.wait.max.ms", "10000"); /* an owner asks its broker six times a minute */
    set(conf, "auto.commit.interval.ms", "600000");
    zkc_conf_set_on_rebalance(conf, on_rebalance);
    zkc_conf_set_on_error(conf, on_error);
    zkc_conf_set_on_log(conf, on_log);
    if (zkc_consumer_open(conf, f->loop, &consumer, why, sizeof why))
        die("%s", why);
    zkc_conf_free(conf);
    if (zkc_consumer_subscribe(consumer, &subscription, 1))
        die("cannot subscribe");
    return consumer;
}

static void wait_for(zkc_consumer *consumer)
{
    enum zkc_err err = zkc_consumer_wait(consumer, PATIENCE_MS);
    if (err && err != ZKC_ERR_REBALANCE) /* given up: it stays, and tries again at a change */
        die("%s: %s", zkc_consumer_id(consumer), zkc_err_text(err));
}

static void warm_up(const struct fleet *f)
{
    zkc_consumer *consumer = join(f, "warm-up");
    wait_for(consumer);
    (void)zkc_consumer_close_wait(consumer, 5000);
    zkc_consumer_free(consumer);
}

static void open_all(struct fleet *f)
{
    malloc_trim(0);
    f->before_bytes = resident_bytes();
    f->before_heap_bytes = heap_bytes();
    f->begin = usage_now();
    rebalances = 0;
    for (int64_t i = 0; i < f->members; i++) {
        char group[32];
        snprintf(group, sizeof group, "group-%" PRId64, i % f->groups);
        f->list[i] = join(f, group);
    }
    for (int64_t i = 0; i < f->members; i++)
        wait_for(f->list[i]);
    printf("opened\n");
}

static void count_owned(const struct zkc_owned *owned, void *user)
{
    (void)owned;
    ++*(int64_t *)user;
}

static void report(const struct fleet *f)
{
    struct usage used = usage_since(f->begin);
    int64_t owners = 0, owned = 0;
    for (int64_t i = 0; i < f->members; i++) {
        int64_t before = owned;
        if (zkc_consumer_owned(f->list[i], count_owned, &owned))
            die("a member has gone");
        owners += owned > before;
    }
    printf("report before_bytes=%" PRId64 " bytes=%" PRId64 " peak_bytes=%" PRId64
           " before_heap_bytes=%" PRId64 " heap_bytes=%" PRId64 " user_ns=%" PRId64
           " system_ns=%" PRId64 " wall_ns=%" PRId64 " owners=%" PRId64 " owned=%" PRId64
           " rebalances=%lld errors=%lld\n",
           f->before_bytes, resident_bytes(), peak_resident_bytes(), f->before_heap_bytes,
           heap_bytes(), used.user_ns, used.system_ns, used.wall_ns, owners, owned, rebalances,
           errors);
}

static sem_t closed; /* counts them */

static void on_closed(zkc_consumer *consumer, enum zkc_err err, void *user)
{
    (void)consumer;
    (void)err;
    (void)user;
    sem_post(&closed);
}

static void close_all(const struct fleet *f)
{
    struct usage begin = usage_now();
    sem_init(&closed, 0, 0);
    for (int64_t i = 0; i < f->members; i++)
        (void)zkc_consumer_close(f->list[i], 30000, on_closed, NULL);
    for (int64_t i = 0; i < f->members; i++)
        sem_wait(&closed);
    struct usage used = usage_since(begin);
    for (int64_t i = 0; i < f->members; i++)
        zkc_consumer_free(f->list[i]);
    printf("closed wall_ns=%" PRId64 "\n", used.wall_ns);
}

/* Three descriptors for each session and one for each broker connection. */
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        die("getrlimit: %s", strerror(errno));
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        die("setrlimit: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    char line[64];
    struct fleet f = {.zookeeper = option(argc, argv, "zookeeper", NULL),
                      .topic = option(argc, argv, "topic", NULL),
                      .members = option_int(argc, argv, "members", NULL),
                      .groups = option_int(argc, argv, "groups", NULL)};
    raise_limit();
    f.list = calloc((size_t)f.members, sizeof(zkc_consumer *));
    if (!f.list || zkc_loop_open(NULL, &f.loop))
        die("no memory or no loop");
    warm_up(&f);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready\n");
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "open\n") == 0)
            open_all(&f);
        else if (strcmp(line, "report\n") == 0)
            report(&f);
        else if (strcmp(line, "trim\n") == 0)
            printf("trimmed %d\n", malloc_trim(0));
        else if (strcmp(line, "close\n") == 0)
            close_all(&f);
    }
    zkc_loop_close(f.loop);
    free(f.list);
    return 0;
}
