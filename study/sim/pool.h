/* Memory of a world: pieces that are given back and used again, and texts and values that many
 * share. Want of memory ends the program, as in kernel.h. */
#ifndef STUDY_SIM_POOL_H
#define STUDY_SIM_POOL_H

#include <stddef.h>
#include <stdint.h>

#define POOL_CLASSES 40

struct pool {
    void *free_lists[POOL_CLASSES];
    void *blocks;
    uint8_t *at, *end; /* of the newest block */
    uint64_t allocations;
};

void pool_deinit(struct pool *p); /* all pieces at once */

/* `size` zeroed bytes, aligned for anything. */
void *pool_take(struct pool *p, size_t size);
void pool_give(struct pool *p, void *piece); /* NULL is allowed */
/* Like realloc(); what is new is zeroed. */
void *pool_resize(struct pool *p, void *piece, size_t size);

/* ---- values ---- */

/* Bytes that do not change, counted: data of znodes, in trees, transactions and answers alike. */
struct value {
    uint32_t refs;
    uint32_t len;
    uint8_t data[];
};

struct value *value_new(struct pool *p, const void *data, size_t len); /* one reference */
static inline struct value *value_ref(struct value *v)
{
    if (v)
        v->refs++;
    return v;
}
void value_unref(struct pool *p, struct value *v); /* NULL is allowed */

#endif
