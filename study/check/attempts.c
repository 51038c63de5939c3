/* What a member does in its attempts (Z3 - Z6), what it decides (C7), and the views in force. */
#include "study/check/state.h"
#include "zkconsumer/core/assign/assign.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS_ROUNDING_NS (2 * MS)     /* the machine's time is in milliseconds */
#define CHANGE_NS      (60000 * MS) /* a registration is gone for sure so long after its member */
#define CLOCK_PPM_MAX  1000         /* a member's clock may run so much too fast */

static const char *topic_of(const struct check *c, const struct pair *x)
{
    return c->partition_names.list[x->partition].text;
}

static int number_of(const struct check *c, const struct pair *x)
{
    return (int)c->partition_names.list[x->partition].number;
}

/* ---- views in force ---- */

static uint32_t view_index(struct check *c, uint64_t hash)
{
    uint32_t before = c->view_names.count, i = names_add(&c->view_names, "", hash);
    if (i == before &&
        !array_reserve(c, (void **)&c->views_in_force, sizeof *c->views_in_force, &c->view_names))
        return NAMES_NONE;
    c->failed = c->failed || i == NAMES_NONE;
    return i;
}

static void drop_view(struct check *c, struct member *m)
{
    if (!m->has_view_in_force)
        return;
    m->has_view_in_force = false;
    uint32_t i = view_index(c, m->view_in_force);
    if (i != NAMES_NONE && --c->views_in_force[i] == 0)
        c->distinct_views--;
}

static void hold_view(struct check *c, struct member *m)
{
    drop_view(c, m);
    uint32_t i = view_index(c, m->view);
    if (i == NAMES_NONE)
        return;
    m->has_view_in_force = true;
    m->view_in_force = m->view;
    if (c->views_in_force[i]++ == 0)
        c->distinct_views++;
    checked(c, CHECK_VIEWS);
    if (c->distinct_views > c->tallies[CHECK_VIEWS].found)
        c->tallies[CHECK_VIEWS].found = c->distinct_views;
}

/* ---- C7 ---- */

static void free_texts(char **list, size_t count)
{
    for (size_t i = 0; list && i < count; i++)
        free(list[i]);
    free(list);
}

static void free_view(struct kept_view *v)
{
    free_texts(v->members, v->member_count);
    free_texts(v->topics, v->topic_count);
    free(v->partitions);
    *v = (struct kept_view){0};
}

void attempts_deinit(struct check *c)
{
    for (size_t i = 0; i < VIEWS_KEPT; i++)
        free_view(&c->views[i]);
    for (uint32_t i = 0; i < c->id_names.count; i++)
        free_texts((char **)c->subscriptions[i].topics, c->subscriptions[i].count);
}

static struct kept_view *find_view(struct check *c, uint64_t hash)
{
    for (size_t i = 0; i < VIEWS_KEPT; i++)
        if (c->views[i].is_used && c->views[i].hash == hash)
            return &c->views[i];
    return NULL;
}

static char **copy_texts(const char *const *list, size_t count)
{
    char **copy = calloc(count ? count : 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = strdup(list[i]))) {
            free_texts(copy, count);
            return NULL;
        }
    return copy;
}

/* The partitions with topic names of their own; they come sorted, so equal topics lie together. */
static bool copy_partitions(struct kept_view *v, const struct topic_partition *ps, size_t count)
{
    v->partitions = calloc(count ? count : 1, sizeof *v->partitions);
    v->topics = calloc(count ? count : 1, sizeof *v->topics);
    if (!v->partitions || !v->topics)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(ps[i].topic, ps[i - 1].topic) != 0) {
            v->topics[v->topic_count] = strdup(ps[i].topic);
            if (!v->topics[v->topic_count])
                return false;
            v->topic_count++;
        }
        v->partitions[v->partition_count++] =
            (struct topic_partition){v->topics[v->topic_count - 1], ps[i].partition};
    }
    return true;
}

const char *const *view_members(struct check *c, const struct member *m, size_t *count)
{
    const struct kept_view *v = m->has_view ? find_view(c, m->view) : NULL;
    *count = v ? v->member_count : 0;
    return v ? (const char *const *)v->members : NULL;
}

static void keep_view(struct check *c, const struct trace_event *e)
{
    if (!e->view.members || !e->view.partitions || find_view(c, e->view.hash))
        return;
    c->has_view_lists = true;
    struct kept_view *v = &c->views[c->view_count++ % VIEWS_KEPT];
    free_view(v);
    v->members = copy_texts(e->view.members, e->view.member_count);
    v->member_count = v->members ? e->view.member_count : 0;
    v->hash = e->view.hash;
    v->is_used = v->members && copy_partitions(v, e->view.partitions, e->view.partition_count);
    if (!v->is_used) {
        free_view(v);
        c->failed = true;
    }
}

static void note_foreign(struct check *c, const struct trace_event *e)
{
    for (size_t i = 0; e->view.members && !c->foreign && i < e->view.member_count; i++)
        if (names_find(&c->id_names, e->view.members[i], 0) == NAMES_NONE)
            c->failed = !(c->foreign = strdup(e->view.members[i])) || c->failed;
}

static void take_start(struct check *c, const struct trace_event *e)
{
    uint32_t before = c->id_names.count, i = names_add(&c->id_names, e->m_start.id, 0);
    if (i == before &&
        !array_reserve(c, (void **)&c->subscriptions, sizeof *c->subscriptions, &c->id_names))
        return;
    if (i == NAMES_NONE) {
        c->failed = true;
        return;
    }
    struct subscription *s = &c->subscriptions[i];
    free_texts((char **)s->topics, s->count);
    s->topics = (const char **)copy_texts(e->m_start.topics, e->m_start.topic_count);
    s->count = s->topics ? e->m_start.topic_count : 0;
    c->failed = c->failed || !s->topics;
    int32_t streams = e->m_start.streams || !c->is_virtual ? e->m_start.streams : 1;
    if (i != before && s->streams != streams)
        s->changed_ns = e->t_ns;
    s->streams = streams;
    const struct settings *set = settings_of(c, e->m);
    const char *strategy = *e->m_start.strategy ? e->m_start.strategy : set ? set->strategy : "";
    snprintf(s->strategy, sizeof s->strategy, "%s", strategy);
    const char *mode = e->m_start.mode;
    s->is_safe = mode && *mode ? strcmp(mode, "zookeeper:safe") == 0 : !c->is_compat;
}

static bool is_in_view(const struct kept_view *v, const char *topic)
{
    for (size_t i = 0; i < v->topic_count; i++)
        if (strcmp(v->topics[i], topic) == 0)
            return true;
    return false;
}

/* What a member subscribes to can be followed: it said how many streams it has, and its topics are
 * names (a filter is not): of topics in the view, or of topics that others have partitions of. */
static bool is_followed(const struct check *c, const struct kept_view *v,
                        const struct subscription *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!is_in_view(v, s->topics[i]) &&
            names_find(&c->partition_names, s->topics[i], 0) == NAMES_NONE)
            return false;
    return s->streams > 0;
}

static bool strategy_by_name(const char *name, enum assign_strategy *out)
{
    *out = ASSIGN_RANGE;
    for (int s = ASSIGN_RANGE; s <= ASSIGN_ROUNDROBIN; s++)
        if (strcmp(assign_strategy_name((enum assign_strategy)s), name) == 0) {
            *out = (enum assign_strategy)s;
            return true;
        }
    return strcmp(name, "auto") == 0;
}

/* A group as the assignor wants it, of a view and of what its members said at their start. */
struct group {
    struct assign_member *members;
    struct assign_subscription *subscriptions;
    struct assign_topic *topics;
    int32_t *partitions;
    struct assign_group group;
};

static void group_deinit(struct group *g)
{
    free(g->members);
    free(g->subscriptions);
    free(g->topics);
    free(g->partitions);
}

/* False: a member of the view is not known, or there is no memory (check.failed). */
static bool group_of(struct check *c, const struct kept_view *v, struct group *g)
{
    size_t subscription_count = 0;
    *g = (struct group){0};
    for (size_t i = 0; i < v->member_count; i++) {
        uint32_t id = names_find(&c->id_names, v->members[i], 0);
        if (id == NAMES_NONE || !is_followed(c, v, &c->subscriptions[id]))
            return false;
        subscription_count += c->subscriptions[id].count;
    }
    g->members = calloc(v->member_count + 1, sizeof *g->members);
    g->subscriptions = calloc(subscription_count + 1, sizeof *g->subscriptions);
    g->topics = calloc(v->topic_count + 1, sizeof *g->topics);
    g->partitions = calloc(v->partition_count + 1, sizeof *g->partitions);
    if (!g->members || !g->subscriptions || !g->topics || !g->partitions) {
        c->failed = true;
        return false;
    }
    struct assign_subscription *next = g->subscriptions;
    for (size_t i = 0; i < v->member_count; i++) {
        const struct subscription *s =
            &c->subscriptions[names_find(&c->id_names, v->members[i], 0)];
        g->members[i] = (struct assign_member){v->members[i], next, s->count};
        for (size_t k = 0; k < s->count; k++)
            *next++ = (struct assign_subscription){s->topics[k], s->streams};
    }
    for (size_t i = 0, t = 0; i < v->partition_count; i++) {
        g->partitions[i] = v->partitions[i].partition;
        if (t && g->topics[t - 1].name == v->partitions[i].topic)
            g->topics[t - 1].partition_count++;
        else
            g->topics[t++] = (struct assign_topic){v->partitions[i].topic, &g->partitions[i], 1};
    }
    g->group = (struct assign_group){g->members, v->member_count, g->topics, v->topic_count};
    return true;
}

/* Whether the member's registration names the rule; others' than of safe mode name none, and count
 * as range. */
static bool declares(const struct subscription *s, enum assign_strategy rule)
{
    if (!s->is_safe)
        return rule == ASSIGN_RANGE;
    bool is_auto = strcmp(s->strategy, "auto") == 0;
    bool is_rendezvous = strcmp(s->strategy, "rendezvous") == 0;
    if (rule == ASSIGN_CEIL || rule == ASSIGN_RANGE)
        return is_auto || is_rendezvous || strcmp(s->strategy, assign_strategy_name(rule)) == 0;
    return strcmp(s->strategy, assign_strategy_name(rule)) == 0;
}

static bool all_declare(const struct check *c, const struct kept_view *v, enum assign_strategy rule)
{
    for (size_t i = 0; i < v->member_count; i++) {
        uint32_t id = names_find(&c->id_names, v->members[i], 0);
        if (id == NAMES_NONE || !declares(&c->subscriptions[id], rule))
            return false;
    }
    return true;
}

/* In safe mode round robin refuses no subscriptions; rendezvous is used while all declare it, and
 * else, and under `auto`, ceil while all declare that. */
static enum assign_strategy strategy_in(const struct check *c, const struct kept_view *v,
                                        const struct subscription *own, enum assign_strategy named)
{
    bool is_auto = strcmp(own->strategy, "auto") == 0;
    if (!own->is_safe)
        return named;
    if (named == ASSIGN_ROUNDROBIN)
        return ASSIGN_SPREAD;
    if (named != ASSIGN_RENDEZVOUS && !is_auto)
        return named;
    if (named == ASSIGN_RENDEZVOUS && all_declare(c, v, ASSIGN_RENDEZVOUS))
        return ASSIGN_RENDEZVOUS;
    return all_declare(c, v, ASSIGN_CEIL) ? ASSIGN_CEIL : ASSIGN_RANGE;
}

/* The same partitions, both by topic and number. */
static bool is_decided(const struct assignment *a, const struct group *g, size_t member,
                       const struct trace_event *e)
{
    size_t n = assignment_member_count(a, member);
    if (n != e->decide.count)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct assign_entry *x = assignment_member_entry(a, member, i);
        struct topic_partition want = {g->topics[x->topic].name, x->partition};
        if (topic_partition_compare(want, e->decide.want[i]) != 0)
            return false;
    }
    return true;
}

/* A member of the view has come back as another than it was: by which of the two the view was read
 * cannot be told. */
static bool has_changed(const struct check *c, const struct kept_view *v)
{
    for (size_t i = 0; i < v->member_count; i++) {
        uint32_t id = names_find(&c->id_names, v->members[i], 0);
        const struct subscription *s = id == NAMES_NONE ? NULL : &c->subscriptions[id];
        if (s && s->changed_ns && c->now_ns - s->changed_ns < CHANGE_NS)
            return true;
    }
    return false;
}

static void take_decide(struct check *c, const struct trace_event *e)
{
    const struct member *m = member_of(c, e->m, NULL);
    const struct kept_view *v = m && m->has_view ? find_view(c, m->view) : NULL;
    uint32_t id = m && m->consumer_id ? names_find(&c->id_names, m->consumer_id, 0) : NAMES_NONE;
    enum assign_strategy strategy;
    if (!v || id == NAMES_NONE || !strategy_by_name(c->subscriptions[id].strategy, &strategy)) {
        c->unknown_ids++;
        return;
    }
    size_t self = 0;
    while (self < v->member_count && strcmp(v->members[self], m->consumer_id) != 0)
        self++;
    struct group g;
    struct assignment a;
    struct why why;
    if (self == v->member_count || !group_of(c, v, &g)) {
        c->unknown_ids++;
        if (self < v->member_count)
            group_deinit(&g);
        return;
    }
    strategy = strategy_in(c, v, &c->subscriptions[id], strategy);
    enum zkc_err err = assign_group(strategy, &g.group, &a, &why);
    if (!err) {
        bool is_decided_so = is_decided(&a, &g, self, e);
        bool is_unsure = !is_decided_so && has_changed(c, v);
        c->unknown_ids += is_unsure;
        if (!is_unsure)
            checked(c, CHECK_C7);
        if (!is_decided_so && !is_unsure)
            violated(c, CHECK_C7, UINT64_MAX,
                     "%s wants %zu partitions of a view of %zu members and %zu partitions; by %s "
                     "it has %zu, or others",
                     e->m, e->decide.count, v->member_count, v->partition_count,
                     assign_strategy_name(strategy), assignment_member_count(&a, self));
        assignment_deinit(&a);
    } else {
        c->failed = c->failed || err == ZKC_ERR_NOMEM;
        c->unknown_ids++;
    }
    group_deinit(&g);
}

/* ---- Z6 ---- */

static void take_try(struct check *c, const struct trace_event *e)
{
    struct member *m = member_of(c, e->m, NULL);
    const struct settings *s = settings_of(c, e->m);
    if (!m)
        return;
    checked(c, CHECK_Z6);
    if (!m->is_safe && s && s->attempts_max && e->rb_try.i >= s->attempts_max)
        violated(c, CHECK_Z6, UINT64_MAX, "%s makes attempt %u of rebalance %u; %u are allowed",
                 e->m, e->rb_try.i + 1, e->rb_try.rb, s->attempts_max);
    if (!m->is_safe && e->rb_try.i > 0 && m->has_try_end && s && s->is_paused &&
        s->backoff_ms > 0) {
        uint64_t pause = (uint64_t)s->backoff_ms * MS;
        pause -= pause / 1000000 * CLOCK_PPM_MAX + MS_ROUNDING_NS;
        if (e->t_ns - m->try_end_ns < pause)
            violated(c, CHECK_Z6, UINT64_MAX,
                     "%s makes attempt %u of rebalance %u after %.3f s; the pause is %" PRId64
                     " ms",
                     e->m, e->rb_try.i + 1, e->rb_try.rb, (double)(e->t_ns - m->try_end_ns) / 1e9,
                     s->backoff_ms);
    }
    m->rb = e->rb_try.rb;
    m->i = e->rb_try.i;
    m->in_try = true;
    m->had_error = m->had_conflict = m->has_view = false;
}

/* ---- Z3, Z4, Z5 ---- */

static void take_claim(struct check *c, const struct trace_event *e)
{
    struct pair *x = pair_of(c, e->m, e->claim.p);
    if (!x)
        return;
    struct member *m = &c->members[x->member];
    c->has_claims = true;
    checked(c, CHECK_CLAIM_CONFLICTS);
    if (strcmp(e->claim.rc, "exists") == 0) {
        m->had_conflict = true;
        counted(c, CHECK_CLAIM_CONFLICTS, 1);
    } else if (strcmp(e->claim.rc, "ok") != 0) {
        m->had_error = true;
    } else {
        x->in_registry = true;
        x->claim_rb = e->claim.rb;
        x->claim_i = e->claim.i;
    }
}

static bool is_claimed_now(const struct member *m, const struct pair *x)
{
    return x->in_registry && x->claim_rb == m->rb && x->claim_i == m->i;
}

static void take_release(struct check *c, const struct trace_event *e)
{
    struct pair *x = pair_of(c, e->m, e->release.p);
    if (!x)
        return;
    struct member *m = &c->members[x->member];
    checked(c, CHECK_Z4);
    for (size_t i = 0; !m->is_safe && i < m->pair_count; i++)
        if (c->pairs[m->pairs[i]].fetching) {
            const struct pair *on = &c->pairs[m->pairs[i]];
            violated(c, CHECK_Z4, on->since_gs, "%s releases %s/%d, and still fetches %s/%d", e->m,
                     topic_of(c, x), number_of(c, x), topic_of(c, on), number_of(c, on));
            break;
        }
    checked(c, CHECK_Z5);
    if (!x->in_registry && !x->had_belief)
        violated(c, CHECK_Z5, UINT64_MAX,
                 "%s deletes the owner node of %s/%d, which it never claimed", e->m, topic_of(c, x),
                 number_of(c, x));
    else if (!x->in_registry)
        violated(c, CHECK_Z5, x->since_gs,
                 "%s deletes the owner node of %s/%d, which it has given back", e->m,
                 topic_of(c, x), number_of(c, x));
    if (strcmp(e->release.rc, "ok") == 0 || strcmp(e->release.rc, "NoNode") == 0)
        x->in_registry = false;
    else
        m->had_error = true;
    if (!c->has_txns && e->release.foreign > 0)
        counted(c, CHECK_FOREIGN_DELETES, 1);
}

static void take_own_begin(struct check *c, const struct trace_event *e)
{
    struct pair *x = c->has_claims || c->level >= 1 ? pair_of(c, e->m, e->own.p) : NULL;
    if (!x)
        return;
    if (c->members[x->member].is_safe) { /* it has seen the node to be its session's */
        x->in_registry = true;
        return;
    }
    checked(c, CHECK_Z3);
    if (!is_claimed_now(&c->members[x->member], x))
        violated(c, CHECK_Z3, UINT64_MAX,
                 "%s owns %s/%d without a claim in attempt %u of rebalance %u", e->m,
                 topic_of(c, x), number_of(c, x), c->members[x->member].i + 1,
                 c->members[x->member].rb);
}

static void take_try_end(struct check *c, const struct trace_event *e)
{
    struct member *m = member_of(c, e->m, NULL);
    if (!m)
        return;
    m->in_try = false;
    m->has_try_end = true;
    m->try_end_ns = e->t_ns;
    /* Of an attempt that met errors the outcome is not known, and 0.8.2 leaves it as it is. */
    if (e->rb_try_end.ok || !m->had_conflict || m->had_error || m->is_safe)
        return;
    checked(c, CHECK_Z3);
    for (size_t i = 0; i < m->pair_count; i++) {
        const struct pair *x = &c->pairs[m->pairs[i]];
        const struct partition *p = &c->partitions[x->partition];
        bool is_held = p->has_owner && p->owner_member == x->member &&
                       p->owner_session == m->session && x->claim_rb == m->rb && x->claim_i == m->i;
        if (is_claimed_now(m, x) || is_held)
            violated(c, CHECK_Z3, UINT64_MAX,
                     "%s fails attempt %u of rebalance %u, and leaves its claim of %s/%d", e->m,
                     m->i + 1, m->rb, topic_of(c, x), number_of(c, x));
    }
}

void check_attempts(struct check *c, const struct trace_event *e)
{
    struct member *m;
    switch (e->type) {
    case TRACE_M_START: take_start(c, e); break;
    case TRACE_M_EXIT:
        if ((m = member_of(c, e->m, NULL)))
            drop_view(c, m);
        break;
    case TRACE_RB_BEGIN:
        if (!(m = member_of(c, e->m, NULL)))
            break;
        drop_view(c, m);
        m->in_rebalance = true;
        m->has_try_end = false;
        m->rb = e->rb_begin.rb;
        break;
    case TRACE_RB_TRY: take_try(c, e); break;
    case TRACE_VIEW:
        if (!(m = member_of(c, e->m, NULL)))
            break;
        m->has_view = true;
        m->view = e->view.hash;
        note_foreign(c, e);
        keep_view(c, e);
        break;
    case TRACE_DECIDE: take_decide(c, e); break;
    case TRACE_CLAIM: take_claim(c, e); break;
    case TRACE_RELEASE: take_release(c, e); break;
    case TRACE_RB_TRY_END: take_try_end(c, e); break;
    case TRACE_RB_END:
        if (!(m = member_of(c, e->m, NULL)))
            break;
        m->in_rebalance = m->in_try = false;
        checked(c, CHECK_GIVE_UPS);
        if (e->rb_end.gave_up)
            counted(c, CHECK_GIVE_UPS, 1);
        if (e->rb_end.ok && m->has_view)
            hold_view(c, m);
        break;
    case TRACE_OWN_BEGIN: take_own_begin(c, e); break;
    case TRACE_OWN_END: {
        struct pair *x = strcmp(e->own.why, "lost") == 0 ? pair_of(c, e->m, e->own.p) : NULL;
        if (x)
            x->in_registry = false;
        break;
    }
    case TRACE_ZK_STATE:
        if (strcmp(e->zk_state.state, "connected") != 0 && (m = member_of(c, e->m, NULL)))
            m->had_error = true;
        break;
    default: break;
    }
}
