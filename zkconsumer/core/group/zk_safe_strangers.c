/* Members without a lease in our group, Kafka's own and ours in compat: what they do to us is told
 * by name as far as ZooKeeper lets it be seen.
 *
 * Who writes a znode, ZooKeeper tells nobody. A foreign write over the offset of a partition of
 * ours is put down to the member without a lease that had the partition before us, by its owner
 * node or by the assignment of the view before: in 0.8 the one that delivers on without its session
 * commits so, when it comes back.
 *
 * Who gave up owns nothing, and its share is with nobody. So some time after a decision that gives
 * a share to members without a lease, longer than their attempts take, the first of the members
 * that have one looks which of these partitions have no owner node, and goes on looking as long as
 * there are any: one read by topic. */
#include "zkconsumer/core/group/zk_safe_parts.h"
#include "zkconsumer/core/zk/consumer_id.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool safe_is_unfenced(const struct zk_view_registration *r)
{
    return r->content->is_readable && !r->content->registration.strategy;
}

/* ---- who had a partition before ---- */

void safe_forget_former(struct safe_partition *p)
{
    zk_view_registration_unref(p->former);
    p->former = NULL;
}

static void set_former(struct zk_safe *m, struct safe_partition *p, struct zk_view_registration *r)
{
    if (strcmp(r->consumer_id, m->consumer_id) == 0)
        return;
    safe_forget_former(p);
    if (!safe_is_unfenced(r))
        return;
    r->references++;
    p->former = r;
}

/* SIZE_MAX: the view has no such topic. */
static size_t topic_in(const struct zk_view *v, const char *name)
{
    size_t low = 0, high = v->topic_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(v->topics[middle].topic, name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

/* The first entry that is not before this partition. */
static size_t entry_at(const struct assignment *a, size_t topic, int32_t partition)
{
    size_t low = 0, high = a->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct assign_entry *e = &a->entries[middle];
        if (e->topic < topic || (e->topic == topic && e->partition < partition))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The assignment that was acted on last. NULL: none. */
static const struct assignment *acted(const struct zk_safe *m)
{
    const struct assignment *a;
    struct why why;
    if (!m->acted || zk_view_assign(m->acted, m->acted_strategy, &a, &why))
        return NULL;
    return a;
}

void safe_remember_former(struct zk_safe *m, struct safe_partition *p)
{
    const struct assignment *a = acted(m);
    size_t topic = a ? topic_in(m->acted, p->topic->name) : SIZE_MAX;
    if (topic == SIZE_MAX)
        return;
    size_t at = entry_at(a, topic, p->partition);
    if (at < a->count && a->entries[at].topic == topic && a->entries[at].partition == p->partition)
        set_former(m, p, m->acted->registrations[a->entries[at].member]);
}

void safe_remember_holder(struct zk_safe *m, struct safe_partition *p, struct bytes holder)
{
    struct bytes id = zk_thread_id_consumer(holder);
    char *name = m->view && !bytes_is_null(id) ? arena_text(&m->arena, id) : NULL;
    size_t at = name ? zk_view_find(m->view, name) : SIZE_MAX;
    if (at != SIZE_MAX)
        set_former(m, p, m->view->registrations[at]);
}

const char *safe_former_name(const struct safe_partition *p)
{
    return p->former ? p->former->consumer_id : NULL;
}

/* ---- what they do ---- */

int64_t safe_count_doubled(struct safe_partition *p, int64_t found)
{
    int64_t from = p->doubled_to;
    if (found <= from)
        return 0;
    p->doubled_to = found;
    return from >= 0 && p->former ? found - from : 0;
}

void safe_tell_deleted(struct zk_safe *m, const struct safe_partition *p, struct bytes holder,
                       struct group_outputs *out)
{
    struct bytes id = zk_thread_id_consumer(holder);
    const char *by = bytes_is_null(id)
                         ? safe_former_name(p)
                         : group_text(out, "%.*s", (int)id.len, (const char *)id.data);
    m->counts.foreign_deletes++;
    struct group_output *o = group_emit(out, GROUP_OUT_DELETED);
    o->deleted.topic = p->topic->name;
    o->deleted.partition = p->partition;
    o->deleted.by = by;
    group_notice(out, 4, "claim", ZKC_ERR_NOT_OWNED,
                 "[%s,%d]: somebody else has deleted our owner node; it is lost to us%s%s",
                 p->topic->name, p->partition, by ? "; perhaps " : "", by ? by : "");
}

/* The registration of who had the partition before us, when it is another one now; NULL: it is not.
 */
static struct zk_view_registration *returned(const struct safe_partition *p,
                                             const struct zk_view *v)
{
    size_t at = p->former && p->is_open ? zk_view_find(v, p->former->consumer_id) : SIZE_MAX;
    if (at == SIZE_MAX || v->registrations[at]->session_id == p->former->session_id ||
        !safe_is_unfenced(v->registrations[at]))
        return NULL;
    return v->registrations[at];
}

/* All that it had is told together, and it counts as who had it before in its new session, too. */
static void tell_return(struct zk_safe *m, const struct zk_view *v, struct zk_view_registration *r,
                        struct group_outputs *out)
{
    struct group_position *list = arena_alloc_array(&m->arena, m->partition_count, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < m->partition_count; i++) {
        struct safe_partition *p = m->partitions[i];
        if (returned(p, v) != r)
            continue;
        if (list)
            list[count++] =
                (struct group_position){p->topic->name, p->partition, p->began, p->claim, 0};
        set_former(m, p, r);
    }
    if (count == 0)
        return;
    m->counts.returns++;
    struct group_output *o = group_emit(out, GROUP_OUT_RETURNED);
    o->returned.consumer_id = group_text(out, "%s", r->consumer_id);
    o->returned.list = list;
    o->returned.count = count;
    group_notice(out, 4, "member", ZKC_OK,
                 "member %s, which has no lease, is back in another session: unless it was "
                 "restarted it has delivered %zu partitions meanwhile that are ours",
                 r->consumer_id, count);
}

void safe_tell_returns(struct zk_safe *m, const struct zk_view *v, struct group_outputs *out)
{
    size_t told = 0;
    for (size_t i = 0; i < m->partition_count && told < SAFE_RETURNS_MAX; i++) {
        struct zk_view_registration *r = returned(m->partitions[i], v);
        if (r) {
            tell_return(m, v, r, out);
            told++;
        }
    }
}

/* ---- who gave up ---- */

void safe_end_audit(struct zk_safe *m)
{
    free(m->audit_free);
    m->audit_free = NULL;
    m->audit_at_ms = INT64_MAX;
}

static void audit_later(struct zk_safe *m, int64_t ms)
{
    safe_end_audit(m);
    m->audit_at_ms = m->now_ms + ms;
}

/* The next topic of which a member without a lease should have something. */
static size_t next_topic(const struct zk_safe *m, const struct assignment *a, size_t topic)
{
    for (size_t i = entry_at(a, topic, 0); i < a->count; i++)
        if (safe_is_unfenced(m->acted->registrations[a->entries[i].member]))
            return a->entries[i].topic;
    return SIZE_MAX;
}

static struct safe_short *find_short(struct zk_safe *m, const char *consumer_id)
{
    for (size_t i = 0; i < m->short_count; i++)
        if (strcmp(m->shorts[i].who->consumer_id, consumer_id) == 0)
            return &m->shorts[i];
    return NULL;
}

static void tell_short(const struct safe_short *s, size_t free_count, size_t share,
                       struct group_outputs *out)
{
    struct group_output *o = group_emit(out, GROUP_OUT_GAVE_UP);
    o->gave_up.consumer_id = group_text(out, "%s", s->who->consumer_id);
    o->gave_up.free = free_count;
    o->gave_up.share = share;
    o->gave_up.since_ms = s->since_ms;
    if (free_count > 0)
        group_notice(out, 4, "member", ZKC_OK,
                     "member %s, which has no lease, has given up: %zu of its share of %zu "
                     "partitions are with nobody; the next change of the group, or a restart of "
                     "it, helps",
                     s->who->consumer_id, free_count, share);
    else
        group_notice(out, 6, "member", ZKC_OK, "member %s has its share, or is gone",
                     s->who->consumer_id);
}

static void found_short(struct zk_safe *m, size_t member, const struct assignment *a,
                        struct group_outputs *out)
{
    struct zk_view_registration *r = m->acted->registrations[member];
    struct safe_short *s = find_short(m, r->consumer_id);
    size_t count = m->audit_free[member];
    if (!s && m->short_count == SAFE_SHORTS_MAX)
        return;
    if (!s) {
        s = &m->shorts[m->short_count++];
        *s = (struct safe_short){.who = r, .since_ms = m->now_ms};
        r->references++;
        m->counts.gave_up++;
    }
    s->is_seen = true;
    if (s->free != count)
        tell_short(s, count, assignment_member_count(a, member), out);
    s->free = count;
}

static void forget_unseen(struct zk_safe *m, struct group_outputs *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->short_count; i++) {
        if (m->shorts[i].is_seen) {
            m->shorts[kept++] = m->shorts[i];
            continue;
        }
        tell_short(&m->shorts[i], 0, 0, out);
        zk_view_registration_unref(m->shorts[i].who);
    }
    m->short_count = kept;
}

/* The view is decided on: it is what is looked at from now on. */
void safe_acted(struct zk_safe *m, struct zk_view *v, struct group_outputs *out)
{
    size_t self = zk_view_find(v, m->consumer_id), first = SIZE_MAX;
    bool has_unfenced = false;
    zk_view_ref(v);
    zk_view_unref(m->acted);
    m->acted = v;
    m->acted_strategy = m->strategy;
    for (size_t i = 0; i < v->member_count; i++) {
        has_unfenced |= safe_is_unfenced(v->registrations[i]);
        if (first == SIZE_MAX && v->registrations[i]->content->registration.strategy)
            first = i;
    }
    safe_end_audit(m);
    if (has_unfenced && first == self) {
        audit_later(m, SAFE_AUDIT_MS);
        return;
    }
    for (size_t i = 0; i < m->short_count; i++)
        m->shorts[i].is_seen = false;
    forget_unseen(m, out);
}

static void end_round(struct zk_safe *m, const struct assignment *a, struct group_outputs *out)
{
    for (size_t i = 0; i < m->short_count; i++)
        m->shorts[i].is_seen = false;
    for (size_t i = 0; i < m->acted->member_count; i++)
        if (m->audit_free[i] > 0)
            found_short(m, i, a, out);
    forget_unseen(m, out);
    if (m->short_count > 0)
        audit_later(m, SAFE_AUDIT_AGAIN_MS);
    else
        safe_end_audit(m);
}

/* Sends the read of one topic, or ends. */
static void look(struct zk_safe *m, const struct assignment *a, struct group_outputs *out)
{
    m->audit_topic = next_topic(m, a, m->audit_topic);
    if (m->audit_topic == SIZE_MAX) {
        end_round(m, a, out);
        return;
    }
    char *path = arena_format(&m->arena, "/consumers/%s/owners/%s", m->group,
                              m->acted->topics[m->audit_topic].topic);
    if (!path || !safe_can_send(m, 1)) {
        audit_later(m, SAFE_AUDIT_MS);
        return;
    }
    struct zk_op op = {.type = ZK_OP_CHILDREN, .path = path};
    m->audit_seq = safe_send(m, (struct safe_sent){.op = OP_AUDIT}, &op, out);
}

void safe_run_audit(struct zk_safe *m, struct group_outputs *out)
{
    const struct assignment *a = acted(m);
    if (!a || m->phase != IN || !m->is_connected || m->now_ms < m->audit_at_ms ||
        !safe_has_room(out, 2 * SAFE_SHORTS_MAX))
        return;
    safe_end_audit(m);
    m->audit_free = calloc(m->acted->member_count, sizeof *m->audit_free);
    if (!m->audit_free) {
        audit_later(m, SAFE_AUDIT_MS);
        return;
    }
    m->audit_topic = 0;
    look(m, a, out);
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Counts what is with nobody of the topic: `owned` has the others, sorted. */
static void count_free(struct zk_safe *m, const struct assignment *a, const int32_t *owned,
                       size_t count)
{
    for (size_t i = entry_at(a, m->audit_topic, 0);
         i < a->count && a->entries[i].topic == m->audit_topic; i++) {
        const struct assign_entry *e = &a->entries[i];
        if (safe_is_unfenced(m->acted->registrations[e->member]) &&
            (count == 0 || !bsearch(&e->partition, owned, count, sizeof *owned, by_number)))
            m->audit_free[e->member]++;
    }
}

void safe_audit_answer(struct zk_safe *m, const struct safe_sent *sent,
                       const struct zk_result *answer, struct group_outputs *out)
{
    const struct assignment *a = acted(m);
    if (sent->seq != m->audit_seq || !m->audit_free || !a)
        return; /* of a view that is over */
    size_t count = answer->zk_rc == ZK_OK ? answer->children_count : 0;
    int32_t *owned = arena_alloc_array(&m->arena, count, sizeof *owned);
    if ((answer->zk_rc != ZK_OK && answer->zk_rc != ZK_NO_NODE) || !owned) {
        audit_later(m, SAFE_AUDIT_MS);
        return;
    }
    for (size_t i = 0; i < count; i++)
        owned[i] = safe_partition_number(answer->children[i]);
    if (count > 0)
        qsort(owned, count, sizeof *owned, by_number);
    count_free(m, a, owned, count);
    m->audit_topic++;
    look(m, a, out);
}

int64_t safe_audit_deadline_ms(const struct zk_safe *m)
{
    return m->phase == IN ? m->audit_at_ms : INT64_MAX;
}

void safe_forget_strangers(struct zk_safe *m)
{
    safe_end_audit(m);
    for (size_t i = 0; i < m->short_count; i++)
        zk_view_registration_unref(m->shorts[i].who);
    m->short_count = 0;
    zk_view_unref(m->acted);
    m->acted = NULL;
}
