#include "zkconsumer/io/zk_watch_set.h"
#include <stdlib.h>
#include <string.h>

#define CUTS_OF_MANY 3
#define CUTS_OF_FEW  12
#define PART_OF_MANY 8    /* of a packet */
#define BYTES_OF_FEW 1024 /* below that no server can be meant to work with its limit */

#define SLOTS_MIN       64
#define BYTES_OF_LENGTH 4 /* before each path in a packet */

void zk_watch_set_deinit(struct zk_watch_set *w)
{
    free(w->slots);
    *w = (struct zk_watch_set){0};
}

static uint64_t hash_of(enum zk_watch_kind kind, const char *path) /* FNV-1a; never 0 */
{
    uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)kind;
    for (const char *p = path; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 0x100000001b3u;
    return hash ? hash : 1;
}

/* Where the hash is, or would be. */
static size_t slot_of(const struct zk_watch_set *w, uint64_t hash)
{
    size_t i = (size_t)hash & (w->cap - 1);
    while (w->slots[i] && w->slots[i] != hash)
        i = (i + 1) & (w->cap - 1);
    return i;
}

static bool grow(struct zk_watch_set *w)
{
    struct zk_watch_set larger = {
        .cap = w->cap ? w->cap * 2 : SLOTS_MIN, .count = w->count, .bytes = w->bytes};
    larger.slots = calloc(larger.cap, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < w->cap; i++)
        if (w->slots[i])
            larger.slots[slot_of(&larger, w->slots[i])] = w->slots[i];
    free(w->slots);
    *w = larger;
    return true;
}

void zk_watch_set_add(struct zk_watch_set *w, enum zk_watch_kind kind, const char *path)
{
    if (w->count * 3 >= w->cap * 2 && !grow(w))
        return;
    uint64_t hash = hash_of(kind, path);
    size_t i = slot_of(w, hash);
    if (w->slots[i])
        return;
    w->slots[i] = hash;
    w->count++;
    w->bytes += strlen(path) + BYTES_OF_LENGTH;
}

/* Entries behind a freed slot move up, so that each can be found from its place on. */
static void close_gap(struct zk_watch_set *w, size_t gap)
{
    for (size_t i = (gap + 1) & (w->cap - 1); w->slots[i]; i = (i + 1) & (w->cap - 1)) {
        size_t home = (size_t)w->slots[i] & (w->cap - 1);
        bool may_move = ((i - home) & (w->cap - 1)) >= ((i - gap) & (w->cap - 1));
        if (!may_move)
            continue;
        w->slots[gap] = w->slots[i];
        w->slots[i] = 0;
        gap = i;
    }
}

void zk_watch_set_remove(struct zk_watch_set *w, enum zk_watch_kind kind, const char *path)
{
    if (w->cap == 0)
        return;
    size_t i = slot_of(w, hash_of(kind, path));
    if (!w->slots[i])
        return;
    w->slots[i] = 0;
    w->count--;
    w->bytes -= strlen(path) + BYTES_OF_LENGTH;
    close_gap(w, i);
}

bool zk_watch_set_is_refused(const struct zk_watch_set *w, unsigned cuts, size_t packet_bytes)
{
    return (cuts >= CUTS_OF_MANY && w->bytes > packet_bytes / PART_OF_MANY) ||
           (cuts >= CUTS_OF_FEW && w->bytes > BYTES_OF_FEW);
}
