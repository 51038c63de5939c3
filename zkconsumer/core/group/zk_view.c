#include "zkconsumer/core/group/zk_view.h"
#include "zkconsumer/core/base/arena.h"
#include <assert.h>
#include <stdlib.h>

#define STRATEGY_COUNT (ASSIGN_SPREAD + 1)
#define BYTES_MAX      ((size_t)4 << 30)

/* Memory behind a view. */
struct zk_view_rest {
    struct arena arena;
    struct assign_topic *assign_topics;
    bool is_assigned[STRATEGY_COUNT];
    struct assignment assignments[STRATEGY_COUNT];
};

/* ---- registrations ---- */

void zk_view_content_unref(struct zk_view_content *c)
{
    if (!c || --c->references > 0)
        return;
    zk_registration_deinit(&c->registration);
    zk_filter_free(c->filter);
    free(c->subscriptions);
    free(c);
}

void zk_view_registration_unref(struct zk_view_registration *r)
{
    if (!r || --r->references > 0)
        return;
    zk_view_content_unref(r->content);
    free(r);
}

static enum zkc_err fill_subscriptions(struct zk_view_content *c)
{
    const struct zk_registration *r = &c->registration;
    c->subscriptions = calloc(r->subscription_count + 1, sizeof *c->subscriptions);
    for (size_t i = 0; c->subscriptions && i < r->subscription_count; i++)
        c->subscriptions[i] = (struct assign_subscription){.topic = r->subscriptions[i].topic,
                                                           .streams = r->subscriptions[i].streams};
    return c->subscriptions ? ZKC_OK : ZKC_ERR_NOMEM;
}

/* Takes the registration apart. ZKC_ERR_NOMEM, or another error: it counts as a member without
 * streams. */
static enum zkc_err read_data(struct zk_view_content *c, struct bytes data,
                              bool exclude_internal_topics, struct why *why)
{
    struct why java;
    enum zkc_err err = zk_registration_read(data, &c->registration, &java, why);
    if (err)
        return err;
    if (java.text[0])
        why_set(why, "Java members cannot read it: %s", java.text);
    if (c->registration.pattern == ZK_PATTERN_STATIC)
        return fill_subscriptions(c);
    struct why refused;
    err = zk_filter_new(c->registration.pattern, c->registration.subscriptions[0].topic,
                        exclude_internal_topics, &c->filter, &refused);
    if (!err)
        return ZKC_OK;
    *why = refused;
    zk_registration_deinit(&c->registration);
    c->registration = (struct zk_registration){0};
    c->is_share_unknown = err != ZKC_ERR_NOMEM;
    return err;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* But for the timestamp, which says nothing. */
static bool is_same(const struct zk_view_content *a, const struct zk_view_content *b)
{
    const struct zk_registration *x = &a->registration, *y = &b->registration;
    if (a->is_readable != b->is_readable || a->is_share_unknown != b->is_share_unknown ||
        x->pattern != y->pattern ||
        x->subscription_count != y->subscription_count || !is_same_text(x->strategy, y->strategy))
        return false;
    for (size_t i = 0; i < x->subscription_count; i++)
        if (x->subscriptions[i].streams != y->subscriptions[i].streams ||
            strcmp(x->subscriptions[i].topic, y->subscriptions[i].topic) != 0)
            return false;
    return true;
}

/* The content of the data, with a reference; NULL: out of memory. */
static struct zk_view_content *read_content(struct bytes data, bool exclude_internal_topics,
                                            struct zk_view_content **last, struct why *why)
{
    struct zk_view_content *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->references = 1;
    enum zkc_err err = read_data(c, data, exclude_internal_topics, why);
    if (err == ZKC_ERR_NOMEM) {
        zk_view_content_unref(c);
        return NULL;
    }
    c->is_readable = err == ZKC_OK;
    if (*last && is_same(*last, c)) {
        zk_view_content_unref(c);
        c = *last;
        c->references++;
        return c;
    }
    zk_view_content_unref(*last);
    *last = c;
    c->references++;
    return c;
}

enum zkc_err zk_view_registration_read(const char *consumer_id, int64_t session_id,
                                       struct bytes data, bool exclude_internal_topics,
                                       struct zk_view_content **last,
                                       struct zk_view_registration **out, struct why *why)
{
    why_clear(why);
    size_t size = strlen(consumer_id) + 1;
    struct zk_view_registration *r = malloc(sizeof *r + size);
    struct zk_view_content *c = r ? read_content(data, exclude_internal_topics, last, why) : NULL;
    if (!c) {
        free(r);
        return ZKC_ERR_NOMEM;
    }
    *r = (struct zk_view_registration){.references = 1, .session_id = session_id, .content = c};
    memcpy(r->consumer_id, consumer_id, size);
    *out = r;
    return ZKC_OK;
}

/* ---- filters expanded ---- */

/* The topics of the view that the member's filter allows. False: out of memory. */
static bool expand_filter(struct zk_view *v, size_t i)
{
    const struct zk_view_content *c = v->registrations[i]->content;
    struct assign_subscription *list =
        arena_alloc_array(&v->rest->arena, v->topic_count, sizeof *list);
    size_t n = 0;
    for (size_t k = 0; list && k < v->topic_count; k++)
        if (zk_filter_allows(c->filter, v->topics[k].topic))
            list[n++] = (struct assign_subscription){
                .topic = v->topics[k].topic, .streams = c->registration.subscriptions[0].streams};
    v->assign_members[i].subscriptions = list;
    v->assign_members[i].subscription_count = n;
    return list != NULL;
}

static bool expand(struct zk_view *v, size_t i)
{
    const struct zk_view_content *c = v->registrations[i]->content;
    struct assign_member *m = &v->assign_members[i];
    m->consumer_id = v->registrations[i]->consumer_id;
    if (c->filter && (i == 0 || v->registrations[i - 1]->content != c))
        return expand_filter(v, i);
    m->subscriptions = c->filter ? m[-1].subscriptions : c->subscriptions;
    m->subscription_count =
        c->filter ? m[-1].subscription_count : c->registration.subscription_count;
    return true;
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
