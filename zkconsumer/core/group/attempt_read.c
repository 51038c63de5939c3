#include "zkconsumer/core/base/topic_partition.h"
#include "zkconsumer/core/group/attempt_parts.h"
#include "zkconsumer/core/zk/filter.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>

/* ---- sync ---- */

/* So that our server has what others have written before it answers the reads that follow. */
enum attempt_step sync_begin(struct attempt *a, struct zk_op *op)
{
    if (!a->config->switches.sync_before_read)
        return ATTEMPT_NEXT_PHASE;
    *op = (struct zk_op){.type = ZK_OP_SYNC, .path = a->config->ids_path};
    return ATTEMPT_SEND;
}

enum attempt_step sync_answer(struct attempt *a, const struct zk_result *answer)
{
    if (answer->zk_rc != ZK_OK)
        return attempt_refused(a, "sync", a->config->ids_path, answer->zk_rc);
    return ATTEMPT_NEXT_PHASE;
}

/* ---- brokers ---- */

enum attempt_step brokers_begin(struct attempt *a, enum scan_mode mode, struct zk_op *op)
{
    broker_scan_begin(&a->brokers, mode, a->watch_brokers, op);
    return ATTEMPT_SEND;
}

enum attempt_step brokers_answer(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op)
{
    enum zkc_err err;
    switch (broker_scan_next(&a->brokers, answer, op, &err, &a->why)) {
    case SCAN_SEND: return ATTEMPT_SEND;
    case SCAN_FAILED: return err == ZKC_ERR_NOMEM ? attempt_no_memory(a) : ATTEMPT_FAILED;
    case SCAN_DONE: break;
    }
    bool none = a->brokers.broker_count == 0 && a->brokers.mode == SCAN_PRESENT;
    return none ? ATTEMPT_NO_BROKERS : ATTEMPT_NEXT_PHASE;
}

/* ---- registrations ---- */

/* Reads a registration as a Java member does: what Java could not read fails the attempt here as
 * it does there, so that a mixed group behaves alike. */
static enum attempt_step read_registration(struct attempt *a, const char *consumer_id,
                                           const struct zk_result *answer,
                                           struct zk_registration *registration)
{
    struct why java, why;
    if (answer->zk_rc != ZK_OK) {
        why_set(&a->why, "getData %s/%s: %s (%d)", a->config->ids_path, consumer_id,
                zk_rc_name(answer->zk_rc), answer->zk_rc);
        return ATTEMPT_FAILED;
    }
    enum zkc_err err = zk_registration_read(answer->data, registration, &java, &why);
    if (err == ZKC_ERR_NOMEM)
        return attempt_no_memory(a);
    if (!err && java.text[0]) {
        zk_registration_deinit(registration);
        why = java;
        err = ZKC_ERR_CORRUPT;
    }
    if (err) {
        why_set(&a->why,
                "registration %s/%s: %s; every rebalance of every 0.8 member fails until this node "
                "is gone or mended",
                a->config->ids_path, consumer_id, why.text);
        return ATTEMPT_FAILED;
    }
    return ATTEMPT_NEXT_PHASE;
}

enum attempt_step own_begin(struct attempt *a, struct zk_op *op)
{
    *op = (struct zk_op){.type = ZK_OP_GET, .path = a->config->id_path};
    return ATTEMPT_SEND;
}

static bool is_own_subscription(const struct attempt *a, const struct zk_registration *r)
{
    enum zk_pattern pattern =
        a->config->filter ? zk_filter_pattern(a->config->filter) : ZK_PATTERN_STATIC;
    if (r->pattern != pattern || r->subscription_count != a->config->subscription_count)
        return false;
    for (size_t i = 0; i < r->subscription_count; i++) {
        size_t k = 0;
        while (k < a->config->subscription_count &&
               strcmp(a->config->subscriptions[k].topic, r->subscriptions[i].topic) != 0)
            k++;
        if (k == a->config->subscription_count ||
            a->config->subscriptions[k].streams != r->subscriptions[i].streams)
            return false;
    }
    return true;
}

static enum attempt_step list_topics(struct attempt *a, struct zk_op *op)
{
    a->expanding = true;
    *op = (struct zk_op){
        .type = ZK_OP_CHILDREN, .path = ZK_PATH_BROKER_TOPICS, .watch = a->watch_topics};
    return ATTEMPT_SEND;
}

static int by_topic_name(const void *a, const void *b)
{
    return strcmp(((const struct attempt_topic *)a)->name, ((const struct attempt_topic *)b)->name);
}

static bool add_topic(struct attempt *a, const char *name, int32_t streams)
{
    struct attempt_topic *t = &a->topics[a->topic_count];
    *t = (struct attempt_topic){.streams = streams};
    if (topic_book_add(a->config->book, name, &t->number))
        return false;
    t->name = a->config->book->topics[t->number].name;
    a->topic_count++;
    return true;
}

/* The fixed topics. False: out of memory. */
static bool take_fixed_topics(struct attempt *a)
{
    const struct attempt_config *c = a->config;
    attempt_free_topics(a);
    a->topics = calloc(c->subscription_count + 1, sizeof *a->topics);
    bool ok = a->topics != NULL;
    for (size_t i = 0; ok && i < c->subscription_count; i++)
        ok = add_topic(a, c->subscriptions[i].topic, c->subscriptions[i].streams);
    return ok;
}

/* Those of the names that our filter allows. */
static enum attempt_step take_allowed_topics(struct attempt *a, const struct zk_result *answer)
{
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE)
        return attempt_refused(a, "getChildren", ZK_PATH_BROKER_TOPICS, answer->zk_rc);
    size_t count = answer->zk_rc == ZK_OK ? answer->children_count : 0;
    attempt_free_topics(a);
    a->topics = calloc(count + 1, sizeof *a->topics);
    if (!a->topics)
        return attempt_no_memory(a);
    for (size_t i = 0; i < count; i++)
        if (zk_filter_allows(a->config->filter, answer->children[i]) &&
            !add_topic(a, answer->children[i], a->config->subscriptions[0].streams))
            return attempt_no_memory(a);
    qsort(a->topics, a->topic_count, sizeof *a->topics, by_topic_name);
    return ATTEMPT_NEXT_PHASE;
}

enum attempt_step own_answer(struct attempt *a, const struct zk_result *answer, struct zk_op *op)
{
    if (a->expanding) {
        a->expanding = false;
        return take_allowed_topics(a, answer);
    }
    struct zk_registration own;
    enum attempt_step step = read_registration(a, a->config->consumer_id, answer, &own);
    if (step != ATTEMPT_NEXT_PHASE)
        return step;
    bool is_ours = is_own_subscription(a, &own);
    zk_registration_deinit(&own);
    if (!is_ours) {
        why_set(&a->why,
                "registration %s: somebody else has written it; does another process use the same "
                "consumer.id?",
                a->config->id_path);
        return ATTEMPT_FAILED;
    }
    return a->config->filter ? list_topics(a, op) : ATTEMPT_NEXT_PHASE;
}

/* ---- topics ---- */

static enum attempt_step topics_send(struct attempt *a, struct zk_op *op)
{
    if (a->i == a->topic_count)
        return ATTEMPT_NEXT_PHASE;
    const struct book_topic *t = &a->config->book->topics[a->topics[a->i].number];
    *op = (struct zk_op){.type = ZK_OP_GET, .path = t->path, .watch = t->is_subscribed};
    return ATTEMPT_SEND;
}

/* Our own topics as they stand in the view, where our registration was not read before. */
static bool take_topics_of_view(struct attempt *a)
{
    for (size_t i = 0; i < a->member_count; i++) {
        const struct attempt_member *m = &a->members[i];
        if (strcmp(m->consumer_id, a->config->consumer_id) != 0)
            continue;
        a->topics = calloc(m->topic_count + 1, sizeof *a->topics);
        bool ok = a->topics != NULL;
        for (size_t k = 0; ok && k < m->topic_count; k++)
            ok = add_topic(a, m->topics[k].topic, m->topics[k].streams);
        if (ok)
            qsort(a->topics, a->topic_count, sizeof *a->topics, by_topic_name);
        return ok;
    }
    a->topics = calloc(1, sizeof *a->topics); /* we are not registered: the decision says so */
    return a->topics != NULL;
}

enum attempt_step topics_begin(struct attempt *a, struct zk_op *op)
{
    bool ok = !a->config->filter ? take_fixed_topics(a) : a->topics || take_topics_of_view(a);
    return ok ? topics_send(a, op) : attempt_no_memory(a);
}

enum attempt_step topics_answer(struct attempt *a, const struct zk_result *answer, struct zk_op *op,
                                struct group_outputs *out)
{
    struct attempt_topic *t = &a->topics[a->i];
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE)
        return attempt_refused(a, "getData", a->config->book->topics[t->number].path,
                               answer->zk_rc);
    struct bytes data = answer->zk_rc == ZK_OK ? answer->data : BYTES_NULL;
    struct why why;
    enum zkc_err err = zk_topic_read(data, &t->data, &why);
    if (err == ZKC_ERR_NOMEM)
        return attempt_no_memory(a);
    if (err) {
        why_set(&a->why, "topic %s: %s", t->name, why.text);
        return ATTEMPT_FAILED;
    }
    if (answer->zk_rc == ZK_NO_NODE)
        group_notice(out, 6, "member", ZKC_OK, "topic %s does not exist (yet)", t->name);
    else if (why.text[0])
        group_notice(out, 4, "member", ZKC_OK, "topic %s counts as having no partitions: %s",
                     t->name, why.text);
    a->i++;
    return topics_send(a, op);
}

/* ---- members ---- */

/* A group's members have nearly always one list of topics, and it is short. */
#define OWN_TOPICS_TRIED 8

enum attempt_step members_begin(struct attempt *a, struct zk_op *op)
{
    *op = (struct zk_op){.type = ZK_OP_CHILDREN, .path = a->config->ids_path, .watch = true};
    return ATTEMPT_SEND;
}

static enum attempt_step members_send(struct attempt *a, struct zk_op *op)
{
    if (a->member_count == a->name_count)
        return ATTEMPT_NEXT_PHASE;
    return attempt_send_take(a, op, ZK_OP_GET,
                             zk_path_id(a->config->group, a->names[a->member_count]), false);
}

static enum attempt_step check_names(struct attempt *a, const struct zk_result *answer)
{
    if (answer->zk_rc != ZK_OK)
        return attempt_refused(a, "getChildren", a->config->ids_path, answer->zk_rc);
    if (answer->children_count > GROUP_MEMBERS_MAX) {
        why_set(&a->why, "%s has %zu members, at most %d are dealt with", a->config->ids_path,
                answer->children_count, GROUP_MEMBERS_MAX);
        return ATTEMPT_FAILED;
    }
    return ATTEMPT_NEXT_PHASE;
}

static enum attempt_step view_failed(struct attempt *a)
{
    if (a->arena.failed != ZKC_ERR_TOO_LARGE)
        return attempt_no_memory(a);
    why_set(&a->why, "the registrations of %s have more than %zu bytes", a->config->ids_path,
            a->arena.max);
    return ATTEMPT_FAILED;
}

static enum attempt_step take_names(struct attempt *a, const struct zk_result *answer,
                                    struct zk_op *op)
{
    size_t count = answer->children_count;
    enum attempt_step step = check_names(a, answer);
    if (step != ATTEMPT_NEXT_PHASE)
        return step;
    a->names = arena_alloc_array(&a->arena, count, sizeof *a->names);
    a->members = arena_alloc_array(&a->arena, count, sizeof *a->members);
    for (size_t i = 0; i < count && !a->arena.failed; i++)
        a->names[i] = arena_text(&a->arena, bytes_of_text(answer->children[i]));
    if (a->arena.failed)
        return view_failed(a);
    a->name_count = count;
    return members_send(a, op);
}

/* The topic's name: nearly always one of our own. */
static const char *lasting_topic(struct attempt *a, const char *topic)
{
    const struct topic_book *book = a->config->book;
    for (size_t i = 0; i < book->count && i < OWN_TOPICS_TRIED; i++)
        if (strcmp(book->topics[i].name, topic) == 0)
            return book->topics[i].name;
    return arena_text(&a->arena, bytes_of_text(topic));
}

static enum attempt_step member_taken(struct attempt *a, struct zk_op *op)
{
    if (a->arena.failed)
        return view_failed(a);
    a->member_count++;
    return members_send(a, op);
}

/* Turns a fixed subscription into what the assignment takes. */
static void expand_static(struct attempt *a, const struct zk_registration *r,
                          struct attempt_member *m)
{
    m->topics = arena_alloc_array(&a->arena, r->subscription_count, sizeof *m->topics);
    for (size_t i = 0; i < r->subscription_count && !a->arena.failed; i++)
        m->topics[i] =
            (struct assign_subscription){.topic = lasting_topic(a, r->subscriptions[i].topic),
                                         .streams = r->subscriptions[i].streams};
    m->topic_count = r->subscription_count;
}

static void expand_topics(struct attempt *a, const struct zk_filter *filter, int32_t streams,
                          const struct zk_result *topics, struct attempt_member *m)
{
    size_t count = topics->zk_rc == ZK_OK ? topics->children_count : 0;
    m->topics = arena_alloc_array(&a->arena, count, sizeof *m->topics);
    for (size_t i = 0; i < count && !a->arena.failed; i++)
        if (zk_filter_allows(filter, topics->children[i]))
            m->topics[m->topic_count++] = (struct assign_subscription){
                .topic = lasting_topic(a, topics->children[i]), .streams = streams};
}

/* The same for a filter, by the topics that exist now. */
static enum attempt_step expand_filter(struct attempt *a, const struct zk_registration *r,
                                       const struct zk_result *answer, struct zk_op *op)
{
    struct attempt_member *m = &a->members[a->member_count];
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE)
        return attempt_refused(a, "getChildren", ZK_PATH_BROKER_TOPICS, answer->zk_rc);
    struct zk_filter *filter;
    struct why why;
    enum zkc_err err = zk_filter_new(r->pattern, r->subscriptions[0].topic,
                                     a->config->exclude_internal_topics, &filter, &why);
    if (err == ZKC_ERR_NOMEM)
        return attempt_no_memory(a);
    if (err) {
        why_set(&a->why, "registration %s/%s: %s", a->config->ids_path, m->consumer_id, why.text);
        return ATTEMPT_FAILED;
    }
    expand_topics(a, filter, r->subscriptions[0].streams, answer, m);
    zk_filter_free(filter);
    return member_taken(a, op);
}

/* Takes the data of names[member_count]. */
static enum attempt_step take_member(struct attempt *a, const struct zk_result *answer,
                                     struct zk_op *op)
{
    struct attempt_member *m = &a->members[a->member_count];
    struct zk_registration r;
    m->consumer_id = a->names[a->member_count];
    enum attempt_step step = read_registration(a, m->consumer_id, answer, &r);
    if (step != ATTEMPT_NEXT_PHASE)
        return step;
    if (r.pattern != ZK_PATTERN_STATIC) {
        a->filtering = r;
        return list_topics(a, op);
    }
    expand_static(a, &r, m);
    zk_registration_deinit(&r);
    return member_taken(a, op);
}

enum attempt_step members_answer(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op)
{
    if (!a->members)
        return take_names(a, answer, op);
    if (!a->expanding)
        return take_member(a, answer, op);
    a->expanding = false;
    enum attempt_step step = expand_filter(a, &a->filtering, answer, op);
    zk_registration_deinit(&a->filtering);
    return step;
}

enum attempt_step members_again_answer(struct attempt *a, const struct zk_result *answer)
{
    return check_names(a, answer); /* 0.8.2 only logs what it finds */
}

/* ---- offsets ---- */

static enum attempt_step offsets_send(struct attempt *a, struct zk_op *op)
{
    if (a->i == a->claim_count)
        return ATTEMPT_NEXT_PHASE;
    const struct group_claim *c = &a->claims[a->i];
    return attempt_send_take(a, op, ZK_OP_GET,
                             zk_path_offset(a->config->group, c->topic, c->partition), false);
}

/* Without a usable number: what was claimed goes back, where claims come before offsets. With dual
 * commit 0.8.2 catches the exception and fetches all of it again, for ever. */
static enum attempt_step offsets_failed(struct attempt *a, struct zk_op *op,
                                        struct group_outputs *out)
{
    if (!a->config->offsets_in_kafka)
        return undo_begin(a, op);
    group_notice(out, 4, "offset", ZKC_OK,
                 "Error while fetching offsets. Possible cause: %s; fetching them again",
                 a->why.text);
    return ATTEMPT_FETCH_AGAIN;
}

enum attempt_step offsets_answer(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op, struct group_outputs *out)
{
    struct group_claim *c = &a->claims[a->i];
    struct why why;
    int64_t stored = -1;
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE) {
        attempt_refused(a, "getData", a->path, answer->zk_rc);
        return offsets_failed(a, op, out);
    }
    if (answer->zk_rc == ZK_OK && zk_offset_read(answer->data, &stored, &why)) {
        why_set(&a->why, "offset %s: %s; set it to a bare decimal number, or delete the node",
                a->path, why.text);
        return offsets_failed(a, op, out);
    }
    if (stored < 0)
        stored = -1;
    c->offset = a->config->offsets_in_both && c->offset > stored ? c->offset : stored;
    a->versions[a->i] = answer->zk_rc == ZK_OK ? answer->stat.version : OFFSET_NO_NODE;
    struct group_output *o = group_emit(out, GROUP_OUT_OFFSET_READ);
    o->offset.topic = c->topic;
    o->offset.partition = c->partition;
    o->offset.offset = stored;
    o->offset.zk_rc = answer->zk_rc;
    a->i++;
    return offsets_send(a, op);
}

enum attempt_step offsets_begin(struct attempt *a, struct zk_op *op)
{
    if (a->config->offsets_in_kafka && a->claim_count > 0)
        return ATTEMPT_FETCH;
    return offsets_send(a, op);
}

static int by_partition(const void *a, const void *b)
{
    const struct group_offset *x = a, *y = b;
    return topic_partition_compare((struct topic_partition){x->topic, x->partition},
                                   (struct topic_partition){y->topic, y->partition});
}

void attempt_fetched(struct attempt *a, const struct group_offset *list, size_t count)
{
    a->fetched.came = true;
    a->fetched.given_up = list == NULL;
    for (size_t i = 0; list && i < a->claim_count; i++) {
        struct group_offset want = {.topic = a->claims[i].topic,
                                    .partition = a->claims[i].partition};
        const struct group_offset *at = bsearch(&want, list, count, sizeof *list, by_partition);
        a->claims[i].offset = at && at->offset >= 0 ? at->offset : -1;
    }
}

enum attempt_step offsets_fetched(struct attempt *a, struct zk_op *op)
{
    a->fetched.came = false;
    a->i = 0;
    if (a->fetched.given_up) {
        why_set(&a->why, "the member is shutting down");
        a->is_shutdown = true;
        return undo_begin(a, op);
    }
    return a->config->offsets_in_both ? offsets_send(a, op) : ATTEMPT_NEXT_PHASE;
}
