/* Makes a failing run small: the same invariant is still violated (rebalance-study.md 7.7). Faults
 * are dropped (ddmin), then members and partitions, then the run is cut short behind the failure
 * and times are rounded.
 *
 * Source: Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", 2002. */
#ifndef STUDY_RUN_SHRINK_H
#define STUDY_RUN_SHRINK_H

#include "study/run/run.h"

struct shrink_options {
    uint64_t seed;
    unsigned bugs;
    unsigned runs_max; /* 0: 500 */
    /* After each run; may be NULL. */
    void (*on_progress)(unsigned runs, size_t faults, uint64_t members, void *user);
    void *user;
};

struct shrink_result {
    uint64_t seed;          /* with which what is left fails: often another */
    enum check_id violated; /* CHECK_COUNT: the scenario does not fail, and is as it was */
    struct run_result last; /* of the smallest that still fails */
    unsigned runs;
};

/* Changes *scenario in place. */
ZKC_MUST_CHECK enum zkc_err shrink(struct scenario **scenario, const struct shrink_options *options,
                                   struct shrink_result *out, struct why *why);

#endif
