/* The nearest known word to a mistyped one, for "did you mean". */
#ifndef ZKC_CLI_SUGGEST_H
#define ZKC_CLI_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

struct suggestion {
    const char *word; /* what was typed; borrowed as long as the suggestion */
    size_t len;
    const char *nearest; /* of those offered, the earliest of the nearest; NULL: none yet */
    size_t nearest_len;
    size_t distance; /* edits between word and nearest */
};

void suggestion_init(struct suggestion *s, const char *word, size_t len);
void suggestion_offer(struct suggestion *s, const char *candidate, size_t len);

/* True if the nearest word is near enough to be meant: at most one edit in three characters, or
 * what was typed is its beginning. */
bool suggestion_is_near(const struct suggestion *s);

/* Insertions, deletions, replacements and swaps of neighbours that make `a` out of `b` (optimal
 * string alignment distance). Words longer than 63 bytes are compared by their first 63. */
size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
