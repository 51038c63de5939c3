#include "zkconsumer/cli/exec.h"
#include "zkconsumer/cli/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_MS 2000 /* between SIGTERM and SIGKILL */

extern char **environ;

struct running {
    const struct exec_job *job;
    pid_t pid;
    int pid_fd; /* readable when it has ended */
    int input;  /* -1: closed */
    size_t written;
    int64_t deadline_ms;
    int last_signal; /* 0: none sent yet */
};

/* ---- starting ---- */

/* Ours and the job's. NULL: out of memory. */
static char **join_environment(char *const *more)
{
    size_t count = 0, more_count = 0;
    while (environ[count])
        count++;
    while (more[more_count])
        more_count++;
    char **all = malloc((count + more_count + 1) * sizeof *all);
    if (!all)
        return NULL;
    memcpy(all, environ, count * sizeof *all);
    memcpy(all + count, more, (more_count + 1) * sizeof *all);
    return all;
}

/* Signals that we handle or ignore are the command's own again. */
static int spawn(const struct exec_job *job, int input, char **environment, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults, none;
    char *words[] = {"sh", "-c", (char *)(uintptr_t)job->command, NULL};
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawn(pid, "/bin/sh", &files, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static void close_input(struct running *r)
{
    if (r->input >= 0)
        close(r->input);
    r->input = -1;
}

static bool start(struct running *r, struct why *why)
{
    int pipe_fds[2];
    char **environment = join_environment(r->job->environment);
    if (!environment || pipe2(pipe_fds, O_CLOEXEC) != 0) {
        why_set(why, "it could not be started: %s",
                environment ? strerror(errno) : "out of memory");
        free(environment);
        return false;
    }
    int error = spawn(r->job, pipe_fds[0], environment, &r->pid);
    free(environment);
    close(pipe_fds[0]);
    r->input = pipe_fds[1];
    if (!error) {
        fcntl(r->input, F_SETFL, O_NONBLOCK);
        r->pid_fd = pidfd_open(r->pid, 0);
        if (r->pid_fd >= 0)
            return true;
        error = errno; /* nothing would bound it */
        kill(-r->pid, SIGKILL);
        while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close_input(r);
    why_set(why, "it could not be started: %s", strerror(error));
    return false;
}

/* ---- running ---- */

/* A command that closes its input has had enough of it. */
static void feed(struct running *r)
{
    const struct bytes *input = &r->job->input;
    while (r->written < input->len) {
        ssize_t n = write(r->input, input->data + r->written, input->len - r->written);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0)
            break;
        r->written += (size_t)n;
    }
    close_input(r);
}

/* The time is up: first asked, then made to end. */
static void press(struct running *r)
{
    r->last_signal = r->last_signal ? SIGKILL : SIGTERM;
    kill(-r->pid, r->last_signal);
    r->deadline_ms = clock_now_ms() + KILL_MS;
}

/* EINTR: one of our own signals; the command goes on until its time is up. */
static void watch(struct running *r)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = r->pid_fd, .events = POLLIN},
                               {.fd = r->input, .events = POLLOUT}};
        int64_t left = r->deadline_ms - clock_now_ms();
        if (left <= 0) {
            press(r);
            continue;
        }
        if (poll(fds, 2, left > INT32_MAX ? INT32_MAX : (int)left) <= 0)
            continue;
        if (fds[1].revents)
            feed(r);
        if (fds[0].revents)
            return;
    }
}

static bool judge(const struct running *r, int status, struct why *why)
{
    if (r->last_signal)
        why_set(why, "it took longer than %lld ms and was ended", (long long)r->job->timeout_ms);
    else if (WIFSIGNALED(status))
        why_set(why, "it was ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status))
        why_set(why, "its exit status was %d", WEXITSTATUS(status));
    else
        return true;
    return false;
}

bool exec_run(const struct exec_job *job, struct why *why)
{
    struct running r = {.job = job, .input = -1, .deadline_ms = clock_now_ms() + job->timeout_ms};
    int status = 0;
    why_clear(why);
    if (!start(&r, why))
        return false;
    watch(&r);
    close_input(&r);
    while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(r.pid_fd);
    return judge(&r, status, why);
}
