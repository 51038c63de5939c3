/* The parts of the translation of Java's regular expressions: java_regex.c (sequences, groups,
 * quantifiers), java_escape.c (what follows a backslash), java_class.c (classes) and
 * java_property.c (\p). Nobody else includes this.
 *
 * One scan goes over the expression as Java's compiler does: `at` is its cursor, and with the flag
 * x white space and comments are skipped where it skips them, which is not everywhere. A function
 * that returns false or NULL has failed the scan: `reason`, and where. */
#ifndef ZKC_ZK_JAVA_REGEX_PARTS_H
#define ZKC_ZK_JAVA_REGEX_PARTS_H

#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"

enum java_flag {
    JAVA_I = 1 << 0,
    JAVA_M = 1 << 1,
    JAVA_S = 1 << 2,
    JAVA_D = 1 << 3, /* only \n ends a line */
    JAVA_U = 1 << 4, /* i beyond ASCII */
    JAVA_X = 1 << 5,
    JAVA_CLASSES = 1 << 6, /* U: \w, \p{Lower} and the like beyond ASCII */
};

struct java_group_name {
    char *name;
    size_t group;
    struct java_group_name *next;
};

struct java_scan {
    const uint32_t *text; /* characters, after \Q...\E was taken out */
    size_t len;
    size_t at; /* may stand behind the end */
    unsigned flags;
    unsigned depth;
    size_t groups;       /* opened so far */
    size_t groups_total; /* of the whole expression; known in the second pass */
    struct java_group_name *names;
    struct buf *out;
    struct arena *arena;
    const char *reason; /* NULL: all is well; a literal */
    size_t reason_at;
};

/* ---- reading, java_regex.c; 0 at the end ---- */

uint32_t java_char(const struct java_scan *s, size_t at);
uint32_t java_peek(struct java_scan *s);         /* what stands at the cursor */
uint32_t java_next(struct java_scan *s);         /* one on, and what stands there */
uint32_t java_read(struct java_scan *s);         /* what stands there, and one on */
uint32_t java_next_escaped(struct java_scan *s); /* as java_next(), whatever the flags */
bool java_has(const struct java_scan *s, enum java_flag flag);
bool java_fail(struct java_scan *s, const char *reason); /* false */

/* name> from its first character on; NULL when it is none. */
char *java_group_name(struct java_scan *s, uint32_t first);

/* ---- sets of characters, java_class.c ---- */

struct java_set;

struct java_set *java_set_items(struct java_scan *s, const char *items); /* what may stand in [] */
struct java_set *java_set_not(struct java_scan *s, struct java_set *set);
struct java_set *java_set_single(struct java_scan *s, uint32_t c); /* by the flags */
struct java_set *java_class(struct java_scan *s);                  /* from '[' on */
void java_set_write(struct java_scan *s, const struct java_set *set);

/* ---- \p, java_property.c ---- */

/* From the letter after the backslash on. */
struct java_set *java_property(struct java_scan *s);

/* By its name in POSIX, beyond ASCII; NULL when there is none. */
struct java_set *java_unicode_class(struct java_scan *s, const char *name);

/* ---- escapes, java_escape.c ---- */

struct java_escape {
    enum {
        JAVA_ESCAPE_FAILED,
        JAVA_ESCAPE_CHAR,
        JAVA_ESCAPE_SET,
        JAVA_ESCAPE_TEXT, /* outside of classes only: PCRE2's words for it */
    } type;
    uint32_t c;
    struct java_set *set;
    char text[200];
};

/* From the backslash on; not for \p. */
struct java_escape java_escape(struct java_scan *s, bool is_in_class, bool is_in_range);

extern const char java_line_end[];      /* $ and \Z */
extern const char java_line_end_unix[]; /* with the flag d */

#endif
