/* Writes docs/broker-settings.md from the table of keys. */
#include "broker/io/config.h"
#include "tests/support/doc_page.h"
#include <stdlib.h>
#include <string.h>

static const char intro[] =
    "# Settings of zkbroker\n"
    "\n"
    "Every key that its file and `--override KEY=VALUE` take ([broker.md](broker.md)). Names and\n"
    "defaults are those of Kafka 0.8.2; the four that are not Kafka's say so. This page is made "
    "of\n"
    "the table of the program (`tests/unit/broker_io/broker_settings_doc.c`), which\n"
    "`zkbroker --keys` prints as well.\n";

static const char idle[] =
    "\n"
    "## Accepted without effect\n"
    "\n"
    "Keys on which a Kafka 0.8.2 broker acts and this one has nothing to do for. They are no "
    "error,\n"
    "so that nobody's file has to be changed; the log says of each that it has no effect.\n"
    "\n"
    "| key | why |\n"
    "|---|---|\n";

/* A cell: `|` would end it. */
static void put(FILE *out, const char *text)
{
    if (strchr(text, '|'))
        abort();
    fputs(text, out);
}

static void write_page(FILE *out)
{
    const struct config_doc *doc;
    fputs(intro, out);
    fputs("\n## Keys\n\n| key | type | default | meaning |\n|---|---|---|---|\n", out);
    for (size_t i = 0; (doc = config_doc(i)); i++) {
        char type[128];
        if (doc->is_idle)
            continue;
        config_type(i, type, sizeof type);
        fprintf(out, "| `%s` | %s | ", doc->name, type);
        if (doc->default_text && doc->default_text[0])
            fprintf(out, "`%s`", doc->default_text);
        else
            fputs("none", out);
        fputs(" | ", out);
        put(out, doc->text);
        fputs(" |\n", out);
    }
    fputs(idle, out);
    for (size_t i = 0; (doc = config_doc(i)); i++) {
        if (!doc->is_idle)
            continue;
        fprintf(out, "| `%s` | ", doc->name);
        put(out, doc->text);
        fputs(" |\n", out);
    }
}

int main(int argc, char **argv)
{
    return doc_page_main(argc, argv, write_page);
}
