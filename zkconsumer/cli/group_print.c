#include "zkconsumer/cli/group_print.h"
#include "zkconsumer/cli/json_text.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdio.h>

bool group_lag(const struct group_partition *p, int64_t *lag)
{
    if (p->offset == GROUP_UNKNOWN || p->log_end == GROUP_UNKNOWN)
        return false;
    *lag = p->log_end - p->offset;
    return true;
}

/* ---- columns ---- */

#define COLUMNS_MAX 8
#define CELL_NUMBER 24 /* bytes that hold an int64 or "unknown" */

/* A table is walked twice: once for the widths, once to write. The last column is not padded. */
struct table {
    struct buf *out; /* NULL: measuring */
    size_t widths[COLUMNS_MAX];
    size_t column;
};

static void put_cell(struct table *t, const char *text, bool is_last)
{
    size_t len = strlen(text);
    if (!t->out && len > t->widths[t->column])
        t->widths[t->column] = len;
    if (t->out) {
        buf_append(t->out, text, len);
        for (size_t i = len; !is_last && i < t->widths[t->column] + 2; i++)
            buf_append_byte(t->out, ' ');
        if (is_last)
            buf_append_byte(t->out, '\n');
    }
    t->column = is_last ? 0 : t->column + 1;
}

static void name_number(bool is_known, int64_t number, char *out, size_t size)
{
    snprintf(out, size, "unknown");
    if (is_known)
        snprintf(out, size, "%" PRId64, number);
}

static void put_number(struct table *t, bool is_known, int64_t number)
{
    char text[CELL_NUMBER];
    name_number(is_known, number, text, sizeof text);
    put_cell(t, text, false);
}

static void put_session(struct table *t, int64_t session)
{
    char text[CELL_NUMBER];
    snprintf(text, sizeof text, "0x%" PRIx64, (uint64_t)session);
    put_cell(t, session ? text : "none", false);
}

static void put_header(struct table *t, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_cell(t, names[i], i + 1 == count);
}

typedef void rows_fn(struct table *t, const struct group_view *view,
                     const struct group_problems *problems);

static void put_partitions(struct table *t, const struct group_view *view,
                           const struct group_problems *problems)
{
    (void)problems;
    static const char *const names[] = {"GROUP",          "TOPIC", "PARTITION", "CURRENT-OFFSET",
                                        "LOG-END-OFFSET", "LAG",   "OWNER"};
    put_header(t, names, ARRAY_LEN(names));
    for (size_t i = 0; i < view->topic_count; i++) {
        const struct group_topic *topic = &view->topics[i];
        for (size_t n = 0; n < topic->partition_count; n++) {
            const struct group_partition *p = &topic->partitions[n];
            int64_t lag = 0;
            bool lag_known = group_lag(p, &lag);
            put_cell(t, view->group, false);
            put_cell(t, topic->name, false);
            put_number(t, true, p->partition);
            put_number(t, p->offset != GROUP_UNKNOWN, p->offset);
            put_number(t, p->log_end != GROUP_UNKNOWN, p->log_end);
            put_number(t, lag_known, lag);
            put_cell(t, p->owner ? p->owner : "none", true);
        }
    }
}

void group_print_kafkas(const struct group_view *view, struct buf *out)
{
    static const char row[] = "%-30s %-30s %-10s %-15s %-15s %-15s %s\n";
    buf_appendf(out, row, "GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG",
                "OWNER");
    for (size_t i = 0; i < view->topic_count; i++) {
        const struct group_topic *topic = &view->topics[i];
        for (size_t n = 0; n < topic->partition_count; n++) {
            const struct group_partition *p = &topic->partitions[n];
            char id[CELL_NUMBER], offset[CELL_NUMBER], end[CELL_NUMBER], lag_text[CELL_NUMBER];
            int64_t lag = 0;
            bool lag_known = group_lag(p, &lag);
            name_number(true, p->partition, id, sizeof id);
            name_number(p->offset != GROUP_UNKNOWN, p->offset, offset, sizeof offset);
            name_number(p->log_end != GROUP_UNKNOWN, p->log_end, end, sizeof end);
            name_number(lag_known, lag, lag_text, sizeof lag_text);
            buf_appendf(out, row, view->group, topic->name, id, offset, end, lag_text,
                        p->owner ? p->owner : "none");
        }
    }
}

static void append_subscription(struct buf *out, const struct group_member *m)
{
    if (m->odd)
        buf_append_text(out, "cannot be read");
    else if (m->pattern != ZK_PATTERN_STATIC)
        buf_appendf(out, "%s ", zk_pattern_name(m->pattern));
    for (size_t i = 0; i < m->subscription_count; i++)
        buf_appendf(out, "%s%s:%" PRId32, i ? "," : "", m->subscriptions[i].topic,
                    m->subscriptions[i].streams);
    if (!m->odd && m->subscription_count == 0)
        buf_append_text(out, "nothing");
    if (m->filter_odd)
        buf_append_text(out, " (not understood: its share is not known)");
}

/* Members of Kafka 0.8 are what compat is. */
static const char *mode_of(const struct group_member *m)
{
    return m->odd ? "unknown" : m->strategy ? "safe" : "compat";
}

static void put_members(struct table *t, const struct group_view *view,
                        const struct group_problems *problems)
{
    static const char *const names[] = {"MEMBER", "SESSION", "MODE",     "STRATEGY",
                                        "OWNED",  "SHARE",   "UNFENCED", "SUBSCRIPTION"};
    put_header(t, names, ARRAY_LEN(names));
    struct buf subscription;
    buf_init(&subscription, ZK_STREAMS_MAX * 1024);
    for (size_t i = 0; i < view->member_count; i++) {
        const struct group_member *m = &view->members[i];
        put_cell(t, m->consumer_id, false);
        put_session(t, m->session);
        put_cell(t, mode_of(m), false);
        put_cell(t, m->strategy ? m->strategy : "unknown", false);
        put_number(t, true, (int64_t)problems->shares[i].owned);
        put_number(t, !problems->unchecked, (int64_t)problems->shares[i].share);
        put_number(t, true, (int64_t)problems->shares[i].unfenced);
        buf_clear(&subscription);
        append_subscription(&subscription, m);
        const char *text = buf_text(&subscription);
        put_cell(t, text ? text : "too long to show", true);
    }
    buf_deinit(&subscription);
}

static void print_rows(rows_fn *rows, const struct group_view *view,
                       const struct group_problems *problems, struct buf *out)
{
    struct table t = {0};
    rows(&t, view, problems);
    t.out = out;
    rows(&t, view, problems);
}

static size_t partition_count(const struct group_view *view)
{
    size_t n = 0;
    for (size_t i = 0; i < view->topic_count; i++)
        n += view->topics[i].partition_count;
    return n;
}

void group_print_table(const struct group_view *view, const struct group_problems *problems,
                       struct buf *out)
{
    size_t start = out->len;
    if (partition_count(view))
        print_rows(put_partitions, view, problems, out);
    if (out->len > start && view->member_count)
        buf_append_byte(out, '\n');
    if (view->member_count)
        print_rows(put_members, view, problems, out);
    if (out->len > start && problems->count)
        buf_append_byte(out, '\n');
    for (size_t i = 0; i < problems->count; i++)
        buf_appendf(out, "problem: %s\n", problems->list[i].text);
}

/* ---- JSON ---- */

static void text_field(struct buf *out, const char *lead, const char *name, const char *text)
{
    buf_append_text(out, lead);
    json_append_field(out, name, bytes_of_text(text));
}

static void number_field(struct buf *out, const char *name, bool is_known, int64_t number)
{
    if (is_known)
        buf_appendf(out, ",\"%s\":%" PRId64, name, number);
    else
        buf_appendf(out, ",\"%s\":null", name);
}

static void session_field(struct buf *out, int64_t session, bool is_known)
{
    if (is_known && session)
        buf_appendf(out, ",\"session\":\"0x%" PRIx64 "\"", (uint64_t)session);
    else
        buf_append_text(out, ",\"session\":null");
}

static void print_member(const struct group_member *m, const struct group_share *share,
                         bool is_checked, struct buf *out)
{
    text_field(out, "{", "id", m->consumer_id);
    session_field(out, m->session, true);
    text_field(out, ",", "mode", m->odd ? NULL : mode_of(m));
    text_field(out, ",", "strategy", m->strategy);
    text_field(out, ",", "pattern", m->odd ? NULL : zk_pattern_name(m->pattern));
    buf_append_text(out, ",\"subscription\":{");
    for (size_t i = 0; i < m->subscription_count; i++) {
        buf_append_text(out, i ? "," : "");
        json_append_string(out, bytes_of_text(m->subscriptions[i].topic));
        buf_appendf(out, ":%" PRId32, m->subscriptions[i].streams);
    }
    buf_append_byte(out, '}');
    number_field(out, "owned", true, (int64_t)share->owned);
    number_field(out, "unfenced", true, (int64_t)share->unfenced);
    number_field(out, "share", is_checked, (int64_t)share->share);
    text_field(out, ",", "error", m->odd ? m->odd : m->filter_odd ? m->filter_odd : m->breaks);
    buf_append_byte(out, '}');
}

static void print_partition(const char *topic, const struct group_partition *p, struct buf *out)
{
    int64_t lag = 0;
    bool lag_known = group_lag(p, &lag);
    text_field(out, "{", "topic", topic);
    number_field(out, "partition", true, p->partition);
    number_field(out, "offset", p->offset != GROUP_UNKNOWN, p->offset);
    text_field(out, ",", "offset_store",
               p->offset == GROUP_UNKNOWN ? NULL
               : p->is_stored             ? "kafka"
                                          : "zookeeper");
    number_field(out, "log_end", p->log_end != GROUP_UNKNOWN, p->log_end);
    number_field(out, "lag", lag_known, lag);
    number_field(out, "leader", p->leader >= 0, p->leader);
    text_field(out, ",", "owner", p->owner);
    session_field(out, p->owner_session, p->owner != NULL);
    number_field(out, "claim_version", p->owner != NULL, p->owner_version);
    buf_append_byte(out, '}');
}

static void print_problem(const struct group_problem *p, struct buf *out)
{
    text_field(out, "{", "kind", group_problem_name(p->kind));
    text_field(out, ",", "topic", p->topic);
    number_field(out, "partition", p->topic != NULL, p->partition);
    text_field(out, ",", "member", p->member);
    text_field(out, ",", "text", p->text);
    buf_append_byte(out, '}');
}

void group_print_json(const struct group_view *view, const struct group_problems *problems,
                      struct buf *out)
{
    text_field(out, "{", "group", view->group);
    buf_appendf(out, ",\"exists\":%s,\"members\":[", view->exists ? "true" : "false");
    for (size_t i = 0; i < view->member_count; i++) {
        buf_append_text(out, i ? "," : "");
        print_member(&view->members[i], &problems->shares[i], !problems->unchecked, out);
    }
    buf_append_text(out, "],\"partitions\":[");
    bool is_first = true;
    for (size_t i = 0; i < view->topic_count; i++) {
        for (size_t n = 0; n < view->topics[i].partition_count; n++, is_first = false) {
            buf_append_text(out, is_first ? "" : ",");
            print_partition(view->topics[i].name, &view->topics[i].partitions[n], out);
        }
    }
    buf_append_text(out, "],\"problems\":[");
    for (size_t i = 0; i < problems->count; i++) {
        buf_append_text(out, i ? "," : "");
        print_problem(&problems->list[i], out);
    }
    text_field(out, "],", "unchecked", problems->unchecked);
    buf_append_text(out, "}\n");
}
