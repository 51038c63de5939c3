/* Writes docs/configuration.md from the table of keys; with the name of that file, compares instead
 * and fails where they differ, so that the page cannot fall behind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zkconsumer/conf.h>

static const char intro[] =
    "# Configuration\n"
    "\n"
    "Every key, as `zkc_conf_set()`, `zkconsumer --property key=value` and files take it. Names "
    "and\n"
    "defaults are those of Kafka 0.8.2 where it has them. This page is generated from the library\n"
    "(`tests/unit/consumer/configuration_doc.c`).\n"
    "\n"
    "## Files\n"
    "\n"
    "`zkc_conf_load()` and `zkconsumer --config` read Java properties files: `key=value`, `key: "
    "value`\n"
    "or `key value`, one a line; `#` and `!` begin comments; a line that ends in `\\` goes on in "
    "the\n"
    "next; UTF-8; CRLF is fine. Blanks at the end of a value are taken off, with a warning, "
    "because\n"
    "Java keeps them. A bad value is an error that names file and line. An unknown key is a "
    "warning, as\n"
    "in Kafka, with the nearest known one; with `strict.config=true` it is an error.\n"
    "\n"
    "## What is refused\n"
    "\n"
    "A key that is accepted acts. Keys of Kafka that do not act here (`bootstrap.servers`,\n"
    "`group.instance.id`, `heartbeat.interval.ms` ...) and values that belong to what "
    "this\n"
    "version does not have (`group.protocol=classic` ...) are refused with "
    "the\n"
    "reason and what to do. In files such keys are skipped with a warning where leaving them out "
    "changes\n"
    "nothing.\n"
    "\n"
    "Newer and older names (`enable.auto.commit`, `zk.connect` ...) are taken for the key's own, "
    "with a\n"
    "notice in the log.\n"
    "\n"
    "## Keys\n";

/* Lines of about a hundred columns. */
static void print_wrapped(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column && column + 1 + len > 100) {
            fputc('\n', out);
            column = 0;
        } else if (column) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, len, out);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_key(const struct zkc_conf_key *key, void *user)
{
    FILE *out = user;
    fprintf(out, "\n### `%s`\n\n", key->name);
    print_wrapped(out, key->text);
    fprintf(out, "\n- %s: %s\n", key->type, key->range);
    if (key->default_value[0] == '=')
        fprintf(out, "- default: the value of `%s`\n", key->default_value + 2);
    else if (key->default_value[0])
        fprintf(out, "- default: `%s`\n", key->default_value);
    else
        fprintf(out, "- default: none\n");
    if (key->aliases[0])
        fprintf(out, "- also: %s\n", key->aliases);
}

static int compare(FILE *page, const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return 1;
    }
    rewind(page);
    char want[512], got[512];
    for (int line = 1;; line++) {
        char *w = fgets(want, sizeof want, page);
        char *g = fgets(got, sizeof got, file);
        if (!w && !g)
            break;
        if (!w || !g || strcmp(w, g)) {
            fprintf(stderr, "%s:%d: is\n%sand should be\n%swrite it anew: configuration_doc > %s\n",
                    path, line, g ? g : "(the end)\n", w ? w : "(the end)\n", path);
            fclose(file);
            return 1;
        }
    }
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    FILE *page = argc > 1 ? tmpfile() : stdout;
    if (!page) {
        perror("tmpfile");
        return 1;
    }
    fputs(intro, page);
    zkc_conf_describe(print_key, page);
    return argc > 1 ? compare(page, argv[1]) : 0;
}
