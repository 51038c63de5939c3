/* Why something was refused or is odd, in words for a person: what, where, what was expected. A
 * fixed size, so that saying why cannot fail; longer text is cut. Functions of the cores that take
 * a `struct why *` always set it: to "" when there is nothing to say. It must not be NULL. */
#ifndef ZKC_BASE_WHY_H
#define ZKC_BASE_WHY_H

#include "zkconsumer/core/base/bytes.h"
#include <zkconsumer/export.h>

#define WHY_SIZE 320

struct why {
    char text[WHY_SIZE]; /* always terminated */
};

void why_clear(struct why *w);
void why_set(struct why *w, const char *fmt, ...) ZKC_PRINTF(2, 3);

/* Foreign bytes made fit for a line of text: control characters, quotes, backslashes and bytes that
 * are no UTF-8 are written as \n, \" or \x1b, what is longer than a quote holds is cut, between
 * characters, and ends in "...". */
#define WHY_QUOTE_SIZE 84

struct why_quote {
    char text[WHY_QUOTE_SIZE];
};

struct why_quote why_quote(struct bytes foreign);

/* The same of the first character only, to point at it; foreign.len > 0. */
struct why_quote why_quote_first(struct bytes foreign);

#endif
