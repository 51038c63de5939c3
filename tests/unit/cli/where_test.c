#include "tests/unit/test.h"
#include "zkconsumer/cli/where.h"

#define LONG_NAME                                                                                  \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"  \
    "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901"  \
    "23456789012345678901234567890123456789012345678901234567890123456789012345678901234"

static const struct {
    const char *text;
    const char *name; /* NULL: refused */
    int32_t streams;
} topics[] = {
    {"orders", "orders", 1},
    {"orders:4", "orders", 4},
    {"a.b-c_D", "a.b-c_D", 1},
    {"orders:1000", "orders", 1000},
    {"orders:1001", NULL, 0},
    {"orders:0", NULL, 0},
    {"orders:-1", NULL, 0},
    {"orders:", NULL, 0},
    {"orders:x", NULL, 0},
    {":4", NULL, 0},
    {"", NULL, 0},
    {"a:1:2", NULL, 0},
    {LONG_NAME, NULL, 0},
};

static void test_topics(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(topics); i++) {
        struct where_topic got;
        char why[512];
        bool ok = where_parse_topic(topics[i].text, &got, why, sizeof why);
        if (ok != (topics[i].name != NULL) ||
            (ok && (strcmp(got.name, topics[i].name) != 0 || got.streams != topics[i].streams)))
            fail_msg("%s", topics[i].text);
    }
}

static const struct {
    const char *text;
    const char *want; /* NULL: refused */
} partitions[] = {
    {"3", "3 "},          {"0,2,5", "0 2 5 "}, {"0-3", "0 1 2 3 "}, {"7,0-2", "7 0 1 2 "},
    {"2-2", "2 "},        {"", NULL},          {",", NULL},         {"1,", NULL},
    {",1", NULL},         {"-1", NULL},        {"3-1", NULL},       {"1,1", NULL},
    {"0-3,2", NULL},      {"a", NULL},         {"1-2-3", NULL},     {"0-99999999", NULL},
    {"2147483648", NULL}, {"1 ,2", NULL},
};

static void test_partitions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(partitions); i++) {
        int32_t *list;
        size_t count;
        char why[512], got[512] = "";
        bool ok = where_parse_partitions(partitions[i].text, &list, &count, why, sizeof why);
        for (size_t p = 0; ok && p < count; p++)
            sprintf(got + strlen(got), "%" PRId32 " ", list[p]);
        if (ok)
            free(list);
        if (ok != (partitions[i].want != NULL) || (ok && strcmp(got, partitions[i].want) != 0))
            fail_msg("\"%s\": %s", partitions[i].text, ok ? got : "refused");
    }
}

static const struct {
    const char *text;
    bool ok;
    struct where_start want;
} starts[] = {
    {"beginning", true, {WHERE_BEGINNING, 0}},
    {"end", true, {WHERE_END, 0}},
    {"stored", true, {WHERE_STORED, 0}},
    {"smallest", true, {WHERE_BEGINNING, 0}},
    {"latest", true, {WHERE_END, 0}},
    {"0", true, {WHERE_OFFSET, 0}},
    {"42", true, {WHERE_OFFSET, 42}},
    {"-5", true, {WHERE_FROM_END, 5}},
    {"-0", true, {WHERE_FROM_END, 0}},
    {"9223372036854775807", true, {WHERE_OFFSET, INT64_MAX}},
    {"9223372036854775808", false, {0}},
    {"", false, {0}},
    {"-", false, {0}},
    {"begin", false, {0}},
    {"1.5", false, {0}},
};

static void test_starts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct where_start got;
        char why[512];
        bool ok = where_parse_start(starts[i].text, &got, why, sizeof why);
        if (ok != starts[i].ok ||
            (ok && (got.kind != starts[i].want.kind || got.n != starts[i].want.n)))
            fail_msg("\"%s\"", starts[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topics),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
