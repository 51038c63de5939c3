/* The two clocks: one that only goes forward, for waiting; the other for what people and files
 * read. */
#ifndef BROKER_IO_CLOCK_H
#define BROKER_IO_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_read_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline int64_t clock_now_ms(void)
{
    return clock_read_ms(CLOCK_MONOTONIC);
}
static inline int64_t clock_wall_ms(void)
{
    return clock_read_ms(CLOCK_REALTIME);
}

#endif
