/* What many seeds of a scenario came to, and the table that says so. Sums only, so that the order
 * in which seeds end does not matter. */
#ifndef STUDY_RUN_TOTALS_H
#define STUDY_RUN_TOTALS_H

#include "study/run/run.h"
#include "zkconsumer/core/base/buf.h"

struct seed_result {
    uint64_t seed;
    int died; /* its process ended by this signal, or by an exit with 256 + its status (a
               * failed assertion, a sanitizer); 0: the run came to its end */
    struct run_result run; /* zero when it died */
};

/* True if a MUST was violated, or the process died. */
bool seed_failed(const struct seed_result *r);

/* "Z3 at 41.200000 s: m1 …" or "ended by signal 6", for one that failed. */
void seed_failure(const struct seed_result *r, struct buf *out);

#define TOTALS_FAILED_KEPT 20

struct totals {
    uint64_t runs, failed_runs, died_runs, unstable;
    uint64_t found[CHECK_COUNT], checked[CHECK_COUNT], runs_with[CHECK_COUNT];
    uint64_t unknown[CHECK_COUNT];
    const char *why_unknown[CHECK_COUNT]; /* static texts of the checkers, or the state's */
    uint64_t *tts;                        /* of runs that settled; owned */
    size_t tts_count, tts_cap;
    uint64_t never_settled;
    struct measures sum;
    uint64_t events;
    uint64_t failed[TOTALS_FAILED_KEPT]; /* the lowest seeds that failed, ascending */
    size_t failed_count;
};

void totals_deinit(struct totals *t); /* of {0} as well */

/* ZKC_ERR_NOMEM: nothing was added. */
ZKC_MUST_CHECK enum zkc_err totals_add(struct totals *t, const struct seed_result *r);

/* The table. Sorts t->tts. */
void totals_report(struct totals *t, struct buf *out);

#endif
