#include "broker/core/segment_index.h"
#include "zkconsumer/core/wire/big_endian.h"
#include <assert.h>
#include <stdlib.h>

static uint32_t relative_offset(const struct segment_index *x, size_t i)
{
    return read_u32(x->entries + INDEX_ENTRY_BYTES * i);
}

static uint32_t position(const struct segment_index *x, size_t i)
{
    return read_u32(x->entries + INDEX_ENTRY_BYTES * i + 4);
}

static struct index_entry entry(const struct segment_index *x, int64_t base_offset, size_t i)
{
    return (struct index_entry){.offset = base_offset + relative_offset(x, i),
                                .position = position(x, i)};
}

/* How many entries are in use: those behind the last are zero. An entry in use is never zero, as
 * none stands at the beginning of a segment. */
static size_t used(const struct segment_index *x, size_t count)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (relative_offset(x, middle) || position(x, middle))
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

enum zkc_err segment_index_lend(struct segment_index *x, struct bytes file, uint32_t segment_size)
{
    struct segment_index lent = {.entries = file.data};
    lent.count = used(&lent, file.len / INDEX_ENTRY_BYTES);
    if (file.len % INDEX_ENTRY_BYTES)
        return ZKC_ERR_CORRUPT;
    if (lent.count) {
        size_t last = lent.count - 1;
        if (relative_offset(&lent, last) > INT32_MAX || position(&lent, last) >= segment_size)
            return ZKC_ERR_CORRUPT;
        if (relative_offset(&lent, 0) > relative_offset(&lent, last) ||
            position(&lent, 0) > position(&lent, last) || relative_offset(&lent, last) == 0)
            return ZKC_ERR_CORRUPT;
    }
    *x = lent;
    return ZKC_OK;
}

void segment_index_deinit(struct segment_index *x)
{
    free(x->owned);
    *x = (struct segment_index){.entries = NULL};
}

struct index_entry segment_index_lookup(const struct segment_index *x, int64_t base_offset,
                                        int64_t offset)
{
    size_t low = 0, high = x->count; /* entries below low are at or below the offset */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (base_offset + relative_offset(x, middle) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return (struct index_entry){.offset = base_offset, .position = 0};
    return entry(x, base_offset, low - 1);
}

struct index_entry segment_index_last(const struct segment_index *x, int64_t base_offset)
{
    if (!x->count)
        return (struct index_entry){.offset = base_offset, .position = 0};
    return entry(x, base_offset, x->count - 1);
}

void index_entry_write(uint8_t out[INDEX_ENTRY_BYTES], int64_t base_offset, struct index_entry e)
{
    assert(e.offset >= base_offset && e.offset - base_offset <= INT32_MAX);
    write_i32(out, (int32_t)(e.offset - base_offset));
    write_i32(out + 4, (int32_t)e.position);
}

#define ENTRIES_MIN 64

size_t segment_index_room(const struct segment_index *x, size_t entries)
{
    size_t need = x->count + entries;
    if (x->owned && need <= x->owned_cap)
        return 0;
    size_t cap = x->owned_cap ? x->owned_cap : ENTRIES_MIN;
    while (cap < need)
        cap *= 2;
    return cap;
}

void segment_index_install(struct segment_index *x, uint8_t *grown, size_t cap)
{
    if (x->count)
        memcpy(grown, x->entries, x->count * INDEX_ENTRY_BYTES);
    free(x->owned);
    x->entries = x->owned = grown;
    x->owned_cap = cap;
}

void segment_index_append(struct segment_index *x, const uint8_t *entries, size_t count)
{
    if (!count)
        return;
    assert(x->owned && x->count + count <= x->owned_cap);
    memcpy(x->owned + x->count * INDEX_ENTRY_BYTES, entries, count * INDEX_ENTRY_BYTES);
    x->count += count;
}

enum zkc_err segment_index_add(struct segment_index *x, int64_t base_offset, struct index_entry e)
{
    size_t cap = segment_index_room(x, 1);
    if (cap) {
        uint8_t *grown = malloc(cap * INDEX_ENTRY_BYTES);
        if (!grown)
            return ZKC_ERR_NOMEM;
        segment_index_install(x, grown, cap);
    }
    uint8_t written[INDEX_ENTRY_BYTES];
    index_entry_write(written, base_offset, e);
    segment_index_append(x, written, 1);
    return ZKC_OK;
}
