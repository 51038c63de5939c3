#include "zkconsumer/core/base/told.h"
#include <assert.h>
#include <stddef.h>

bool told_is_news(struct told *t, uint64_t cause)
{
    assert(cause != 0);
    bool is_news = t->cause != cause;
    t->cause = cause;
    return is_news;
}

void told_over(struct told *t)
{
    t->cause = 0;
}

uint64_t told_hash(const char *text) /* FNV-1a */
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ? hash : 1;
}

static struct told_one *find(struct told_causes *t, uint64_t cause)
{
    for (size_t i = 0; i < TOLD_CAUSES_MAX; i++)
        if (t->list[i].cause == cause)
            return &t->list[i];
    return NULL;
}

static struct told_one *find_free(struct told_causes *t, int64_t before_ms)
{
    for (size_t i = 0; i < TOLD_CAUSES_MAX; i++)
        if (t->list[i].cause == 0 || t->list[i].last_ms <= before_ms)
            return &t->list[i];
    return NULL;
}

bool told_causes_is_news(struct told_causes *t, uint64_t cause, int64_t now_ms, int64_t quiet_ms)
{
    assert(cause != 0);
    struct told_one *known = find(t, cause);
    bool goes_on = known && now_ms - known->last_ms < quiet_ms;
    struct told_one *to = known ? known : find_free(t, now_ms - quiet_ms);
    if (to)
        *to = (struct told_one){cause, now_ms};
    return to && !goes_on;
}

void told_causes_over(struct told_causes *t, uint64_t cause)
{
    struct told_one *known = find(t, cause);
    if (known)
        known->cause = 0;
}
