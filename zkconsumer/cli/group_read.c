/* Happy path, in five batches: (1) the group's folders; (2) each registration, each topic's owners
 * and offsets by name; (3) owners, offsets and the partitions of every topic; (4) who leads; (5)
 * the folders of owners and registrations again, to see whether anything changed meanwhile. Then
 * the log ends. What disappears between two batches counts as not there and makes it start again.
 */
#include "zkconsumer/cli/group_read.h"
#include "zkconsumer/cli/log_ends.h"
#include "zkconsumer/cli/options.h"
#include "zkconsumer/core/base/utf8.h"
#include "zkconsumer/core/zk/filter.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/topic.h"
#include <stdio.h>
#include <stdlib.h>

#define READINGS_MAX 3

struct names {
    const char **list;
    size_t count;
};

/* A batch that is being put together. A failed allocation is the arena's. */
struct batch {
    struct arena *arena;
    struct zk_op *ops;
    struct zk_result *results;
    size_t count;
    bool watch;
};

struct reading {
    struct zk_reader *r;
    struct arena *arena;
    const char *group;
    const struct group_read_options *options;
    struct group_view *view;
    struct brokers brokers;
    struct names ids, owner_topics, offset_topics, topics;
    struct names *owner_names, *offset_names; /* of each of `topics`, in its order */
    bool is_changing;
};

static bool batch_init(struct batch *b, const struct reading *g, size_t count_max)
{
    struct arena *arena = g->arena;
    *b = (struct batch){.arena = arena, .watch = g->options->watch};
    b->ops = arena_alloc_array(arena, count_max, sizeof *b->ops);
    b->results = arena_alloc_array(arena, count_max, sizeof *b->results);
    return b->ops && b->results;
}

/* Returns the place of its result. */
static size_t batch_add(struct batch *b, enum zk_op_type type, const char *path)
{
    b->ops[b->count] = (struct zk_op){.type = type, .path = path, .watch = b->watch};
    return b->count++;
}

static enum zkc_err batch_run(struct batch *b, struct zk_reader *r, struct why *why)
{
    if (b->arena->failed)
        return b->arena->failed;
    return zk_reader_run(r, b->ops, b->count, b->arena, b->results, why);
}

/* ---- names ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void names_sort(struct names *n)
{
    if (n->count)
        qsort(n->list, n->count, sizeof *n->list, by_text);
}

/* Children in byte order; none if there is no such node. */
static struct names names_of(const struct zk_result *result)
{
    struct names n = {0};
    if (result->zk_rc == ZK_OK)
        n = (struct names){(const char **)result->children, result->children_count};
    names_sort(&n);
    return n;
}

static bool names_equal(const struct names *a, const struct names *b)
{
    for (size_t i = 0; a->count == b->count && i < a->count; i++)
        if (strcmp(a->list[i], b->list[i]) != 0)
            return false;
    return a->count == b->count;
}

static void names_make_unique(struct names *n)
{
    size_t kept = 0;
    names_sort(n);
    for (size_t i = 0; i < n->count; i++)
        if (kept == 0 || strcmp(n->list[kept - 1], n->list[i]) != 0)
            n->list[kept++] = n->list[i];
    n->count = kept;
}

/* Foreign data as one line of text; as it is if it is clean UTF-8. */
static const char *data_as_text(struct arena *arena, struct bytes data)
{
    bool is_clean = true;
    for (size_t i = 0; is_clean && i < data.len;) {
        struct utf8_char c = utf8_decode(data.data + i, data.len - i);
        is_clean = c.valid && c.code >= 0x20 && c.code != 0x7f;
        i += c.len;
    }
    if (is_clean)
        return arena_format(arena, "%.*s", (int)data.len, data.data ? (const char *)data.data : "");
    struct why_quote quote = why_quote(data);
    return arena_format(arena, "%s", quote.text);
}

/* ---- batch 1: the folders ---- */

static enum zkc_err read_folders(struct reading *g, struct why *why)
{
    struct batch b;
    if (!batch_init(&b, g, 4))
        return g->arena->failed;
    size_t group = batch_add(&b, ZK_OP_EXISTS, arena_format(g->arena, "/consumers/%s", g->group));
    size_t ids =
        batch_add(&b, ZK_OP_CHILDREN, arena_format(g->arena, "/consumers/%s/ids", g->group));
    size_t owners =
        batch_add(&b, ZK_OP_CHILDREN, arena_format(g->arena, "/consumers/%s/owners", g->group));
    size_t offsets =
        batch_add(&b, ZK_OP_CHILDREN, arena_format(g->arena, "/consumers/%s/offsets", g->group));
    enum zkc_err err = batch_run(&b, g->r, why);
    if (err)
        return err;
    g->view->exists = b.results[group].zk_rc == ZK_OK;
    g->ids = names_of(&b.results[ids]);
    g->owner_topics = names_of(&b.results[owners]);
    g->offset_topics = names_of(&b.results[offsets]);
    return ZKC_OK;
}

/* ---- batch 2: members ---- */

static void take_subscriptions(struct reading *g, struct group_member *m,
                               const struct zk_registration *registration)
{
    size_t count = registration->subscription_count;
    struct assign_subscription *list = arena_alloc_array(g->arena, count, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = (struct assign_subscription){
            .topic = arena_format(g->arena, "%s", registration->subscriptions[i].topic),
            .streams = registration->subscriptions[i].streams,
        };
    m->subscriptions = list;
    m->subscription_count = list ? count : 0;
    if (m->pattern == ZK_PATTERN_STATIC) {
        m->topics = m->subscriptions;
        m->topic_count = m->subscription_count;
    }
}

static void take_member(struct reading *g, const char *id, const struct zk_result *result)
{
    struct group_member *m = &g->view->members[g->view->member_count++];
    *m = (struct group_member){.consumer_id = id, .session = result->stat.ephemeral_owner};
    struct zk_registration registration;
    struct why java, why;
    if (zk_registration_read(result->data, &registration, &java, &why) != ZKC_OK) {
        m->odd = arena_format(g->arena, "%s", why.text);
        return;
    }
    if (java.text[0])
        m->breaks = arena_format(g->arena, "%s", java.text);
    m->pattern = registration.pattern;
    if (registration.strategy)
        m->strategy = data_as_text(g->arena, bytes_of_text(registration.strategy));
    take_subscriptions(g, m, &registration);
    zk_registration_deinit(&registration);
}

static enum zkc_err read_members(struct reading *g, struct why *why)
{
    struct batch b;
    g->view->members = arena_alloc_array(g->arena, g->ids.count, sizeof *g->view->members);
    if (!g->view->members || !batch_init(&b, g, g->ids.count))
        return g->arena->failed;
    for (size_t i = 0; i < g->ids.count; i++)
        batch_add(&b, ZK_OP_GET,
                  arena_format(g->arena, "/consumers/%s/ids/%s", g->group, g->ids.list[i]));
    enum zkc_err err = batch_run(&b, g->r, why);
    for (size_t i = 0; !err && i < g->ids.count; i++) {
        if (b.results[i].zk_rc == ZK_OK)
            take_member(g, g->ids.list[i], &b.results[i]);
        else
            g->is_changing = true; /* gone meanwhile */
    }
    return err ? err : g->arena->failed;
}

static bool has_filters(const struct group_view *view)
{
    for (size_t i = 0; i < view->member_count; i++)
        if (!view->members[i].odd && view->members[i].pattern != ZK_PATTERN_STATIC)
            return true;
    return false;
}

static void expand_filter(struct reading *g, struct group_member *m, const struct names *topics)
{
    struct zk_filter *filter;
    struct why why;
    const struct assign_subscription *raw = &m->subscriptions[0];
    if (m->subscription_count == 0)
        return;
    if (zk_filter_new(m->pattern, raw->topic, true, &filter, &why) != ZKC_OK) {
        m->filter_odd = arena_format(g->arena, "%s", why.text);
        return;
    }
    struct assign_subscription *list = arena_alloc_array(g->arena, topics->count, sizeof *list);
    for (size_t i = 0; list && i < topics->count; i++)
        if (zk_filter_allows(filter, topics->list[i]))
            list[m->topic_count++] = (struct assign_subscription){topics->list[i], raw->streams};
    m->topics = list;
    zk_filter_free(filter);
}

/* What members that subscribe by a filter consume, by the topics that there are now. */
static enum zkc_err expand_filters(struct reading *g, struct why *why)
{
    struct batch b;
    if (!has_filters(g->view))
        return ZKC_OK;
    if (!batch_init(&b, g, 1))
        return g->arena->failed;
    batch_add(&b, ZK_OP_CHILDREN, "/brokers/topics");
    enum zkc_err err = batch_run(&b, g->r, why);
    if (err)
        return err;
    struct names topics = names_of(&b.results[0]);
    for (size_t i = 0; i < g->view->member_count; i++)
        if (!g->view->members[i].odd && g->view->members[i].pattern != ZK_PATTERN_STATIC)
            expand_filter(g, &g->view->members[i], &topics);
    return g->arena->failed;
}

/* ---- topics: those with a subscription, an owner or an offset ---- */

static enum zkc_err gather_topics(struct reading *g)
{
    struct group_view *view = g->view;
    size_t max = g->owner_topics.count + g->offset_topics.count + g->options->topic_count;
    for (size_t i = 0; i < view->member_count; i++)
        max += view->members[i].topic_count;
    struct names *t = &g->topics;
    t->list = arena_alloc_array(g->arena, max, sizeof *t->list);
    if (!t->list)
        return g->arena->failed;
    for (size_t i = 0; i < g->owner_topics.count; i++)
        t->list[t->count++] = g->owner_topics.list[i];
    for (size_t i = 0; i < g->offset_topics.count; i++)
        t->list[t->count++] = g->offset_topics.list[i];
    for (size_t i = 0; i < g->options->topic_count; i++)
        t->list[t->count++] = g->options->topics[i];
    for (size_t i = 0; i < view->member_count; i++) {
        const struct group_member *m = &view->members[i];
        struct why why;
        for (size_t s = 0; s < m->topic_count; s++)
            if (zk_check_topic(m->topics[s].topic, &why) == ZKC_OK)
                t->list[t->count++] = m->topics[s].topic;
    }
    names_make_unique(t);
    view->topics = arena_alloc_array(g->arena, t->count, sizeof *view->topics);
    g->owner_names = arena_alloc_array(g->arena, t->count, sizeof *g->owner_names);
    g->offset_names = arena_alloc_array(g->arena, t->count, sizeof *g->offset_names);
    return g->arena->failed;
}

/* Which numbers there are: in the topic's node, as owners, as offsets. */
static enum zkc_err read_topics(struct reading *g, struct zk_result **topic_nodes, struct why *why)
{
    struct batch b;
    size_t count = g->topics.count;
    if (!batch_init(&b, g, 3 * count))
        return g->arena->failed;
    for (size_t i = 0; i < count; i++)
        batch_add(&b, ZK_OP_GET, arena_format(g->arena, "/brokers/topics/%s", g->topics.list[i]));
    for (size_t i = 0; i < count; i++)
        batch_add(&b, ZK_OP_CHILDREN,
                  arena_format(g->arena, "/consumers/%s/owners/%s", g->group, g->topics.list[i]));
    for (size_t i = 0; i < count; i++)
        batch_add(&b, ZK_OP_CHILDREN,
                  arena_format(g->arena, "/consumers/%s/offsets/%s", g->group, g->topics.list[i]));
    enum zkc_err err = batch_run(&b, g->r, why);
    if (err)
        return err;
    *topic_nodes = b.results;
    for (size_t i = 0; i < count; i++) {
        g->owner_names[i] = names_of(&b.results[count + i]);
        g->offset_names[i] = names_of(&b.results[2 * count + i]);
    }
    return ZKC_OK;
}

/* ---- batch 3: partitions ---- */

static int by_number(const void *a, const void *b)
{
    const struct group_partition *x = a, *y = b;
    if (x->partition != y->partition)
        return x->partition < y->partition ? -1 : 1;
    return y->exists - x->exists; /* the one that exists first: the others are dropped */
}

static void add_partition(struct group_topic *t, int32_t number, bool exists)
{
    t->partitions[t->partition_count++] = (struct group_partition){
        .partition = number,
        .exists = exists,
        .offset = GROUP_UNKNOWN,
        .leader = -1,
        .log_end = GROUP_UNKNOWN,
    };
}

static void add_named_partitions(struct group_topic *t, const struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        int64_t number;
        if (cli_parse_number(names->list[i], 0, INT32_MAX, &number))
            add_partition(t, (int32_t)number, false);
    }
}

static void sort_partitions(struct group_topic *t)
{
    size_t kept = 0;
    if (t->partition_count)
        qsort(t->partitions, t->partition_count, sizeof *t->partitions, by_number);
    for (size_t i = 0; i < t->partition_count; i++)
        if (kept == 0 || t->partitions[kept - 1].partition != t->partitions[i].partition)
            t->partitions[kept++] = t->partitions[i];
    t->partition_count = kept;
}

static bool names_contain(const struct names *n, const char *name)
{
    return n->count && bsearch(&name, n->list, n->count, sizeof *n->list, by_text);
}

/* One that cannot be read has no partitions, as to Kafka's consumers. */
static void make_partitions(struct reading *g, size_t topic, const struct zk_result *node)
{
    struct group_topic *t = &g->view->topics[topic];
    struct zk_topic known = {0};
    struct why why;
    bool is_read = node->zk_rc == ZK_OK && zk_topic_read(node->data, &known, &why) == ZKC_OK;
    size_t max = known.partition_count + g->owner_names[topic].count + g->offset_names[topic].count;
    *t = (struct group_topic){.name = g->topics.list[topic],
                              .exists = node->zk_rc == ZK_OK,
                              .has_owners = names_contain(&g->owner_topics, g->topics.list[topic])};
    t->partitions = arena_alloc_array(g->arena, max, sizeof *t->partitions);
    if (t->partitions) {
        for (size_t i = 0; i < known.partition_count; i++)
            add_partition(t, known.partitions[i].partition, true);
        add_named_partitions(t, &g->owner_names[topic]);
        add_named_partitions(t, &g->offset_names[topic]);
        sort_partitions(t);
    }
    if (is_read)
        zk_topic_deinit(&known);
}

static void take_owner(struct reading *g, struct group_partition *p, const struct zk_result *result)
{
    if (result->zk_rc != ZK_OK)
        return;
    p->owner = data_as_text(g->arena, result->data);
    p->owner_session = result->stat.ephemeral_owner;
    p->owner_version = result->stat.version;
}

static void take_offset(struct reading *g, struct group_partition *p,
                        const struct zk_result *result)
{
    struct why why;
    int64_t offset;
    if (result->zk_rc != ZK_OK)
        return;
    if (zk_offset_read(result->data, &offset, &why) != ZKC_OK)
        p->offset_odd = arena_format(g->arena, "%s", why.text);
    else if (offset >= 0) /* a negative one means none (ZkUtils) */
        p->offset = offset;
}

static void take_leader(struct group_partition *p, const struct zk_result *result)
{
    struct zk_partition_state state;
    struct why why;
    if (result->zk_rc != ZK_OK || zk_partition_state_read(result->data, &state, &why) != ZKC_OK)
        return;
    p->leader = state.leader;
    zk_partition_state_deinit(&state);
}

static size_t count_partitions(const struct group_view *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->topic_count; i++)
        count += view->topics[i].partition_count;
    return count;
}

/* Owner, offset and leader of every partition: three results for each. */
static enum zkc_err read_partitions(struct reading *g, struct why *why)
{
    struct batch b;
    struct group_view *view = g->view;
    if (!batch_init(&b, g, 3 * count_partitions(view)))
        return g->arena->failed;
    for (size_t i = 0; i < view->topic_count; i++) {
        const struct group_topic *t = &view->topics[i];
        for (size_t n = 0; n < t->partition_count; n++) {
            int number = t->partitions[n].partition;
            batch_add(
                &b, ZK_OP_GET,
                arena_format(g->arena, "/consumers/%s/owners/%s/%d", g->group, t->name, number));
            batch_add(
                &b, ZK_OP_GET,
                arena_format(g->arena, "/consumers/%s/offsets/%s/%d", g->group, t->name, number));
            batch_add(
                &b, ZK_OP_GET,
                arena_format(g->arena, "/brokers/topics/%s/partitions/%d/state", t->name, number));
        }
    }
    enum zkc_err err = batch_run(&b, g->r, why);
    const struct zk_result *result = b.results;
    for (size_t i = 0; !err && i < view->topic_count; i++) {
        struct group_topic *t = &view->topics[i];
        for (size_t n = 0; n < t->partition_count; n++, result += 3) {
            take_owner(g, &t->partitions[n], &result[0]);
            take_offset(g, &t->partitions[n], &result[1]);
            take_leader(&t->partitions[n], &result[2]);
        }
    }
    return err ? err : g->arena->failed;
}

/* ---- batch 5: has anything changed? ---- */

static enum zkc_err read_again(struct reading *g, struct why *why)
{
    struct batch b;
    if (!batch_init(&b, g, 1 + g->topics.count))
        return g->arena->failed;
    batch_add(&b, ZK_OP_CHILDREN, arena_format(g->arena, "/consumers/%s/ids", g->group));
    for (size_t i = 0; i < g->topics.count; i++)
        batch_add(&b, ZK_OP_CHILDREN,
                  arena_format(g->arena, "/consumers/%s/owners/%s", g->group, g->topics.list[i]));
    enum zkc_err err = batch_run(&b, g->r, why);
    if (err)
        return err;
    struct names ids = names_of(&b.results[0]);
    g->is_changing |= !names_equal(&ids, &g->ids);
    for (size_t i = 0; i < g->topics.count; i++) {
        struct names owners = names_of(&b.results[1 + i]);
        g->is_changing |= !names_equal(&owners, &g->owner_names[i]);
    }
    return ZKC_OK;
}

static enum zkc_err read_once(struct reading *g, struct why *why)
{
    struct zk_result *topic_nodes = NULL;
    enum zkc_err err = read_folders(g, why);
    if (!err)
        err = brokers_read(g->r, g->arena, &g->brokers, why);
    if (!err)
        err = read_members(g, why);
    if (!err)
        err = expand_filters(g, why);
    if (!err)
        err = gather_topics(g);
    if (!err)
        err = read_topics(g, &topic_nodes, why);
    if (err)
        return err;
    for (size_t i = 0; i < g->topics.count; i++)
        make_partitions(g, i, &topic_nodes[i]);
    g->view->topic_count = g->topics.count;
    err = g->arena->failed ? g->arena->failed : read_partitions(g, why);
    return err ? err : read_again(g, why);
}

/* ---- log ends ---- */

static struct group_partition *find_partition(struct group_view *view, const struct log_end *end)
{
    for (size_t i = 0; i < view->topic_count; i++) {
        struct group_topic *t = &view->topics[i];
        if (strcmp(t->name, end->topic) != 0)
            continue;
        struct group_partition key = {.partition = end->partition, .exists = true};
        return bsearch(&key, t->partitions, t->partition_count, sizeof key, by_number);
    }
    return NULL;
}

static enum zkc_err read_ends(struct reading *g, enum zkc_err *ends_err)
{
    struct group_view *view = g->view;
    struct log_end *list = arena_alloc_array(g->arena, count_partitions(view), sizeof *list);
    size_t count = 0;
    for (size_t i = 0; list && i < view->topic_count; i++)
        for (size_t n = 0; n < view->topics[i].partition_count; n++)
            if (view->topics[i].partitions[n].exists)
                list[count++] = (struct log_end){
                    .topic = view->topics[i].name,
                    .partition = view->topics[i].partitions[n].partition,
                    .leader = view->topics[i].partitions[n].leader,
                };
    if (!list)
        return g->arena->failed;
    enum zkc_err err = log_ends_read(&g->brokers, list, count, LIST_OFFSETS_LATEST,
                                     zk_reader_left_ms(g->r), g->arena);
    for (size_t i = 0; !err && i < count; i++) {
        struct group_partition *p = find_partition(view, &list[i]);
        p->log_end = list[i].err ? GROUP_UNKNOWN : list[i].offset;
        p->end_missing = list[i].missing;
        if (list[i].err && *ends_err != ZKC_ERR_UNREACHABLE)
            *ends_err = list[i].err;
    }
    return err;
}

enum zkc_err group_read(struct zk_reader *r, const char *group,
                        const struct group_read_options *options, struct arena *arena,
                        struct group_read *out, struct why *why)
{
    struct reading g;
    enum zkc_err err = ZKC_OK;
    for (int i = 0; i < READINGS_MAX; i++) {
        arena_clear(arena);
        *out = (struct group_read){.view = {.group = group}};
        g = (struct reading){
            .r = r, .arena = arena, .group = group, .options = options, .view = &out->view};
        err = read_once(&g, why);
        if (err || !g.is_changing)
            break;
    }
    out->is_changing = g.is_changing;
    out->brokers = g.brokers;
    if (!err && !options->without_ends)
        err = read_ends(&g, &out->ends_err);
    if (err == ZKC_ERR_NOMEM || err == ZKC_ERR_TOO_LARGE || err == ZKC_ERR_SYSTEM)
        why_set(why, "group %s: %s", group, zkc_err_text(err));
    return err;
}
