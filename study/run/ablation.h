/* Ablations: the same scenario with one choice of the protocol taken away at a time, and what that
 * changes: the faults that were found, and what it costs. Everything here is counted in runs.
 * Of zookeeper:compat the choices are those of Kafka 0.8.2, of zookeeper:safe its rules. */
#ifndef STUDY_RUN_ABLATION_H
#define STUDY_RUN_ABLATION_H

#include "study/run/run.h"

/* One row: as the mode has it, or with one key set otherwise. */
struct ablation {
    const char *key, *value; /* NULL: nothing is changed */
};

/* The rows of a mode, and where they are shown. */
struct ablations {
    const char *base;           /* the first row: nothing is changed */
    const char *against;        /* the same in a sentence */
    const struct ablation *row; /* the first of them is the base */
    size_t count;
    const char *const *scenarios; /* which tell the rows apart */
    size_t scenario_count;
};

/* Of zookeeper.mode=safe, or compat. */
extern const struct ablations ablations_safe, ablations_compat;

/* Sums over all seeds. */
struct ablation_sums {
    uint64_t runs;
    uint64_t found[CHECK_COUNT];      /* as in struct check_result */
    uint64_t runs_with[CHECK_COUNT];  /* runs in which something was found */
    uint64_t never_stable;            /* runs that were not stable at the end */
    uint64_t settled, settled_ns;     /* runs with a change that settled, and how long that took */
    uint64_t attempts, reads, writes; /* after the warm-up */
};

/* Runs `scenario`, with that row set in a copy, for each seed, and adds. Errors as of
 * run_scenario(). */
ZKC_MUST_CHECK enum zkc_err ablation_run(const struct scenario *scenario,
                                         const struct ablation *row, uint64_t first, uint64_t last,
                                         struct ablation_sums *sums, struct why *why);

/* A number of the table: a fault that something counts. */
struct ablation_fault {
    const char *name, *text;
    enum check_id check; /* CHECK_COUNT: runs that were not stable at the end */
    bool is_time;        /* partition-nanoseconds */
};

extern const struct ablation_fault ablation_faults[];
extern const size_t ablation_fault_count;

/* Of that fault, per run; times in partition-seconds. */
double ablation_value(const struct ablation_sums *sums, const struct ablation_fault *fault);

enum ablation_effect {
    ABLATION_NONE,    /* there is no such fault, with or without */
    ABLATION_REMOVES, /* none is left */
    ABLATION_LESSENS, /* less than half */
    ABLATION_LEAVES,
    ABLATION_WORSENS, /* more than twice as much, or where there was none; in two runs or more */
};

enum ablation_effect ablation_effect(const struct ablation_sums *before,
                                     const struct ablation_sums *after,
                                     const struct ablation_fault *fault);

#endif
