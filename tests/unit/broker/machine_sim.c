#include "tests/unit/broker/machine_sim.h"
#include "tests/unit/test.h"

#define WALL_MS INT64_C(1600000000000)

struct sim *sim_new(uint64_t seed)
{
    struct sim *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->zk = zk_model_new();
    s->now_ms = 1000;
    rng_init(&s->rng, seed);
    for (int i = 0; i < SIM_BROKERS; i++)
        buf_init(&s->brokers[i].notices, 1 << 20);
    return s;
}

void sim_free(struct sim *s)
{
    for (int i = 0; i < SIM_BROKERS; i++) {
        broker_machine_free(s->brokers[i].machine);
        buf_deinit(&s->brokers[i].notices);
    }
    zk_model_free(s->zk);
    free(s);
}

struct broker_config sim_config(int32_t id)
{
    return (struct broker_config){
        .broker_id = id,
        .host = "127.0.0.1",
        .port = 22200 + id,
        .jmx_port = -1,
        .session_timeout_ms = 6000,
        .auto_create_topics = true,
        .delete_topics = true,
        .default_partitions = 1,
        .log = log_config_default(),
        .seed = (uint64_t)id,
    };
}

/* ---- Outputs ---- */

static struct sim_hosted *find(struct sim_broker *b, const char *topic, int32_t partition)
{
    for (size_t i = 0; i < b->hosted_count; i++)
        if (strcmp(b->hosted[i].topic, topic) == 0 && b->hosted[i].partition == partition)
            return &b->hosted[i];
    return NULL;
}

static void host(struct sim_broker *b, const struct broker_output *o)
{
    if (find(b, o->host.topic, o->host.partition)) {
        assert_true(b->fails_to_host); /* told again only then */
        return;
    }
    assert_true(b->hosted_count < SIM_HOSTED_MAX);
    struct sim_hosted *h = &b->hosted[b->hosted_count++];
    snprintf(h->topic, sizeof h->topic, "%s", o->host.topic);
    h->partition = o->host.partition;
    h->config = o->host.config;
}

static void unhost(struct sim_broker *b, const struct broker_output *o)
{
    struct sim_hosted *h = find(b, o->host.topic, o->host.partition);
    assert_non_null(h);
    *h = b->hosted[--b->hosted_count];
    if (o->type == BROKER_OUT_DELETE)
        b->deleted++;
    else
        b->unhosted++;
}

static void configure(struct sim_broker *b, const struct broker_output *o)
{
    assert_int_equal(o->host.partition, -1);
    for (size_t i = 0; i < b->hosted_count; i++)
        if (strcmp(b->hosted[i].topic, o->host.topic) == 0)
            b->hosted[i].config = o->host.config;
}

static void carry_out(struct sim *s, int32_t id, const struct broker_output *o)
{
    struct sim_broker *b = &s->brokers[id];
    switch (o->type) {
    case BROKER_OUT_OP:
        assert_true(s->zk->clients[id].is_connected);
        zk_model_send(s->zk, id, o->op.slot, o->op.seq, &o->op.op);
        break;
    case BROKER_OUT_HOST: host(b, o); break;
    case BROKER_OUT_CONFIG: configure(b, o); break;
    case BROKER_OUT_UNHOST:
    case BROKER_OUT_DELETE: unhost(b, o); break;
    case BROKER_OUT_VIEW: b->views++; break;
    case BROKER_OUT_READY:
        assert_false(b->is_ready);
        b->is_ready = true;
        break;
    case BROKER_OUT_CONTROLLER:
        assert_true(b->is_controller != o->controller.is_controller);
        b->is_controller = o->controller.is_controller;
        break;
    case BROKER_OUT_NOTICE: buf_appendf(&b->notices, "%s\n", o->notice.text); break;
    case BROKER_OUT_FATAL: snprintf(b->fatal, sizeof b->fatal, "%s", o->notice.text); break;
    }
}

static void step(struct sim *s, int32_t id, struct broker_input in)
{
    struct broker_outputs out;
    struct sim_broker *b = &s->brokers[id];
    struct sim_hosted failed[SIM_HOSTED_MAX];
    size_t failed_count = 0;
    in.now_ms = s->now_ms;
    in.wall_ms = WALL_MS;
    if (s->before_step)
        s->before_step(s);
    broker_machine_step(b->machine, &in, &out);
    if (s->after_step)
        s->after_step(s);
    s->steps++;
    for (size_t i = 0; i < out.count; i++) {
        const struct broker_output *o = &out.list[i];
        carry_out(s, id, o);
        if (o->type == BROKER_OUT_HOST && b->fails_to_host) {
            snprintf(failed[failed_count].topic, sizeof failed->topic, "%s", o->host.topic);
            failed[failed_count++].partition = o->host.partition;
        }
    }
    for (size_t i = 0; i < failed_count; i++) {
        struct broker_input no = {.type = BROKER_IN_HOST_FAILED,
                                  .now_ms = s->now_ms,
                                  .host_failed = {failed[i].topic, failed[i].partition}};
        broker_machine_step(b->machine, &no, &out);
        assert_int_equal(out.count, 0);
    }
}

/* ---- Life ---- */

static void connect_as(struct sim *s, int32_t id, bool is_new)
{
    struct model_client *c = &s->zk->clients[id];
    if (is_new)
        zk_model_session(s->zk, id);
    c->is_connected = true;
    struct broker_input in = {.type = BROKER_IN_CONNECTED};
    in.connected.session_id = c->session;
    in.connected.is_new = is_new;
    step(s, id, in);
}

void sim_start(struct sim *s, int32_t id, const struct broker_config *config)
{
    struct sim_broker *b = &s->brokers[id];
    assert_null(b->machine);
    b->hosted_count = 0;
    b->is_ready = b->is_controller = false;
    b->fatal[0] = 0;
    assert_int_equal(broker_machine_new(config, &b->machine), ZKC_OK);
    connect_as(s, id, true);
}

void sim_kill(struct sim *s, int32_t id)
{
    broker_machine_free(s->brokers[id].machine);
    s->brokers[id].machine = NULL;
    s->brokers[id].hosted_count = 0;
    s->brokers[id].is_controller = false;
    zk_model_cut(s->zk, id, (size_t)rng_below(&s->rng, 3));
    s->zk->clients[id].is_connected = false;
}

void sim_expire_dead(struct sim *s, int32_t id)
{
    assert_null(s->brokers[id].machine);
    zk_model_expire(s->zk, id);
}

void sim_stop(struct sim *s, int32_t id)
{
    step(s, id, (struct broker_input){.type = BROKER_IN_STOP});
    broker_machine_free(s->brokers[id].machine);
    s->brokers[id].machine = NULL;
    s->brokers[id].hosted_count = 0;
    s->brokers[id].is_controller = false;
    s->zk->clients[id].is_connected = false;
    zk_model_expire(s->zk, id);
}

void sim_cut(struct sim *s, int32_t id)
{
    s->zk->clients[id].is_connected = false;
    step(s, id, (struct broker_input){.type = BROKER_IN_DISCONNECTED});
    zk_model_cut(s->zk, id, (size_t)rng_below(&s->rng, 4));
}

void sim_reconnect(struct sim *s, int32_t id)
{
    connect_as(s, id, false);
}

void sim_expire(struct sim *s, int32_t id)
{
    s->zk->clients[id].is_connected = false;
    zk_model_expire(s->zk, id);
    step(s, id, (struct broker_input){.type = BROKER_IN_EXPIRED});
    connect_as(s, id, true);
}

void sim_create_topic(struct sim *s, int32_t id, const char *name)
{
    step(
        s, id,
        (struct broker_input){.type = BROKER_IN_CREATE_TOPIC, .create_topic = bytes_of_text(name)});
}

const struct sim_hosted *sim_hosts(const struct sim *s, int32_t id, const char *topic,
                                   int32_t partition)
{
    return find((struct sim_broker *)&s->brokers[id], topic, partition);
}

/* ---- Time ---- */

static bool arrive(struct sim *s, int32_t id)
{
    struct model_client *c = &s->zk->clients[id];
    struct model_arrival a;
    if (!s->brokers[id].machine)
        return false;
    /* Without a connection only failures arrive. */
    if (!c->is_connected && (!c->arrival_count || c->arrivals[0].is_event))
        return false;
    if (!zk_model_arrive(s->zk, id, &a))
        return false;
    struct broker_input in = {.type = a.is_event ? BROKER_IN_WATCH : BROKER_IN_RESULT};
    if (a.is_event)
        in.watch = (struct zk_watch_event){a.event, a.path};
    else
        in.result.slot = a.slot, in.result.seq = a.seq, in.result.result = &a.result;
    step(s, id, in);
    model_arrival_free(&a);
    return true;
}

static bool serve(struct sim *s, int32_t id)
{
    return s->zk->clients[id].is_connected && zk_model_serve(s->zk, id);
}

bool sim_turn(struct sim *s)
{
    uint64_t first = rng_below(&s->rng, 2 * SIM_BROKERS);
    for (uint64_t i = 0; i < 2 * SIM_BROKERS; i++) {
        uint64_t k = (first + i) % (2 * SIM_BROKERS);
        if (k % 2 ? arrive(s, (int32_t)(k / 2)) : serve(s, (int32_t)(k / 2)))
            return true;
    }
    return false;
}

void sim_run(struct sim *s)
{
    int turns = 0;
    while (sim_turn(s))
        if (++turns > 1000000)
            fail_msg("the brokers do not come to rest");
}

void sim_wait(struct sim *s, int64_t ms)
{
    int64_t end = s->now_ms + ms;
    for (;;) {
        sim_run(s);
        int64_t at = INT64_MAX;
        for (int i = 0; i < SIM_BROKERS; i++)
            if (s->brokers[i].machine) {
                int64_t d = broker_machine_deadline_ms(s->brokers[i].machine);
                at = d < at ? d : at;
            }
        if (at > end)
            break;
        s->now_ms = at > s->now_ms ? at : s->now_ms;
        for (int i = 0; i < SIM_BROKERS; i++)
            if (s->brokers[i].machine &&
                broker_machine_deadline_ms(s->brokers[i].machine) <= s->now_ms) {
                step(s, i, (struct broker_input){.type = BROKER_IN_TIME});
                assert_true(broker_machine_deadline_ms(s->brokers[i].machine) > s->now_ms);
            }
    }
    s->now_ms = end;
}
