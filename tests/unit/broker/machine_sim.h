/* Brokers' machines on one ZooKeeper in memory. Everything travels in order for each of them, and
 * at random between them. */
#ifndef ZKC_TEST_MACHINE_SIM_H
#define ZKC_TEST_MACHINE_SIM_H

#include "broker/core/broker_machine.h"
#include "tests/unit/broker/zk_model.h"

#define SIM_BROKERS    MODEL_CLIENTS_MAX
#define SIM_HOSTED_MAX 256

struct sim_hosted {
    char topic[64];
    int32_t partition;
    struct log_config config;
};

struct sim_broker {
    struct broker_machine *machine; /* NULL: not running */
    struct sim_hosted hosted[SIM_HOSTED_MAX];
    size_t hosted_count;
    size_t deleted, unhosted, views; /* outputs of these kinds so far */
    bool is_ready, is_controller, fails_to_host;
    char fatal[512];
    struct buf notices; /* a line each */
};

struct sim;

/* Called around each step of a machine, if set. */
typedef void sim_step_fn(struct sim *s);

struct sim {
    struct zk_model *zk;
    struct sim_broker brokers[SIM_BROKERS];
    struct rng rng;
    int64_t now_ms;
    sim_step_fn *before_step, *after_step;
    size_t steps; /* of all machines so far */
};

struct sim *sim_new(uint64_t seed);
void sim_free(struct sim *s);

/* Settings of broker `id` at 127.0.0.1:22200+id. */
struct broker_config sim_config(int32_t id);

/* A new process: connects with a new session. */
void sim_start(struct sim *s, int32_t id, const struct broker_config *config);
/* kill -9: the session goes on until sim_expire_dead(). */
void sim_kill(struct sim *s, int32_t id);
void sim_expire_dead(struct sim *s, int32_t id);
/* A clean stop. */
void sim_stop(struct sim *s, int32_t id);

/* One thing happens, of those that can. False: nothing can. */
bool sim_turn(struct sim *s);
/* Until nothing happens any more. Time stands still. */
void sim_run(struct sim *s);
/* Lets time go by, deadlines included. */
void sim_wait(struct sim *s, int64_t ms);

/* The connection breaks, after some of the requests on their way were taken. */
void sim_cut(struct sim *s, int32_t id);
void sim_reconnect(struct sim *s, int32_t id);
/* The session ends and a new one begins. */
void sim_expire(struct sim *s, int32_t id);

void sim_create_topic(struct sim *s, int32_t id, const char *name);
const struct sim_hosted *sim_hosts(const struct sim *s, int32_t id, const char *topic,
                                   int32_t partition);

#endif
