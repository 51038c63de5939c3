/* Many members of groups in one process, on one loop, each with a session of its own; driven by
 * lines on standard input, answered by lines on standard output:
 *
 *     members_bench --zookeeper=A --topic=T --members=N --groups=N [--observer=WHO]
 *
 *     open     opens all and waits until each has been through its first rebalance
 *     settle   waits until partitions have not come or gone for a while; how long it took since
 *              `open`
 *     join N   one more member joins the first group, behind the one of number N - 1, until
 *              partitions have not come or gone for a while, and leaves again
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
#include <time.h>
#include <unistd.h>
#include <zkconsumer/consumer.h>

#define PATIENCE_MS (10 * 60 * 1000)
#define QUIET_NS    INT64_C(1500000000) /* after which nothing more is expected to move */

struct fleet {
    const char *zookeeper, *topic, *observer;
    int64_t members, groups, joined;
    zkc_loop *loop;
    zkc_consumer **list;
    int64_t before_bytes, before_heap_bytes;
    struct usage begin;
};

static atomic_llong rebalances, errors, owned_now, came, moved_ns;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void on_rebalance(zkc_consumer *consumer, enum zkc_rebalance_kind kind,
                         struct zkc_owned *list, size_t count, void *user)
{
    (void)consumer;
    (void)list;
    (void)user;
    bool comes = kind == ZKC_REBALANCE_ASSIGN;
    rebalances += comes;
    came += comes ? (int64_t)count : 0;
    owned_now += comes ? (int64_t)count : -(int64_t)count;
    moved_ns = now_ns();
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

static zkc_consumer *join(const struct fleet *f, const char *group, const char *id)
{
    char why[512];
    zkc_conf *conf = zkc_conf_new();
    zkc_consumer *consumer;
    struct zkc_subscription subscription = {f->topic, 1};
    set(conf, "zookeeper.connect", f->zookeeper);
    set(conf, "group.id", group);
    set(conf, "consumer.id", id);
    set(conf, "zookeeper.observer", f->observer);
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
    zkc_consumer *consumer = join(f, "warm-up", "w");
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
    moved_ns = now_ns();
    for (int64_t i = 0; i < f->members; i++) {
        char group[32], id[32];
        snprintf(group, sizeof group, "group-%" PRId64, i % f->groups);
        snprintf(id, sizeof id, "m%06" PRId64, i);
        f->list[i] = join(f, group, id);
    }
    for (int64_t i = 0; i < f->members; i++)
        wait_for(f->list[i]);
    printf("opened\n");
}

/* Until partitions have not come or gone for a while, and there are as many with an owner as
 * before. */
static void wait_until_still(int64_t owned)
{
    while (now_ns() - moved_ns < QUIET_NS || (owned >= 0 && owned_now != owned))
        usleep(10000);
}

static void settle(const struct fleet *f)
{
    wait_until_still(-1);
    int64_t took_ns = usage_since(f->begin).wall_ns - (now_ns() - moved_ns);
    printf("settled wall_ns=%" PRId64 " owned=%lld\n", took_ns, (long long)owned_now);
}

static void join_one(struct fleet *f, int64_t place)
{
    char id[32];
    int64_t owned = owned_now, came_before = came, begin_ns = now_ns();
    struct usage begin = usage_now();
    /* Its place in the order: "m000004+2" is behind m000004. */
    if (place == 0)
        snprintf(id, sizeof id, "a%" PRId64, f->joined++);
    else
        snprintf(id, sizeof id, "m%06" PRId64 "+%" PRId64, place - 1, f->joined++);
    zkc_consumer *consumer = join(f, "group-0", id);
    moved_ns = now_ns();
    wait_for(consumer);
    wait_until_still(owned);
    struct usage used = usage_since(begin);
    int64_t took_ns = moved_ns - begin_ns;
    printf("joined wall_ns=%" PRId64 " cpu_ns=%" PRId64 " moved=%lld\n", took_ns,
           used.user_ns + used.system_ns, (long long)(came - came_before));
    (void)zkc_consumer_close_wait(consumer, 30000);
    zkc_consumer_free(consumer);
    wait_until_still(owned);
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
                      .groups = option_int(argc, argv, "groups", NULL),
                      .observer = option(argc, argv, "observer", "own")};
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
        else if (strcmp(line, "settle\n") == 0)
            settle(&f);
        else if (strncmp(line, "join ", 5) == 0)
            join_one(&f, strtoll(line + 5, NULL, 10));
        else if (strcmp(line, "trim\n") == 0)
            printf("trimmed %d\n", malloc_trim(0));
        else if (strcmp(line, "close\n") == 0)
            close_all(&f);
    }
    zkc_loop_close(f.loop);
    free(f.list);
    return 0;
}
