#include "tests/unit/test.h"
#include <zkconsumer/version.h>

static void test_number_and_text_agree(void **state)
{
    (void)state;
    char text[32];
    int v = zkc_version();
    snprintf(text, sizeof text, "%d.%d.%d", v >> 24 & 0xff, v >> 16 & 0xff, v >> 8 & 0xff);
    assert_string_equal(zkc_version_text(), text);
    assert_string_equal(zkc_version_text(), ZKC_VERSION_TEXT);
    assert_int_equal(v, ZKC_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_number_and_text_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
