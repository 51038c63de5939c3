/* The clock that leases and the machines count by. It runs while the system is suspended: a member
 * that slept past the end of its session must find its lease over, not paused with it.
 * (CLOCK_MONOTONIC stands still meanwhile.) */
#ifndef ZKC_IO_BOOT_CLOCK_H
#define ZKC_IO_BOOT_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds on CLOCK_BOOTTIME; on CLOCK_MONOTONIC where the system has no such clock. Any
 * thread. */
static inline int64_t boot_clock_ms(void)
{
    struct timespec now;
#ifdef CLOCK_BOOTTIME
    if (clock_gettime(CLOCK_BOOTTIME, &now) != 0)
#endif
        clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#endif
