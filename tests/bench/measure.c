#include "tests/bench/measure.h"
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int64_t ns_of(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

struct usage usage_now(void)
{
    struct rusage r;
    struct timespec wall;
    getrusage(RUSAGE_SELF, &r);
    clock_gettime(CLOCK_MONOTONIC, &wall);
    return (struct usage){.user_ns = ns_of(r.ru_utime),
                          .system_ns = ns_of(r.ru_stime),
                          .wall_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec};
}

struct usage usage_since(struct usage begin)
{
    struct usage now = usage_now();
    return (struct usage){.user_ns = now.user_ns - begin.user_ns,
                          .system_ns = now.system_ns - begin.system_ns,
                          .wall_ns = now.wall_ns - begin.wall_ns};
}

int64_t resident_bytes(void)
{
    long long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lld %lld", &total, &resident) != 2)
        die("cannot read /proc/self/statm");
    fclose(file);
    return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

int64_t peak_resident_bytes(void)
{
    char line[256];
    long long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && kib < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lld kB", &kib) != 1)
            kib = -1;
    if (kib < 0)
        die("cannot read /proc/self/status");
    fclose(file);
    return kib * 1024;
}

int64_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2(); /* of all arenas */
    return (int64_t)(info.uordblks + info.hblkhd);
}

void die(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    size_t len = strlen(name);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strncmp(argv[i] + 2, name, len) == 0 &&
            argv[i][2 + len] == '=')
            return argv[i] + 3 + len;
    if (!otherwise)
        die("--%s=VALUE is missing", name);
    return otherwise;
}

int64_t option_int(int argc, char **argv, const char *name, const char *otherwise)
{
    const char *text = option(argc, argv, name, otherwise);
    char *end;
    int64_t value = strtoll(text, &end, 10);
    if (end == text || *end)
        die("--%s=%s is no number", name, text);
    return value;
}

const char *topic_name(char name[256], const char *topic, int64_t i, int64_t count)
{
    if (count == 1)
        snprintf(name, 256, "%s", topic);
    else
        snprintf(name, 256, "%s-%lld", topic, (long long)i);
    return name;
}
