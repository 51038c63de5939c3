/* A bump arena that is born with its maximum: the memory behind the arrays of a decoded message.
 * Everything in it is freed at once. A failed allocation marks the arena failed, so that a decoder
 * may go straight through and look once at the end. */
#ifndef ZKC_BASE_ARENA_H
#define ZKC_BASE_ARENA_H

#include "zkconsumer/core/base/bytes.h"
#include <stdarg.h>
#include <stddef.h>
#include <zkconsumer/error.h>
#include <zkconsumer/export.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* owned; the newest first; NULL while nothing was allocated */
    size_t allocated;           /* bytes asked from malloc; never above max */
    size_t max;
    enum zkc_err failed; /* ZKC_OK, ZKC_ERR_NOMEM or ZKC_ERR_TOO_LARGE */
};

void arena_init(struct arena *a, size_t max);
void arena_deinit(struct arena *a); /* a may be used again after arena_init() only */

/* Forgets everything in it, and a failure; keeps one block for the next use. */
void arena_clear(struct arena *a);

/* `size` zeroed bytes, aligned for any type, lent until arena_clear() or arena_deinit(); a size of
 * 0 gives an address as well. NULL: out of memory, or over the maximum; the arena is then failed,
 * and gives nothing more. */
void *arena_alloc(struct arena *a, size_t size);

/* The same for `count` elements, whatever the product. */
void *arena_alloc_array(struct arena *a, size_t count, size_t size);

/* A copy of the bytes, as text; NULL as above. */
char *arena_text(struct arena *a, struct bytes text);

/* Formatted text, in the arena; NULL as above. */
char *arena_format(struct arena *a, const char *fmt, ...) ZKC_PRINTF(2, 3);
char *arena_vformat(struct arena *a, const char *fmt, va_list args) ZKC_PRINTF(2, 0);

#endif
