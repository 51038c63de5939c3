/* Looking behind by a length that varies, which PCRE2 does not know before 10.43, and then less of
 * it than Java. Java tries from each place that is a possible length before, the nearest first,
 * whether a match ends here. So do we: for each length, whether from there the expression and then
 * all that is behind this place match to the end of the name. */
#include "zkconsumer/core/zk/java_regex_parts.h"
#include <inttypes.h>

#define NAME_MAX_CHARS 255 /* kafka.common.Topic.maxNameLength */

/* Lengths that a name can have room for; from above to: none. */
struct lengths {
    int32_t from, to;
    int32_t place; /* not before this one */
};

/* Java computes place - most in an int. With a `most` that has overflowed, and is negative, that is
 * behind the place, and so nothing matches, until it overflows too: then all lengths are tried. */
static struct lengths lengths_of(struct regex_width w)
{
    struct lengths l = {.from = w.least, .to = w.most < NAME_MAX_CHARS ? w.most : NAME_MAX_CHARS};
    if (w.most < 0) {
        int64_t place = (int64_t)w.most + INT32_MAX + 1;
        l.to = place > NAME_MAX_CHARS ? -1 : NAME_MAX_CHARS;
        l.place = (int32_t)place;
    }
    return l;
}

bool regex_behind_varies(struct regex_width w)
{
    return w.is_odd || w.least != w.most || w.least > NAME_MAX_CHARS;
}

static void write_tries(struct regex_scan *s, struct lengths l, const char *text, uint32_t rest)
{
    if (l.place)
        buf_appendf(s->out, "(?<=.{%" PRId32 "})", l.place);
    buf_append_text(s->out, "(?|"); /* in each, groups have the same numbers */
    for (int32_t n = l.from; n <= l.to; n++) {
        if (n > l.from)
            buf_append_text(s->out, "|");
        buf_append_text(s->out, "(?<=(?=(?:");
        buf_append_text(s->out, text);
        buf_appendf(s->out, ")\\g{%" PRIu32 "}\\z).{%" PRId32 "})", rest, n);
        if (s->out->failed)
            return;
    }
    buf_append_text(s->out, ")");
}

/* Groups stay groups where nothing can match: they have numbers. */
bool regex_behind_write(struct regex_scan *s, size_t from, uint32_t rest, bool is_negative)
{
    struct lengths l = lengths_of(s->width);
    struct bytes written = bytes_of(s->out->data + from, s->out->len - from);
    char *text = arena_text(s->arena, written);
    if (!text)
        return false;
    s->out->len = from;
    buf_append_text(s->out, "(?:(?=(.*))");
    buf_append_text(s->out, is_negative ? "(?!" : "(?=");
    if (l.from > l.to)
        buf_appendf(s->out, "(?!)(?:%s)", text);
    else
        write_tries(s, l, text, rest);
    buf_append_text(s->out, "))");
    return !s->out->failed;
}
