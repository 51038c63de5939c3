/* Happy path: every partition of a subscribed topic has an owner node; its thread id belongs to a
 * registered member; the session that holds it is the one that holds the member's id node; and the
 * assignment rule, computed from the registrations, names the same thread.
 *
 * A registration that cannot be read takes no part in the assignment, as our own members treat it.
 * Filters are not expanded here: with one in the group, shares are not compared. */
#include "zkconsumer/cli/group_check.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/consumer_id.h"
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct check {
    const struct group_view *view;
    enum assign_strategy strategy;
    struct arena *arena;
    struct group_problems *out;
    size_t problems_max;
    const struct group_member **by_index; /* members that take part, as given to the rule */
    size_t part_count;
    struct assignment assignment;
    bool is_assigned; /* assignment is there */
};

const char *group_problem_name(enum group_problem_kind kind)
{
    switch (kind) {
    case GROUP_PROBLEM_NO_GROUP: return "no_group";
    case GROUP_PROBLEM_NO_MEMBERS: return "no_members";
    case GROUP_PROBLEM_GAVE_UP: return "gave_up";
    case GROUP_PROBLEM_MEMBER: return "member";
    case GROUP_PROBLEM_RULE: return "rule";
    case GROUP_PROBLEM_UNOWNED: return "unowned";
    case GROUP_PROBLEM_UNREGISTERED: return "unregistered";
    case GROUP_PROBLEM_SESSION: return "session";
    case GROUP_PROBLEM_WRONG_OWNER: return "wrong_owner";
    case GROUP_PROBLEM_OFFSET: return "offset";
    }
    return "unknown";
}

bool group_check_parse_strategy(const char *text, enum assign_strategy *out)
{
    static const enum assign_strategy all[] = {ASSIGN_RANGE, ASSIGN_CEIL, ASSIGN_RENDEZVOUS,
                                               ASSIGN_ROUNDROBIN};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strcmp(text, assign_strategy_name(all[i])) == 0) {
            *out = all[i];
            return true;
        }
    }
    report_error("--strategy=%s: expected range, ceil, rendezvous or roundrobin", text);
    return false;
}

static bool knows(const struct group_member *m, const char *rule)
{
    for (const char *at = m->strategy; at && *at; at += *at == ',') {
        size_t len = strcspn(at, ",");
        if (len == strlen(rule) && memcmp(at, rule, len) == 0)
            return true;
        at += len;
    }
    return false;
}

static bool all_know(const struct group_view *view, const char *rule)
{
    bool all = view->member_count > 0;
    for (size_t i = 0; i < view->member_count; i++)
        all = all && (view->members[i].odd || knows(&view->members[i], rule));
    return all;
}

enum assign_strategy group_check_rule(const struct group_view *view,
                                      const enum assign_strategy *given)
{
    bool all_spread = all_know(view, "roundrobin");
    if (given)
        return *given == ASSIGN_ROUNDROBIN && all_spread ? ASSIGN_SPREAD : *given;
    if (all_spread)
        return ASSIGN_SPREAD;
    if (all_know(view, "rendezvous"))
        return ASSIGN_RENDEZVOUS;
    return all_know(view, "ceil") ? ASSIGN_CEIL : ASSIGN_RANGE;
}

/* A failed allocation is the arena's and looked at once, at the end. */
static void add(struct check *c, struct group_problem problem, const char *fmt, ...)
    ZKC_PRINTF(3, 4);
static void add(struct check *c, struct group_problem problem, const char *fmt, ...)
{
    assert(c->out->count < c->problems_max);
    va_list args;
    va_start(args, fmt);
    problem.text = arena_vformat(c->arena, fmt, args);
    va_end(args);
    if (problem.text)
        c->out->list[c->out->count++] = problem;
}

const struct group_member *group_check_member(const struct group_view *view, struct bytes id)
{
    size_t low = 0, high = view->member_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = bytes_compare(bytes_of_text(view->members[middle].consumer_id), id);
        if (order == 0)
            return &view->members[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- who should own what ---- */

static bool takes_part(const struct group_member *m)
{
    return !m->odd;
}

/* ---- who has how much ---- */

static size_t index_of(const struct check *c, const struct group_member *m)
{
    return (size_t)(m - c->view->members);
}

static void count_owned(struct check *c)
{
    for (size_t i = 0; i < c->view->topic_count; i++) {
        const struct group_topic *t = &c->view->topics[i];
        for (size_t n = 0; n < t->partition_count; n++) {
            const struct group_partition *p = &t->partitions[n];
            const struct group_member *m =
                p->owner
                    ? group_check_member(c->view, zk_thread_id_consumer(bytes_of_text(p->owner)))
                    : NULL;
            if (!m || p->owner_session != m->session)
                continue;
            c->out->shares[index_of(c, m)].owned++;
            c->out->shares[index_of(c, m)].unfenced += p->owner_version == 0;
        }
    }
}

static bool has_owner(const struct group_topic *t, int32_t partition)
{
    for (size_t n = 0; n < t->partition_count; n++)
        if (t->partitions[n].partition == partition)
            return t->partitions[n].owner != NULL;
    return false;
}

static void count_shares(struct check *c)
{
    for (size_t i = 0; c->is_assigned && i < c->assignment.count; i++) {
        const struct assign_entry *e = &c->assignment.entries[i];
        struct group_share *share = &c->out->shares[index_of(c, c->by_index[e->member])];
        share->share++;
        share->free += !has_owner(&c->view->topics[e->topic], e->partition);
    }
}

/* A member in safe mode does not give up. */
static void check_gave_up(struct check *c, const struct group_member *m)
{
    const struct group_share *s = &c->out->shares[index_of(c, m)];
    if (m->odd || m->strategy || s->free == 0)
        return;
    add(c, (struct group_problem){GROUP_PROBLEM_GAVE_UP, .member = m->consumer_id},
        "member %s has %zu of its share of %zu, and %zu of it %s with nobody: it has given up, or "
        "is about to try again",
        m->consumer_id, s->owned, s->share, s->free, s->free == 1 ? "is" : "are");
}

static void check_members(struct check *c)
{
    for (size_t i = 0; i < c->view->member_count; i++) {
        const struct group_member *m = &c->view->members[i];
        struct group_problem problem = {GROUP_PROBLEM_MEMBER, .member = m->consumer_id};
        if (m->odd)
            add(c, problem, "member %s cannot be read: %s", m->consumer_id, m->odd);
        else if (m->breaks)
            add(c, problem, "member %s makes Java members fail: %s", m->consumer_id, m->breaks);
        else if (m->session == 0)
            add(c, problem,
                "member %s is a persistent node: no session holds it, and it will not go by itself",
                m->consumer_id);
        check_gave_up(c, m);
    }
}

/* One whose verdict is not known: then nobody's share is. */
static const struct group_member *find_odd_filter(const struct group_view *view)
{
    for (size_t i = 0; i < view->member_count; i++)
        if (view->members[i].filter_odd)
            return &view->members[i];
    return NULL;
}

static struct assign_member *members_for_rule(struct check *c)
{
    size_t count = c->view->member_count;
    struct assign_member *list = arena_alloc_array(c->arena, count, sizeof *list);
    c->by_index = arena_alloc_array(c->arena, count, sizeof *c->by_index);
    if (!list || !c->by_index)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const struct group_member *m = &c->view->members[i];
        if (!takes_part(m))
            continue;
        list[c->part_count] = (struct assign_member){m->consumer_id, m->topics, m->topic_count};
        c->by_index[c->part_count++] = m;
    }
    return list;
}

static struct assign_topic *topics_for_rule(struct check *c)
{
    struct assign_topic *list = arena_alloc_array(c->arena, c->view->topic_count, sizeof *list);
    for (size_t i = 0; list && i < c->view->topic_count; i++) {
        const struct group_topic *t = &c->view->topics[i];
        int32_t *partitions = arena_alloc_array(c->arena, t->partition_count, sizeof *partitions);
        if (!partitions)
            return NULL;
        size_t count = 0;
        for (size_t p = 0; p < t->partition_count; p++)
            if (t->partitions[p].exists)
                partitions[count++] = t->partitions[p].partition;
        list[i] = (struct assign_topic){t->name, partitions, count};
    }
    return list;
}

static enum zkc_err apply_rule(struct check *c)
{
    struct assign_group group = {
        .members = members_for_rule(c),
        .topics = topics_for_rule(c),
        .topic_count = c->view->topic_count,
    };
    group.member_count = c->part_count;
    if (c->arena->failed)
        return c->arena->failed;
    struct why why;
    enum zkc_err err = assign_group(c->strategy, &group, &c->assignment, &why);
    if (err == ZKC_ERR_INVALID || err == ZKC_ERR_TOO_LARGE) {
        add(c, (struct group_problem){.kind = GROUP_PROBLEM_RULE}, "%s cannot be applied: %s",
            assign_strategy_name(c->strategy), why.text);
        c->out->unchecked = "the rule cannot be applied";
        return ZKC_OK;
    }
    c->is_assigned = err == ZKC_OK;
    return err;
}

/* NULL: the rule gives the partition to nobody. */
static const struct assign_entry *find_entry(const struct check *c, size_t topic, int32_t partition)
{
    if (!c->is_assigned)
        return NULL;
    size_t low = 0, high = c->assignment.count; /* entries go by name, as view->topics do */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct assign_entry *e = &c->assignment.entries[middle];
        if (e->topic == topic && e->partition == partition)
            return e;
        if (e->topic < topic || (e->topic == topic && e->partition < partition))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool is_subscribed(const struct group_view *view, const char *topic)
{
    for (size_t k = 0; k < view->member_count; k++) {
        const struct group_member *m = &view->members[k];
        for (size_t s = 0; takes_part(m) && s < m->topic_count; s++)
            if (strcmp(m->topics[s].topic, topic) == 0)
                return true;
    }
    return false;
}

/* ---- partitions ---- */

static bool is_thread_of(struct check *c, const struct group_member *m, const char *owner,
                         int64_t streams)
{
    int64_t number = strtoll(owner + strlen(m->consumer_id) + 1, NULL, 10);
    if (number < 0 || number >= streams)
        return false;
    char *id = zk_thread_id(m->consumer_id, (int32_t)number);
    bool is_same = id && strcmp(id, owner) == 0;
    if (!id)
        c->arena->failed = ZKC_ERR_NOMEM;
    free(id);
    return is_same;
}

/* Without the rule: whether the owner is a thread of the member at all. Which topics a filter
 * allows may not be known, but how many streams it has is. */
static void check_thread(struct check *c, struct group_problem problem, const char *owner,
                         const struct group_member *m)
{
    int64_t streams = 0;
    bool is_any = m->filter_odd != NULL;
    const struct assign_subscription *list = is_any ? m->subscriptions : m->topics;
    size_t count = is_any ? m->subscription_count : m->topic_count;
    for (size_t i = 0; i < count; i++)
        if (is_any || strcmp(list[i].topic, problem.topic) == 0)
            streams = list[i].streams;
    if (m->odd || is_thread_of(c, m, owner, streams))
        return;
    add(c, problem,
        "[%s,%" PRId32 "] is owned by %s, but %s has %" PRId64
        " streams of it: nobody is that thread",
        problem.topic, problem.partition, owner, m->consumer_id, streams);
}

static void check_share(struct check *c, struct group_problem problem, const char *owner,
                        const struct group_member *m, const struct assign_entry *entry)
{
    problem.kind = GROUP_PROBLEM_WRONG_OWNER;
    if (!c->is_assigned) {
        check_thread(c, problem, owner, m);
        return;
    }
    if (!entry) {
        add(c, problem, "[%s,%" PRId32 "] is owned by %s, but nobody that subscribes to it should",
            problem.topic, problem.partition, owner);
        return;
    }
    const char *member = c->by_index[entry->member]->consumer_id;
    char *want = zk_thread_id(member, entry->thread);
    if (!want)
        c->arena->failed = ZKC_ERR_NOMEM;
    else if (strcmp(want, owner) != 0)
        add(c, problem, "[%s,%" PRId32 "] is owned by %s, but %s gives it to %s", problem.topic,
            problem.partition, owner, assign_strategy_name(c->strategy), want);
    free(want);
}

static void check_owner(struct check *c, const struct group_topic *t,
                        const struct group_partition *p, const struct assign_entry *entry,
                        bool wants_owner)
{
    struct group_problem problem = {.topic = t->name, .partition = p->partition};
    if (!p->owner) {
        problem.kind = GROUP_PROBLEM_UNOWNED;
        if (wants_owner)
            add(c, problem, "[%s,%" PRId32 "] has no owner", t->name, p->partition);
        return;
    }
    const struct group_member *m =
        group_check_member(c->view, zk_thread_id_consumer(bytes_of_text(p->owner)));
    if (!m) {
        problem.kind = GROUP_PROBLEM_UNREGISTERED;
        add(c, problem, "[%s,%" PRId32 "] is owned by %s, which is not registered", t->name,
            p->partition, p->owner);
        return;
    }
    problem.member = m->consumer_id;
    if (p->owner_session != m->session) {
        problem.kind = GROUP_PROBLEM_SESSION;
        add(c, problem,
            "[%s,%" PRId32 "] names %s, but session 0x%" PRIx64 " holds it and 0x%" PRIx64
            " holds the member",
            t->name, p->partition, p->owner, (uint64_t)p->owner_session, (uint64_t)m->session);
        return;
    }
    check_share(c, problem, p->owner, m, entry);
}

static void check_partitions(struct check *c)
{
    for (size_t i = 0; i < c->view->topic_count; i++) {
        const struct group_topic *t = &c->view->topics[i];
        bool subscribed = is_subscribed(c->view, t->name);
        for (size_t n = 0; n < t->partition_count; n++) {
            const struct group_partition *p = &t->partitions[n];
            check_owner(c, t, p, find_entry(c, i, p->partition), subscribed && p->exists);
            if (p->offset_odd)
                add(c,
                    (struct group_problem){
                        .kind = GROUP_PROBLEM_OFFSET, .topic = t->name, .partition = p->partition},
                    "[%s,%" PRId32 "] has a committed offset that is none: %s", t->name,
                    p->partition, p->offset_odd);
        }
    }
}

static size_t problems_max(const struct group_view *view)
{
    size_t max = 2 + 2 * view->member_count; /* no group, no members or rule */
    for (size_t i = 0; i < view->topic_count; i++)
        max += 2 * view->topics[i].partition_count;
    return max;
}

enum zkc_err group_check(const struct group_view *view, enum assign_strategy strategy,
                         struct arena *arena, struct group_problems *out)
{
    struct check c = {.view = view, .strategy = strategy, .arena = arena, .out = out};
    c.problems_max = problems_max(view);
    *out = (struct group_problems){
        .list = arena_alloc_array(arena, c.problems_max, sizeof *out->list),
        .shares = arena_alloc_array(arena, view->member_count, sizeof *out->shares),
    };
    if (!out->list || !out->shares)
        return arena->failed;
    enum zkc_err err = ZKC_OK;
    if (!view->exists)
        add(&c, (struct group_problem){.kind = GROUP_PROBLEM_NO_GROUP}, "there is no group %s",
            view->group);
    else if (view->member_count == 0)
        add(&c, (struct group_problem){.kind = GROUP_PROBLEM_NO_MEMBERS},
            "nobody is registered in group %s", view->group);
    const struct group_member *odd = find_odd_filter(view);
    if (odd)
        out->unchecked = arena_format(arena, "the share of %s is not known: %s", odd->consumer_id,
                                      odd->filter_odd);
    else
        err = apply_rule(&c);
    count_owned(&c);
    count_shares(&c);
    check_members(&c);
    check_partitions(&c);
    if (c.is_assigned)
        assignment_deinit(&c.assignment);
    return err ? err : arena->failed;
}
