/* Java's properties files, from memory. Source: java.util.Properties.load(Reader).
 *
 *   # comment        ! comment       (first character that is no blank)
 *   key=value        key: value      key value      blanks around the separator do not count
 *   key = first \                    a line that ends in an odd number of '\' goes on in the next,
 *         second                     whose leading blanks do not count
 *   \t \n \r \f \uXXXX               and '\' before any other character: that character
 *
 * Unlike Java: text is UTF-8 (a byte order mark is skipped), blanks at the end of a value are taken
 * off unless written with '\', a key may not be empty, and the character 0 is refused. */
#ifndef ZKC_BASE_PROPERTIES_H
#define ZKC_BASE_PROPERTIES_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

#define PROPERTIES_LINE_MAX 65536 /* bytes of a line with its continuations, as written */

/* Lent for the call. */
struct property {
    const char *key;
    const char *value; /* may be "" */
    size_t line;       /* where the key stands, from 1 */
    bool
        is_trimmed; /* blanks were taken off its end, which Java would have kept: worth a warning */
};

/* Anything but ZKC_OK ends the parse, which returns it. */
typedef enum zkc_err property_fn(const struct property *property, void *user);

/* Calls fn for every entry, in order; a key that comes twice is given twice (in Java the last one
 * counts). Stops at the first error; entries before it have been given. The text of an error begins
 * with "line N: "; it is "" for what fn returned.
 *
 * ZKC_ERR_CONFIG  a line too long, no key, a bad \u escape, a character 0, bytes that are no UTF-8
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err properties_parse(struct bytes text, property_fn *fn, void *user,
                                             struct why *why);

#endif
