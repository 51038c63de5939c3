/* Data on its way to stdout: gathered into large writes, written when the writer says so (it has
 * nothing more to add at the moment) or when enough has come together. One thread. */
#ifndef ZKC_CLI_OUTPUT_H
#define ZKC_CLI_OUTPUT_H

#include "zkconsumer/cli/command.h"
#include "zkconsumer/core/base/buf.h"

enum output_state {
    OUTPUT_OPEN,
    OUTPUT_CLOSED, /* the reader is gone (EPIPE): no error, nobody wants more */
    OUTPUT_FAILED, /* it could not be written, e.g. the disk is full: `error` is the errno */
    OUTPUT_STUCK   /* a stop was requested (stop.h) and the reader did not take the rest in time */
};

struct output {
    int fd;         /* borrowed */
    struct buf buf; /* what is still to be written; append to it, then call output_added() */
    size_t flush_bytes;
    enum output_state state;
    int error;
    size_t bytes_left; /* of OUTPUT_STUCK: what was not taken */
    uint64_t written;  /* bytes, since the beginning; what is in `buf` comes behind them */
};

#define OUTPUT_FLUSH_BYTES (128 * 1024)
#define OUTPUT_STOP_MS     5000 /* how long a stop waits for a reader that takes nothing */

/* flush_bytes: output_added() writes once so much has come together; 0: everything at once. */
void output_init(struct output *o, int fd, size_t flush_bytes);
void output_deinit(struct output *o);

/* True while the output is open; writes if there is enough to write. */
bool output_added(struct output *o);

/* Writes all. Blocks while the reader is slow, at most OUTPUT_STOP_MS once a stop is requested.
 * True while the output is open. */
bool output_flush(struct output *o);

/* Writes what is left and reports what failed. CLI_DONE also when the reader is gone. */
enum cli_exit output_finish(struct output *o);

#endif
