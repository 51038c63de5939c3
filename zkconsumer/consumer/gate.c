#include "zkconsumer/consumer/gate.h"
#include "zkconsumer/consumer/loop.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define STATE_SHIFT   62
#define POSITION_MASK ((UINT64_C(1) << STATE_SHIFT) - 1)

static int64_t position_of(uint64_t word)
{
    return (int64_t)(word & POSITION_MASK) - 1;
}

/* Positions come from znodes and brokers, where anything may stand. */
static int64_t bounded(int64_t position)
{
    if (position < -1)
        return -1;
    return position > GATE_POSITION_MAX ? GATE_POSITION_MAX : position;
}

void gate_init(struct gate *gate, int64_t position)
{
    atomic_init(&gate->word, (uint64_t)(bounded(position) + 1));
}

enum gate_state gate_state(const struct gate *gate)
{
    uint64_t bits = atomic_load_explicit(&gate->word, memory_order_acquire) >> STATE_SHIFT;
    return bits & GATE_LOST ? GATE_LOST : (enum gate_state)bits;
}

int64_t gate_position(const struct gate *gate)
{
    return position_of(atomic_load_explicit(&gate->word, memory_order_acquire));
}

bool gate_move(struct gate *gate, int64_t position)
{
    uint64_t next = (uint64_t)(bounded(position) + 1);
    uint64_t seen = atomic_load_explicit(&gate->word, memory_order_relaxed);
    do {
        if (seen >> STATE_SHIFT)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&gate->word, &seen, next, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return true;
}

bool gate_raise(struct gate *gate, int64_t position)
{
    return position >= 0 && gate_pass(gate, bounded(position) - 1) == GATE_PASSED;
}

bool gate_take_back(struct gate *gate, int64_t offset, uint64_t from)
{
    uint64_t seen = (uint64_t)offset + 2; /* as gate_pass_from() left it */
    return atomic_compare_exchange_strong(&gate->word, &seen, from);
}

int64_t gate_close(struct gate *gate, enum gate_state state)
{
    assert(state == GATE_REVOKED || state == GATE_LOST);
    uint64_t bits = (uint64_t)state << STATE_SHIFT;
    return position_of(atomic_fetch_or_explicit(&gate->word, bits, memory_order_acq_rel));
}

/* ---- leases ---- */

struct gate_lease *gate_lease_new(void)
{
    struct gate_lease *lease = malloc(sizeof *lease);
    if (!lease)
        return NULL;
    atomic_init(&lease->end_ms, 0);
    atomic_init(&lease->refs, 1);
    lease->now_ms = loop_now_ms;
    return lease;
}

struct gate_lease *gate_lease_ref(struct gate_lease *lease)
{
    atomic_fetch_add_explicit(&lease->refs, 1, memory_order_relaxed);
    return lease;
}

void gate_lease_unref(struct gate_lease *lease)
{
    if (lease && atomic_fetch_sub_explicit(&lease->refs, 1, memory_order_acq_rel) == 1)
        free(lease);
}

void gate_lease_move(struct gate_lease *lease, int64_t end_ms)
{
    /* Only the loop writes it. */
    if (atomic_load_explicit(&lease->end_ms, memory_order_relaxed) != INT64_MIN)
        atomic_store_explicit(&lease->end_ms, end_ms, memory_order_release);
}

void gate_lease_end(struct gate_lease *lease)
{
    atomic_store_explicit(&lease->end_ms, INT64_MIN, memory_order_release);
}

/* ---- claims ---- */

/* A pause this long ends a run, so that the times between its first and last message are about
 * even. */
#define RUN_PAUSE_NS (INT64_C(100) * 1000 * 1000)
#define RUNS_MAX     4096

struct runs {
    struct delivered *list;
    size_t count, cap;
};

/* With tracing on, passing the gate and noting it are one step under this lock. */
struct deliveries {
    pthread_mutex_t lock;
    struct runs runs;
    uint64_t lost;
    struct runs spare; /* the loop's: what `runs` is exchanged for */
};

static struct deliveries *deliveries_new(void)
{
    struct deliveries *d = calloc(1, sizeof *d);
    if (d)
        pthread_mutex_init(&d->lock, NULL);
    return d;
}

static void deliveries_free(struct deliveries *d)
{
    if (!d)
        return;
    free(d->runs.list);
    free(d->spare.list);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

struct claim *claim_new(zkc_stream *stream, int32_t partition, int64_t position, bool is_traced)
{
    struct claim *claim = malloc(sizeof *claim);
    if (!claim)
        return NULL;
    *claim = (struct claim){
        .topic = stream ? zkc_stream_topic(stream) : "", .partition = partition, .stream = stream};
    gate_init(&claim->gate, position);
    atomic_init(&claim->refs, 1);
    if (is_traced && !(claim->deliveries = deliveries_new())) {
        free(claim);
        return NULL;
    }
    return claim;
}

struct claim *claim_ref(struct claim *claim)
{
    atomic_fetch_add_explicit(&claim->refs, 1, memory_order_relaxed);
    return claim;
}

void claim_unref(struct claim *claim)
{
    if (!claim || atomic_fetch_sub_explicit(&claim->refs, 1, memory_order_acq_rel) > 1)
        return;
    deliveries_free(claim->deliveries);
    gate_lease_unref(claim->lease);
    free(claim);
}

void claim_bind(struct claim *claim, struct gate_lease *lease, bool counts_when_taken)
{
    int64_t position = gate_position(&claim->gate);
    claim->lease = gate_lease_ref(lease);
    claim->counts_when_taken = counts_when_taken;
    atomic_init(&claim->handed, position);
    atomic_init(&claim->finished, position);
    atomic_init(&claim->drain_wanted, false);
    atomic_init(&claim->is_void, false);
}

bool claim_is_drained(const struct claim *claim)
{
    /* finished first: it only follows handed, so what lies between the two loads errs towards no.
     */
    int64_t finished = atomic_load(&claim->finished);
    return atomic_load(&claim->handed) <= finished;
}

bool claim_want_drained(struct claim *claim)
{
    atomic_store(&claim->drain_wanted, true);
    return claim_is_drained(claim);
}

enum zkc_err claim_finish(struct claim *claim, int64_t next, bool *is_drained)
{
    *is_drained = false;
    if (atomic_load(&claim->is_void))
        return ZKC_ERR_NOT_OWNED;
    if (next > atomic_load(&claim->handed))
        return ZKC_ERR_INVALID;
    int64_t seen = atomic_load(&claim->finished);
    while (next > seen && !atomic_compare_exchange_weak(&claim->finished, &seen, next)) {
    }
    *is_drained = atomic_load(&claim->drain_wanted) && claim_is_drained(claim);
    return ZKC_OK;
}

bool claim_hears_finished(const struct claim *claim)
{
    atomic_thread_fence(memory_order_seq_cst); /* finished is seen, or drain_wanted is */
    return atomic_load(&claim->drain_wanted) && claim_is_drained(claim);
}

void claim_skip(struct claim *claim, int64_t position)
{
    if (!claim_is_drained(claim))
        return;
    atomic_store(&claim->finished, position);
    atomic_store(&claim->handed, position);
}

void claim_void(struct claim *claim)
{
    atomic_store(&claim->is_void, true);
}

void claim_replace(struct claim *claim, struct claim *older, bool is_continuation)
{
    claim->older = older;
    claim->is_continuation = is_continuation;
}

/* Nothing of the older ones is out any more: they are not needed. */
static void drop_drained(struct claim *claim)
{
    while (claim->older && claim_is_drained(claim->older)) {
        struct claim *older = claim->older;
        claim->older = older->older;
        claim->is_continuation = claim->is_continuation && older->is_continuation;
        claim_unref(older);
    }
}

int64_t claims_finished(struct claim *newest)
{
    struct claim *claim = newest;
    if (!newest)
        return -1;
    for (;;) {
        drop_drained(claim);
        if (!claim->older || !claim->is_continuation)
            return atomic_load(&claim->finished);
        claim = claim->older;
    }
}

bool claims_drained(struct claim *newest, bool wants_drained)
{
    bool is_drained = true;
    for (struct claim *claim = newest; claim; claim = claim->older)
        is_drained =
            (wants_drained ? claim_want_drained(claim) : claim_is_drained(claim)) && is_drained;
    return is_drained;
}

void claims_end(struct claim *newest)
{
    while (newest) {
        struct claim *older = newest->older;
        claim_void(newest);
        claim_unref(newest);
        newest = older;
    }
}

static bool runs_grow(struct runs *runs)
{
    size_t cap = runs->cap ? runs->cap * 2 : 8;
    struct delivered *list = realloc(runs->list, cap * sizeof *list);
    if (!list)
        return false;
    runs->list = list;
    runs->cap = cap;
    return true;
}

static void note(struct deliveries *d, int64_t offset, int64_t now_ns)
{
    struct runs *runs = &d->runs;
    struct delivered *last = runs->count ? &runs->list[runs->count - 1] : NULL;
    if (last && offset == last->last + 1 && now_ns - last->last_ns < RUN_PAUSE_NS) {
        last->last = offset;
        last->last_ns = now_ns;
        return;
    }
    if (runs->count == RUNS_MAX || (runs->count == runs->cap && !runs_grow(runs))) {
        d->lost++;
        return;
    }
    runs->list[runs->count++] =
        (struct delivered){.first = offset, .last = offset, .first_ns = now_ns, .last_ns = now_ns};
}

/* A message has passed the gate, and the lease is over. */
static enum gate_answer take_back(struct claim *claim, int64_t offset, uint64_t from,
                                  int64_t handed_before)
{
    if (claim->counts_when_taken || !gate_take_back(&claim->gate, offset, from))
        return GATE_LATE;
    atomic_store(&claim->handed, handed_before);
    /* If the gate was closed before this store, the loop may have found the claim not drained: the
     * taker must look at drain_wanted, as whenever it meets a closed gate. */
    return atomic_load(&claim->gate.word) >> STATE_SHIFT ? GATE_CLOSED : GATE_FENCED;
}

/* gate_pass() under a lease. `handed` is raised before: whoever closes the gate after this message
 * has passed sees it. If it did not pass it is not in anybody's hands.
 *
 * The clock is read last, so that this one look tells both whether the message may go and whether
 * it would be late: a thread that is held up anywhere before it, from reading the message on, sees
 * that. A look in front of the gate would need a second one behind it, to know that. */
static enum gate_answer pass_bound(struct claim *claim, int64_t offset)
{
    if (gate_is_closed(&claim->gate))
        return GATE_CLOSED;
    if (claim->counts_when_taken && gate_lease_is_over(claim->lease))
        return GATE_FENCED;
    int64_t before = atomic_load_explicit(&claim->handed, memory_order_relaxed);
    if (offset >= before)
        atomic_store_explicit(&claim->handed, offset + 1, memory_order_relaxed);
    uint64_t from;
    enum gate_answer answer = gate_pass_from(&claim->gate, offset, &from);
    if (answer != GATE_PASSED) {
        atomic_store(&claim->handed, before);
        return answer;
    }
    claim->passed_ms = claim->lease->now_ms();
    if (gate_lease_is_over_at(claim->lease, claim->passed_ms))
        return take_back(claim, offset, from, before);
    return GATE_PASSED;
}

static enum gate_answer pass(struct claim *claim, int64_t offset)
{
    return claim->lease ? pass_bound(claim, offset) : gate_pass(&claim->gate, offset);
}

enum gate_answer claim_pass(struct claim *claim, int64_t offset)
{
    struct deliveries *d = claim->deliveries;
    if (!d)
        return pass(claim, offset);
    pthread_mutex_lock(&d->lock);
    enum gate_answer answer = pass(claim, offset);
    if (answer == GATE_PASSED || answer == GATE_LATE)
        note(d, offset, loop_now_ns());
    pthread_mutex_unlock(&d->lock);
    return answer;
}

int64_t claim_close(struct claim *claim, enum gate_state state)
{
    struct deliveries *d = claim->deliveries;
    if (!d)
        return gate_close(&claim->gate, state);
    pthread_mutex_lock(&d->lock);
    int64_t position = gate_close(&claim->gate, state);
    pthread_mutex_unlock(&d->lock);
    return position;
}

uint64_t claim_collect(struct claim *claim, claim_delivered_fn *fn, void *user)
{
    struct deliveries *d = claim->deliveries;
    if (!d)
        return 0;
    pthread_mutex_lock(&d->lock);
    struct runs taken = d->runs;
    d->runs = d->spare;
    uint64_t lost = d->lost;
    d->lost = 0;
    pthread_mutex_unlock(&d->lock);
    for (size_t i = 0; i < taken.count; i++)
        fn(claim, &taken.list[i], user);
    taken.count = 0;
    d->spare = taken;
    return lost;
}
