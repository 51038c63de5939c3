#include "zkconsumer/cli/perf.h"
#include "zkconsumer/cli/report.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATTERN_MAX 60
#define RUN_MAX     4 /* of one letter; MMM and MMMM are names of months */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t run_of(const char *at)
{
    size_t n = 1;
    while (at[n] == *at)
        n++;
    return n;
}

bool perf_check_date_format(const char *pattern)
{
    bool is_quoted = false;
    bool is_good = *pattern && strlen(pattern) <= PATTERN_MAX;
    for (const char *at = pattern; is_good && *at; at += is_letter(*at) ? run_of(at) : 1) {
        is_quoted ^= *at == '\'';
        if (is_quoted || !is_letter(*at))
            continue;
        size_t max = *at == 'M' ? 2 : RUN_MAX;
        is_good = strchr("yMdHmsS", *at) && run_of(at) <= max;
    }
    if (is_good && !is_quoted)
        return true;
    report_error(
        "--date-format=%s: expected y, M, d, H, m, s and S (at most four in a row, M two), "
        "text in '...' and signs, in all up to %d characters",
        pattern, PATTERN_MAX);
    return false;
}

static int field(char letter, const struct tm *tm, int64_t ms)
{
    switch (letter) {
    case 'y': return tm->tm_year + 1900;
    case 'M': return tm->tm_mon + 1;
    case 'd': return tm->tm_mday;
    case 'H': return tm->tm_hour;
    case 'm': return tm->tm_min;
    case 's': return tm->tm_sec;
    default: return (int)(ms % 1000);
    }
}

void perf_format_time(int64_t ms, const char *pattern, char room[PERF_TIME_SIZE])
{
    time_t seconds = ms / 1000;
    struct tm tm;
    size_t len = 0;
    bool is_quoted = false;
    localtime_r(&seconds, &tm);
    for (const char *at = pattern; *at && len + 12 < PERF_TIME_SIZE;) {
        size_t n = 1;
        if (*at == '\'' && at[1] == '\'') {
            room[len++] = '\''; /* two are one, within quotes and outside */
            n = 2;
        } else if (*at == '\'') {
            is_quoted = !is_quoted;
        } else if (is_quoted || !is_letter(*at)) {
            room[len++] = *at;
        } else {
            n = run_of(at);
            int value = field(*at, &tm, ms);
            len += (size_t)snprintf(room + len, PERF_TIME_SIZE - len, "%0*d", (int)n,
                                    *at == 'y' && n == 2 ? value % 100 : value);
        }
        at += n;
    }
    room[len] = '\0';
}

double perf_seconds(int64_t start_ms, int64_t end_ms)
{
    return end_ms > start_ms ? (double)(end_ms - start_ms) / 1000 : 0.001;
}
