#include "zkconsumer/cli/stop.h"
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/report.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* A signal handler has no other way to reach its program than through such variables. The kernel
 * may run it on any thread. */
static atomic_bool is_requested;
static atomic_llong requested_ms;
static int pipe_fds[2] = {-1, -1};

/* timeout(1), and a shell that ends its jobs, send one to the process and one to its group. */
#define SAME_REQUEST_MS 500

static void on_signal(int number)
{
    int saved_errno = errno;
    long long now_ms = clock_now_ms(), none = 0;
    if (!atomic_compare_exchange_strong(&requested_ms, &none, now_ms)) {
        if (now_ms - none >= SAME_REQUEST_MS)
            _exit(128 + number);
        return;
    }
    is_requested = true;
    ssize_t written = write(pipe_fds[1], "", 1);
    (void)written; /* the pipe is empty: it has room */
    errno = saved_errno;
}

bool stop_init(void)
{
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        report_error("no descriptors: %s", strerror(errno));
        return false;
    }
    struct sigaction action = {.sa_handler =
                                   on_signal}; /* no SA_RESTART: it ends a blocked write */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    return true;
}

bool stop_is_requested(void)
{
    return is_requested;
}

int stop_fd(void)
{
    return pipe_fds[0];
}
