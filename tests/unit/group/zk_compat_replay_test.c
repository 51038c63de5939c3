/* compat against what Kafka 0.8.2.2 really did. One test a scene and member. */
#include "tests/unit/group/replay.h"
#include "tests/unit/test.h"

static const struct replay_scene scenes[] = {
    {.scene = "first-member", .member = "m1"},
    {.scene = "join-leave", .member = "m1"},
    {.scene = "join-leave", .member = "m2"},
    {.scene = "join-leave", .member = "m3"},
    {.scene = "crash", .member = "m1"},
    {.scene = "crash", .member = "m2"},
    {.scene = "two-at-once", .member = "m1"},
    {.scene = "two-at-once", .member = "m2", .expect_gave_up = true},
    {.scene = "five-at-once", .member = "m1"},
    {.scene = "five-at-once", .member = "m2"},
    {.scene = "five-at-once", .member = "m3"},
    {.scene = "five-at-once", .member = "m4"},
    {.scene = "five-at-once", .member = "m5"},
    {.scene = "five-at-once", .member = "m6"},
    {.scene = "partitions-added", .member = "m1"},
    {.scene = "partitions-added", .member = "m2"},
    {.scene = "broker-added-removed", .member = "m1"},
    {.scene = "streams-topics", .member = "m1"},
    {.scene = "streams-topics", .member = "m2"},
    {.scene = "streams-topics", .member = "m3"},
    {.scene = "streams-topics", .member = "m4"},
    {.scene = "more-members-than-partitions", .member = "m1"},
    {.scene = "more-members-than-partitions", .member = "m2"},
    {.scene = "more-members-than-partitions", .member = "m3"},
    {.scene = "conflict-giveup", .member = "m1", .until_ms = 19000, .expect_gave_up = true},
    {.scene = "conflict-resolved", .member = "m1"},
    {.scene = "conflict-node-gone", .member = "m2"},
    {.scene = "slow-owner", .member = "m2"},
    {.scene = "orphan", .member = "m2", .expect_gave_up = true},
    {.scene = "foreign-owner-deleted", .member = "m1"},
    {.scene = "stale-offset", .member = "m1"},
    {.scene = "stale-offset", .member = "m2"},
    {.scene = "expiry", .member = "m1"},
    {.scene = "expiry", .member = "m2"},
    {.scene = "expiry-alone", .member = "m1"},
    {.scene = "late-commit", .member = "m1", .commit_interval_ms = 1000},
    {.scene = "no-auto-commit", .member = "m1", .auto_commit_off = true},
    {.scene = "connection-loss", .member = "m1"},
    {.scene = "id-exists", .member = "m1"},
    {.scene = "restart-same-id", .member = "m1"},
    {.scene = "topic-missing-then-created",
     .member = "m1",
     .no_leaders_from_ms = 5443,
     .no_leaders_to_ms = 10450},
    {.scene = "bad-registration", .member = "m1", .expect_gave_up = true},
    {.scene = "bad-offset", .member = "m1", .fails_reading_offsets = true, .expect_gave_up = true},
    {.scene = "zero-brokers", .chroot = "/nb", .member = "m1", .no_leaders_to_ms = INT64_MAX},
    {.scene = "commit-timer", .member = "m1", .commit_interval_ms = 1000},
    {.scene = "commit-timer", .member = "m1", .life = 1, .auto_commit_off = true},
    {.scene = "roundrobin", .member = "m1", .roundrobin = true, .expect_gave_up = true},
    {.scene = "static-and-filter", .member = "m1"},
    {.scene = "static-and-filter", .member = "m3"},
    {.scene = "static-and-filter", .member = "m2"},
    {.scene = "filter", .member = "m1"},
    {.scene = "filter", .member = "m2"},
    {.scene = "expiry-filter",
     .member = "m1",
     .no_leaders_from_ms = 17370,
     .no_leaders_to_ms = 17515},
    {.scene = "mixed-0.8.1.1", .member = "m1"},
    {.scene = "mixed-0.8.1.1", .member = "m3"},
};

static void test_scene(void **state)
{
    replay_run(*state);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_LEN(scenes)];
    char names[ARRAY_LEN(scenes)][64];
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        snprintf(names[i], sizeof names[i], "%s %s life %d", scenes[i].scene, scenes[i].member,
                 scenes[i].life);
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func = test_scene,
                                       .initial_state = (void *)(uintptr_t)&scenes[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
