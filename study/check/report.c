#include "study/check/report.h"
#include "zkconsumer/core/zk/json.h"
#include <inttypes.h>
#include <stdio.h>

static const char *unit_name(enum check_unit unit)
{
    switch (unit) {
    case CHECK_NS: return "partition-seconds";
    case CHECK_MESSAGES: return "messages";
    case CHECK_PARTITIONS: return "partitions";
    case CHECK_VIEWS_AT_ONCE: return "views";
    default: return "times";
    }
}

/* A quantity without its unit; partition-nanoseconds as seconds. */
static void append_found(const struct check_result *r, struct buf *out, int width)
{
    if (r->unit == CHECK_NS)
        buf_appendf(out, "%*.3f", width, (double)r->found / 1e9);
    else
        buf_appendf(out, "%*" PRIu64, width, r->found);
}

static void append_line(const struct check_result *r, struct buf *out)
{
    buf_appendf(out, "  %-18s ", r->id);
    if (r->unknown) {
        buf_appendf(out, "not decided: %s\n", r->unknown);
        return;
    }
    if (r->is_must && !r->checked) {
        buf_appendf(out, "nothing to check  (%s)\n", r->text);
        return;
    }
    if (r->is_must) {
        buf_appendf(out, "%-8s %10" PRIu64 " checked, ", r->found ? "VIOLATED" : "ok", r->checked);
        buf_appendf(out, "%" PRIu64 " violations  (%s)\n", r->found, r->text);
        if (r->first)
            buf_appendf(out, "  %-18s first at %.6f s: %s\n", "", (double)r->first_ns / 1e9,
                        r->first);
        return;
    }
    append_found(r, out, 19);
    buf_appendf(out, " %-17s (%s)\n", unit_name(r->unit), r->text);
    if (r->first)
        buf_appendf(out, "  %-18s %s\n", "", r->first);
}

void check_report_text(const struct check *c, struct buf *out)
{
    for (int i = 0; i < CHECK_COUNT; i++) {
        struct check_result r = check_result(c, (enum check_id)i);
        if (i == 0)
            buf_append_text(out, "MUST\n");
        if (i == CHECK_MUST_COUNT)
            buf_append_text(out, "COUNT\n");
        append_line(&r, out);
    }
}

void check_report_json(const struct check *c, struct buf *out)
{
    buf_append_byte(out, '[');
    for (int i = 0; i < CHECK_COUNT; i++) {
        struct check_result r = check_result(c, (enum check_id)i);
        buf_appendf(out, "%s{\"id\":\"%s\",\"severity\":\"%s\",\"checked\":%" PRIu64 ",\"found\":",
                    i ? "," : "", r.id, r.is_must ? "must" : "count", r.checked);
        append_found(&r, out, 0);
        buf_appendf(out, ",\"unit\":\"%s\"", unit_name(r.unit));
        if (r.unknown) {
            buf_append_text(out, ",\"unknown\":");
            zk_json_append_string(out, r.unknown);
        }
        if (r.first) {
            buf_append_text(out, ",\"first\":");
            zk_json_append_string(out, r.first);
            buf_appendf(out, ",\"t\":%" PRIu64, r.first_ns);
        }
        buf_append_byte(out, '}');
    }
    buf_append_byte(out, ']');
}
