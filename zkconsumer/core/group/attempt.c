#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/group/attempt_parts.h"
#include <assert.h>
#include <stdlib.h>

enum phase {
    PHASE_BEGIN,
    PHASE_SYNC,           /* with zookeeper.sync.before.read */
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

static const uint8_t ORDERS[ZK_VARIANT_COUNT][19] = {
    [ZK_VARIANT_0_8] = {PHASE_BEGIN, PHASE_SYNC, PHASE_BROKERS_STRICT, PHASE_OWN, PHASE_BROKERS,
                        PHASE_STOP, PHASE_COMMIT, PHASE_RELEASE, PHASE_RELEASED, PHASE_SYNC,
                        PHASE_OWN, PHASE_TOPICS, PHASE_MEMBERS, PHASE_MEMBERS_AGAIN, PHASE_DECIDE,
                        PHASE_OFFSETS, PHASE_LEAVE, PHASE_CLAIMS, PHASE_END},
    [ZK_VARIANT_0_7] = {PHASE_BEGIN, PHASE_SYNC, PHASE_BROKERS_STRICT, PHASE_OWN, PHASE_MEMBERS,
                        PHASE_TOPICS, PHASE_STOP, PHASE_COMMIT, PHASE_RELEASE, PHASE_RELEASED,
                        PHASE_DECIDE, PHASE_SYNC, PHASE_OFFSETS, PHASE_LEAVE, PHASE_CLAIMS,
                        PHASE_END},
    [ZK_VARIANT_DOCUMENTED] = {PHASE_BEGIN, PHASE_STOP, PHASE_COMMIT, PHASE_RELEASE, PHASE_RELEASED,
                               PHASE_SYNC, PHASE_BROKERS_STRICT, PHASE_MEMBERS, PHASE_TOPICS,
                               PHASE_DECIDE, PHASE_LEAVE, PHASE_CLAIMS, PHASE_SYNC, PHASE_OFFSETS,
                               PHASE_END},
};

/* Of names, and of what the decision takes of registrations. */
#define VIEW_BYTES_MAX ((size_t)1024 * 1024 * 1024)

static enum phase phase_of(const struct attempt *a)
{
    assert(a->phase < ARRAY_LEN(ORDERS[0]));
    return (enum phase)ORDERS[a->config->variant][a->phase];
}

void attempt_begin(struct attempt *a, const struct attempt_config *config,
                   const struct attempt_start *start, const struct group_claim *owned,
                   size_t owned_count)
{
    attempt_deinit(a);
    arena_init(&a->arena, VIEW_BYTES_MAX);
    a->config = config;
    a->rebalance = start->rebalance;
    a->number = start->number;
    a->watch_brokers = start->watch_brokers;
    a->watch_topics = start->watch_topics;
    a->release = owned;
    a->release_count = owned_count;
    assert(phase_of(a) == PHASE_BEGIN);
}

void attempt_session_ended(struct attempt *a)
{
    size_t end = 0;
    if (a->release_count > 0 && phase_of(a) == PHASE_RELEASE) {
        uint32_t topic = a->release[a->i].topic_index;
        end = a->i;
        while (end < a->release_count && a->release[end].topic_index == topic)
            end++;
        if (a->config->switches.release == ZK_GUARD_SESSION)
            end = a->i + 1; /* what is under way is answered yet */
    }
    a->release_count = end;
}

/* ---- memory ---- */

void attempt_free_topics(struct attempt *a)
{
    for (size_t i = 0; i < a->topic_count; i++)
        zk_topic_deinit(&a->topics[i].data);
    free(a->topics);
    a->topics = NULL;
    a->topic_count = 0;
}

void attempt_deinit(struct attempt *a)
{
    free(a->path);
    free(a->thread_id);
    broker_scan_deinit(&a->brokers);
    zk_registration_deinit(&a->filtering);
    arena_deinit(&a->arena);
    attempt_free_topics(a);
    view_free(&a->view);
    free(a->claims);
    free(a->states);
    free(a->versions);
    creator_deinit(&a->creator);
    arena_deinit(&a->multi);
    *a = (struct attempt){0};
}

/* ---- what the phases share ---- */

enum attempt_step attempt_no_memory(struct attempt *a)
{
    a->is_conflict = false;
    why_set(&a->why, "out of memory");
    return ATTEMPT_FAILED;
}

enum attempt_step attempt_refused(struct attempt *a, const char *what, const char *path, int zk_rc)
{
    a->is_conflict = false;
    why_set(&a->why, "%s %s: %s (%d)", what, path, zk_rc_name(zk_rc), zk_rc);
    return ATTEMPT_FAILED;
}

enum attempt_step attempt_send_take(struct attempt *a, struct zk_op *op, enum zk_op_type type,
                                    char *path, bool watch)
{
    free(a->path);
    a->path = path;
    if (!path)
        return attempt_no_memory(a);
    *op = (struct zk_op){.type = type, .path = path, .version = ZK_ANY_VERSION, .watch = watch};
    return ATTEMPT_SEND;
}

/* ---- the order ---- */

static enum attempt_step begin_phase(struct attempt *a, bool leaving, struct zk_op *op,
                                     struct group_outputs *out)
{
    a->i = 0;
    switch (phase_of(a)) {
    case PHASE_BEGIN: break;
    case PHASE_SYNC: return sync_begin(a, op);
    case PHASE_BROKERS_STRICT: return brokers_begin(a, SCAN_STRICT, op);
    case PHASE_BROKERS: return brokers_begin(a, SCAN_PRESENT, op);
    case PHASE_OWN: return own_begin(a, op);
    case PHASE_STOP: return ATTEMPT_STOP;
    case PHASE_COMMIT: return ATTEMPT_COMMIT;
    case PHASE_RELEASE: return release_begin(a, op);
    case PHASE_RELEASED: return ATTEMPT_RELEASED;
    case PHASE_TOPICS: return topics_begin(a, op);
    case PHASE_MEMBERS:
    case PHASE_MEMBERS_AGAIN: return members_begin(a, op);
    case PHASE_DECIDE: return decide_begin(a, out);
    case PHASE_OFFSETS: return offsets_begin(a, op);
    case PHASE_LEAVE:
        if (!leaving)
            return ATTEMPT_NEXT_PHASE;
        why_set(&a->why, "the member is shutting down");
        a->is_shutdown = true;
        return ATTEMPT_FAILED;
    case PHASE_CLAIMS: return claims_begin(a, op, out);
    case PHASE_END: return ATTEMPT_DONE;
    }
    return ATTEMPT_NEXT_PHASE;
}

static enum attempt_step answer_phase(struct attempt *a, const struct zk_result *answer,
                                      struct zk_op *op, struct group_outputs *out)
{
    if (a->claiming == CLAIM_UNDOING)
        return undo_answer(a, answer, op, out);
    switch (phase_of(a)) {
    case PHASE_SYNC: return sync_answer(a, answer);
    case PHASE_BROKERS_STRICT:
    case PHASE_BROKERS: return brokers_answer(a, answer, op);
    case PHASE_OWN: return own_answer(a, answer, op);
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
    enum attempt_step step = answer            ? answer_phase(a, answer, op, out)
                             : a->fetched.came ? offsets_fetched(a, op)
                                               : ATTEMPT_NEXT_PHASE;
    while (step == ATTEMPT_NEXT_PHASE) {
        a->phase++;
        step = begin_phase(a, leaving, op, out);
    }
    return step;
}
