#include "study/run/run.h"
#include <stdio.h>
#include <string.h>

#define STEP_NS      (100 * SIM_MS)
#define FINE_STEP_NS (10 * SIM_MS) /* while something changes: what tts is exact to */
#define AFTERMATH_NS (1 * SIM_S)   /* of a violation, for the story */

struct run {
    struct sim *sim;
    struct check *check;
    struct measure measure;
    struct run_result *result;
    bool stops_at_violation;
    uint64_t changes_seen; /* causes after the warm-up that were waited for */
};

static void on_violation(const struct trace_event *e, void *user)
{
    struct run *r = user;
    if (r->result->violated != CHECK_COUNT)
        return;
    r->result->violated = check_by_name(e->viol.invariant);
    r->result->violated_ns = e->t_ns;
    snprintf(r->result->detail, sizeof r->result->detail, "%s", e->viol.detail);
}

static bool is_enough(const struct run *r)
{
    if (sim_failed(r->sim))
        return true;
    return r->stops_at_violation && r->result->violated != CHECK_COUNT;
}

/* Runs on, and notes when the group has settled after the last change. */
static void run_until(struct run *r, uint64_t until_ns)
{
    struct measures *m = &r->measure.sum;
    while (sim_now(r->sim) < until_ns && !is_enough(r)) {
        bool is_unsettled = m->causes > r->changes_seen;
        uint64_t next = sim_now(r->sim) + (is_unsettled ? FINE_STEP_NS : STEP_NS);
        sim_run_until(r->sim, next < until_ns ? next : until_ns);
        if (m->causes > r->changes_seen && sim_is_stable(r->sim, NULL)) {
            r->changes_seen = m->causes;
            r->result->tts_ns = sim_now(r->sim) - m->last_cause_ns;
        } else if (m->causes > r->changes_seen) {
            r->result->tts_ns = UINT64_MAX;
        }
    }
}

static void run_phases(struct run *r, const struct world *w)
{
    run_until(r, w->warmup_ns);
    for (int i = 0; i < CHECK_COUNT; i++) {
        struct check_result before = check_result(r->check, (enum check_id)i);
        r->result->found_before[i] =
            before.unit == CHECK_NS ? check_time_so_far(r->check, (enum check_id)i) : before.found;
    }
    run_until(r, w->run_ns);
    r->result->measures = r->measure.sum;
    r->result->registered = sim_registered(r->sim);
    uint64_t tts_ns = r->result->tts_ns;
    r->measure.from_ns = UINT64_MAX;
    sim_heal(r->sim);
    uint64_t until_ns = sim_now(r->sim) + w->heal_ns;
    while (sim_now(r->sim) < until_ns && !is_enough(r) && !sim_is_stable(r->sim, NULL))
        sim_run_until(r->sim, sim_now(r->sim) + STEP_NS);
    if (!is_enough(r))
        sim_run_until(r->sim, sim_now(r->sim) + w->drain_ns);
    else
        sim_run_until(r->sim, sim_now(r->sim) + AFTERMATH_NS);
    r->result->tts_ns = tts_ns;
    r->result->is_stable = sim_is_stable(r->sim, NULL);
    r->result->hash = sim_hash(r->sim);
    r->result->counts = sim_counts(r->sim);
}

static enum zkc_err run_world(struct run *r, struct world *w, const struct run_options *o,
                              struct why *why)
{
    struct trace_sink sinks[RUN_SINKS_MAX + 2] = {
        {TRACE_LEVEL_MAX, check_take, r->check},
        {TRACE_LEVEL_MAX, measure_take, &r->measure},
    };
    for (size_t i = 0; i < o->sink_count; i++)
        sinks[2 + i] = o->sinks[i];
    w->config.sinks = sinks;
    w->config.sink_count = 2 + o->sink_count;
    w->config.bugs = o->bugs;
    r->measure.from_ns = w->warmup_ns;
    enum zkc_err err = sim_new(&w->config, &r->sim, why->text, sizeof why->text);
    if (err)
        return err;
    run_phases(r, w);
    enum zkc_err failed = sim_failed(r->sim);
    sim_free(r->sim);
    err = check_finish(r->check);
    err = failed ? failed : err;
    r->result->is_partial = err != ZKC_OK;
    for (int i = 0; i < CHECK_COUNT; i++) {
        r->result->checks[i] = check_result(r->check, (enum check_id)i);
        r->result->checks[i].first = NULL;
    }
    return err;
}

enum zkc_err run_scenario(const struct run_options *o, struct run_result *out, struct why *why)
{
    struct world w;
    enum zkc_err err = scenario_build(o->scenario, o->seed, &w, why);
    if (err)
        return err;
    *out = (struct run_result){.violated = CHECK_COUNT, .members = w.config.member_count};
    struct run r = {.result = out, .stops_at_violation = o->stops_at_violation};
    r.check = check_new(&(struct check_options){on_violation, &r});
    err = r.check ? run_world(&r, &w, o, why) : ZKC_ERR_NOMEM;
    check_free(r.check);
    world_deinit(&w);
    return err;
}
