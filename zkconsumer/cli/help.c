#include "zkconsumer/cli/help.h"
#include "zkconsumer/core/base/array.h"
#include <stdio.h>
#include <string.h>
#include <zkconsumer/version.h>

#define WIDTH         80
#define OPTION_INDENT 6
#define TEXT_INDENT   2

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

static void append_synopsis(struct buf *out, const char *words, const struct cli_command *c)
{
    struct bytes form;
    const char *lead = "Usage: ";
    for (struct pieces p = {c->synopsis, '\n'}; next_piece(&p, &form); lead = "       ")
        buf_appendf(out, "%s%s %.*s\n", lead, words, (int)form.len, form.data);
}

static void append_pairs(struct buf *out, const struct cli_pair *pairs, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const struct cli_pair *p = &pairs[k];
        buf_appendf(out, "  %s\n", p->term);
        append_paragraphs(out, p->text, OPTION_INDENT, false);
    }
}

static void append_exits(struct buf *out, const struct cli_pair *pairs, size_t count)
{
    buf_append_text(out, "\nExit status:\n");
    for (size_t k = 0; k < count; k++) {
        const struct cli_pair *p = &pairs[k];
        buf_appendf(out, "  %-8s  %s\n", p->term, p->text);
    }
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

static void append_examples(struct buf *out, const struct cli_command *c)
{
    if (c->example_count)
        buf_append_text(out, "\nExamples:\n");
    append_pairs(out, c->examples, c->example_count);
}

void help_append_text(const char *words, const struct cli_command *c, struct buf *out)
{
    append_synopsis(out, words, c);
    buf_appendf(out, "\n%s.\n\n", c->summary);
    append_paragraphs(out, c->description, 0, true);
    append_kafka(out, c);
    buf_append_text(out, "\nOptions:\n");
    for (size_t k = 0; k < c->option_count; k++) {
        const struct cli_option *o = &c->options[k];
        append_spaces(out, TEXT_INDENT);
        append_option_names(out, o);
        buf_append_byte(out, '\n');
        append_paragraphs(out, o->text, OPTION_INDENT, false);
    }
    append_examples(out, c);
    append_exits(out, c->exits, c->exit_count);
}

/* The i-th command of a program; NULL past the last that has a name: links stand behind them. */
static const struct cli_command *named(const struct cli_program *p, size_t i)
{
    return i < p->commands.count && p->commands.list[i]->name[0] ? p->commands.list[i] : NULL;
}

void help_append_overview(const struct cli_program *p, struct buf *out)
{
    buf_appendf(out,
                "Usage: %s COMMAND [OPTION ...]\n"
                "       %s help [COMMAND]\n"
                "       %s --version\n\n",
                p->name, p->name, p->name);
    append_paragraphs(out, p->text, 0, true);
    buf_append_text(out, "\nCommands:\n");
    for (size_t i = 0; named(p, i); i++)
        buf_appendf(out, "  %-16s  %s\n", named(p, i)->name, named(p, i)->summary);
    append_exits(out, p->exits, p->exit_count);
    buf_appendf(out, "\n%s COMMAND --help describes a command.\n", p->name);
}

/* ---- manual pages ---- */

/* Text for roff: what it takes for its own, or sets as another character, is escaped, and a leading
 * dot or quote is no request. */
static void append_roff(struct buf *out, struct bytes text)
{
    if (text.len && (text.data[0] == '.' || text.data[0] == '\''))
        buf_append_text(out, "\\&");
    for (size_t i = 0; i < text.len; i++) {
        switch (text.data[i]) {
        case '\\': buf_append_text(out, "\\e"); break;
        case '-': buf_append_text(out, "\\-"); break;
        case '"': buf_append_text(out, "\\(dq"); break;
        case '\'': buf_append_text(out, "\\(aq"); break;
        case '`': buf_append_text(out, "\\(ga"); break;
        case '^': buf_append_text(out, "\\(ha"); break;
        case '~': buf_append_text(out, "\\(ti"); break;
        case '|': buf_append_text(out, "|\\:"); break; /* where a long line may be broken */
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

static void append_roff_pairs(struct buf *out, const char *title, const struct cli_pair *pairs,
                              size_t count)
{
    if (count)
        buf_appendf(out, ".SH %s\n", title);
    for (size_t k = 0; k < count; k++) {
        const struct cli_pair *p = &pairs[k];
        buf_append_text(out, ".TP\n.B ");
        append_roff_text(out, p->term);
        buf_append_byte(out, '\n');
        append_roff_paragraphs(out, p->text, ".br\n");
    }
}

/* "zkconsumer groups list" has the page zkconsumer-groups-list. */
static void append_page_name(struct buf *out, const char *words)
{
    struct bytes word;
    const char *lead = "";
    for (struct pieces p = {words, ' '}; next_piece(&p, &word); lead = "\\-") {
        buf_append_text(out, lead);
        append_roff(out, word);
    }
}

static void append_page_head(struct buf *out, const char *words, const char *summary)
{
    buf_append_text(out, ".TH ");
    for (const char *c = words; *c; c++)
        buf_append_byte(out, (uint8_t)(*c == ' '                ? '-'
                                       : *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A'
                                                                : *c));
    /* What is to be typed is not hyphenated, nor pulled apart. */
    buf_appendf(out, " 1 \"\" \"zkconsumer %s\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n",
                ZKC_VERSION_TEXT);
    append_page_name(out, words);
    buf_append_text(out, " \\- ");
    append_roff_text(out, summary);
    buf_append_byte(out, '\n');
}

static void append_synopsis_man(struct buf *out, const char *words, const struct cli_command *c)
{
    struct bytes form;
    bool is_first = true;
    buf_append_text(out, ".SH SYNOPSIS\n");
    for (struct pieces p = {c->synopsis, '\n'}; next_piece(&p, &form); is_first = false) {
        buf_append_text(out, is_first ? ".B " : ".br\n.B ");
        append_roff_text(out, words);
        buf_append_byte(out, '\n');
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

static void append_options_man(struct buf *out, const struct cli_command *c)
{
    if (c->option_count)
        buf_append_text(out, ".SH OPTIONS\n");
    for (size_t k = 0; k < c->option_count; k++) {
        const struct cli_option *o = &c->options[k];
        struct buf names;
        buf_init(&names, 256);
        append_option_names(&names, o);
        buf_append_text(out, ".TP\n.B ");
        append_roff(out, buf_bytes(&names));
        buf_append_byte(out, '\n');
        append_roff_paragraphs(out, o->text, ".br\n");
        buf_deinit(&names);
    }
}

/* References to pages, separated by blanks. */
static void append_see(struct buf *out, const char *pages)
{
    struct bytes page;
    buf_append_text(out, ".SH SEE ALSO\n");
    for (struct pieces p = {pages, ' '}; next_piece(&p, &page);) {
        buf_append_text(out, ".BR ");
        append_roff(out, page);
        buf_append_text(out, p.at ? " (1),\n" : " (1)\n");
    }
}

void help_append_man(const char *words, const struct cli_command *c, const char *see,
                     struct buf *out)
{
    append_page_head(out, words, c->summary);
    append_synopsis_man(out, words, c);
    buf_append_text(out, ".SH DESCRIPTION\n");
    append_roff_paragraphs(out, c->description, ".PP\n");
    append_kafka_man(out, c);
    append_options_man(out, c);
    append_roff_pairs(out, "EXAMPLES", c->examples, c->example_count);
    append_roff_pairs(out, "EXIT STATUS", c->exits, c->exit_count);
    append_see(out, see);
}

void help_append_overview_man(const struct cli_program *p, struct buf *out)
{
    append_page_head(out, p->name, p->summary);
    buf_appendf(out,
                ".SH SYNOPSIS\n"
                ".B %s\n.I COMMAND\n[OPTION ...]\n.br\n"
                ".B %s help\n[\\fICOMMAND\\fR]\n.br\n"
                ".B %s \\-\\-version\n"
                ".SH DESCRIPTION\n",
                p->name, p->name, p->name);
    append_roff_paragraphs(out, p->text, ".PP\n");
    buf_append_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; named(p, i); i++) {
        buf_append_text(out, ".TP\n.BR ");
        append_page_name(out, p->name);
        buf_append_text(out, "\\-");
        append_page_name(out, named(p, i)->name);
        buf_append_text(out, " (1)\n");
        append_roff_text(out, named(p, i)->summary);
        buf_append_byte(out, '\n');
    }
    append_roff_pairs(out, "EXIT STATUS", p->exits, p->exit_count);
}
