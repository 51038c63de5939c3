#include "zkconsumer/consumer/log.h"
#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 1024
#define CAUSES_MAX     64 /* more at a time push out the one that was silent longest */
#define INTERVAL_MS    1000

/* A cause that a line was shown of within the last second, or that is being held back. */
struct cause {
    uint64_t hash; /* 0: free */
    int64_t shown_ms;
    unsigned held; /* lines since then */
    int level;
    enum log_facility facility;
    char text[160]; /* the newest line, cut, in case that nothing follows */
};

struct log {
    struct log_options options;
    struct cause causes[CAUSES_MAX];
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

static void emit_held(const struct log *log, const struct cause *cause)
{
    char text[LINE_MAX_BYTES];
    snprintf(text, sizeof text, "%s [and %u more like it]", cause->text, cause->held);
    emit(log, cause->level, cause->facility, text);
}

void log_free(struct log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < CAUSES_MAX; i++)
        if (log->causes[i].held)
            emit_held(log, &log->causes[i]);
    free(log);
}

bool log_shows(const struct log *log, int level, enum log_facility facility)
{
    return level <= log->options.level || log->options.debug & 1U << facility;
}

/* FNV-1a, never 0. */
static uint64_t hash_of(enum log_facility facility, const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (unsigned)facility;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash ? hash : 1;
}

/* The slot of a cause; of a new one, the free slot or the one that was silent longest. */
static struct cause *slot_of(struct log *log, uint64_t hash)
{
    struct cause *oldest = &log->causes[0];
    for (size_t i = 0; i < CAUSES_MAX; i++) {
        struct cause *c = &log->causes[i];
        if (c->hash == hash)
            return c;
        if (!oldest->hash)
            continue;
        if (!c->hash || c->shown_ms < oldest->shown_ms)
            oldest = c;
    }
    return oldest;
}

static void show(struct log *log, int level, enum log_facility facility, uint64_t hash,
                 const char *text)
{
    int64_t now_ms = log->options.now_ms();
    struct cause *slot = slot_of(log, hash);
    struct cause before = *slot;
    bool is_known = before.hash == hash;
    if (is_known && now_ms - before.shown_ms < INTERVAL_MS) {
        slot->held++;
        slot->level = level;
        snprintf(slot->text, sizeof slot->text, "%.*s", (int)sizeof slot->text - 1, text);
        return;
    }
    *slot = (struct cause){.hash = hash, .shown_ms = now_ms};
    slot->facility = facility;
    /* From here on the callback may log itself: the slot is in order already. */
    if (!is_known && before.held)
        emit_held(log, &before);
    if (!is_known || !before.held) {
        emit(log, level, facility, text);
        return;
    }
    char line[LINE_MAX_BYTES + 64];
    snprintf(line, sizeof line, "%s [and %u more like it in the %" PRId64 " s before]", text,
             before.held, (now_ms - before.shown_ms) / 1000);
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
        show(log, level, facility, hash_of(facility, cause ? cause : text), text);
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
