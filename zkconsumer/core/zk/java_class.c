/* Classes of characters: [a-z&&[^b]]. They are read into sets, and a set is written as one that
 * PCRE2 knows, [...], or with looks ahead where it must be made of several:
 *
 *     a union          (?>[items]|...|...)
 *     an intersection  (?:(?=...)...)
 *     a complement     (?:(?!...).)
 *
 * each of which takes one character, and has one way to take it. */
#include "zkconsumer/core/zk/java_regex.h"
#include "zkconsumer/core/zk/java_regex_parts.h"
#include <assert.h>
#include <string.h>

struct cell {
    struct regex_set *set;
    struct cell *next;
};

struct regex_set {
    enum {
        SET_ITEMS,
        SET_BITS,
        SET_TEXT, /* complete: no [] around it */
        SET_UNION,
        SET_BOTH,
        SET_NOT,
    } type;
    bool is_plain; /* items, bits, and unions of them */
    unsigned depth;
    const char *text;    /* items, text */
    const uint8_t *bits; /* lent: single characters below 256 that the class has up to its end */
    struct cell *first, *last;
};

static struct regex_set *new_set(struct regex_scan *s, struct regex_set set)
{
    struct regex_set *out = arena_alloc(s->arena, sizeof *out);
    if (!out)
        regex_fail(s, "too long");
    else
        *out = set;
    return out;
}

/* NULL: of a NULL, or too deep. Sets in one another are written by recursion. */
static struct regex_set *add(struct regex_scan *s, struct regex_set *to, struct regex_set *set)
{
    struct cell *cell = arena_alloc(s->arena, sizeof *cell);
    if (!to || !set || !cell)
        return NULL;
    if (set->depth >= JAVA_REGEX_DEPTH_MAX) {
        regex_fail(s, "classes too deep in one another");
        return NULL;
    }
    *cell = (struct cell){.set = set};
    if (to->last)
        to->last->next = cell;
    else
        to->first = cell;
    to->last = cell;
    to->is_plain = to->type == SET_UNION && to->is_plain && set->is_plain;
    if (to->depth <= set->depth)
        to->depth = set->depth + 1;
    return to;
}

struct regex_set *regex_set_items(struct regex_scan *s, const char *items)
{
    return new_set(s, (struct regex_set){.type = SET_ITEMS, .is_plain = true, .text = items});
}

struct regex_set *regex_set_not(struct regex_scan *s, struct regex_set *set)
{
    return add(s, new_set(s, (struct regex_set){.type = SET_NOT}), set);
}

/* ---- characters, and ranges of them ---- */

static bool is_letter(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_surrogate(uint32_t c)
{
    return c >= 0xD800 && c <= 0xDFFF;
}

/* Halves of UTF-16 pairs are no characters of a name, and PCRE2 refuses them. */
static char *range_items(struct regex_scan *s, uint32_t from, uint32_t to)
{
    if (is_surrogate(from))
        from = 0xE000;
    if (is_surrogate(to))
        to = 0xD7FF;
    if (from > to)
        return arena_format(s->arena, "%s", "");
    if (from == to)
        return arena_format(s->arena, "\\x{%x}", (unsigned)from);
    return arena_format(s->arena, "\\x{%x}-\\x{%x}", (unsigned)from, (unsigned)to);
}

static struct regex_set *of_text(struct regex_scan *s, char *items)
{
    return items ? regex_set_items(s, items) : NULL;
}

/* With i and u: as PCRE2 does it, by Unicode's folding. */
static struct regex_set *folded(struct regex_scan *s, const char *items)
{
    char *text = items && *items ? arena_format(s->arena, "(?i:[%s])", items) : NULL;
    if (!text)
        return of_text(s, arena_format(s->arena, "%s", ""));
    return new_set(s, (struct regex_set){.type = SET_TEXT, .text = text});
}

/* With i: what is in the range when it is turned into the other case. */
static char *other_case(struct regex_scan *s, uint32_t from, uint32_t to, const char *items)
{
    char others[53];
    size_t n = 0;
    for (uint32_t c = 'A'; c <= 'z'; c++)
        if (is_letter(c) && (c ^ 0x20) >= from && (c ^ 0x20) <= to)
            others[n++] = (char)c;
    others[n] = '\0';
    return items ? arena_format(s->arena, "%s%s", items, others) : NULL;
}

static struct regex_set *range_set(struct regex_scan *s, uint32_t from, uint32_t to)
{
    char *items = range_items(s, from, to);
    if (!regex_has(s, REGEX_I))
        return of_text(s, items);
    return regex_has(s, REGEX_U) ? folded(s, items) : of_text(s, other_case(s, from, to, items));
}

struct regex_set *regex_set_single(struct regex_scan *s, uint32_t c)
{
    if (regex_has(s, REGEX_I) || is_surrogate(c))
        return range_set(s, c, c);
    return of_text(s, arena_format(s->arena, is_letter(c) ? "%c" : "\\x{%x}", (int)c));
}

/* ---- reading ---- */

/* One class, or the right side of a && in it, which ends where the class does. */
struct class
{
    struct regex_set *so_far; /* NULL: nothing but bits */
    struct regex_set *last;   /* what was read last; NULL: a character into the bits */
    struct regex_set *sum;    /* the union that is our own, if it was so_far last */
    struct regex_set *bits_set;
    uint8_t *bits;
    bool has_bits;
};

static struct regex_set *read_class(struct regex_scan *s, bool takes_end);

static bool unite(struct regex_scan *s, struct class *c, struct regex_set *set)
{
    if (!set)
        return false;
    if (!c->so_far) {
        c->so_far = set;
        return true;
    }
    if (c->so_far != c->sum) {
        struct regex_set *sum = new_set(s, (struct regex_set){.type = SET_UNION, .is_plain = true});
        c->sum = add(s, sum, c->so_far);
    }
    c->so_far = c->sum = add(s, c->sum, set);
    return c->sum;
}

static bool intersect(struct regex_scan *s, struct class *c, struct regex_set *set)
{
    struct regex_set *both = new_set(s, (struct regex_set){.type = SET_BOTH});
    c->so_far = add(s, add(s, both, c->so_far), set);
    return c->so_far;
}

static void set_bit(struct class *c, uint32_t character)
{
    c->bits[character / 8] |= (uint8_t)(1 << character % 8);
}

/* A single character. Java keeps those below 256 apart, and adds them at the end of the class or at
 * the next &&; what comes behind a && by way of "&x" is still added to what stood before it. */
static bool take_single(struct regex_scan *s, struct class *c, uint32_t character)
{
    bool is_wide = regex_has(s, REGEX_I) && regex_has(s, REGEX_U);
    if (character > 255 || is_wide) {
        c->last = regex_set_single(s, character);
        return unite(s, c, c->last);
    }
    set_bit(c, character);
    if (regex_has(s, REGEX_I) && is_letter(character))
        set_bit(c, character ^ 0x20);
    c->has_bits = true;
    c->last = NULL;
    return true;
}

/* The end of a range, from behind the '-'. */
static bool range_end(struct regex_scan *s, uint32_t *to)
{
    *to = regex_peek(s);
    if (*to != '\\') {
        regex_next(s);
        return s->at <= s->len || regex_fail(s, "a class without its end");
    }
    struct regex_escape e = regex_escape(s, true, true);
    *to = e.c;
    if (e.type == REGEX_ESCAPE_SET)
        return regex_fail(s, "a range to something that is no character");
    return e.type == REGEX_ESCAPE_CHAR;
}

/* A character is read: it, or the range that it begins. */
static bool take_range(struct regex_scan *s, struct class *c, uint32_t from)
{
    if (regex_peek(s) != '-')
        return take_single(s, c, from);
    uint32_t behind = regex_char(s, s->at + 1);
    if (behind == '[' || behind == ']')
        return take_single(s, c, from);
    regex_next(s);
    uint32_t to;
    if (!range_end(s, &to))
        return false;
    if (to < from)
        return regex_fail(s, "a range from its end to its beginning");
    c->last = range_set(s, from, to);
    return unite(s, c, c->last);
}

static bool take_escape(struct regex_scan *s, struct class *c)
{
    uint32_t letter = regex_char(s, s->at + 1);
    if (letter == 'p' || letter == 'P') {
        s->at++;
        c->last = regex_property(s);
        return unite(s, c, c->last);
    }
    struct regex_escape e = regex_escape(s, true, regex_char(s, s->at + 2) == '-');
    if (e.type == REGEX_ESCAPE_CHAR)
        return take_range(s, c, e.c);
    c->last = e.set;
    return e.type == REGEX_ESCAPE_SET && unite(s, c, e.set);
}

static bool take_item(struct regex_scan *s, struct class *c)
{
    uint32_t character = regex_peek(s);
    if (s->at >= s->len)
        return regex_fail(s, "a class without its end");
    if (character == '\\')
        return take_escape(s, c);
    regex_next(s);
    return take_range(s, c, character);
}

/* The right side of a &&, from behind it: classes, and what is not in one, up to the end of the
 * class or the next &. NULL in *right: there is none. */
static bool take_right(struct regex_scan *s, struct regex_set **right)
{
    struct class side = {0};
    for (uint32_t ch = regex_peek(s); ch != ']' && ch != '&'; ch = regex_peek(s)) {
        if (s->at >= s->len)
            return regex_fail(s, "a class without its end");
        bool is_class = ch == '[';
        if (!is_class)
            s->at--; /* it is read as if a '[' stood before it */
        if (!unite(s, &side, read_class(s, is_class)))
            return false;
    }
    *right = side.so_far;
    return true;
}

static bool take_intersection(struct regex_scan *s, struct class *c)
{
    struct regex_set *right = NULL;
    if (!take_right(s, &right))
        return false;
    if (c->has_bits) {
        bool is_first = !c->so_far;
        if (!unite(s, c, c->bits_set))
            return false;
        if (is_first)
            c->last = c->bits_set;
        c->has_bits = false;
    }
    if (right)
        c->last = right;
    if (!c->last)
        return regex_fail(s, "an intersection with nothing"); /* Java fails when it matches */
    if (c->so_far)
        return intersect(s, c, c->last);
    c->so_far = right;
    return right || regex_fail(s, "an intersection with nothing");
}

/* One step of a class. *is_done: its end was taken. */
static bool take_step(struct regex_scan *s, struct class *c, bool takes_end, bool *is_done)
{
    uint32_t ch = regex_peek(s);
    if (ch == '[') {
        c->last = read_class(s, true);
        return unite(s, c, c->last);
    }
    if (ch == '&' && regex_next(s) == '&') {
        regex_next(s);
        return take_intersection(s, c);
    }
    if (ch == '&')
        s->at--;
    *is_done = ch == ']' && (c->so_far || c->has_bits);
    if (!*is_done)
        return take_item(s, c);
    if (takes_end)
        regex_next(s);
    return !c->has_bits || unite(s, c, c->bits_set);
}

static struct regex_set *read_steps(struct regex_scan *s, bool takes_end)
{
    struct class c = {.bits = arena_alloc(s->arena, 32)};
    c.bits_set =
        c.bits ? new_set(s, (struct regex_set){.type = SET_BITS, .is_plain = true, .bits = c.bits})
               : NULL;
    bool is_negated = regex_next(s) == '^' && regex_char(s, s->at - 1) == '[';
    if (is_negated)
        regex_next(s);
    bool is_done = !c.bits_set;
    while (!is_done)
        if (!take_step(s, &c, takes_end, &is_done))
            return NULL;
    return is_negated ? regex_set_not(s, c.so_far) : c.so_far;
}

static struct regex_set *read_class(struct regex_scan *s, bool takes_end)
{
    if (++s->depth > JAVA_REGEX_DEPTH_MAX) {
        regex_fail(s, "classes too deep in one another");
        return NULL;
    }
    struct regex_set *set = read_steps(s, takes_end);
    s->depth--;
    return set;
}

struct regex_set *regex_class(struct regex_scan *s)
{
    return read_class(s, true);
}

/* ---- writing ---- */

static bool has_bit(const struct regex_set *set, unsigned c)
{
    return c < 256 && set->bits[c / 8] & (1 << c % 8);
}

static void write_bits(struct regex_scan *s, const struct regex_set *set)
{
    for (unsigned c = 0; c < 256; c++) {
        if (!has_bit(set, c))
            continue;
        unsigned from = c;
        while (has_bit(set, c + 1))
            c++;
        buf_appendf(s->out, "\\x{%x}", from);
        if (c > from)
            buf_appendf(s->out, "-\\x{%x}", c);
    }
}

static void write_items(struct regex_scan *s, const struct regex_set *set)
{
    assert(set->is_plain);
    if (set->type == SET_ITEMS)
        buf_append_text(s->out, set->text);
    else if (set->type == SET_BITS)
        write_bits(s, set);
    else
        for (const struct cell *c = set->first; c; c = c->next)
            write_items(s, c->set);
}

/* [items], and for no items what never matches; negated what matches all. */
static void write_plain(struct regex_scan *s, const struct regex_set *set, bool is_negated)
{
    size_t from = s->out->len;
    buf_append_text(s->out, is_negated ? "[^" : "[");
    size_t begin = s->out->len;
    write_items(s, set);
    if (s->out->len > begin) {
        buf_append_text(s->out, "]");
        return;
    }
    s->out->len = from;
    buf_append_text(s->out, is_negated ? "." : "(?!)");
}

/* What is plain among the parts goes into one pair of brackets. */
static void write_union(struct regex_scan *s, const struct regex_set *set)
{
    buf_append_text(s->out, "(?>[");
    size_t begin = s->out->len;
    for (const struct cell *c = set->first; c; c = c->next)
        if (c->set->is_plain)
            write_items(s, c->set);
    bool has_items = s->out->len > begin;
    if (has_items)
        buf_append_text(s->out, "]");
    else if (!s->out->failed)
        s->out->len = begin - 1; /* without the '[' */
    const char *between = has_items ? "|" : "";
    for (const struct cell *c = set->first; c; c = c->next) {
        if (c->set->is_plain)
            continue;
        buf_append_text(s->out, between);
        regex_set_write(s, c->set);
        between = "|";
    }
    buf_append_text(s->out, ")");
}

static void write_both(struct regex_scan *s, const struct regex_set *set)
{
    buf_append_text(s->out, "(?:(?=");
    regex_set_write(s, set->first->set);
    buf_append_text(s->out, ")");
    regex_set_write(s, set->last->set);
    buf_append_text(s->out, ")");
}

static void write_not(struct regex_scan *s, const struct regex_set *of)
{
    if (of->is_plain) {
        write_plain(s, of, true);
        return;
    }
    buf_append_text(s->out, "(?:(?!");
    regex_set_write(s, of);
    buf_append_text(s->out, ").)");
}

void regex_set_write(struct regex_scan *s, const struct regex_set *set)
{
    if (!set || s->out->failed)
        return;
    if (set->is_plain) {
        write_plain(s, set, false);
        return;
    }
    switch (set->type) {
    case SET_TEXT: buf_append_text(s->out, set->text); break;
    case SET_UNION: write_union(s, set); break;
    case SET_BOTH: write_both(s, set); break;
    case SET_NOT: write_not(s, set->first->set); break;
    case SET_ITEMS:
    case SET_BITS: break; /* plain */
    }
}
