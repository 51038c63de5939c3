/* A library to preload: its program reads clocks that a test moves. CLOCK_REALTIME by the first of
 * two shifts in the file that $ZKC_CLOCK_SHIFTS names (64-bit nanoseconds, the machine's order), as
 * when somebody sets the clock; CLOCK_BOOTTIME by the second: a process that is stopped (SIGSTOP)
 * while it jumps has seen what a suspend of the system looks like. What the kernel waits by is left
 * alone, as it is there: none of that runs while the system is suspended.
 *
 * Calls the kernel itself, as the program may have a sanitizer that is not there yet. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

static const volatile int64_t *shifts; /* realtime, boottime; NULL: not moved */

__attribute__((constructor)) static void open_shifts(void)
{
    const char *path = getenv("ZKC_CLOCK_SHIFTS");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *at = mmap(NULL, 2 * sizeof *shifts, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    shifts = at == MAP_FAILED ? NULL : at;
}

static int64_t shift_of(clockid_t id)
{
    if (!shifts)
        return 0;
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? shifts[0]
           : id == CLOCK_BOOTTIME                              ? shifts[1]
                                                               : 0;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (syscall(SYS_clock_gettime, id, now) != 0)
        return -1;
    int64_t ns = now->tv_sec * NS_PER_S + now->tv_nsec + shift_of(id);
    now->tv_sec = ns / NS_PER_S;
    now->tv_nsec = ns % NS_PER_S;
    return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    *tv = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
