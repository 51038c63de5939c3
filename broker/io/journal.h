/* The broker's lines for people: "[2015-05-12 05:13:24,893] WARN text", to stderr or log.file. Any
 * thread may write.
 *
 * Repeated lines are held back: of each cause one line a second passes, and the next one says how
 * many were held back in between. */
#ifndef BROKER_IO_JOURNAL_H
#define BROKER_IO_JOURNAL_H

#include <stdbool.h>
#include <zkconsumer/export.h>

enum { JOURNAL_ERROR = 3, JOURNAL_WARN = 4, JOURNAL_INFO = 6, JOURNAL_DEBUG = 7 };

struct journal;

/* `path` NULL: stderr; copied. Lines above `level` are dropped. Under systemd (JOURNAL_STREAM is
 * set) lines to stderr come without the time. NULL: errno says why the file cannot be opened. */
struct journal *journal_new(const char *path, int level);

/* Says what is still held back. NULL is allowed. */
void journal_free(struct journal *j);

/* Opens the file again, which log rotation has moved away. If that fails the old one stays, and
 * says so. Nothing to do for stderr. */
void journal_reopen(struct journal *j);

bool journal_shows(const struct journal *j, int level);

/* The cause is the format: lines that differ in their numbers count as the same. */
void journal_line(struct journal *j, int level, const char *fmt, ...) ZKC_PRINTF(3, 4);

/* `cause` names what lines have in common that are held back together. */
void journal_cause(struct journal *j, int level, const char *cause, const char *fmt, ...)
    ZKC_PRINTF(4, 5);

/* Every line passes: for what is said once by its nature (start, stop, topics that come and go). */
void journal_always(struct journal *j, int level, const char *fmt, ...) ZKC_PRINTF(3, 4);

#endif
