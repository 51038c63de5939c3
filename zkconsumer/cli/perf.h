/* What the two perf commands share: Kafka's way of writing times and rates. */
#ifndef ZKC_CLI_PERF_H
#define ZKC_CLI_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --date-format, a pattern of Java's SimpleDateFormat: y M d H m s S in numbers, text in '...' and
 * what is no letter as it is. Anything else is reported; false. Kafka's default: */
#define PERF_DATE_FORMAT "yyyy-MM-dd HH:mm:ss:SSS"
bool perf_check_date_format(const char *pattern);

/* Local time by a pattern that was checked: "2015-02-26 21:33:20:001". */
#define PERF_TIME_SIZE 160
void perf_format_time(int64_t ms, const char *pattern, char room[PERF_TIME_SIZE]);

#define PERF_MB (1024.0 * 1024.0)

/* Seconds between two times, at least a millisecond, so that a rate is a number. */
double perf_seconds(int64_t start_ms, int64_t end_ms);

#endif
