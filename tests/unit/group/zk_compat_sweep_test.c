/* Two members join, consume, commit and see partitions added; at each single request of either
 * (each third where it is not 0.8's order), in turn, something happens to it. So every state of the
 * machine meets every fault. Afterwards the group must have settled by itself: every partition has
 * the owner that the rule says, and nothing is left over. */
#include "tests/unit/group/world.h"
#include "tests/unit/test.h"

#define STEPS_MAX 5000

enum fault {
    FAULT_CUT_BEFORE, /* the connection is lost, and the request with it */
    FAULT_CUT_AFTER,  /* ... or only its answer */
    FAULT_EXPIRE,
    FAULT_EXPIRE_TWICE, /* here and at the next request but two */
    FAULT_LEAVE,
    FAULT_CRASH,
    FAULT_REFUSED, /* an error that is none of those expected */
};

static const char *const names[] = {"cut before", "cut after", "expired", "expired twice",
                                    "leaves",     "crashes",   "refused"};

struct injection {
    enum fault fault;
    int member;
    int request;
    int done;
    char what[100]; /* the request that was hit */
};

static bool is_hit(const struct injection *i, const struct world_request *r)
{
    if (r->member->number != i->member)
        return false;
    return r->number == i->request ||
           (i->fault == FAULT_EXPIRE_TWICE && r->number == i->request + 3);
}

static enum world_verdict inject(struct world *w, const struct world_request *r, int *zk_rc,
                                 void *user)
{
    (void)w;
    struct injection *i = user;
    if (!is_hit(i, r))
        return WORLD_RUN;
    i->done++;
    snprintf(i->what, sizeof i->what, "lane %d, %s %s", r->lane, zk_op_name(r->op->type),
             zk_op_path(r->op));
    switch (i->fault) {
    case FAULT_CUT_BEFORE: return WORLD_CUT_BEFORE;
    case FAULT_CUT_AFTER: return WORLD_CUT_AFTER;
    case FAULT_EXPIRE:
    case FAULT_EXPIRE_TWICE: return WORLD_EXPIRE_AFTER;
    case FAULT_LEAVE: world_leave(r->member); return WORLD_RUN;
    case FAULT_CRASH: world_crash(r->member); return WORLD_CUT_BEFORE;
    case FAULT_REFUSED: *zk_rc = ZK_NO_AUTH; return WORLD_FAIL;
    }
    return WORLD_RUN;
}

static void consume_all(struct world *w)
{
    struct world_member *m;
    for (size_t i = 0; (m = world_member_at(w, i)); i++) {
        world_consume(m, 3);
        if (m->machine)
            world_commit(m);
    }
    world_settle(w, STEPS_MAX);
}

/* After a refusal 0.8.2 may have deleted a node of another's (F26): the next event mends that. */
static void mend(struct world *w, const struct injection *i, const struct zk_compat_config *config)
{
    if (i->fault != FAULT_REFUSED)
        return;
    world_join(w, config);
    world_settle(w, STEPS_MAX);
}

/* Giving up is allowed to one that leaves, and to one whose session ends again while the handler of
 * the first end waits for the lock: until the lock is free nobody registers it (0.8.2's one event
 * thread), so that the attempts of whoever has the lock fail. */
static void check(struct world *w, const struct injection *i, int variant)
{
    const char *why = world_unsettled(w);
    struct world_member *m = world_member_at(w, (size_t)i->member);
    if (!why && (i->fault == FAULT_LEAVE || i->fault == FAULT_CRASH) && m->machine)
        why = "is still there";
    if (!why && m->give_ups > 0 && (i->fault <= FAULT_EXPIRE || i->fault == FAULT_CRASH))
        why = "has given up";
    if (why)
        fail_msg("variant %d, m%d %s at request %d (%s): %s", variant, i->member, names[i->fault],
                 i->request, i->what, why);
}

static void run(const struct zk_compat_config *config, struct injection *injection)
{
    struct world *w = world_new(&(struct world_options){.seed = (uint64_t)injection->request});
    world_set_hook(w, inject, injection);
    world_put_topic(w, "t", 5);
    world_join(w, config);
    world_settle(w, STEPS_MAX);
    consume_all(w);
    world_join(w, config);
    world_settle(w, STEPS_MAX);
    consume_all(w);
    world_put_topic(w, "t", 7);
    world_settle(w, STEPS_MAX);
    mend(w, injection, config);
    if (injection->done > 0)
        check(w, injection, (int)config->variant);
    world_free(w);
}

static struct zk_compat_config config_of(enum zk_variant variant)
{
    struct zk_compat_config c = world_config();
    c.variant = variant;
    c.watch_brokers = variant != ZK_VARIANT_0_8;
    c.strategy = variant == ZK_VARIANT_DOCUMENTED ? ASSIGN_CEIL : ASSIGN_RANGE;
    c.rebalance_attempts_max = 10;
    c.rebalance_backoff_ms = 200;
    return c;
}

/* GROUP_SWEEP_STRIDE=n: only each n-th. */
static int stride(void)
{
    const char *text = getenv("GROUP_SWEEP_STRIDE");
    return text ? atoi(text) : 1;
}

/* None, and all that end by themselves; but with events one by one the event thread may wait for
 * ever for the member's own node (KAFKA-1387) after one end of the session more. */
static const struct zk_switches switches[] = {{.watch_owners = false},
                                              {.watch_owners = true,
                                               .claim = ZK_CLAIM_MULTI,
                                               .release = ZK_GUARD_SESSION,
                                               .commit = ZK_GUARD_SESSION,
                                               .fence = ZK_FENCE_DISCONNECT,
                                               .sync_before_read = true}};

static void test_every_request(void **state)
{
    const enum fault fault = *(const enum fault *)*state;
    for (int k = 0; k < 2 * ZK_VARIANT_COUNT; k++) {
        int v = k % ZK_VARIANT_COUNT;
        struct zk_compat_config c = config_of((enum zk_variant)v);
        c.switches = switches[k / ZK_VARIANT_COUNT];
        for (int member = 0; member < 2; member++) {
            struct injection i = {.fault = fault, .member = member, .done = 1};
            int every = (k == ZK_VARIANT_0_8 ? 1 : 3) * stride();
            for (; i.done > 0; i.request += every) {
                i.done = 0;
                run(&c, &i);
            }
            assert_in_range(i.request, 30, 300);
        }
    }
}

int main(void)
{
    static const enum fault faults[] = {FAULT_CUT_BEFORE,   FAULT_CUT_AFTER, FAULT_EXPIRE,
                                        FAULT_EXPIRE_TWICE, FAULT_LEAVE,     FAULT_CRASH,
                                        FAULT_REFUSED};
    struct CMUnitTest tests[ARRAY_LEN(faults)];
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func = test_every_request,
                                       .initial_state = (void *)(uintptr_t)&faults[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
