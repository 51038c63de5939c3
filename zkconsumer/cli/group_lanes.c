#include "zkconsumer/cli/group_lanes.h"
#include "zkconsumer/cli/group_print.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

void group_lanes_init(struct group_lanes *l)
{
    *l = (struct group_lanes){0};
}

void group_lanes_deinit(struct group_lanes *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->list[i].topic);
    for (size_t i = 0; i < l->owner_count; i++)
        free(l->owners[i]);
    for (size_t i = 0; i < l->event_count; i++)
        free(l->events[i]);
    free(l->list);
    free(l->owners);
}

/* ---- what is seen ---- */

static char letter_of(struct group_lanes *l, const char *owner)
{
    size_t i = 0;
    if (!owner)
        return '.';
    while (i < l->owner_count && strcmp(l->owners[i], owner) != 0)
        i++;
    if (i == l->owner_count && i < sizeof LETTERS - 1) {
        char **grown = realloc(l->owners, (i + 1) * sizeof *grown);
        char *copy = grown ? strdup(owner) : NULL;
        if (grown)
            l->owners = grown;
        if (copy)
            l->owners[l->owner_count++] = copy;
        else
            l->failed = true;
    }
    return i < l->owner_count ? LETTERS[i] : '?';
}

static struct group_lane *find(const struct group_lanes *l, const char *topic, int32_t partition)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].partition == partition && strcmp(l->list[i].topic, topic) == 0)
            return &l->list[i];
    return NULL;
}

static struct group_lane *add(struct group_lanes *l, const char *topic, int32_t partition)
{
    struct group_lane *grown = realloc(l->list, (l->count + 1) * sizeof *grown);
    char *copy = grown ? strdup(topic) : NULL;
    if (grown)
        l->list = grown;
    if (!copy) {
        l->failed = true;
        return NULL;
    }
    l->list[l->count] = (struct group_lane){.topic = copy, .partition = partition};
    return &l->list[l->count++];
}

void group_lanes_note(struct group_lanes *l, const struct group_view *view)
{
    for (size_t t = 0; t < view->topic_count; t++) {
        const struct group_topic *topic = &view->topics[t];
        for (size_t p = 0; p < topic->partition_count; p++) {
            const struct group_partition *now = &topic->partitions[p];
            struct group_lane *lane = find(l, topic->name, now->partition);
            if (!lane)
                lane = add(l, topic->name, now->partition);
            char letter = letter_of(l, now->owner);
            if (lane && lane->latest != '.') /* a gap must not get lost in its column */
                lane->latest = letter;
        }
    }
}

void group_lanes_tick(struct group_lanes *l)
{
    for (struct group_lane *lane = l->list; lane < l->list + l->count; lane++) {
        if (lane->length == LANE_COLUMNS_MAX) {
            memmove(lane->columns, lane->columns + 1, LANE_COLUMNS_MAX - 1);
            lane->length--;
        }
        lane->columns[lane->length++] = lane->latest ? lane->latest : ' ';
        lane->latest = 0;
    }
}

void group_lanes_add_events(struct group_lanes *l, const char *lines)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        char *copy = strndup(lines, len);
        lines += len + (lines[len] == '\n');
        if (!copy) {
            l->failed = true;
            continue;
        }
        if (l->event_count == LANE_EVENTS_MAX) {
            free(l->events[0]);
            memmove(l->events, l->events + 1, (LANE_EVENTS_MAX - 1) * sizeof *l->events);
            l->event_count--;
        }
        l->events[l->event_count++] = copy;
    }
}

/* ---- the screen ---- */

struct screen {
    struct buf *out;
    size_t columns, rows_left;
};

/* One line, cut to the width; nothing when the screen is full. */
static void line(struct screen *s, const char *fmt, ...) ZKC_PRINTF(2, 3);
static void line(struct screen *s, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    if (s->rows_left == 0)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t len = strlen(text);
    buf_append(s->out, text, len < s->columns ? len : s->columns);
    buf_append_text(s->out, "\r\n");
    s->rows_left--;
}

static const char *number(char room[24], int64_t value, bool is_known)
{
    snprintf(room, 24, "%" PRId64, value);
    return is_known ? room : "unknown";
}

#define ROW "%-20.40s %5s %-28.48s %12s %10s  "

static void append_lane(struct screen *s, const struct group_lanes *l, const char *topic,
                        const struct group_partition *p)
{
    char id[24], offset[24], behind[24], head[256], lane_text[LANE_COLUMNS_MAX + 1] = "";
    int64_t lag = 0;
    bool has_lag = group_lag(p, &lag);
    snprintf(head, sizeof head, ROW, topic, number(id, p->partition, true),
             p->owner ? p->owner : "none", number(offset, p->offset, p->offset >= 0),
             number(behind, lag, has_lag));
    const struct group_lane *lane = find(l, topic, p->partition);
    size_t room = strlen(head) < s->columns ? s->columns - strlen(head) : 0;
    if (lane) {
        size_t shown = lane->length < room ? lane->length : room; /* the newest */
        memcpy(lane_text, lane->columns + lane->length - shown, shown);
        lane_text[shown] = 0;
    }
    line(s, "%s%s", head, lane_text);
}

static int64_t sum_of_lag(const struct group_view *view, size_t *partitions)
{
    int64_t sum = 0, lag;
    *partitions = 0;
    for (size_t t = 0; t < view->topic_count; t++) {
        *partitions += view->topics[t].partition_count;
        for (size_t p = 0; p < view->topics[t].partition_count; p++)
            if (group_lag(&view->topics[t].partitions[p], &lag))
                sum += lag;
    }
    return sum;
}

void group_lanes_append(const struct group_lanes *l, const struct group_moment *now,
                        const char *time, int interval_ms, size_t columns, size_t rows,
                        struct buf *out)
{
    struct screen s = {out, columns, rows};
    size_t partitions;
    int64_t lag = sum_of_lag(now->view, &partitions);
    size_t below = l->owner_count + now->problems->count + 2; /* what should fit, too */
    line(&s, "group %s: %zu members, %zu partitions, lag %" PRId64 ", %zu problems   %s",
         now->view->group, now->view->member_count, partitions, lag, now->problems->count, time);
    line(&s, ROW "lane: a letter is an owner for %d ms", "TOPIC", "PART", "OWNER", "OFFSET", "LAG",
         interval_ms);
    size_t keep = rows > below + 2 ? below : rows / 3;
    for (size_t t = 0; t < now->view->topic_count; t++)
        for (size_t p = 0; p < now->view->topics[t].partition_count && s.rows_left > keep; p++)
            append_lane(&s, l, now->view->topics[t].name, &now->view->topics[t].partitions[p]);
    for (size_t i = 0; i < now->problems->count; i++)
        line(&s, "problem: %s", now->problems->list[i].text);
    for (size_t i = 0; i < l->owner_count; i++)
        line(&s, "%c = %s", LETTERS[i], l->owners[i]);
    size_t shown = l->event_count < s.rows_left ? l->event_count : s.rows_left;
    for (size_t i = l->event_count - shown; i < l->event_count; i++)
        line(&s, "%s", l->events[i]);
}
