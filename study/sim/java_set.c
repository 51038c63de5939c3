#include "study/sim/java_set.h"

int32_t java_text_hash(const char *text, size_t len)
{
    uint32_t h = 0;
    for (size_t i = 0; i < len; i++)
        h = 31 * h + (uint8_t)text[i];
    return (int32_t)h;
}

static uint32_t spread(int32_t hash)
{
    uint32_t h = (uint32_t)hash;
    return h ^ (h >> 16);
}

void java_set_init(struct java_set *s, uint32_t first_cap)
{
    *s = (struct java_set){.first_cap = first_cap};
}

void java_set_deinit(struct java_set *s, struct pool *p)
{
    for (uint32_t i = 0; s->buckets && i < s->cap; i++)
        for (struct java_entry *e = s->buckets[i], *next; e; e = next) {
            next = e->next;
            pool_give(p, e);
        }
    pool_give(p, s->buckets);
    java_set_init(s, s->first_cap);
}

static void append(struct java_entry **bucket, struct java_entry *e)
{
    while (*bucket)
        bucket = &(*bucket)->next;
    e->next = NULL;
    *bucket = e;
}

static void resize(struct java_set *s, struct pool *p, uint32_t cap)
{
    struct java_entry **buckets = pool_take(p, cap * sizeof(struct java_entry *));
    for (uint32_t i = 0; i < s->cap; i++)
        for (struct java_entry *e = s->buckets[i], *next; e; e = next) {
            next = e->next;
            append(&buckets[e->hash & (cap - 1)], e);
        }
    pool_give(p, s->buckets);
    s->buckets = buckets;
    s->cap = cap;
}

void java_set_add(struct java_set *s, struct pool *p, int32_t hash, uint32_t id)
{
    if (!s->buckets)
        resize(s, p, s->first_cap);
    struct java_entry *e = pool_take(p, sizeof *e);
    e->hash = spread(hash);
    e->id = id;
    append(&s->buckets[e->hash & (s->cap - 1)], e);
    if (++s->count > s->cap / 4 * 3)
        resize(s, p, s->cap * 2);
}

bool java_set_remove(struct java_set *s, struct pool *p, int32_t hash, uint32_t id)
{
    if (!s->buckets)
        return false;
    for (struct java_entry **e = &s->buckets[spread(hash) & (s->cap - 1)]; *e; e = &(*e)->next)
        if ((*e)->id == id) {
            struct java_entry *gone = *e;
            *e = gone->next;
            pool_give(p, gone);
            s->count--;
            return true;
        }
    return false;
}

static void go_on(const struct java_set *s, struct java_cursor *c)
{
    while (!c->entry && ++c->bucket < s->cap)
        c->entry = s->buckets[c->bucket];
}

struct java_cursor java_set_first(const struct java_set *s)
{
    struct java_cursor c = {0, s->buckets ? s->buckets[0] : NULL};
    if (s->buckets)
        go_on(s, &c);
    return c;
}

void java_set_next(const struct java_set *s, struct java_cursor *c)
{
    c->entry = c->entry->next;
    go_on(s, c);
}
