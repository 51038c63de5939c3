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
    struct java_set *set;
    struct cell *next;
};

struct java_set {
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

static struct java_set *new_set(struct java_scan *s, struct java_set set)
{
    struct java_set *out = arena_alloc(s->arena, sizeof *out);
    if (!out)
        java_fail(s, "too long");
    else
        *out = set;
    return out;
}

/* NULL: of a NULL, or too deep. Sets in one another are written by recursion. */
static struct java_set *add(struct java_scan *s, struct java_set *to, struct java_set *set)
{
    struct cell *cell = arena_alloc(s->arena, sizeof *cell);
    if (!to || !set || !cell)
        return NULL;
    if (set->depth >= JAVA_REGEX_DEPTH_MAX) {
        java_fail(s, "classes too deep in one another");
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

struct java_set *java_set_items(struct java_scan *s, const char *items)
{
    return new_set(s, (struct java_set){.type = SET_ITEMS, .is_plain = true, .text = items});
}

struct java_set *java_set_not(struct java_scan *s, struct java_set *set)
{
    return add(s, new_set(s, (struct java_set){.type = SET_NOT}), set);
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
static char *range_items(struct java_scan *s, uint32_t from, uint32_t to)
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

static struct java_set *of_text(struct java_scan *s, char *items)
{
    return items ? java_set_items(s, items) : NULL;
}

/* With i and u: as PCRE2 does it, by Unicode's folding. */
static struct java_set *folded(struct java_scan *s, const char *items)
{
    char *text = items && *items ? arena_format(s->arena, "(?i:[%s])", items) : NULL;
    if (!text)
        return of_text(s, arena_format(s->arena, "%s", ""));
    return new_set(s, (struct java_set){.type = SET_TEXT, .text = text});
}

/* With i: what is in the range when it is turned into the other case. */
static char *other_case(struct java_scan *s, uint32_t from, uint32_t to, const char *items)
{
    char others[53];
    size_t n = 0;
    for (uint32_t c = 'A'; c <= 'z'; c++)
        if (is_letter(c) && (c ^ 0x20) >= from && (c ^ 0x20) <= to)
            others[n++] = (char)c;
    others[n] = '\0';
    return items ? arena_format(s->arena, "%s%s", items, others) : NULL;
}

static struct java_set *range_set(struct java_scan *s, uint32_t from, uint32_t to)
{
    char *items = range_items(s, from, to);
    if (!java_has(s, JAVA_I))
        return of_text(s, items);
    return java_has(s, JAVA_U) ? folded(s, items) : of_text(s, other_case(s, from, to, items));
}

struct java_set *java_set_single(struct java_scan *s, uint32_t c)
{
    if (java_has(s, JAVA_I) || is_surrogate(c))
        return range_set(s, c, c);
    return of_text(s, arena_format(s->arena, is_letter(c) ? "%c" : "\\x{%x}", (int)c));
}

/* ---- reading ---- */

/* One class, or the right side of a && in it, which ends where the class does. */
struct class
{
    struct java_set *so_far; /* NULL: nothing but bits */
    struct java_set *last;   /* what was read last; NULL: a character into the bits */
    struct java_set *sum;    /* the union that is our own, if it was so_far last */
    struct java_set *bits_set;
    uint8_t *bits;
    bool has_bits;
};

static struct java_set *read_class(struct java_scan *s, bool takes_end);

static bool unite(struct java_scan *s, struct class *c, struct java_set *set)
{
    if (!set)
        return false;
    if (!c->so_far) {
        c->so_far = set;
        return true;
    }
    if (c->so_far != c->sum) {
        struct java_set *sum = new_set(s, (struct java_set){.type = SET_UNION, .is_plain = true});
        c->sum = add(s, sum, c->so_far);
    }
    c->so_far = c->sum = add(s, c->sum, set);
    return c->sum;
}

static bool intersect(struct java_scan *s, struct class *c, struct java_set *set)
{
    struct java_set *both = new_set(s, (struct java_set){.type = SET_BOTH});
    c->so_far = add(s, add(s, both, c->so_far), set);
    return c->so_far;
}

static void set_bit(struct class *c, uint32_t character)
{
    c->bits[character / 8] |= (uint8_t)(1 << character % 8);
}

/* A single character. Java keeps those below 256 apart, and adds them at the end of the class or at
 * the next &&; what comes behind a && by way of "&x" is still added to what stood before it. */
static bool take_single(struct java_scan *s, struct class *c, uint32_t character)
{
    bool is_wide = java_has(s, JAVA_I) && java_has(s, JAVA_U);
    if (character > 255 || is_wide) {
        c->last = java_set_single(s, character);
        return unite(s, c, c->last);
    }
    set_bit(c, character);
    if (java_has(s, JAVA_I) && is_letter(character))
        set_bit(c, character ^ 0x20);
    c->has_bits = true;
    c->last = NULL;
    return true;
}

/* The end of a range, from behind the '-'. */
static bool range_end(struct java_scan *s, uint32_t *to)
{
    *to = java_peek(s);
    if (*to != '\\') {
        java_next(s);
        return s->at <= s->len || java_fail(s, "a class without its end");
    }
    struct java_escape e = java_escape(s, true, true);
    *to = e.c;
    if (e.type == JAVA_ESCAPE_SET)
        return java_fail(s, "a range to something that is no character");
    return e.type == JAVA_ESCAPE_CHAR;
}

/* A character is read: it, or the range that it begins. */
static bool take_range(struct java_scan *s, struct class *c, uint32_t from)
{
    if (java_peek(s) != '-')
        return take_single(s, c, from);
    uint32_t behind = java_char(s, s->at + 1);
    if (behind == '[' || behind == ']')
        return take_single(s, c, from);
    java_next(s);
    uint32_t to;
    if (!range_end(s, &to))
        return false;
    if (to < from)
        return java_fail(s, "a range from its end to its beginning");
    c->last = range_set(s, from, to);
    return unite(s, c, c->last);
}

static bool take_escape(struct java_scan *s, struct class *c)
{
    uint32_t letter = java_char(s, s->at + 1);
    if (letter == 'p' || letter == 'P') {
        s->at++;
        c->last = java_property(s);
        return unite(s, c, c->last);
    }
    struct java_escape e = java_escape(s, true, java_char(s, s->at + 2) == '-');
    if (e.type == JAVA_ESCAPE_CHAR)
        return take_range(s, c, e.c);
    c->last = e.set;
    return e.type == JAVA_ESCAPE_SET && unite(s, c, e.set);
}

static bool take_item(struct java_scan *s, struct class *c)
{
    uint32_t character = java_peek(s);
    if (s->at >= s->len)
        return java_fail(s, "a class without its end");
    if (character == '\\')
        return take_escape(s, c);
    java_next(s);
    return take_range(s, c, character);
}

/* The right side of a &&, from behind it: classes, and what is not in one, up to the end of the
 * class or the next &. NULL in *right: there is none. */
static bool take_right(struct java_scan *s, struct java_set **right)
{
    struct class side = {0};
    for (uint32_t ch = java_peek(s); ch != ']' && ch != '&'; ch = java_peek(s)) {
        if (s->at >= s->len)
            return java_fail(s, "a class without its end");
        bool is_class = ch == '[';
        if (!is_class)
            s->at--; /* it is read as if a '[' stood before it */
        if (!unite(s, &side, read_class(s, is_class)))
            return false;
    }
    *right = side.so_far;
    return true;
}

static bool take_intersection(struct java_scan *s, struct class *c)
{
    struct java_set *right;
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
        return java_fail(s, "an intersection with nothing"); /* Java fails when it matches */
    if (c->so_far)
        return intersect(s, c, c->last);
    c->so_far = right;
    return right || java_fail(s, "an intersection with nothing");
}

/* One step of a class. *is_done: its end was taken. */
static bool take_step(struct java_scan *s, struct class *c, bool takes_end, bool *is_done)
{
    uint32_t ch = java_peek(s);
    if (ch == '[') {
        c->last = read_class(s, true);
        return unite(s, c, c->last);
    }
    if (ch == '&' && java_next(s) == '&') {
        java_next(s);
        return take_intersection(s, c);
    }
    if (ch == '&')
        s->at--;
    *is_done = ch == ']' && (c->so_far || c->has_bits);
    if (!*is_done)
        return take_item(s, c);
    if (takes_end)
        java_next(s);
    return !c->has_bits || unite(s, c, c->bits_set);
}

static struct java_set *read_steps(struct java_scan *s, bool takes_end)
{
    struct class c = {.bits = arena_alloc(s->arena, 32)};
    c.bits_set =
        c.bits ? new_set(s, (struct java_set){.type = SET_BITS, .is_plain = true, .bits = c.bits})
               : NULL;
    bool is_negated = java_next(s) == '^' && java_char(s, s->at - 1) == '[';
    if (is_negated)
        java_next(s);
    bool is_done = !c.bits_set;
    while (!is_done)
        if (!take_step(s, &c, takes_end, &is_done))
            return NULL;
    return is_negated ? java_set_not(s, c.so_far) : c.so_far;
}

static struct java_set *read_class(struct java_scan *s, bool takes_end)
{
    if (++s->depth > JAVA_REGEX_DEPTH_MAX) {
        java_fail(s, "classes too deep in one another");
        return NULL;
    }
    struct java_set *set = read_steps(s, takes_end);
    s->depth--;
    return set;
}

struct java_set *java_class(struct java_scan *s)
{
    return read_class(s, true);
}

/* ---- writing ---- */

static bool has_bit(const struct java_set *set, unsigned c)
{
    return c < 256 && set->bits[c / 8] & (1 << c % 8);
}

static void write_bits(struct java_scan *s, const struct java_set *set)
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

static void write_items(struct java_scan *s, const struct java_set *set)
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
static void write_plain(struct java_scan *s, const struct java_set *set, bool is_negated)
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
static void write_union(struct java_scan *s, const struct java_set *set)
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
        java_set_write(s, c->set);
        between = "|";
    }
    buf_append_text(s->out, ")");
}

static void write_both(struct java_scan *s, const struct java_set *set)
{
    buf_append_text(s->out, "(?:(?=");
    java_set_write(s, set->first->set);
    buf_append_text(s->out, ")");
    java_set_write(s, set->last->set);
    buf_append_text(s->out, ")");
}

static void write_not(struct java_scan *s, const struct java_set *of)
{
    if (of->is_plain) {
        write_plain(s, of, true);
        return;
    }
    buf_append_text(s->out, "(?:(?!");
    java_set_write(s, of);
    buf_append_text(s->out, ").)");
}

void java_set_write(struct java_scan *s, const struct java_set *set)
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
