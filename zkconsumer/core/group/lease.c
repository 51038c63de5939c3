#include "zkconsumer/core/group/lease.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/op.h"
#include <assert.h>

/* Clock rates differ by 2 % at most; the grain covers times cut to milliseconds on both sides. */
#define RATE_DIVISOR 50
#define GRAIN_MS     2

/* With this many probes in the time of a session each renewal leaves a third of it to spare. */
#define PROBES_IN_SESSION 3

static const char *const bug_names[ZK_SAFE_BUG_COUNT] = {
    "lease-from-receipt",    "lease-from-last-probe",
    "lease-one-write",       "lease-on-read",
    "commit-in-new-session", "claim-by-text",
    "registration-by-text",  "registrations-by-name",
    "view-without-self",     "unresolved-forgotten",
    "release-before-drain",  "store-after-lease",
    "release-before-stored", "error-is-no-offset",
    "lease-without-margin",  "unfenced",
};

const char *zk_safe_bug_name(unsigned number)
{
    assert(number < ARRAY_LEN(bug_names));
    return bug_names[number];
}

void lease_init(struct lease *l, enum zk_fence fence, unsigned bugs)
{
    *l = (struct lease){.fence = fence, .bugs = bugs, .end_ms = INT64_MIN, .is_over = true};
}

static void extend(struct lease *l, int64_t from_ms)
{
    int64_t margin = l->timeout_ms / RATE_DIVISOR + GRAIN_MS;
    if (l->bugs & ZK_SAFE_BUG_LEASE_WITHOUT_MARGIN)
        margin = 0;
    int64_t end = from_ms + l->timeout_ms - margin;
    if (end > l->end_ms)
        l->end_ms = end;
}

static void begin_chain(struct lease *l, int64_t probe_at_ms)
{
    l->state = LEASE_IDLE;
    l->has_last = false;
    l->probe_at_ms = probe_at_ms;
}

void lease_connected(struct lease *l, int64_t now_ms, int64_t timeout_ms, int64_t connect_sent_ms,
                     bool is_new)
{
    assert(connect_sent_ms <= now_ms);
    assert(is_new || !l->is_over);
    if (l->bugs & ZK_SAFE_BUG_LEASE_FROM_RECEIPT)
        connect_sent_ms = now_ms;
    l->timeout_ms = timeout_ms;
    l->is_connected = true;
    l->has_anchor = !is_new;
    l->anchor_ms = connect_sent_ms;
    if (is_new) { /* to create a session is a quorum's write, and touches */
        l->is_over = false;
        l->end_ms = INT64_MIN;
        extend(l, connect_sent_ms);
    }
    begin_chain(l, is_new ? now_ms + timeout_ms / PROBES_IN_SESSION : now_ms);
}

void lease_disconnected(struct lease *l)
{
    l->is_connected = false;
    l->has_anchor = false;
    begin_chain(l, INT64_MAX);
}

void lease_over(struct lease *l)
{
    lease_disconnected(l);
    l->is_over = true;
    l->end_ms = INT64_MIN;
}

bool lease_is_due(const struct lease *l, int64_t now_ms)
{
    return now_ms >= lease_deadline_ms(l);
}

bool lease_is_first(const struct lease *l)
{
    return l->state == LEASE_IDLE || l->state == LEASE_FIRST;
}

void lease_sent(struct lease *l, int64_t now_ms)
{
    assert(lease_is_due(l, now_ms));
    if (l->state == LEASE_IDLE)
        l->first_sent_ms = now_ms;
    l->state = l->state == LEASE_IDLE ? LEASE_FIRST : LEASE_SECOND;
}

/* The probe is complete: the touch of the one before is proven. */
static void complete(struct lease *l, int64_t now_ms)
{
    if (l->bugs & ZK_SAFE_BUG_LEASE_FROM_RECEIPT)
        extend(l, now_ms);
    else if (l->bugs & ZK_SAFE_BUG_LEASE_FROM_LAST_PROBE)
        extend(l, l->first_sent_ms);
    else if (l->has_last)
        extend(l, l->last_sent_ms);
    l->has_last = true;
    l->last_sent_ms = l->first_sent_ms;
    l->state = LEASE_IDLE;
}

void lease_answered(struct lease *l, int64_t now_ms)
{
    if (l->state != LEASE_FIRST && l->state != LEASE_SECOND)
        return; /* of a chain that was broken off */
    if (l->has_anchor) {
        extend(l, l->anchor_ms);
        l->has_anchor = false;
    }
    if (l->state == LEASE_SECOND) {
        complete(l, now_ms);
        return;
    }
    l->probe_at_ms = now_ms + l->timeout_ms / PROBES_IN_SESSION;
    l->state = LEASE_BETWEEN;
    if (l->bugs & ZK_SAFE_BUG_LEASE_ONE_WRITE)
        complete(l, now_ms);
}

void lease_unanswered(struct lease *l, int64_t again_ms)
{
    if (l->is_connected)
        begin_chain(l, again_ms);
}

bool lease_is_answer(int zk_rc)
{
    switch (zk_rc) {
    case ZK_SESSION_EXPIRED:
    case ZK_SESSION_MOVED:
    case ZK_AUTH_FAILED:
    case ZK_CLOSING: return false;
    }
    return zk_rc == ZK_OK || zk_rc < ZK_API_ERROR;
}

int64_t lease_end_ms(const struct lease *l)
{
    if (l->is_over)
        return INT64_MIN;
    switch (l->fence) {
    case ZK_FENCE_NONE: return INT64_MAX;
    case ZK_FENCE_DISCONNECT: return l->is_connected ? INT64_MAX : INT64_MIN;
    case ZK_FENCE_LEASE: break;
    }
    return l->end_ms;
}

int64_t lease_deadline_ms(const struct lease *l)
{
    if (l->fence != ZK_FENCE_LEASE || !l->is_connected)
        return INT64_MAX;
    switch (l->state) {
    case LEASE_IDLE: return l->probe_at_ms;
    case LEASE_BETWEEN: return INT64_MIN; /* the second goes out as soon as the first is answered */
    case LEASE_FIRST:
    case LEASE_SECOND: break;
    }
    return INT64_MAX;
}
