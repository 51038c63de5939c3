/* Traces from files (plain or gzip), several of one run merged by time, source and number; memory
 * is bounded by one line of each file.
 *
 * What is broken is reported with its line and left out, and reading goes on: who reads must ask
 * trace_files_problem_count() at the end, and call what came of it partial. */
#ifndef STUDY_CHECK_FILES_H
#define STUDY_CHECK_FILES_H

#include "study/trace/event.h"
#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

struct trace_files;

/* Opens all of them. On failure `why` names the file and the line.
 *
 * ZKC_ERR_SYSTEM   cannot be opened or read
 * ZKC_ERR_CORRUPT  no trace: its first line is no header (`run`) of rbtrace/1
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err trace_files_open(const char *const *paths, size_t count,
                                             struct trace_files **out, struct why *why);
void trace_files_close(struct trace_files *f);

/* The next event, lent until the next call; NULL: there are no more. Events of types that are not
 * known here are left out. The file of a consumer that was killed has no end: for it comes an
 * m_exit with the code TRACE_EXIT_UNKNOWN at the time of its last line. */
const struct trace_event *trace_files_next(struct trace_files *f);

/* Where the event came from: "FILE:LINE"; lent until the next call. */
const char *trace_files_place(const struct trace_files *f);

/* Lines that were left out, files that are cut short, by "FILE:LINE: what". The first of them are
 * kept. */
size_t trace_files_problem_count(const struct trace_files *f);
#define TRACE_PROBLEMS_KEPT 20
const char *trace_files_problem(const struct trace_files *f, size_t i);

/* Files that have no end, because their process was killed. */
size_t trace_files_killed_count(const struct trace_files *f);

#endif
