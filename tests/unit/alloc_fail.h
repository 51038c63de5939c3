/* Allocations that fail on command, for programs declared with FAILING_ALLOC: malloc, calloc,
 * realloc and strdup as called from the statically linked code. Not from shared libraries:
 * jansson does not survive it (its lexer ignores failures), so it is left alone. One thread. */
#ifndef ZKC_TEST_ALLOC_FAIL_H
#define ZKC_TEST_ALLOC_FAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <zkconsumer/error.h>

/* The n-th allocation from now on (0: the next) fails, once. */
void alloc_fail_at(size_t n);

/* The same for `count` allocations in a row. */
void alloc_fail_run(size_t n, size_t count);

/* While paused, allocations neither fail nor count: for a test that lets only some code fail. */
void alloc_fail_pause(bool is_paused);

/* No allocation fails any more. Returns whether one did since alloc_fail_at(). */
bool alloc_fail_stop(void);

/* Runs `body` with each of its allocations failing in turn, until it runs through without one. It
 * must return ZKC_ERR_NOMEM when an allocation has failed and ZKC_OK when none has: anything else
 * fails the test. */
void alloc_fail_each(enum zkc_err (*body)(const void *input), const void *input);

/* The same for a body in place, which sets `failed` to whether it saw an allocation failure; n is
 * the number of the allocation that fails. The body must not have commas outside of parentheses. */
#define ALLOC_FAIL_EACH(n, failed, body)                                                           \
    do {                                                                                           \
        bool injected_ = true;                                                                     \
        for (size_t n = 0; injected_; n++) {                                                       \
            bool failed = false;                                                                   \
            alloc_fail_at(n);                                                                      \
            body;                                                                                  \
            injected_ = alloc_fail_stop();                                                         \
            if (failed != injected_)                                                               \
                fail_msg("allocation %zu: %s", n, failed ? "error without a failure" : "ignored"); \
        }                                                                                          \
    } while (0)

#endif
