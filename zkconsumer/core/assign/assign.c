/* The work is laid out so that nothing is quadratic: thread ids are sorted once for the whole group
 * and known by their rank from then on; topics are sorted once and found by search; the
 * subscriptions are turned around into the members of each topic by counting. */
#include "zkconsumer/core/assign/assign.h"
#include "zkconsumer/core/assign/ceil.h"
#include "zkconsumer/core/assign/range.h"
#include "zkconsumer/core/assign/rendezvous.h"
#include "zkconsumer/core/assign/roundrobin.h"
#include "zkconsumer/core/assign/spread.h"
#include "zkconsumer/core/zk/java_hash.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *assign_strategy_name(enum assign_strategy strategy)
{
    switch (strategy) {
    case ASSIGN_RANGE: return "range";
    case ASSIGN_CEIL: return "ceil";
    case ASSIGN_RENDEZVOUS: return "rendezvous";
    case ASSIGN_ROUNDROBIN:
    case ASSIGN_SPREAD: return "roundrobin";
    }
    return "?";
}

struct thread {
    const char *id; /* in plan.text */
    uint32_t member;
    int32_t number;
};

struct named {
    const char *name;
    uint32_t index; /* in group.topics */
};

struct interest {
    uint32_t member;
    int32_t streams;
};

struct plan {
    const struct assign_group *group;
    struct named *topics;       /* sorted by name; what follows calls a position here a topic */
    size_t *interest_first;     /* topic_count + 1 bounds into interests */
    struct interest *interests; /* members of topic 0, of topic 1, ... */
    char *text;                 /* all thread ids */
    struct thread *threads;     /* sorted by id */
    size_t thread_count;
    size_t *thread_first;   /* member m's threads have the numbers thread_first[m] + 0, 1, ... */
    uint32_t *rank;         /* by that number: position in threads */
    uint32_t *topic_ranks;  /* scratch: the ranks of one topic's threads */
    size_t partition_count; /* of all topics that somebody subscribes to */
};

static void *array(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static int by_thread_id(const void *a, const void *b)
{
    const char *x = ((const struct thread *)a)->id, *y = ((const struct thread *)b)->id;
    int c = java_compare(x, y);
    return c ? c : strcmp(x, y); /* a total order even of texts that are no UTF-8 */
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int by_partition(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Most lists come sorted already: looking costs far less than sorting. */
static void sort(void *list, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    const char *at = list;
    size_t i = 1;
    while (i < count && compare(at + (i - 1) * size, at + i * size) <= 0)
        i++;
    if (i < count)
        qsort(list, count, size, compare);
}

static enum zkc_err sort_topics(struct plan *p)
{
    p->topics = array(p->group->topic_count, sizeof *p->topics);
    if (!p->topics)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < p->group->topic_count; i++)
        p->topics[i] = (struct named){p->group->topics[i].name, (uint32_t)i};
    sort(p->topics, p->group->topic_count, sizeof *p->topics, by_name);
    return ZKC_OK;
}

/* The topic of that name, or topic_count. The one after *hint is tried first: members list their
 * topics in order more often than not. */
static size_t find_topic(const struct plan *p, const char *name, size_t *hint)
{
    size_t count = p->group->topic_count;
    if (*hint < count && strcmp(p->topics[*hint].name, name) == 0)
        return (*hint)++;
    struct named key = {.name = name};
    struct named *found = count ? bsearch(&key, p->topics, count, sizeof key, by_name) : NULL;
    if (!found)
        return count;
    *hint = (size_t)(found - p->topics) + 1;
    return *hint - 1;
}

/* The topic (or topic_count) of each subscription, member by member. */
static void resolve_topics(const struct plan *p, size_t *topic_of)
{
    size_t hint = 0;
    for (size_t m = 0; m < p->group->member_count; m++) {
        const struct assign_member *member = &p->group->members[m];
        for (size_t i = 0; i < member->subscription_count; i++)
            *topic_of++ = find_topic(p, member->subscriptions[i].topic, &hint);
    }
}

/* ends[t] is where topic t's next interest goes; afterwards, where they end. */
static void fill_interests(struct plan *p, const size_t *topic_of, size_t *ends)
{
    for (size_t m = 0; m < p->group->member_count; m++) {
        const struct assign_member *member = &p->group->members[m];
        for (size_t i = 0; i < member->subscription_count; i++, topic_of++)
            if (*topic_of < p->group->topic_count)
                p->interests[ends[*topic_of]++] =
                    (struct interest){(uint32_t)m, member->subscriptions[i].streams};
    }
}

/* A counting sort of the subscriptions by topic. */
static enum zkc_err collect_interests(struct plan *p)
{
    size_t topic_count = p->group->topic_count;
    size_t total = 0;
    for (size_t m = 0; m < p->group->member_count; m++)
        total += p->group->members[m].subscription_count;
    p->interest_first = array(topic_count + 2, sizeof *p->interest_first);
    p->interests = array(total, sizeof *p->interests);
    size_t *topic_of = array(total, sizeof *topic_of);
    if (!p->interest_first || !p->interests || !topic_of) {
        free(topic_of);
        return ZKC_ERR_NOMEM;
    }
    resolve_topics(p, topic_of);
    size_t *starts =
        p->interest_first + 1; /* filling moves each start to its end: the next start */
    for (size_t i = 0; i < total; i++)
        if (topic_of[i] < topic_count)
            starts[topic_of[i] + 1]++;
    for (size_t t = 0; t < topic_count; t++)
        starts[t + 1] += starts[t];
    fill_interests(p, topic_of, starts);
    free(topic_of);
    return ZKC_OK;
}

/* The most streams that the member has of any topic: it has that many thread ids. */
static int32_t streams_max(const struct assign_member *member)
{
    int32_t max = 0;
    for (size_t i = 0; i < member->subscription_count; i++) {
        assert(member->subscriptions[i].streams >= 1);
        if (member->subscriptions[i].streams > max)
            max = member->subscriptions[i].streams;
    }
    return max;
}

/* Sets thread_first and thread_count, and *text_size to what all thread ids need. */
static enum zkc_err count_threads(struct plan *p, size_t *text_size, struct why *why)
{
    p->thread_first = array(p->group->member_count, sizeof *p->thread_first);
    if (!p->thread_first)
        return ZKC_ERR_NOMEM;
    for (size_t m = 0; m < p->group->member_count; m++) {
        const struct assign_member *member = &p->group->members[m];
        size_t streams = (size_t)streams_max(member);
        p->thread_first[m] = p->thread_count;
        p->thread_count += streams;
        *text_size += streams * (strlen(member->consumer_id) + sizeof "-2147483647");
        if (p->thread_count > ASSIGN_THREADS_MAX) {
            why_set(why, "more than %d streams in the group, with those of \"%s\"",
                    ASSIGN_THREADS_MAX, why_quote(bytes_of_text(member->consumer_id)).text);
            return ZKC_ERR_TOO_LARGE;
        }
    }
    return ZKC_OK;
}

static enum zkc_err sort_threads(struct plan *p, struct why *why)
{
    size_t text_size = 0;
    enum zkc_err err = count_threads(p, &text_size, why);
    if (err)
        return err;
    p->text = array(text_size, 1);
    p->threads = array(p->thread_count, sizeof *p->threads);
    p->rank = array(p->thread_count, sizeof *p->rank);
    p->topic_ranks = array(p->thread_count, sizeof *p->topic_ranks);
    if (!p->text || !p->threads || !p->rank || !p->topic_ranks)
        return ZKC_ERR_NOMEM;
    char *at = p->text;
    struct thread *thread = p->threads;
    for (size_t m = 0; m < p->group->member_count; m++) {
        const struct assign_member *member = &p->group->members[m];
        int32_t streams = streams_max(member);
        size_t room = strlen(member->consumer_id) + sizeof "-2147483647";
        for (int32_t number = 0; number < streams; number++, at += room) {
            snprintf(at, room, "%s-%" PRId32, member->consumer_id, number);
            *thread++ = (struct thread){at, (uint32_t)m, number};
        }
    }
    sort(p->threads, p->thread_count, sizeof *p->threads, by_thread_id);
    for (size_t i = 0; i < p->thread_count; i++)
        p->rank[p->thread_first[p->threads[i].member] + (size_t)p->threads[i].number] = (uint32_t)i;
    return ZKC_OK;
}

static const struct assign_topic *topic_at(const struct plan *p, size_t topic)
{
    return &p->group->topics[p->topics[topic].index];
}

static bool has_members(const struct plan *p, size_t topic)
{
    return p->interest_first[topic] < p->interest_first[topic + 1];
}

static enum zkc_err count_partitions(struct plan *p, struct why *why)
{
    for (size_t t = 0; t < p->group->topic_count; t++)
        if (has_members(p, t)) {
            p->partition_count += topic_at(p, t)->partition_count;
            if (p->partition_count > ASSIGN_PARTITIONS_MAX) {
                why_set(why, "more than %d partitions in the topics of the group",
                        ASSIGN_PARTITIONS_MAX);
                return ZKC_ERR_TOO_LARGE;
            }
        }
    return ZKC_OK;
}

static void plan_deinit(struct plan *p)
{
    free(p->topics);
    free(p->interest_first);
    free(p->interests);
    free(p->text);
    free(p->threads);
    free(p->thread_first);
    free(p->rank);
    free(p->topic_ranks);
}

/* Puts the ranks of the topic's threads into topic_ranks, in order, and returns how many. */
static size_t rank_threads_of(const struct plan *p, size_t topic)
{
    size_t n = 0;
    for (size_t i = p->interest_first[topic]; i < p->interest_first[topic + 1]; i++) {
        const uint32_t *ranks = p->rank + p->thread_first[p->interests[i].member];
        for (int32_t number = 0; number < p->interests[i].streams; number++)
            p->topic_ranks[n++] = ranks[number];
    }
    sort(p->topic_ranks, n, sizeof *p->topic_ranks, by_number);
    return n;
}

static struct assign_entry entry_of(const struct thread *owner, uint32_t topic, int32_t partition)
{
    return (struct assign_entry){
        .topic = topic,
        .partition = partition,
        .member = owner->member,
        .thread = owner->number,
    };
}

typedef struct assign_run run_fn(size_t partition_count, size_t thread_count, size_t thread);

static void sort_partitions(const struct assign_topic *topic, int32_t *sorted)
{
    memcpy(sorted, topic->partitions, topic->partition_count * sizeof *sorted);
    sort(sorted, topic->partition_count, sizeof *sorted, by_partition);
}

/* Range and ceil: each topic by itself. `sorted` has room for its partitions. */
static void assign_runs(const struct plan *p, size_t t, run_fn *run, int32_t *sorted,
                        struct assignment *out)
{
    const struct assign_topic *topic = topic_at(p, t);
    size_t thread_count = topic->partition_count ? rank_threads_of(p, t) : 0;
    if (!thread_count)
        return;
    sort_partitions(topic, sorted);
    for (size_t i = 0; i < thread_count; i++) {
        const struct thread *owner = &p->threads[p->topic_ranks[i]];
        struct assign_run r = run(topic->partition_count, thread_count, i);
        for (size_t j = r.first; j < r.first + r.count; j++)
            out->entries[out->count++] = entry_of(owner, p->topics[t].index, sorted[j]);
    }
}

static enum zkc_err assign_by_topic(const struct plan *p, run_fn *run, struct assignment *out)
{
    int32_t *sorted = array(p->partition_count, sizeof *sorted);
    if (!sorted)
        return ZKC_ERR_NOMEM;
    for (size_t t = 0; t < p->group->topic_count; t++)
        assign_runs(p, t, run, sorted, out);
    free(sorted);
    return ZKC_OK;
}

/* What the topics of a group need in turn to be assigned by weights. */
struct weighing {
    uint64_t *hashes; /* of all thread ids, by rank */
    uint64_t *units;  /* those of one topic */
    int32_t *sorted;  /* its partitions */
    uint32_t *owners; /* of these: position in topic_ranks */
};

static bool is_too_much_to_weigh(uint64_t partition_count, uint64_t thread_count)
{
    uint64_t pairs = thread_count < partition_count ? thread_count : partition_count;
    return pairs * partition_count > ASSIGN_PAIRS_MAX;
}

static enum zkc_err weigh_topic(const struct plan *p, size_t t, const struct weighing *w,
                                struct assignment *out)
{
    const struct assign_topic *topic = topic_at(p, t);
    size_t thread_count = topic->partition_count ? rank_threads_of(p, t) : 0;
    if (!thread_count)
        return ZKC_OK;
    if (is_too_much_to_weigh(topic->partition_count, thread_count)) {
        assign_runs(p, t, assign_range, w->sorted, out);
        return ZKC_OK;
    }
    sort_partitions(topic, w->sorted);
    for (size_t i = 0; i < thread_count; i++)
        w->units[i] = w->hashes[p->topic_ranks[i]];
    enum zkc_err err = assign_rendezvous(assign_rendezvous_text(topic->name), w->sorted,
                                         topic->partition_count, w->units, thread_count, w->owners);
    if (err)
        return err;
    for (size_t j = 0; j < topic->partition_count; j++) {
        const struct thread *owner = &p->threads[p->topic_ranks[w->owners[j]]];
        out->entries[out->count++] = entry_of(owner, p->topics[t].index, w->sorted[j]);
    }
    return ZKC_OK;
}

static enum zkc_err assign_by_weight(const struct plan *p, struct assignment *out)
{
    struct weighing w = {
        .hashes = array(p->thread_count, sizeof *w.hashes),
        .units = array(p->thread_count, sizeof *w.units),
        .sorted = array(p->partition_count, sizeof *w.sorted),
        .owners = array(p->partition_count, sizeof *w.owners),
    };
    enum zkc_err err = w.hashes && w.units && w.sorted && w.owners ? ZKC_OK : ZKC_ERR_NOMEM;
    for (size_t i = 0; !err && i < p->thread_count; i++)
        w.hashes[i] = assign_rendezvous_text(p->threads[i].id);
    for (size_t t = 0; !err && t < p->group->topic_count; t++)
        err = weigh_topic(p, t, &w, out);
    free(w.hashes);
    free(w.units);
    free(w.sorted);
    free(w.owners);
    return err;
}

static int by_topic_name(const void *a, const void *b)
{
    const struct assign_subscription *x = a, *y = b;
    return strcmp(x->topic, y->topic);
}

static void sort_subscriptions(const struct assign_member *member, struct assign_subscription *out)
{
    memcpy(out, member->subscriptions, member->subscription_count * sizeof *out);
    sort(out, member->subscription_count, sizeof *out, by_topic_name);
}

/* Two members' subscriptions by name: the first topic that only one of them has, or NULL. */
static const char *first_difference(const struct assign_subscription *a, size_t a_count,
                                    const struct assign_subscription *b, size_t b_count)
{
    for (size_t i = 0; i < a_count && i < b_count; i++) {
        int c = strcmp(a[i].topic, b[i].topic);
        if (c)
            return c < 0 ? a[i].topic : b[i].topic;
    }
    if (a_count == b_count)
        return NULL;
    return a_count > b_count ? a[b_count].topic : b[a_count].topic;
}

static enum zkc_err check_one_stream_count(const struct assign_member *member, struct why *why)
{
    const struct assign_subscription *s = member->subscriptions;
    for (size_t i = 1; i < member->subscription_count; i++) {
        if (s[i].streams == s[0].streams)
            continue;
        why_set(why,
                "roundrobin: \"%s\" has %" PRId32 " streams of \"%s\" and %" PRId32
                " of \"%s\"; expected one count for all topics of a member",
                why_quote(bytes_of_text(member->consumer_id)).text, s[0].streams,
                why_quote(bytes_of_text(s[0].topic)).text, s[i].streams,
                why_quote(bytes_of_text(s[i].topic)).text);
        return ZKC_ERR_INVALID;
    }
    return ZKC_OK;
}

/* `a` and `b` have room for any member's subscriptions. */
static enum zkc_err check_same_topics(const struct assign_group *group,
                                      struct assign_subscription *a, struct assign_subscription *b,
                                      struct why *why)
{
    const struct assign_member *first = NULL;
    for (size_t m = 0; m < group->member_count; m++) {
        const struct assign_member *member = &group->members[m];
        if (!member->subscription_count)
            continue;
        enum zkc_err err = check_one_stream_count(member, why);
        if (err)
            return err;
        if (!first)
            sort_subscriptions(first = member, a);
        sort_subscriptions(member, b);
        const char *topic =
            first_difference(a, first->subscription_count, b, member->subscription_count);
        if (!topic)
            continue;
        why_set(why,
                "roundrobin: only one of \"%s\" and \"%s\" subscribes to \"%s\"; expected the "
                "same topics in all members",
                why_quote(bytes_of_text(first->consumer_id)).text,
                why_quote(bytes_of_text(member->consumer_id)).text,
                why_quote(bytes_of_text(topic)).text);
        return ZKC_ERR_INVALID;
    }
    return ZKC_OK;
}

/* The requirement of roundrobin.h. Topics that do not exist count too, as in 0.8.2. */
static enum zkc_err check_same_threads(const struct assign_group *group, struct why *why)
{
    size_t most = 0;
    for (size_t m = 0; m < group->member_count; m++)
        if (group->members[m].subscription_count > most)
            most = group->members[m].subscription_count;
    struct assign_subscription *a = array(most, sizeof *a);
    struct assign_subscription *b = array(most, sizeof *b);
    enum zkc_err err = a && b ? check_same_topics(group, a, b, why) : ZKC_ERR_NOMEM;
    free(a);
    free(b);
    return err;
}

/* Entries know their topic by its place in the group; this is its place by name. */
struct placed {
    size_t topic;
    struct assign_entry entry;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->topic != y->topic)
        return x->topic < y->topic ? -1 : 1;
    return by_partition(&x->entry.partition, &y->entry.partition);
}

static size_t collect_deals(const struct plan *p, struct assign_deal *deals)
{
    size_t n = 0;
    for (size_t t = 0; t < p->group->topic_count; t++) {
        const struct assign_topic *topic = topic_at(p, t);
        for (size_t i = 0; has_members(p, t) && i < topic->partition_count; i++)
            deals[n++] = (struct assign_deal){topic->name, (uint32_t)t, topic->partitions[i], 0};
    }
    return n;
}

/* The sets of threads of the topics that have any. `set_of` has room for all topics. */
static enum zkc_err add_sets(const struct plan *p, struct assign_spread *spread, uint32_t *set_of)
{
    enum zkc_err err = ZKC_OK;
    for (size_t t = 0; !err && t < p->group->topic_count; t++)
        if (has_members(p, t))
            err = assign_spread_add(spread, p->topic_ranks, rank_threads_of(p, t), &set_of[t]);
    return err;
}

/* Deals in the order of `deals`. Under 0.8.2's rule all topics have the same threads, as the check
 * has seen, and both come to the same. */
static enum zkc_err deal_all(const struct plan *p, const struct assign_deal *deals, size_t count,
                             struct placed *placed)
{
    struct assign_spread *spread = NULL;
    uint32_t *set_of = array(p->group->topic_count, sizeof *set_of);
    enum zkc_err err = ZKC_ERR_NOMEM;
    if (set_of)
        err = assign_spread_new(p->group->topic_count, &spread);
    if (!err)
        err = add_sets(p, spread, set_of);
    for (size_t j = 0; !err && j < count; j++) {
        uint32_t t = deals[j].topic_index;
        const struct thread *owner = &p->threads[assign_spread_deal(spread, set_of[t])];
        placed[j].topic = t;
        placed[j].entry = entry_of(owner, p->topics[t].index, deals[j].partition);
    }
    assign_spread_free(spread);
    free(set_of);
    return err;
}

static enum zkc_err assign_by_dealing(const struct plan *p, struct assignment *out)
{
    struct assign_deal *deals = array(p->partition_count, sizeof *deals);
    struct placed *placed = array(p->partition_count, sizeof *placed);
    enum zkc_err err = ZKC_ERR_NOMEM;
    if (deals && placed) {
        out->count = collect_deals(p, deals);
        assign_roundrobin_order(deals, out->count);
        err = deal_all(p, deals, out->count, placed);
    }
    if (!err) {
        sort(placed, out->count, sizeof *placed, by_place);
        for (size_t j = 0; j < out->count; j++)
            out->entries[j] = placed[j].entry;
    }
    free(deals);
    free(placed);
    return err;
}

/* A counting sort of the entries by member, which keeps their order. */
static void index_by_member(size_t member_count, struct assignment *a)
{
    uint32_t *starts = a->member_first + 1; /* filling moves each start to its end */
    for (size_t i = 0; i < a->count; i++)
        starts[a->entries[i].member + 1]++;
    for (size_t m = 0; m < member_count; m++)
        starts[m + 1] += starts[m];
    for (size_t i = 0; i < a->count; i++)
        a->by_member[starts[a->entries[i].member]++] = (uint32_t)i;
}

static enum zkc_err assign_planned(enum assign_strategy strategy, const struct plan *p,
                                   struct assignment *out)
{
    size_t member_count = p->group->member_count;
    enum zkc_err err = ZKC_ERR_INVALID;
    out->entries = array(p->partition_count, sizeof *out->entries);
    out->by_member = array(p->partition_count, sizeof *out->by_member);
    out->member_first = array(member_count + 2, sizeof *out->member_first);
    if (!out->entries || !out->by_member || !out->member_first)
        return ZKC_ERR_NOMEM;
    switch (strategy) {
    case ASSIGN_RANGE: err = assign_by_topic(p, assign_range, out); break;
    case ASSIGN_CEIL: err = assign_by_topic(p, assign_ceil, out); break;
    case ASSIGN_RENDEZVOUS: err = assign_by_weight(p, out); break;
    case ASSIGN_ROUNDROBIN:
    case ASSIGN_SPREAD: err = assign_by_dealing(p, out); break;
    }
    if (!err)
        index_by_member(member_count, out);
    return err;
}

static enum zkc_err make_plan(enum assign_strategy strategy, struct plan *p, struct why *why)
{
    enum zkc_err err = sort_topics(p);
    if (!err)
        err = collect_interests(p);
    if (!err)
        err = sort_threads(p, why);
    if (!err)
        err = count_partitions(p, why);
    if (!err && strategy == ASSIGN_ROUNDROBIN)
        err = check_same_threads(p->group, why);
    return err;
}

enum zkc_err assign_group(enum assign_strategy strategy, const struct assign_group *group,
                          struct assignment *out, struct why *why)
{
    struct plan plan = {.group = group};
    struct assignment result = {.count = 0};
    why_clear(why);
    enum zkc_err err = make_plan(strategy, &plan, why);
    if (!err)
        err = assign_planned(strategy, &plan, &result);
    plan_deinit(&plan);
    if (err)
        assignment_deinit(&result);
    else
        *out = result;
    return err;
}

void assignment_deinit(struct assignment *assignment)
{
    free(assignment->entries);
    free(assignment->by_member);
    free(assignment->member_first);
    *assignment = (struct assignment){.count = 0};
}

size_t assignment_member_count(const struct assignment *assignment, size_t member)
{
    return assignment->member_first[member + 1] - assignment->member_first[member];
}

const struct assign_entry *assignment_member_entry(const struct assignment *assignment,
                                                   size_t member, size_t i)
{
    assert(i < assignment_member_count(assignment, member));
    return &assignment->entries[assignment->by_member[assignment->member_first[member] + i]];
}
