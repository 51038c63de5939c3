/* The phrases of 0.8.2's log that operators look for. */
#include "tests/unit/group/story.h"

enum {
    BEGIN,
    END,
    ATTEMPT_FAILED_,
    GAVE_UP,
    IDLE,
    CLAIMING,
    OWNED,
    WAITING,
    EXPIRED,
    EXCEPTION,
    PHRASES
};

static const char *const phrases[PHRASES + 1] = {
    [BEGIN] = "begin rebalancing consumer g_m0 try #",
    [END] = "end rebalancing consumer g_m0 try #",
    [ATTEMPT_FAILED_] = "Rebalancing attempt failed",
    [GAVE_UP] = "can't rebalance after 4 retries",
    [IDLE] = "No broker partitions consumed by consumer thread",
    [CLAIMING] = "attempting to claim partition",
    [OWNED] = "successfully owned partition",
    [WAITING] = "waiting for the partition ownership to be deleted",
    [EXPIRED] = "ZK expired; release old broker",
    [EXCEPTION] = "exception during rebalance",
};

static void expect(struct world_member *m, const char *story, unsigned said)
{
    for (int i = 0; i < PHRASES; i++) {
        bool want = said >> i & 1;
        if (m->said[i] != want)
            fail_msg("%s: \"%s\" was %ssaid", story, phrases[i], want ? "not " : "");
        m->said[i] = false;
    }
}

#define SAID(phrase) (1u << (phrase))

static void test_phrases(void **state)
{
    (void)state;
    struct world *w = new_world(1);
    world_listen(w, phrases);
    struct world_member *m = join(w);
    settle(w);
    expect(m, "join", SAID(BEGIN) | SAID(END) | SAID(CLAIMING) | SAID(OWNED));
    world_expire(m);
    settle(w);
    expect(m, "expiry", SAID(BEGIN) | SAID(END) | SAID(CLAIMING) | SAID(OWNED) | SAID(EXPIRED));
    world_put(w, "/consumers/g/owners/t/1", "g_ghost-0");
    world_put_topic(w, "t", 2);
    settle(w);
    expect(m, "conflict, given up",
           SAID(BEGIN) | SAID(END) | SAID(CLAIMING) | SAID(OWNED) | SAID(WAITING) |
               SAID(ATTEMPT_FAILED_) | SAID(GAVE_UP));
    assert_int_equal(m->said_level[GAVE_UP], 3);
    world_remove(w, "/consumers/g/owners/t/1");
    world_put(w, "/consumers/g/ids/g_odd", "no JSON");
    settle(w);
    expect(m, "a registration that cannot be read",
           SAID(BEGIN) | SAID(END) | SAID(EXCEPTION) | SAID(ATTEMPT_FAILED_) | SAID(GAVE_UP));
    world_remove(w, "/consumers/g/ids/g_odd");
    world_put_topic(w, "t", 0);
    settle(w);
    expect(m, "nothing to own", SAID(BEGIN) | SAID(END) | SAID(IDLE));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_phrases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
