/* The machine in a member's process: compat's or safe mode's. */
#include "study/sim/world.h"

static void compat_new(struct member *m, const struct zk_subscription *subscriptions, size_t count,
                       uint64_t seed)
{
    const struct sim_member_config *c = &m->plan.config;
    struct zk_compat_config config = {
        .group = m->world->group,
        .consumer_id = m->whole_id,
        .subscriptions = subscriptions,
        .subscription_count = count,
        .variant = c->variant,
        .strategy = c->strategy,
        .watch_brokers = c->watch_brokers,
        .switches = c->switches,
        .exclude_internal_topics = true,
        .auto_commit = c->auto_commit,
        .auto_commit_interval_ms = c->auto_commit_interval_ms,
        .session_timeout_ms = c->session_timeout_ms,
        .rebalance_backoff_ms = c->backoff_ms,
        .rebalance_attempts_max = c->attempts_max,
        .refresh_leader_backoff_ms = c->refresh_leader_backoff_ms,
        .seed = seed,
    };
    if (zk_compat_new(&config, (int64_t)(member_local_ns(m) / SIM_MS), &m->compat))
        rescue_fail(&m->world->rescue);
}

static void safe_new(struct member *m, const struct zk_subscription *subscriptions, size_t count,
                     uint64_t seed)
{
    const struct sim_member_config *c = &m->plan.config;
    struct zk_safe_config config = c->safe;
    struct why why;
    config.group = m->world->group;
    config.consumer_id = m->whole_id;
    config.pattern = c->is_filter ? ZK_PATTERN_WHITE_LIST : ZK_PATTERN_STATIC;
    config.subscriptions = subscriptions;
    config.subscription_count = count;
    config.exclude_internal_topics = true;
    config.auto_commit = c->auto_commit;
    config.auto_commit_interval_ms = c->auto_commit_interval_ms;
    config.refresh_leader_backoff_ms = c->refresh_leader_backoff_ms;
    config.close_timeout_ms = MEMBER_CLOSE_MS;
    config.observer_process = machine_is_observed(m);
    config.seed = seed;
    if (zk_safe_new(&config, (int64_t)(member_local_ns(m) / SIM_MS), &m->safe, &why))
        rescue_fail(&m->world->rescue);
}

const char *machine_strategy_name(const struct member *m)
{
    static const char *const names[] = {[ZK_SAFE_AUTO] = "auto",
                                        [ZK_SAFE_CEIL] = "ceil",
                                        [ZK_SAFE_RANGE] = "range",
                                        [ZK_SAFE_RENDEZVOUS] = "rendezvous",
                                        [ZK_SAFE_ROUNDROBIN] = "roundrobin"};
    const struct sim_member_config *c = &m->plan.config;
    return c->is_safe ? names[c->safe.strategy] : assign_strategy_name(c->strategy);
}

int32_t machine_streams(const struct member *m)
{
    const struct sim_member_config *c = &m->plan.config;
    return m->lives > 1 && c->streams_again ? c->streams_again : c->streams;
}

bool machine_subscribes(const struct member *m, size_t topic)
{
    return topic >= 32 || !(m->plan.config.skips_topics >> topic & 1);
}

/* consumer/observer.c, make_key(): who subscribes otherwise sees another view. */
bool machine_is_observed(const struct member *m)
{
    const struct sim *w = m->world;
    size_t i = 0;
    if (!m->plan.process)
        return false;
    while (w->members[i].plan.process != m->plan.process)
        i++;
    const struct sim_member_config *first = &w->members[i].plan.config, *c = &m->plan.config;
    return first->is_filter == c->is_filter && first->skips_topics == c->skips_topics;
}

void machine_new(struct member *m)
{
    struct sim *w = m->world;
    struct stream seed = stream_of(w->config.seed, m->whole_id, "machine");
    struct zk_subscription *subscriptions =
        pool_take(&w->pool, (w->topic_count + 1) * sizeof *subscriptions);
    size_t count = 0;
    if (m->plan.config.is_filter)
        subscriptions[count++] = (struct zk_subscription){MACHINE_FILTER, machine_streams(m)};
    for (size_t i = 0; i < w->topic_count && !m->plan.config.is_filter; i++)
        if (machine_subscribes(m, i))
            subscriptions[count++] =
                (struct zk_subscription){w->topics[i].name, machine_streams(m)};
    if (m->plan.config.is_safe)
        safe_new(m, subscriptions, count, stream_next(&seed));
    else
        compat_new(m, subscriptions, count, stream_next(&seed));
    pool_give(&w->pool, subscriptions);
}

void machine_step(struct member *m, const struct group_input *in, struct group_outputs *out)
{
    if (m->safe)
        zk_safe_step(m->safe, in, out);
    else
        zk_compat_step(m->compat, in, out);
}

int64_t machine_deadline_ms(const struct member *m)
{
    return m->safe ? zk_safe_deadline_ms(m->safe) : zk_compat_deadline_ms(m->compat);
}

const char *machine_state_name(const struct member *m)
{
    return m->safe ? zk_safe_state_name(m->safe) : zk_compat_state_name(m->compat);
}

void machine_free(struct member *m)
{
    zk_safe_free(m->safe);
    zk_compat_free(m->compat);
    m->safe = NULL;
    m->compat = NULL;
}
