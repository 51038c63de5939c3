/* Allocations that fail on command, for programs declared with FAILING_ALLOC: malloc, calloc,
 * realloc and strdup as called from the statically linked code. Not from shared libraries; jansson
 * takes alloc_fail_malloc() and free() by json_set_alloc_funcs(). One thread. */
#ifndef ZKC_TEST_ALLOC_FAIL_H
#define ZKC_TEST_ALLOC_FAIL_H

#include <stdbool.h>
#include <stddef.h>

/* The n-th allocation from now on (0: the next) fails, once. */
void alloc_fail_at(size_t n);

/* No allocation fails any more. Returns whether one did since alloc_fail_at(). */
bool alloc_fail_stop(void);

/* malloc that fails like the others, as a function to hand to a library. */
void *alloc_fail_malloc(size_t size);

/* Runs `body` with each of its allocations failing in turn, until it runs through without one.
 * `body` may use n, the number of the allocation that fails, and must set `failed` to whether it
 * saw an allocation failure; a success despite a failed allocation, or an error without one, is a
 * bug. */
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
