#include "tests/unit/group/world_parts.h"
#include "zkconsumer/core/zk/consumer_id.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/topic.h"

#define TOPICS_MAX 64

/* ---- what was asked ---- */

void world_log(struct world_member *m, enum group_lane lane, const struct zk_op *op,
               const char *outcome)
{
    struct world_link *l = m->link;
    static const char letters[] = {'R', 'E', 'C', 'F', 'O', 'S', 'V'};
    char *text, parts[16] = "";
    bool has_data = op->data.data != NULL;
    if (op->part_count)
        snprintf(parts, sizeof parts, " (%zu)", op->part_count);
    int n = asprintf(&text, "%c %s%s %s%s%s%.*s%s%s", letters[lane], zk_op_name(op->type),
                     op->watch ? " w" : "", zk_op_path(op), parts, has_data ? " = " : "",
                     (int)op->data.len, has_data ? (const char *)op->data.data : "",
                     outcome[0] ? " -> " : "", outcome);
    assert_true(n > 0);
    if (l->asked_count == l->asked_cap) {
        l->asked_cap = l->asked_cap ? l->asked_cap * 2 : 64;
        l->asked = realloc(l->asked, l->asked_cap * sizeof *l->asked);
        assert_non_null(l->asked);
    }
    l->asked[l->asked_count++] = text;
}

size_t world_asked_count(const struct world_member *m)
{
    return m->link->asked_count;
}

const char *world_asked(const struct world_member *m, size_t i)
{
    return m->link->asked[i];
}

void world_forget(struct world_member *m)
{
    for (size_t i = 0; i < m->link->asked_count; i++)
        free(m->link->asked[i]);
    m->link->asked_count = 0;
}

static bool is_like(const char *got, const char *want)
{
    size_t len = strlen(want);
    if (len > 0 && want[len - 1] == '*')
        return strncmp(got, want, len - 1) == 0;
    return strcmp(got, want) == 0;
}

void world_expect(const struct world_member *m, const char *const *want)
{
    size_t n = world_asked_count(m), i = 0;
    while (i < n && want[i] && is_like(world_asked(m, i), want[i]))
        i++;
    if (i == n && !want[i])
        return;
    for (size_t k = 0; k < n; k++)
        print_error("  %s\n", world_asked(m, k));
    fail_msg("m%d, request %zu of %zu: got \"%s\", not \"%s\"", m->number, i, n,
             i < n ? world_asked(m, i) : "(no more)", want[i] ? want[i] : "(no more)");
}

int world_asked_like(const struct world_member *m, const char *beginning)
{
    int count = 0;
    for (size_t i = 0; i < world_asked_count(m); i++)
        count += strncmp(world_asked(m, i), beginning, strlen(beginning)) == 0;
    return count;
}

/* ---- is everything owned as it should be ---- */

struct check {
    struct world *world;
    char why[300];
    struct assign_member members[WORLD_MEMBERS_MAX];
    struct world_member *behind[WORLD_MEMBERS_MAX]; /* of members[i] */
    size_t member_count;
    struct assign_subscription subscriptions[WORLD_MEMBERS_MAX][TOPICS_MAX];
    struct assign_topic topics[TOPICS_MAX];
    struct zk_topic layouts[TOPICS_MAX];
    int32_t partitions[TOPICS_MAX][WORLD_POSITIONS_MAX];
    size_t topic_count;
    enum assign_strategy strategy;
    size_t owner_nodes;
};

static void add_topic(struct check *c, const char *name)
{
    for (size_t i = 0; i < c->topic_count; i++)
        if (strcmp(c->topics[i].name, name) == 0)
            return;
    char path[300];
    struct why why;
    snprintf(path, sizeof path, "/brokers/topics/%s", name);
    size_t t = c->topic_count++;
    struct bytes data = bytes_of_text(fake_zk_text(world_zk(c->world), path));
    assert_int_equal(zk_topic_read(data, &c->layouts[t], &why), ZKC_OK);
    for (size_t i = 0; i < c->layouts[t].partition_count; i++)
        c->partitions[t][i] = c->layouts[t].partitions[i].partition;
    c->topics[t] = (struct assign_topic){name, c->partitions[t], c->layouts[t].partition_count};
}

static void add_members(struct check *c)
{
    struct world_member *m;
    for (size_t k = 0; (m = world_member_at(c->world, k)); k++) {
        if (!m->machine)
            continue;
        size_t n, i = c->member_count++;
        const struct zk_subscription *s = world_subscriptions(m, &n, &c->strategy);
        for (size_t j = 0; j < n; j++) {
            c->subscriptions[i][j] = (struct assign_subscription){s[j].topic, s[j].streams};
            add_topic(c, s[j].topic);
        }
        c->behind[i] = m;
        c->members[i] = (struct assign_member){m->consumer_id, c->subscriptions[i], n};
    }
}

static bool believes(const struct world_member *m, const char *topic, int32_t partition)
{
    size_t n;
    const struct group_claim *owned = zk_compat_owned(m->machine, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(owned[i].topic, topic) == 0 && owned[i].partition == partition)
            return true;
    return false;
}

/* False: *why tells what is wrong with this partition. */
static bool check_owner(struct check *c, const struct assign_entry *e)
{
    const char *topic = c->topics[e->topic].name;
    const struct world_member *m = c->behind[e->member];
    struct fake_zk *zk = world_zk(c->world);
    char *path = zk_path_owner(WORLD_GROUP, topic, e->partition);
    char *thread_id = zk_thread_id(m->consumer_id, e->thread);
    const char *text = fake_zk_text(zk, path);
    if (!text || strcmp(text, thread_id) != 0)
        snprintf(c->why, sizeof c->why, "[%s,%d] should be owned by %s, not %s", topic,
                 e->partition, thread_id, text ? text : "nobody");
    else if (fake_zk_owner(zk, path) != m->session)
        snprintf(c->why, sizeof c->why, "the owner node of [%s,%d] is not of m%d's session", topic,
                 e->partition, m->number);
    else if (!believes(m, topic, e->partition))
        snprintf(c->why, sizeof c->why, "m%d does not know that it owns [%s,%d]", m->number, topic,
                 e->partition);
    free(path);
    free(thread_id);
    return !c->why[0];
}

static void count_owner(const char *path, const char *text, int64_t owner, void *user)
{
    (void)text;
    (void)owner;
    struct check *c = user;
    c->owner_nodes += zk_path_parse(path).kind == ZK_PATH_OWNER;
}

static void check_counts(struct check *c, size_t assigned)
{
    size_t believed = 0, n;
    for (size_t i = 0; i < c->member_count; i++) {
        zk_compat_owned(c->behind[i]->machine, &n);
        believed += n;
    }
    fake_zk_each(world_zk(c->world), "/consumers/" WORLD_GROUP "/owners/", count_owner, c);
    if (believed != assigned || c->owner_nodes != assigned)
        snprintf(c->why, sizeof c->why, "%zu partitions, %zu owner nodes, %zu believed to be owned",
                 assigned, c->owner_nodes, believed);
}

static void check_all(struct check *c)
{
    struct assign_group group = {c->members, c->member_count, c->topics, c->topic_count};
    struct assignment all;
    struct why why;
    assert_int_equal(assign_group(c->strategy, &group, &all, &why), ZKC_OK);
    bool ok = true;
    for (size_t i = 0; ok && i < all.count; i++)
        ok = check_owner(c, &all.entries[i]);
    if (ok)
        check_counts(c, all.count);
    assignment_deinit(&all);
}

const char *world_unsettled(struct world *w)
{
    static char why[300];
    struct check *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->world = w;
    add_members(c);
    check_all(c);
    for (size_t i = 0; i < c->topic_count; i++)
        zk_topic_deinit(&c->layouts[i]);
    memcpy(why, c->why, sizeof why);
    free(c);
    return why[0] ? why : NULL;
}

void world_check_settled(struct world *w)
{
    const char *why = world_unsettled(w);
    if (why)
        fail_msg("%s", why);
}
