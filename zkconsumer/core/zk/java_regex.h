/* Java's regular expressions in PCRE2's. The two differ in silence where it hurts most: Java knows
 * unions and intersections of classes, [a-z&&[^b]], which PCRE2 takes for a class and a ']'; its
 * \p{Lower} is ASCII, its (?i) too. A member that came to another verdict than the others about one
 * topic would claim other partitions than they leave to it. So an expression is read here as Java
 * reads it, and written anew in what PCRE2 knows for sure.
 * Source: java.util.regex.Pattern of Java 17, pcre2pattern(3); compared with Java on the
 * expressions of tests/vectors/zk/filters.txt. */
#ifndef ZKC_ZK_JAVA_REGEX_H
#define ZKC_ZK_JAVA_REGEX_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

/* Groups and classes in one another; deeper ones are refused. */
#define JAVA_REGEX_DEPTH_MAX 80

/* Appends the translation to `out`, to be compiled with PCRE2_UTF and PCRE2_DOTALL, for names as
 * Kafka allows them: of ASCII (or (?c) and \b{g} would say more) and of at most 255 characters
 * (there is no looking behind for more, no group is repeated more often). What Java 17 refuses is
 * refused; so is what is deeper than the limit, and, by the compilation, what is too large for
 * PCRE2.
 *
 * ZKC_ERR_CORRUPT                     `why` says what it was and where
 * ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM    the translation does not fit into `out` */
ZKC_MUST_CHECK enum zkc_err zk_java_regex_translate(const char *regex, struct buf *out,
                                                    struct why *why);

#endif
