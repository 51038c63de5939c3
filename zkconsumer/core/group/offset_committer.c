#include "zkconsumer/core/group/offset_committer.h"
#include "zkconsumer/core/group/claims.h"
#include "zkconsumer/core/zk/offset.h"
#include "zkconsumer/core/zk/path.h"
#include <assert.h>
#include <stdlib.h>

static_assert(sizeof((struct offset_committer *)0)->text >= ZK_OFFSET_TEXT_SIZE, "offset text");

void committer_init(struct offset_committer *c, const char *group, enum commit_store store)
{
    *c = (struct offset_committer){.group = group, .store = store};
}

void committer_deinit(struct offset_committer *c)
{
    for (size_t i = 0; i < COMMIT_JOBS_MAX; i++)
        free(c->jobs[i].items);
    free(c->cache);
    free(c->stored);
    free(c->path);
    creator_deinit(&c->creator);
    *c = (struct offset_committer){0};
}

static int compare(const struct commit_item *a, const struct commit_item *b)
{
    if (a->topic_index != b->topic_index)
        return a->topic_index < b->topic_index ? -1 : 1;
    return (a->partition > b->partition) - (a->partition < b->partition);
}

/* Makes room for `more` items. */
static enum zkc_err reserve(struct commit_item **list, size_t count, size_t *cap, size_t more)
{
    if (*cap - count >= more)
        return ZKC_OK;
    size_t want = *cap * 2 > count + more ? *cap * 2 : count + more;
    struct commit_item *grown = realloc(*list, want * sizeof *grown);
    if (!grown)
        return ZKC_ERR_NOMEM;
    *list = grown;
    *cap = want;
    return ZKC_OK;
}

/* Where the item stands in a sorted array, or belongs. */
static size_t position(const struct commit_item *list, size_t count, const struct commit_item *item)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare(&list[mid], item) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Puts the item into a sorted array that has room, in place of one of the same partition. */
static void put(struct commit_item *list, size_t *count, const struct commit_item *item)
{
    size_t at = position(list, *count, item);
    if (at == *count || compare(&list[at], item) != 0) {
        memmove(&list[at + 1], &list[at], (*count - at) * sizeof *list);
        ++*count;
    }
    list[at] = *item;
}

static struct commit_item *cached(const struct offset_committer *c, const struct commit_item *item)
{
    size_t at = position(c->cache, c->cache_count, item);
    bool found = at < c->cache_count && compare(&c->cache[at], item) == 0;
    return found ? &c->cache[at] : NULL;
}

enum zkc_err committer_known(struct offset_committer *c, const struct commit_item *item)
{
    enum zkc_err err = reserve(&c->cache, c->cache_count, &c->cache_cap, 1);
    if (!err)
        put(c->cache, &c->cache_count, item);
    return err;
}

/* ---- jobs ---- */

/* The job that takes up the request: the last one, if it waits and may be joined, or a new one,
 * which does not count yet. */
static struct commit_job *job_for(struct offset_committer *c, bool is_joinable)
{
    struct commit_job *last = c->job_count ? &c->jobs[c->job_count - 1] : NULL;
    bool waits = c->job_count > 1 || (c->job_count == 1 && !c->running);
    if (is_joinable && waits && last->joinable)
        return last;
    assert(c->job_count < COMMIT_JOBS_MAX); /* the machine has one job of its own at a time */
    last = &c->jobs[c->job_count];
    last->count = 0;
    last->joinable = is_joinable;
    last->dropped = false;
    return last;
}

static const struct group_claim *claim_of(const struct commit_request *r, size_t i)
{
    return claims_find(r->held, r->held_count, r->positions[i].topic, r->positions[i].partition);
}

enum zkc_err committer_add(struct offset_committer *c, const struct commit_request *r, uint32_t *id)
{
    for (size_t i = 0; r->is_strict && i < r->count; i++)
        if (!claim_of(r, i))
            return ZKC_ERR_NOT_OWNED;
    struct commit_job *job = job_for(c, r->is_joinable);
    enum zkc_err err = reserve(&job->items, job->count, &job->cap, r->count);
    if (err)
        return err;
    for (size_t i = 0; i < r->count; i++) {
        const struct group_claim *claim = claim_of(r, i);
        if (!claim || (r->positions[i].offset < 0 && c->store == COMMIT_TO_ZOOKEEPER))
            continue;
        struct commit_item item = {.topic = claim->topic,
                                   .topic_index = claim->topic_index,
                                   .partition = claim->partition,
                                   .offset = r->positions[i].offset,
                                   .version = OFFSET_NOT_READ,
                                   .session_id = claim->session_id};
        put(job->items, &job->count, &item);
    }
    if (job == &c->jobs[c->job_count]) {
        job->id = ++c->last_id;
        c->job_count++;
    }
    *id = job->id;
    return ZKC_OK;
}

void committer_drop_waiting(struct offset_committer *c)
{
    for (size_t i = c->running ? 1 : 0; i < c->job_count; i++) {
        c->jobs[i].dropped = c->jobs[i].count > 0 && c->jobs[i].joinable;
        c->jobs[i].count = 0;
    }
}

static void end_job(struct offset_committer *c)
{
    struct commit_job job = c->jobs[0];
    memmove(&c->jobs[0], &c->jobs[1], (COMMIT_JOBS_MAX - 1) * sizeof job);
    job.count = 0;
    c->jobs[COMMIT_JOBS_MAX - 1] = job; /* keeps its memory */
    c->job_count--;
    c->running = false;
}

static int64_t session_of(const struct offset_committer *c)
{
    return c->by_session ? c->jobs[0].items[c->at].session_id : 0;
}

static void set(struct offset_committer *c, struct zk_op *op)
{
    *op = (struct zk_op){.type = ZK_OP_SET,
                         .path = c->path,
                         .data = bytes_of(c->text, c->text_len),
                         .version = c->by_session ? c->version : ZK_ANY_VERSION,
                         .session_id = session_of(c)};
}

static enum committer_step read_back(struct offset_committer *c, bool is_known, struct zk_op *op)
{
    c->state = is_known ? COMMIT_READING : COMMIT_LOOKING;
    *op = (struct zk_op){.type = ZK_OP_GET, .path = c->path, .session_id = session_of(c)};
    return COMMITTER_SEND;
}

/* Creates the node, its folder first; a creator leaves what is there as it is. */
static enum committer_step make_parent(struct offset_committer *c, struct zk_op *op,
                                       enum zkc_err *err)
{
    c->state = COMMIT_MAKING_PARENT;
    creator_deinit(&c->creator);
    c->path[zk_path_parent_length(c->path)] = 0;
    *err = creator_begin(&c->creator, c->path, BYTES_NULL, false, op);
    c->path[strlen(c->path)] = '/';
    op->session_id = session_of(c);
    return *err ? COMMITTER_IDLE : COMMITTER_SEND;
}

/* Begins the first item from `at` on that differs from what is stored. */
static enum committer_step begin_item(struct offset_committer *c, struct zk_op *op,
                                      enum zkc_err *err)
{
    struct commit_job *job = &c->jobs[0];
    struct commit_item *known = NULL;
    for (; c->at < job->count; c->at++) {
        const struct commit_item *item = &job->items[c->at];
        bool is_late = c->by_session && item->session_id != c->session_id;
        known = cached(c, item);
        c->refused += is_late;
        if (!is_late && !item->is_refused && item->offset >= 0 &&
            (!known || known->offset != item->offset))
            break;
    }
    *err = ZKC_OK;
    if (c->at == job->count)
        return COMMITTER_DONE;
    const struct commit_item *item = &job->items[c->at];
    free(c->path);
    c->path = zk_path_offset(c->group, item->topic, item->partition);
    if (!c->path) {
        *err = ZKC_ERR_NOMEM;
        return COMMITTER_DONE;
    }
    c->text_len = zk_offset_format(item->offset, c->text);
    c->version = c->found = known ? known->version : OFFSET_NOT_READ;
    if (c->by_session && c->version == OFFSET_NOT_READ)
        return read_back(c, false, op);
    if (c->by_session && c->version == OFFSET_NO_NODE)
        return make_parent(c, op, err) == COMMITTER_SEND ? COMMITTER_SEND : COMMITTER_DONE;
    c->state = COMMIT_SETTING;
    set(c, op);
    return COMMITTER_SEND;
}

/* What became of the version that is to be overwritten: see offset_committer.h. */
static enum committer_step read_instead(struct offset_committer *c, const struct zk_result *answer,
                                        struct zk_op *op, int *zk_rc, enum zkc_err *err)
{
    bool is_there = answer->zk_rc == ZK_OK;
    *zk_rc = answer->zk_rc;
    if (!is_there && answer->zk_rc != ZK_NO_NODE)
        return COMMITTER_IDLE;
    c->found = is_there ? answer->stat.version : OFFSET_NO_NODE;
    if (c->state == COMMIT_LOOKING) {
        c->version = c->found;
        if (!is_there)
            return make_parent(c, op, err);
        c->state = COMMIT_SETTING;
        set(c, op);
        return COMMITTER_SEND;
    }
    bool is_ours = is_there && c->found == c->version + 1 && answer->data.len == c->text_len &&
                   memcmp(answer->data.data, c->text, c->text_len) == 0;
    *zk_rc = is_ours ? ZK_OK : ZK_BAD_VERSION;
    return COMMITTER_IDLE;
}

/* The answer to an operation of the current item. COMMITTER_IDLE: the item has ended with *zk_rc.
 */
static enum committer_step item_next(struct offset_committer *c, const struct zk_result *result,
                                     struct zk_op *op, int *zk_rc, enum zkc_err *err)
{
    int answer = result->zk_rc;
    *err = ZKC_OK;
    *zk_rc = answer;
    switch (c->state) {
    case COMMIT_SETTING:
        c->found = result->stat.version;
        if (answer == ZK_NO_NODE)
            return make_parent(c, op, err);
        return c->by_session && answer == ZK_BAD_VERSION ? read_back(c, true, op) : COMMITTER_IDLE;
    case COMMIT_MAKING_PARENT:
        if (creator_next(&c->creator, answer, op, zk_rc)) {
            op->session_id = session_of(c);
            return COMMITTER_SEND;
        }
        if (*zk_rc != ZK_OK && *zk_rc != ZK_NODE_EXISTS)
            return COMMITTER_IDLE;
        c->state = COMMIT_CREATING;
        c->version = OFFSET_NO_NODE;
        *op = (struct zk_op){.type = ZK_OP_CREATE,
                             .path = c->path,
                             .data = bytes_of(c->text, c->text_len),
                             .session_id = session_of(c)};
        return COMMITTER_SEND;
    case COMMIT_CREATING:
        c->found = 0;
        if (answer != ZK_NODE_EXISTS)
            return COMMITTER_IDLE;
        if (c->by_session)
            return read_back(c, true, op);
        c->state = COMMIT_SETTING_AGAIN;
        set(c, op);
        return COMMITTER_SEND;
    case COMMIT_LOOKING:
    case COMMIT_READING: return read_instead(c, result, op, zk_rc, err);
    case COMMIT_STORING: assert(!"an answer was expected by nobody"); break;
    case COMMIT_SETTING_AGAIN: break; /* gone again: an error */
    }
    return COMMITTER_IDLE;
}

/* Books the outcome of the current item. */
static void end_item(struct offset_committer *c, int zk_rc, struct group_outputs *out)
{
    const struct commit_item *item = &c->jobs[0].items[c->at];
    struct commit_item *known = cached(c, item);
    struct group_output *o = group_emit(out, GROUP_OUT_COMMIT);
    o->offset.topic = item->topic;
    o->offset.partition = item->partition;
    o->offset.offset = item->offset;
    o->offset.previous = known ? known->offset : -1;
    o->offset.zk_rc = zk_rc;
    bool is_foreign = c->by_session && zk_rc == ZK_BAD_VERSION;
    if (is_foreign)
        group_notice(
            out, 4, "offset", ZKC_OK,
            "somebody else has written the offset of [%s,%d]; we are at %lld, and write it "
            "when we have got further",
            item->topic, item->partition, (long long)item->offset);
    if (zk_rc != ZK_OK && !is_foreign)
        return;
    if (known) {
        known->offset = item->offset;
        known->version = c->found;
        return;
    }
    struct commit_item news = *item;
    news.version = c->found;
    if (committer_known(c, &news))
        return; /* forgotten: the next commit writes it again */
}

/* By session, these end the item, not the job: others are not to blame for it. */
static bool is_refused(const struct offset_committer *c, int zk_rc)
{
    return c->by_session && (zk_rc == ZK_BAD_VERSION || zk_rc == ZK_SESSION_EXPIRED);
}

/* ---- Kafka ---- */

/* Asks the owner to commit the running job to Kafka. COMMITTER_DONE: *err. */
static enum committer_step begin_store(struct offset_committer *c, enum zkc_err *err)
{
    const struct commit_job *job = &c->jobs[0];
    if (job->count > c->stored_cap) {
        struct group_offset *list = realloc(c->stored, job->count * sizeof *list);
        if (!list) {
            *err = ZKC_ERR_NOMEM;
            return COMMITTER_DONE;
        }
        c->stored = list;
        c->stored_cap = job->count;
    }
    for (size_t i = 0; i < job->count; i++)
        c->stored[i] = (struct group_offset){.topic = job->items[i].topic,
                                             .partition = job->items[i].partition,
                                             .offset = job->items[i].offset};
    c->stored_count = job->count;
    c->state = COMMIT_STORING;
    return COMMITTER_STORE;
}

static void mark_refused(struct offset_committer *c, const struct group_offset *list, size_t count)
{
    struct commit_job *job = &c->jobs[0];
    for (size_t i = 0; i < job->count; i++) {
        const struct group_offset *at =
            group_offset_find(list, count, job->items[i].topic, job->items[i].partition);
        job->items[i].is_refused = !at || at->kafka_error != 0;
    }
}

/* ---- jobs, run ---- */

/* Writes from item `at` on; at the end of the job: what became of it. */
static enum committer_step go_on(struct offset_committer *c, struct zk_op *op, enum zkc_err *err,
                                 struct why *why)
{
    bool writes = c->store != COMMIT_TO_KAFKA;
    if (!*err && writes && begin_item(c, op, err) == COMMITTER_SEND)
        return COMMITTER_SEND;
    if (*err == ZKC_ERR_NOMEM)
        why_set(why, "committing offsets: out of memory");
    if (!*err && c->kafka_err) {
        *err = c->kafka_err;
        *why = c->kafka_why;
    }
    if (!*err && c->refused > 0 && c->jobs[0].joinable) { /* a rebalance has nobody to tell */
        *err = ZKC_ERR_NOT_OWNED;
        why_set(why,
                "%zu offsets were not written: their session has ended, or somebody else has "
                "written them",
                c->refused);
    }
    end_job(c);
    return COMMITTER_DONE;
}

static enum committer_step begin_job(struct offset_committer *c, struct zk_op *op,
                                     enum zkc_err *err, struct why *why)
{
    const struct commit_job *job = &c->jobs[0];
    c->running = true;
    c->at = 0;
    c->refused = 0;
    c->kafka_err = ZKC_OK;
    if (job->dropped) {
        *err = ZKC_ERR_NOT_OWNED;
        why_set(why, "the session ended, or the partitions went, before the commit began");
    } else if (c->store != COMMIT_TO_ZOOKEEPER && job->count > 0 &&
               begin_store(c, err) == COMMITTER_STORE) {
        return COMMITTER_STORE;
    }
    return go_on(c, op, err, why);
}

enum committer_step committer_stored(struct offset_committer *c, enum zkc_err kafka_err,
                                     const char *text, const struct group_offset *list,
                                     size_t count, struct zk_op *op, uint32_t *id,
                                     enum zkc_err *err, struct why *why)
{
    assert(c->running && c->state == COMMIT_STORING);
    why_clear(why);
    *err = ZKC_OK;
    *id = c->jobs[0].id;
    c->kafka_err = kafka_err;
    why_set(&c->kafka_why, "%s", text);
    mark_refused(c, list, count);
    return go_on(c, op, err, why);
}

enum committer_step committer_next(struct offset_committer *c, const struct zk_result *answer,
                                   struct zk_op *op, uint32_t *id, enum zkc_err *err,
                                   struct why *why, struct group_outputs *out)
{
    why_clear(why);
    *err = ZKC_OK;
    if (!answer && (c->running || c->job_count == 0))
        return COMMITTER_IDLE;
    *id = c->jobs[0].id;
    if (!answer)
        return begin_job(c, op, err, why);
    int zk_rc;
    if (item_next(c, answer, op, &zk_rc, err) == COMMITTER_SEND)
        return COMMITTER_SEND;
    if (!*err)
        end_item(c, zk_rc, out);
    c->refused += !*err && is_refused(c, zk_rc);
    if (!*err && zk_rc != ZK_OK && !is_refused(c, zk_rc)) {
        *err = ZKC_ERR_ZOOKEEPER;
        why_set(why, "writing %s: %s (%d)", c->path, zk_rc_name(zk_rc), zk_rc);
    }
    c->at++;
    return go_on(c, op, err, why);
}

bool committer_is_idle(const struct offset_committer *c)
{
    return c->job_count == 0;
}
