/* The in-memory ZooKeeper tells the same story as a real server (integration.zk_session.story). */
#include "tests/support/fake_zk.h"
#include "tests/support/zk_story.h"
#include "tests/unit/test.h"

struct client {
    int64_t session;
    bool is_cut;
    struct fake_zk_client watches;
    char events[200];
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_got(const struct zk_op *op, const struct zk_result *result, char *text,
                      size_t size)
{
    text[0] = 0;
    if (op->type == ZK_OP_GET) {
        snprintf(text, size, "%.*s", result->data.data ? (int)result->data.len : 6,
                 result->data.data ? (const char *)result->data.data : "(null)");
        return;
    }
    for (size_t i = 0; i < result->part_count; i++) {
        const struct zk_part_result *part = &result->parts[i];
        snprintf(text + strlen(text), size - strlen(text), "%s ", zk_rc_name(part->zk_rc));
        if (part->stat.version)
            snprintf(text + strlen(text), size - strlen(text), "%d ", part->stat.version);
    }
    const char *names[20];
    assert_true(result->children_count < ARRAY_LEN(names));
    for (size_t i = 0; i < result->children_count; i++)
        names[i] = result->children[i];
    qsort(names, result->children_count, sizeof *names, by_name);
    for (size_t i = 0; i < result->children_count; i++)
        strcat(strcat(text, names[i]), " ");
}

static void take_events(struct fake_zk *zk, struct client *clients)
{
    int64_t session;
    struct zk_watch_event event;
    while (fake_zk_take_event(zk, &session, &event)) {
        struct client *c = session == clients[0].session ? &clients[0] : &clients[1];
        assert_int_equal(session, c->session);
        assert_false(c->is_cut);
        fake_zk_client_fired(&c->watches, &event);
        snprintf(c->events + strlen(c->events), sizeof c->events - strlen(c->events), "%s %s, ",
                 zk_event_name(event.type), event.path);
    }
}

static void run_op(struct fake_zk *zk, struct client *c, const struct zk_story_step *s, size_t n)
{
    char got[200] = "";
    struct zk_result result = *fake_zk_run(zk, c->session, &s->op);
    if (s->got && (result.zk_rc == ZK_OK || s->op.type == ZK_OP_MULTI))
        print_got(&s->op, &result, got, sizeof got);
    fake_zk_client_answered(&c->watches, &s->op, &result);
    bool has_stat =
        result.zk_rc == ZK_OK && (s->op.type == ZK_OP_GET || s->op.type == ZK_OP_EXISTS);
    if (result.zk_rc != s->zk_rc || (s->got && strcmp(got, s->got) != 0))
        fail_msg("step %zu, %s %s: %s, \"%s\"", n, zk_op_name(s->op.type), zk_op_path(&s->op),
                 zk_rc_name(result.zk_rc), got);
    if (has_stat && s->version != result.stat.version)
        fail_msg("step %zu, %s: version %d", n, s->op.path, result.stat.version);
    if (has_stat && s->is_ours != (result.stat.ephemeral_owner == c->session))
        fail_msg("step %zu, %s: owner %" PRId64, n, s->op.path, result.stat.ephemeral_owner);
}

static bool is_same_events(const char *want, const char *got)
{
    return strcmp(want ? want : "", got) == 0;
}

static void test_story(void **state)
{
    (void)state;
    struct fake_zk *zk = fake_zk_new();
    struct client clients[2] = {0};
    clients[0].session = fake_zk_open(zk);
    clients[1].session = fake_zk_open(zk);
    for (size_t n = 0; n < zk_story_len; n++) {
        const struct zk_story_step *s = &zk_story[n];
        struct client *c = &clients[s->who - 'a'];
        clients[0].events[0] = clients[1].events[0] = 0;
        switch (s->what) {
        case ZK_STORY_OP: run_op(zk, c, s, n); break;
        case ZK_STORY_CUT:
            fake_zk_disconnect(zk, c->session);
            c->is_cut = true;
            break;
        case ZK_STORY_BACK:
            c->is_cut = false;
            fake_zk_client_return(&c->watches, zk, c->session);
            break;
        case ZK_STORY_CLOSE: fake_zk_end(zk, c->session); break;
        }
        take_events(zk, clients);
        if (!is_same_events(s->events_a, clients[0].events) ||
            !is_same_events(s->events_b, clients[1].events))
            fail_msg("step %zu: a sees \"%s\", b sees \"%s\"", n, clients[0].events,
                     clients[1].events);
    }
    for (int i = 0; i < 2; i++)
        fake_zk_client_deinit(&clients[i].watches);
    fake_zk_free(zk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_story)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
