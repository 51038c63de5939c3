/* The results of the checkers for people and for programs. */
#ifndef STUDY_CHECK_REPORT_H
#define STUDY_CHECK_REPORT_H

#include "study/check/check.h"
#include "zkconsumer/core/base/buf.h"

/* A table: a line for each MUST and each COUNT; of what was violated, the first time. */
void check_report_text(const struct check *c, struct buf *out);

/* [{"id":..,"severity":"must"|"count","checked":..,"found":..,"unit":..,"unknown":..,"first":..,
 * "t":..}, ...]; keys without a value are left out. */
void check_report_json(const struct check *c, struct buf *out);

#endif
