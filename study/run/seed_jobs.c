/* A socket pair for each worker: the seed goes there, its result comes back, and the end of either
 * side is the end of the other. */
#include "study/run/seed_jobs.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* So many runs that die are results; more are a program that does not work. */
#define DIED_MAX 1000

struct worker {
    pid_t pid; /* 0: there is none */
    int fd;
    uint64_t seed; /* under way */
    bool is_busy;
};

/* What a worker sends. Texts of the checkers are static: their addresses hold in the process that
 * it was forked from. */
struct answer {
    enum zkc_err err;
    struct run_result run; /* ZKC_OK */
    struct why why;
};

struct pool {
    const struct seed_jobs *jobs;
    struct worker workers[SEED_JOBS_MAX];
    uint64_t next;
    unsigned died;
    struct why *why;
};

/* False: the other side is gone. */
static bool send_all(int fd, const void *data, size_t len)
{
    for (const char *at = data; len > 0;) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return true;
}

static bool receive_all(int fd, void *data, size_t len)
{
    for (char *at = data; len > 0;) {
        ssize_t n = recv(fd, at, len, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return true;
}

/* ---- in a worker ---- */

static _Noreturn void work(const struct seed_jobs *jobs, int fd)
{
    static struct answer answer; /* all of it is sent, padding included */
    uint64_t seed;
    while (receive_all(fd, &seed, sizeof seed)) {
        answer.err = jobs->run(seed, &answer.run, &answer.why, jobs->user);
        if (!send_all(fd, &answer, sizeof answer))
            break;
    }
    _exit(0);
}

/* ---- here ---- */

static enum zkc_err system_failed(struct pool *p, const char *what)
{
    why_set(p->why, "%s: %s", what, strerror(errno));
    return ZKC_ERR_SYSTEM;
}

static enum zkc_err start(struct pool *p, struct worker *w)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
        return system_failed(p, "a worker's socket");
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < SEED_JOBS_MAX; i++) /* another's end must be its own */
            if (p->workers[i].pid)
                close(p->workers[i].fd);
        close(fds[0]);
        work(p->jobs, fds[1]);
    }
    close(fds[1]);
    if (pid < 0) {
        enum zkc_err err = system_failed(p, "a worker's process");
        close(fds[0]);
        return err;
    }
    *w = (struct worker){.pid = pid, .fd = fds[0]};
    return ZKC_OK;
}

/* Waits for a worker that ends. Its status as waitpid() has it. */
static int reap(struct worker *w)
{
    int status = 0;
    close(w->fd);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    *w = (struct worker){0};
    return status;
}

static void end_all(struct pool *p)
{
    for (size_t i = 0; i < SEED_JOBS_MAX; i++) {
        if (!p->workers[i].pid)
            continue;
        kill(p->workers[i].pid, SIGKILL);
        reap(&p->workers[i]);
    }
}

/* Gives the worker the next seed that is not done. It is idle afterwards if there is none. */
static enum zkc_err feed(struct pool *p, struct worker *w)
{
    const struct seed_jobs *jobs = p->jobs;
    while (p->next <= jobs->last && jobs->is_done && jobs->is_done(p->next, jobs->user))
        p->next++;
    if (p->next > jobs->last)
        return ZKC_OK;
    enum zkc_err err = w->pid ? ZKC_OK : start(p, w);
    if (err)
        return err;
    if (!send_all(w->fd, &p->next, sizeof p->next))
        return system_failed(p, "a worker that waited for a seed");
    w->seed = p->next++;
    w->is_busy = true;
    return ZKC_OK;
}

/* A run's own end (abort, a fault of memory, a sanitizer) is a result; somebody else's kill is not.
 */
static enum zkc_err take_death(struct pool *p, uint64_t seed, int status)
{
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP) {
        why_set(p->why, "seed %" PRIu64 ": somebody ended its process by signal %d", seed, signal);
        return ZKC_ERR_SYSTEM;
    }
    if (++p->died > DIED_MAX) {
        why_set(p->why, "more than %d runs died", DIED_MAX);
        return ZKC_ERR_SYSTEM;
    }
    struct seed_result r = {.seed = seed, .died = signal ? signal : 256 + WEXITSTATUS(status)};
    return p->jobs->on_result(&r, p->why, p->jobs->user);
}

/* Takes what comes from a worker that has a seed. */
static enum zkc_err take(struct pool *p, struct worker *w)
{
    struct answer answer;
    uint64_t seed = w->seed;
    if (!receive_all(w->fd, &answer, sizeof answer))
        return take_death(p, seed, reap(w));
    w->is_busy = false;
    if (answer.err) {
        why_set(p->why, "seed %" PRIu64 ": %s", seed, answer.why.text);
        return answer.err;
    }
    struct seed_result r = {.seed = seed, .run = answer.run};
    return p->jobs->on_result(&r, p->why, p->jobs->user);
}

/* Waits until something comes from a worker or from stop_fd; fds[i] is then of workers[of[i]]. */
static enum zkc_err wait_for_one(struct pool *p, struct pollfd *fds, size_t *of, size_t *count)
{
    size_t n = 0;
    for (size_t i = 0; i < p->jobs->jobs; i++)
        if (p->workers[i].is_busy) {
            fds[n] = (struct pollfd){.fd = p->workers[i].fd, .events = POLLIN};
            of[n++] = i;
        }
    *count = n;
    fds[n] = (struct pollfd){.fd = p->jobs->stop_fd, .events = POLLIN}; /* -1: ignored */
    if (n && poll(fds, n + 1, -1) < 0 && errno != EINTR)
        return system_failed(p, "poll");
    if (fds[n].revents) {
        why_set(p->why, "stopped");
        return ZKC_ERR_CLOSED;
    }
    return ZKC_OK;
}

static enum zkc_err run(struct pool *p)
{
    struct pollfd fds[SEED_JOBS_MAX + 1];
    size_t of[SEED_JOBS_MAX], count = 0;
    enum zkc_err err = ZKC_OK;
    for (size_t i = 0; i < p->jobs->jobs && !err; i++)
        err = feed(p, &p->workers[i]);
    while (!err) {
        err = wait_for_one(p, fds, of, &count);
        if (err || count == 0)
            return err;
        for (size_t i = 0; i < count && !err; i++) {
            if (!fds[i].revents)
                continue;
            err = take(p, &p->workers[of[i]]);
            if (!err)
                err = feed(p, &p->workers[of[i]]);
        }
    }
    return err;
}

enum zkc_err seed_jobs_run(const struct seed_jobs *jobs, struct why *why)
{
    assert(jobs->jobs >= 1 && jobs->jobs <= SEED_JOBS_MAX);
    assert(jobs->first <= jobs->last && jobs->last < UINT64_MAX);
    why_clear(why);
    struct pool *p = calloc(1, sizeof *p);
    if (!p)
        return ZKC_ERR_NOMEM;
    p->jobs = jobs;
    p->next = jobs->first;
    p->why = why;
    enum zkc_err err = run(p);
    end_all(p);
    free(p);
    return err;
}
