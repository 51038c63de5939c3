#include "zkconsumer/core/zk/filter.h"
#include "zkconsumer/core/zk/java_regex.h"
#include <assert.h>
#include <stdlib.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

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

enum zkc_err zk_filter_new(enum zk_pattern pattern, const char *raw, bool exclude_internal_topics,
                           struct zk_filter **out, struct why *why)
{
    assert(pattern != ZK_PATTERN_STATIC);
    why_clear(why);
    if (strlen(raw) > ZK_FILTER_BYTES_MAX) {
        why_set(why, "a topic filter of %zu bytes, at most %d are taken", strlen(raw),
                ZK_FILTER_BYTES_MAX);
        return ZKC_ERR_TOO_LARGE;
    }
    struct zk_filter *f = calloc(1, sizeof *f);
    char *text = normalise(raw);
    enum zkc_err err = ZKC_ERR_NOMEM;
    int code = 0;
    PCRE2_SIZE offset = 0;
    if (!f || !text)
        goto fail;
    err = zk_java_regex_check(text, why);
    if (err)
        goto fail;
    err = ZKC_ERR_NOMEM;
    f->pattern = pattern;
    f->exclude_internal_topics = exclude_internal_topics;
    f->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                            PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF, &code, &offset, NULL);
    if (!f->code) {
        PCRE2_UCHAR reason[120] = "";
        pcre2_get_error_message(code, reason, sizeof reason);
        if (code != PCRE2_ERROR_NOMEMORY && code != 121 /* failed to get memory */)
            err = ZKC_ERR_CORRUPT;
        why_set(why, "topic filter %s is no regular expression: %s at character %zu",
                why_quote(bytes_of_text(text)).text, (char *)reason, (size_t)offset);
        goto fail;
    }
    f->match = pcre2_match_data_create(1, NULL);
    f->limits = pcre2_match_context_create(NULL);
    if (!f->match || !f->limits)
        goto fail;
    pcre2_set_match_limit(f->limits, ZK_FILTER_STEPS_MAX);
    f->expression = text;
    *out = f;
    return ZKC_OK;
fail:
    free(text);
    zk_filter_free(f);
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
