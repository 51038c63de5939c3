#include "tests/unit/test.h"
#include "zkconsumer/cli/suggest.h"

static const struct {
    const char *a, *b;
    size_t want;
} distances[] = {
    {"", "", 0},
    {"a", "", 1},
    {"", "abc", 3},
    {"group", "group", 0},
    {"grup", "group", 1},
    {"gruop", "group", 1},
    {"groups", "group", 1},
    {"grxup", "group", 1},
    {"kitten", "sitting", 3},
    {"ca", "abc", 3},
};

static void test_distances(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(distances); i++) {
        const char *a = distances[i].a, *b = distances[i].b;
        size_t ab = edit_distance(a, strlen(a), b, strlen(b));
        size_t ba = edit_distance(b, strlen(b), a, strlen(a));
        if (ab != distances[i].want || ba != ab)
            fail_msg("%s, %s: %zu and %zu", a, b, ab, ba);
    }
}

static void test_long_words_are_cut(void **state)
{
    (void)state;
    char a[200], b[300];
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    assert_int_equal(edit_distance(a, sizeof a, b, sizeof b), 0);
    b[10] = 'y';
    assert_int_equal(edit_distance(a, sizeof a, b, sizeof b), 1);
}

static const struct {
    const char *word, *want; /* NULL: none is near */
} suggestions[] = {
    {"topc", "topic"},
    {"tpoic", "topic"},
    {"partitions", "partition"},
    {"part", "partition"},
    {"frobnicate", NULL},
    {"", NULL},
    {"x", NULL},
    {"max-mesages", "max-messages"},
};

static void test_the_nearest_word(void **state)
{
    (void)state;
    static const char *const words[] = {"topic", "partition", "max-messages"};
    for (size_t i = 0; i < ARRAY_LEN(suggestions); i++) {
        struct suggestion s;
        suggestion_init(&s, suggestions[i].word, strlen(suggestions[i].word));
        for (size_t w = 0; w < ARRAY_LEN(words); w++)
            suggestion_offer(&s, words[w], strlen(words[w]));
        const char *got = suggestion_is_near(&s) ? s.nearest : "nothing";
        if (strcmp(got, suggestions[i].want ? suggestions[i].want : "nothing") != 0)
            fail_msg("%s: got %s", suggestions[i].word, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_long_words_are_cut),
        cmocka_unit_test(test_the_nearest_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
