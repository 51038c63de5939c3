#include "zkconsumer/core/zk/java_regex.h"

/* Goes once over the expression. Each take_ function stands at the first byte of what it takes and
 * leaves `at` behind it; false: it is not read alike, from where `at` stands. */
struct scan {
    const char *at;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* As strchr(), which finds the end of the text in every set. */
static bool is_one_of(const char *set, char c)
{
    return c && strchr(set, c);
}

static bool take_name(struct scan *s) /* <name> */
{
    const char *at = s->at + 1;
    if (*s->at != '<' || !is_letter(*at))
        return false;
    while (is_letter(*at) || is_digit(*at))
        at++;
    if (*at != '>')
        return false;
    s->at = at + 1;
    return true;
}

/* After \x: HH or {H...}. */
static bool take_hex(struct scan *s)
{
    static const char hex[] = "0123456789abcdefABCDEF";
    if (*s->at == '{') {
        size_t n = strspn(s->at + 1, hex);
        if (!n || s->at[n + 1] != '}')
            return false;
        s->at += n + 2;
        return true;
    }
    if (strspn(s->at, hex) < 2)
        return false;
    s->at += 2;
    return true;
}

/* After \p or \P: L, {L}, {Lu}. The longer names are not the same in both. */
static bool take_category(struct scan *s)
{
    bool is_braced = *s->at == '{';
    const char *at = s->at + is_braced;
    if (!is_one_of("LMNPSZC", *at))
        return false;
    at++;
    if (is_braced) {
        at += *at >= 'a' && *at <= 'z';
        if (*at++ != '}')
            return false;
    }
    s->at = at;
    return true;
}

/* What may follow '\' in and outside of a class, from the byte after it. */
static bool take_common_escape(struct scan *s)
{
    char c = *s->at;
    if (!c)
        return false;
    if (c == 'x' || c == 'p' || c == 'P') {
        s->at++;
        return c == 'x' ? take_hex(s) : take_category(s);
    }
    if (is_digit(c) || (is_letter(c) && !is_one_of("dDwWsStnrfae", c)))
        return false;
    s->at++;
    return true;
}

/* From after \Q to after \E, or to the end. */
static void take_quoted(struct scan *s)
{
    const char *end = strstr(s->at, "\\E");
    s->at = end ? end + 2 : s->at + strlen(s->at);
}

static bool take_escape(struct scan *s)
{
    s->at++;
    char c = *s->at;
    if (c == 'Q') {
        take_quoted(s);
        return true;
    }
    if (is_one_of("bBAzZG", c)) {
        s->at++;
        return true; /* Java's \b{g} is refused as a repetition */
    }
    if (c == 'k') {
        s->at++;
        return take_name(s);
    }
    if (is_digit(c)) {
        bool is_group = c != '0' && !is_digit(s->at[1]); /* with more digits it may be octal */
        s->at += is_group;
        return is_group;
    }
    return take_common_escape(s);
}

/* From '['. A ']' that comes first is an ordinary character in both. */
static bool take_class(struct scan *s)
{
    s->at++;
    if (*s->at == '^')
        s->at++;
    if (*s->at == ']')
        s->at++;
    while (*s->at && *s->at != ']') {
        if (*s->at == '[' || (s->at[0] == '&' && s->at[1] == '&'))
            return false;
        if (*s->at++ == '\\' && !take_common_escape(s))
            return false;
    }
    if (*s->at)
        s->at++;
    return true;
}

/* After "(?": flags and their end. */
static bool take_flags(struct scan *s)
{
    const char *at = s->at;
    at += strspn(at, "ims");
    if (*at == '-') {
        at++;
        at += strspn(at, "ims");
    }
    if (at == s->at || !is_one_of(":)", *at))
        return false;
    s->at = at + 1;
    return true;
}

static bool take_group(struct scan *s)
{
    s->at++;
    if (*s->at == '*')
        return false; /* PCRE2's verbs */
    if (*s->at != '?')
        return true;
    s->at++;
    if (is_one_of(":=!>", *s->at)) {
        s->at++;
        return true;
    }
    if (s->at[0] == '<' && is_one_of("=!", s->at[1])) {
        s->at += 2;
        return true;
    }
    return *s->at == '<' ? take_name(s) : take_flags(s);
}

/* From '{': {n}. Elsewhere PCRE2 takes it for an ordinary character, and Java refuses it. With a
 * comma it never comes here: filters have made it a '|'. */
static bool take_repetition(struct scan *s)
{
    size_t n = strspn(s->at + 1, "0123456789");
    if (!n || s->at[n + 1] != '}')
        return false;
    s->at += n + 2;
    return true;
}

static bool take(struct scan *s)
{
    switch (*s->at) {
    case '\\': return take_escape(s);
    case '[': return take_class(s);
    case '(': return take_group(s);
    case '{': return take_repetition(s);
    }
    s->at++;
    return true;
}

enum zkc_err zk_java_regex_check(const char *regex, struct why *why)
{
    struct scan s = {.at = regex};
    why_clear(why);
    while (*s.at) {
        const char *from = s.at;
        if (take(&s))
            continue;
        why_set(why,
                "regular expression \"%s\": from character %zu on, \"%s\", it is not one that Java "
                "and this library are known to read alike",
                why_quote(bytes_of_text(regex)).text, (size_t)(from - regex) + 1,
                why_quote(bytes_of_text(from)).text);
        return ZKC_ERR_CORRUPT;
    }
    return ZKC_OK;
}
