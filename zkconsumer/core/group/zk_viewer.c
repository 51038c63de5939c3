/* How a viewer reads.
 *
 * Each thing that is read under a watch (the list of ids, the data of a topic, the list of topics)
 * is *fresh* from the answer until its watch fires or the session ends; a round reads what is not.
 * A read that was lost leaves its thing stale, so that it is read again: no watch is missed. An
 * event during a round makes its thing stale again and calls for one further round. Registrations
 * are not watched: the rule of `cversion` says which are stale. */
#include "zkconsumer/core/base/told.h"
#include "zkconsumer/core/group/lease.h"
#include "zkconsumer/core/group/zk_view.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/topic.h"
#include <assert.h>
#include <stdlib.h>

#define UNDER_WAY_MAX 128 /* reads at a time */
#define OUTPUTS_SPARE 128 /* for what else a member has to say in the same step */

enum what { WHAT_SYNC, WHAT_IDS, WHAT_ID, WHAT_TOPICS, WHAT_TOPIC };

/* Something that is read. */
struct source {
    bool is_fresh;
    bool is_done; /* in this round */
    bool is_sent;
    bool is_missing; /* there was no such node: an existence watch is put, then it is read again */
};

struct seen_id {
    struct source source;
    char *path;
    const char *name; /* within path */
    bool is_watched;  /* it was odd: read with a watch */
    struct told odd;
    struct zk_view_registration *registration; /* NULL: not read yet, or gone */
};

struct seen_topic {
    struct source source;
    char *path;
    const char *name; /* within path */
    bool exists;
    struct told odd;
    struct zk_topic topic;
};

struct under_way {
    uint32_t seq;
    enum what what;
    size_t index; /* in ids or topics, which do not change while any of theirs is under way */
};

struct zk_viewer {
    struct zk_viewer_config config; /* its pointers are not kept */
    char *ids_path;
    struct zk_filter *filter; /* NULL: static subscriptions */
    bool is_connected;
    unsigned rounds_wanted;
    bool is_busy;
    bool has_failed;   /* something of the round was lost: nothing comes of it, it is begun again */
    bool awaits_event; /* nothing comes of it either, but what begins the next is an event */
    bool wants_sync;
    int64_t retry_at_ms;
    int64_t now_ms;
    uint32_t seq;
    struct under_way ops[UNDER_WAY_MAX];
    size_t op_count;
    struct source ids_source, topics_source;
    struct told too_many;
    struct seen_id *ids; /* sorted by name */
    size_t id_count, id_at;
    struct seen_topic *topics; /* sorted by name */
    size_t topic_count, topic_at;
    bool has_list; /* `ids` is the list of this cversion */
    int32_t cversion;
    int64_t pzxid;
    struct zk_view_content *content; /* of the registration read last; NULL */
    struct zk_view *ready;
};

/* ---- birth and death ---- */

static void free_ids(struct seen_id *ids, size_t count)
{
    for (size_t i = 0; ids && i < count; i++) {
        free(ids[i].path);
        zk_view_registration_unref(ids[i].registration);
    }
    free(ids);
}

static void free_topics(struct seen_topic *topics, size_t count)
{
    for (size_t i = 0; topics && i < count; i++) {
        free(topics[i].path);
        zk_topic_deinit(&topics[i].topic);
    }
    free(topics);
}

void zk_viewer_free(struct zk_viewer *v)
{
    if (!v)
        return;
    free_ids(v->ids, v->id_count);
    free_topics(v->topics, v->topic_count);
    zk_filter_free(v->filter);
    zk_view_unref(v->ready);
    zk_view_content_unref(v->content);
    free(v->ids_path);
    free(v);
}

static int by_topic_name(const void *a, const void *b)
{
    return strcmp(((const struct seen_topic *)a)->name, ((const struct seen_topic *)b)->name);
}

static bool name_topic(struct seen_topic *t, const char *name)
{
    t->path = zk_path_topic(name);
    t->name = t->path ? zk_path_leaf(t->path) : NULL;
    return t->path != NULL;
}

static bool name_topics(struct zk_viewer *v, const struct zk_viewer_config *config)
{
    v->topics = calloc(config->subscription_count + 1, sizeof *v->topics);
    if (!v->topics)
        return false;
    for (size_t i = 0; i < config->subscription_count; i++) {
        if (!name_topic(&v->topics[i], config->subscriptions[i].topic))
            return false;
        v->topic_count++;
    }
    qsort(v->topics, v->topic_count, sizeof *v->topics, by_topic_name);
    return true;
}

enum zkc_err zk_viewer_new(const struct zk_viewer_config *config, struct zk_viewer **out,
                           struct why *why)
{
    why_set(why, "out of memory");
    struct zk_viewer *v = calloc(1, sizeof *v);
    if (!v)
        return ZKC_ERR_NOMEM;
    v->config = *config;
    v->config.group = NULL;
    v->config.subscriptions = NULL;
    v->retry_at_ms = INT64_MIN;
    v->rounds_wanted = 1;
    v->ids_path = zk_path_ids(config->group);
    enum zkc_err err = v->ids_path ? ZKC_OK : ZKC_ERR_NOMEM;
    if (!err && config->pattern != ZK_PATTERN_STATIC) {
        assert(config->subscription_count == 1);
        err = zk_filter_new(config->pattern, config->subscriptions[0].topic,
                            config->exclude_internal_topics, &v->filter, why);
    } else if (!err && !name_topics(v, config)) {
        err = ZKC_ERR_NOMEM;
    }
    if (err) {
        zk_viewer_free(v);
        return err;
    }
    why_clear(why);
    *out = v;
    return ZKC_OK;
}

/* ---- inputs ---- */

static void want_round(struct zk_viewer *v)
{
    if (v->config.coalesce || v->rounds_wanted == UINT32_MAX)
        v->rounds_wanted = 1;
    else
        v->rounds_wanted++;
}

void zk_viewer_refresh(struct zk_viewer *v)
{
    v->ids_source.is_fresh = false;
    v->has_failed = v->has_failed || v->is_busy;
    zk_view_unref(v->ready);
    v->ready = NULL;
    want_round(v);
}

/* Whatever is under way will not be answered, or is of no use any more. */
static void drop_under_way(struct zk_viewer *v)
{
    v->op_count = 0;
    v->ids_source.is_sent = v->topics_source.is_sent = false;
    for (size_t i = 0; i < v->id_count; i++)
        v->ids[i].source.is_sent = false;
    for (size_t i = 0; i < v->topic_count; i++)
        v->topics[i].source.is_sent = false;
    if (v->is_busy) {
        v->is_busy = false;
        want_round(v);
    }
}

/* The session's watches are gone. */
static void forget_watches(struct zk_viewer *v)
{
    v->ids_source = v->topics_source = (struct source){0};
    for (size_t i = 0; i < v->topic_count; i++)
        v->topics[i].source = (struct source){0};
    for (size_t i = 0; i < v->id_count; i++)
        v->ids[i].source = (struct source){0};
    v->has_list = false;
    want_round(v);
}

static struct seen_id *find_id(struct seen_id *ids, size_t count, const char *name)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(ids[mid].name, name);
        if (order == 0)
            return &ids[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static struct seen_topic *find_topic(const struct zk_viewer *v, const char *name)
{
    struct seen_topic key = {.name = name};
    return v->topic_count
               ? bsearch(&key, v->topics, v->topic_count, sizeof *v->topics, by_topic_name)
               : NULL;
}

/* Whose watch has fired; NULL: none of ours. */
static struct source *source_of(struct zk_viewer *v, const char *path)
{
    if (strcmp(path, v->ids_path) == 0)
        return &v->ids_source;
    if (strcmp(path, ZK_PATH_BROKER_TOPICS) == 0)
        return v->filter ? &v->topics_source : NULL;
    struct seen_topic *t = find_topic(v, zk_path_leaf(path));
    if (t && strcmp(t->path, path) == 0)
        return &t->source;
    struct seen_id *id = find_id(v->ids, v->id_count, zk_path_leaf(path));
    return id && id->is_watched && strcmp(id->path, path) == 0 ? &id->source : NULL;
}

static void take_event(struct zk_viewer *v, const char *path, struct group_outputs *out)
{
    struct source *s = source_of(v, path);
    if (!s)
        return;
    s->is_fresh = false;
    want_round(v);
    group_emit(out, GROUP_OUT_TRIGGER)->trigger = "watch";
}

/* ---- answers ---- */

/* The round goes on to its end, but nothing comes of it. */
static void fail_round(struct zk_viewer *v, const char *what, const char *text,
                       struct group_outputs *out)
{
    if (v->is_connected && !v->has_failed) {
        v->retry_at_ms = v->now_ms + GROUP_RESEND_MS;
        if (text)
            group_notice(out, 4, "member", ZKC_OK, "reading the group: %s: %s; trying again", what,
                         text);
    }
    v->has_failed = true;
}

static void no_memory(struct zk_viewer *v, struct source *s, struct group_outputs *out)
{
    s->is_fresh = s->is_done = false;
    fail_round(v, v->ids_path, "out of memory", out);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The children of an answer, sorted; names that are no member's are kept: they are somebody's.
 * NULL: out of memory. */
static const char **sorted_children(const struct zk_result *answer)
{
    const char **names = malloc((answer->children_count + 1) * sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < answer->children_count; i++)
        names[i] = answer->children[i];
    qsort(names, answer->children_count, sizeof *names, by_text);
    return names;
}

static bool name_id(const struct zk_viewer *v, struct seen_id *id, const char *name)
{
    size_t len = strlen(v->ids_path), name_len = strlen(name);
    id->path = malloc(len + 1 + name_len + 1);
    if (!id->path)
        return false;
    memcpy(id->path, v->ids_path, len);
    id->path[len] = '/';
    memcpy(id->path + len + 1, name, name_len + 1);
    id->name = id->path + len + 1;
    return true;
}

/* The list of these names; what is known of them moves over. NULL: out of memory, nothing moved. */
static struct seen_id *merge_ids(struct zk_viewer *v, const char **names, size_t count,
                                 size_t *added)
{
    struct seen_id *ids = calloc(count + 1, sizeof *ids);
    if (!ids)
        return NULL;
    *added = 0;
    for (size_t i = 0; i < count; i++) {
        if (find_id(v->ids, v->id_count, names[i]))
            continue;
        ++*added;
        if (!name_id(v, &ids[i], names[i])) {
            free_ids(ids, count);
            return NULL;
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct seen_id *known = ids[i].path ? NULL : find_id(v->ids, v->id_count, names[i]);
        if (!known)
            continue;
        ids[i] = *known;
        known->path = NULL; /* moved; its name, which the search needs, lives on in the new one */
        known->registration = NULL;
    }
    return ids;
}

/* Which registrations must be read, by what the list says. */
static void take_ids(struct zk_viewer *v, const char **names, size_t count,
                     const struct zk_stat *stat, struct group_outputs *out)
{
    size_t added, old_count = v->id_count;
    struct seen_id *ids = merge_ids(v, names, count, &added);
    if (!ids) {
        no_memory(v, &v->ids_source, out);
        return;
    }
    size_t removed = old_count - (count - added);
    bool all = !v->has_list || (uint32_t)stat->cversion - (uint32_t)v->cversion != added + removed;
    if (v->has_list && v->config.bugs & ZK_SAFE_BUG_REGISTRATIONS_BY_NAME)
        all = false;
    for (size_t i = 0; i < count; i++) {
        struct source *s = &ids[i].source;
        s->is_fresh = s->is_fresh && ids[i].registration && !all;
        s->is_done = s->is_fresh;
    }
    free_ids(v->ids, v->id_count);
    v->ids = ids;
    v->id_count = count;
    v->id_at = 0;
    v->has_list = true;
    v->cversion = stat->cversion;
    v->pzxid = stat->pzxid;
}

static void answer_ids(struct zk_viewer *v, const struct zk_result *answer,
                       struct group_outputs *out)
{
    if (answer->children_count > ZK_VIEW_MEMBERS_MAX) {
        bool is_news = told_is_news(&v->too_many, 1);
        group_notice(out, 3, "member", is_news ? ZKC_ERR_TOO_LARGE : ZKC_OK,
                     "%s has %zu members, at most %d are dealt with: nothing changes", v->ids_path,
                     answer->children_count, ZK_VIEW_MEMBERS_MAX);
        v->awaits_event = true;
        return;
    }
    told_over(&v->too_many);
    const char **names = sorted_children(answer);
    if (!names) {
        no_memory(v, &v->ids_source, out);
        return;
    }
    take_ids(v, names, answer->children_count, &answer->stat, out);
    free(names);
}

static struct seen_topic *merge_topics(struct zk_viewer *v, const char **names, size_t count,
                                       size_t *kept)
{
    struct seen_topic *topics = calloc(count + 1, sizeof *topics);
    *kept = 0;
    for (size_t i = 0; topics && i < count; i++) {
        if (!zk_filter_allows(v->filter, names[i]))
            continue;
        struct seen_topic *t = &topics[(*kept)++];
        if (!find_topic(v, names[i]) && !name_topic(t, names[i])) {
            free_topics(topics, count);
            return NULL;
        }
        if (!t->path)
            t->name = names[i]; /* moves over below, now that nothing can fail */
    }
    for (size_t i = 0; topics && i < *kept; i++) {
        if (topics[i].path)
            continue;
        struct seen_topic *known = find_topic(v, topics[i].name);
        topics[i] = *known;
        known->path = NULL;
        known->topic = (struct zk_topic){0};
    }
    return topics;
}

static void answer_topics(struct zk_viewer *v, const struct zk_result *answer,
                          struct group_outputs *out)
{
    const char **names = sorted_children(answer);
    size_t count;
    struct seen_topic *topics =
        names ? merge_topics(v, names, answer->children_count, &count) : NULL;
    free(names);
    if (!topics) {
        no_memory(v, &v->topics_source, out);
        return;
    }
    free_topics(v->topics, v->topic_count);
    v->topics = topics;
    v->topic_count = count;
    v->topic_at = 0;
}

static void answer_topic(struct zk_viewer *v, struct seen_topic *t, struct bytes data, bool exists,
                         struct group_outputs *out)
{
    struct zk_topic topic;
    struct why why;
    enum zkc_err err = zk_topic_read(data, &topic, &why);
    if (err == ZKC_ERR_NOMEM) {
        no_memory(v, &t->source, out);
        return;
    }
    t->exists = exists;
    if (!exists)
        group_notice(out, 4, "member", ZKC_OK, "topic %s does not exist (yet)", t->name);
    else if (err)
        group_notice(out, 3, "member", told_is_news(&t->odd, told_hash(why.text)) ? err : ZKC_OK,
                     "topic %s: %s; it stays as it was", t->name, why.text);
    else if (why.text[0])
        group_notice(out, 4, "member", ZKC_OK, "topic %s counts as having no partitions: %s",
                     t->name, why.text);
    if (err)
        return;
    told_over(&t->odd);
    zk_topic_deinit(&t->topic);
    t->topic = topic;
}

static void answer_id(struct zk_viewer *v, struct seen_id *id, const struct zk_result *answer,
                      struct group_outputs *out)
{
    struct zk_view_registration *r;
    struct why why;
    if (zk_view_registration_read(id->name, answer->stat.ephemeral_owner, answer->data,
                                  v->config.exclude_internal_topics, &v->content, &r, &why)) {
        no_memory(v, &id->source, out);
        return;
    }
    zk_view_registration_unref(id->registration);
    id->registration = r;
    if (!why.text[0]) {
        id->is_watched = false;
        told_over(&id->odd);
        return;
    }
    if (!id->is_watched && !r->content->is_readable) {
        id->is_watched = true; /* once more, with a watch: it may be mended */
        id->source.is_fresh = id->source.is_done = false;
        return;
    }
    if (r->content->is_share_unknown)
        group_notice(out, 3, "member",
                     told_is_news(&id->odd, told_hash(why.text)) ? ZKC_ERR_CORRUPT : ZKC_OK,
                     "registration %s: %s; its share is not known: it counts as a member without "
                     "streams here, but members that can read its filter give partitions to it, "
                     "which are then claimed by two or owned by none",
                     id->path, why.text);
    else
        group_notice(out, 4, "member", ZKC_OK, "registration %s: %s%s", id->path, why.text,
                     r->content->is_readable ? "" : "; it counts as a member without streams");
}

/* The node is not there. */
static void answer_missing(struct zk_viewer *v, const struct under_way *op, struct source *s,
                           struct group_outputs *out)
{
    static const struct zk_result none = {.zk_rc = ZK_OK};
    if (op->what == WHAT_ID) {
        /* Gone since the list was read, and others may have come before that: the list without it
         * may never have been. Its watch has fired. */
        zk_view_registration_unref(v->ids[op->index].registration);
        v->ids[op->index].registration = NULL;
        v->awaits_event = true;
        return;
    }
    if (op->what == WHAT_TOPIC && v->filter) {
        /* The same: the list will tell when it is back. A watch that waits for it would stay. */
        s->is_fresh = false;
        v->awaits_event = true;
        return;
    }
    if (!s->is_missing) {
        s->is_missing = true;
        s->is_fresh = s->is_done = false;
        return;
    }
    switch (op->what) {
    case WHAT_IDS: take_ids(v, NULL, 0, &none.stat, out); break;
    case WHAT_TOPICS: answer_topics(v, &none, out); break;
    case WHAT_TOPIC: answer_topic(v, &v->topics[op->index], BYTES_NULL, false, out); break;
    case WHAT_SYNC:
    case WHAT_ID: break;
    }
    s->is_missing = false;
}

static struct source *source_of_op(struct zk_viewer *v, const struct under_way *op)
{
    switch (op->what) {
    case WHAT_SYNC: return NULL;
    case WHAT_IDS: return &v->ids_source;
    case WHAT_TOPICS: return &v->topics_source;
    case WHAT_ID: return &v->ids[op->index].source;
    case WHAT_TOPIC: return &v->topics[op->index].source;
    }
    return NULL;
}

static void take_answer(struct zk_viewer *v, const struct under_way *op,
                        const struct zk_result *answer, struct group_outputs *out)
{
    struct source *s = source_of_op(v, op);
    if (s)
        s->is_sent = false;
    if (!lease_is_answer(answer->zk_rc)) {
        fail_round(v, v->ids_path, NULL, out);
        return;
    }
    if (!s)
        return;
    if (answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE) {
        fail_round(v, op->what == WHAT_TOPIC ? v->topics[op->index].path : v->ids_path,
                   zk_rc_name(answer->zk_rc), out);
        return;
    }
    s->is_fresh = s->is_done = true;
    if (answer->zk_rc == ZK_NO_NODE) {
        answer_missing(v, op, s, out);
        return;
    }
    if (s->is_missing) { /* it is there by now */
        s->is_missing = s->is_fresh = s->is_done = false;
        return;
    }
    switch (op->what) {
    case WHAT_IDS: answer_ids(v, answer, out); break;
    case WHAT_TOPICS: answer_topics(v, answer, out); break;
    case WHAT_ID: answer_id(v, &v->ids[op->index], answer, out); break;
    case WHAT_TOPIC: answer_topic(v, &v->topics[op->index], answer->data, true, out); break;
    case WHAT_SYNC: break;
    }
}

static void take_result(struct zk_viewer *v, uint32_t seq, const struct zk_result *answer,
                        struct group_outputs *out)
{
    size_t i = 0;
    while (i < v->op_count && v->ops[i].seq != seq)
        i++;
    if (i == v->op_count)
        return; /* of a connection that is gone */
    struct under_way op = v->ops[i];
    v->op_count--;
    memmove(&v->ops[i], &v->ops[i + 1], (v->op_count - i) * sizeof v->ops[0]);
    if (op.what == WHAT_ID && op.index < v->id_at)
        v->id_at = op.index; /* it may have to be read once more */
    if (op.what == WHAT_TOPIC && op.index < v->topic_at)
        v->topic_at = op.index;
    take_answer(v, &op, answer, out);
}

void zk_viewer_feed(struct zk_viewer *v, const struct group_input *in, struct group_outputs *out)
{
    v->now_ms = in->now_ms;
    switch (in->type) {
    case GROUP_IN_CONNECTED:
        drop_under_way(v);
        if (in->connected.is_new)
            forget_watches(v);
        v->is_connected = true;
        v->retry_at_ms = INT64_MIN;
        break;
    case GROUP_IN_DISCONNECTED: v->is_connected = false; break;
    case GROUP_IN_EXPIRED:
    case GROUP_IN_SESSION_CLOSED:
        v->is_connected = false;
        drop_under_way(v);
        forget_watches(v);
        break;
    case GROUP_IN_RESULT: take_result(v, in->result.seq, in->result.result, out); break;
    case GROUP_IN_WATCH: take_event(v, in->watch.path, out); break;
    default: break;
    }
}

/* ---- sending ---- */

static bool has_room(const struct zk_viewer *v, const struct group_outputs *out)
{
    return v->op_count < UNDER_WAY_MAX && out->count + OUTPUTS_SPARE < GROUP_OUTPUTS_MAX;
}

static void send(struct zk_viewer *v, enum what what, size_t index, const struct zk_op *op,
                 struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_OP);
    o->op.lane = GROUP_LANE_VIEW;
    o->op.seq = ++v->seq;
    o->op.op = *op;
    v->ops[v->op_count++] = (struct under_way){v->seq, what, index};
}

/* Reads this one if it must be. False: no room. */
static bool send_source(struct zk_viewer *v, struct source *s, enum what what, size_t index,
                        enum zk_op_type type, const char *path, bool watch,
                        struct group_outputs *out)
{
    if (s->is_done || s->is_sent)
        return true;
    if (!has_room(v, out))
        return false;
    s->is_sent = true;
    struct zk_op op = {.type = s->is_missing ? ZK_OP_EXISTS : type,
                       .path = path,
                       .watch = watch,
                       .may_move = what == WHAT_TOPIC};
    send(v, what, index, &op, out);
    return true;
}

static bool send_topics(struct zk_viewer *v, struct group_outputs *out)
{
    if (v->filter && !send_source(v, &v->topics_source, WHAT_TOPICS, 0, ZK_OP_CHILDREN,
                                  ZK_PATH_BROKER_TOPICS, true, out))
        return false;
    if (v->filter && !v->topics_source.is_done)
        return true; /* the list of them comes first */
    for (; v->topic_at < v->topic_count; v->topic_at++) {
        struct seen_topic *t = &v->topics[v->topic_at];
        if (!send_source(v, &t->source, WHAT_TOPIC, v->topic_at, ZK_OP_GET, t->path, true, out))
            return false;
    }
    return true;
}

static bool send_ids(struct zk_viewer *v, struct group_outputs *out)
{
    if (!send_source(v, &v->ids_source, WHAT_IDS, 0, ZK_OP_CHILDREN, v->ids_path, true, out))
        return false;
    if (!v->ids_source.is_done)
        return true;
    for (; v->id_at < v->id_count; v->id_at++) {
        struct seen_id *id = &v->ids[v->id_at];
        if (!send_source(v, &id->source, WHAT_ID, v->id_at, ZK_OP_GET, id->path, id->is_watched,
                         out))
            return false;
    }
    return true;
}

static void begin_round(struct zk_viewer *v)
{
    v->is_busy = true;
    v->has_failed = v->awaits_event = false;
    v->rounds_wanted--;
    v->wants_sync = v->config.sync_before_read;
    if (!v->config.coalesce)
        v->ids_source.is_fresh = false;
    v->ids_source.is_done = v->ids_source.is_fresh;
    v->topics_source.is_done = v->topics_source.is_fresh;
    for (size_t i = 0; i < v->id_count; i++)
        v->ids[i].source.is_done = v->ids[i].source.is_fresh;
    for (size_t i = 0; i < v->topic_count; i++)
        v->topics[i].source.is_done = v->topics[i].source.is_fresh;
    v->id_at = v->topic_at = 0;
}

/* ---- the end of a round ---- */

static size_t fill_topics(const struct zk_viewer *v, struct group_view_topic *topics,
                          int32_t *partitions)
{
    size_t count = 0;
    for (size_t i = 0; i < v->topic_count; i++) {
        const struct seen_topic *t = &v->topics[i];
        if (!t->exists)
            continue;
        for (size_t k = 0; k < t->topic.partition_count; k++)
            partitions[k] = t->topic.partitions[k].partition;
        topics[count++] = (struct group_view_topic){t->name, partitions, t->topic.partition_count};
        partitions += t->topic.partition_count;
    }
    return count;
}

static struct zk_view *make_view(const struct zk_viewer *v)
{
    size_t partition_count = 0, member_count = 0;
    for (size_t i = 0; i < v->topic_count; i++)
        partition_count += v->topics[i].topic.partition_count;
    struct zk_view_registration **list = malloc((v->id_count + 1) * sizeof *list);
    struct group_view_topic *topics = malloc((v->topic_count + 1) * sizeof *topics);
    int32_t *partitions = malloc((partition_count + 1) * sizeof *partitions);
    struct zk_view *view = NULL;
    if (list && topics && partitions) {
        for (size_t i = 0; i < v->id_count; i++)
            if (v->ids[i].registration)
                list[member_count++] = v->ids[i].registration;
        size_t topic_count = fill_topics(v, topics, partitions);
        view = zk_view_new(list, member_count, topics, topic_count, v->pzxid);
    }
    free(list);
    free(topics);
    free(partitions);
    return view;
}

static void end_round(struct zk_viewer *v, struct group_outputs *out)
{
    v->is_busy = false;
    if (!v->has_failed && !v->awaits_event) {
        struct zk_view *view = make_view(v);
        zk_view_unref(view ? v->ready : NULL);
        if (view)
            v->ready = view;
        else
            no_memory(v, &v->ids_source, out);
    }
    if (v->has_failed)
        want_round(v);
}

void zk_viewer_run(struct zk_viewer *v, int64_t now_ms, struct group_outputs *out)
{
    v->now_ms = now_ms;
    if (!v->is_connected) {
        if (v->is_busy && v->op_count == 0)
            drop_under_way(v);
        return;
    }
    if (!v->is_busy && v->rounds_wanted > 0 && now_ms >= v->retry_at_ms)
        begin_round(v);
    if (!v->is_busy)
        return;
    if (v->has_failed || v->awaits_event) {
        if (v->op_count == 0)
            end_round(v, out);
        return;
    }
    if (v->wants_sync && has_room(v, out)) {
        struct zk_op op = {.type = ZK_OP_SYNC, .path = v->ids_path};
        send(v, WHAT_SYNC, 0, &op, out);
        v->wants_sync = false;
    }
    if (!v->wants_sync && send_topics(v, out) && send_ids(v, out) && v->op_count == 0)
        end_round(v, out);
}

bool zk_viewer_is_busy(const struct zk_viewer *v)
{
    return v->is_busy || v->rounds_wanted > 0;
}

struct zk_view *zk_viewer_take(struct zk_viewer *v)
{
    struct zk_view *view = v->ready;
    v->ready = NULL;
    return view;
}

int64_t zk_viewer_deadline_ms(const struct zk_viewer *v)
{
    if (!v->is_connected)
        return INT64_MAX;
    if (!v->is_busy)
        return v->rounds_wanted > 0 ? v->retry_at_ms : INT64_MAX;
    return v->op_count == 0 ? v->now_ms : INT64_MAX; /* there was no room */
}
