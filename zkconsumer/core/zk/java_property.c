/* \p{...}: what Java calls by name, as items of PCRE2's classes. Sources: java.util.regex's
 * CharPredicates, java.lang.Character's methods. */
#include "zkconsumer/core/zk/java_regex_parts.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LETTER_CASES "\\p{Lu}\\p{Ll}\\p{Lt}"
#define ANY_CASE     "\\p{Lowercase}\\p{Uppercase}\\p{Lt}"

struct property {
    const char *name;
    const char *items;    /* "^..." is the complement */
    const char *caseless; /* with the flag i; NULL: the same */
};

/* \p{name}, and \p{Isname}: exactly as written. */
static const struct property by_name[] = {
    {"Lu", "\\p{Lu}", LETTER_CASES},
    {"Ll", "\\p{Ll}", LETTER_CASES},
    {"Lt", "\\p{Lt}", LETTER_CASES},
    {"LC", LETTER_CASES, NULL},
    {"LD", "\\p{L}\\p{Nd}", NULL},
    {"L1", "\\x{0}-\\x{ff}", NULL},
    {"all", "\\x{0}-\\x{10ffff}", NULL},
    {"ASCII", "\\x{0}-\\x{7f}", NULL},
    {"Alnum", "0-9A-Za-z", NULL},
    {"Alpha", "A-Za-z", NULL},
    {"Blank", "\\x20\\t", NULL},
    {"Cntrl", "\\x{0}-\\x{1f}\\x{7f}", NULL},
    {"Digit", "0-9", NULL},
    {"Graph", "!-~", NULL},
    {"Lower", "a-z", "A-Za-z"},
    {"Print", "\\x20-~", NULL},
    {"Punct", "!-\\/:-@\\[-`{-~", NULL},
    {"Space", "\\t-\\r\\x20", NULL},
    {"Upper", "A-Z", "A-Za-z"},
    {"XDigit", "0-9A-Fa-f", NULL},
    {"javaLowerCase", "\\p{Lowercase}", ANY_CASE},
    {"javaUpperCase", "\\p{Uppercase}", ANY_CASE},
    {"javaTitleCase", "\\p{Lt}", ANY_CASE},
    {"javaAlphabetic", "\\p{Alphabetic}", NULL},
    {"javaIdeographic", "\\p{Ideographic}", NULL},
    {"javaDigit", "\\p{Nd}", NULL},
    {"javaDefined", "\\P{Cn}", NULL},
    {"javaLetter", "\\p{L}", NULL},
    {"javaLetterOrDigit", "\\p{L}\\p{Nd}", NULL},
    {"javaJavaIdentifierStart", "\\p{L}\\p{Nl}\\p{Sc}\\p{Pc}", NULL},
    {"javaJavaIdentifierPart",
     "\\p{L}\\p{Nl}\\p{Sc}\\p{Pc}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Cf}\\x{0}-\\x{8}\\x{e}-\\x{1b}\\x{7f}-"
     "\\x{9f}",
     NULL},
    {"javaUnicodeIdentifierStart", "\\p{ID_Start}", NULL},
    {"javaUnicodeIdentifierPart",
     "\\p{ID_Continue}\\p{Cf}\\x{0}-\\x{8}\\x{e}-\\x{1b}\\x{7f}-\\x{9f}", NULL},
    {"javaIdentifierIgnorable", "\\p{Cf}\\x{0}-\\x{8}\\x{e}-\\x{1b}\\x{7f}-\\x{9f}", NULL},
    {"javaSpaceChar", "\\p{Z}", NULL},
    {"javaWhitespace",
     "\\t-\\r\\x{1c}-\\x20\\x{1680}\\x{2000}-\\x{2006}\\x{2008}-\\x{200a}\\x{2028}\\x{2029}"
     "\\x{205f}\\x{3000}",
     NULL},
    {"javaISOControl", "\\x{0}-\\x{1f}\\x{7f}-\\x{9f}", NULL},
    {"javaMirrored", "\\p{Bidi_Mirrored}", NULL},
};

#define WHITE_SPACE "\\p{Z}\\t-\\r\\x{85}"
#define HEX_DIGIT   "\\p{Nd}A-Fa-f\\x{ff10}-\\x{ff19}\\x{ff21}-\\x{ff26}\\x{ff41}-\\x{ff46}"

/* \p{Isname}, in any case. */
static const struct property unicode[] = {
    {"alphabetic", "\\p{Alphabetic}", NULL},
    {"assigned", "\\P{Cn}", NULL},
    {"control", "\\p{Cc}", NULL},
    {"hexdigit", HEX_DIGIT, NULL},
    {"hex_digit", HEX_DIGIT, NULL},
    {"ideographic", "\\p{Ideographic}", NULL},
    {"joincontrol", "\\x{200c}\\x{200d}", NULL},
    {"join_control", "\\x{200c}\\x{200d}", NULL},
    {"letter", "\\p{L}", NULL},
    {"lowercase", "\\p{Lowercase}", ANY_CASE},
    {"noncharactercodepoint", "\\p{Noncharacter_Code_Point}", NULL},
    {"noncharacter_code_point", "\\p{Noncharacter_Code_Point}", NULL},
    {"titlecase", "\\p{Lt}", ANY_CASE},
    {"punctuation", "\\p{P}", NULL},
    {"uppercase", "\\p{Uppercase}", ANY_CASE},
    {"whitespace", WHITE_SPACE, NULL},
    {"white_space", WHITE_SPACE, NULL},
    {"word", "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}", NULL},
};

/* The classes of POSIX beyond ASCII: \p{Isname}, with the flag U \p{name}; in any case. */
static const struct property posix[] = {
    {"alpha", "\\p{Alphabetic}", NULL},
    {"lower", "\\p{Lowercase}", ANY_CASE},
    {"upper", "\\p{Uppercase}", ANY_CASE},
    {"space", WHITE_SPACE, NULL},
    {"punct", "\\p{P}", NULL},
    {"xdigit", HEX_DIGIT, NULL},
    {"alnum", "\\p{Alphabetic}\\p{Nd}", NULL},
    {"cntrl", "\\p{Cc}", NULL},
    {"digit", "\\p{Nd}", NULL},
    {"blank", "\\p{Zs}\\t", NULL},
    {"graph", "^\\p{Z}\\p{Cc}\\p{Cs}\\p{Cn}", NULL},
    {"print", "^\\p{Zl}\\p{Zp}\\p{Cc}\\p{Cs}\\p{Cn}", NULL},
};

struct table {
    const struct property *rows;
    size_t count;
};

#define TABLE(rows) ((struct table){rows, sizeof(rows) / sizeof *(rows)})

static struct regex_set *set_of(struct regex_scan *s, const struct property *p)
{
    const char *items = p->caseless && regex_has(s, REGEX_I) ? p->caseless : p->items;
    return *items == '^' ? regex_set_not(s, regex_set_items(s, items + 1))
                         : regex_set_items(s, items);
}

static struct regex_set *find(struct regex_scan *s, struct table table, const char *name)
{
    for (size_t i = 0; i < table.count; i++)
        if (strcmp(table.rows[i].name, name) == 0)
            return set_of(s, &table.rows[i]);
    return NULL;
}

struct regex_set *regex_unicode_class(struct regex_scan *s, const char *name)
{
    struct regex_set *set = find(s, TABLE(posix), name);
    return set ? set : find(s, TABLE(unicode), name);
}

/* General categories, besides the tables. */
static struct regex_set *category(struct regex_scan *s, const char *name)
{
    static const char names[] = " L M N Z C P S Cn Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd "
                                "Ps Pe Pc Po Sm Sc Sk So Pi Pf ";
    char word[8];
    if (strlen(name) > 2)
        return NULL;
    snprintf(word, sizeof word, " %s ", name);
    if (!strstr(names, word))
        return NULL;
    char *items = arena_format(s->arena, "\\p{%s}", name);
    return items ? regex_set_items(s, items) : NULL;
}

static struct regex_set *exact(struct regex_scan *s, const char *name)
{
    struct regex_set *set = find(s, TABLE(by_name), name);
    return set ? set : category(s, name);
}

/* Scripts go by PCRE2's names, which are Java's and some more; one that Java does not know is in no
 * Java member's filter. */
static struct regex_set *script(struct regex_scan *s, const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (!*name || *name == '_' || strspn(name, letters) != strlen(name))
        return NULL;
    char *items = arena_format(s->arena, "\\p{script:%s}", name);
    return items ? regex_set_items(s, items) : NULL;
}

static void lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text | 0x20);
}

static struct regex_set *block(struct regex_scan *s, const char *name)
{
    uint32_t first, last;
    if (!regex_block(name, &first, &last)) {
        regex_fail(s, "no block of Unicode has this name");
        return NULL;
    }
    if (first > last)
        return regex_set_not(s, regex_set_items(s, "\\x{0}-\\x{10ffff}"));
    char *items = arena_format(s->arena, "\\x{%" PRIx32 "}-\\x{%" PRIx32 "}", first, last);
    return items ? regex_set_items(s, items) : NULL;
}

static struct regex_set *by_key(struct regex_scan *s, char *key, char *value)
{
    lower(key);
    if (strcmp(key, "sc") == 0 || strcmp(key, "script") == 0)
        return script(s, value);
    if (strcmp(key, "blk") == 0 || strcmp(key, "block") == 0)
        return block(s, value);
    if (strcmp(key, "gc") == 0 || strcmp(key, "general_category") == 0)
        return exact(s, value);
    return NULL;
}

static struct regex_set *unicode_or_exact(struct regex_scan *s, char *name)
{
    char *folded = arena_format(s->arena, "%s", name);
    if (!folded)
        return NULL;
    lower(folded);
    struct regex_set *set = find(s, TABLE(unicode), folded);
    set = set ? set : find(s, TABLE(posix), folded);
    set = set ? set : exact(s, name);
    return set ? set : script(s, name);
}

static struct regex_set *named(struct regex_scan *s, char *name)
{
    char *equals = strchr(name, '=');
    if (equals) {
        *equals = '\0';
        return by_key(s, name, equals + 1);
    }
    if (strncmp(name, "In", 2) == 0)
        return block(s, name + 2);
    if (strncmp(name, "Is", 2) == 0)
        return unicode_or_exact(s, name + 2);
    struct regex_set *set = NULL;
    if (regex_has(s, REGEX_CLASSES)) {
        char *folded = arena_format(s->arena, "%s", name);
        if (folded) {
            lower(folded);
            set = find(s, TABLE(posix), folded);
        }
    }
    return set ? set : exact(s, name);
}

/* What stands between the braces, or the one letter. NULL: nothing of use. */
static char *take_name(struct regex_scan *s)
{
    char name[64];
    size_t len = 0;
    bool is_braced = regex_next(s) == '{';
    if (!is_braced) {
        name[len++] = (char)(regex_char(s, s->at) < 128 ? regex_char(s, s->at) : '?');
        regex_read(s);
        return arena_text(s->arena, bytes_of(name, len));
    }
    regex_next(s);
    for (uint32_t c; s->at < s->len && (c = regex_char(s, s->at)) != '}'; s->at++)
        if (len < sizeof name)
            name[len++] = (char)(c < 128 ? c : '?');
    if (s->at++ >= s->len || !len || len == sizeof name)
        return NULL;
    return arena_text(s->arena, bytes_of(name, len));
}

struct regex_set *regex_property(struct regex_scan *s)
{
    size_t from = s->at;
    bool is_complement = regex_char(s, s->at) == 'P';
    char *name = take_name(s);
    struct regex_set *set = name ? named(s, name) : NULL;
    if (!set) {
        s->at = from;
        regex_fail(s, "a property of this name has no translation");
        return NULL;
    }
    return is_complement ? regex_set_not(s, set) : set;
}
