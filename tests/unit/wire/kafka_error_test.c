#include "tests/unit/test.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/kafka_error.h"

static const struct error_case {
    int16_t code;
    const char *name;
    bool retriable, stale;
} cases[] = {
    {-1, "UNKNOWN_SERVER_ERROR", false, false},
    {0, "NONE", false, false},
    {1, "OFFSET_OUT_OF_RANGE", false, false},
    {2, "CORRUPT_MESSAGE", true, false},
    {3, "UNKNOWN_TOPIC_OR_PARTITION", true, true},
    {5, "LEADER_NOT_AVAILABLE", true, true},
    {6, "NOT_LEADER_OR_FOLLOWER", true, true},
    {7, "REQUEST_TIMED_OUT", true, false},
    {9, "REPLICA_NOT_AVAILABLE", true, true},
    {16, "NOT_COORDINATOR", true, false},
    {20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", true, false},
    {27, "REBALANCE_IN_PROGRESS", false, false},
    {35, "UNSUPPORTED_VERSION", false, false},
    {56, "KAFKA_STORAGE_ERROR", true, true},
    {76, "UNSUPPORTED_COMPRESSION_TYPE", false, false},
    {100, "UNKNOWN_TOPIC_ID", true, true},
    {127, "VOTER_NOT_FOUND", false, false},
    {128, "UNKNOWN", false, false},
    {-2, "UNKNOWN", false, false},
    {INT16_MIN, "UNKNOWN", false, false},
    {INT16_MAX, "UNKNOWN", false, false},
};

static void test_known_and_unknown_codes(void **state)
{
    (void)state;
    for (const struct error_case *t = cases; t < cases + ARRAY_LEN(cases); t++)
        if (strcmp(kafka_error_name(t->code), t->name) != 0 ||
            kafka_error_is_retriable(t->code) != t->retriable ||
            kafka_error_is_stale_metadata(t->code) != t->stale)
            fail_msg("code %d: %s", t->code, kafka_error_name(t->code));
    assert_string_equal(kafka_error_text(KAFKA_ERR_LEADER_NOT_AVAILABLE),
                        "the partition has no leader at the moment");
}

/* No hole in the table, and no code that is unknown twice. */
static void test_every_code_has_a_row(void **state)
{
    (void)state;
    int retriable = 0, stale = 0;
    for (int code = -1; code <= KAFKA_ERR_VOTER_NOT_FOUND; code++) {
        assert_non_null(kafka_error_name((int16_t)code));
        assert_string_not_equal(kafka_error_name((int16_t)code), "UNKNOWN");
        assert_true(strlen(kafka_error_text((int16_t)code)) > 5);
        assert_true(strlen(kafka_error_text((int16_t)code)) < 80);
        retriable += kafka_error_is_retriable((int16_t)code);
        stale += kafka_error_is_stale_metadata((int16_t)code);
    }
    /* Counted in Errors of Kafka 3.9.1. */
    assert_int_equal(retriable, 31);
    assert_int_equal(stale, 13);
}

static void test_apis(void **state)
{
    (void)state;
    assert_string_equal(api_find(API_FETCH)->name, "Fetch");
    assert_string_equal(api_find(API_LIST_OFFSETS)->name, "ListOffsets");
    assert_string_equal(api_find(API_METADATA)->name, "Metadata");
    for (int key = INT16_MIN; key <= INT16_MAX; key++) {
        const struct api *api = api_find((int16_t)key);
        assert_true(!api || (api->key == key && api->version_min <= api->version_max));
    }
    assert_string_equal(api_find(API_PRODUCE)->name, "Produce");
    assert_null(api_find(10)); /* ConsumerMetadata */
    assert_null(api_find(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_and_unknown_codes),
        cmocka_unit_test(test_every_code_has_a_row),
        cmocka_unit_test(test_apis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
