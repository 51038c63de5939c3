#include "study/check/state.h"
#include <stdlib.h>
#include <string.h>

bool array_reserve(struct check *c, void **list, size_t size, struct names *names)
{
    uint32_t index = names->count - 1;
    if (index && (index & (index - 1)))
        return true; /* grows at powers of two */
    size_t cap = index ? (size_t)index * 2 : 1;
    char *grown = realloc(*list, cap * size);
    if (!grown) {
        names_drop(names);
        c->failed = true;
        return false;
    }
    memset(grown + (size_t)index * size, 0, (cap - index) * size);
    *list = grown;
    return true;
}

struct member *member_of(struct check *c, const char *m, uint32_t *index)
{
    uint32_t before = c->member_names.count;
    uint32_t i = names_add(&c->member_names, m, 0);
    if (i == before &&
        !array_reserve(c, (void **)&c->members, sizeof *c->members, &c->member_names))
        return NULL;
    if (i == NAMES_NONE) {
        c->failed = true;
        return NULL;
    }
    if (index)
        *index = i;
    return &c->members[i];
}

struct partition *partition_of(struct check *c, struct topic_partition p, uint32_t *index)
{
    uint32_t before = c->partition_names.count;
    uint32_t i = names_add(&c->partition_names, p.topic, (uint64_t)p.partition);
    if (i == before) {
        if (!array_reserve(c, (void **)&c->partitions, sizeof *c->partitions, &c->partition_names))
            return NULL;
        c->partitions[i] = (struct partition){.seen_ns = c->now_ns,
                                              .settled_ns = c->now_ns,
                                              .owner_member = NAMES_NONE,
                                              .floor = -1,
                                              .floor_asked = -1,
                                              .begin_least = -1,
                                              .forced = -1,
                                              .committed = -1,
                                              .committed_before = -1,
                                              .stored = -1,
                                              .stored_least = -1,
                                              .stored_in_time = -1,
                                              .produced = -1};
    }
    if (i == NAMES_NONE) {
        c->failed = true;
        return NULL;
    }
    if (index)
        *index = i;
    return &c->partitions[i];
}

struct pair *pair_find(struct check *c, uint32_t member, uint32_t partition)
{
    uint32_t i = names_find(&c->pair_names, "", (uint64_t)member << 32 | partition);
    return i == NAMES_NONE ? NULL : &c->pairs[i];
}

static bool member_add_pair(struct check *c, struct member *m, uint32_t pair)
{
    if (m->pair_count == m->pair_cap) {
        size_t cap = m->pair_cap ? m->pair_cap * 2 : 8;
        uint32_t *pairs = realloc(m->pairs, cap * sizeof *pairs);
        if (!pairs) {
            c->failed = true;
            return false;
        }
        m->pairs = pairs;
        m->pair_cap = cap;
    }
    m->pairs[m->pair_count++] = pair;
    return true;
}

struct pair *pair_of(struct check *c, const char *m, struct topic_partition p)
{
    uint32_t mi, pi;
    struct member *member = member_of(c, m, &mi);
    if (!member || !partition_of(c, p, &pi))
        return NULL;
    uint32_t before = c->pair_names.count;
    uint32_t i = names_add(&c->pair_names, "", (uint64_t)mi << 32 | pi);
    if (i == before) {
        if (!array_reserve(c, (void **)&c->pairs, sizeof *c->pairs, &c->pair_names) ||
            !member_add_pair(c, member, i))
            return NULL;
        c->pairs[i] = (struct pair){.member = mi,
                                    .partition = pi,
                                    .start = -1,
                                    .next = -1,
                                    .read_most = -1,
                                    .read_stored = -1,
                                    .reached = -1,
                                    .moved_to = -1};
    }
    if (i == NAMES_NONE) {
        c->failed = true;
        return NULL;
    }
    return &c->pairs[i];
}

struct session *session_of(struct check *c, uint64_t session)
{
    uint32_t before = c->session_names.count;
    uint32_t i = names_add(&c->session_names, "", session);
    if (i == before &&
        !array_reserve(c, (void **)&c->sessions, sizeof *c->sessions, &c->session_names))
        return NULL;
    if (i == NAMES_NONE) {
        c->failed = true;
        return NULL;
    }
    return &c->sessions[i];
}

const struct settings *settings_of(const struct check *c, const char *m)
{
    uint32_t source = names_find(&c->source_names, m, 0);
    for (size_t i = 0; i < c->settings_count; i++)
        if (c->settings[i].source == source)
            return &c->settings[i];
    return c->settings_count ? &c->settings[0] : NULL;
}
