#include "study/scenario/scenario.h"
#include "study/scenario/keys.h"
#include "study/scenario/parts.h"
#include "zkconsumer/core/base/properties.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool refuse(const struct reading *r, const char *fmt, ...)
{
    char expected[WHY_SIZE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(expected, sizeof expected, fmt, args);
    va_end(args);
    struct why_quote found = why_quote(bytes_of_text(r->entry->value));
    if (r->entry->line)
        why_set(r->why, "%s:%zu: %s: expected %s, found \"%s\"", r->scenario->file, r->entry->line,
                r->entry->key, expected, found.text);
    else
        why_set(r->why, "%s: expected %s, found \"%s\"", r->entry->key, expected, found.text);
    return false;
}

/* ---- entries ---- */

static struct entry *find(const struct scenario *s, const char *key)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->entries[i].key, key) == 0)
            return &s->entries[i];
    return NULL;
}

static enum zkc_err append(struct scenario *s, const char *key, const char *value, size_t line)
{
    if (s->count == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 16;
        struct entry *grown = realloc(s->entries, cap * sizeof *grown);
        if (!grown)
            return ZKC_ERR_NOMEM;
        s->entries = grown;
        s->cap = cap;
    }
    struct entry e = {strdup(key), strdup(value), line};
    if (!e.key || !e.value) {
        free(e.key);
        free(e.value);
        return ZKC_ERR_NOMEM;
    }
    s->entries[s->count++] = e;
    return ZKC_OK;
}

enum zkc_err scenario_append(struct scenario *s, const char *key, const char *value)
{
    return append(s, key, value, 0);
}

struct parsing {
    struct scenario *scenario;
    struct why *why;
};

static enum zkc_err take(const struct property *p, void *user)
{
    struct parsing *x = user;
    struct scenario *s = x->scenario;
    if (!key_is_known(p->key)) {
        why_set(x->why, "%s:%zu: unknown key \"%s\"; expected one like %s", s->file, p->line,
                why_quote(bytes_of_text(p->key)).text, key_near(p->key));
        return ZKC_ERR_CONFIG;
    }
    const struct entry *before = find(s, p->key);
    if (before) {
        why_set(x->why, "%s:%zu: %s: expected once, and stands in line %zu already", s->file,
                p->line, p->key, before->line);
        return ZKC_ERR_CONFIG;
    }
    return append(s, p->key, p->value, p->line);
}

static enum zkc_err check_by_building(const struct scenario *s, struct why *why)
{
    struct world world;
    enum zkc_err err = scenario_build(s, 1, &world, why);
    if (!err)
        world_deinit(&world);
    return err;
}

enum zkc_err scenario_parse(const char *file, struct bytes text, struct scenario **out,
                            struct why *why)
{
    why_clear(why);
    struct why own, parsed;
    why_clear(&own);
    struct scenario *s = calloc(1, sizeof *s);
    if (!s || !(s->file = strdup(file))) {
        free(s);
        return ZKC_ERR_NOMEM;
    }
    struct parsing x = {s, &own};
    enum zkc_err err = properties_parse(text, take, &x, &parsed);
    if (err && *own.text)
        *why = own;
    else if (err && strncmp(parsed.text, "line ", 5) == 0)
        why_set(why, "%s:%s", file, parsed.text + 5);
    if (!err)
        err = check_by_building(s, why);
    if (err) {
        scenario_free(s);
        return err;
    }
    *out = s;
    return ZKC_OK;
}

enum zkc_err scenario_read(const char *path, struct scenario **out, struct why *why)
{
    FILE *in = fopen(path, "rb");
    char *text = in ? malloc(SCENARIO_BYTES_MAX + 1) : NULL;
    size_t len = text ? fread(text, 1, SCENARIO_BYTES_MAX + 1, in) : 0;
    enum zkc_err err = ZKC_OK;
    if (!in || (text && ferror(in))) {
        why_set(why, "%s: %s", path, strerror(errno));
        err = ZKC_ERR_SYSTEM;
    } else if (!text) {
        err = ZKC_ERR_NOMEM;
    } else if (len > SCENARIO_BYTES_MAX) {
        why_set(why, "%s: expected a scenario of at most 1 MiB", path);
        err = ZKC_ERR_CONFIG;
    } else {
        err = scenario_parse(path, bytes_of(text, len), out, why);
    }
    free(text);
    if (in)
        fclose(in);
    return err;
}

enum zkc_err scenario_copy(const struct scenario *s, struct scenario **out)
{
    struct scenario *c = calloc(1, sizeof *c);
    enum zkc_err err = c && (c->file = strdup(s->file)) ? ZKC_OK : ZKC_ERR_NOMEM;
    for (size_t i = 0; i < s->count && !err; i++)
        err = append(c, s->entries[i].key, s->entries[i].value, s->entries[i].line);
    if (err) {
        scenario_free(c);
        return err;
    }
    *out = c;
    return ZKC_OK;
}

static void remove_at(struct scenario *s, size_t i)
{
    free(s->entries[i].key);
    free(s->entries[i].value);
    memmove(&s->entries[i], &s->entries[i + 1], (s->count - i - 1) * sizeof *s->entries);
    s->count--;
}

void scenario_free(struct scenario *s)
{
    if (!s)
        return;
    while (s->count)
        remove_at(s, s->count - 1);
    free(s->entries);
    free(s->file);
    free(s);
}

static enum zkc_err replace(struct scenario *s, const char *key, const char *value)
{
    struct entry *e = find(s, key);
    if (!e)
        return append(s, key, value, 0);
    char *copy = strdup(value);
    if (!copy)
        return ZKC_ERR_NOMEM;
    free(e->value);
    e->value = copy;
    e->line = 0;
    return ZKC_OK;
}

/* P: the first topic's partitions; its rate and what it begins with stay. */
static enum zkc_err set_partitions(struct scenario *s, const char *value)
{
    const struct entry *topic = NULL;
    for (size_t i = 0; i < s->count && !topic; i++)
        if (strncmp(s->entries[i].key, "topic.", 6) == 0)
            topic = &s->entries[i];
    char key[TOPIC_NAME_MAX + 8], text[256];
    snprintf(key, sizeof key, "%s", topic ? topic->key : "topic.t");
    const char *old = topic ? topic->value : KEY_TOPIC_DEFAULT;
    snprintf(text, sizeof text, "%s%s", value, old + strcspn(old, " "));
    return replace(s, key, text);
}

enum zkc_err scenario_set(struct scenario *s, const char *key, const char *value, struct why *why)
{
    why_clear(why);
    if (strcmp(key, "P") == 0)
        return set_partitions(s, value);
    if (strcmp(key, "n") == 0)
        key = "members";
    if (!key_is_known(key)) {
        why_set(why, "unknown key \"%s\"; expected one like %s", why_quote(bytes_of_text(key)).text,
                key_near(key));
        return ZKC_ERR_CONFIG;
    }
    return replace(s, key, value);
}

static bool is_fault(const struct entry *e)
{
    return strncmp(e->key, "fault.", 6) == 0;
}

size_t scenario_fault_count(const struct scenario *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        n += is_fault(&s->entries[i]);
    return n;
}

void scenario_remove_fault(struct scenario *s, size_t which)
{
    for (size_t i = 0; i < s->count; i++)
        if (is_fault(&s->entries[i]) && which-- == 0) {
            remove_at(s, i);
            return;
        }
}

const char *scenario_value(const struct scenario *s, const char *key)
{
    const struct entry *e = find(s, key);
    return e ? e->value : key_default(key);
}

void scenario_write(const struct scenario *s, struct buf *out)
{
    for (size_t i = 0; i < s->count; i++)
        buf_appendf(out, "%s = %s\n", s->entries[i].key, s->entries[i].value);
}
