#include "tests/unit/check/traces.h"
#include "study/check/decode.h"
#include "tests/unit/test.h"

char *trace_text(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/traces/%s", TEST_VECTORS, name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t n = fread(text, 1, (1 << 20) - 1, in);
    assert_true(n > 0 && n < (1 << 20) - 1);
    fclose(in);
    return text;
}

char *trace_change(char *text, const char *from, const char *to)
{
    char *at = strstr(text, from);
    if (!at || strstr(at + 1, from))
        fail_msg("%s: expected once, found %s", from, at ? "twice" : "never");
    char *changed = malloc(strlen(text) + strlen(to) + 1);
    assert_non_null(changed);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    free(text);
    return changed;
}

struct check *trace_check(const char *text)
{
    struct check *c = check_new(NULL);
    struct trace_decoder d;
    struct trace_event e;
    struct why why;
    trace_decoder_init(&d);
    assert_non_null(c);
    for (const char *at = text, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        assert_non_null(end);
        if (trace_decode(&d, bytes_of(at, (size_t)(end - at)), &e, &why) != TRACE_LINE_EVENT)
            fail_msg("%.*s: %s", (int)(end - at), at, why.text);
        check_take(&e, c);
    }
    trace_decoder_deinit(&d);
    assert_int_equal(check_finish(c), ZKC_OK);
    return c;
}
