#include "zkconsumer/core/group/attempt.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/consumer_id.h"
#include "zkconsumer/core/zk/filter.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

enum phase {
    PHASE_BEGIN,
    PHASE_BROKERS_STRICT, /* ZkUtils.getCluster */
    PHASE_OWN,            /* TopicCount.constructTopicCount of the own node */
    PHASE_BROKERS,        /* ZkUtils.getAllBrokersInCluster; none: nothing more is done */
    PHASE_STOP,
    PHASE_COMMIT,
    PHASE_RELEASE,
    PHASE_RELEASED,
    PHASE_TOPICS,
    PHASE_MEMBERS,       /* the list and each member */
    PHASE_MEMBERS_AGAIN, /* 0.8.2 lists once more, for the sorted consumers of its context */
    PHASE_DECIDE,
    PHASE_OFFSETS,
    PHASE_LEAVE, /* a member that shuts down goes no further (isShuttingDown) */
    PHASE_CLAIMS,
    PHASE_END,
};

static const uint8_t ORDERS[ZK_VARIANT_COUNT][17] = {
    [ZK_VARIANT_0_8] = {PHASE_BEGIN, PHASE_BROKERS_STRICT, PHASE_OWN, PHASE_BROKERS, PHASE_STOP,
                        PHASE_COMMIT, PHASE_RELEASE, PHASE_RELEASED, PHASE_OWN, PHASE_TOPICS,
                        PHASE_MEMBERS, PHASE_MEMBERS_AGAIN, PHASE_DECIDE, PHASE_OFFSETS,
                        PHASE_LEAVE, PHASE_CLAIMS, PHASE_END},
    [ZK_VARIANT_0_7] = {PHASE_BEGIN, PHASE_BROKERS_STRICT, PHASE_OWN, PHASE_MEMBERS, PHASE_TOPICS,
                        PHASE_STOP, PHASE_COMMIT, PHASE_RELEASE, PHASE_RELEASED, PHASE_DECIDE,
                        PHASE_OFFSETS, PHASE_LEAVE, PHASE_CLAIMS, PHASE_END},
    [ZK_VARIANT_DOCUMENTED] = {PHASE_BEGIN, PHASE_STOP, PHASE_COMMIT, PHASE_RELEASE, PHASE_RELEASED,
                               PHASE_BROKERS_STRICT, PHASE_MEMBERS, PHASE_TOPICS, PHASE_DECIDE,
                               PHASE_LEAVE, PHASE_CLAIMS, PHASE_OFFSETS, PHASE_END},
};

static enum phase phase_of(const struct attempt *a)
{
    assert(a->phase < ARRAY_LEN(ORDERS[0]));
    return (enum phase)ORDERS[a->config->variant][a->phase];
}

void attempt_begin(struct attempt *a, const struct attempt_config *config, uint32_t rebalance,
                   uint32_t number, bool watch_brokers, struct group_claim *owned,
                   size_t owned_count)
{
    attempt_deinit(a);
    a->config = config;
    a->rebalance = rebalance;
    a->number = number;
    a->watch_brokers = watch_brokers;
    a->release = owned;
    a->release_count = owned_count;
    assert(phase_of(a) == PHASE_BEGIN);
}

/* ---- what the view is made of ---- */

static void free_member(struct attempt_member *m)
{
    free(m->consumer_id);
    zk_registration_deinit(&m->registration);
    free(m->topics);
    for (size_t i = 0; m->expanded && i < m->topic_count; i++)
        free(m->expanded[i]);
    free(m->expanded);
}

static void free_names(struct attempt *a)
{
    for (size_t i = 0; i < a->name_count; i++)
        free(a->names[i]);
    free(a->names);
    a->names = NULL;
    a->name_count = 0;
}

static void view_free(struct attempt_view *v)
{
    free(v->members);
    free(v->topics);
    free(v->partitions);
    free(v->assign_members);
    free(v->assign_topics);
}

void attempt_deinit(struct attempt *a)
{
    free(a->path);
    free(a->thread_id);
    free_names(a);
    broker_scan_deinit(&a->brokers);
    for (size_t i = 0; i < a->member_count; i++)
        free_member(&a->members[i]);
    free(a->members);
    for (size_t i = 0; a->topics && i < a->config->subscription_count; i++)
        zk_topic_deinit(&a->topics[i]);
    free(a->topics);
    view_free(&a->view);
    free(a->claims);
    free(a->claimed);
    creator_deinit(&a->creator);
    *a = (struct attempt){0};
}

static enum attempt_step no_memory(struct attempt *a)
{
    why_set(&a->why, "out of memory");
    return ATTEMPT_FAILED;
}

static enum attempt_step refused(struct attempt *a, const char *what, const char *path, int zk_rc)
{
    why_set(&a->why, "%s %s: %s (%d)", what, path, zk_rc_name(zk_rc), zk_rc);
    return ATTEMPT_FAILED;
}

/* Takes over an owned path (NULL: out of memory) and sends a read or a delete of it. */
static enum attempt_step send_owned(struct attempt *a, struct zk_op *op, enum zk_op_type type,
                                    char *path, bool watch)
{
    free(a->path);
    a->path = path;
    if (!path)
        return no_memory(a);
    *op = (struct zk_op){.type = type, .path = path, .version = ZK_ANY_VERSION, .watch = watch};
    return ATTEMPT_SEND;
}

/* ---- brokers ---- */

static enum attempt_step brokers_begin(struct attempt *a, struct zk_op *op)
{
    broker_scan_begin(&a->brokers, phase_of(a) == PHASE_BROKERS_STRICT, a->watch_brokers, op);
    return ATTEMPT_SEND;
}

static enum attempt_step brokers_answer(struct attempt *a, const struct zk_result *answer,
                                        struct zk_op *op)
{
    enum zkc_err err;
    switch (broker_scan_next(&a->brokers, answer, op, &err, &a->why)) {
    case SCAN_SEND: return ATTEMPT_SEND;
    case SCAN_FAILED: return err == ZKC_ERR_NOMEM ? no_memory(a) : ATTEMPT_FAILED;
    case SCAN_DONE: break;
    }
    bool none = a->brokers.broker_count == 0 && phase_of(a) == PHASE_BROKERS;
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
        return no_memory(a);
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

static enum attempt_step own_begin(struct attempt *a, struct zk_op *op)
{
    *op = (struct zk_op){.type = ZK_OP_GET, .path = a->config->id_path};
    return ATTEMPT_SEND;
}

static bool is_own_subscription(const struct attempt *a, const struct zk_registration *r)
{
    if (r->pattern != ZK_PATTERN_STATIC || r->subscription_count != a->config->subscription_count)
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

static enum attempt_step own_answer(struct attempt *a, const struct zk_result *answer)
{
    struct zk_registration own;
    enum attempt_step step = read_registration(a, a->config->consumer_id, answer, &own);
    if (step != ATTEMPT_NEXT_PHASE)
        return step;
    if (!is_own_subscription(a, &own)) {
        why_set(&a->why,
                "registration %s: somebody else has written it; does another process use the same "
                "consumer.id?",
                a->config->id_path);
        step = ATTEMPT_FAILED;
    }
    zk_registration_deinit(&own);
    return step;
}

/* ---- topics ---- */

static enum attempt_step topics_send(struct attempt *a, struct zk_op *op)
{
    if (a->i == a->config->subscription_count)
        return ATTEMPT_NEXT_PHASE;
    return send_owned(a, op, ZK_OP_GET, zk_path_topic(a->config->subscriptions[a->i].topic), true);
}

static enum attempt_step topics_begin(struct attempt *a, struct zk_op *op)
{
    a->topics = calloc(a->config->subscription_count + 1, sizeof *a->topics);
    return a->topics ? topics_send(a, op) : no_memory(a);
}

static enum attempt_step topics_answer(struct attempt *a, const struct zk_result *answer,
                                       struct zk_op *op, struct group_outputs *out)
{
    const char *topic = a->config->subscriptions[a->i].topic;
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE)
        return refused(a, "getData", a->path, answer->zk_rc);
    struct bytes data = answer->zk_rc == ZK_OK ? answer->data : BYTES_NULL;
    struct why why;
    enum zkc_err err = zk_topic_read(data, &a->topics[a->i], &why);
    if (err == ZKC_ERR_NOMEM)
        return no_memory(a);
    if (err) {
        why_set(&a->why, "topic %s: %s", topic, why.text);
        return ATTEMPT_FAILED;
    }
    if (answer->zk_rc == ZK_NO_NODE)
        group_notice(out, 6, "member", ZKC_OK, "topic %s does not exist (yet)", topic);
    else if (why.text[0])
        group_notice(out, 4, "member", ZKC_OK, "topic %s counts as having no partitions: %s", topic,
                     why.text);
    a->i++;
    return topics_send(a, op);
}

/* ---- members ---- */

static enum attempt_step members_begin(struct attempt *a, struct zk_op *op)
{
    *op = (struct zk_op){.type = ZK_OP_CHILDREN, .path = a->config->ids_path, .watch = true};
    return ATTEMPT_SEND;
}

static enum attempt_step members_send(struct attempt *a, struct zk_op *op)
{
    if (a->member_count == a->name_count)
        return ATTEMPT_NEXT_PHASE;
    return send_owned(a, op, ZK_OP_GET, zk_path_id(a->config->group, a->names[a->member_count]),
                      false);
}

static enum attempt_step take_names(struct attempt *a, const struct zk_result *answer)
{
    if (answer->zk_rc != ZK_OK)
        return refused(a, "getChildren", a->config->ids_path, answer->zk_rc);
    if (answer->children_count > GROUP_MEMBERS_MAX) {
        why_set(&a->why, "%s has %zu members, at most %d are dealt with", a->config->ids_path,
                answer->children_count, GROUP_MEMBERS_MAX);
        return ATTEMPT_FAILED;
    }
    free_names(a);
    a->names = calloc(answer->children_count + 1, sizeof *a->names);
    if (!a->names)
        return no_memory(a);
    for (size_t i = 0; i < answer->children_count; i++) {
        a->names[i] = strdup(answer->children[i]);
        if (!a->names[i])
            return no_memory(a);
        a->name_count++;
    }
    return ATTEMPT_NEXT_PHASE;
}

/* Turns a member's fixed subscription into what the assignment takes. */
static bool expand_static(struct attempt_member *m)
{
    const struct zk_registration *r = &m->registration;
    m->topics = calloc(r->subscription_count + 1, sizeof *m->topics);
    if (!m->topics)
        return false;
    for (size_t i = 0; i < r->subscription_count; i++)
        m->topics[i] = (struct assign_subscription){.topic = r->subscriptions[i].topic,
                                                    .streams = r->subscriptions[i].streams};
    m->topic_count = r->subscription_count;
    return true;
}

/* The same for a filter, by the topics that exist now. */
static enum attempt_step expand_filter(struct attempt *a, struct attempt_member *m,
                                       const struct zk_result *answer)
{
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE)
        return refused(a, "getChildren", ZK_PATH_BROKER_TOPICS, answer->zk_rc);
    size_t count = answer->zk_rc == ZK_OK ? answer->children_count : 0;
    struct zk_filter *filter;
    struct why why;
    enum zkc_err err =
        zk_filter_new(m->registration.pattern, m->registration.subscriptions[0].topic,
                      a->config->exclude_internal_topics, &filter, &why);
    if (err == ZKC_ERR_NOMEM)
        return no_memory(a);
    if (err) {
        why_set(&a->why, "registration %s/%s: %s", a->config->ids_path, m->consumer_id, why.text);
        return ATTEMPT_FAILED;
    }
    m->topics = calloc(count + 1, sizeof *m->topics);
    m->expanded = calloc(count + 1, sizeof *m->expanded);
    bool ok = m->topics && m->expanded;
    for (size_t i = 0; ok && i < count; i++) {
        if (!zk_filter_allows(filter, answer->children[i]))
            continue;
        char *name = strdup(answer->children[i]);
        ok = name != NULL;
        if (!ok)
            break;
        m->expanded[m->topic_count] = name;
        m->topics[m->topic_count++] = (struct assign_subscription){
            .topic = name, .streams = m->registration.subscriptions[0].streams};
    }
    zk_filter_free(filter);
    return ok ? ATTEMPT_NEXT_PHASE : no_memory(a);
}

/* Takes the data of names[member_count]. */
static enum attempt_step take_member(struct attempt *a, const struct zk_result *answer,
                                     struct zk_op *op)
{
    struct attempt_member m = {0};
    enum attempt_step step =
        read_registration(a, a->names[a->member_count], answer, &m.registration);
    if (step != ATTEMPT_NEXT_PHASE)
        return step;
    m.consumer_id = strdup(a->names[a->member_count]);
    a->members[a->member_count++] = m;
    if (!m.consumer_id)
        return no_memory(a);
    if (m.registration.pattern == ZK_PATTERN_STATIC)
        return expand_static(&a->members[a->member_count - 1]) ? members_send(a, op) : no_memory(a);
    a->expanding = true;
    *op = (struct zk_op){.type = ZK_OP_CHILDREN, .path = ZK_PATH_BROKER_TOPICS};
    return ATTEMPT_SEND;
}

static enum attempt_step members_answer(struct attempt *a, const struct zk_result *answer,
                                        struct zk_op *op)
{
    enum attempt_step step;
    if (!a->members) {
        step = take_names(a, answer);
        if (step != ATTEMPT_NEXT_PHASE)
            return step;
        a->members = calloc(a->name_count + 1, sizeof *a->members);
        return a->members ? members_send(a, op) : no_memory(a);
    }
    if (!a->expanding)
        return take_member(a, answer, op);
    a->expanding = false;
    step = expand_filter(a, &a->members[a->member_count - 1], answer);
    return step == ATTEMPT_NEXT_PHASE ? members_send(a, op) : step;
}

static enum attempt_step members_again_answer(struct attempt *a, const struct zk_result *answer)
{
    return take_names(a, answer); /* 0.8.2 only logs what it finds */
}

/* ---- decide ---- */

static int by_consumer_id(const void *x, const void *y)
{
    const struct attempt_member *a = x, *b = y;
    return strcmp(a->consumer_id, b->consumer_id);
}

static void hash_bytes(uint64_t *hash, const void *data, size_t len) /* FNV-1a */
{
    for (const uint8_t *p = data; len-- > 0; p++)
        *hash = (*hash ^ *p) * 0x100000001b3u;
}

/* Puts members and topics, both sorted, into the form of the output and of the assignment. */
static bool view_make(const struct attempt *a, struct attempt_view *v)
{
    size_t topics = a->config->subscription_count, partitions = 0;
    for (size_t i = 0; i < topics; i++)
        partitions += a->topics[i].partition_count;
    *v = (struct attempt_view){
        .members = calloc(a->member_count + 1, sizeof *v->members),
        .topics = calloc(topics + 1, sizeof *v->topics),
        .partitions = calloc(partitions + 1, sizeof *v->partitions),
        .assign_members = calloc(a->member_count + 1, sizeof *v->assign_members),
        .assign_topics = calloc(topics + 1, sizeof *v->assign_topics),
    };
    if (!v->members || !v->topics || !v->partitions || !v->assign_members || !v->assign_topics)
        return false;
    for (size_t i = 0; i < a->member_count; i++) {
        const struct attempt_member *m = &a->members[i];
        v->members[i].consumer_id = m->consumer_id;
        v->assign_members[i] = (struct assign_member){.consumer_id = m->consumer_id,
                                                      .subscriptions = m->topics,
                                                      .subscription_count = m->topic_count};
    }
    int32_t *at = v->partitions;
    for (size_t i = 0; i < topics; i++) {
        const struct zk_topic *t = &a->topics[i];
        const char *name = a->config->subscriptions[i].topic;
        for (size_t k = 0; k < t->partition_count; k++)
            at[k] = t->partitions[k].partition;
        v->topics[i] = (struct group_view_topic){name, at, t->partition_count};
        v->assign_topics[i] = (struct assign_topic){name, at, t->partition_count};
        at += t->partition_count;
    }
    return true;
}

static uint64_t view_hash(const struct attempt_view *v, size_t members, size_t topics)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < members; i++)
        hash_bytes(&hash, v->members[i].consumer_id, strlen(v->members[i].consumer_id) + 1);
    for (size_t i = 0; i < topics; i++) {
        hash_bytes(&hash, v->topics[i].topic, strlen(v->topics[i].topic) + 1);
        for (size_t k = 0; k < v->topics[i].count; k++)
            hash_bytes(&hash, &v->topics[i].partitions[k], sizeof(int32_t));
    }
    return hash;
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
    a->claimed = calloc(a->claim_count + 1, sizeof *a->claimed);
    if (!a->claims || !a->claimed) {
        a->claim_count = 0;
        return false;
    }
    for (size_t i = 0; i < a->claim_count; i++) {
        const struct assign_entry *e = assignment_member_entry(all, self, i);
        a->claims[i] = (struct group_claim){
            .topic = a->config->subscriptions[e->topic].topic,
            .topic_index = e->topic,
            .partition = e->partition,
            .thread = e->thread,
            .offset = -1,
        };
    }
    return true;
}

static void say_idle_threads(const struct attempt *a, struct group_outputs *out)
{
    for (size_t t = 0; t < a->config->subscription_count; t++) {
        int32_t busy = 0, last = -1;
        for (size_t i = 0; i < a->claim_count; i++)
            if (a->claims[i].topic_index == t && a->claims[i].thread != last) {
                last = a->claims[i].thread;
                busy++;
            }
        int32_t idle = a->config->subscriptions[t].streams - busy;
        if (idle > 0 && out->count < GROUP_OUTPUTS_MAX / 2)
            group_notice(out, 4, "member", ZKC_OK,
                         "No broker partitions consumed by consumer thread: %d of %d streams of "
                         "topic %s are idle",
                         idle, a->config->subscriptions[t].streams,
                         a->config->subscriptions[t].topic);
    }
}

static enum attempt_step decide(struct attempt *a, struct attempt_view *v,
                                struct group_outputs *out)
{
    size_t topics = a->config->subscription_count, self;
    struct group_output *o = group_emit(out, GROUP_OUT_VIEW);
    o->view.rebalance = a->rebalance;
    o->view.attempt = a->number;
    o->view.hash = view_hash(v, a->member_count, topics);
    o->view.member_count = a->member_count;
    o->view.topic_count = topics;
    if (!find_self(a, &self)) {
        why_set(&a->why, "%s is not among the registered members", a->config->consumer_id);
        return ATTEMPT_FAILED;
    }
    struct assign_group group = {.members = v->assign_members,
                                 .member_count = a->member_count,
                                 .topics = v->assign_topics,
                                 .topic_count = topics};
    struct assignment all;
    enum zkc_err err = assign_group(a->config->strategy, &group, &all, &a->why);
    if (err)
        return err == ZKC_ERR_NOMEM ? no_memory(a) : ATTEMPT_FAILED;
    bool ok = keep_own(a, &all, self);
    assignment_deinit(&all);
    if (!ok)
        return no_memory(a);
    o = group_emit(out, GROUP_OUT_DECIDE);
    o->decide.claims = a->claims;
    o->decide.count = a->claim_count;
    say_idle_threads(a, out);
    return ATTEMPT_NEXT_PHASE;
}

static enum attempt_step decide_begin(struct attempt *a, struct group_outputs *out)
{
    struct attempt_view *v = &a->view;
    qsort(a->members, a->member_count, sizeof *a->members, by_consumer_id);
    size_t at = out->count;
    if (!view_make(a, v))
        return no_memory(a);
    enum attempt_step step = decide(a, v, out);
    out->list[at].view.members = v->members;
    out->list[at].view.topics = v->topics;
    return step;
}

/* ---- release ---- */

static enum attempt_step release_send(struct attempt *a, struct zk_op *op)
{
    if (a->i == a->release_count)
        return ATTEMPT_NEXT_PHASE;
    const struct group_claim *c = &a->release[a->i];
    return send_owned(a, op, ZK_OP_DELETE, zk_path_owner(a->config->group, c->topic, c->partition),
                      false);
}

static enum attempt_step release_answer(struct attempt *a, const struct zk_result *answer,
                                        struct zk_op *op, struct group_outputs *out)
{
    const struct group_claim *c = &a->release[a->i];
    struct group_output *o = group_emit(out, GROUP_OUT_RELEASE);
    o->release.topic = c->topic;
    o->release.partition = c->partition;
    o->release.zk_rc = answer->zk_rc;
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE)
        return refused(a, "delete", a->path, answer->zk_rc);
    a->i++;
    return release_send(a, op);
}

/* Deletes what this attempt created, once it has failed. */
static enum attempt_step undo_send(struct attempt *a, struct zk_op *op)
{
    a->claiming = CLAIM_UNDOING;
    while (a->i < a->claim_count && !a->claimed[a->i])
        a->i++;
    if (a->i == a->claim_count)
        return ATTEMPT_FAILED;
    const struct group_claim *c = &a->claims[a->i];
    return send_owned(a, op, ZK_OP_DELETE, zk_path_owner(a->config->group, c->topic, c->partition),
                      false);
}

/* ---- offsets ---- */

static enum attempt_step offsets_send(struct attempt *a, struct zk_op *op)
{
    if (a->i == a->claim_count)
        return ATTEMPT_NEXT_PHASE;
    const struct group_claim *c = &a->claims[a->i];
    return send_owned(a, op, ZK_OP_GET, zk_path_offset(a->config->group, c->topic, c->partition),
                      false);
}

static enum attempt_step offsets_answer(struct attempt *a, const struct zk_result *answer,
                                        struct zk_op *op, struct group_outputs *out)
{
    struct group_claim *c = &a->claims[a->i];
    struct why why;
    if (answer->zk_rc == ZK_NO_NODE)
        c->offset = -1;
    else if (answer->zk_rc != ZK_OK)
        return refused(a, "getData", a->path, answer->zk_rc);
    else if (zk_offset_read(answer->data, &c->offset, &why)) {
        why_set(&a->why, "offset %s: %s; set it to a bare decimal number, or delete the node",
                a->path, why.text);
        a->i = 0;
        return undo_send(a, op); /* of what was claimed, where claims come before offsets */
    }
    struct group_output *o = group_emit(out, GROUP_OUT_OFFSET_READ);
    o->offset.topic = c->topic;
    o->offset.partition = c->partition;
    o->offset.offset = c->offset;
    o->offset.zk_rc = answer->zk_rc;
    a->i++;
    return offsets_send(a, op);
}

/* ---- claims ---- */

static void say_claim(const struct attempt *a, int zk_rc, struct bytes holder,
                      struct group_outputs *out)
{
    const struct group_claim *c = &a->claims[a->i];
    struct group_output *o = group_emit(out, GROUP_OUT_CLAIM);
    o->claim.topic = c->topic;
    o->claim.partition = c->partition;
    o->claim.zk_rc = zk_rc;
    if (holder.data)
        o->claim.holder = group_text(out, "%.*s", holder.len > 512 ? 512 : (int)holder.len,
                                     (const char *)holder.data);
    if (zk_rc == ZK_NODE_EXISTS)
        group_notice(out, 6, "claim", ZKC_OK,
                     "waiting for the partition ownership to be deleted: [%s,%d] is owned by %s",
                     c->topic, c->partition, holder.data ? o->claim.holder : "nobody any more");
    else if (zk_rc == ZK_OK)
        group_notice(out, 7, "claim", ZKC_OK, "%s successfully owned partition [%s,%d]",
                     a->thread_id, c->topic, c->partition);
}

static enum attempt_step claims_send(struct attempt *a, struct zk_op *op)
{
    if (a->i == a->claim_count) {
        if (a->conflicts == 0)
            return ATTEMPT_NEXT_PHASE;
        why_set(&a->why, "%zu of %zu claims met an owner node of another member", a->conflicts,
                a->claim_count);
        a->i = 0;
        return undo_send(a, op);
    }
    const struct group_claim *c = &a->claims[a->i];
    a->claiming = CLAIM_CREATING;
    free(a->path);
    free(a->thread_id);
    a->path = zk_path_owner(a->config->group, c->topic, c->partition);
    a->thread_id = zk_thread_id(a->config->consumer_id, c->thread);
    creator_deinit(&a->creator);
    if (!a->path || !a->thread_id ||
        creator_begin(&a->creator, a->path, bytes_of_text(a->thread_id), true, op))
        return no_memory(a);
    return ATTEMPT_SEND;
}

static enum attempt_step claim_ended(struct attempt *a, bool won, struct zk_op *op)
{
    a->claimed[a->i] = won;
    a->conflicts += !won;
    a->i++;
    return claims_send(a, op);
}

static enum attempt_step claims_answer(struct attempt *a, const struct zk_result *answer,
                                       struct zk_op *op, struct group_outputs *out)
{
    int zk_rc = answer->zk_rc;
    switch (a->claiming) {
    case CLAIM_CREATING:
        if (creator_next(&a->creator, answer->zk_rc, op, &zk_rc))
            return ATTEMPT_SEND;
        if (zk_rc == ZK_NODE_EXISTS) {
            a->claiming = CLAIM_READING;
            *op = (struct zk_op){.type = ZK_OP_GET, .path = a->path};
            return ATTEMPT_SEND;
        }
        say_claim(a, zk_rc, BYTES_NULL, out);
        return zk_rc == ZK_OK ? claim_ended(a, true, op) : refused(a, "create", a->path, zk_rc);
    case CLAIM_READING:
        if (zk_rc != ZK_OK && zk_rc != ZK_NO_NODE)
            return refused(a, "getData", a->path, zk_rc);
        bool own = zk_rc == ZK_OK && bytes_equal_text(answer->data, a->thread_id);
        say_claim(a, own ? ZK_OK : ZK_NODE_EXISTS, zk_rc == ZK_OK ? answer->data : BYTES_NULL, out);
        return claim_ended(a, own, op);
    case CLAIM_UNDOING: break;
    }
    if (zk_rc != ZK_OK && zk_rc != ZK_NO_NODE)
        return refused(a, "delete", a->path, zk_rc);
    struct group_output *o = group_emit(out, GROUP_OUT_RELEASE);
    o->release.topic = a->claims[a->i].topic;
    o->release.partition = a->claims[a->i].partition;
    o->release.zk_rc = zk_rc;
    a->i++;
    return undo_send(a, op);
}

/* ---- the order ---- */

static enum attempt_step begin_phase(struct attempt *a, bool leaving, struct zk_op *op,
                                     struct group_outputs *out)
{
    a->i = 0;
    switch (phase_of(a)) {
    case PHASE_BEGIN: break;
    case PHASE_BROKERS_STRICT:
    case PHASE_BROKERS: return brokers_begin(a, op);
    case PHASE_OWN: return own_begin(a, op);
    case PHASE_STOP: return ATTEMPT_STOP;
    case PHASE_COMMIT: return ATTEMPT_COMMIT;
    case PHASE_RELEASE: return release_send(a, op);
    case PHASE_RELEASED: return ATTEMPT_RELEASED;
    case PHASE_TOPICS: return topics_begin(a, op);
    case PHASE_MEMBERS:
    case PHASE_MEMBERS_AGAIN: return members_begin(a, op);
    case PHASE_DECIDE: return decide_begin(a, out);
    case PHASE_OFFSETS: return offsets_send(a, op);
    case PHASE_LEAVE:
        if (!leaving)
            return ATTEMPT_NEXT_PHASE;
        why_set(&a->why, "the member is shutting down");
        return ATTEMPT_FAILED;
    case PHASE_CLAIMS: return claims_send(a, op);
    case PHASE_END: return ATTEMPT_DONE;
    }
    return ATTEMPT_NEXT_PHASE;
}

static enum attempt_step answer_phase(struct attempt *a, const struct zk_result *answer,
                                      struct zk_op *op, struct group_outputs *out)
{
    if (a->claiming == CLAIM_UNDOING)
        return claims_answer(a, answer, op, out);
    switch (phase_of(a)) {
    case PHASE_BROKERS_STRICT:
    case PHASE_BROKERS: return brokers_answer(a, answer, op);
    case PHASE_OWN: return own_answer(a, answer);
    case PHASE_RELEASE: return release_answer(a, answer, op, out);
    case PHASE_TOPICS: return topics_answer(a, answer, op, out);
    case PHASE_MEMBERS: return members_answer(a, answer, op);
    case PHASE_MEMBERS_AGAIN: return members_again_answer(a, answer);
    case PHASE_OFFSETS: return offsets_answer(a, answer, op, out);
    case PHASE_CLAIMS: return claims_answer(a, answer, op, out);
    case PHASE_BEGIN:
    case PHASE_STOP:
    case PHASE_COMMIT:
    case PHASE_RELEASED:
    case PHASE_DECIDE:
    case PHASE_LEAVE:
    case PHASE_END: break;
    }
    assert(!"an answer was expected by nobody");
    return ATTEMPT_FAILED;
}

enum attempt_step attempt_next(struct attempt *a, const struct zk_result *answer, bool leaving,
                               struct zk_op *op, struct group_outputs *out)
{
    enum attempt_step step = answer ? answer_phase(a, answer, op, out) : ATTEMPT_NEXT_PHASE;
    while (step == ATTEMPT_NEXT_PHASE) {
        a->phase++;
        step = begin_phase(a, leaving, op, out);
    }
    return step;
}
