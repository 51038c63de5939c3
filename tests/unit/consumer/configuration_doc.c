/* Writes docs/configuration.md from the table of keys. */
#include "tests/support/doc_page.h"
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

static void print_key(const struct zkc_conf_key *key, void *user)
{
    FILE *out = user;
    fprintf(out, "\n### `%s`\n\n", key->name);
    doc_page_wrapped(out, key->text);
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

static void write_page(FILE *out)
{
    fputs(intro, out);
    zkc_conf_describe(print_key, out);
}

int main(int argc, char **argv)
{
    return doc_page_main(argc, argv, write_page);
}
