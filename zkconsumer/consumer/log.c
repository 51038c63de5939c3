#include "zkconsumer/consumer/log.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/base/repeats.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 1024

struct log {
    struct log_options options;
    struct repeats repeats;
};

static const char *const names[] = {
    [LOG_FACILITY_ZK] = "zk",         [LOG_FACILITY_MEMBER] = "member",
    [LOG_FACILITY_CLAIM] = "claim",   [LOG_FACILITY_FETCH] = "fetch",
    [LOG_FACILITY_OFFSET] = "offset", [LOG_FACILITY_CONF] = "conf",
};
_Static_assert(ARRAY_LEN(names) == LOG_FACILITIES, "a name for each facility");

const char *log_facility_name(enum log_facility facility)
{
    return names[facility];
}

struct log *log_new(const struct log_options *options)
{
    struct log *log = calloc(1, sizeof *log);
    if (!log)
        return NULL;
    log->options = *options;
    if (!log->options.now_ms)
        log->options.now_ms = loop_now_ms;
    return log;
}

static void emit(const struct log *log, int level, enum log_facility facility, const char *text)
{
    const struct log_options *o = &log->options;
    if (o->fn)
        o->fn(o->consumer, level, names[facility], text, o->user);
    else
        fprintf(stderr, "zkconsumer: %s: %s\n", names[facility], text);
}

static void emit_held(const struct log *log, const struct repeats_held *held)
{
    char text[LINE_MAX_BYTES];
    snprintf(text, sizeof text, "%s [and %u more like it]", held->text, held->count);
    emit(log, held->level, (enum log_facility)held->tag, text);
}

void log_free(struct log *log)
{
    if (!log)
        return;
    struct repeats_held held;
    size_t at = 0;
    while (repeats_take_held(&log->repeats, &at, &held))
        emit_held(log, &held);
    free(log);
}

bool log_shows(const struct log *log, int level, enum log_facility facility)
{
    return level <= log->options.level || log->options.debug & 1U << facility;
}

static void show(struct log *log, int level, enum log_facility facility, const char *cause,
                 const char *text)
{
    struct repeats_line added = {.level = level,
                                 .tag = facility,
                                 .cause = cause,
                                 .text = text,
                                 .now_ms = log->options.now_ms()};
    struct repeats_answer answer;
    repeats_add(&log->repeats, &added, &answer);
    /* From here on the callback may log itself. */
    if (answer.pushed_out.count)
        emit_held(log, &answer.pushed_out);
    if (!answer.shows)
        return;
    if (!answer.before) {
        emit(log, level, facility, text);
        return;
    }
    char line[LINE_MAX_BYTES + 64];
    snprintf(line, sizeof line, "%s [and %u more like it in the %" PRId64 " s before]", text,
             answer.before, answer.before_ms / 1000);
    emit(log, level, facility, line);
}

static void format_and_show(struct log *log, int level, enum log_facility facility,
                            const char *cause, const char *fmt, va_list args)
{
    char text[LINE_MAX_BYTES];
    vsnprintf(text, sizeof text, fmt, args);
    if (level >= LOG_LEVEL_DEBUG)
        emit(log, level, facility, text);
    else
        show(log, level, facility, cause ? cause : text, text);
}

void log_line(struct log *log, int level, enum log_facility facility, const char *fmt, ...)
{
    if (!log_shows(log, level, facility))
        return;
    va_list args;
    va_start(args, fmt);
    format_and_show(log, level, facility, NULL, fmt, args);
    va_end(args);
}

void log_cause(struct log *log, int level, enum log_facility facility, const char *cause,
               const char *fmt, ...)
{
    if (!log_shows(log, level, facility))
        return;
    va_list args;
    va_start(args, fmt);
    format_and_show(log, level, facility, cause, fmt, args);
    va_end(args);
}
