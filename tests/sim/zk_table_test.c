/* The model of ZooKeeper against the table that real servers pass
 * (tests/vectors/sim/zookeeper.table; tests/integration/sim_zookeeper_test.py). */
#include "study/sim/zk_server.h"
#include "tests/unit/test.h"
#include <stdarg.h>
#include <stdio.h>

#define SESSIONS_MAX 4
#define WORDS_MAX    64
#define WAIT_NS      (60 * SIM_S)

struct table;

struct session {
    struct table *table;
    struct node node;
    char name;
    struct conn *conn;
    uint64_t id;
    int64_t zxid;
    struct zk_answer *answer; /* the last one; owned */
    bool is_cut;
    bool has_sent; /* since the last attach, without waiting */
    char events[2000];
    struct zk_watch_name watches[50];
    uint32_t watch_count;
};

struct table {
    struct kernel kernel;
    struct pool pool;
    struct net net;
    struct zk_ensemble zk;
    struct sim_config config;
    struct session sessions[SESSIONS_MAX];
    int32_t timeout_ms; /* of sessions, unless a line says another */
    char root[64];
    int64_t last_zxid;
    char result[4000];
};

/* ---- a client that speaks to the model as it is told ---- */

static const char *shorten(struct table *t, const char *path)
{
    const char *rest = path + strlen(t->root);
    return *rest ? rest : "/";
}

static bool forget(struct session *s, uint32_t path, enum zk_watch_kind kind)
{
    for (uint32_t i = 0; i < s->watch_count; i++)
        if (s->watches[i].path == path && s->watches[i].kind == kind) {
            s->watches[i] = s->watches[--s->watch_count];
            return true;
        }
    return false;
}

static void keep(struct session *s, uint32_t path, enum zk_watch_kind kind)
{
    forget(s, path, kind);
    assert_true(s->watch_count < 50);
    s->watches[s->watch_count++] = (struct zk_watch_name){path, kind};
}

static void take_event(struct session *s, const struct zk_answer *a)
{
    size_t n = strlen(s->events);
    snprintf(s->events + n, sizeof s->events - n, "%s%s %s", n ? ", " : "", zk_event_name(a->event),
             shorten(s->table, zk_path_at(&s->table->zk.paths, a->path)->text));
    if (a->event != ZK_EVENT_CHILDREN_CHANGED) {
        forget(s, a->path, ZK_WATCH_DATA);
        forget(s, a->path, ZK_WATCH_EXISTS);
    }
    if (a->event == ZK_EVENT_CHILDREN_CHANGED || a->event == ZK_EVENT_DELETED)
        forget(s, a->path, ZK_WATCH_CHILD);
}

static void opened(void *self, struct conn *c)
{
    (void)self;
    (void)c;
}

static void came(void *self, struct conn *c, void *message)
{
    struct session *s = self;
    struct zk_answer *a = message;
    (void)c;
    if (a->type == MSG_ZK_EVENT) {
        take_event(s, a);
        msg_free(&s->table->pool, a);
        return;
    }
    msg_free(&s->table->pool, s->answer);
    s->answer = a;
    if (a->type == MSG_ZK_ANSWER && a->zxid > s->zxid)
        s->zxid = a->zxid;
}

static void closed(void *self, struct conn *c)
{
    struct session *s = self;
    if (s->conn == c)
        s->conn = NULL;
    s->is_cut = true;
}

static const struct node_ops OPS = {opened, came, closed};

static bool is_answered(const struct session *s)
{
    return s->answer || s->is_cut;
}

static bool is_told(const struct session *s)
{
    return s->events[0];
}

/* False: it does not come true. */
static bool run_until(struct session *s, bool (*is_there)(const struct session *s))
{
    struct kernel *k = &s->table->kernel;
    uint64_t until = k->now_ns + WAIT_NS;
    while (!is_there(s) && kernel_next_ns(k) < until)
        kernel_run_one(k);
    return is_there(s);
}

static struct zk_request *new_request(struct session *s, enum msg_type type)
{
    struct zk_request *r = pool_take(&s->table->pool, sizeof *r);
    msg_free(&s->table->pool, s->answer);
    s->answer = NULL;
    r->type = type;
    r->xid = 1;
    return r;
}

static const struct zk_answer *ask(struct session *s, struct zk_request *r)
{
    assert_non_null(s->conn);
    conn_send(s->conn, &s->node, r);
    assert_true(run_until(s, is_answered));
    return s->answer; /* NULL: the connection was ended */
}

static const struct zk_answer *ask_op(struct session *s, enum zk_do what, const struct zk_write *w,
                                      bool watch)
{
    struct zk_request *r = new_request(s, MSG_ZK_REQUEST);
    r->what = what;
    r->write = *w;
    r->write.what = what;
    r->watch = watch;
    const struct zk_answer *a = ask(s, r);
    assert_non_null(a);
    return a;
}

static struct zk_request *begin_attach(struct session *s, struct zk_server *server,
                                       int32_t timeout_ms)
{
    if (s->conn)
        conn_close(s->conn, &s->node);
    s->is_cut = s->has_sent = false;
    s->conn = net_connect(&s->node, &server->node, s);
    struct zk_request *r = new_request(s, MSG_ZK_CONNECT);
    r->session = s->id;
    r->zxid = s->zxid;
    r->timeout_ms = timeout_ms;
    return r;
}

static const char *attach(struct session *s, struct zk_server *server, int32_t timeout_ms)
{
    struct table *t = s->table;
    struct zk_request *r = begin_attach(s, server, timeout_ms);
    const struct zk_answer *a = ask(s, r);
    if (!a)
        return "refused";
    assert_int_equal(a->type, MSG_ZK_CONNECTED);
    if (a->timeout_ms == 0) {
        s->id = 0;
        return "expired";
    }
    bool was = s->id != 0;
    s->id = a->session;
    if (was && s->watch_count) {
        r = new_request(s, MSG_ZK_SET_WATCHES);
        r->zxid = s->zxid;
        r->count = s->watch_count;
        r->watches = pool_take(&t->pool, s->watch_count * sizeof *r->watches);
        memcpy(r->watches, s->watches, s->watch_count * sizeof *r->watches);
        conn_send(s->conn, &s->node, r);
    }
    return was ? "same" : "new";
}

/* A read that changes nothing: the last transaction that the server knows. */
static int64_t touch_root(struct session *s)
{
    struct zk_write w = {.path = ZK_PATH_ROOT};
    return ask_op(s, ZK_DO_EXISTS, &w, false)->zxid;
}

/* ---- the words of a line ---- */

static void say(struct table *t, const char *fmt, ...) ZKC_PRINTF(2, 3);
static void say(struct table *t, const char *fmt, ...)
{
    size_t n = strlen(t->result);
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->result + n, sizeof t->result - n, fmt, args);
    va_end(args);
}

static const char *rc_text(int zk_rc)
{
    return zk_rc == ZK_OK                      ? "ok"
           : zk_rc == ZK_RUNTIME_INCONSISTENCY ? "RuntimeInconsistency"
                                               : zk_rc_name(zk_rc);
}

static uint32_t path_id(struct table *t, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s%s", t->root, strcmp(text, "/") == 0 ? "" : text);
    return zk_paths_id(&t->zk.paths, path);
}

static enum zk_do do_of(const char *word)
{
    static const struct {
        const char *word;
        enum zk_do what;
    } words[] = {{"create", ZK_DO_CREATE}, {"delete", ZK_DO_DELETE}, {"exists", ZK_DO_EXISTS},
                 {"get", ZK_DO_GET},       {"set", ZK_DO_SET},       {"children", ZK_DO_CHILDREN},
                 {"multi", ZK_DO_MULTI},   {"sync", ZK_DO_SYNC},     {"check", ZK_DO_CHECK}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].what;
    fail_msg("no such operation: %s", word);
    return ZK_DO_SYNC;
}

static struct zk_write write_of(struct table *t, char **words, size_t count, bool *watch)
{
    struct zk_write w = {
        .what = do_of(words[0]), .path = path_id(t, words[1]), .version = ZK_ANY_VERSION};
    bool has_data = false;
    for (size_t i = 2; i < count; i++) {
        if (strcmp(words[i], "watch") == 0) {
            *watch = true;
        } else if (strcmp(words[i], "ephemeral") == 0) {
            w.ephemeral = true;
        } else if (strncmp(words[i], "v=", 2) == 0) {
            w.version = atoi(words[i] + 2);
        } else if (!has_data) {
            has_data = true;
            if (strcmp(words[i], "null") != 0)
                w.data = value_new(&t->pool, words[i], strlen(words[i]));
        }
    }
    return w;
}

static void say_written(struct table *t, const struct zk_answer *a, const char *extra)
{
    say(t, "%s%s z+%lld", rc_text(a->zk_rc), extra, (long long)(a->zxid - t->last_zxid));
    t->last_zxid = a->zxid;
}

static void say_stat(struct session *s, const struct zk_stat_full *stat)
{
    uint64_t owner = (uint64_t)stat->stat.ephemeral_owner;
    say(s->table, " v%d c%d n%d%s", stat->stat.version, stat->stat.cversion, stat->children,
        !owner           ? ""
        : owner == s->id ? " mine"
                         : " other's");
}

static void keep_asked_watch(struct session *s, const struct zk_write *w, int zk_rc)
{
    if (w->what == ZK_DO_EXISTS)
        keep(s, w->path, zk_rc == ZK_OK ? ZK_WATCH_DATA : ZK_WATCH_EXISTS);
    else if (zk_rc == ZK_OK)
        keep(s, w->path, w->what == ZK_DO_CHILDREN ? ZK_WATCH_CHILD : ZK_WATCH_DATA);
}

static void run_single(struct session *s, char **words, size_t count)
{
    struct table *t = s->table;
    bool watch = false;
    char version[24] = "";
    struct zk_write w = write_of(t, words, count, &watch);
    const struct zk_answer *a = ask_op(s, w.what, &w, watch);
    if (watch)
        keep_asked_watch(s, &w, a->zk_rc);
    if (w.what == ZK_DO_SET && a->zk_rc == ZK_OK)
        snprintf(version, sizeof version, " v%d", a->stat.stat.version);
    if (w.what == ZK_DO_CREATE || w.what == ZK_DO_DELETE || w.what == ZK_DO_SET) {
        say_written(t, a, version);
        return;
    }
    say(t, "%s", rc_text(a->zk_rc));
    if (a->zk_rc != ZK_OK || w.what == ZK_DO_SYNC)
        return;
    if (w.what == ZK_DO_GET && !a->data)
        say(t, " null");
    else if (w.what == ZK_DO_GET)
        say(t, " \"%.*s\"", (int)a->data->len, (const char *)a->data->data);
    if (w.what == ZK_DO_CHILDREN) {
        say(t, " [");
        for (uint32_t i = 0; i < a->names->count; i++)
            say(t, "%s%s", i ? " " : "", a->names->list[i]);
        say(t, "]");
    }
    say_stat(s, &a->stat);
}

static void run_multi(struct session *s, char **words, size_t count)
{
    struct table *t = s->table;
    struct zk_request *r = new_request(s, MSG_ZK_REQUEST);
    char extra[300] = "";
    bool watch = false;
    r->what = ZK_DO_MULTI;
    r->writes = pool_take(&t->pool, WORDS_MAX * sizeof *r->writes);
    for (size_t at = 0, n; at < count; at += n + 1) {
        for (n = 0; at + n < count && strcmp(words[at + n], ";") != 0;)
            n++;
        r->writes[r->count++] = write_of(t, words + at, n, &watch);
    }
    uint32_t asked = r->count;
    const struct zk_answer *a = ask(s, r);
    assert_non_null(a);
    assert_true(a->zk_rc == ZK_SESSION_EXPIRED || a->part_count == asked);
    for (uint32_t i = 0; a->zk_rc != ZK_OK && i < a->part_count; i++)
        snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "%s%s", i ? " " : " (",
                 rc_text(a->parts[i].zk_rc));
    if (extra[0])
        strcat(extra, ")");
    say_written(t, a, extra);
}

static struct session *session_named(struct table *t, char name)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (t->sessions[i].name == name)
            return &t->sessions[i];
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (!t->sessions[i].name) {
            struct session *s = &t->sessions[i];
            char node[8];
            snprintf(node, sizeof node, "m%zu", i + 1);
            *s = (struct session){.table = t, .name = name};
            node_init(&s->node, &t->net, node, NODE_MEMBER, &OPS, s);
            node_start(&s->node);
            return s;
        }
    fail_msg("too many sessions");
    return NULL;
}

/* L, F, G: as the ensemble starts, the last server leads. */
static struct zk_server *server_named(struct table *t, const char *word)
{
    switch (word[0]) {
    case 'L': return &t->zk.servers[2];
    case 'F': return &t->zk.servers[0];
    case 'G': return &t->zk.servers[1];
    default: return &t->zk.servers[atoi(word) - 1];
    }
}

static void run_attach(struct session *s, char **words, size_t count)
{
    struct table *t = s->table;
    const char *what = attach(s, server_named(t, count > 2 ? words[2] : "1"),
                              count > 3 ? atoi(words[3]) : t->timeout_ms);
    say(t, "%s", what);
    if (strcmp(what, "expired") == 0 || strcmp(what, "refused") == 0)
        return;
    int64_t zxid = touch_root(s);
    if (zxid > t->last_zxid)
        t->last_zxid = zxid;
}

static void run_expire(struct session *s)
{
    struct table *t = s->table;
    zk_ensemble_close_session(&t->zk, s->id);
    while (!s->is_cut)
        kernel_run_one(&t->kernel);
    t->last_zxid = t->zk.truth.zxid;
    say(t, "ok");
}

/* ---- servers ---- */

static bool is_serving(struct table *t, char **words, size_t count)
{
    unsigned leaders = 0;
    for (size_t i = 0; i < count; i++) {
        const struct zk_server *s = server_named(t, words[i]);
        if (!zk_server_serves(s))
            return false;
        leaders += s->role == ZK_LEADING;
    }
    return leaders == 1;
}

static bool is_lost(struct table *t, char **words, size_t count)
{
    const struct zk_server *s = server_named(t, words[0]);
    (void)count;
    for (unsigned i = 0; i < t->zk.count; i++)
        if (t->zk.servers[i].followers[s->index].conn)
            return false;
    return !zk_server_serves(s);
}

static void wait_for_servers(struct table *t, char **words, size_t count,
                             bool (*is_so)(struct table *t, char **words, size_t count))
{
    uint64_t until = t->kernel.now_ns + WAIT_NS;
    while (!is_so(t, words, count) && kernel_next_ns(&t->kernel) < until)
        kernel_run_one(&t->kernel);
    say(t, "%s", is_so(t, words, count) ? "ok" : "never");
}

static void run_servers(struct table *t, char **words, size_t count)
{
    const char *op = words[1];
    if (strcmp(op, "serve") == 0) {
        wait_for_servers(t, words + 2, count - 2, is_serving);
        return;
    }
    if (strcmp(op, "lost") == 0) {
        wait_for_servers(t, words + 2, count - 2, is_lost);
        return;
    }
    if (strcmp(op, "cut") == 0) {
        struct node *a = &server_named(t, words[2])->node, *b = &server_named(t, words[3])->node;
        net_cut(&t->net, a, b, true);
        net_cut(&t->net, b, a, true);
    } else if (strcmp(op, "hold") == 0 || strcmp(op, "pass") == 0) {
        net_cut(&t->net, &server_named(t, words[2])->node, &server_named(t, words[3])->node,
                strcmp(op, "hold") == 0);
    } else if (strcmp(op, "heal") == 0) {
        net_heal(&t->net);
    } else if (strcmp(op, "kill") == 0) {
        zk_server_crash(server_named(t, words[2]));
    } else if (strcmp(op, "start") == 0) {
        zk_server_restart(server_named(t, words[2]));
    } else {
        fail_msg("no such line: zk %s", op);
    }
    say(t, "ok");
}

/* ---- lines ---- */

static void say_events(struct session *s)
{
    say(s->table, "%s", s->events[0] ? s->events : "none");
    s->events[0] = '\0';
}

static void run_ping(struct session *s)
{
    const struct zk_answer *a = ask(s, new_request(s, MSG_ZK_PING));
    say(s->table, "%s", a && a->type == MSG_ZK_PONG ? "ok" : "not answered");
}

/* What was sent has come to where it is held. */
static void let_pass(struct table *t)
{
    uint64_t until = t->kernel.now_ns + 100 * SIM_MS;
    while (kernel_next_ns(&t->kernel) < until)
        kernel_run_one(&t->kernel);
}

/* A number before the operation: a transaction of so many. */
static void run_send(struct session *s, char **words, size_t count)
{
    struct zk_request *r = new_request(s, MSG_ZK_REQUEST);
    bool watch = false;
    uint32_t times = (uint32_t)atoi(words[0]);
    if (times) {
        r->what = ZK_DO_MULTI;
        r->writes = pool_take(&s->table->pool, times * sizeof *r->writes);
        for (; r->count < times; r->count++)
            r->writes[r->count] = write_of(s->table, words + 1, count - 1, &watch);
    } else {
        r->write = write_of(s->table, words, count, &watch);
        r->what = r->write.what;
    }
    s->has_sent = true;
    conn_send(s->conn, &s->node, r);
    let_pass(s->table);
    say(s->table, "ok");
}

static void run_try(struct session *s, const char *server)
{
    struct table *t = s->table;
    struct zk_request *r = begin_attach(s, server_named(t, server), t->timeout_ms);
    conn_send(s->conn, &s->node, r);
    let_pass(t);
    say(t, "ok");
}

static void run_wait(struct session *s)
{
    if (!s->has_sent) { /* the answer is an old one */
        msg_free(&s->table->pool, s->answer);
        s->answer = NULL;
    }
    run_until(s, is_answered);
    say(s->table, "%s", s->answer ? "answered" : s->is_cut ? "closed" : "open");
}

static void run_line(struct table *t, char **words, size_t count)
{
    const char *op = words[1];
    t->result[0] = '\0';
    if (strcmp(words[0], "zk") == 0) {
        run_servers(t, words, count);
        return;
    }
    struct session *s = session_named(t, words[0][0]);
    if (strcmp(op, "join") == 0) {
        s->id = session_named(t, words[2][0])->id;
        run_attach(s, words + 1, count - 1);
    } else if (strcmp(op, "connect") == 0 || strcmp(op, "reconnect") == 0) {
        run_attach(s, words, count);
    } else if (strcmp(op, "drop") == 0) {
        conn_close(s->conn, &s->node);
        s->conn = NULL;
        say(t, "ok");
    } else if (strcmp(op, "try") == 0) {
        run_try(s, words[2]);
    } else if (strcmp(op, "expire") == 0) {
        run_expire(s);
    } else if (strcmp(op, "close") == 0) {
        struct zk_write none = {0};
        say_written(t, ask_op(s, ZK_DO_CLOSE, &none, false), "");
    } else if (strcmp(op, "events") == 0) {
        touch_root(s);
        say_events(s);
    } else if (strcmp(op, "await") == 0) {
        run_until(s, is_told);
        say_events(s);
    } else if (strcmp(op, "ping") == 0) {
        run_ping(s);
    } else if (strcmp(op, "send") == 0) {
        run_send(s, words + 2, count - 2);
    } else if (strcmp(op, "wait") == 0) {
        run_wait(s);
    } else if (strcmp(op, "multi") == 0) {
        run_multi(s, words + 2, count - 2);
    } else {
        run_single(s, words + 1, count - 1);
    }
}

/* ---- the table ---- */

static void table_init(struct table *t, const char *name, const char *kind)
{
    bool has_faults = strcmp(kind, "faults") == 0;
    unsigned servers = has_faults ? 3 : (unsigned)atoi(kind);
    memset(t, 0, sizeof *t);
    sim_config_init(&t->config);
    t->config.zk.servers = servers;
    t->timeout_ms = 30000; /* the server holds it in its limits */
    if (has_faults) {
        t->config.zk.tick_ms = 400;
        t->config.zk.sync_limit = 10;
    }
    kernel_init(&t->kernel, 1, false);
    net_init(&t->net, &t->kernel, &t->pool, &t->config);
    zk_ensemble_init(&t->zk, &t->net, &t->config);
    snprintf(t->root, sizeof t->root, "/%s", name);
    zk_ensemble_preset(&t->zk, t->root, NULL);
    zk_ensemble_start(&t->zk);
    for (unsigned i = 0; i < servers; i++)
        while (!zk_server_serves(&t->zk.servers[i]))
            kernel_run_one(&t->kernel);
}

static void table_deinit(struct table *t)
{
    kernel_deinit(&t->kernel);
    pool_deinit(&t->pool);
}

static size_t split(char *text, char **words)
{
    size_t n = 0;
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " ")) {
        assert_true(n < WORDS_MAX);
        words[n++] = w;
    }
    return n;
}

static void trim(char *text)
{
    size_t n = strcspn(text, "#\n");
    while (n > 0 && text[n - 1] == ' ')
        n--;
    text[n] = '\0';
}

static void test_the_model_answers_as_zookeeper(void **state)
{
    static struct table table;
    static char line[4000];
    char *words[WORDS_MAX], wrong[20000] = "";
    unsigned number = 0, cases = 0, lines = 0, differences = 0;
    (void)state;
    FILE *f = fopen(TEST_VECTORS "/sim/zookeeper.table", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        number++;
        trim(line);
        if (!line[0])
            continue;
        char *arrow = strstr(line, "->"), *wanted = arrow ? arrow + 2 : NULL;
        if (arrow) {
            *arrow = '\0';
            wanted += strspn(wanted, " ");
        }
        size_t count = split(line, words);
        if (strcmp(words[0], "case") == 0) {
            if (cases++)
                table_deinit(&table);
            table_init(&table, words[1], count > 2 ? words[2] : "1");
            continue;
        }
        run_line(&table, words, count);
        lines++;
        if (wanted && strcmp(table.result, wanted) == 0)
            continue;
        differences++;
        snprintf(wrong + strlen(wrong), sizeof wrong - strlen(wrong),
                 "\nline %u (%s): got %s; ZooKeeper says %s", number, table.root, table.result,
                 wanted ? wanted : "nothing");
    }
    fclose(f);
    table_deinit(&table);
    if (differences)
        fail_msg("%u of %u lines differ:%s", differences, lines, wrong);
    assert_true(cases >= 21 && lines >= 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_model_answers_as_zookeeper)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
