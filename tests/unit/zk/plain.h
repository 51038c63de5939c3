/* Data in the usual form is read straight (zkconsumer/core/zk/plain.h), and with a blank in front
 * by the JSON library: both must say the same. */
#ifndef TESTS_UNIT_ZK_PLAIN_H
#define TESTS_UNIT_ZK_PLAIN_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/bytes.h"

/* Appends all that is read from the data, or why it is not. */
typedef void outcome_fn(struct bytes data, struct buf *out);

void expect_same_behind_a_blank(const char *text, size_t len, outcome_fn *outcome);

/* With any byte changed, put in or left out, and cut short anywhere. */
void expect_same_when_changed(const char *text, outcome_fn *outcome);

#endif
