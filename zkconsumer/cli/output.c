#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/stop.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* A message is at most what one fetch may bring (an int32), base64 and escapes make it larger. */
#define OUTPUT_BYTES_MAX ((size_t)16 << 30)

void output_init(struct output *o, int fd, size_t flush_bytes)
{
    *o = (struct output){.fd = fd, .flush_bytes = flush_bytes};
    buf_init(&o->buf, OUTPUT_BYTES_MAX);
}

void output_deinit(struct output *o)
{
    buf_deinit(&o->buf);
}

/* How much to write now without getting stuck: all, or, when stopping, what poll() promises that a
 * pipe takes without blocking. 0: the reader took nothing until the deadline, which begins with the
 * first call that sees the stop. */
static size_t writable(const struct output *o, size_t left, int64_t *deadline_ms)
{
    if (!stop_is_requested())
        return left;
    if (*deadline_ms < 0)
        *deadline_ms = clock_now_ms() + OUTPUT_STOP_MS;
    int64_t wait_ms = *deadline_ms - clock_now_ms();
    struct pollfd p = {.fd = o->fd, .events = POLLOUT};
    if (poll(&p, 1, wait_ms > 0 ? (int)wait_ms : 0) != 1)
        return 0;
    size_t promised = 4096; /* PIPE_BUF */
    return left < promised ? left : promised;
}

static void write_failed(struct output *o, int error)
{
    o->state = error == EPIPE ? OUTPUT_CLOSED : OUTPUT_FAILED;
    o->error = error;
}

bool output_flush(struct output *o)
{
    if (o->state != OUTPUT_OPEN)
        return false;
    if (o->buf.failed) {
        write_failed(o, ENOMEM);
        return false;
    }
    int64_t deadline_ms = -1;
    for (size_t done = 0; done < o->buf.len;) {
        size_t n = writable(o, o->buf.len - done, &deadline_ms);
        if (n == 0) {
            o->state = OUTPUT_STUCK;
            o->bytes_left = o->buf.len - done;
            return false;
        }
        ssize_t written = write(o->fd, o->buf.data + done, n);
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            write_failed(o, errno);
            return false;
        }
        if (written < 0 && errno == EAGAIN) /* somebody made the pipe non-blocking: wait for it */
            poll(&(struct pollfd){.fd = o->fd, .events = POLLOUT}, 1, OUTPUT_STOP_MS);
        done += written > 0 ? (size_t)written : 0;
        o->written += written > 0 ? (uint64_t)written : 0;
    }
    buf_clear(&o->buf);
    return true;
}

bool output_added(struct output *o)
{
    if (o->buf.len >= o->flush_bytes || o->buf.failed)
        return output_flush(o);
    return o->state == OUTPUT_OPEN;
}

enum cli_exit output_finish(struct output *o)
{
    output_flush(o);
    switch (o->state) {
    case OUTPUT_OPEN:
    case OUTPUT_CLOSED: return CLI_DONE;
    case OUTPUT_FAILED:
        report_error("stdout could not be written: %s", strerror(o->error));
        return CLI_FAILED;
    case OUTPUT_STUCK:
        report_error("stdout takes nothing: its reader left %zu bytes", o->bytes_left);
        return CLI_TIMED_OUT;
    }
    return CLI_FAILED;
}
