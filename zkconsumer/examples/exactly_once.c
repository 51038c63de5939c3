/* A member of a group whose results and offsets are in one database: each message counts exactly
 * once, whatever is killed when.
 *
 *     exactly_once ZOOKEEPER GROUP TOPIC DATABASE [KEY=VALUE ...]
 *
 * Results and offsets are written in one transaction, so that they agree after any crash. Where a
 * partition starts is read from the database, not from the group's offsets in ZooKeeper; those are
 * committed all the same, for the tools that show lag.
 *
 * Several of these may share a group and a database. A member that has lost its partition without
 * knowing it yet may still be writing while the next owner begins: so each transaction takes the
 * database's write lock first, then looks at the stored offset, and passes over what is in already.
 * The database is the fence. (docs/delivery.md) */
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zkconsumer/consumer.h>

#define BATCH_MAX 100   /* messages in one transaction */
#define BUSY_MS   10000 /* how long another member's transaction may take */

static volatile sig_atomic_t is_stopping;

static void on_signal(int number)
{
    (void)number;
    is_stopping = 1;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1); /* nothing is half done: a transaction that is open is undone */
}

/* ---- the database ---- */

struct store {
    sqlite3 *db;
    sqlite3_stmt *next, *put, *insert;
};

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die(sql, sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        die(sql, sqlite3_errmsg(db));
    return statement;
}

static void store_open(struct store *s, const char *path)
{
    if (sqlite3_open(path, &s->db) != SQLITE_OK)
        die(path, sqlite3_errmsg(s->db));
    sqlite3_busy_timeout(s->db, BUSY_MS);
    run(s->db, "PRAGMA journal_mode=WAL");
    run(s->db, "CREATE TABLE IF NOT EXISTS results (topic, partition, offset, value)");
    run(s->db, "CREATE TABLE IF NOT EXISTS offsets (topic, partition, next, "
               "PRIMARY KEY (topic, partition))");
    s->next = prepare(s->db, "SELECT next FROM offsets WHERE topic=?1 AND partition=?2");
    s->put = prepare(s->db, "INSERT OR REPLACE INTO offsets VALUES (?1, ?2, ?3)");
    s->insert = prepare(s->db, "INSERT INTO results VALUES (?1, ?2, ?3, ?4)");
}

static void store_close(struct store *s)
{
    sqlite3_finalize(s->next);
    sqlite3_finalize(s->put);
    sqlite3_finalize(s->insert);
    sqlite3_close(s->db);
}

static void bind(sqlite3_stmt *statement, const char *topic, int32_t partition)
{
    sqlite3_reset(statement);
    sqlite3_bind_text(statement, 1, topic, -1, SQLITE_STATIC);
    sqlite3_bind_int(statement, 2, partition);
}

/* The next offset to do; -1: nothing is stored. */
static int64_t store_next(struct store *s, const char *topic, int32_t partition)
{
    bind(s->next, topic, partition);
    int result = sqlite3_step(s->next);
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        die("offset", sqlite3_errmsg(s->db));
    int64_t next = result == SQLITE_ROW ? sqlite3_column_int64(s->next, 0) : -1;
    sqlite3_reset(s->next);
    return next;
}

static void step(struct store *s, sqlite3_stmt *statement)
{
    if (sqlite3_step(statement) != SQLITE_DONE)
        die("write", sqlite3_errmsg(s->db));
    sqlite3_reset(statement);
}

/* Within a transaction that has the write lock. */
static void store_message(struct store *s, const struct zkc_message *m)
{
    if (m->offset < store_next(s, m->topic, m->partition))
        return; /* another member was faster */
    bind(s->insert, m->topic, m->partition);
    sqlite3_bind_int64(s->insert, 3, m->offset);
    sqlite3_bind_blob64(s->insert, 4, m->value, m->value_len, SQLITE_STATIC);
    step(s, s->insert);
    bind(s->put, m->topic, m->partition);
    sqlite3_bind_int64(s->put, 3, m->offset + 1);
    step(s, s->put);
}

/* ---- the consumer ---- */

/* On the loop's thread, with a connection of its own: another's open transaction is not seen. */
static void on_rebalance(zkc_consumer *consumer, enum zkc_rebalance_kind kind,
                         struct zkc_owned *list, size_t count, void *user)
{
    struct store *s = user;
    (void)consumer;
    for (size_t i = 0; kind == ZKC_REBALANCE_ASSIGN && i < count; i++) {
        int64_t next = store_next(s, list[i].topic, list[i].partition);
        if (next >= 0)
            list[i].offset = next;
    }
}

static bool is_message(const struct zkc_message *m)
{
    if (m->err) /* a report: whoever goes on here accepts a loss */
        die("a message that cannot be read", m->value ? (const char *)m->value : "");
    return true;
}

/* One transaction: the message that came, and what else is there. */
static void take_batch(struct store *s, zkc_consumer *consumer, struct zkc_message *m)
{
    int taken = 0;
    run(s->db, "BEGIN IMMEDIATE");
    do
        if (is_message(m))
            store_message(s, m);
    while (++taken < BATCH_MAX && zkc_consumer_next(consumer, 0, m) == ZKC_OK);
    run(s->db, "COMMIT");
    if (taken == BATCH_MAX) /* else asking for one more has said so */
        zkc_message_acknowledge(m);
}

static enum zkc_err take_all(struct store *s, zkc_consumer *consumer)
{
    while (!is_stopping) {
        struct zkc_message m;
        enum zkc_err err = zkc_consumer_next(consumer, 500, &m);
        if (err == ZKC_OK)
            take_batch(s, consumer, &m);
        else if (err != ZKC_ERR_TIMED_OUT)
            return err;
    }
    return ZKC_OK;
}

static void set(zkc_conf *conf, const char *key, const char *value)
{
    char why[512];
    if (zkc_conf_set(conf, key, value, why, sizeof why) != ZKC_OK)
        die("settings", why);
}

/* KEY=VALUE, cut in two. */
static void set_pair(zkc_conf *conf, char *pair)
{
    char *equals = strchr(pair, '=');
    if (!equals)
        die(pair, "expected KEY=VALUE");
    *equals = 0;
    set(conf, pair, equals + 1);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: %s ZOOKEEPER GROUP TOPIC DATABASE [KEY=VALUE ...]\n", argv[0]);
        return 1;
    }
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    struct store writing, reading;
    store_open(&writing, argv[4]);
    store_open(&reading, argv[4]);

    zkc_conf *conf = zkc_conf_new();
    set(conf, "zookeeper.connect", argv[1]);
    set(conf, "group.id", argv[2]);
    set(conf, "auto.offset.reset", "smallest");
    for (int i = 5; i < argc; i++)
        set_pair(conf, argv[i]);
    zkc_conf_set_user(conf, &reading);
    zkc_conf_set_on_rebalance(conf, on_rebalance);

    char why[512];
    zkc_loop *loop;
    zkc_consumer *consumer;
    if (zkc_loop_open(NULL, &loop) != ZKC_OK)
        die("loop", "no thread or no descriptors");
    if (zkc_consumer_open(conf, loop, &consumer, why, sizeof why) != ZKC_OK)
        die("consumer", why);
    zkc_conf_free(conf);
    struct zkc_subscription subscription = {argv[3], 1};
    enum zkc_err err = zkc_consumer_subscribe(consumer, &subscription, 1);
    if (!err)
        err = take_all(&writing, consumer);
    if (err)
        fprintf(stderr, "%s\n", zkc_err_text(err));

    zkc_consumer_close_wait(consumer, 5000);
    zkc_consumer_free(consumer);
    zkc_loop_close(loop);
    store_close(&writing);
    store_close(&reading);
    return err != ZKC_OK;
}
