#include "zkconsumer/cli/perf.h"
#include <stdio.h>
#include <time.h>

int64_t perf_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void perf_format_time(int64_t ms, char *room, size_t size)
{
    time_t seconds = ms / 1000;
    struct tm tm;
    char text[32];
    localtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(room, size, "%s:%03d", text, (int)(ms % 1000));
}

double perf_seconds(int64_t start_ms, int64_t end_ms)
{
    return end_ms > start_ms ? (double)(end_ms - start_ms) / 1000 : 0.001;
}
