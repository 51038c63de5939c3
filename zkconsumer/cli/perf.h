/* What the two perf commands share: Kafka's way of writing times and rates. */
#ifndef ZKC_CLI_PERF_H
#define ZKC_CLI_PERF_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds since 1970. */
int64_t perf_now_ms(void);

/* "2015-02-26 21:33:20:001", local time, as Kafka's default date-format. */
void perf_format_time(int64_t ms, char *room, size_t size);
#define PERF_TIME_SIZE 40

#define PERF_MB (1024.0 * 1024.0)

/* Seconds between two times, at least a millisecond, so that a rate is a number. */
double perf_seconds(int64_t start_ms, int64_t end_ms);

#endif
