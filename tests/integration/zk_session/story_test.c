/* A real server tells the story that the in-memory ZooKeeper of the unit tests tells. */
#include "tests/integration/zk_session/harness.h"
#include "tests/support/zk_story.h"

struct client {
    struct app *app;
    struct zk_proxy *link;
    unsigned watches; /* seen before the step */
    bool is_cut;
};

static void client_open(struct client *c)
{
    c->link = zk_proxy_new(world.base, world.server.port);
    c->app = app_connect_to(at(zk_proxy_port(c->link), ""));
}

static void cut(struct client *c)
{
    unsigned suspended = c->app->suspended;
    zk_proxy_set_mode(c->link, ZK_PROXY_REFUSE);
    zk_proxy_reset(c->link);
    UNTIL(c->app->suspended == suspended + 1);
    c->is_cut = true;
}

static void come_back(struct client *c)
{
    unsigned connected = c->app->connected;
    zk_proxy_set_mode(c->link, ZK_PROXY_PASS);
    UNTIL(c->app->connected == connected + 1);
    c->is_cut = false;
}

static void client_close(struct client *c)
{
    if (c->app)
        app_end(c->app);
    c->app = NULL;
}

static void run_op(struct client *c, const struct zk_story_step *s, size_t n)
{
    struct app *a = c->app;
    int zk_rc = app_do_op(a, &s->op);
    bool has_stat = zk_rc == ZK_OK && (s->op.type == ZK_OP_GET || s->op.type == ZK_OP_EXISTS);
    const char *got = s->op.type == ZK_OP_GET     ? a->data
                      : s->op.type == ZK_OP_MULTI ? a->parts
                                                  : a->children;
    if (zk_rc != s->zk_rc || (s->got && strcmp(got, s->got) != 0))
        fail_msg("step %zu, %s %s: %s, \"%s\"", n, zk_op_name(s->op.type), zk_op_path(&s->op),
                 zk_rc_name(zk_rc), s->got ? got : "");
    if (has_stat && s->version != a->stat.version)
        fail_msg("step %zu, %s: version %d", n, s->op.path, a->stat.version);
    if (has_stat && s->is_ours != (a->stat.ephemeral_owner == a->session_id))
        fail_msg("step %zu, %s: owner 0x%llx", n, s->op.path,
                 (unsigned long long)a->stat.ephemeral_owner);
}

static unsigned count_events(const char *events)
{
    unsigned count = 0;
    for (const char *at = events; (at = strstr(at, ", ")); at++)
        count++;
    return count;
}

/* How many it has seen by the step, and the last of them. An event goes before any later answer. */
static void check_events(struct client *c, const char *want, size_t n, char who)
{
    char last[200];
    if (!c->app || c->is_cut)
        return;
    assert_int_equal(app_do(c->app, ZK_OP_EXISTS, "/zookeeper"), ZK_OK);
    unsigned count = c->app->watches - c->watches;
    c->watches = c->app->watches;
    snprintf(last, sizeof last, "%s %s, ", zk_event_name(c->app->watch_type), c->app->watch_path);
    size_t len = strlen(last), want_len = want ? strlen(want) : 0;
    bool is_same = count == 0 || (want_len >= len && strcmp(want + want_len - len, last) == 0);
    if (count != (want ? count_events(want) : 0) || !is_same)
        fail_msg("step %zu: %c sees %u events, the last: %s", n, who, count, count ? last : "none");
}

static void test_story(void **state)
{
    (void)state;
    struct client clients[2] = {0};
    client_open(&clients[0]);
    client_open(&clients[1]);
    for (size_t n = 0; n < zk_story_len; n++) {
        const struct zk_story_step *s = &zk_story[n];
        struct client *c = &clients[s->who - 'a'];
        switch (s->what) {
        case ZK_STORY_OP: run_op(c, s, n); break;
        case ZK_STORY_CUT: cut(c); break;
        case ZK_STORY_BACK: come_back(c); break;
        case ZK_STORY_CLOSE: client_close(c); break;
        }
        check_events(&clients[0], s->events_a, n, 'a');
        check_events(&clients[1], s->events_b, n, 'b');
    }
    for (int i = 0; i < 2; i++) {
        client_close(&clients[i]);
        zk_proxy_free(clients[i].link);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_story)};
    return run_group("zk_session_story", tests, ARRAY_LEN(tests), &(struct zk_server_options){0},
                     NULL);
}
