#include "zkconsumer/core/group/attempt_parts.h"
#include <stdlib.h>

void view_free(struct attempt_view *v)
{
    free(v->members);
    free(v->topics);
    free(v->partitions);
    free(v->assign_members);
    free(v->assign_topics);
}

static int by_consumer_id(const void *x, const void *y)
{
    const struct attempt_member *a = x, *b = y;
    return strcmp(a->consumer_id, b->consumer_id);
}

static void fill_members(const struct attempt *a, struct attempt_view *v)
{
    for (size_t i = 0; i < a->member_count; i++) {
        const struct attempt_member *m = &a->members[i];
        v->members[i].consumer_id = m->consumer_id;
        v->assign_members[i] = (struct assign_member){.consumer_id = m->consumer_id,
                                                      .subscriptions = m->topics,
                                                      .subscription_count = m->topic_count};
    }
}

static void fill_topics(const struct attempt *a, struct attempt_view *v)
{
    int32_t *at = v->partitions;
    for (size_t i = 0; i < a->topic_count; i++) {
        const struct zk_topic *t = &a->topics[i].data;
        const char *name = a->topics[i].name;
        for (size_t k = 0; k < t->partition_count; k++)
            at[k] = t->partitions[k].partition;
        v->topics[i] = (struct group_view_topic){name, at, t->partition_count};
        v->assign_topics[i] = (struct assign_topic){name, at, t->partition_count};
        at += t->partition_count;
    }
}

/* Puts members and topics, both sorted, into the form of the output and of the assignment. False:
 * out of memory. */
static bool view_make(const struct attempt *a, struct attempt_view *v)
{
    size_t topics = a->topic_count, partitions = 0;
    for (size_t i = 0; i < topics; i++)
        partitions += a->topics[i].data.partition_count;
    *v = (struct attempt_view){
        .members = calloc(a->member_count + 1, sizeof *v->members),
        .topics = calloc(topics + 1, sizeof *v->topics),
        .partitions = calloc(partitions + 1, sizeof *v->partitions),
        .assign_members = calloc(a->member_count + 1, sizeof *v->assign_members),
        .assign_topics = calloc(topics + 1, sizeof *v->assign_topics),
    };
    if (!v->members || !v->topics || !v->partitions || !v->assign_members || !v->assign_topics)
        return false;
    fill_members(a, v);
    fill_topics(a, v);
    return true;
}

static bool find_self(const struct attempt *a, size_t *self)
{
    for (*self = 0; *self < a->member_count; ++*self)
        if (strcmp(a->members[*self].consumer_id, a->config->consumer_id) == 0)
            return true;
    return false;
}

static bool keep_own(struct attempt *a, const struct assignment *all, size_t self)
{
    a->claim_count = assignment_member_count(all, self);
    a->claims = calloc(a->claim_count + 1, sizeof *a->claims);
    a->states = calloc(a->claim_count + 1, sizeof *a->states);
    a->versions = calloc(a->claim_count + 1, sizeof *a->versions);
    if (!a->claims || !a->states || !a->versions) {
        a->claim_count = 0;
        return false;
    }
    for (size_t i = 0; i < a->claim_count; i++) {
        const struct assign_entry *e = assignment_member_entry(all, self, i);
        a->claims[i] = (struct group_claim){
            .topic = a->topics[e->topic].name,
            .topic_index = a->topics[e->topic].number,
            .partition = e->partition,
            .thread = e->thread,
            .offset = -1,
        };
        a->versions[i] = OFFSET_NOT_READ;
    }
    return true;
}

/* How many streams of topic t got something; `at` goes on over the claims of that topic. */
static int32_t count_busy(const struct attempt *a, const struct attempt_topic *t, size_t *at,
                          bool *seen)
{
    int32_t busy = 0;
    memset(seen, 0, (size_t)t->streams * sizeof *seen);
    for (; *at < a->claim_count && a->claims[*at].topic_index == t->number; ++*at) {
        bool *is_busy = &seen[a->claims[*at].thread];
        busy += !*is_busy;
        *is_busy = true;
    }
    return busy;
}

#define IDLE_TOPICS_TOLD_MAX 8

/* Says which streams get nothing, for a few topics one by one. */
static void say_idle_threads(const struct attempt *a, struct group_outputs *out)
{
    size_t at = 0, told = 0, untold = 0;
    int32_t streams_max = 1;
    for (size_t i = 0; i < a->topic_count; i++)
        if (a->topics[i].streams > streams_max)
            streams_max = a->topics[i].streams;
    bool *seen = calloc((size_t)streams_max, sizeof *seen);
    for (size_t i = 0; seen && i < a->topic_count; i++) {
        const struct attempt_topic *t = &a->topics[i];
        int32_t idle = t->streams - count_busy(a, t, &at, seen);
        if (idle > 0 && told++ < IDLE_TOPICS_TOLD_MAX)
            group_notice(out, 4, "member", ZKC_OK,
                         "No broker partitions consumed by consumer thread: %d of %d streams of "
                         "topic %s are idle",
                         idle, t->streams, t->name);
        else
            untold += idle > 0;
    }
    free(seen);
    if (untold > 0)
        group_notice(out, 4, "member", ZKC_OK,
                     "No broker partitions consumed by consumer thread: streams of %zu more topics "
                     "are idle",
                     untold);
}

static void say_view(const struct attempt *a, struct group_outputs *out)
{
    size_t topics = a->topic_count;
    struct group_output *o = group_emit(out, GROUP_OUT_VIEW);
    o->view.rebalance = a->rebalance;
    o->view.attempt = a->number;
    o->view.hash = group_view_hash(a->view.members, a->member_count, a->view.topics, topics);
    o->view.members = a->view.members;
    o->view.member_count = a->member_count;
    o->view.topics = a->view.topics;
    o->view.topic_count = topics;
}

static void say_decided(const struct attempt *a, struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_DECIDE);
    o->decide.claims = a->claims;
    o->decide.count = a->claim_count;
    say_idle_threads(a, out);
}

enum attempt_step decide_begin(struct attempt *a, struct group_outputs *out)
{
    qsort(a->members, a->member_count, sizeof *a->members, by_consumer_id);
    if (!view_make(a, &a->view))
        return attempt_no_memory(a);
    say_view(a, out);
    size_t self;
    if (!find_self(a, &self)) {
        why_set(&a->why, "%s is not among the registered members", a->config->consumer_id);
        return ATTEMPT_FAILED;
    }
    struct assign_group group = {.members = a->view.assign_members,
                                 .member_count = a->member_count,
                                 .topics = a->view.assign_topics,
                                 .topic_count = a->topic_count};
    struct assignment all;
    enum zkc_err err = assign_group(a->config->strategy, &group, &all, &a->why);
    if (err)
        return err == ZKC_ERR_NOMEM ? attempt_no_memory(a) : ATTEMPT_FAILED;
    bool ok = keep_own(a, &all, self);
    assignment_deinit(&all);
    if (!ok)
        return attempt_no_memory(a);
    say_decided(a, out);
    return ATTEMPT_NEXT_PHASE;
}
