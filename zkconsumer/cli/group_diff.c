#include "zkconsumer/cli/group_diff.h"
#include "zkconsumer/cli/group_print.h"
#include <inttypes.h>
#include <string.h>

/* ---- members: both lists go by id ---- */

static void diff_members(const struct group_view *before, const struct group_view *now,
                         const char *time, struct buf *out)
{
    size_t a = 0, b = 0, a_count = before ? before->member_count : 0;
    while (a < a_count || b < now->member_count) {
        int order = a == a_count ? 1
                    : b == now->member_count
                        ? -1
                        : strcmp(before->members[a].consumer_id, now->members[b].consumer_id);
        if (order < 0)
            buf_appendf(out, "%s member left: %s\n", time, before->members[a].consumer_id);
        else if (order > 0)
            buf_appendf(out, "%s member joined: %s\n", time, now->members[b].consumer_id);
        else if (before->members[a].session != now->members[b].session)
            buf_appendf(out, "%s member came back in another session: %s\n", time,
                        now->members[b].consumer_id);
        a += order <= 0;
        b += order >= 0;
    }
}

/* ---- partitions ---- */

static const struct group_partition *find(const struct group_view *view, const char *topic,
                                          int32_t partition)
{
    for (size_t t = 0; view && t < view->topic_count; t++)
        for (size_t p = 0; p < view->topics[t].partition_count; p++)
            if (view->topics[t].partitions[p].partition == partition &&
                strcmp(view->topics[t].name, topic) == 0)
                return &view->topics[t].partitions[p];
    return NULL;
}

static const char *owner_of(const struct group_partition *p)
{
    return p && p->owner ? p->owner : "none";
}

static void append_number(struct buf *out, const char *what, int64_t value, bool is_known)
{
    if (is_known)
        buf_appendf(out, "%s %" PRId64, what, value);
    else
        buf_appendf(out, "%s unknown", what);
}

static void append_position(const struct group_partition *p, struct buf *out)
{
    int64_t lag = 0;
    bool has_lag = group_lag(p, &lag);
    append_number(out, "offset", p->offset, p->offset >= 0);
    append_number(out, ", log end", p->log_end, p->log_end >= 0);
    append_number(out, ", lag", lag, has_lag);
    buf_append_byte(out, '\n');
}

static void diff_partition(const char *topic, const struct group_partition *before,
                           const struct group_partition *now, const char *time, struct buf *out)
{
    if (strcmp(owner_of(before), owner_of(now)) != 0)
        buf_appendf(out, "%s [%s,%" PRId32 "] owner: %s -> %s\n", time, topic, now->partition,
                    owner_of(before), owner_of(now));
    else if (before && before->owner && before->owner_session != now->owner_session)
        buf_appendf(out, "%s [%s,%" PRId32 "] owner: %s, in another session\n", time, topic,
                    now->partition, now->owner);
    if (!before || before->offset != now->offset || before->log_end != now->log_end) {
        buf_appendf(out, "%s [%s,%" PRId32 "] ", time, topic, now->partition);
        append_position(now, out);
    }
}

static void diff_partitions(const struct group_view *before, const struct group_view *now,
                            const char *time, struct buf *out)
{
    for (size_t t = 0; t < now->topic_count; t++) {
        const struct group_topic *topic = &now->topics[t];
        for (size_t p = 0; p < topic->partition_count; p++)
            diff_partition(topic->name, find(before, topic->name, topic->partitions[p].partition),
                           &topic->partitions[p], time, out);
    }
}

/* ---- problems ---- */

static bool has_problem(const struct group_problems *list, const char *text)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(list->list[i].text, text) == 0)
            return true;
    return false;
}

/* Those of `a` that are not in `b`. */
static void append_problems(const char *word, const struct group_problems *a,
                            const struct group_problems *b, const char *time, struct buf *out)
{
    for (size_t i = 0; a && i < a->count; i++)
        if (!has_problem(b, a->list[i].text))
            buf_appendf(out, "%s %s: %s\n", time, word, a->list[i].text);
}

void group_diff_append(const struct group_moment *before, const struct group_moment *now,
                       const char *time, struct buf *out)
{
    const struct group_view *view = before ? before->view : NULL;
    const struct group_problems *problems = before ? before->problems : NULL;
    diff_members(view, now->view, time, out);
    diff_partitions(view, now->view, time, out);
    append_problems("solved", problems, now->problems, time, out);
    append_problems("problem", now->problems, problems, time, out);
}
