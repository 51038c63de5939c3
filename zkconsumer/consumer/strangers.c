#include "zkconsumer/consumer/strangers.h"
#include <stdlib.h>
#include <string.h>

void strangers_init(struct strangers *s)
{
    *s = (struct strangers){.count = 1};
}

void strangers_deinit(struct strangers *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].member);
    strangers_init(s);
}

struct stranger *strangers_find(struct strangers *s, const char *member)
{
    for (size_t i = 1; member && i < s->count; i++)
        if (strcmp(s->list[i].member, member) == 0)
            return &s->list[i];
    char *name = member && s->count < STRANGERS_MAX ? strdup(member) : NULL;
    if (!name)
        return &s->list[0];
    s->list[s->count] = (struct stranger){.member = name};
    return &s->list[s->count++];
}

void strangers_json(const struct strangers *s, struct json *j, int64_t now_ms)
{
    json_list_begin(j, "strangers");
    for (size_t i = 0; i < s->count; i++) {
        const struct stranger *one = &s->list[i];
        if (i == 0 && one->offset_writes + one->owner_deletes + one->free == 0)
            continue;
        json_object_begin(j, NULL);
        json_text(j, "member", one->member);
        json_int(j, "offset_writes", (int64_t)one->offset_writes);
        json_int(j, "owner_deletes", (int64_t)one->owner_deletes);
        json_int(j, "returns", (int64_t)one->returns);
        json_int(j, "doubled", (int64_t)one->doubled);
        json_int(j, "doubtful", (int64_t)one->doubtful);
        json_int(j, "share", (int64_t)one->share);
        json_int(j, "free", (int64_t)one->free);
        json_int(j, "gave_up_for_ms", one->free > 0 ? now_ms - one->gave_up_since_ms : -1);
        json_object_end(j);
    }
    json_list_end(j);
}
