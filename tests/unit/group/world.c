#include "tests/unit/group/world_parts.h"

#define MEMBER_NAME    "g_m%d"
#define QUIET_MS       100000
#define TIME_FEEDS_MAX 50 /* without the time going on */

/* ---- the world ---- */

struct world *world_new(const struct world_options *options)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->options = *options;
    if (w->options.session_timeout_ms == 0)
        w->options.session_timeout_ms = 6000;
    w->zk = fake_zk_new();
    rng_init(&w->rng, options->seed);
    w->now_ms = 1000;
    world_put_broker(w, 0);
    fake_zk_put(w->zk, "/consumers", NULL);
    return w;
}

void world_free_machine(struct world_member *m)
{
    zk_compat_free(m->machine);
    m->machine = NULL;
}

static void free_link(struct world_link *l)
{
    fake_zk_client_deinit(&l->client);
    for (size_t i = 0; i < l->asked_count; i++)
        free(l->asked[i]);
    for (size_t i = 0; i < l->topic_count; i++)
        free(l->topics[i]);
    for (size_t i = 0; i < l->subscription_count; i++)
        free(l->subscriptions[i].topic);
    free(l->subscriptions);
    free(l->asked);
    free(l);
}

void world_free(struct world *w)
{
    for (size_t i = 0; i < w->member_count; i++) {
        world_free_machine(&w->members[i]);
        free_link(w->members[i].link);
    }
    for (size_t i = 0; i < w->heap_count; i++)
        world_message_free(w->heap[i]);
    for (size_t i = 0; i < w->held_count; i++)
        world_message_free(w->held[i]);
    for (size_t i = 0; i < w->kafka_count; i++)
        free((void *)(uintptr_t)w->kafka[i].topic);
    free(w->heap);
    fake_zk_free(w->zk);
    free(w);
}

struct fake_zk *world_zk(struct world *w)
{
    return w->zk;
}

int64_t world_now_ms(const struct world *w)
{
    return w->now_ms;
}

struct rng *world_rng(struct world *w)
{
    return &w->rng;
}

void world_set_hook(struct world *w, world_hook *hook, void *user)
{
    w->hook = hook;
    w->hook_user = user;
}

struct world_member *world_member_at(struct world *w, size_t i)
{
    return i < w->member_count ? &w->members[i] : NULL;
}

int world_told(const struct world_member *m, enum zkc_err err)
{
    return m->notices[-100 - (int)err];
}

/* What fired goes on its way before any later answer. */
void world_send_events(struct world *w)
{
    int64_t session;
    struct zk_watch_event event;
    while (fake_zk_take_event(w->zk, &session, &event)) {
        for (size_t i = 0; i < w->member_count; i++) {
            struct world_member *m = &w->members[i];
            if (m->session != session || !m->machine || !m->link->is_up)
                continue;
            struct message *msg =
                world_message(m, MESSAGE_WATCH, world_later(w, &m->link->last_answer_ms));
            msg->event = (struct zk_watch_event){event.type, strdup(event.path)};
            world_post(w, msg);
        }
    }
}

void world_put(struct world *w, const char *path, const char *text)
{
    fake_zk_put(w->zk, path, text);
    world_send_events(w);
}

void world_remove(struct world *w, const char *path)
{
    fake_zk_remove(w->zk, path);
    world_send_events(w);
}

void world_put_topic(struct world *w, const char *topic, int partitions)
{
    char path[300], text[4000];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"version\":1,\"partitions\":{");
    for (int i = 0; i < partitions; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%d\":[0]", i ? "," : "", i);
    snprintf(text + n, sizeof text - n, "}}");
    snprintf(path, sizeof path, "/brokers/topics/%s", topic);
    world_put(w, path, text);
}

void world_put_broker(struct world *w, int id)
{
    char path[64], text[200];
    snprintf(path, sizeof path, "/brokers/ids/%d", id);
    snprintf(text, sizeof text,
             "{\"jmx_port\":-1,\"timestamp\":\"1\",\"host\":\"b%d\",\"version\":1,\"port\":9092}",
             id);
    world_put(w, path, text);
}

void world_remove_broker(struct world *w, int id)
{
    char path[64];
    snprintf(path, sizeof path, "/brokers/ids/%d", id);
    world_remove(w, path);
}

/* ---- the clock ---- */

static struct world_member *next_deadline(struct world *w, int64_t *at_ms)
{
    struct world_member *first = NULL;
    for (size_t i = 0; i < w->member_count; i++) {
        struct world_member *m = &w->members[i];
        int64_t at = m->machine ? zk_compat_deadline_ms(m->machine) : INT64_MAX;
        if (at == INT64_MAX || (first && at >= *at_ms))
            continue;
        first = m;
        *at_ms = at;
    }
    return first;
}

static void feed_time(struct world_member *m)
{
    struct world_link *l = m->link;
    l->time_fed = l->time_fed_at_ms == m->world->now_ms ? l->time_fed + 1 : 0;
    l->time_fed_at_ms = m->world->now_ms;
    if (l->time_fed > TIME_FEEDS_MAX)
        fail_msg("m%d: its deadline stays in the past", m->number);
    struct group_input in = {.type = GROUP_IN_TIME};
    world_feed(m, &in);
}

static bool step_until(struct world *w, int64_t end_ms)
{
    int64_t deadline = INT64_MAX;
    struct world_member *m = next_deadline(w, &deadline);
    int64_t message = w->heap_count ? w->heap[0]->at_ms : INT64_MAX;
    int64_t at = message <= deadline ? message : deadline;
    if (at > end_ms)
        return false;
    if (at > w->now_ms)
        w->now_ms = at;
    if (message > deadline) {
        feed_time(m);
        return true;
    }
    struct message *msg = world_take(w);
    if (!world_deliver(w, msg))
        world_message_free(msg);
    return true;
}

bool world_step(struct world *w)
{
    return step_until(w, w->now_ms + QUIET_MS);
}

void world_run_ms(struct world *w, int64_t ms)
{
    int64_t end = w->now_ms + ms;
    while (step_until(w, end))
        ;
    w->now_ms = end;
}

void world_settle(struct world *w, int steps_max)
{
    for (int i = 0; i < steps_max; i++)
        if (!world_step(w))
            return;
    fail_msg("still busy after %d steps, at %" PRId64 " ms", steps_max, w->now_ms);
}

/* ---- members ---- */

struct zk_compat_config world_config(void)
{
    static const struct zk_subscription one[] = {{.topic = (char *)(uintptr_t) "t", .streams = 1}};
    return (struct zk_compat_config){
        .subscriptions = one,
        .subscription_count = 1,
        .variant = ZK_VARIANT_0_8,
        .strategy = ASSIGN_RANGE,
        .exclude_internal_topics = true,
        .auto_commit = true,
        .auto_commit_interval_ms = 1000000,
        .session_timeout_ms = 6000,
        .rebalance_backoff_ms = 2000,
        .rebalance_attempts_max = 4,
        .refresh_leader_backoff_ms = 200,
    };
}

static void copy_subscriptions(struct world_link *l, const struct zk_compat_config *config)
{
    l->strategy = config->strategy;
    l->subscription_count = config->subscription_count;
    l->subscriptions = calloc(l->subscription_count + 1, sizeof *l->subscriptions);
    assert_non_null(l->subscriptions);
    for (size_t i = 0; i < l->subscription_count; i++)
        l->subscriptions[i] = (struct zk_subscription){strdup(config->subscriptions[i].topic),
                                                       config->subscriptions[i].streams};
}

struct world_member *world_join(struct world *w, const struct zk_compat_config *config)
{
    assert_true(w->member_count < WORLD_MEMBERS_MAX);
    struct world_member *m = &w->members[w->member_count];
    *m = (struct world_member){.world = w, .number = (int)w->member_count};
    w->member_count++;
    m->link = calloc(1, sizeof *m->link);
    assert_non_null(m->link);
    copy_subscriptions(m->link, config);
    snprintf(m->consumer_id, sizeof m->consumer_id, MEMBER_NAME, m->number);
    struct zk_compat_config c = *config;
    c.group = WORLD_GROUP;
    c.consumer_id = m->consumer_id;
    c.seed = w->options.seed + (uint64_t)m->number;
    assert_int_equal(zk_compat_new(&c, w->now_ms, &m->machine), ZKC_OK);
    m->link->time_fed_at_ms = -1;
    world_post(w, world_message(m, MESSAGE_CONNECT, world_later(w, &m->link->last_answer_ms)));
    return m;
}

void world_leave(struct world_member *m)
{
    struct group_input in = {.type = GROUP_IN_LEAVE};
    world_feed(m, &in);
}

void world_crash(struct world_member *m)
{
    world_go_down(m);
    m->link->is_connected = false;
    world_free_machine(m);
}

void world_consume(struct world_member *m, int64_t n)
{
    for (size_t i = 0; i < m->position_count; i++)
        if (m->link->is_fetching && m->link->has_leader[i])
            m->positions[i].offset += n;
}

void world_commit(struct world_member *m)
{
    struct group_input in = {
        .type = GROUP_IN_COMMIT,
        .commit = {.list = m->positions, .count = m->position_count, .all_owned = true}};
    world_feed(m, &in);
}

void world_commit_one(struct world_member *m, const char *topic, int32_t partition, int64_t offset)
{
    struct group_position position = {topic, partition, offset, 0, 0};
    struct group_input in = {.type = GROUP_IN_COMMIT, .commit = {.list = &position, .count = 1}};
    world_feed(m, &in);
}

const struct zk_subscription *world_subscriptions(const struct world_member *m, size_t *n,
                                                  enum assign_strategy *strategy)
{
    *n = m->link->subscription_count;
    *strategy = m->link->strategy;
    return m->link->subscriptions;
}
