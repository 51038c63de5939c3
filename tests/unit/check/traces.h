/* Traces of tests/vectors/traces, whole or changed, through the checkers. */
#ifndef ZKC_TEST_TRACES_H
#define ZKC_TEST_TRACES_H

#include "study/check/check.h"

/* The file's text, owned. Fails the test when it cannot be read. */
char *trace_text(const char *name);

/* Replaces the one place where `from` stands; fails the test when there is none, or a second. */
char *trace_change(char *text_take, const char *from, const char *to);

/* Decodes every line into a new check and finishes it; a broken line fails the test. */
struct check *trace_check(const char *text);

#endif
