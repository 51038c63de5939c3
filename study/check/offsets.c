#include "study/check/offsets.h"
#include <stdlib.h>
#include <string.h>

void offsets_deinit(struct offsets *s)
{
    free(s->runs);
    *s = (struct offsets){0};
}

/* The first run that ends at `offset` or later. */
static size_t find(const struct offsets *s, int64_t offset)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->runs[mid].last < offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint64_t offsets_count(const struct offsets *s, int64_t first, int64_t last)
{
    uint64_t n = 0;
    for (size_t i = find(s, first); i < s->count && s->runs[i].first <= last; i++) {
        int64_t a = s->runs[i].first > first ? s->runs[i].first : first;
        int64_t b = s->runs[i].last < last ? s->runs[i].last : last;
        n += (uint64_t)(b - a) + 1;
    }
    return n;
}

int64_t offsets_missing(const struct offsets *s, int64_t first)
{
    size_t i = find(s, first);
    return i < s->count && s->runs[i].first <= first ? s->runs[i].last + 1 : first;
}

bool offsets_add(struct offsets *s, int64_t first, int64_t last, uint64_t *twice)
{
    uint64_t before = offsets_count(s, first, last);
    size_t from = find(s, first - 1), to = from; /* runs that touch it are joined with it */
    while (to < s->count && s->runs[to].first <= last + 1)
        to++;
    if (from == to && s->count == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 8;
        struct offset_run *runs = realloc(s->runs, cap * sizeof *runs);
        if (!runs)
            return false;
        s->runs = runs;
        s->cap = cap;
    }
    struct offset_run joined = {first, last};
    if (from < to) {
        if (s->runs[from].first < first)
            joined.first = s->runs[from].first;
        if (s->runs[to - 1].last > last)
            joined.last = s->runs[to - 1].last;
    }
    memmove(&s->runs[from + 1], &s->runs[to], (s->count - to) * sizeof *s->runs);
    s->count = s->count - (to - from) + 1;
    s->runs[from] = joined;
    *twice = before;
    return true;
}
