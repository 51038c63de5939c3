/* One page of metrics made of several consumers' pages. */
#ifndef ZKC_CLI_METRICS_MERGE_H
#define ZKC_CLI_METRICS_MERGE_H

#include "zkconsumer/core/base/buf.h"

struct metrics_page {
    struct bytes text;  /* as metrics_append() writes it: whole families */
    const char *source; /* whose it is */
};

/* Appends every family once, as the format wants it, with the lines of all pages, each with the
 * label source in front. */
void metrics_merge(const struct metrics_page *pages, size_t count, struct buf *out);

#endif
