#include "zkconsumer/core/zk/java_regex_parts.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CODE_MAX 0x10FFFF

static struct regex_escape failed(struct regex_scan *s, const char *reason)
{
    regex_fail(s, reason);
    return (struct regex_escape){.type = REGEX_ESCAPE_FAILED};
}

static struct regex_escape character(uint32_t c)
{
    return (struct regex_escape){.type = REGEX_ESCAPE_CHAR, .c = c};
}

static struct regex_escape set_of(struct regex_set *set)
{
    return (struct regex_escape){.type = set ? REGEX_ESCAPE_SET : REGEX_ESCAPE_FAILED, .set = set};
}

static struct regex_escape words(const char *text)
{
    struct regex_escape e = {.type = REGEX_ESCAPE_TEXT, .width = regex_no_width};
    snprintf(e.text, sizeof e.text, "%s", text);
    return e;
}

static int hex_digit(uint32_t c)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *at = c && c < 128 ? strchr(digits, (int)c) : NULL;
    if (!at)
        return -1;
    return at - digits < 16 ? (int)(at - digits) : (int)(at - digits) - 6;
}

static bool is_octal(uint32_t c)
{
    return c >= '0' && c <= '7';
}

/* \0n, \0nn, \0mnn with m up to 3. */
static struct regex_escape octal(struct regex_scan *s)
{
    uint32_t first = regex_read(s);
    if (!is_octal(first))
        return failed(s, "no octal number");
    uint32_t c = first - '0';
    for (int i = 0; i < (first <= '3' ? 2 : 1); i++) {
        uint32_t digit = regex_read(s);
        if (!is_octal(digit)) {
            s->at--;
            break;
        }
        c = c * 8 + (digit - '0');
    }
    return character(c);
}

static struct regex_escape braced_hexadecimal(struct regex_scan *s)
{
    uint32_t code = 0, c = regex_read(s);
    if (hex_digit(c) < 0)
        return failed(s, "no hexadecimal number");
    for (; hex_digit(c) >= 0; c = regex_read(s)) {
        code = code * 16 + (uint32_t)hex_digit(c);
        if (code > CODE_MAX)
            return failed(s, "a character above U+10FFFF");
    }
    return c == '}' ? character(code) : failed(s, "a hexadecimal number without its end");
}

/* \xHH, \x{H...} */
static struct regex_escape hexadecimal(struct regex_scan *s)
{
    uint32_t c = regex_read(s);
    if (c == '{')
        return braced_hexadecimal(s);
    int high = hex_digit(c);
    int low = high < 0 ? -1 : hex_digit(regex_read(s));
    return low < 0 ? failed(s, "no hexadecimal number") : character((uint32_t)(high * 16 + low));
}

static bool four_digits(struct regex_scan *s, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(regex_read(s));
        if (digit < 0)
            return false;
        *code = *code * 16 + (uint32_t)digit;
    }
    return true;
}

/* \uHHHH; two of them for a character above U+FFFF. */
static struct regex_escape utf16(struct regex_scan *s)
{
    uint32_t high, low;
    if (!four_digits(s, &high))
        return failed(s, "no four hexadecimal digits");
    if (high < 0xD800 || high > 0xDBFF)
        return character(high);
    size_t at = s->at;
    if (regex_read(s) == '\\' && regex_read(s) == 'u') {
        if (!four_digits(s, &low))
            return failed(s, "no four hexadecimal digits");
        if (low >= 0xDC00 && low <= 0xDFFF)
            return character(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
    }
    s->at = at;
    return character(high);
}

/* Of a group that there is not, or not yet when the group around is asked for the first time,
 * nothing matches. */
static struct regex_escape reference(struct regex_scan *s, size_t group)
{
    struct regex_escape e = {.type = REGEX_ESCAPE_TEXT, .width = regex_no_width};
    bool exists = group <= s->groups_total;
    bool is_caseless = regex_has(s, REGEX_I);
    e.width.is_bounded = false;
    if (exists)
        snprintf(e.text, sizeof e.text,
                 is_caseless ? "(?i:\\g{%" PRIu32 "})" : "(?:\\g{%" PRIu32 "})", s->numbers[group]);
    else
        snprintf(e.text, sizeof e.text, "(?!)");
    return e;
}

/* More digits belong to it as long as there is such a group already. */
static struct regex_escape numbered_reference(struct regex_scan *s, uint32_t first)
{
    size_t group = first - '0';
    for (;;) {
        uint32_t c = regex_peek(s);
        if (c < '0' || c > '9' || s->groups < group * 10 + (c - '0'))
            return reference(s, group);
        group = group * 10 + (c - '0');
        regex_read(s);
    }
}

static struct regex_escape named_reference(struct regex_scan *s)
{
    if (regex_read(s) != '<')
        return failed(s, "\\k without a name");
    char *name = regex_group_name(s, regex_read(s));
    if (!name)
        return (struct regex_escape){.type = REGEX_ESCAPE_FAILED};
    for (const struct regex_group_name *n = s->names; n; n = n->next)
        if (strcmp(n->name, name) == 0)
            return reference(s, n->group);
    return failed(s, "the name of no group before it");
}

/* Between what is of a word and what is not. Java 17 takes all letters for words, Java 19 and later
 * those of ASCII; names of topics have no others. \b{g} is the end of what a reader takes for a
 * character: of ASCII that is anywhere but in \r\n. Any other brace is a repetition. */
static struct regex_escape boundary(struct regex_scan *s, uint32_t c)
{
#define WORD "[\\p{L}\\p{Nd}_]"
    if (c == 'B')
        return words("(?:(?<=" WORD ")(?=" WORD ")|(?<!" WORD ")(?!" WORD "))");
    if (regex_peek(s) == '{' && regex_char(s, s->at + 1) == 'g') {
        s->at += 2;
        return regex_read(s) == '}' ? words("(?!(?<=\\r)\\n)") : failed(s, "\\b{g without its end");
    }
    return words("(?:(?<=" WORD ")(?!" WORD ")|(?<!" WORD ")(?=" WORD "))");
#undef WORD
}

static struct regex_escape wide(const char *text, int32_t least, int32_t most, bool is_fixed)
{
    struct regex_escape e = words(text);
    e.width = (struct regex_width){
        .least = least, .most = most, .is_bounded = true, .is_fixed = is_fixed, .is_odd = true};
    return e;
}

/* What stands for a place or for several characters, and is not known in classes. */
static struct regex_escape place(struct regex_scan *s, uint32_t c)
{
    switch (c) {
    case 'A':
    case 'G': return words("(?:\\A)"); /* \G: a search that matches a whole name begins once */
    case 'B':
    case 'b': return boundary(s, c);
    case 'k': return named_reference(s);
    case 'R': return wide("(?:\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])", 1, 2, true);
    case 'X': return wide("(?:\\X)", 1, 0, false); /* Java forgets the other number */
    case 'Z': return words(regex_has(s, REGEX_D) ? regex_line_end_unix : regex_line_end);
    case 'z': return words("(?:\\z)");
    }
    return numbered_reference(s, c);
}

/* \d and the like: ASCII, but for the flag U. */
static struct regex_escape shorthand(struct regex_scan *s, uint32_t c)
{
    static const struct {
        char letter;
        const char *items, *name;
    } sets[] = {
        {'d', "0-9", "digit"},
        {'s', "\\t-\\r\\x20", "space"},
        {'w', "0-9A-Z_a-z", "word"},
        {'h', "\\h", NULL},
        {'v', "\\n-\\r\\x{85}\\x{2028}\\x{2029}", NULL},
    };
    uint32_t lower = c | 0x20;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if ((uint32_t)sets[i].letter != lower)
            continue;
        bool is_wide = sets[i].name && regex_has(s, REGEX_CLASSES);
        struct regex_set *set =
            is_wide ? regex_unicode_class(s, sets[i].name) : regex_set_items(s, sets[i].items);
        return set_of(c == lower ? set : regex_set_not(s, set));
    }
    return failed(s, "an escape that Java does not know");
}

/* \N{name}: in any case, without what is blank around it. */
static struct regex_escape by_name(struct regex_scan *s)
{
    char name[32];
    size_t len = 0, first, end;
    uint32_t c;
    if (regex_read(s) != '{')
        return failed(s, "\\N without a name");
    for (first = s->at; regex_read(s) != '}';)
        if (s->at >= s->len)
            return failed(s, "\\N without its end");
    for (end = s->at - 1; first < end && s->text[first] <= ' '; first++)
        ;
    while (end > first && s->text[end - 1] <= ' ')
        end--;
    for (; first < end && len + 1 < sizeof name; first++) {
        c = s->text[first];
        name[len++] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c < 128 ? c : '?');
    }
    name[first < end ? 0 : len] = '\0'; /* none has so many characters */
    return regex_character_by_name(name, &c) ? character(c)
                                             : failed(s, "the name of no character, in one word");
}

static bool is_one_of(const char *set, uint32_t c)
{
    return c && c < 128 && strchr(set, (int)c);
}

struct regex_escape regex_escape(struct regex_scan *s, bool is_in_class, bool is_in_range)
{
    s->at++;
    if (s->at >= s->len)
        return failed(s, "a backslash at the end");
    uint32_t c = s->text[s->at++];
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_one_of("ABGRXZbkz123456789", c))
        return is_in_class ? failed(s, "an escape that Java does not know in a class")
                           : place(s, c);
    switch (c) {
    case '0': return octal(s);
    case 'N': return by_name(s);
    case 'a': return character(7);
    case 'c': return s->at < s->len ? character(regex_read(s) ^ 64) : failed(s, "\\c at the end");
    case 'e': return character(27);
    case 'f': return character('\f');
    case 'n': return character('\n');
    case 'r': return character('\r');
    case 't': return character('\t');
    case 'u': return utf16(s);
    case 'x': return hexadecimal(s);
    case 'v':
        if (is_in_range)
            return character(11); /* what it was before Java 8 */
    }
    return is_letter ? shorthand(s, c) : character(c);
}
