#include "study/run/predict.h"
#include <math.h>
#include <string.h>

#define NOTHING_KNOWN                                                                              \
    (struct predicted)                                                                             \
    {                                                                                              \
        NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN                                           \
    }

/* What a scenario is, as far as the formulas speak of it. */
enum shape { OTHER, JOIN, LEAVE, CRASH, RESTART, CUT, SLOW_JOIN, MASS_START };

/* The numbers of reference/rebalance-study.md 0.3. */
struct symbols {
    double n, p, t, b; /* members at the end, partitions, topics, brokers */
    struct session_times times;
    double retries, backoff;           /* r, b */
    double attempt, lost_attempt;      /* A, as measured: of all, of those that failed */
    double busy, share;                /* members that own something, partitions of each */
    double failed, conflicts, commits; /* as measured */
    double lasts;                      /* the fault */
};

/* ---- formulas ---- */

static double follower_share(const struct session_times *t)
{
    return (double)(t->servers - 1) / t->servers;
}

double predict_detection_s(const struct session_times *t)
{
    return t->session + t->tick / 2 - t->ping / 2 + follower_share(t) * t->tick / 4;
}

double predict_give_up_after_s(double retries, double backoff_s, double attempt_s,
                               double until_claim_s)
{
    return (retries - 1) * (backoff_s + attempt_s) + until_claim_s;
}

#define STEPS 200

/* P(U(0, tick) + late > x + U(0, ping)) */
static double outlives_p(const struct session_times *t, double x, double late)
{
    double p = 0;
    for (int i = 0; i < STEPS; i++) {
        double rest = (t->tick + late - x - t->ping * (i + 0.5) / STEPS) / t->tick;
        p += rest < 0 ? 0 : rest > 1 ? 1 : rest;
    }
    return p / STEPS;
}

double predict_give_up_p(const struct session_times *t, double lasting_s)
{
    double x = lasting_s - t->session, followers = 0;
    for (int i = 0; i < STEPS; i++)
        followers += outlives_p(t, x, t->tick / 2 * (i + 0.5) / STEPS) / STEPS;
    return (1 - follower_share(t)) * outlives_p(t, x, 0) + follower_share(t) * followers;
}

/* Reads of a successful attempt beside those of offsets and of leaders; in a group of n. */
static double attempt_reads(const struct symbols *s, double n)
{
    return 2 * (s->b + 1) + n + s->t + 4;
}

/* One join that makes the group n. */
static double join_reads(const struct symbols *s, double n)
{
    double busy = s->p < n ? s->p : n;
    return n * attempt_reads(s, n) + busy * (s->b + 1) + s->p + 2 * (n - 1) + s->t + 2;
}

static void predict_change(const struct symbols *s, bool is_join, struct predicted *out)
{
    double told = is_join ? s->n - 1 : s->n;
    out->rebalances = s->n;
    out->notifications = told;
    out->reads = is_join ? join_reads(s, s->n)
                         : s->n * attempt_reads(s, s->n) + s->busy * (s->b + 1) + s->p + 2 * told;
    out->reads += s->failed * (attempt_reads(s, s->n) + s->share) + s->conflicts;
    /* Releases of what was owned, claims, the registration; commits as measured. */
    out->writes = (is_join ? s->p + 1 : s->p * s->n / (s->n + 1)) + s->p;
    out->writes += 2 * s->failed * s->share - s->conflicts + s->commits;
    out->watches = (s->n + s->failed) * (s->t + 2) + 2 * told + (is_join ? s->t + 2 : 0);
}

/* Each start makes all those before it rebalance (F24); nothing is coalesced, and what was claimed
 * last is given back by the next. */
static void predict_mass_start(const struct symbols *s, struct predicted *out)
{
    out->rebalances = s->n * (s->n + 1) / 2;
    out->notifications = s->n * (s->n - 1) / 2;
    out->reads = 0;
    for (double i = 1; i <= s->n; i++)
        out->reads += join_reads(s, i);
    out->reads += s->failed * (attempt_reads(s, s->n) + s->share) + s->conflicts;
}

/* ---- scenarios ---- */

static bool is_member(const char *who)
{
    return who && (who[0] == 'm' || strcmp(who, "random") == 0);
}

static enum shape shape_of_one(const struct sim_fault *f)
{
    switch (f->kind) {
    case SIM_JOIN: return JOIN;
    case SIM_LEAVE: return LEAVE;
    case SIM_CRASH: return !is_member(f->who) ? OTHER : f->for_ns == SIM_NEVER ? CRASH : RESTART;
    case SIM_CUT:
        return is_member(f->who) && (!f->peer || strcmp(f->peer, "zk*") == 0) && f->dir == SIM_BOTH
                   ? CUT
                   : OTHER;
    default: return OTHER;
    }
}

/* The fault that counts in *fault. */
static enum shape shape_of(const struct sim_config *c, uint64_t warmup_ns,
                           const struct sim_fault **fault)
{
    const struct sim_fault *f = c->faults;
    *fault = f;
    if (c->fault_count == 0)
        return warmup_ns == 0 ? MASS_START : OTHER;
    if (c->fault_count == 1)
        return shape_of_one(f);
    bool is_join_first = c->fault_count == 2 && f[0].kind == SIM_JOIN;
    if (c->fault_count == 2 && f[is_join_first].kind == SIM_SLOW_STOP &&
        f[!is_join_first].kind == SIM_JOIN)
        return SLOW_JOIN;
    return OTHER;
}

static struct symbols symbols_of(const struct world *w, const struct run_result *r,
                                 const struct sim_fault *f)
{
    const struct sim_config *c = &w->config;
    const struct sim_member_config *m = &c->members[0].config;
    const struct measures *x = &r->measures;
    struct symbols s = {.n = (double)r->registered,
                        .t = (double)c->topic_count,
                        .b = (double)c->brokers.count,
                        .times = {m->session_timeout_ms / 1e3, c->zk.tick_ms / 1e3,
                                  m->session_timeout_ms / 3e3, /* as the C client pings */
                                  c->zk.servers},
                        .retries = m->attempts_max,
                        .backoff = (double)m->backoff_ms / 1e3,
                        .failed = (double)x->failed,
                        .conflicts = (double)x->conflicts,
                        .commits = (double)x->commits};
    for (size_t i = 0; i < c->topic_count; i++)
        s.p += c->topics[i].partitions;
    s.busy = s.p < s.n ? s.p : s.n;
    s.share = s.n ? s.p / s.n : 0;
    s.attempt = x->attempts ? (double)x->attempt_ns / 1e9 / (double)x->attempts : 0;
    s.lost_attempt = x->failed ? (double)x->failed_ns / 1e9 / (double)x->failed : s.attempt;
    s.lasts = f ? (double)f->for_ns / 1e9 : 0;
    return s;
}

struct predicted predict(const struct world *w, const struct run_result *r)
{
    const struct sim_fault *fault;
    struct predicted out = NOTHING_KNOWN;
    enum shape shape = shape_of(&w->config, w->warmup_ns, &fault);
    if (w->config.members[0].config.variant != ZK_VARIANT_0_8 || r->registered == 0)
        return out;
    struct symbols s = symbols_of(w, r, fault);
    double detection = predict_detection_s(&s.times);
    bool is_change = shape == JOIN || shape == LEAVE || shape == CRASH;
    if (r->measures.causes == 1 && is_change) {
        predict_change(&s, shape == JOIN, &out);
        out.tts_s = s.attempt + (double)r->measures.rounds_lost * (s.backoff + s.lost_attempt);
    }
    if (shape == MASS_START)
        predict_mass_start(&s, &out);
    if (shape == CRASH)
        out.gap_ps = s.p / (s.n + 1) * (detection + s.attempt);
    if (shape == CUT && s.lasts > detection)
        out.dual_ps = s.share * (s.lasts - detection - s.attempt);
    if (shape == RESTART && r->members == 1)
        out.give_up_p = predict_give_up_p(&s.times, s.lasts + (s.retries - 1) * s.backoff +
                                                        s.retries * s.lost_attempt);
    if (shape == SLOW_JOIN)
        out.give_up_after_s =
            predict_give_up_after_s(s.retries, s.backoff, s.lost_attempt, s.lost_attempt);
    return out;
}
