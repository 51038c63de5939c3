/* The file of a sweep over seeds: a line of JSON for each seed that has been run, so that a sweep
 * that was killed goes on where it was, and a later one with more seeds has the earlier ones. The
 * first line says of what: version, scenario with all that was set. A last line that was cut short
 * is dropped. Only one process has it open. */
#ifndef STUDY_RUN_SEED_STATE_H
#define STUDY_RUN_SEED_STATE_H

#include "study/run/totals.h"

struct seed_state;

struct seed_state_options {
    const char *path;
    const struct scenario *scenario;
    uint64_t first, last; /* the seeds wanted; others in the file are left alone */
    /* Each seed wanted that has been run. Anything but ZKC_OK ends the opening. */
    enum zkc_err (*on_result)(const struct seed_result *r, void *user);
    void *user;
};

/* Creates the file, or reads it.
 *
 * ZKC_ERR_CONFIG  it is of another version or scenario, or a line is none of a state: `why` names
 *                 file and line
 * ZKC_ERR_SYSTEM  it cannot be opened, or another process has it open
 * ZKC_ERR_NOMEM, and what on_result says */
ZKC_MUST_CHECK enum zkc_err seed_state_open(const struct seed_state_options *options,
                                            struct seed_state **out, struct why *why);
void seed_state_close(struct seed_state *s); /* NULL is allowed */

/* Of the seeds wanted. */
bool seed_state_has(const struct seed_state *s, uint64_t seed);

/* Writes a line. `replay`: the command that shows the seed, or NULL. ZKC_ERR_SYSTEM, ZKC_ERR_NOMEM.
 */
ZKC_MUST_CHECK enum zkc_err seed_state_add(struct seed_state *s, const struct seed_result *r,
                                           const char *replay, struct why *why);

#endif
