#include "tests/unit/vectors.h"
#include "tests/unit/test.h"

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s cannot be read", path);
    char *text = NULL;
    size_t len = 0, n = 1;
    while (n > 0) {
        text = realloc(text, len + 65536 + 1);
        n = fread(text + len, 1, 65536, f);
        len += n;
    }
    fclose(f);
    text[len] = '\0';
    return text;
}

struct vectors vectors_read(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TEST_VECTORS, name);
    struct vectors v = {.text = read_all(path)};
    for (char *line = v.text, *next; line && *line; line = next) {
        next = vectors_cut(line, '\n');
        if (!*line || *line == '#')
            continue;
        v.lines = realloc(v.lines, (v.count + 1) * sizeof *v.lines);
        v.lines[v.count++] = line;
    }
    if (!v.count)
        fail_msg("%s has no lines", path);
    return v;
}

void vectors_free(struct vectors *v)
{
    free(v->text);
    free(v->lines);
}

char *vectors_cut(char *line, char separator)
{
    char *at = strchr(line, separator);
    if (!at)
        return NULL;
    *at = '\0';
    return at + 1;
}

size_t vectors_unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at; to++) {
        unsigned byte;
        if (sscanf(at, "\\x%2x", &byte) == 1) {
            *to = (char)byte;
            at += 4;
        } else {
            *to = *at++;
        }
    }
    *to = '\0';
    return (size_t)(to - text);
}
