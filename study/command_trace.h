/* Traces that commands write: events to a file, as lines of JSON. */
#ifndef STUDY_COMMAND_TRACE_H
#define STUDY_COMMAND_TRACE_H

#include "study/trace/event.h"
#include "zkconsumer/core/base/buf.h"
#include <zlib.h>

struct trace_writer {
    gzFile out; /* NULL: not open */
    struct buf line;
    bool failed;
};

/* `path` ".gz": compressed; "-": standard output. False: it cannot be opened, which is said. */
bool trace_writer_open(struct trace_writer *w, const char *path);
/* A sink's; user is the writer. */
void trace_writer_emit(const struct trace_event *event, void *writer);
/* False: something could not be written, which is said. */
bool trace_writer_close(struct trace_writer *w, const char *path);

#endif
