/* The highest pair of a unit with room and a partition without owner is one that both prefer over
 * all others that are left: it is part of every stable matching. So pairs are given away from the
 * highest down. Each partition keeps the best of its pairs; a heap has the best of these on top.
 * Rooms only shrink: what a partition keeps may be out of date, but never too low, and it is enough
 * to look again when it comes up. */
#include "zkconsumer/core/assign/rendezvous.h"
#include "zkconsumer/core/base/rng.h"
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

uint64_t assign_rendezvous_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *p = text; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 0x100000001b3u;
    return rng_mix(hash);
}

uint64_t assign_rendezvous_place(uint64_t topic, int32_t partition)
{
    return rng_mix(topic + ((uint64_t)partition + 1) * 0x9e3779b97f4a7c15u);
}

uint64_t assign_rendezvous_weight(uint64_t unit, uint64_t place)
{
    return rng_mix(unit ^ place);
}

struct ranked {
    uint64_t weight; /* with the topic */
    uint32_t unit;
};

struct open_unit { /* has room for a partition */
    uint64_t hash;
    uint32_t unit; /* position in the order of ids */
    uint32_t room; /* for how many */
};

struct wish { /* of a partition that has no owner yet */
    uint64_t place;
    uint64_t weight; /* of the best unit, when it was looked for */
    uint32_t unit;
    uint32_t partition; /* position in order */
};

struct matching {
    struct open_unit *open; /* in any order */
    size_t open_count;
    uint32_t *slot;    /* by unit: its position in open, or CLOSED */
    struct wish *heap; /* the highest on top */
    size_t wish_count;
};

#define CLOSED UINT32_MAX

static int by_weight(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

/* How many partitions each unit may have. */
static enum zkc_err set_rooms(uint64_t topic, size_t partition_count, const uint64_t *units,
                              size_t unit_count, uint32_t *rooms)
{
    size_t extra = partition_count % unit_count;
    for (size_t i = 0; i < unit_count; i++)
        rooms[i] = (uint32_t)(partition_count / unit_count);
    if (extra == 0)
        return ZKC_OK;
    struct ranked *ranked = calloc(unit_count, sizeof *ranked);
    if (!ranked)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < unit_count; i++)
        ranked[i] = (struct ranked){assign_rendezvous_weight(units[i], topic), (uint32_t)i};
    qsort(ranked, unit_count, sizeof *ranked, by_weight);
    for (size_t i = 0; i < extra; i++)
        rooms[ranked[i].unit]++;
    free(ranked);
    return ZKC_OK;
}

/* The units that may have something. `rooms` becomes the slots. */
static void open_units(struct matching *m, const uint64_t *units, size_t unit_count,
                       uint32_t *rooms)
{
    for (size_t i = 0; i < unit_count; i++) {
        uint32_t room = rooms[i];
        rooms[i] = room ? (uint32_t)m->open_count : CLOSED;
        if (room)
            m->open[m->open_count++] = (struct open_unit){units[i], (uint32_t)i, room};
    }
    m->slot = rooms;
}

/* The best of the units that are open: this is where the time goes. */
static void look(const struct matching *m, struct wish *w)
{
    const struct open_unit *best = m->open;
    uint64_t most = assign_rendezvous_weight(best->hash, w->place);
    for (const struct open_unit *u = m->open + 1; u < m->open + m->open_count; u++) {
        uint64_t weight = assign_rendezvous_weight(u->hash, w->place);
        if (weight < most || (weight == most && u->unit > best->unit))
            continue;
        best = u;
        most = weight;
    }
    w->weight = most;
    w->unit = best->unit;
}

static bool is_higher(const struct wish *a, const struct wish *b)
{
    if (a->weight != b->weight)
        return a->weight > b->weight;
    return a->unit != b->unit ? a->unit < b->unit : a->partition < b->partition;
}

/* Moves the wish at this position down to where it belongs. */
static void sink(struct matching *m, size_t at)
{
    struct wish w = m->heap[at];
    for (size_t child; (child = 2 * at + 1) < m->wish_count; at = child) {
        if (child + 1 < m->wish_count && is_higher(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!is_higher(&m->heap[child], &w))
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = w;
}

static void make_wishes(struct matching *m, uint64_t topic, const int32_t *partitions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct wish *w = &m->heap[i];
        w->partition = (uint32_t)i;
        w->place = assign_rendezvous_place(topic, partitions[i]);
        look(m, w);
    }
    m->wish_count = count;
    for (size_t i = count / 2; i > 0; i--)
        sink(m, i - 1);
}

/* One of the unit's rooms is taken. */
static void take_room(struct matching *m, uint32_t unit)
{
    struct open_unit *u = &m->open[m->slot[unit]];
    if (--u->room > 0)
        return;
    const struct open_unit *last = &m->open[--m->open_count];
    m->slot[last->unit] = m->slot[unit];
    *u = *last;
    m->slot[unit] = CLOSED;
}

static void give_away(struct matching *m, uint32_t *owners)
{
    while (m->wish_count > 0) {
        struct wish *top = &m->heap[0];
        if (m->slot[top->unit] == CLOSED) {
            look(m, top); /* there are as many rooms as partitions: one is open */
        } else {
            owners[top->partition] = top->unit;
            take_room(m, top->unit);
            *top = m->heap[--m->wish_count];
        }
        if (m->wish_count > 0)
            sink(m, 0);
    }
}

enum zkc_err assign_rendezvous(uint64_t topic, const int32_t *partitions, size_t partition_count,
                               const uint64_t *units, size_t unit_count, uint32_t *owners)
{
    assert(unit_count > 0);
    if (partition_count == 0)
        return ZKC_OK;
    uint32_t *rooms = calloc(unit_count, sizeof *rooms);
    struct matching m = {
        .open = calloc(unit_count, sizeof *m.open),
        .heap = calloc(partition_count, sizeof *m.heap),
    };
    enum zkc_err err = ZKC_ERR_NOMEM;
    if (rooms && m.open && m.heap)
        err = set_rooms(topic, partition_count, units, unit_count, rooms);
    if (!err) {
        open_units(&m, units, unit_count, rooms);
        make_wishes(&m, topic, partitions, partition_count);
        give_away(&m, owners);
    }
    free(rooms);
    free(m.open);
    free(m.heap);
    return err;
}
