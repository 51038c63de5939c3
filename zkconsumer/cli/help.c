#include "zkconsumer/cli/help.h"
#include "zkconsumer/core/base/array.h"
#include <stdio.h>
#include <string.h>
#include <zkconsumer/version.h>

#define WIDTH         80
#define OPTION_INDENT 6
#define TEXT_INDENT   2

static const struct cli_pair exit_codes[] = {
    {"0", "done; for checks: healthy"},
    {"1", "usage, bad configuration, or a failure that no other code names"},
    {"2", "a check ran and found a problem"},
    {"3", "ZooKeeper or a broker could not be reached"},
    {"4", "the time was up, or only a part could be done"},
    {"130, 143", "ended by a second SIGINT or SIGTERM before it could leave in order"},
};

static const char overview_text[] =
    "Command line of Kafka-style consumer groups that are coordinated through ZooKeeper, as Kafka "
    "did before 0.9. It joins groups beside Kafka's own Java consumers, on the same znodes.\n"
    "Data goes to stdout; everything else goes to stderr, where lines about the state begin with "
    "\"% \". Long options take their value as --option=value or --option value. Options that "
    "Kafka's tools spell in two ways are accepted in both: --zookeeper, --zkconnect and "
    "--zookeeper.connect are one.";

/* Calls for each piece of `text` between separators. */
struct pieces {
    const char *at;
    char separator;
};

static bool next_piece(struct pieces *p, struct bytes *piece)
{
    if (!p->at)
        return false;
    size_t len = strcspn(p->at, (char[]){p->separator, 0});
    *piece = bytes_of(p->at, len);
    p->at = p->at[len] ? p->at + len + 1 : NULL;
    return true;
}

static void append_spaces(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_append_byte(out, ' ');
}

/* Words of one paragraph, filled up to WIDTH. */
static void append_filled(struct buf *out, struct bytes paragraph, size_t indent)
{
    size_t column = 0;
    for (size_t i = 0; i < paragraph.len;) {
        const char *word = (const char *)paragraph.data + i;
        const uint8_t *end = memchr(word, ' ', paragraph.len - i);
        size_t len = end ? (size_t)(end - paragraph.data) - i : paragraph.len - i;
        if (column && column + 1 + len > WIDTH) {
            buf_append_byte(out, '\n');
            column = 0;
        }
        if (column) {
            buf_append_byte(out, ' ');
            column++;
        } else {
            append_spaces(out, indent);
            column = indent;
        }
        buf_append(out, word, len);
        column += len;
        i += len + 1;
    }
    buf_append_byte(out, '\n');
}

static void append_paragraphs(struct buf *out, const char *text, size_t indent, bool blank_between)
{
    struct bytes paragraph;
    bool is_first = true;
    for (struct pieces p = {text, '\n'}; next_piece(&p, &paragraph); is_first = false) {
        if (blank_between && !is_first)
            buf_append_byte(out, '\n');
        append_filled(out, paragraph, indent);
    }
}

static void append_option_names(struct buf *out, const struct cli_option *o)
{
    struct bytes name;
    bool is_first = true;
    if (o->letter)
        buf_appendf(out, "-%c, ", o->letter);
    for (struct pieces p = {o->names, ' '}; next_piece(&p, &name); is_first = false) {
        buf_appendf(out, "%s--%.*s", is_first ? "" : ", ", (int)name.len, name.data);
        if (is_first && o->argument)
            buf_appendf(out, "=%s", o->argument);
    }
    if (o->is_repeatable)
        buf_append_text(out, " ...");
}

static void append_synopsis(struct buf *out, const struct cli_command *c)
{
    struct bytes form;
    const char *lead = "Usage: ";
    for (struct pieces p = {c->synopsis, '\n'}; next_piece(&p, &form); lead = "       ")
        buf_appendf(out, "%szkconsumer %s %.*s\n", lead, c->name, (int)form.len, form.data);
}

static void append_pairs(struct buf *out, const struct cli_pair *pairs, size_t count)
{
    for (const struct cli_pair *p = pairs; p < pairs + count; p++) {
        buf_appendf(out, "  %s\n", p->term);
        append_paragraphs(out, p->text, OPTION_INDENT, false);
    }
}

static void append_exits(struct buf *out, const struct cli_pair *pairs, size_t count)
{
    buf_append_text(out, "\nExit status:\n");
    for (const struct cli_pair *p = pairs; p < pairs + count; p++)
        buf_appendf(out, "  %-8s  %s\n", p->term, p->text);
}

static void append_kafka(struct buf *out, const struct cli_command *c)
{
    struct bytes name;
    if (!c->kafka)
        return;
    buf_append_text(out, "\nKafka's name for it, under which it can be called too:\n");
    for (struct pieces p = {c->kafka, ' '}; next_piece(&p, &name);)
        buf_appendf(out, "  %s%.*s\n",
                    memmem(name.data, name.len, ".", 1) ? "kafka-run-class " : "", (int)name.len,
                    name.data);
}

void help_append_text(const struct cli_command *c, struct buf *out)
{
    append_synopsis(out, c);
    buf_appendf(out, "\n%s.\n\n", c->summary);
    append_paragraphs(out, c->description, 0, true);
    append_kafka(out, c);
    buf_append_text(out, "\nOptions:\n");
    for (const struct cli_option *o = c->options; o < c->options + c->option_count; o++) {
        append_spaces(out, TEXT_INDENT);
        append_option_names(out, o);
        buf_append_byte(out, '\n');
        append_paragraphs(out, o->text, OPTION_INDENT, false);
    }
    buf_append_text(out, "\nExamples:\n");
    append_pairs(out, c->examples, c->example_count);
    append_exits(out, c->exits, c->exit_count);
}

void help_append_overview(const struct cli_command *const *commands, size_t count, struct buf *out)
{
    buf_append_text(out, "Usage: zkconsumer COMMAND [OPTION ...]\n"
                         "       zkconsumer help [COMMAND]\n"
                         "       zkconsumer --version\n\n");
    append_paragraphs(out, overview_text, 0, true);
    buf_append_text(out, "\nCommands:\n");
    for (size_t i = 0; i < count; i++)
        buf_appendf(out, "  %-16s  %s\n", commands[i]->name, commands[i]->summary);
    append_exits(out, exit_codes, ARRAY_LEN(exit_codes));
    buf_append_text(out, "\nzkconsumer COMMAND --help describes a command.\n");
}

/* ---- manual pages ---- */

/* Text for roff: backslashes and dashes are escaped, and a leading dot or quote is no request. */
static void append_roff(struct buf *out, struct bytes text)
{
    if (text.len && (text.data[0] == '.' || text.data[0] == '\''))
        buf_append_text(out, "\\&");
    for (size_t i = 0; i < text.len; i++) {
        switch (text.data[i]) {
        case '\\': buf_append_text(out, "\\e"); break;
        case '-': buf_append_text(out, "\\-"); break;
        default: buf_append_byte(out, text.data[i]);
        }
    }
}

static void append_roff_text(struct buf *out, const char *text)
{
    append_roff(out, bytes_of_text(text));
}

static void append_roff_paragraphs(struct buf *out, const char *text, const char *between)
{
    struct bytes paragraph;
    bool is_first = true;
    for (struct pieces p = {text, '\n'}; next_piece(&p, &paragraph); is_first = false) {
        if (!is_first)
            buf_append_text(out, between);
        append_roff(out, paragraph);
        buf_append_byte(out, '\n');
    }
}

static void append_roff_pairs(struct buf *out, const struct cli_pair *pairs, size_t count)
{
    for (const struct cli_pair *p = pairs; p < pairs + count; p++) {
        buf_append_text(out, ".TP\n.B ");
        append_roff_text(out, p->term);
        buf_append_byte(out, '\n');
        append_roff_paragraphs(out, p->text, ".br\n");
    }
}

/* The dashed name: "groups list" has the page zkconsumer-groups-list. */
static void append_page_name(struct buf *out, const char *command)
{
    buf_append_text(out, "zkconsumer\\-");
    for (const char *c = command; *c; c++) {
        if (*c == ' ')
            buf_append_text(out, "\\-");
        else
            buf_append_byte(out, (uint8_t)*c);
    }
}

static void append_page_head(struct buf *out, const char *title)
{
    buf_appendf(out, ".TH %s 1 \"\" \"zkconsumer %s\" \"User Commands\"\n.SH NAME\n", title,
                ZKC_VERSION_TEXT);
}

static void append_synopsis_man(struct buf *out, const struct cli_command *c)
{
    struct bytes form;
    bool is_first = true;
    buf_append_text(out, ".SH SYNOPSIS\n");
    for (struct pieces p = {c->synopsis, '\n'}; next_piece(&p, &form); is_first = false) {
        buf_appendf(out, "%s.B zkconsumer %s\n", is_first ? "" : ".br\n", c->name);
        append_roff(out, form);
        buf_append_byte(out, '\n');
    }
}

static void append_kafka_man(struct buf *out, const struct cli_command *c)
{
    struct bytes name;
    if (!c->kafka)
        return;
    buf_append_text(out, ".SH NAMES IN KAFKA\n");
    for (struct pieces p = {c->kafka, ' '}; next_piece(&p, &name);) {
        append_roff_text(out, memmem(name.data, name.len, ".", 1) ? "kafka-run-class " : "");
        append_roff(out, name);
        buf_append_text(out, "\n.br\n");
    }
}

void help_append_man(const struct cli_command *c, struct buf *out)
{
    char title[64] = "ZKCONSUMER-";
    size_t len = strlen(title);
    for (const char *n = c->name; *n && len < sizeof title - 1; n++)
        title[len++] = *n == ' ' ? '-' : (char)(*n >= 'a' && *n <= 'z' ? *n - 'a' + 'A' : *n);
    append_page_head(out, title);
    append_page_name(out, c->name);
    buf_append_text(out, " \\- ");
    append_roff_text(out, c->summary);
    buf_append_byte(out, '\n');
    append_synopsis_man(out, c);
    buf_append_text(out, ".SH DESCRIPTION\n");
    append_roff_paragraphs(out, c->description, ".PP\n");
    append_kafka_man(out, c);
    buf_append_text(out, ".SH OPTIONS\n");
    for (const struct cli_option *o = c->options; o < c->options + c->option_count; o++) {
        char names_room[256];
        struct buf names;
        buf_init(&names, sizeof names_room);
        append_option_names(&names, o);
        buf_append_text(out, ".TP\n.B ");
        append_roff(out, buf_bytes(&names));
        buf_append_byte(out, '\n');
        append_roff_paragraphs(out, o->text, ".br\n");
        buf_deinit(&names);
    }
    buf_append_text(out, ".SH EXAMPLES\n");
    append_roff_pairs(out, c->examples, c->example_count);
    buf_append_text(out, ".SH EXIT STATUS\n");
    append_roff_pairs(out, c->exits, c->exit_count);
    buf_append_text(out, ".SH SEE ALSO\n.BR zkconsumer (1)\n");
}

void help_append_overview_man(const struct cli_command *const *commands, size_t count,
                              struct buf *out)
{
    append_page_head(out, "ZKCONSUMER");
    buf_append_text(out, "zkconsumer \\- consumer groups coordinated through ZooKeeper\n"
                         ".SH SYNOPSIS\n"
                         ".B zkconsumer\n.I COMMAND\n[OPTION ...]\n.br\n"
                         ".B zkconsumer help\n[\\fICOMMAND\\fR]\n.br\n"
                         ".B zkconsumer \\-\\-version\n"
                         ".SH DESCRIPTION\n");
    append_roff_paragraphs(out, overview_text, ".PP\n");
    buf_append_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < count; i++) {
        buf_append_text(out, ".TP\n.BR ");
        append_page_name(out, commands[i]->name);
        buf_append_text(out, " (1)\n");
        append_roff_text(out, commands[i]->summary);
        buf_append_byte(out, '\n');
    }
    buf_append_text(out, ".SH EXIT STATUS\n");
    append_roff_pairs(out, exit_codes, ARRAY_LEN(exit_codes));
    buf_append_text(out, ".SH SEE ALSO\n");
    for (size_t i = 0; i < count; i++) {
        buf_append_text(out, ".BR ");
        append_page_name(out, commands[i]->name);
        buf_appendf(out, " (1)%s\n", i + 1 < count ? "," : "");
    }
}
