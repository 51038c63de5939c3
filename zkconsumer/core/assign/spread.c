#include "zkconsumer/core/assign/spread.h"
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct set {
    uint32_t *threads;
    size_t count;
    size_t next;
    uint64_t hash;
};

struct assign_spread {
    struct set *sets;
    size_t sets_max;
    uint32_t set_count;
    uint32_t *table; /* by hash: number of a set plus one, 0 for none */
    size_t table_size;
};

enum zkc_err assign_spread_new(size_t sets_max, struct assign_spread **out)
{
    struct assign_spread *s = calloc(1, sizeof *s);
    if (!s)
        return ZKC_ERR_NOMEM;
    s->sets_max = sets_max;
    s->table_size = 2 * sets_max + 1; /* never full */
    s->sets = calloc(sets_max + 1, sizeof *s->sets);
    s->table = calloc(s->table_size, sizeof *s->table);
    if (!s->sets || !s->table) {
        assign_spread_free(s);
        return ZKC_ERR_NOMEM;
    }
    *out = s;
    return ZKC_OK;
}

void assign_spread_free(struct assign_spread *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->set_count; i++)
        free(s->sets[i].threads);
    free(s->sets);
    free(s->table);
    free(s);
}

/* FNV-1a. */
static uint64_t hash_of(const uint32_t *threads, size_t count)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ threads[i]) * 1099511628211u;
    return hash;
}

static bool is_same(const struct set *set, uint64_t hash, const uint32_t *threads, size_t count)
{
    return set->hash == hash && set->count == count &&
           memcmp(set->threads, threads, count * sizeof *threads) == 0;
}

enum zkc_err assign_spread_add(struct assign_spread *s, const uint32_t *threads, size_t count,
                               uint32_t *set)
{
    assert(count > 0);
    uint64_t hash = hash_of(threads, count);
    size_t at = hash % s->table_size;
    for (; s->table[at]; at = (at + 1) % s->table_size) {
        *set = s->table[at] - 1;
        if (is_same(&s->sets[*set], hash, threads, count))
            return ZKC_OK;
    }
    assert(s->set_count < s->sets_max);
    struct set *added = &s->sets[s->set_count];
    *added = (struct set){.threads = malloc(count * sizeof *threads), .count = count, .hash = hash};
    if (!added->threads)
        return ZKC_ERR_NOMEM;
    memcpy(added->threads, threads, count * sizeof *threads);
    *set = s->set_count++;
    s->table[at] = s->set_count;
    return ZKC_OK;
}

uint32_t assign_spread_deal(struct assign_spread *s, uint32_t number)
{
    assert(number < s->set_count);
    struct set *set = &s->sets[number];
    return set->threads[set->next++ % set->count];
}
