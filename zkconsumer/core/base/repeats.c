#include "zkconsumer/core/base/repeats.h"
#include <stdio.h>

/* FNV-1a, never 0. */
static uint64_t hash_of(unsigned tag, const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ tag;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ? hash : 1;
}

/* The slot of a cause; of a new one, the free slot or the one that was silent longest. */
static struct repeats_cause *slot_of(struct repeats *r, uint64_t hash)
{
    struct repeats_cause *oldest = &r->causes[0];
    for (size_t i = 0; i < REPEATS_CAUSES_MAX; i++) {
        struct repeats_cause *c = &r->causes[i];
        if (c->hash == hash)
            return c;
        if (!oldest->hash)
            continue;
        if (!c->hash || c->shown_ms < oldest->shown_ms)
            oldest = c;
    }
    return oldest;
}

void repeats_add(struct repeats *r, const struct repeats_line *line, struct repeats_answer *out)
{
    uint64_t hash = hash_of(line->tag, line->cause);
    struct repeats_cause *slot = slot_of(r, hash);
    bool is_known = slot->hash == hash;
    *out = (struct repeats_answer){.shows = true};
    if (is_known && line->now_ms - slot->shown_ms < REPEATS_INTERVAL_MS) {
        struct repeats_held *held = &slot->held;
        held->count++;
        held->level = line->level;
        held->tag = line->tag;
        snprintf(held->text, sizeof held->text, "%s", line->text);
        out->shows = false;
        return;
    }
    if (is_known) {
        out->before = slot->held.count;
        out->before_ms = line->now_ms - slot->shown_ms;
    } else {
        out->pushed_out = slot->held;
    }
    *slot = (struct repeats_cause){.hash = hash, .shown_ms = line->now_ms};
}

bool repeats_take_held(struct repeats *r, size_t *at, struct repeats_held *out)
{
    while (*at < REPEATS_CAUSES_MAX) {
        struct repeats_held *held = &r->causes[(*at)++].held;
        if (held->count) {
            *out = *held;
            held->count = 0;
            return true;
        }
    }
    return false;
}
