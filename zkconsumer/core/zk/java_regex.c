#include "zkconsumer/core/zk/java_regex.h"
#include "zkconsumer/core/base/utf8.h"
#include "zkconsumer/core/zk/java_regex_parts.h"
#include <inttypes.h>
#include <string.h>

#define ARENA_BYTES_MAX (16 << 20)
#define REPEAT_MAX      65535 /* PCRE2's; no name of a topic is as long */
#define GROUPS_MAX      256   /* one of them matches nothing then: a name has at most 255 */

#define LINE_ENDS "\\n\\r\\x{85}\\x{2028}\\x{2029}"

/* Before the end, or before the line end that is last. */
const char regex_line_end[] =
    "(?:\\z|(?=(?:\\r\\n|[\\r\\x{85}\\x{2028}\\x{2029}])\\z)|(?<!\\r)(?=\\n\\z))";
const char regex_line_end_unix[] = "(?=\\n?\\z)";

/* ---- reading ---- */

uint32_t regex_char(const struct regex_scan *s, size_t at)
{
    return at < s->len ? s->text[at] : 0;
}

bool regex_has(const struct regex_scan *s, enum regex_flag flag)
{
    return s->flags & flag;
}

bool regex_fail(struct regex_scan *s, const char *reason)
{
    if (!s->reason) {
        s->reason = reason;
        s->reason_at = s->at < s->len ? s->at : s->len;
    }
    return false;
}

static bool is_space(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool ends_line(const struct regex_scan *s, uint32_t c)
{
    if (regex_has(s, REGEX_D))
        return c == '\n';
    return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

/* With the flag x: over white space, and over comments up to what ends their line, which is white
 * space mostly, but a character of its own where it is not ASCII. */
static void skip_comments(struct regex_scan *s)
{
    if (!regex_has(s, REGEX_X))
        return;
    while (is_space(regex_char(s, s->at)) || regex_char(s, s->at) == '#') {
        while (is_space(regex_char(s, s->at)))
            s->at++;
        if (regex_char(s, s->at) == '#')
            while (s->at < s->len && !ends_line(s, s->text[s->at]))
                s->at++;
    }
}

uint32_t regex_peek(struct regex_scan *s)
{
    skip_comments(s);
    return regex_char(s, s->at);
}

uint32_t regex_next(struct regex_scan *s)
{
    s->at++;
    return regex_peek(s);
}

uint32_t regex_read(struct regex_scan *s)
{
    uint32_t c = regex_peek(s);
    s->at++;
    return c;
}

uint32_t regex_next_escaped(struct regex_scan *s)
{
    return regex_char(s, ++s->at);
}

static bool is_letter(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

char *regex_group_name(struct regex_scan *s, uint32_t c)
{
    char name[128];
    size_t len = 0;
    for (; len + 1 < sizeof name && (is_letter(c) || (len && is_digit(c))); c = regex_read(s))
        name[len++] = (char)c;
    if (!len || c != '>') {
        regex_fail(s, "no name of a group");
        return NULL;
    }
    return arena_text(s->arena, bytes_of(name, len));
}

/* ---- quantifiers ---- */

static void write_kind(struct regex_scan *s, uint32_t c, struct regex_quantifier *q)
{
    q->is_lazy = c == '?';
    q->is_possessive = c == '+';
    if (c != '?' && c != '+')
        return;
    buf_append_byte(s->out, (uint8_t)c);
    regex_next(s);
}

/* From '{' on: {n}, {n,}, {n,m}. */
static bool counted(struct regex_scan *s, struct regex_quantifier *q, int64_t max)
{
    s->at++; /* what follows stands at once: Java's skip() */
    int64_t least = 0, most = 0;
    uint32_t c = regex_char(s, s->at++);
    if (!is_digit(c))
        return regex_fail(s, "a repetition without a number");
    for (; is_digit(c); c = regex_read(s))
        if ((least = least * 10 + (c - '0')) > INT32_MAX)
            return regex_fail(s, "a repetition beyond all bounds");
    bool is_open = false;
    most = least;
    if (c == ',') {
        c = regex_read(s);
        is_open = c == '}';
        if (!is_open)
            most = 0;
        for (; is_digit(c); c = regex_read(s))
            if ((most = most * 10 + (c - '0')) > INT32_MAX)
                return regex_fail(s, "a repetition beyond all bounds");
    }
    if (c != '}')
        return regex_fail(s, "a repetition without its end");
    if (most < least)
        return regex_fail(s, "a repetition of less than its least");
    *q = (struct regex_quantifier){.repeat = REGEX_COUNTED,
                                   .least = (int32_t)least,
                                   .most = is_open ? INT32_MAX : (int32_t)most};
    if (least == 0 && most == 1 && !is_open)
        q->repeat = REGEX_MAYBE;
    if (least > max)
        least = max;
    if (most > max)
        most = max;
    if (is_open)
        buf_appendf(s->out, "{%" PRId64 ",}", least);
    else
        buf_appendf(s->out, "{%" PRId64 ",%" PRId64 "}", least, most);
    write_kind(s, regex_peek(s), q);
    return true;
}

/* `max`: a larger number is the same. */
static bool closure(struct regex_scan *s, struct regex_quantifier *q, int64_t max)
{
    uint32_t c = regex_peek(s);
    *q = (struct regex_quantifier){.repeat = REGEX_ONCE};
    if (c == '{')
        return counted(s, q, max);
    if (c != '?' && c != '*' && c != '+')
        return true;
    q->repeat = c == '?' ? REGEX_MAYBE : REGEX_COUNTED;
    q->least = c == '+';
    q->most = INT32_MAX;
    buf_append_byte(s->out, (uint8_t)c);
    write_kind(s, regex_next(s), q);
    return true;
}

/* Java matches each turn of a possessive group for itself; PCRE2 goes back into the first of
 * (a|ab){2}+ when the second fails. So what was written from `from` on becomes atomic. */
static bool group_closure(struct regex_scan *s, size_t from, struct regex_quantifier *q)
{
    static const char atomic[] = "(?>";
    size_t to = s->out->len;
    if (!closure(s, q, GROUPS_MAX))
        return false;
    struct buf *out = s->out;
    if (!q->is_possessive || !buf_reserve(out, sizeof atomic))
        return true;
    size_t shift = sizeof atomic - 1;
    memmove(out->data + to + shift + 1, out->data + to, out->len - to);
    out->data[to + shift] = ')';
    memmove(out->data + from + shift, out->data + from, to - from);
    memcpy(out->data + from, atomic, shift);
    out->len += shift + 1;
    return true;
}

/* ---- groups ---- */

static bool expression(struct regex_scan *s);

static unsigned flag_of(uint32_t c)
{
    switch (c) {
    case 'i': return REGEX_I;
    case 'm': return REGEX_M;
    case 's': return REGEX_S;
    case 'c': return REGEX_CANON;
    case 'd': return REGEX_D;
    case 'u': return REGEX_U;
    case 'x': return REGEX_X;
    case 'U': return REGEX_CLASSES | REGEX_U;
    }
    return 0;
}

static void take_flags(struct regex_scan *s)
{
    uint32_t c = regex_peek(s);
    for (; flag_of(c); c = regex_next(s))
        s->flags |= flag_of(c);
    if (c == '-')
        for (c = regex_next(s); flag_of(c); c = regex_next(s))
            s->flags &= ~flag_of(c);
}

static void open_group(struct regex_scan *s)
{
    s->groups++;
    s->numbers[s->groups] = (uint32_t)(s->groups + s->extra);
    buf_append_text(s->out, "(");
}

static bool name_group(struct regex_scan *s, uint32_t first)
{
    char *name = regex_group_name(s, first);
    struct regex_group_name *entry = arena_alloc(s->arena, sizeof *entry);
    if (!name || !entry)
        return regex_fail(s, "a name that is too long");
    for (const struct regex_group_name *n = s->names; n; n = n->next)
        if (strcmp(n->name, name) == 0)
            return regex_fail(s, "a name that another group has");
    open_group(s);
    *entry = (struct regex_group_name){.name = name, .group = s->groups, .next = s->names};
    s->names = entry;
    return true;
}

struct opened {
    enum {
        OPENED_GROUP,
        OPENED_FLAGS, /* (?flags), which is no group */
        OPENED_ATOMIC,
        OPENED_LOOK,
        OPENED_BEHIND,
    } type;
    bool is_negative;
    size_t behind, groups; /* looking behind: which one it is, and groups before it */
    uint32_t rest;         /* the number of its group, when its length varies */
};

/* That it varies is known in the second pass. */
static void open_behind(struct regex_scan *s, struct opened *o)
{
    o->type = OPENED_BEHIND;
    o->behind = s->behinds++;
    o->groups = s->groups;
    if (!s->is_second || !s->is_varying[o->behind])
        return;
    s->extra++;
    o->rest = (uint32_t)(s->groups + s->extra);
}

static bool close_behind(struct regex_scan *s, const struct opened *o, size_t from)
{
    if (!s->width.is_bounded)
        return regex_fail(s, "what is looked for behind has no largest length");
    if (!regex_behind_varies(s->width)) {
        buf_append_text(s->out, ")");
        return true;
    }
    if (s->is_second)
        return regex_behind_write(s, from, o->rest, o->is_negative);
    s->is_varying[o->behind] = true;
    s->extra++;
    for (size_t group = o->groups + 1; group <= s->groups; group++)
        s->numbers[group]++;
    return true;
}

/* After "(?<": a look behind, or a name. */
static bool open_angle(struct regex_scan *s, struct opened *o)
{
    uint32_t c = regex_read(s);
    if (c != '=' && c != '!')
        return name_group(s, c);
    o->is_negative = c == '!';
    open_behind(s, o);
    if (!o->rest)
        buf_appendf(s->out, "(?<%c", (char)c);
    return true;
}

/* After "(?". */
static bool open_special(struct regex_scan *s, struct opened *o)
{
    uint32_t c = regex_char(s, s->at++);
    switch (c) {
    case ':':
    case '=':
    case '!':
    case '>':
        o->type = c == ':' ? OPENED_GROUP : c == '>' ? OPENED_ATOMIC : OPENED_LOOK;
        buf_appendf(s->out, "(?%c", (char)c);
        return true;
    case '<': return open_angle(s, o);
    }
    s->at--;
    take_flags(s);
    c = regex_read(s);
    if (c == ')')
        o->type = OPENED_FLAGS;
    if (c != ':' && c != ')')
        return regex_fail(s, "an unknown kind of group");
    if (c == ':')
        buf_append_text(s->out, "(?:");
    return true;
}

static bool group_body(struct regex_scan *s, const struct opened *o, size_t from)
{
    if (!expression(s))
        return false;
    if (regex_read(s) != ')')
        return regex_fail(s, "a group without its end");
    if (o->type == OPENED_BEHIND)
        return close_behind(s, o, from);
    buf_append_text(s->out, ")");
    return true;
}

static bool group(struct regex_scan *s)
{
    unsigned flags = s->flags;
    size_t from = s->out->len;
    struct regex_width before = s->width;
    struct regex_quantifier q;
    struct opened o = {.type = OPENED_GROUP};
    if (++s->depth > JAVA_REGEX_DEPTH_MAX)
        return regex_fail(s, "groups too deep in one another");
    if (regex_next(s) == '?') {
        s->at++;
        if (!open_special(s, &o))
            return false;
    } else {
        open_group(s);
    }
    s->depth -= o.type == OPENED_FLAGS;
    if (o.type == OPENED_FLAGS)
        return true; /* they hold to the end of the group around */
    s->width = regex_no_width;
    if (!group_body(s, &o, from))
        return false;
    bool is_look = o.type == OPENED_LOOK || o.type == OPENED_BEHIND;
    struct regex_width of = is_look ? regex_no_width : s->width;
    s->flags = flags;
    s->depth--;
    if (!group_closure(s, from, &q))
        return false;
    s->width = regex_width_then(before, of, q, o.type == OPENED_GROUP);
    return true;
}

/* ---- sequences ---- */

/* Java's nodes for one character, and, with the flag c, for those of a set: it forgets to say how
 * long the latter are at most. */
static const struct regex_width one_character = {1, 1, true, true, false, false},
                                canonical_set = {1, 0, true, false, false, false};

static bool write_set(struct regex_scan *s, const struct regex_set *set, struct regex_width *width)
{
    if (!set)
        return false;
    regex_set_write(s, set);
    if (regex_has(s, REGEX_CANON))
        *width = canonical_set;
    return true;
}

static bool escaped(struct regex_scan *s, struct regex_width *width)
{
    uint32_t c = regex_char(s, s->at + 1);
    if (c == 'p' || c == 'P') {
        s->at++;
        return write_set(s, regex_property(s), width);
    }
    struct regex_escape e = regex_escape(s, false, false);
    if (e.type == REGEX_ESCAPE_TEXT)
        *width = e.width;
    switch (e.type) {
    case REGEX_ESCAPE_FAILED: return false;
    case REGEX_ESCAPE_CHAR: regex_set_write(s, regex_set_single(s, e.c)); break;
    case REGEX_ESCAPE_SET: regex_set_write(s, e.set); break;
    case REGEX_ESCAPE_TEXT: buf_append_text(s->out, e.text); break;
    }
    return true;
}

static void caret(struct regex_scan *s)
{
    static const char *const any =
        "(?:\\A|(?<=[\\n\\x{85}\\x{2028}\\x{2029}])(?!\\z)|(?<=\\r)(?!\\n|\\z))";
    regex_next(s);
    if (!regex_has(s, REGEX_M))
        buf_append_text(s->out, "(?:\\A)");
    else
        buf_append_text(s->out, regex_has(s, REGEX_D) ? "(?:\\A|(?<=\\n)(?!\\z))" : any);
}

static void dollar(struct regex_scan *s)
{
    static const char *const any = "(?:\\z|(?=[\\r\\x{85}\\x{2028}\\x{2029}])|(?<!\\r)(?=\\n))";
    regex_next(s);
    if (!regex_has(s, REGEX_M))
        buf_append_text(s->out, regex_has(s, REGEX_D) ? regex_line_end_unix : regex_line_end);
    else
        buf_append_text(s->out, regex_has(s, REGEX_D) ? "(?:\\z|(?=\\n))" : any);
}

static void dot(struct regex_scan *s)
{
    regex_next(s);
    if (regex_has(s, REGEX_S))
        buf_append_text(s->out, ".");
    else
        buf_append_text(s->out, regex_has(s, REGEX_D) ? "[^\\n]" : "[^" LINE_ENDS "]");
}

/* One atom, without its quantifier. Java's atoms are runs of characters, but a quantifier takes the
 * last one only. */
static bool atom(struct regex_scan *s, uint32_t c, struct regex_width *width)
{
    *width = c == '^' || c == '$' || c == '{' ? regex_no_width : one_character;
    switch (c) {
    case '[': return write_set(s, regex_class(s), width);
    case '\\': return escaped(s, width);
    case '^': caret(s); return true;
    case '$': dollar(s); return true;
    case '.': dot(s); return true;
    case '?':
    case '*':
    case '+': return regex_fail(s, "a repetition of nothing");
    case '{': buf_append_text(s->out, "(?:)"); return true; /* a{2}{3}: of the empty run */
    }
    regex_set_write(s, regex_set_single(s, c));
    regex_next(s);
    return true;
}

static bool repeated_atom(struct regex_scan *s, uint32_t c)
{
    struct regex_width of;
    struct regex_quantifier q;
    if (!atom(s, c, &of) || !closure(s, &q, REPEAT_MAX))
        return false;
    bool is_character = of.least == 1 && of.most == 1;
    if (is_character && q.repeat == REGEX_COUNTED && q.most == INT32_MAX && !q.is_lazy &&
        !q.is_possessive)
        q.repeat = REGEX_GREEDY;
    s->width = regex_width_then(s->width, of, q, false);
    return true;
}

static bool sequence(struct regex_scan *s)
{
    for (;;) {
        uint32_t c = regex_peek(s);
        if (s->at >= s->len || c == '|' || c == ')')
            return true;
        bool ok = c == '(' ? group(s) : repeated_atom(s, c);
        if (!ok || s->out->failed || s->arena->failed)
            return false;
    }
}

static bool expression(struct regex_scan *s)
{
    struct regex_width either = regex_no_width;
    for (bool is_first = true;; is_first = false) {
        s->width = regex_no_width;
        if (!sequence(s))
            return false;
        either = is_first ? s->width : regex_width_either(either, s->width);
        s->width = either;
        if (regex_peek(s) != '|')
            return true;
        regex_next(s);
        buf_append_text(s->out, "|");
    }
}

static bool whole(struct regex_scan *s)
{
    s->at = s->groups = s->extra = s->behinds = 0;
    s->flags = s->depth = 0;
    s->names = NULL;
    if (!expression(s))
        return false;
    return s->at == s->len || regex_fail(s, "a ')' without its group");
}

/* ---- \Q...\E ---- */

struct quoting {
    const uint32_t *from;
    size_t len, at;
    uint32_t *to; /* room for three times as many, and three */
    size_t count;
};

static void put(struct quoting *q, uint32_t c)
{
    q->to[q->count++] = c;
}

/* As Java does before all else, also in the middle of a class. A digit that is first could be taken
 * for a part of what stands before it, \1\Q2: it is written as \x32. */
static void quoted_char(struct quoting *q, uint32_t c, bool is_first)
{
    if (is_digit(c) && is_first) {
        put(q, '\\');
        put(q, 'x');
        put(q, '3');
    } else if (c < 128 && !is_letter(c) && !is_digit(c)) {
        put(q, '\\');
    }
    put(q, c);
}

/* From after \Q to after \E, or to the end. */
static void quoted(struct quoting *q)
{
    for (bool is_first = true; q->at < q->len; is_first = false) {
        uint32_t c = q->from[q->at++];
        if (c == '\\' && q->at < q->len && q->from[q->at] == 'E') {
            q->at++;
            return;
        }
        quoted_char(q, c, is_first);
    }
}

static void take_quotes_out(struct quoting *q)
{
    while (q->at < q->len) {
        uint32_t c = q->from[q->at++];
        if (c != '\\' || q->at == q->len) {
            put(q, c);
        } else if (q->from[q->at] == 'Q') {
            q->at++;
            quoted(q);
        } else {
            put(q, c);
            put(q, q->from[q->at++]);
        }
    }
}

/* The characters of the expression; false: it is no UTF-8, or there is no memory. */
static bool decode(struct regex_scan *s, struct bytes regex)
{
    uint32_t *chars = arena_alloc_array(s->arena, regex.len, sizeof *chars);
    uint32_t *plain = arena_alloc_array(s->arena, 4 * regex.len + 4, sizeof *plain);
    s->numbers = arena_alloc_array(s->arena, regex.len + 1, sizeof *s->numbers);
    s->is_varying = arena_alloc_array(s->arena, regex.len + 1, sizeof *s->is_varying);
    if (!chars || !plain || !s->numbers || !s->is_varying)
        return false;
    struct quoting q = {.from = chars, .to = plain};
    while (regex.len) {
        struct utf8_char c = utf8_decode(regex.data, regex.len);
        if (!c.valid)
            return regex_fail(s, "no UTF-8");
        chars[q.len++] = c.code;
        regex = bytes_of(regex.data + c.len, regex.len - c.len);
    }
    take_quotes_out(&q);
    s->text = q.to;
    s->len = q.count;
    return true;
}

/* What stands from where it failed on, for a person. */
static struct why_quote rest_of(const struct regex_scan *s)
{
    uint8_t text[4 * 24];
    size_t len = 0;
    for (size_t i = s->reason_at; i < s->len && len + 4 < sizeof text; i++)
        len += utf8_encode(s->text[i], text + len);
    return why_quote(bytes_of(text, len));
}

static enum zkc_err say_why(const struct regex_scan *s, const char *regex, struct why *why)
{
    bool is_full = s->out->failed || s->arena->failed;
    if (s->reason && !is_full) {
        why_set(why, "regular expression \"%s\": at character %zu, \"%s\": %s",
                why_quote(bytes_of_text(regex)).text, s->reason_at + 1, rest_of(s).text, s->reason);
        return ZKC_ERR_CORRUPT;
    }
    enum zkc_err err = s->out->failed ? s->out->failed : s->arena->failed;
    why_set(why, "regular expression \"%s\": its translation %s",
            why_quote(bytes_of_text(regex)).text,
            err == ZKC_ERR_NOMEM ? "found no memory" : "is too long");
    return err;
}

enum zkc_err zk_java_regex_translate(const char *regex, struct buf *out, struct why *why)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES_MAX);
    struct regex_scan s = {.out = out, .arena = &arena};
    size_t from = out->len;
    why_clear(why);
    /* Twice: whether a reference leads to a group, and to which here, is known at the end only. */
    bool ok = decode(&s, bytes_of_text(regex)) && whole(&s);
    if (ok) {
        s.groups_total = s.groups;
        s.is_second = true;
        out->len = from;
        ok = whole(&s);
    }
    ok = ok && !out->failed && !arena.failed;
    enum zkc_err err = ok ? ZKC_OK : say_why(&s, regex, why);
    arena_deinit(&arena);
    return err;
}
