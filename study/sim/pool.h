/* Memory of a world: pieces that are given back and used again, and texts and values that many
 * share.
 *
 * Want of memory ends what the world is doing at once, from wherever it is: a jump to rescue_run(),
 * which surrounds every entry into the world. This may be, because all memory of a world is the
 * pool's, and goes with it: no frame in between holds anything of its own. The world is a ruin then
 * that can only be looked at and freed; half an event proves nothing. */
#ifndef STUDY_SIM_POOL_H
#define STUDY_SIM_POOL_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

#define POOL_CLASSES 40

struct rescue {
    jmp_buf at;
    bool is_armed;
    bool has_failed; /* for good */
};

/* Runs fn(user), unless memory has run out before. False: it has. Calls may nest: a want of memory
 * ends the outermost. */
bool rescue_run(struct rescue *r, void (*fn)(void *user), void *user);
/* Memory has run out. NULL, or nobody is armed: the program ends (tests of parts of a world). */
noreturn void rescue_fail(struct rescue *r);

struct pool {
    void *free_lists[POOL_CLASSES];
    void *blocks;
    uint8_t *at, *end; /* of the newest block */
    uint64_t allocations;
    struct rescue *rescue; /* may be NULL */
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
