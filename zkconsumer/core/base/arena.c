#include "zkconsumer/core/base/arena.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t size; /* of data */
    size_t used;
    max_align_t data[];
};

/* What a block costs at least, its head included: small messages then need one malloc. */
#define BLOCK_SIZE_MIN 2048

void arena_init(struct arena *a, size_t max)
{
    *a = (struct arena){.max = max};
}

static void free_blocks(struct arena *a, struct arena_block *b)
{
    while (b) {
        struct arena_block *next = b->next;
        a->allocated -= sizeof *b + b->size;
        free(b);
        b = next;
    }
}

void arena_deinit(struct arena *a)
{
    free_blocks(a, a->blocks);
    a->blocks = NULL;
}

void arena_clear(struct arena *a)
{
    a->failed = ZKC_OK;
    if (!a->blocks)
        return;
    free_blocks(a, a->blocks->next);
    a->blocks->next = NULL;
    a->blocks->used = 0;
}

/* A block with room for `size` bytes; twice the size of the one before, while the maximum allows.
 */
static struct arena_block *add_block(struct arena *a, size_t size)
{
    size_t left = a->max - a->allocated;
    if (left < sizeof(struct arena_block) || size > left - sizeof(struct arena_block)) {
        a->failed = ZKC_ERR_TOO_LARGE;
        return NULL;
    }
    size_t want = a->blocks ? 2 * a->blocks->size : BLOCK_SIZE_MIN - sizeof(struct arena_block);
    if (want > left - sizeof(struct arena_block))
        want = left - sizeof(struct arena_block);
    if (want < size)
        want = size;
    struct arena_block *b = malloc(sizeof *b + want);
    if (!b) {
        a->failed = ZKC_ERR_NOMEM;
        return NULL;
    }
    *b = (struct arena_block){.next = a->blocks, .size = want};
    a->allocated += sizeof *b + want;
    a->blocks = b;
    return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (a->failed)
        return NULL;
    const size_t align = _Alignof(max_align_t);
    size_t rounded = size > SIZE_MAX - align ? SIZE_MAX : (size + align - 1) / align * align;
    struct arena_block *b = a->blocks;
    if (!b || rounded > b->size - b->used)
        b = add_block(a, rounded);
    if (!b)
        return NULL;
    void *at = (uint8_t *)b->data + b->used;
    b->used += rounded;
    return memset(at, 0, size);
}

void *arena_alloc_array(struct arena *a, size_t count, size_t size)
{
    return arena_alloc(a, size && count > SIZE_MAX / size ? SIZE_MAX : count * size);
}

char *arena_text(struct arena *a, struct bytes text)
{
    char *copy = arena_alloc(a, text.len + 1);
    if (copy && text.len)
        memcpy(copy, text.data, text.len);
    return copy;
}

char *arena_vformat(struct arena *a, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = len < 0 ? NULL : arena_alloc(a, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, fmt, args);
    return text;
}

char *arena_format(struct arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = arena_vformat(a, fmt, args);
    va_end(args);
    return text;
}
