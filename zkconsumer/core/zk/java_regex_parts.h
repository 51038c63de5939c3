/* The parts of the translation of Java's regular expressions: java_regex.c (sequences, groups,
 * quantifiers), java_width.c (how long a match may be), java_escape.c (what follows a backslash),
 * java_class.c (classes), java_property.c (\p), and tables. Nobody else includes this.
 *
 * One scan goes over the expression as Java's compiler does: `at` is its cursor, and with the flag
 * x white space and comments are skipped where it skips them, which is not everywhere. A function
 * that returns false or NULL has failed the scan: `reason`, and where. */
#ifndef ZKC_ZK_JAVA_REGEX_PARTS_H
#define ZKC_ZK_JAVA_REGEX_PARTS_H

#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"

enum regex_flag {
    REGEX_I = 1 << 0,
    REGEX_M = 1 << 1,
    REGEX_S = 1 << 2,
    REGEX_D = 1 << 3, /* only \n ends a line */
    REGEX_U = 1 << 4, /* i beyond ASCII */
    REGEX_X = 1 << 5,
    REGEX_CLASSES = 1 << 6, /* U: \w, \p{Lower} and the like beyond ASCII */
    REGEX_CANON = 1 << 7,   /* c: nothing follows for names of ASCII, but for looking behind */
};

struct regex_group_name {
    char *name;
    size_t group;
    struct regex_group_name *next;
};

/* How long a match can be, as Java computes it, in ints that may overflow. */
struct regex_width {
    int32_t least, most;
    bool is_bounded; /* Java refuses to look behind for what is not */
    bool is_fixed;   /* Java's TreeInfo.deterministic */
    bool has_branch; /* behind one Java looks for overflows anew */
    bool is_odd;     /* PCRE2 does not see that its length is one, if it is: \b?, a{1,1}|\X */
};

struct regex_scan {
    const uint32_t *text; /* characters, after \Q...\E was taken out */
    size_t len;
    size_t at; /* may stand behind the end */
    unsigned flags;
    unsigned depth;
    size_t groups;       /* opened so far */
    bool is_second;      /* pass, in which is known: */
    size_t groups_total; /* of the whole expression */
    struct regex_group_name *names;
    struct regex_width width; /* of what was read so far in this sequence */
    uint32_t *numbers;        /* of Java's groups here: in between are some of our own */
    size_t extra;             /* of our own, opened so far */
    size_t behinds;           /* ways to look behind, opened so far */
    bool *is_varying;         /* known in the second pass: whose length varies */
    struct buf *out;
    struct arena *arena;
    const char *reason; /* NULL: all is well; a literal */
    size_t reason_at;
};

/* ---- reading, java_regex.c; 0 at the end ---- */

uint32_t regex_char(const struct regex_scan *s, size_t at);
uint32_t regex_peek(struct regex_scan *s);         /* what stands at the cursor */
uint32_t regex_next(struct regex_scan *s);         /* one on, and what stands there */
uint32_t regex_read(struct regex_scan *s);         /* what stands there, and one on */
uint32_t regex_next_escaped(struct regex_scan *s); /* as regex_next(), whatever the flags */
bool regex_has(const struct regex_scan *s, enum regex_flag flag);
bool regex_fail(struct regex_scan *s, const char *reason); /* false */

/* name> from its first character on; NULL when it is none. */
char *regex_group_name(struct regex_scan *s, uint32_t first);

/* ---- java_width.c ---- */

enum regex_repeat {
    REGEX_ONCE,
    REGEX_MAYBE,  /* ?, {0,1} */
    REGEX_GREEDY, /* *, +, {n,} of a character, greedy */
    REGEX_COUNTED,
};

struct regex_quantifier {
    enum regex_repeat repeat;
    int32_t least, most;
    bool is_lazy, is_possessive;
};

extern const struct regex_width regex_no_width; /* of a place */

/* `before`, and then `of` with its quantifier. `is_group`: in parentheses, for which Java has no
 * node of its own (unlike looking around, and (?>...)). */
struct regex_width regex_width_then(struct regex_width before, struct regex_width of,
                                    struct regex_quantifier q, bool is_group);

/* Of one|other. */
struct regex_width regex_width_either(struct regex_width one, struct regex_width other);

/* ---- looking behind, java_behind.c ---- */

/* Whether what has this width cannot be looked for behind as it stands. */
bool regex_behind_varies(struct regex_width w);

/* Replaces what was written from `from` on, of the width of the scan, by what looks for it behind.
 * `rest`: the number of the first group that is opened for that. */
bool regex_behind_write(struct regex_scan *s, size_t from, uint32_t rest, bool is_negative);

/* ---- sets of characters, java_class.c ---- */

struct regex_set;

struct regex_set *regex_set_items(struct regex_scan *s,
                                  const char *items); /* what may stand in [] */
struct regex_set *regex_set_not(struct regex_scan *s, struct regex_set *set);
struct regex_set *regex_set_single(struct regex_scan *s, uint32_t c); /* by the flags */
struct regex_set *regex_class(struct regex_scan *s);                  /* from '[' on */
void regex_set_write(struct regex_scan *s, const struct regex_set *set);

/* ---- \p, java_property.c ---- */

/* From the letter after the backslash on. */
struct regex_set *regex_property(struct regex_scan *s);

/* By its name in POSIX, beyond ASCII; NULL when there is none. */
struct regex_set *regex_unicode_class(struct regex_scan *s, const char *name);

/* ---- tables ---- */

/* The block of this name, in any case; false: there is none. 1 to 0 is empty. java_block.c */
bool regex_block(const char *name, uint32_t *first, uint32_t *last);

/* The character of this name, in upper case. java_name.c */
bool regex_character_by_name(const char *name, uint32_t *c);

/* ---- escapes, java_escape.c ---- */

struct regex_escape {
    enum {
        REGEX_ESCAPE_FAILED,
        REGEX_ESCAPE_CHAR,
        REGEX_ESCAPE_SET,
        REGEX_ESCAPE_TEXT, /* outside of classes only: PCRE2's words for it */
    } type;
    uint32_t c;
    struct regex_set *set;
    char text[200];
    struct regex_width width; /* of the text */
};

/* From the backslash on; not for \p. */
struct regex_escape regex_escape(struct regex_scan *s, bool is_in_class, bool is_in_range);

extern const char regex_line_end[];      /* $ and \Z */
extern const char regex_line_end_unix[]; /* with the flag d */

#endif
