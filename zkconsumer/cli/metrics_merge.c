#include "zkconsumer/cli/metrics_merge.h"
#include "zkconsumer/cli/metrics.h"

#define HELP "# HELP "

/* A family: from its HELP to the next one's. */
struct family {
    struct bytes name, text;
};

/* The length of the line that begins at `at`, with its end. */
static size_t line_len(struct bytes text, size_t at)
{
    const uint8_t *end = memchr(text.data + at, '\n', text.len - at);
    return end ? (size_t)(end - text.data) + 1 - at : text.len - at;
}

static bool is_help(struct bytes text, size_t at)
{
    size_t len = strlen(HELP);
    return text.len - at > len && memcmp(text.data + at, HELP, len) == 0;
}

/* The family at *at, which is then behind it. False: there is none any more. */
static bool next_family(struct bytes text, size_t *at, struct family *out)
{
    size_t begin = *at;
    if (begin >= text.len || !is_help(text, begin))
        return false;
    const uint8_t *name = text.data + begin + strlen(HELP);
    const uint8_t *blank = memchr(name, ' ', text.len - (size_t)(name - text.data));
    out->name = bytes_of(name, blank ? (size_t)(blank - name) : 0);
    do {
        *at += line_len(text, *at);
    } while (*at < text.len && !is_help(text, *at));
    out->text = bytes_of(text.data + begin, *at - begin);
    return true;
}

static bool find_family(struct bytes page, struct bytes name, struct family *out)
{
    for (size_t at = 0; next_family(page, &at, out);)
        if (bytes_compare(out->name, name) == 0)
            return true;
    return false;
}

/* "name{labels} value" or "name value" with one label more. */
static void append_line(struct buf *out, struct bytes line, const char *source)
{
    size_t len = 0;
    while (len < line.len && line.data[len] != '{' && line.data[len] != ' ')
        len++;
    bool has_labels = len < line.len && line.data[len] == '{';
    buf_append(out, line.data, len);
    buf_append_byte(out, '{');
    metrics_append_label(out, "source", source, true);
    buf_append_text(out, has_labels ? "," : "}");
    len += has_labels;
    buf_append(out, line.data + len, line.len - len);
}

/* The comments, or the lines of numbers, of a family. */
static void append_family(struct buf *out, struct bytes text, const char *source)
{
    for (size_t at = 0; at < text.len;) {
        size_t len = line_len(text, at);
        bool is_comment = text.data[at] == '#';
        if (is_comment && !source)
            buf_append(out, text.data + at, len);
        else if (!is_comment && source)
            append_line(out, bytes_of(text.data + at, len), source);
        at += len;
    }
}

void metrics_merge(const struct metrics_page *pages, size_t count, struct buf *out)
{
    struct family family, same;
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; next_family(pages[i].text, &at, &family);) {
            size_t before = 0;
            while (before < i && !find_family(pages[before].text, family.name, &same))
                before++;
            if (before < i)
                continue; /* it came with that page */
            append_family(out, family.text, NULL);
            for (size_t k = i; k < count; k++)
                if (find_family(pages[k].text, family.name, &same))
                    append_family(out, same.text, pages[k].source);
        }
    }
}
