#include "tests/unit/zk/plain.h"
#include "tests/unit/test.h"

#define OUTCOME_MAX ((size_t)1024 * 1024)

void expect_same_behind_a_blank(const char *text, size_t len, outcome_fn *outcome)
{
    struct buf a, b;
    char *copy = malloc(len + !len), *blank = malloc(len + 1); /* of their exact sizes */
    assert_true(copy && blank);
    memcpy(copy, text, len);
    blank[0] = ' ';
    memcpy(blank + 1, text, len);
    buf_init(&a, OUTCOME_MAX);
    buf_init(&b, OUTCOME_MAX);
    outcome(bytes_of(copy, len), &a);
    outcome(bytes_of(blank, len + 1), &b);
    if (strcmp(buf_text(&a), buf_text(&b)) != 0)
        fail_msg("%.*s: %s; behind a blank: %s", (int)len, text, buf_text(&a), buf_text(&b));
    buf_deinit(&a);
    buf_deinit(&b);
    free(copy);
    free(blank);
}

void expect_same_when_changed(const char *plain, outcome_fn *outcome)
{
    static const char other[] = "\"\\{}[]:,-+.0159eax \x01\n\x7f\xc3"; /* and zero */
    size_t len = strlen(plain);
    char *text = malloc(len + 1);
    assert_non_null(text);
    expect_same_behind_a_blank(plain, len, outcome);
    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < sizeof other; k++) {
            memcpy(text, plain, len);
            text[i] = other[k];
            expect_same_behind_a_blank(text, len, outcome);
            memcpy(text + i + 1, plain + i, len - i);
            expect_same_behind_a_blank(text, len + 1, outcome);
        }
        memcpy(text, plain, i);
        memcpy(text + i, plain + i + 1, len - i - 1);
        expect_same_behind_a_blank(text, len - 1, outcome);
        expect_same_behind_a_blank(plain, i, outcome);
    }
    free(text);
}
