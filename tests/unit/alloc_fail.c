#include "tests/unit/alloc_fail.h"
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);
char *__wrap_strdup(const char *text);

static bool is_armed;
static bool has_failed;
static size_t left;

void alloc_fail_at(size_t n)
{
    is_armed = true;
    has_failed = false;
    left = n;
}

bool alloc_fail_stop(void)
{
    is_armed = false;
    return has_failed;
}

static bool is_to_fail(void)
{
    if (!is_armed || left-- > 0)
        return false;
    is_armed = false;
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

void *alloc_fail_malloc(size_t size)
{
    return __wrap_malloc(size);
}
