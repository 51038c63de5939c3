#include "zkconsumer/core/group/zk_view.h"
#include "zkconsumer/core/base/arena.h"
#include <assert.h>
#include <stdlib.h>

#define STRATEGY_COUNT 3
#define BYTES_MAX      ((size_t)4 << 30)

/* Memory behind a view. */
struct zk_view_rest {
    struct arena arena;
    struct assign_topic *assign_topics;
    bool is_assigned[STRATEGY_COUNT];
    struct assignment assignments[STRATEGY_COUNT];
};

/* ---- registrations ---- */

void zk_view_registration_unref(struct zk_view_registration *r)
{
    if (!r || --r->references > 0)
        return;
    zk_registration_deinit(&r->registration);
    zk_filter_free(r->filter);
    free(r->consumer_id);
    free(r);
}

/* Takes the registration apart. ZKC_ERR_NOMEM, or another error: it counts as a member without
 * streams. */
static enum zkc_err read_data(struct zk_view_registration *r, struct bytes data,
                              bool exclude_internal_topics, struct why *why)
{
    struct why java;
    enum zkc_err err = zk_registration_read(data, &r->registration, &java, why);
    if (err)
        return err;
    if (java.text[0])
        why_set(why, "Java members cannot read it: %s", java.text);
    if (r->registration.pattern == ZK_PATTERN_STATIC)
        return ZKC_OK;
    struct why refused;
    err = zk_filter_new(r->registration.pattern, r->registration.subscriptions[0].topic,
                        exclude_internal_topics, &r->filter, &refused);
    if (!err)
        return ZKC_OK;
    *why = refused;
    zk_registration_deinit(&r->registration);
    r->registration = (struct zk_registration){0};
    return err;
}

enum zkc_err zk_view_registration_read(const char *consumer_id, int64_t session_id,
                                       struct bytes data, bool exclude_internal_topics,
                                       struct zk_view_registration **out, struct why *why)
{
    why_clear(why);
    struct zk_view_registration *r = calloc(1, sizeof *r);
    if (!r)
        return ZKC_ERR_NOMEM;
    r->references = 1;
    r->session_id = session_id;
    r->consumer_id = strdup(consumer_id);
    enum zkc_err err =
        r->consumer_id ? read_data(r, data, exclude_internal_topics, why) : ZKC_ERR_NOMEM;
    if (err == ZKC_ERR_NOMEM) {
        zk_view_registration_unref(r);
        return err;
    }
    r->is_readable = err == ZKC_OK;
    *out = r;
    return ZKC_OK;
}

/* ---- filters expanded ---- */

static bool is_same_filter(const struct zk_view_registration *a,
                           const struct zk_view_registration *b)
{
    return a->filter && b->filter && a->registration.pattern == b->registration.pattern &&
           a->registration.subscriptions[0].streams == b->registration.subscriptions[0].streams &&
           strcmp(a->registration.subscriptions[0].topic, b->registration.subscriptions[0].topic) ==
               0;
}

/* The topics of the view that the member's filter allows. False: out of memory. */
static bool expand_filter(struct zk_view *v, size_t i)
{
    const struct zk_view_registration *r = v->registrations[i];
    struct assign_subscription *list =
        arena_alloc_array(&v->rest->arena, v->topic_count, sizeof *list);
    size_t n = 0;
    for (size_t k = 0; list && k < v->topic_count; k++)
        if (zk_filter_allows(r->filter, v->topics[k].topic))
            list[n++] = (struct assign_subscription){
                .topic = v->topics[k].topic, .streams = r->registration.subscriptions[0].streams};
    v->assign_members[i].subscriptions = list;
    v->assign_members[i].subscription_count = n;
    return list != NULL;
}

static bool expand_static(struct zk_view *v, size_t i)
{
    const struct zk_registration *r = &v->registrations[i]->registration;
    struct assign_subscription *list =
        arena_alloc_array(&v->rest->arena, r->subscription_count, sizeof *list);
    for (size_t k = 0; list && k < r->subscription_count; k++)
        list[k] = (struct assign_subscription){.topic = r->subscriptions[k].topic,
                                               .streams = r->subscriptions[k].streams};
    v->assign_members[i].subscriptions = list;
    v->assign_members[i].subscription_count = r->subscription_count;
    return list != NULL;
}

static bool expand(struct zk_view *v, size_t i)
{
    v->assign_members[i].consumer_id = v->registrations[i]->consumer_id;
    if (!v->registrations[i]->filter)
        return expand_static(v, i);
    if (i > 0 && is_same_filter(v->registrations[i], v->registrations[i - 1])) {
        v->assign_members[i].subscriptions = v->assign_members[i - 1].subscriptions;
        v->assign_members[i].subscription_count = v->assign_members[i - 1].subscription_count;
        return true;
    }
    return expand_filter(v, i);
}

/* ---- views ---- */

static bool copy_topic(struct zk_view *v, size_t i, const struct group_view_topic *topic)
{
    struct arena *a = &v->rest->arena;
    char *name = arena_format(a, "%s", topic->topic);
    int32_t *partitions = arena_alloc_array(a, topic->count, sizeof *partitions);
    if (!name || !partitions)
        return false;
    if (topic->count)
        memcpy(partitions, topic->partitions, topic->count * sizeof *partitions);
    v->topics[i] = (struct group_view_topic){name, partitions, topic->count};
    v->rest->assign_topics[i] = (struct assign_topic){name, partitions, topic->count};
    return true;
}

static bool fill(struct zk_view *v, struct zk_view_registration *const *registrations,
                 const struct group_view_topic *topics)
{
    struct arena *a = &v->rest->arena;
    struct zk_view_registration **list =
        arena_alloc_array(a, v->member_count, sizeof(struct zk_view_registration *));
    v->members = arena_alloc_array(a, v->member_count, sizeof *v->members);
    v->assign_members = arena_alloc_array(a, v->member_count, sizeof *v->assign_members);
    v->topics = arena_alloc_array(a, v->topic_count, sizeof *v->topics);
    v->rest->assign_topics = arena_alloc_array(a, v->topic_count, sizeof(struct assign_topic));
    if (a->failed)
        return false;
    for (size_t i = 0; i < v->topic_count; i++)
        if (!copy_topic(v, i, &topics[i]))
            return false;
    v->registrations = list;
    for (size_t i = 0; i < v->member_count; i++) {
        list[i] = registrations[i];
        list[i]->references++;
        v->members[i].consumer_id = list[i]->consumer_id;
    }
    for (size_t i = 0; i < v->member_count; i++)
        if (!expand(v, i))
            return false;
    return true;
}

struct zk_view *zk_view_new(struct zk_view_registration *const *registrations, size_t member_count,
                            const struct group_view_topic *topics, size_t topic_count,
                            int64_t pzxid)
{
    struct zk_view *v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    *v = (struct zk_view){.references = 1,
                          .pzxid = pzxid,
                          .member_count = member_count,
                          .topic_count = topic_count,
                          .rest = calloc(1, sizeof *v->rest)};
    if (v->rest)
        arena_init(&v->rest->arena, BYTES_MAX);
    if (!v->rest || !fill(v, registrations, topics)) {
        zk_view_unref(v);
        return NULL;
    }
    v->hash = group_view_hash(v->members, member_count, v->topics, topic_count);
    return v;
}

void zk_view_ref(struct zk_view *v)
{
    v->references++;
}

void zk_view_unref(struct zk_view *v)
{
    if (!v || --v->references > 0)
        return;
    if (v->rest) {
        for (size_t i = 0; v->registrations && i < v->member_count; i++)
            zk_view_registration_unref(v->registrations[i]);
        for (size_t i = 0; i < STRATEGY_COUNT; i++)
            if (v->rest->is_assigned[i])
                assignment_deinit(&v->rest->assignments[i]);
        arena_deinit(&v->rest->arena);
    }
    free(v->rest);
    free(v);
}

size_t zk_view_find(const struct zk_view *v, const char *consumer_id)
{
    size_t lo = 0, hi = v->member_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(v->members[mid].consumer_id, consumer_id);
        if (order == 0)
            return mid;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return SIZE_MAX;
}

enum zkc_err zk_view_assign(struct zk_view *v, enum assign_strategy strategy,
                            const struct assignment **out, struct why *why)
{
    assert((size_t)strategy < STRATEGY_COUNT);
    struct zk_view_rest *rest = v->rest;
    why_clear(why);
    if (!rest->is_assigned[strategy]) {
        struct assign_group group = {v->assign_members, v->member_count, rest->assign_topics,
                                     v->topic_count};
        enum zkc_err err = assign_group(strategy, &group, &rest->assignments[strategy], why);
        if (err)
            return err;
        rest->is_assigned[strategy] = true;
    }
    *out = &rest->assignments[strategy];
    return ZKC_OK;
}
