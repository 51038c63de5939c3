#include "zkconsumer/core/zk/filter.h"
#include <assert.h>
#include <stdlib.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct zk_filter {
    enum zk_pattern pattern;
    bool exclude_internal_topics;
    pcre2_code *code;
    pcre2_match_data *match;
};

/* What String.trim() and the class \s take away. */
static bool is_blank(char c)
{
    return (unsigned char)c <= ' ';
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static char *normalise(const char *raw)
{
    char *text = malloc(strlen(raw) + 1);
    if (!text)
        return NULL;
    size_t len = 0;
    for (; *raw; raw++)
        if (!is_blank(*raw))
            text[len++] = *raw == ',' ? '|' : *raw;
    size_t from = 0;
    while (from < len && is_quote(text[from]))
        from++;
    while (len > from && is_quote(text[len - 1]))
        len--;
    memmove(text, text + from, len - from);
    text[len - from] = 0;
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
    if (!f->match)
        goto fail;
    free(text);
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
        pcre2_match(f->code, (PCRE2_SPTR)topic, strlen(topic), 0, 0, f->match, NULL) >= 0;
    return matches == (f->pattern == ZK_PATTERN_WHITE_LIST);
}

void zk_filter_free(struct zk_filter *f)
{
    if (!f)
        return;
    pcre2_match_data_free(f->match);
    pcre2_code_free(f->code);
    free(f);
}
