#include "study/sim/pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE (256 * 1024)
#define HEAD       16 /* before each piece: its class; keeps what follows aligned */

struct block {
    struct block *next;
    uint64_t pad;
};

bool rescue_run(struct rescue *r, void (*fn)(void *user), void *user)
{
    if (r->has_failed)
        return false;
    if (r->is_armed) {
        fn(user);
        return true;
    }
    r->is_armed = true;
    if (setjmp(r->at) == 0)
        fn(user);
    r->is_armed = false;
    return !r->has_failed;
}

noreturn void rescue_fail(struct rescue *r)
{
    if (!r || !r->is_armed) {
        fprintf(stderr, "the simulator is out of memory\n");
        abort();
    }
    r->has_failed = true;
    longjmp(r->at, 1);
}

static void *need(struct pool *p, size_t size)
{
    void *m = malloc(size);
    if (!m)
        rescue_fail(p->rescue);
    p->allocations++;
    return m;
}

void pool_deinit(struct pool *p)
{
    for (struct block *b = p->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    memset(p, 0, sizeof *p);
}

/* Piece sizes, head included, are the powers of two from 32. */
static unsigned class_of(size_t size)
{
    unsigned c = 0;
    while (((size_t)32 << c) < size)
        c++;
    return c;
}

static void new_block(struct pool *p, size_t at_least)
{
    size_t size = sizeof(struct block) + (at_least > BLOCK_SIZE ? at_least : BLOCK_SIZE);
    struct block *b = need(p, size);
    b->next = p->blocks;
    p->blocks = b;
    p->at = (uint8_t *)(b + 1);
    p->end = (uint8_t *)b + size;
}

void *pool_take(struct pool *p, size_t size)
{
    unsigned c = class_of(size + HEAD);
    size_t whole = (size_t)32 << c;
    uint8_t *piece = p->free_lists[c];
    if (piece) {
        memcpy(&p->free_lists[c], piece + HEAD, sizeof(void *));
    } else {
        if ((size_t)(p->end - p->at) < whole)
            new_block(p, whole);
        piece = p->at;
        p->at += whole;
    }
    memcpy(piece, &c, sizeof c);
    memset(piece + HEAD, 0, whole - HEAD);
    return piece + HEAD;
}

static unsigned class_at(const void *piece)
{
    unsigned c;
    memcpy(&c, (const uint8_t *)piece - HEAD, sizeof c);
    return c;
}

void pool_give(struct pool *p, void *piece)
{
    if (!piece)
        return;
    unsigned c = class_at(piece);
    memcpy(piece, &p->free_lists[c], sizeof(void *));
    p->free_lists[c] = (uint8_t *)piece - HEAD;
}

void *pool_resize(struct pool *p, void *piece, size_t size)
{
    void *bigger = pool_take(p, size);
    if (!piece)
        return bigger;
    size_t had = ((size_t)32 << class_at(piece)) - HEAD;
    memcpy(bigger, piece, had < size ? had : size);
    pool_give(p, piece);
    return bigger;
}

struct value *value_new(struct pool *p, const void *data, size_t len)
{
    struct value *v = pool_take(p, sizeof *v + len);
    v->refs = 1;
    v->len = (uint32_t)len;
    if (len)
        memcpy(v->data, data, len);
    return v;
}

void value_unref(struct pool *p, struct value *v)
{
    if (v && --v->refs == 0)
        pool_give(p, v);
}
