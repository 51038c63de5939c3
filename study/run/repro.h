/* A run that failed, as a file that shows it again (repro.json): the scenario as it was made small,
 * the seed, and what was violated.
 *
 *   {"format":"zkstudy-repro/1","version":"0.1.0","scenario":["members = 2", ...],"seed":17,
 *    "violated":"Z5","violated_ns":31200000000,"detail":"...","hash":"0123456789abcdef"} */
#ifndef STUDY_RUN_REPRO_H
#define STUDY_RUN_REPRO_H

#include "study/run/run.h"

#define REPRO_BYTES_MAX ((size_t)2 * 1024 * 1024)

struct repro {
    struct scenario *scenario; /* owned */
    uint64_t seed;
    enum check_id violated; /* CHECK_COUNT: nothing */
    uint64_t violated_ns;
    uint64_t hash; /* of the run that stops soon after the violation (stops_at_violation) */
};

/* Appends the file's text. */
void repro_write(const struct scenario *s, uint64_t seed, const struct run_result *r,
                 struct buf *out);

/* Reads the text of a file; `path` is for errors. The caller ends *out with repro_deinit().
 *
 * ZKC_ERR_CONFIG  it is no such file, or its scenario cannot be: `why` says what was expected */
ZKC_MUST_CHECK enum zkc_err repro_parse(const char *path, struct bytes text, struct repro *out,
                                        struct why *why);
/* The same of a file. ZKC_ERR_SYSTEM: it cannot be read. */
ZKC_MUST_CHECK enum zkc_err repro_read(const char *path, struct repro *out, struct why *why);
void repro_deinit(struct repro *r);

#endif
