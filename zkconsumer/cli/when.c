#include "zkconsumer/cli/when.h"
#include "zkconsumer/cli/options.h"
#include <ctype.h>
#include <string.h>
#include <time.h>

/* Digits behind the point, 1 .. 9 of them; *ms gets the milliseconds in them. */
static const char *read_fraction(const char *at, int64_t *ms)
{
    int count = 0;
    *ms = 0;
    for (; isdigit((unsigned char)*at); at++, count++)
        *ms = count < 3 ? *ms * 10 + (*at - '0') : *ms;
    for (int i = count; i < 3; i++)
        *ms *= 10;
    return count >= 1 && count <= 9 ? at : NULL;
}

static bool read_two(const char *at, int64_t max, int64_t *out)
{
    if (!isdigit((unsigned char)at[0]) || !isdigit((unsigned char)at[1]))
        return false;
    *out = (at[0] - '0') * 10 + (at[1] - '0');
    return *out <= max;
}

/* What is left of the text; *ms: by how much the clocks there are ahead. */
static bool read_zone(const char *at, int64_t *ms)
{
    int64_t hours, minutes = 0;
    *ms = 0;
    if (!*at || strcmp(at, "Z") == 0)
        return true;
    bool is_behind = *at == '-';
    if ((*at != '+' && *at != '-') || !read_two(at + 1, 23, &hours))
        return false;
    at += 3;
    at += *at == ':' && at[1];
    if (*at) {
        if (!read_two(at, 59, &minutes))
            return false;
        at += 2;
    }
    *ms = (hours * 60 + minutes) * 60000 * (is_behind ? -1 : 1);
    return !*at;
}

bool when_parse_time(const char *text, int64_t *ms)
{
    struct tm tm = {0};
    int64_t fraction = 0, zone;
    if (cli_parse_number(text, 0, INT64_MAX, ms))
        return true;
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (end && *end == '.')
        end = read_fraction(end + 1, &fraction);
    if (!end || !read_zone(end, &zone))
        return false;
    *ms = (int64_t)timegm(&tm) * 1000 + fraction - zone;
    return *ms >= 0;
}

/* "12H": the number in front of the unit, if there is one; *found says so. False: out of range. */
static bool read_part(const char **text, char unit, int64_t unit_ms, int64_t *ms, bool *found)
{
    const char *at = *text;
    int64_t n = 0, fraction = 0;
    bool is_negative = *at == '-';
    at += *at == '-' || *at == '+';
    if (!isdigit((unsigned char)*at))
        return true;
    for (; isdigit((unsigned char)*at); at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *at - '0', &n))
            return false;
    if (unit == 'S' && (*at == '.' || *at == ',')) {
        at++; /* Java takes a point without digits */
        const char *end = toupper((unsigned char)*at) == 'S' ? at : read_fraction(at, &fraction);
        if (!end)
            return false;
        at = end;
    }
    if (toupper((unsigned char)*at) != unit)
        return true;
    *text = at + 1;
    *found = true;
    return !__builtin_mul_overflow(n, unit_ms, &n) && !__builtin_add_overflow(n, fraction, &n) &&
           !(is_negative ? __builtin_sub_overflow(*ms, n, ms) : __builtin_add_overflow(*ms, n, ms));
}

bool when_parse_duration(const char *text, int64_t *ms)
{
    int64_t sum = 0;
    bool has_days = false, has_time = false;
    bool is_negative = *text == '-';
    text += *text == '-' || *text == '+';
    if (toupper((unsigned char)*text++) != 'P')
        return false;
    if (!read_part(&text, 'D', 86400000, &sum, &has_days))
        return false;
    if (toupper((unsigned char)*text) == 'T') {
        text++;
        if (!read_part(&text, 'H', 3600000, &sum, &has_time) ||
            !read_part(&text, 'M', 60000, &sum, &has_time) ||
            !read_part(&text, 'S', 1000, &sum, &has_time) || !has_time)
            return false;
    }
    if (*text || (!has_days && !has_time) || sum == INT64_MIN)
        return false;
    *ms = is_negative ? -sum : sum;
    return true;
}
