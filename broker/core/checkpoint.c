#include "broker/core/checkpoint.h"
#include <inttypes.h>
#include <stdlib.h>

#define VERSION "0"

/* The lines of a file, one after the other. */
struct lines {
    struct bytes left;
    size_t number; /* of the line last taken, from 1 */
};

/* False at the end. A last line without its end counts. */
static bool next_line(struct lines *l, struct bytes *out)
{
    if (!l->left.len)
        return false;
    const uint8_t *end = memchr(l->left.data, '\n', l->left.len);
    size_t len = end ? (size_t)(end - l->left.data) : l->left.len;
    *out = bytes_of(l->left.data, len);
    size_t taken = len + (end ? 1 : 0);
    l->left = bytes_of(l->left.data + taken, l->left.len - taken);
    l->number++;
    return true;
}

/* What stands before the last blank of *text, and behind it; *text keeps the first. */
static bool cut_last_word(struct bytes *text, struct bytes *word)
{
    for (size_t i = text->len; i-- > 0;) {
        if (text->data[i] != ' ')
            continue;
        *word = bytes_of(text->data + i + 1, text->len - i - 1);
        text->len = i;
        return true;
    }
    return false;
}

static bool read_number(struct bytes text, int64_t max, int64_t *out)
{
    int64_t n = 0;
    if (!text.len)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        int digit = text.data[i] - '0';
        if (n > (max - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

static enum zkc_err corrupt(struct why *why, const struct lines *l, struct bytes line,
                            const char *expected)
{
    why_set(why, "line %zu \"%s\": expected %s", l->number, why_quote(line).text, expected);
    return ZKC_ERR_CORRUPT;
}

static enum zkc_err read_entry(struct checkpoint *c, const struct lines *l, struct bytes line,
                               struct why *why)
{
    struct bytes topic = line, partition, offset;
    int64_t p, o;
    if (!cut_last_word(&topic, &offset) || !cut_last_word(&topic, &partition) || !topic.len ||
        topic.len > TOPIC_NAME_MAX || memchr(topic.data, 0, topic.len) ||
        !read_number(partition, INT32_MAX, &p) || !read_number(offset, INT64_MAX, &o))
        return corrupt(why, l, line, "a topic, a partition and an offset");
    char *name = strndup((const char *)topic.data, topic.len);
    if (!name)
        return ZKC_ERR_NOMEM;
    c->entries[c->count++] =
        (struct checkpoint_entry){.at = {.topic = name, .partition = (int32_t)p}, .offset = o};
    return ZKC_OK;
}

static enum zkc_err read_lines(struct checkpoint *c, struct lines *l, size_t announced,
                               struct why *why)
{
    struct bytes line;
    while (next_line(l, &line)) {
        if (c->count == announced)
            return corrupt(why, l, line, "the end: that many entries were announced");
        enum zkc_err err = read_entry(c, l, line, why);
        if (err)
            return err;
    }
    if (c->count < announced) {
        why_set(why, "%zu entries were announced, but there are %zu", announced, c->count);
        return ZKC_ERR_CORRUPT;
    }
    return ZKC_OK;
}

static int by_partition(const void *a, const void *b)
{
    const struct checkpoint_entry *x = a, *y = b;
    return topic_partition_compare(x->at, y->at);
}

/* Of equal partitions the last one stays. Sorting need not be stable: the position in the file
 * decides. */
struct sorted {
    struct checkpoint_entry entry;
    size_t line;
};

static int by_partition_and_line(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int c = by_partition(&x->entry, &y->entry);
    return c ? c : (x->line > y->line) - (x->line < y->line);
}

static enum zkc_err sort(struct checkpoint *c)
{
    if (!c->count)
        return ZKC_OK;
    struct sorted *all = malloc(c->count * sizeof *all);
    if (!all)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < c->count; i++)
        all[i] = (struct sorted){.entry = c->entries[i], .line = i};
    qsort(all, c->count, sizeof *all, by_partition_and_line);
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (i + 1 < c->count && by_partition(&all[i].entry, &all[i + 1].entry) == 0)
            free((char *)all[i].entry.at.topic);
        else
            c->entries[kept++] = all[i].entry;
    }
    c->count = kept;
    free(all);
    return ZKC_OK;
}

enum zkc_err checkpoint_read(struct bytes file, struct checkpoint *out, struct why *why)
{
    struct checkpoint c = {NULL, 0};
    struct lines l = {.left = file};
    struct bytes line;
    int64_t announced;
    why_clear(why);
    if (!next_line(&l, &line)) {
        *out = c;
        return ZKC_OK;
    }
    if (!bytes_equal_text(line, VERSION))
        return corrupt(why, &l, line, "version " VERSION);
    if (!next_line(&l, &line) || !read_number(line, INT32_MAX, &announced))
        return corrupt(why, &l, line, "the number of entries");
    /* The shortest entry has 6 bytes, its line end included: what is announced is not trusted. */
    if ((uint64_t)announced > (l.left.len + 1) / 6)
        return corrupt(why, &l, line, "as many entries as there are lines");
    if (announced && !(c.entries = malloc((size_t)announced * sizeof *c.entries)))
        return ZKC_ERR_NOMEM;
    enum zkc_err err = read_lines(&c, &l, (size_t)announced, why);
    if (!err)
        err = sort(&c);
    if (err)
        checkpoint_deinit(&c);
    else
        *out = c;
    return err;
}

void checkpoint_deinit(struct checkpoint *c)
{
    for (size_t i = 0; i < c->count; i++)
        free((char *)c->entries[i].at.topic);
    free(c->entries);
    *c = (struct checkpoint){NULL, 0};
}

int64_t checkpoint_find(const struct checkpoint *c, struct topic_partition at, int64_t missing)
{
    struct checkpoint_entry key = {.at = at};
    const struct checkpoint_entry *found =
        c->count ? bsearch(&key, c->entries, c->count, sizeof *c->entries, by_partition) : NULL;
    return found ? found->offset : missing;
}

void checkpoint_write_begin(struct buf *out, size_t count)
{
    buf_appendf(out, VERSION "\n%zu\n", count);
}

void checkpoint_write_entry(struct buf *out, struct topic_partition at, int64_t offset)
{
    buf_appendf(out, "%s %" PRId32 " %" PRId64 "\n", at.topic, at.partition, offset);
}
