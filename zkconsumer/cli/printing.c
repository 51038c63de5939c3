#include "zkconsumer/cli/printing.h"
#include "zkconsumer/cli/report.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool printing_take(struct printing *p, const char *key, const char *value)
{
    if (strcmp(key, "print.key") == 0)
        p->with_key = strcmp(value, "true") == 0;
    else if (strcmp(key, "key.separator") == 0)
        p->key_separator = value;
    else if (strcmp(key, "line.separator") == 0)
        p->line_separator = value;
    else if (strcmp(key, "topic") == 0)
        p->topic = value;
    else
        return false;
    return true;
}

static bool unescape(const char *option, const char *text, uint8_t **room, struct bytes *out)
{
    size_t at, len = 0;
    *room = malloc(strlen(text) + 1);
    if (*room)
        len = format_unescape(text, *room, &at);
    if (!*room || len == SIZE_MAX) {
        report_error("%s=%s: %s", option, text, *room ? "unknown escape" : "out of memory");
        return false;
    }
    *out = bytes_of(*room, len);
    return true;
}

static bool make_lines(const struct printing *p, struct format *out)
{
    uint8_t *key_room = NULL, *line_room = NULL;
    struct bytes key, line;
    bool ok = unescape("--key-separator", p->key_separator, &key_room, &key) &&
              unescape("--line-separator", p->line_separator, &line_room, &line) &&
              format_init_lines(out, key, line, p->with_key);
    free(key_room);
    free(line_room);
    return ok;
}

static bool make_spec(const char *spec, struct format *out)
{
    char why[512];
    if (format_init(out, spec, why, sizeof why))
        return true;
    report_error("%s", why);
    return false;
}

/* [topic:]checksum:<crc>, in the words of kafka.tools.ChecksumMessageFormatter. */
static bool make_checksum(const struct printing *p, struct format *out)
{
    char spec[300];
    if (p->topic && strpbrk(p->topic, "%\\")) {
        report_error("--property topic=%s: this is no topic", p->topic);
        return false;
    }
    snprintf(spec, sizeof spec, "%s%schecksum:%%C\\n", p->topic ? p->topic : "",
             p->topic ? ":" : "");
    return make_spec(spec, out);
}

bool printing_make(const struct printing *p, struct format *out)
{
    const char *dot = p->formatter ? strrchr(p->formatter, '.') : NULL;
    const char *class = dot ? dot + 1 : p->formatter ? p->formatter : "DefaultMessageFormatter";
    if (strcmp(class, "DefaultMessageFormatter") == 0)
        return make_lines(p, out);
    if (strcmp(class, "NoOpMessageFormatter") == 0)
        return make_spec("", out);
    if (strcmp(class, "ChecksumMessageFormatter") == 0)
        return make_checksum(p, out);
    report_error("--formatter=%s: known are DefaultMessageFormatter, NoOpMessageFormatter and "
                 "ChecksumMessageFormatter; --format says it in words",
                 p->formatter);
    return false;
}
