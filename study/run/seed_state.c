#include "study/run/seed_state.h"
#include "zkconsumer/core/base/json.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zkconsumer/version.h>

#define FORMAT         "zkstudy-seeds/1"
#define LINE_BYTES_MAX ((size_t)2 * 1024 * 1024)
#define TEXTS_MAX      128

struct seed_state {
    char *path;
    FILE *file;
    uint64_t first, last;
    uint8_t *done;          /* a bit for each seed wanted */
    char *texts[TEXTS_MAX]; /* reasons of "not decided", once each; owned */
    size_t text_count;
    struct buf line;
};

/* ---- a line of a seed ---- */

static const struct {
    const char *name;
    size_t at; /* in run_result */
} NUMBERS[] = {
    {"events", offsetof(struct run_result, counts.events)},
    {"members", offsetof(struct run_result, members)},
    {"registered", offsetof(struct run_result, registered)},
    {"causes", offsetof(struct run_result, measures.causes)},
    {"rebalances", offsetof(struct run_result, measures.rebalances)},
    {"attempts", offsetof(struct run_result, measures.attempts)},
    {"failed", offsetof(struct run_result, measures.failed)},
    {"attempt_ns", offsetof(struct run_result, measures.attempt_ns)},
    {"failed_ns", offsetof(struct run_result, measures.failed_ns)},
    {"rounds_lost", offsetof(struct run_result, measures.rounds_lost)},
    {"conflicts", offsetof(struct run_result, measures.conflicts)},
    {"reads", offsetof(struct run_result, measures.reads)},
    {"writes", offsetof(struct run_result, measures.writes)},
    {"commits", offsetof(struct run_result, measures.commits)},
    {"notifications", offsetof(struct run_result, measures.notifications)},
    {"watches", offsetof(struct run_result, measures.watches)},
};
#define NUMBER_COUNT (sizeof NUMBERS / sizeof *NUMBERS)

static void write_checks(struct json *j, const struct run_result *r)
{
    json_object_begin(j, "checks"); /* [checked, found], or why it is not decided */
    for (int i = 0; i < CHECK_COUNT; i++) {
        const struct check_result *c = &r->checks[i];
        if (c->unknown) {
            json_text(j, check_name((enum check_id)i), c->unknown);
        } else if (c->checked || c->found) {
            json_list_begin(j, check_name((enum check_id)i));
            json_int(j, NULL, (int64_t)c->checked);
            json_int(j, NULL, (int64_t)c->found);
            json_list_end(j);
        }
    }
    json_object_end(j);
}

static void write_run(struct json *j, const struct run_result *r)
{
    json_hex(j, "hash", r->hash);
    json_bool(j, "stable", r->is_stable);
    if (r->tts_ns != UINT64_MAX)
        json_int(j, "tts_ns", (int64_t)r->tts_ns);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        uint64_t n;
        memcpy(&n, (const char *)r + NUMBERS[i].at, sizeof n);
        json_int(j, NUMBERS[i].name, (int64_t)n);
    }
    if (r->violated != CHECK_COUNT) {
        json_text(j, "violated", check_name(r->violated));
        json_int(j, "violated_ns", (int64_t)r->violated_ns);
        json_text(j, "detail", r->detail);
    }
    write_checks(j, r);
}

static void write_seed(struct buf *out, const struct seed_result *r, const char *replay)
{
    struct json j;
    json_init(&j, out);
    json_object_begin(&j, NULL);
    json_int(&j, "seed", (int64_t)r->seed);
    if (replay)
        json_text(&j, "replay", replay);
    if (r->died)
        json_int(&j, "died", r->died);
    else
        write_run(&j, &r->run);
    json_object_end(&j);
    buf_append_byte(out, '\n');
}

/* A text that lasts as long as the state. NULL: no memory, or too many. */
static const char *lasting_text(struct seed_state *s, const char *text)
{
    for (size_t i = 0; i < s->text_count; i++)
        if (strcmp(s->texts[i], text) == 0)
            return s->texts[i];
    char *copy = s->text_count < TEXTS_MAX ? strdup(text) : NULL;
    if (copy)
        s->texts[s->text_count++] = copy;
    return copy;
}

static bool read_number(const json_t *json, uint64_t *out)
{
    json_int_t n = json_integer_value(json);
    if (!json_is_integer(json) || n < 0)
        return false;
    *out = (uint64_t)n;
    return true;
}

static bool read_checks(struct seed_state *s, json_t *checks, struct run_result *r)
{
    const char *name;
    json_t *value;
    if (!json_is_object(checks))
        return false;
    json_object_foreach(checks, name, value)
    {
        enum check_id id = check_by_name(name);
        if (id == CHECK_COUNT)
            return false;
        struct check_result *c = &r->checks[id];
        if (json_is_string(value)) {
            c->unknown = lasting_text(s, json_string_value(value));
            if (!c->unknown)
                return false;
        } else if (!read_number(json_array_get(value, 0), &c->checked) ||
                   !read_number(json_array_get(value, 1), &c->found)) {
            return false;
        }
    }
    return true;
}

static bool read_run(struct seed_state *s, json_t *json, struct run_result *r)
{
    const char *hash = json_string_value(json_object_get(json, "hash"));
    const char *violated = json_string_value(json_object_get(json, "violated"));
    *r = (struct run_result){.violated = CHECK_COUNT, .tts_ns = UINT64_MAX};
    if (!hash || sscanf(hash, "%" SCNx64, &r->hash) != 1)
        return false;
    r->is_stable = json_is_true(json_object_get(json, "stable"));
    json_t *tts = json_object_get(json, "tts_ns");
    if (tts && !read_number(tts, &r->tts_ns))
        return false;
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        uint64_t n;
        if (!read_number(json_object_get(json, NUMBERS[i].name), &n))
            return false;
        memcpy((char *)r + NUMBERS[i].at, &n, sizeof n);
    }
    if (violated) {
        const char *detail = json_string_value(json_object_get(json, "detail"));
        r->violated = check_by_name(violated);
        if (r->violated == CHECK_COUNT || !detail ||
            !read_number(json_object_get(json, "violated_ns"), &r->violated_ns))
            return false;
        snprintf(r->detail, sizeof r->detail, "%s", detail);
    }
    return read_checks(s, json_object_get(json, "checks"), r);
}

static bool read_seed(struct seed_state *s, const char *text, struct seed_result *r)
{
    json_t *json = json_loads(text, 0, NULL), *died = json_object_get(json, "died");
    uint64_t n = 0;
    bool ok = read_number(json_object_get(json, "seed"), &r->seed);
    r->died = 0;
    if (ok && died) {
        ok = read_number(died, &n) && n > 0 && n < 512;
        r->died = (int)n;
    } else if (ok) {
        ok = read_run(s, json, &r->run);
    }
    json_decref(json);
    return ok;
}

/* ---- the file ---- */

static enum zkc_err failed(struct seed_state *s, struct why *why)
{
    why_set(why, "%s: %s", s->path, strerror(errno));
    return ZKC_ERR_SYSTEM;
}

static bool is_wanted(const struct seed_state *s, uint64_t seed)
{
    return seed >= s->first && seed <= s->last;
}

bool seed_state_has(const struct seed_state *s, uint64_t seed)
{
    uint64_t i = seed - s->first;
    return is_wanted(s, seed) && s->done[i / 8] >> i % 8 & 1;
}

static void mark(struct seed_state *s, uint64_t seed)
{
    uint64_t i = seed - s->first;
    s->done[i / 8] |= (uint8_t)(1u << i % 8);
}

static void write_head(const struct seed_state_options *o, struct buf *out)
{
    struct json j;
    struct buf scenario;
    buf_init(&scenario, LINE_BYTES_MAX / 2);
    scenario_write(o->scenario, &scenario);
    json_init(&j, out);
    json_object_begin(&j, NULL);
    json_text(&j, "format", FORMAT);
    json_text(&j, "version", ZKC_VERSION_TEXT);
    json_bytes(&j, "scenario", buf_bytes(&scenario));
    json_object_end(&j);
    buf_append_byte(out, '\n');
    if (scenario.failed)
        out->failed = scenario.failed;
    buf_deinit(&scenario);
}

static enum zkc_err read_line(struct seed_state *s, const struct seed_state_options *o,
                              const char *text, size_t number, struct why *why)
{
    struct seed_result r;
    if (!read_seed(s, text, &r)) {
        why_set(why, "%s:%zu: expected what a seed came to, found \"%s\"", s->path, number,
                why_quote(bytes_of_text(text)).text);
        return ZKC_ERR_CONFIG;
    }
    if (!is_wanted(s, r.seed) || seed_state_has(s, r.seed))
        return ZKC_OK;
    mark(s, r.seed);
    return o->on_result(&r, o->user);
}

/* Reads all lines; *end is where the last whole one ends, *count how many there are. */
static enum zkc_err read_all(struct seed_state *s, const struct seed_state_options *o,
                             const char *head, off_t *end, size_t *count, struct why *why)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t len;
    enum zkc_err err = ZKC_OK;
    *end = 0;
    *count = 0;
    while (!err && (len = getline(&text, &size, s->file)) > 0) {
        if (*count && text[len - 1] != '\n')
            break; /* cut short: this seed is run again */
        ++*count;
        *end += len;
        if (*count == 1 && strcmp(text, head) != 0) {
            why_set(why,
                    "%s:1: expected the state of this scenario with these settings by zkstudy %s, "
                    "found \"%s\"",
                    s->path, ZKC_VERSION_TEXT, why_quote(bytes_of_text(text)).text);
            err = ZKC_ERR_CONFIG;
        } else if (*count > 1) {
            err = read_line(s, o, text, *count, why);
        }
    }
    free(text);
    if (!err && ferror(s->file))
        err = failed(s, why);
    return err;
}

static enum zkc_err append(struct seed_state *s, const struct buf *line, struct why *why)
{
    if (line->failed)
        return line->failed;
    bool ok = fwrite(line->data, 1, line->len, s->file) == line->len && fflush(s->file) == 0;
    return ok ? ZKC_OK : failed(s, why);
}

static enum zkc_err load(struct seed_state *s, const struct seed_state_options *o, struct why *why)
{
    off_t end;
    size_t count;
    s->file = fopen(s->path, "a+e");
    if (!s->file)
        return failed(s, why);
    /* Of this process alone: workers do not hold it on. */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fileno(s->file), F_SETLK, &lock) != 0) {
        why_set(why, "%s: %s", s->path,
                errno == EAGAIN || errno == EACCES ? "another process has it open"
                                                   : strerror(errno));
        return ZKC_ERR_SYSTEM;
    }
    rewind(s->file);
    buf_clear(&s->line);
    write_head(o, &s->line);
    const char *head = buf_text(&s->line);
    if (!head)
        return s->line.failed;
    enum zkc_err err = read_all(s, o, head, &end, &count, why);
    if (!err && ftruncate(fileno(s->file), end) != 0)
        err = failed(s, why);
    if (!err && fseek(s->file, 0, SEEK_END) != 0)
        err = failed(s, why);
    return err || count ? err : append(s, &s->line, why);
}

enum zkc_err seed_state_open(const struct seed_state_options *o, struct seed_state **out,
                             struct why *why)
{
    why_clear(why);
    struct seed_state *s = calloc(1, sizeof *s);
    if (!s)
        return ZKC_ERR_NOMEM;
    s->first = o->first;
    s->last = o->last;
    s->path = strdup(o->path);
    s->done = calloc((size_t)((o->last - o->first) / 8 + 1), 1);
    buf_init(&s->line, LINE_BYTES_MAX);
    enum zkc_err err = s->path && s->done ? load(s, o, why) : ZKC_ERR_NOMEM;
    if (err)
        seed_state_close(s);
    else
        *out = s;
    return err;
}

void seed_state_close(struct seed_state *s)
{
    if (!s)
        return;
    if (s->file)
        fclose(s->file);
    for (size_t i = 0; i < s->text_count; i++)
        free(s->texts[i]);
    buf_deinit(&s->line);
    free(s->done);
    free(s->path);
    free(s);
}

enum zkc_err seed_state_add(struct seed_state *s, const struct seed_result *r, const char *replay,
                            struct why *why)
{
    buf_clear(&s->line);
    write_seed(&s->line, r, replay);
    enum zkc_err err = append(s, &s->line, why);
    if (!err && is_wanted(s, r->seed))
        mark(s, r->seed);
    return err;
}
