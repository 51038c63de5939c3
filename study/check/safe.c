/* What safe mode promises (SF1 - SF8; rebalance-study.md 5). Beside members of another mode, which
 * delete and commit blindly, SF7 and some of SF5 are not asserted, and SF3 - SF5 only among safe
 * members, where all writes are known.
 */
#include "study/check/state.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_NS (30ull * 1000000000) /* without faults everything has settled after it */

static struct member *safe_member(struct check *c, const char *name, uint32_t *index)
{
    struct member *m = name ? member_of(c, name, index) : NULL;
    return m && m->is_safe ? m : NULL;
}

static struct pair *safe_pair(struct check *c, const char *m, struct topic_partition p)
{
    struct pair *x = pair_of(c, m, p);
    return x && c->members[x->member].is_safe ? x : NULL;
}

/* The live safe member that this session belongs to; NULL: another's, or of a life that is over. */
static struct member *session_member(struct check *c, uint64_t id, uint32_t *index)
{
    const struct session *s = id ? session_of(c, id) : NULL;
    if (!s || !s->is_known)
        return NULL;
    struct member *m = &c->members[s->member];
    *index = s->member;
    return m->is_safe && m->is_live && m->incarnation == s->incarnation ? m : NULL;
}

static bool is_all_safe(const struct check *c)
{
    return c->has_safe && !c->has_other && !c->foreign;
}

/* What needs everybody is promised among safe members beside those of another mode (traced or not),
 * too, while none of these deletes their owner nodes: where that would be seen. */
static bool is_among_safe(const struct check *c, const struct partition *p)
{
    return is_all_safe(c) || (c->has_all_writes && c->has_txns && c->has_safe && !p->is_disturbed);
}

static void count_unfenced(struct check *c, struct member *m)
{
    counted(c, CHECK_UNFENCED, 1);
    m->unfenced++;
}

static const char *name_of(const struct check *c, uint32_t member)
{
    return c->member_names.list[member].text;
}

static const char *topic_of(const struct check *c, uint32_t partition)
{
    return c->partition_names.list[partition].text;
}

static int number_of(const struct check *c, uint32_t partition)
{
    return (int)c->partition_names.list[partition].number;
}

static void take_start(struct check *c, const struct trace_event *e)
{
    struct member *m = member_of(c, e->m, NULL);
    if (!m)
        return;
    const char *mode = e->m_start.mode;
    m->is_observed = e->m_start.is_observed;
    m->is_safe = mode && *mode ? strcmp(mode, "zookeeper:safe") == 0 : !c->is_compat;
    const struct session *s = m->session ? session_of(c, m->session) : NULL;
    if (!s || !s->is_known || s->incarnation != m->incarnation) { /* else it has a lease already */
        m->has_lapsed = false;
        m->lease_count = 0;
    }
    c->has_leases = c->has_leases || (m->is_safe && m->lease_count);
    m->registered_at = 0;
    c->has_safe = c->has_safe || m->is_safe;
    c->has_other = c->has_other || !m->is_safe;
    for (size_t i = 0; i < m->pair_count; i++) {
        struct pair *x = &c->pairs[m->pairs[i]];
        x->usurped_ns = 0;
        x->is_wanted = x->has_been_given = false;
        x->is_drained = true;
    }
}

/* ---- leases (SF2) ---- */

static void set_lapsed(struct check *c, struct member *m, bool has_lapsed)
{
    if (m->has_lapsed == has_lapsed)
        return;
    m->has_lapsed = has_lapsed;
    for (size_t i = 0; i < m->pair_count; i++)
        pair_recount(c, &c->pairs[m->pairs[i]]);
}

static struct lease *last_lease(struct member *m)
{
    return m->lease_count ? &m->leases[(m->lease_count - 1) % LEASES_KEPT] : NULL;
}

/* A lease ends without an event: the states of its partitions change when its time comes. */
void check_safe_leases(struct check *c, uint64_t t_ns)
{
    while (c->lapse_ns && c->lapse_ns <= t_ns) {
        uint64_t next = 0;
        c->now_ns = c->lapse_ns > c->now_ns ? c->lapse_ns : c->now_ns;
        for (uint32_t i = 0; i < c->member_names.count; i++) {
            struct member *m = &c->members[i];
            const struct lease *l = last_lease(m);
            if (!m->is_live || m->has_lapsed || !l)
                continue;
            if (l->to_ns <= c->lapse_ns)
                set_lapsed(c, m, true);
            else if (!next || l->to_ns < next)
                next = l->to_ns;
        }
        c->lapse_ns = next;
    }
}

static void check_alone(struct check *c, const struct pair *x);

static void take_lease(struct check *c, const struct trace_event *e)
{
    struct member *m = member_of(c, e->m, NULL);
    if (!m)
        return;
    struct lease *l = last_lease(m);
    c->has_leases = c->has_leases || m->is_safe;
    if (l && l->to_ns > e->t_ns && l->session != e->lease.session)
        l->to_ns = e->t_ns;
    if (!l || l->to_ns < e->t_ns || l->session != e->lease.session) {
        l = &m->leases[m->lease_count++ % LEASES_KEPT];
        *l = (struct lease){.session = e->lease.session, .from_ns = e->t_ns};
    }
    l->to_ns = e->lease.until_ns > e->t_ns ? e->lease.until_ns : e->t_ns; /* it was, until now */
    if (l->to_ns > e->t_ns && (!c->lapse_ns || l->to_ns < c->lapse_ns))
        c->lapse_ns = l->to_ns;
    bool had_lapsed = m->has_lapsed;
    set_lapsed(c, m, l->to_ns <= e->t_ns);
    for (size_t i = 0; had_lapsed && !m->has_lapsed && i < m->pair_count; i++)
        if (c->pairs[m->pairs[i]].believes)
            check_alone(c, &c->pairs[m->pairs[i]]);
}

static bool is_leased(const struct member *m, uint64_t session, uint64_t t_ns)
{
    size_t kept = m->lease_count < LEASES_KEPT ? m->lease_count : LEASES_KEPT;
    for (size_t i = 0; i < kept; i++)
        if (m->leases[i].session == session && t_ns >= m->leases[i].from_ns &&
            t_ns < m->leases[i].to_ns)
            return true;
    return false;
}

static void take_deliver(struct check *c, const struct trace_event *e)
{
    struct pair *x = safe_pair(c, e->m, e->deliver.p);
    if (!x)
        return;
    const struct member *m = &c->members[x->member];
    const struct session *s = session_of(c, x->session);
    x->has_been_given = true;
    checked(c, CHECK_SF2);
    if (c->has_leases && (!is_leased(m, x->session, e->deliver.first_ns) ||
                          !is_leased(m, x->session, e->deliver.last_ns)))
        violated(c, CHECK_SF2, x->since_gs,
                 "%s hands out %" PRId64 "..%" PRId64
                 " of %s/%d from %.6f s to %.6f s, and has no lease for all of it",
                 e->m, e->deliver.first, e->deliver.last, e->deliver.p.topic,
                 e->deliver.p.partition, (double)e->deliver.first_ns / 1e9,
                 (double)e->deliver.last_ns / 1e9);
    else if (s && s->is_closed && e->deliver.last_ns > s->closed_ns)
        violated(c, CHECK_SF2, x->since_gs,
                 "%s hands out %" PRId64 " of %s/%d at %.6f s, and its session ended at %.6f s",
                 e->m, e->deliver.last, e->deliver.p.topic, e->deliver.p.partition,
                 (double)e->deliver.last_ns / 1e9, (double)s->closed_ns / 1e9);
    if (!is_among_safe(c, &c->partitions[x->partition]))
        return;
    checked(c, CHECK_SF3);
    if (x->usurped_ns && e->deliver.last_ns > x->usurped_ns)
        violated(c, CHECK_SF3, x->since_gs,
                 "%s hands out %" PRId64 " of %s/%d at %.6f s, which is %s's since %.6f s", e->m,
                 e->deliver.last, e->deliver.p.topic, e->deliver.p.partition,
                 (double)e->deliver.last_ns / 1e9, name_of(c, x->usurper),
                 (double)x->usurped_ns / 1e9);
}

/* ---- owning (SF1, SF3, SF5) ---- */

/* From now on `x` may hand out: nobody else may, and who believes that it does must not. */
static void check_alone(struct check *c, const struct pair *x)
{
    bool is_promised = is_among_safe(c, &c->partitions[x->partition]);
    for (uint32_t i = 0; i < c->member_names.count; i++) {
        struct pair *other = i != x->member ? pair_find(c, i, x->partition) : NULL;
        if (!other || !other->believes || !c->members[i].is_live)
            continue;
        if (!c->members[i].is_safe && other->is_counted_active)
            count_unfenced(c, &c->members[i]);
        if (!c->members[i].is_safe || !is_promised)
            continue;
        checked(c, CHECK_SF3);
        if (other->is_counted_active)
            violated(c, CHECK_SF3, other->since_gs,
                     "%s begins to hand out %s/%d, and %s may still do so", name_of(c, x->member),
                     topic_of(c, x->partition), number_of(c, x->partition), name_of(c, i));
        if (!other->usurped_ns) {
            other->usurped_ns = c->now_ns;
            other->usurper = x->member;
        }
    }
}

static void take_own_begin(struct check *c, const struct trace_event *e)
{
    struct pair *x = safe_pair(c, e->m, e->own.p);
    if (!x)
        return;
    const struct partition *p = &c->partitions[x->partition];
    x->session = c->members[x->member].session;
    x->usurped_ns = 0;
    x->is_drained = x->has_been_given = false;
    if (c->members[x->member].has_lapsed)
        return;
    check_alone(c, x);
    if (!is_all_safe(c))
        return;
    checked(c, CHECK_SF5);
    if (e->own.offset < p->stored_least)
        violated(c, CHECK_SF5, p->stored_gs,
                 "%s begins %s/%d at %" PRId64 "; Kafka has been told %" PRId64 " in time", e->m,
                 e->own.p.topic, e->own.p.partition, e->own.offset, p->stored_least);
    /* What is in ZooKeeper, too, does not count for who reads Kafka alone. */
    bool is_asked = x->moved_to >= 0 && e->own.offset >= x->moved_to;
    if (!p->was_turned_back && !is_asked && e->own.offset >= 0 && e->own.offset < p->begin_least)
        violated(c, CHECK_SF5, p->committed_gs,
                 "%s begins %s/%d at %" PRId64 "; %" PRId64 " is committed", e->m, e->own.p.topic,
                 e->own.p.partition, e->own.offset, p->begin_least);
}

static void take_own_end(struct check *c, const struct trace_event *e)
{
    struct pair *x = safe_pair(c, e->m, e->own.p);
    if (x)
        x->claim = e->own.claim;
    if (x && strcmp(e->own.why, "lost") == 0)
        x->has_been_given = false; /* what is released later is of a later claim */
    if (!x || strcmp(e->own.why, "release") != 0)
        return;
    checked(c, CHECK_SF8);
    if (x->is_wanted)
        violated(c, CHECK_SF8, x->since_gs, "%s stops %s/%d, which its last decision wants", e->m,
                 e->own.p.topic, e->own.p.partition);
}

/* What it was given by an earlier claim is not of this one: that ended with its session, may be
 * after the partition had been stopped. */
static void take_claim(struct check *c, const struct trace_event *e)
{
    struct pair *x = safe_pair(c, e->m, e->claim.p);
    if (!x || strcmp(e->claim.rc, "ok") != 0)
        return;
    x->has_been_given = x->has_begun = false;
    x->read_most = x->read_stored = x->moved_to = -1;
}

/* The application may have been slow with an earlier claim, which was lost. */
static void take_drained(struct check *c, const char *m, struct topic_partition p, int64_t finished,
                         uint64_t claim)
{
    struct pair *x = safe_pair(c, m, p);
    c->has_drains = true;
    if (!x || x->believes || (claim && x->claim && claim != x->claim))
        return;
    x->is_drained = true;
    x->finished = finished;
    x->drained_ns = c->now_ns;
}

/* With offsets in Kafka a release waits until they are stored, for a second at least. (A member's
 * clock may be a little fast.) What Kafka has said to keep need not be stored again, though a
 * commit that was given up may come after that and turn it back. */
#define STORE_NS (950ull * MS)

static void check_stored(struct check *c, const struct pair *x)
{
    const struct partition *p = &c->partitions[x->partition];
    if (!c->has_stores || !x->has_been_given || !x->is_drained)
        return;
    checked(c, CHECK_SF5);
    if (x->finished > p->stored && x->finished > p->stored_in_time &&
        x->finished > x->read_stored && c->now_ns < x->drained_ns + STORE_NS)
        violated(c, CHECK_SF5, x->since_gs,
                 "%s releases %s/%d, has finished it up to %" PRId64 ", and Kafka keeps %" PRId64,
                 name_of(c, x->member), topic_of(c, x->partition), number_of(c, x->partition),
                 x->finished, p->stored);
}

static void check_released(struct check *c, struct pair *x)
{
    check_stored(c, x);
    checked(c, CHECK_SF1);
    if (x->believes)
        violated(c, CHECK_SF1, x->since_gs, "%s releases %s/%d, and may still hand it out",
                 name_of(c, x->member), topic_of(c, x->partition), number_of(c, x->partition));
    else if (x->has_been_given && !x->is_drained)
        violated(c, CHECK_SF1, x->since_gs,
                 "%s releases %s/%d, and its application is not done with it",
                 name_of(c, x->member), topic_of(c, x->partition), number_of(c, x->partition));
    x->has_been_given = false;
}

static void take_release(struct check *c, const struct trace_event *e)
{
    struct pair *x = c->has_txns ? NULL : safe_pair(c, e->m, e->release.p);
    if (x && strcmp(e->release.rc, "ok") == 0)
        check_released(c, x);
}

/* ---- writes (SF1, SF4, SF5, and the memberships of SF8) ---- */

static uint64_t hash_of(const char *text)
{
    uint64_t h = 1469598103934665603ull;
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 1099511628211ull;
    return (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
}

static void take_registration(struct check *c, const struct trace_txn *x, bool creates)
{
    const char *leaf = strrchr(x->path, '/') + 1;
    uint32_t index;
    c->registered = creates ? c->registered + hash_of(leaf) : c->registered - hash_of(leaf);
    c->memberships[c->membership_count++ % MEMBERSHIPS_KEPT] = c->registered;
    struct member *m = creates ? session_member(c, x->session, &index) : NULL;
    if (m && m->consumer_id && strcmp(m->consumer_id, leaf) == 0)
        m->registered_at = c->membership_count;
}

static struct partition *txn_partition(struct check *c, const struct trace_txn *x, uint32_t *index)
{
    struct trace_path path = trace_path_read(x->path);
    char topic[TOPIC_NAME_MAX + 1];
    if (path.topic_len >= sizeof topic)
        return NULL;
    memcpy(topic, path.topic, path.topic_len);
    topic[path.topic_len] = 0;
    return partition_of(c, (struct topic_partition){topic, path.partition}, index);
}

static void take_owner_delete(struct check *c, const struct trace_txn *x)
{
    uint32_t partition, index;
    struct partition *p = txn_partition(c, x, &partition);
    struct member *m = session_member(c, x->session, &index);
    bool is_foreign = x->ephemeral_owner && x->ephemeral_owner != x->session;
    if (p && !m && is_foreign)
        p->is_disturbed = true;
    if (!m || !p)
        return;
    struct pair *pair = pair_find(c, index, partition);
    if (pair)
        check_released(c, pair);
    if (!is_among_safe(c, p))
        return;
    checked(c, CHECK_SF4);
    if (is_foreign)
        violated(c, CHECK_SF4, UINT64_MAX, "%s deletes %s, which session %" PRIx64 " has created",
                 name_of(c, index), x->path, x->ephemeral_owner);
}

/* It was moved at least so far back while it was the member's. */
static bool is_asked_back(struct check *c, uint32_t member, uint32_t partition)
{
    const struct pair *x = pair_find(c, member, partition);
    return x && x->moved_to >= 0 && x->moved_to <= c->partitions[partition].committed;
}

/* A member of another mode commits: of what a safe one has? */
static void note_stale(struct check *c, const struct trace_txn *x, const struct partition *p)
{
    const struct session *s = x->session ? session_of(c, x->session) : NULL;
    if (s && s->is_known && !c->members[s->member].is_safe && p->has_owner &&
        p->owner_member != NAMES_NONE && c->members[p->owner_member].is_safe)
        count_unfenced(c, &c->members[s->member]);
}

static void take_offset(struct check *c, const struct trace_txn *x)
{
    uint32_t index, partition;
    const struct partition *p = txn_partition(c, x, &partition);
    bool is_owner = p && p->has_owner && p->owner_session == x->session;
    if (p && !is_owner && !session_member(c, x->session, &index))
        note_stale(c, x, p);
    if (!p || !session_member(c, x->session, &index))
        return;
    checked(c, CHECK_STALE_COMMITS);
    counted(c, CHECK_STALE_COMMITS, !is_owner);
    if (c->has_all_writes && is_among_safe(c, p)) {
        checked(c, CHECK_SF5);
        if (!is_owner)
            violated(c, CHECK_SF5, UINT64_MAX, "%s commits in %s, whose owner it is not",
                     name_of(c, index), x->path);
    }
    if (!is_all_safe(c))
        return;
    checked(c, CHECK_SF5);
    if (p->committed < p->committed_before && !is_asked_back(c, index, partition))
        violated(c, CHECK_SF5, UINT64_MAX, "%s commits %" PRId64 " in %s, where %" PRId64 " stood",
                 name_of(c, index), p->committed, x->path, p->committed_before);
}

static void take_txn(struct check *c, const struct trace_event *e)
{
    const struct trace_txn *x = &e->zk_txn;
    bool creates = strcmp(x->what, "create") == 0, deletes = strcmp(x->what, "delete") == 0;
    bool closes = strcmp(x->what, "close") == 0;
    if (x->class_of == TRACE_CLASS_ID && *x->path && (creates || deletes || closes))
        take_registration(c, x, creates);
    else if (x->class_of == TRACE_CLASS_OWNER && deletes)
        take_owner_delete(c, x);
    else if (x->class_of == TRACE_CLASS_OFFSET && (creates || strcmp(x->what, "set") == 0))
        take_offset(c, x);
}

/* ---- offsets in Kafka (SF5) ---- */

/* Its outcome matters to who sent it, and nobody else can have been told of the partition since. */
static bool is_in_time(const struct partition *p, const struct trace_event *e)
{
    return e->store.is_awaited && p->has_owner && p->owner_session == e->store.session &&
           p->owner_since_ns <= e->store.sent_ns;
}

static void check_sent(struct check *c, const struct pair *x, const struct trace_event *e)
{
    const struct session *s = session_of(c, e->store.session);
    const struct member *m = &c->members[x->member];
    if (!c->has_leases || !s || !s->is_known || s->incarnation != m->incarnation)
        return; /* of a life that is over */
    checked(c, CHECK_SF5);
    if (!is_leased(m, e->store.session, e->store.sent_ns))
        violated(c, CHECK_SF5, x->since_gs,
                 "%s sends Kafka %" PRId64 " of %s/%d at %.6f s, and has no lease then", e->m,
                 e->store.offset, e->store.p.topic, e->store.p.partition,
                 (double)e->store.sent_ns / 1e9);
}

static void take_store(struct check *c, const struct trace_event *e)
{
    struct pair *x = safe_pair(c, e->m, e->store.p);
    if (!x)
        return;
    struct partition *p = &c->partitions[x->partition];
    c->has_stores = true;
    p->stored = e->store.offset;
    p->stored_gs = e->gs;
    check_sent(c, x, e);
    if (!is_in_time(p, e)) {
        p->was_turned_back = true;
        if (e->store.offset < p->stored_least)
            p->stored_least = e->store.offset;
        return;
    }
    checked(c, CHECK_SF5);
    if (e->store.offset < p->stored_least)
        violated(c, CHECK_SF5, UINT64_MAX,
                 "%s stores %" PRId64 " of %s/%d in Kafka, which has been told %" PRId64 " in time",
                 e->m, e->store.offset, e->store.p.topic, e->store.p.partition, p->stored_least);
    p->stored_least = p->stored_in_time = e->store.offset;
}

/* ---- decisions (SF8) ---- */

static bool was_membership(const struct check *c, uint64_t since, uint64_t sum)
{
    for (uint64_t n = c->membership_count; n >= since && n > 0; n--) {
        if (c->membership_count - n >= MEMBERSHIPS_KEPT)
            return true; /* it may have been; not kept */
        if (c->memberships[(n - 1) % MEMBERSHIPS_KEPT] == sum)
            return true;
    }
    return false;
}

static void take_decide(struct check *c, const struct trace_event *e)
{
    struct member *m = safe_member(c, e->m, NULL);
    size_t count;
    if (!m)
        return;
    for (size_t i = 0; i < m->pair_count; i++)
        c->pairs[m->pairs[i]].is_wanted = false;
    for (size_t i = 0; i < e->decide.count; i++) {
        struct pair *x = pair_of(c, e->m, e->decide.want[i]);
        if (!x)
            return;
        x->is_wanted = true;
    }
    m = member_of(c, e->m, NULL);
    const char *const *members = view_members(c, m, &count);
    if (!members || !c->has_txns)
        return;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += hash_of(members[i]);
    checked(c, CHECK_SF8);
    if (!m->registered_at || !was_membership(c, m->registered_at, sum))
        violated(c, CHECK_SF8, UINT64_MAX,
                 "%s decides by %zu members, who were never all that were registered since it was",
                 e->m, count);
}

void check_safe(struct check *c, const struct trace_event *e)
{
    switch (e->type) {
    case TRACE_M_START: take_start(c, e); break;
    case TRACE_LEASE: take_lease(c, e); break;
    case TRACE_DELIVER: take_deliver(c, e); break;
    case TRACE_OWN_BEGIN: take_own_begin(c, e); break;
    case TRACE_OWN_END: take_own_end(c, e); break;
    case TRACE_PROCESSED:
        take_drained(c, e->m, e->processed.p, e->processed.offset, e->processed.claim);
        break;
    case TRACE_VOID: take_drained(c, e->m, e->voided.p, e->voided.offset, e->voided.claim); break;
    case TRACE_CLAIM: take_claim(c, e); break;
    case TRACE_STORE: take_store(c, e); break;
    case TRACE_RELEASE: take_release(c, e); break;
    case TRACE_ZK_TXN: take_txn(c, e); break;
    case TRACE_DECIDE: take_decide(c, e); break;
    default: break;
    }
}

/* ---- at the end (SF6, SF7) ---- */

static bool has_settled(const struct check *c, uint64_t since_ns)
{
    return c->now_ns >= SETTLE_NS && since_ns <= c->now_ns - SETTLE_NS;
}

static bool is_well(const struct check *c, const struct member *m)
{
    return m->is_safe && m->is_live && !m->is_suspended && m->is_connected &&
           has_settled(c, m->connected_ns);
}

/* Whether the member subscribes to the topic; also where that cannot be told: by a filter, which is
 * no name of a topic that there are partitions of. */
static bool may_want(const struct check *c, const struct member *m, const char *topic)
{
    uint32_t id = m->consumer_id ? names_find(&c->id_names, m->consumer_id, 0) : NAMES_NONE;
    if (id == NAMES_NONE)
        return true;
    const struct subscription *s = &c->subscriptions[id];
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->topics[i], topic) == 0 ||
            names_find(&c->partition_names, s->topics[i], 0) == NAMES_NONE)
            return true;
    return false;
}

static bool is_wanted(const struct check *c, const char *topic)
{
    for (uint32_t i = 0; i < c->member_names.count; i++)
        if (c->members[i].is_live && may_want(c, &c->members[i], topic))
            return true;
    return false;
}

/* "m2: 3, m5: 1" */
static void name_unfenced(struct check *c)
{
    struct tally *t = &c->tallies[CHECK_UNFENCED];
    char text[512] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < c->member_names.count && n < sizeof text; i++)
        if (c->members[i].unfenced)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s: %" PRIu64, n ? ", " : "",
                                  name_of(c, i), c->members[i].unfenced);
    t->first = n ? strdup(text) : NULL;
    c->failed = c->failed || (n && !t->first);
}

void check_safe_finish(struct check *c)
{
    name_unfenced(c);
    bool any_well = false, all_well = true;
    if (!c->has_safe || !has_settled(c, c->fault_ns))
        return;
    for (uint32_t i = 0; i < c->member_names.count; i++) {
        bool well = is_well(c, &c->members[i]);
        any_well = any_well || well;
        all_well = all_well && (well || !c->members[i].is_live);
    }
    for (uint32_t i = 0; i < c->partition_names.count; i++) {
        const struct partition *p = &c->partitions[i];
        const struct pair *x =
            p->has_owner && p->owner_member != NAMES_NONE ? pair_find(c, p->owner_member, i) : NULL;
        if (p->has_owner && p->owner_member != NAMES_NONE &&
            is_well(c, &c->members[p->owner_member])) {
            checked(c, CHECK_SF6);
            if (!x || !x->believes)
                violated(c, CHECK_SF6, UINT64_MAX,
                         "the owner node of %s/%d is %s's, who does not know of it", topic_of(c, i),
                         number_of(c, i), name_of(c, p->owner_member));
        }
        if (!any_well || !all_well || !is_all_safe(c) || p->is_gone ||
            !is_wanted(c, topic_of(c, i)))
            continue;
        checked(c, CHECK_SF7);
        if (p->active != 1)
            violated(c, CHECK_SF7, UINT64_MAX, "%s/%d has %u members that hand it out at the end",
                     topic_of(c, i), number_of(c, i), p->active);
    }
}

#define BESIDE_OTHERS "not promised beside members of another mode"

static bool is_beside_others(const struct check *c, enum check_id id)
{
    return !is_all_safe(c) && ((c->foreign && !c->has_all_writes) || !c->tallies[id].checked);
}

const char *check_safe_unknown(const struct check *c, enum check_id id)
{
    if (!c->has_safe)
        return "binds zookeeper:safe only";
    switch (id) {
    case CHECK_SF1: return c->has_drains ? NULL : "the trace does not say when it was drained";
    case CHECK_SF2: return c->has_leases ? NULL : "leases are in traces of level 1 and above";
    case CHECK_SF3: return is_beside_others(c, id) ? BESIDE_OTHERS : NULL;
    case CHECK_SF4:
    case CHECK_SF5:
        if (is_beside_others(c, id))
            return BESIDE_OTHERS;
        return c->has_txns ? NULL : "the trace has no writes of the ensemble (zk_txn)";
    case CHECK_SF8:
        if (c->tallies[id].checked)
            return NULL; /* stops are checked without the writes, too */
    /* fall through */
    case CHECK_SF6: return c->has_txns ? NULL : "the trace has no writes of the ensemble (zk_txn)";
    default:
        if (!is_all_safe(c))
            return BESIDE_OTHERS;
        return c->tallies[id].checked ? NULL : "the run did not settle after its last fault";
    }
}
