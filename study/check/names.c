#include "study/check/names.h"
#include <stdlib.h>
#include <string.h>

void names_init(struct names *n, uint32_t max)
{
    *n = (struct names){.max = max};
}

void names_deinit(struct names *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        free(n->list[i].text);
    free(n->list);
    free(n->slots);
    *n = (struct names){0};
}

static uint64_t hash_of(const char *text, uint64_t number)
{
    uint64_t h = 1469598103934665603ull; /* FNV-1a */
    for (const char *c = text; *c; c++)
        h = (h ^ (uint8_t)*c) * 1099511628211ull;
    h = (h ^ number) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

/* The slot where it is, or where it would go. */
static uint32_t slot_of(const struct names *n, const char *text, uint64_t number, uint64_t hash)
{
    uint32_t mask = n->slot_count - 1, s = (uint32_t)hash & mask;
    for (; n->slots[s]; s = (s + 1) & mask) {
        const struct name *x = &n->list[n->slots[s] - 1];
        if (x->hash == hash && x->number == number && strcmp(x->text, text) == 0)
            break;
    }
    return s;
}

uint32_t names_find(const struct names *n, const char *text, uint64_t number)
{
    if (!n->slot_count)
        return NAMES_NONE;
    uint32_t at = n->slots[slot_of(n, text, number, hash_of(text, number))];
    return at ? at - 1 : NAMES_NONE;
}

static int grow_slots(struct names *n)
{
    uint32_t count = n->slot_count ? n->slot_count * 2 : 64;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return -1;
    for (uint32_t i = 0; i < n->count; i++) {
        uint32_t s = (uint32_t)n->list[i].hash & (count - 1);
        while (slots[s])
            s = (s + 1) & (count - 1);
        slots[s] = i + 1;
    }
    free(n->slots);
    n->slots = slots;
    n->slot_count = count;
    return 0;
}

static int grow_list(struct names *n)
{
    uint32_t cap = n->cap ? n->cap * 2 : 32;
    struct name *list = realloc(n->list, cap * sizeof *list);
    if (!list)
        return -1;
    n->list = list;
    n->cap = cap;
    return 0;
}

uint32_t names_add(struct names *n, const char *text, uint64_t number)
{
    uint32_t known = names_find(n, text, number);
    if (known != NAMES_NONE)
        return known;
    if (n->count >= n->max || (n->count == n->cap && grow_list(n)) ||
        (n->slot_count < 2 * (n->count + 1) && grow_slots(n)))
        return NAMES_NONE;
    uint64_t hash = hash_of(text, number);
    char *copy = strdup(text);
    if (!copy)
        return NAMES_NONE;
    n->list[n->count] = (struct name){.text = copy, .number = number, .hash = hash};
    n->slots[slot_of(n, text, number, hash)] = n->count + 1;
    return n->count++;
}

void names_drop(struct names *n)
{
    struct name *x = &n->list[n->count - 1];
    n->slots[slot_of(n, x->text, x->number, x->hash)] = 0; /* nothing was probed past it yet */
    free(x->text);
    n->count--;
}
