/* One run: a scenario's world for one seed through its phases, under the checkers.
 *
 *     warmup ── measure ── (run ends) ── heal: until stable, at most heal ── drain ── end
 */
#ifndef STUDY_RUN_RUN_H
#define STUDY_RUN_RUN_H

#include "study/check/check.h"
#include "study/run/measure.h"
#include "study/scenario/scenario.h"

#define RUN_SINKS_MAX 4

struct run_options {
    const struct scenario *scenario;
    uint64_t seed;
    unsigned bugs;                  /* enum sim_bug: of tests */
    const struct trace_sink *sinks; /* beside the checkers; at most RUN_SINKS_MAX */
    size_t sink_count;
    bool stops_at_violation; /* ends soon after the first MUST that is violated */
};

struct run_result {
    struct check_result checks[CHECK_COUNT]; /* without texts */
    uint64_t found_before[CHECK_COUNT];      /* of checks[].found: in the warm-up */
    enum check_id violated;                  /* the first MUST; CHECK_COUNT: none */
    uint64_t violated_ns;
    char detail[512]; /* what happened */
    struct measures measures;
    uint64_t tts_ns; /* from the last change after the warm-up until stable; UINT64_MAX: not before
                      * the end of the run */
    bool is_stable;  /* at the end */
    bool is_partial; /* memory ran out: all this is of a part of the run */
    uint64_t members, registered; /* at the end of the measured part: planned, and in the group */
    uint64_t hash;                /* of all events */
    struct sim_counts counts;
};

/* ZKC_ERR_CONFIG: the scenario cannot be built, `why` says what is wrong.
 * ZKC_ERR_NOMEM: *out is of the part until then. */
ZKC_MUST_CHECK enum zkc_err run_scenario(const struct run_options *options, struct run_result *out,
                                         struct why *why);

#endif
