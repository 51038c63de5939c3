/* Files of tests/vectors: lines of text, empty ones and those that begin with '#' left out. */
#ifndef ZKC_TEST_VECTORS_H
#define ZKC_TEST_VECTORS_H

#include <stddef.h>

struct vectors {
    char *text; /* owned */
    char **lines;
    size_t count;
};

/* `name` is relative to tests/vectors. Fails the test when the file is not there or has no line. */
struct vectors vectors_read(const char *name);
void vectors_free(struct vectors *v);

/* Ends `line` at the first `separator` and returns what follows it, NULL when there is none. */
char *vectors_cut(char *line, char separator);

/* Turns \xNN into the byte, in place; returns the length, for there may be zeros among them. */
size_t vectors_unescape(char *text);

#endif
