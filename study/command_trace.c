#include "study/command_trace.h"
#include "study/trace/event_json.h"
#include "zkconsumer/cli/report.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)16 * 1024 * 1024)

bool trace_writer_open(struct trace_writer *w, const char *path)
{
    size_t len = strlen(path);
    bool is_gzip = len > 3 && strcmp(path + len - 3, ".gz") == 0;
    const char *mode = is_gzip ? "wb" : "wbT"; /* T: as it is */
    *w = (struct trace_writer){0};
    buf_init(&w->line, LINE_MAX_BYTES);
    errno = 0;
    w->out = strcmp(path, "-") == 0 ? gzdopen(dup(STDOUT_FILENO), mode) : gzopen(path, mode);
    if (!w->out)
        report_error("%s: %s", path, errno ? strerror(errno) : "out of memory");
    return w->out != NULL;
}

void trace_writer_emit(const struct trace_event *e, void *writer)
{
    struct trace_writer *w = writer;
    buf_clear(&w->line);
    trace_event_json(e, &w->line);
    w->failed = w->failed || w->line.failed ||
                gzwrite(w->out, w->line.data, (unsigned)w->line.len) != (int)w->line.len;
}

bool trace_writer_close(struct trace_writer *w, const char *path)
{
    bool ok = w->out && gzclose(w->out) == Z_OK && !w->failed;
    buf_deinit(&w->line);
    if (!ok)
        report_error("%s: could not be written", path);
    return ok;
}
