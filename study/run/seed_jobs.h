/* Seeds on several cores: a worker process for each, so that a run that dies (a failed assertion
 * stops its process) is one result like others. Results come in the order in which they end. */
#ifndef STUDY_RUN_SEED_JOBS_H
#define STUDY_RUN_SEED_JOBS_H

#include "study/run/totals.h"

#define SEED_JOBS_MAX 256

struct seed_jobs {
    uint64_t first, last;
    unsigned jobs; /* workers; 1 .. SEED_JOBS_MAX */
    /* In a worker. ZKC_OK: `out` is the run's result. Anything else ends all, with `why`. */
    enum zkc_err (*run)(uint64_t seed, struct run_result *out, struct why *why, void *user);
    /* Here: true for a seed that is not to be run. May be NULL. */
    bool (*is_done)(uint64_t seed, void *user);
    /* Here, for each seed. What it points to is lent for the call. Anything but ZKC_OK ends all. */
    enum zkc_err (*on_result)(const struct seed_result *r, struct why *why, void *user);
    void *user;
    int stop_fd; /* all ends, with ZKC_ERR_CLOSED, when it becomes readable; -1: there is none */
};

/* Returns when all seeds have been run; no process is left behind. Workers end by themselves when
 * this process is killed. Not while other threads run.
 *
 * ZKC_ERR_SYSTEM  no processes or pipes to be had
 * and what run, on_result and stop_fd say */
ZKC_MUST_CHECK enum zkc_err seed_jobs_run(const struct seed_jobs *jobs, struct why *why);

#endif
