#include "study/check/check.h"
#include "study/check/state.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *id, *text;
    enum check_unit unit;
} TABLE[CHECK_COUNT] = {
    [CHECK_C1] = {"C1", "seq has no gap, time does not run backwards", CHECK_TIMES},
    [CHECK_C2] = {"C2", "a belief begins and ends once, and not after the exit", CHECK_TIMES},
    [CHECK_C3] = {"C3", "deliveries lie inside a belief, while fetching, not suspended",
                  CHECK_TIMES},
    [CHECK_C4] = {"C4", "within a belief offsets follow each other from its start", CHECK_TIMES},
    [CHECK_C5] = {"C5", "a commit is not beyond what was delivered, not before the start",
                  CHECK_TIMES},
    [CHECK_C6] = {"C6", "what is delivered was produced, before, as it is", CHECK_TIMES},
    [CHECK_C7] = {"C7", "a decision is the assignor's for its view", CHECK_TIMES},
    [CHECK_C8] = {"C8", "the times of a partition's states add up", CHECK_TIMES},
    [CHECK_C10] = {"C10", "nothing below a committed offset was never delivered", CHECK_MESSAGES},
    [CHECK_Z1] = {"Z1", "at most one owner znode per partition", CHECK_TIMES},
    [CHECK_Z2] = {"Z2", "an owner znode names the member whose session created it", CHECK_TIMES},
    [CHECK_Z3] = {"Z3", "owned only after a claim in the attempt; a failed one leaves nothing",
                  CHECK_TIMES},
    [CHECK_Z4] = {"Z4", "all fetching stops before the first release of an attempt", CHECK_TIMES},
    [CHECK_Z5] = {"Z5", "a member deletes only what is in its registry", CHECK_TIMES},
    [CHECK_Z6] = {"Z6", "attempts and pauses between them as configured", CHECK_TIMES},
    [CHECK_Z7] = {"Z7", "a watch fires once, before the change can be read", CHECK_TIMES},
    [CHECK_Z8] = {"Z8", "a client never reads an older state than it has seen", CHECK_TIMES},
    [CHECK_Z9] = {"Z9", "an ended session writes nothing; its nodes go at one zxid", CHECK_TIMES},
    [CHECK_Z10] = {"Z10", "after sync all is seen that was committed before; a multi is one",
                   CHECK_TIMES},
    [CHECK_Z11] = {"Z11", "committed writes form one order", CHECK_TIMES},
    [CHECK_SF1] = {"SF1", "safe: stopped and drained, or its time up, before the release",
                   CHECK_TIMES},
    [CHECK_SF2] = {"SF2", "safe: nothing handed out after the lease's end", CHECK_TIMES},
    [CHECK_SF3] = {"SF3", "safe: no two hand out a partition at a time", CHECK_TIMES},
    [CHECK_SF4] = {"SF4", "safe: nobody deletes another session's owner znode", CHECK_TIMES},
    [CHECK_SF5] = {"SF5", "safe: committed offsets never go back, owners start at them",
                   CHECK_TIMES},
    [CHECK_SF6] = {"SF6", "safe: every own owner znode is known to its member", CHECK_TIMES},
    [CHECK_SF7] = {"SF7", "safe: without faults every partition is delivered", CHECK_PARTITIONS},
    [CHECK_SF8] = {"SF8", "safe: a decision is of a membership since its own registration",
                   CHECK_TIMES},
    [CHECK_C9] = {"orphans", "C9: partitions without believer at the end", CHECK_PARTITIONS},
    [CHECK_DUAL] = {"dual_ps", "time with two or more active members", CHECK_NS},
    [CHECK_LATENT] = {"latent_ps", "time with one active and further believers", CHECK_NS},
    [CHECK_GAP] = {"gap_ps", "time without believer", CHECK_NS},
    [CHECK_PAUSED] = {"paused_ps", "time with believers, none active", CHECK_NS},
    [CHECK_FROZEN] = {"frozen_ps", "time with all believers suspended", CHECK_NS},
    [CHECK_RECORD_MISMATCH] = {"record_mismatch_ps", "time active without being owner of record",
                               CHECK_NS},
    [CHECK_VIEWS] = {"views_success", "different views in force at once", CHECK_VIEWS_AT_ONCE},
    [CHECK_CLAIM_CONFLICTS] = {"claim_conflicts", "claims refused: another's node", CHECK_TIMES},
    [CHECK_GIVE_UPS] = {"give_ups", "members that exhausted their attempts", CHECK_TIMES},
    [CHECK_FOREIGN_DELETES] = {"foreign_deletes", "owner znodes deleted by another session",
                               CHECK_TIMES},
    [CHECK_STALE_COMMITS] = {"stale_commits", "commits accepted from who is not owner of record",
                             CHECK_TIMES},
    [CHECK_REGRESSIONS] = {"commit_regressions", "commits that lower the committed offset",
                           CHECK_TIMES},
    [CHECK_REGRESSION_DEPTH] = {"regression_depth", "by so many messages in sum", CHECK_MESSAGES},
    [CHECK_DUPLICATES] = {"duplicates", "messages delivered again", CHECK_MESSAGES},
    [CHECK_SKIPPED] = {"skipped_by_reset", "messages skipped by a start at latest", CHECK_MESSAGES},
    [CHECK_UNSEEN] = {"unseen", "messages produced, never delivered", CHECK_MESSAGES},
    [CHECK_OWN_NODE] = {"own_node_waits", "members that wait for their own node (KAFKA-1387)",
                        CHECK_TIMES},
    [CHECK_STALE_SYNCS] = {"stale_syncs", "syncs that a deposed leader has answered", CHECK_TIMES},
    [CHECK_UNFENCED] = {"unfenced",
                        "members of another mode that hand out, or commit, what a safe one owns",
                        CHECK_TIMES},
};

const char *check_name(enum check_id id)
{
    return TABLE[id].id;
}

enum check_id check_by_name(const char *name)
{
    int i = 0;
    while (i < CHECK_COUNT && strcmp(TABLE[i].id, name) != 0)
        i++;
    return (enum check_id)i;
}

/* ---- life ---- */

struct check *check_new(const struct check_options *options)
{
    struct check *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    if (options)
        c->options = *options;
    struct names *all[] = {
        &c->source_names,  &c->member_names, &c->partition_names, &c->pair_names, &c->node_names,
        &c->session_names, &c->watch_names,  &c->change_names,    &c->id_names,   &c->view_names};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        names_init(all[i], 1u << 26);
    c->is_compat = true;
    c->level = TRACE_LEVEL_MAX;
    return c;
}

void check_free(struct check *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->member_names.count; i++) {
        free(c->members[i].pairs);
        free(c->members[i].consumer_id);
    }
    for (uint32_t i = 0; i < c->partition_names.count; i++) {
        offsets_deinit(&c->partitions[i].delivered);
        offsets_deinit(&c->partitions[i].skipped);
        free(c->partitions[i].produce);
    }
    for (uint32_t i = 0; i < c->session_names.count; i++)
        free(c->sessions[i].consumer_id);
    attempts_deinit(c);
    struct names *all[] = {
        &c->source_names,  &c->member_names, &c->partition_names, &c->pair_names, &c->node_names,
        &c->session_names, &c->watch_names,  &c->change_names,    &c->id_names,   &c->view_names};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        names_deinit(all[i]);
    void *lists[] = {c->sources,       c->members,        c->partitions, c->pairs,
                     c->nodes,         c->sessions,       c->watches,    c->changes,
                     c->subscriptions, c->views_in_force, c->settings,   c->foreign};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
    for (int i = 0; i < CHECK_COUNT; i++)
        free(c->tallies[i].first);
    free(c);
}

/* ---- counting ---- */

void checked(struct check *c, enum check_id id)
{
    c->tallies[id].checked++;
}

void counted(struct check *c, enum check_id id, uint64_t n)
{
    c->tallies[id].found += n;
}

/* What a capture of ZooKeeper's traffic cannot show; NULL: it can, or the trace is of members. */
static const char *not_captured(const struct check *c, enum check_id id)
{
    if (!c->is_capture)
        return NULL;
    if (!c->is_compat && (id == CHECK_Z5 || (id >= CHECK_SF1 && id <= CHECK_SF8)))
        return "a capture does not show what members in safe mode hold";
    switch (id) {
    case CHECK_C3:
    case CHECK_C4:
    case CHECK_C5:
    case CHECK_Z4: return "a capture does not show when members fetch, and from where";
    case CHECK_C10:
    case CHECK_DUPLICATES:
    case CHECK_SKIPPED: return c->has_deliveries ? NULL : "a capture does not show deliveries";
    default: return NULL;
    }
}

void violated(struct check *c, enum check_id id, uint64_t ref, const char *fmt, ...)
{
    if (not_captured(c, id))
        return;
    char detail[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(detail, sizeof detail, fmt, args);
    va_end(args);
    struct tally *t = &c->tallies[id];
    t->found++;
    if (!t->first) {
        t->first = strdup(detail);
        t->first_ns = c->now_ns;
    }
    if (!c->options.on_violation)
        return;
    uint64_t refs[] = {c->gs, ref};
    struct trace_event viol = {
        .type = TRACE_VIOL,
        .t_ns = c->now_ns,
        .gs = c->gs,
        .src = "check",
        .viol = {TABLE[id].id, "must", detail, refs, ref == UINT64_MAX || ref == c->gs ? 1 : 2}};
    c->options.on_violation(&viol, c->options.user);
}

/* ---- events ---- */

/* C1. The header and the end of a run are its sources' own lines as well. */
static void check_order(struct check *c, const struct trace_event *e)
{
    uint32_t before = c->source_names.count, i = names_add(&c->source_names, e->src, 0);
    if (i == before &&
        !array_reserve(c, (void **)&c->sources, sizeof *c->sources, &c->source_names))
        return;
    if (i == NAMES_NONE) {
        c->failed = true;
        return;
    }
    struct source *s = &c->sources[i];
    checked(c, CHECK_C1);
    if (e->seq != (s->has_any ? s->seq + 1 : 0))
        violated(c, CHECK_C1, UINT64_MAX, "%s: seq %" PRIu64 ", expected %" PRIu64, e->src, e->seq,
                 s->has_any ? s->seq + 1 : 0);
    if (s->has_any && e->t_ns < s->t_ns)
        violated(c, CHECK_C1, UINT64_MAX,
                 "%s: seq %" PRIu64 " is %" PRIu64 " ns before the line before", e->src, e->seq,
                 s->t_ns - e->t_ns);
    if (c->has_gs && e->gs <= c->gs)
        violated(c, CHECK_C1, c->gs, "%s: gs %" PRIu64 " follows %" PRIu64, e->src, e->gs, c->gs);
    s->seq = e->seq;
    s->t_ns = e->t_ns;
    s->has_any = true;
}

static void take_switch(struct settings *s, const struct trace_switch *x)
{
    if (strcmp(x->name, "zookeeper.give.up") == 0 && strcmp(x->value, "never") == 0)
        s->attempts_max = 0;
    if (strcmp(x->name, "zookeeper.watch.owners") == 0 && strcmp(x->value, "true") == 0)
        s->is_paused = false;
}

static void take_run(struct check *c, const struct trace_event *e)
{
    struct settings *grown = realloc(c->settings, (c->settings_count + 1) * sizeof *c->settings);
    if (!grown) {
        c->failed = true;
        return;
    }
    c->settings = grown;
    struct settings *s = &grown[c->settings_count++];
    *s = (struct settings){.source = names_find(&c->source_names, e->src, 0),
                           .is_virtual = e->run.is_virtual,
                           .level = e->run.level,
                           .backoff_ms = e->run.backoff_ms,
                           .attempts_max = e->run.attempts_max,
                           .is_paused = true};
    for (size_t i = 0; i < e->run.switch_count; i++)
        take_switch(s, &e->run.switches[i]);
    snprintf(s->strategy, sizeof s->strategy, "%s", e->run.strategy);
    if (c->settings_count == 1) {
        c->is_virtual = s->is_virtual;
        c->level = s->level;
    }
    if (s->level < c->level)
        c->level = s->level;
    c->is_compat = c->is_compat && strcmp(e->run.mode, "zookeeper:safe") != 0;
    c->is_capture = c->is_capture || e->run.is_capture;
    c->has_loose_writes = c->has_loose_writes || e->run.is_of_writes;
    c->has_all_writes = c->has_all_writes || e->run.is_virtual || e->run.is_logged;
    for (size_t i = 0; i < e->run.topic_count; i++)
        for (int32_t p = 0; p < e->run.topics[i].partitions; p++)
            partition_of(c, (struct topic_partition){e->run.topics[i].name, p}, NULL);
}

static void take_other(struct check *c, const struct trace_event *e)
{
    switch (e->type) {
    case TRACE_RUN: take_run(c, e); break;
    case TRACE_END: c->has_end = true; break;
    case TRACE_DELIVER: c->has_deliveries = true; break;
    case TRACE_PHASE:
        c->has_phases = true;
        snprintf(c->phase, sizeof c->phase, "%s", e->phase.name);
        break;
    case TRACE_FAULT:
        c->watches_overtaken = c->watches_overtaken || strcmp(e->fault.kind, "delay_watch") == 0;
        c->unregistered += strcmp(e->fault.kind, "unregister") == 0;
        c->fault_ns = e->t_ns;
        break;
    case TRACE_HEAL: c->fault_ns = e->t_ns; break;
    default: break;
    }
}

void check_take(const struct trace_event *e, void *check)
{
    struct check *c = check;
    if (c->failed)
        return;
    check_order(c, e);
    /* The headers of several files come first, each with the time at which its file begins. */
    if (e->type != TRACE_RUN && e->t_ns > c->now_ns) {
        check_safe_leases(c, e->t_ns);
        c->now_ns = e->t_ns;
    }
    c->gs = e->gs;
    c->has_gs = c->has_any = true;
    take_other(c, e);
    check_zookeeper(c, e);
    check_attempts(c, e);
    check_topics(c, e);
    check_deliveries(c, e);
    check_safe(c, e);
}

/* ---- results ---- */

static uint64_t time_of(const struct partition *p, enum check_id id)
{
    switch (id) {
    case CHECK_GAP: return p->gap_ns;
    case CHECK_PAUSED: return p->paused_ns;
    case CHECK_FROZEN: return p->frozen_ns;
    case CHECK_DUAL: return p->dual_ns;
    case CHECK_LATENT: return p->latent_ns;
    case CHECK_RECORD_MISMATCH: return p->mismatch_ns;
    default: return 0;
    }
}

uint64_t check_time_so_far(const struct check *c, enum check_id id)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < c->partition_names.count; i++)
        ns += time_of(&c->partitions[i], id);
    return ns;
}

/* C8, and the times of the states. */
static void add_times(struct check *c)
{
    for (uint32_t i = 0; i < c->partition_names.count; i++) {
        partition_settle(c, i);
        struct partition *p = &c->partitions[i];
        for (int k = CHECK_DUAL; k <= CHECK_RECORD_MISMATCH; k++) {
            counted(c, (enum check_id)k, time_of(p, (enum check_id)k));
            checked(c, (enum check_id)k);
        }
        checked(c, CHECK_C8);
        uint64_t sum = p->gap_ns + p->paused_ns + p->frozen_ns + p->dual_ns + p->available_ns;
        if (sum != c->now_ns - p->seen_ns)
            violated(c, CHECK_C8, UINT64_MAX,
                     "%s/%" PRIu64 ": its states last %" PRIu64 " ns of %" PRIu64,
                     c->partition_names.list[i].text, c->partition_names.list[i].number, sum,
                     c->now_ns - p->seen_ns);
    }
}

enum zkc_err check_finish(struct check *c)
{
    c->is_over = true;
    add_times(c);
    check_deliveries_finish(c);
    check_zookeeper_finish(c);
    check_safe_finish(c);
    return c->failed ? ZKC_ERR_NOMEM : ZKC_OK;
}

uint64_t check_violations(const struct check *c)
{
    uint64_t n = 0;
    for (int i = 0; i < CHECK_MUST_COUNT; i++)
        n += c->tallies[i].found;
    return n;
}

/* Why an invariant cannot be decided from what was in the trace; NULL: it can. */
static const char *unknown(const struct check *c, enum check_id id)
{
    if (not_captured(c, id))
        return not_captured(c, id);
    switch (id) {
    case CHECK_C6: return c->has_produce ? NULL : "the trace does not say what was produced";
    case CHECK_C7:
        if (!c->has_view_lists)
            return "no view in the trace says who was in it";
        return c->unknown_ids && !c->tallies[id].checked
                   ? "members do not say what they subscribe to, or read by filters"
                   : NULL;
    case CHECK_C10:
        if (c->level < 1)
            return "commits are in traces of level 1 and above";
        if (c->unknown_exits)
            return "a member was killed, and its last deliveries with it";
        return c->foreign ? "members of the group wrote no trace" : NULL;
    case CHECK_DUAL:
    case CHECK_LATENT:
    case CHECK_GAP:
    case CHECK_PAUSED:
    case CHECK_FROZEN:
    case CHECK_DUPLICATES: return c->foreign ? "members of the group wrote no trace" : NULL;
    case CHECK_Z1:
    case CHECK_Z2:
    case CHECK_Z9:
    case CHECK_Z11:
    case CHECK_RECORD_MISMATCH:
    case CHECK_STALE_COMMITS:
        return c->has_txns ? NULL : "the trace has no writes of the ensemble (zk_txn)";
    case CHECK_FOREIGN_DELETES:
        return c->has_txns ? NULL : "the trace does not say whose nodes were deleted";
    case CHECK_Z3:
    case CHECK_Z4:
    case CHECK_Z6:
        if (!c->is_compat && !c->has_other)
            return "binds zookeeper:compat only";
        return c->level < 1 ? "claims and releases are in traces of level 1 and above" : NULL;
    case CHECK_Z5:
    case CHECK_CLAIM_CONFLICTS:
    case CHECK_REGRESSIONS:
    case CHECK_REGRESSION_DEPTH:
    case CHECK_C5: return c->level < 1 ? "needs a trace of level 1 or above" : NULL;
    case CHECK_Z7:
        if (c->watches_overtaken)
            return "a fault let answers overtake notifications";
        return c->level < 2 ? "operations are in traces of level 2" : NULL;
    case CHECK_OWN_NODE:
        if (!c->has_txns)
            return "the trace has no writes of the ensemble (zk_txn)";
        return c->level < 2 ? "operations are in traces of level 2" : NULL;
    case CHECK_UNFENCED:
        return c->has_safe && c->has_other ? NULL : "no members of safe mode beside others";
    case CHECK_Z8: return c->level < 2 ? "operations are in traces of level 2" : NULL;
    case CHECK_Z10:
    case CHECK_STALE_SYNCS:
        return !c->tallies[id].checked ? "nobody sent a sync or a multi, or no trace of level 2"
                                       : NULL;
    case CHECK_SF1:
    case CHECK_SF2:
    case CHECK_SF3:
    case CHECK_SF4:
    case CHECK_SF5:
    case CHECK_SF6:
    case CHECK_SF7:
    case CHECK_SF8: return check_safe_unknown(c, id);
    case CHECK_C9: return c->orphans_known ? NULL : c->orphans_unknown;
    case CHECK_UNSEEN:
        if (!c->has_produce)
            return "the trace does not say what was produced";
        return c->foreign ? "members of the group wrote no trace" : NULL;
    default: return NULL;
    }
}

struct check_result check_result(const struct check *c, enum check_id id)
{
    const struct tally *t = &c->tallies[id];
    return (struct check_result){.id = TABLE[id].id,
                                 .text = TABLE[id].text,
                                 .is_must = id < CHECK_MUST_COUNT,
                                 .unit = TABLE[id].unit,
                                 .checked = t->checked,
                                 .found = t->found,
                                 .unknown = unknown(c, id),
                                 .first = t->first,
                                 .first_ns = t->first_ns};
}
