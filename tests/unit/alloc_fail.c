#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);
char *__wrap_strdup(const char *text);

static bool is_armed;
static bool is_off;
static bool has_failed;
static size_t left;
static size_t to_fail;

void alloc_fail_run(size_t n, size_t count)
{
    is_armed = true;
    has_failed = false;
    left = n;
    to_fail = count;
}

void alloc_fail_at(size_t n)
{
    alloc_fail_run(n, 1);
}

void alloc_fail_pause(bool is_paused)
{
    is_off = is_paused;
}

bool alloc_fail_stop(void)
{
    is_armed = false;
    return has_failed;
}

static bool is_to_fail(void)
{
    if (!is_armed || is_off)
        return false;
    if (left > 0) {
        left--;
        return false;
    }
    is_armed = --to_fail > 0;
    has_failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return is_to_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_to_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size)
{
    return is_to_fail() ? NULL : __real_realloc(at, size);
}

char *__wrap_strdup(const char *text)
{
    return is_to_fail() ? NULL : __real_strdup(text);
}

void alloc_fail_each(enum zkc_err (*body)(const void *input), const void *input)
{
    bool failed = true;
    for (size_t n = 0; failed; n++) {
        alloc_fail_at(n);
        enum zkc_err err = body(input);
        failed = alloc_fail_stop();
        if (err != (failed ? ZKC_ERR_NOMEM : ZKC_OK))
            fail_msg("allocation %zu %s: %s", n, failed ? "failed" : "was not needed",
                     zkc_err_name(err));
    }
}
