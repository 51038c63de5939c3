#include "study/run/repro.h"
#include "zkconsumer/core/base/json.h"
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <zkconsumer/version.h>

#define FORMAT "zkstudy-repro/1"

/* ---- writing ---- */

static void write_lines(const struct scenario *s, struct json *j)
{
    struct buf text;
    buf_init(&text, REPRO_BYTES_MAX);
    scenario_write(s, &text);
    for (size_t at = 0; !text.failed && at < text.len;) {
        const uint8_t *end = memchr(text.data + at, '\n', text.len - at);
        size_t len = (size_t)(end - text.data) - at;
        json_bytes(j, NULL, bytes_of(text.data + at, len));
        at += len + 1;
    }
    if (text.failed)
        j->out->failed = text.failed;
    buf_deinit(&text);
}

void repro_write(const struct scenario *s, uint64_t seed, const struct run_result *r,
                 struct buf *out)
{
    struct json j;
    json_init(&j, out);
    json_object_begin(&j, NULL);
    json_text(&j, "format", FORMAT);
    json_text(&j, "version", ZKC_VERSION_TEXT);
    json_list_begin(&j, "scenario");
    write_lines(s, &j);
    json_list_end(&j);
    json_int(&j, "seed", (int64_t)seed);
    json_text(&j, "violated", check_name(r->violated));
    json_int(&j, "violated_ns", (int64_t)r->violated_ns);
    json_text(&j, "detail", r->detail);
    json_hex(&j, "hash", r->hash);
    json_object_end(&j);
    buf_append_byte(out, '\n');
}

/* ---- reading ---- */

static enum zkc_err refused(const char *path, const char *expected, struct why *why)
{
    why_set(why, "%s: expected %s", path, expected);
    return ZKC_ERR_CONFIG;
}

static enum zkc_err read_scenario(const char *path, const json_t *lines, struct repro *out,
                                  struct why *why)
{
    struct buf text;
    size_t i;
    json_t *line;
    if (!json_is_array(lines))
        return refused(path, "\"scenario\", a list of lines", why);
    buf_init(&text, REPRO_BYTES_MAX);
    json_array_foreach(lines, i, line)
    {
        if (!json_is_string(line)) {
            buf_deinit(&text);
            return refused(path, "\"scenario\", a list of lines", why);
        }
        buf_append_text(&text, json_string_value(line));
        buf_append_byte(&text, '\n');
    }
    enum zkc_err err =
        text.failed ? text.failed : scenario_parse(path, buf_bytes(&text), &out->scenario, why);
    buf_deinit(&text);
    return err;
}

static bool read_natural_number(const json_t *json, uint64_t *out)
{
    *out = (uint64_t)json_integer_value(json);
    return json_is_integer(json) && json_integer_value(json) >= 0;
}

static enum zkc_err read_all(const char *path, const json_t *json, struct repro *out,
                             struct why *why)
{
    const char *format = json_string_value(json_object_get(json, "format"));
    const char *violated = json_string_value(json_object_get(json, "violated"));
    const char *hash = json_string_value(json_object_get(json, "hash"));
    char end;
    if (!format || strcmp(format, FORMAT) != 0)
        return refused(path, "\"format\": \"" FORMAT "\"", why);
    if (!read_natural_number(json_object_get(json, "seed"), &out->seed))
        return refused(path, "\"seed\", a number", why);
    out->violated = violated ? check_by_name(violated) : CHECK_COUNT;
    if (out->violated >= CHECK_MUST_COUNT)
        return refused(path, "\"violated\", the name of a MUST", why);
    if (!read_natural_number(json_object_get(json, "violated_ns"), &out->violated_ns))
        return refused(path, "\"violated_ns\", a number", why);
    if (!hash || sscanf(hash, "%16" SCNx64 "%c", &out->hash, &end) != 1)
        return refused(path, "\"hash\", 16 hexadecimal digits", why);
    return read_scenario(path, json_object_get(json, "scenario"), out, why);
}

enum zkc_err repro_parse(const char *path, struct bytes text, struct repro *out, struct why *why)
{
    json_error_t error;
    struct repro read = {NULL, 0, CHECK_COUNT, 0, 0};
    why_clear(why);
    json_t *json = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, &error);
    if (!json) {
        why_set(why, "%s:%d: expected JSON: %s", path, error.line,
                why_quote(bytes_of_text(error.text)).text);
        return ZKC_ERR_CONFIG;
    }
    enum zkc_err err = read_all(path, json, &read, why);
    json_decref(json);
    if (!err)
        *out = read;
    return err;
}

enum zkc_err repro_read(const char *path, struct repro *out, struct why *why)
{
    FILE *in = fopen(path, "rb");
    char *text = in ? malloc(REPRO_BYTES_MAX + 1) : NULL;
    size_t len = text ? fread(text, 1, REPRO_BYTES_MAX + 1, in) : 0;
    enum zkc_err err = ZKC_OK;
    if (!in || (text && ferror(in))) {
        why_set(why, "%s: %s", path, strerror(errno));
        err = ZKC_ERR_SYSTEM;
    } else if (!text) {
        err = ZKC_ERR_NOMEM;
    } else if (len > REPRO_BYTES_MAX) {
        err = refused(path, "at most 2 MiB", why);
    } else {
        err = repro_parse(path, bytes_of(text, len), out, why);
    }
    free(text);
    if (in)
        fclose(in);
    return err;
}

void repro_deinit(struct repro *r)
{
    scenario_free(r->scenario);
    r->scenario = NULL;
}
