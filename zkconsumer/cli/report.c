#include "zkconsumer/cli/report.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum report_level level_now = REPORT_NORMAL;

void report_set_level(enum report_level level)
{
    level_now = level;
}
enum report_level report_level(void)
{
    return level_now;
}

void report_set_level_by(const struct cli_args *args, size_t quiet, size_t verbose)
{
    report_set_level(cli_args_has(args, verbose) ? REPORT_VERBOSE
                     : cli_args_has(args, quiet) ? REPORT_QUIET
                                                 : REPORT_NORMAL);
}

/* One write() per line, so that lines of several threads and processes do not mix. */
static void write_line(const char *lead, const char *fmt, va_list args)
{
    char line[2048];
    size_t lead_len = strlen(lead);
    memcpy(line, lead, lead_len);
    int n = vsnprintf(line + lead_len, sizeof line - lead_len - 1, fmt, args);
    size_t len = n < 0 ? lead_len : lead_len + (size_t)n;
    if (len > sizeof line - 2)
        len = sizeof line - 2; /* cut: the rest of a very long text adds nothing */
    line[len++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written; /* there is nowhere to say that stderr is gone */
}

void report_status(const char *fmt, ...)
{
    if (level_now < REPORT_NORMAL)
        return;
    va_list args;
    va_start(args, fmt);
    write_line("% ", fmt, args);
    va_end(args);
}

void report_warning(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    write_line("% ", fmt, args);
    va_end(args);
}

void report_error(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    write_line("% ERROR: ", fmt, args);
    va_end(args);
}

void report_result(const char *called_as, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (called_as) {
        vprintf(fmt, args);
        putchar('\n');
        fflush(stdout);
    } else if (level_now >= REPORT_NORMAL) {
        write_line("% ", fmt, args);
    }
    va_end(args);
}

enum cli_exit report_exit_of(enum zkc_err err)
{
    switch (err) {
    case ZKC_OK: return CLI_DONE;
    case ZKC_ERR_UNREACHABLE: return CLI_UNREACHABLE;
    case ZKC_ERR_TIMED_OUT:
    case ZKC_ERR_NOT_RELEASED: return CLI_TIMED_OUT;
    default: return CLI_FAILED;
    }
}

enum cli_exit report_exit_of_missing(enum zkc_err err, enum zkc_err other)
{
    err = err ? err : other;
    return err == ZKC_OK ? CLI_DONE : err == ZKC_ERR_UNREACHABLE ? CLI_UNREACHABLE : CLI_TIMED_OUT;
}

bool report_needs(const struct cli_args *args, size_t option, const char *example)
{
    char name[64];
    if (cli_args_has(args, option))
        return true;
    report_error("%s is needed, e.g. %s",
                 cli_option_name(&args->options[option], name, sizeof name), example);
    return false;
}

bool report_takes_no_operands(const struct cli_args *args)
{
    if (args->operand_count == 0)
        return true;
    report_error("\"%s\" is no option: all that this command is told is told by options",
                 args->operands[0]);
    return false;
}
