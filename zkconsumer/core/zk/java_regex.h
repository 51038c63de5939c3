/* The part of regular expressions that Java and PCRE2 read alike. The two differ in silence where
 * it hurts most: Java knows unions and intersections of classes, [a-z&&[^b]], which PCRE2 takes for
 * a class and a ']', and refuses much that PCRE2 accepts. A member that came to another verdict
 * than the others about one topic would claim other partitions than they leave to it, so what is
 * not known to be alike is refused. Source: java.util.regex.Pattern, pcre2pattern(3); compared on
 * the expressions of tests/vectors/zk/filters.txt. */
#ifndef ZKC_ZK_JAVA_REGEX_H
#define ZKC_ZK_JAVA_REGEX_H

#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

/* Whether both read `regex` alike, as far as they read it at all: what both refuse, such as an open
 * parenthesis, passes here and is refused by the compilation. Taken are literals, . ^ $ |, groups
 * (capturing, named, ?: ?> and the four ways of looking around), the flags i, m and s, the
 * quantifiers ? * + {n} with their lazy and possessive forms, classes without others in them,
 * \Q..\E outside of classes, \d \w \s \b and the like, \p with a general category, \xHH, \x{...},
 * and references to groups 1 to 9 or by name.
 *
 * ZKC_ERR_CORRUPT  `why` says what it was and where */
ZKC_MUST_CHECK enum zkc_err zk_java_regex_check(const char *regex, struct why *why);

#endif
