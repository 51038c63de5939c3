/* Lines that repeat are held back: of each cause one line in REPEATS_INTERVAL_MS passes, and the
 * next one says how many were held back in between (known fault F52: a ten-minute outage must not
 * fill a disk). Writing is the caller's. */
#ifndef ZKC_BASE_REPEATS_H
#define ZKC_BASE_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPEATS_INTERVAL_MS 1000
#define REPEATS_CAUSES_MAX  64 /* more at a time push out the one that was silent longest */
#define REPEATS_TEXT_SIZE   160

/* Lines that were held back and that no other line speaks for any more. */
struct repeats_held {
    unsigned count; /* 0: none */
    int level;      /* of the newest */
    unsigned tag;
    char text[REPEATS_TEXT_SIZE]; /* the newest, cut */
};

struct repeats_cause {
    uint64_t hash; /* 0: free */
    int64_t shown_ms;
    struct repeats_held held; /* since then */
};

struct repeats {
    struct repeats_cause causes[REPEATS_CAUSES_MAX]; /* begin with {0} */
};

struct repeats_line {
    int level;
    unsigned tag;      /* the same cause with another tag is another cause */
    const char *cause; /* what lines have in common that say the same */
    const char *text;
    int64_t now_ms; /* monotonic */
};

struct repeats_answer {
    bool shows;        /* write the line; else it was held back */
    unsigned before;   /* so many more like it came since the last that was written ... */
    int64_t before_ms; /* ... which is so long ago */
    struct repeats_held pushed_out; /* to be written first, if its count is not 0 */
};

void repeats_add(struct repeats *r, const struct repeats_line *line, struct repeats_answer *out);

/* For the end: takes out what is still held back, one at a time; *at begins with 0. What is added
 * in between may be left. False: nothing any more. */
bool repeats_take_held(struct repeats *r, size_t *at, struct repeats_held *out);

#endif
