#include "zkconsumer/core/zk/filter.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/zk/java_regex.h"
#include <assert.h>
#include <stdlib.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define TRANSLATION_BYTES_MAX (8 << 20)

struct zk_filter {
    enum zk_pattern pattern;
    char *expression;
    bool exclude_internal_topics;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* String.trim() takes off all control characters at both ends; in between only spaces go. */
static struct bytes trim(struct bytes b)
{
    while (b.len && b.data[0] <= ' ')
        b = bytes_of(b.data + 1, b.len - 1);
    while (b.len && b.data[b.len - 1] <= ' ')
        b.len--;
    return b;
}

static char *normalise(const char *raw)
{
    struct bytes trimmed = trim(bytes_of_text(raw));
    char *text = malloc(trimmed.len + 1);
    if (!text)
        return NULL;
    size_t len = 0;
    for (size_t i = 0; i < trimmed.len; i++)
        if (trimmed.data[i] != ' ')
            text[len++] = trimmed.data[i] == ',' ? '|' : (char)trimmed.data[i];
    size_t from = 0;
    while (from < len && is_quote(text[from]))
        from++;
    while (len > from && is_quote(text[len - 1]))
        len--;
    memmove(text, text + from, len - from);
    text[len - from] = '\0';
    return text;
}

/* What PCRE2 refuses is a look-behind of varying length, mostly, or too long for it. */
static enum zkc_err say_refused(int code, const char *text, struct why *why)
{
    PCRE2_UCHAR reason[120] = "";
    pcre2_get_error_message(code, reason, sizeof reason);
    why_set(why, "topic filter %s has no translation: %s", why_quote(bytes_of_text(text)).text,
            (char *)reason);
    bool is_memory = code == PCRE2_ERROR_NOMEMORY || code == 121; /* failed to get memory */
    return is_memory ? ZKC_ERR_NOMEM : ZKC_ERR_CORRUPT;
}

static enum zkc_err compile(struct zk_filter *f, const char *text, struct why *why)
{
    struct buf translation;
    buf_init(&translation, TRANSLATION_BYTES_MAX);
    enum zkc_err err = zk_java_regex_translate(text, &translation, why);
    int code = 0;
    PCRE2_SIZE offset = 0;
    if (!err) {
        f->code = pcre2_compile(
            translation.len ? translation.data : (PCRE2_SPTR) "", translation.len,
            PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF | PCRE2_DOTALL, &code, &offset, NULL);
        if (!f->code)
            err = say_refused(code, text, why);
    }
    buf_deinit(&translation);
    return err;
}

static enum zkc_err make(struct zk_filter *f, const char *raw, struct why *why)
{
    if (strlen(raw) > ZK_FILTER_BYTES_MAX) {
        why_set(why, "a topic filter of %zu bytes, at most %d are taken", strlen(raw),
                ZK_FILTER_BYTES_MAX);
        return ZKC_ERR_TOO_LARGE;
    }
    f->expression = normalise(raw);
    f->match = pcre2_match_data_create(1, NULL);
    f->limits = pcre2_match_context_create(NULL);
    if (!f->expression || !f->match || !f->limits)
        return ZKC_ERR_NOMEM;
    pcre2_set_match_limit(f->limits, ZK_FILTER_STEPS_MAX);
    return compile(f, f->expression, why);
}

enum zkc_err zk_filter_new(enum zk_pattern pattern, const char *raw, bool exclude_internal_topics,
                           struct zk_filter **out, struct why *why)
{
    assert(pattern != ZK_PATTERN_STATIC);
    why_clear(why);
    struct zk_filter *f = calloc(1, sizeof *f);
    if (!f)
        return ZKC_ERR_NOMEM;
    f->pattern = pattern;
    f->exclude_internal_topics = exclude_internal_topics;
    enum zkc_err err = make(f, raw, why);
    if (err)
        zk_filter_free(f);
    else
        *out = f;
    return err;
}

bool zk_filter_allows(const struct zk_filter *f, const char *topic)
{
    if (f->exclude_internal_topics && strcmp(topic, ZK_INTERNAL_TOPIC) == 0)
        return false;
    bool matches =
        pcre2_match(f->code, (PCRE2_SPTR)topic, strlen(topic), 0, 0, f->match, f->limits) >= 0;
    return matches == (f->pattern == ZK_PATTERN_WHITE_LIST);
}

enum zk_pattern zk_filter_pattern(const struct zk_filter *f)
{
    return f->pattern;
}

const char *zk_filter_expression(const struct zk_filter *f)
{
    return f->expression;
}

void zk_filter_free(struct zk_filter *f)
{
    if (!f)
        return;
    pcre2_match_context_free(f->limits);
    pcre2_match_data_free(f->match);
    pcre2_code_free(f->code);
    free(f->expression);
    free(f);
}
