#include "zkconsumer/cli/picks.h"
#include "zkconsumer/cli/options.h"
#include "zkconsumer/cli/where.h"
#include "zkconsumer/core/zk/path.h"
#include <inttypes.h>
#include <stdlib.h>

#define ARENA_BYTES_MAX ((size_t)1 << 30)

void picks_init(struct picks *p)
{
    *p = (struct picks){0};
    arena_init(&p->arena, ARENA_BYTES_MAX);
}

void picks_deinit(struct picks *p)
{
    free(p->list);
    arena_deinit(&p->arena);
}

static int by_place(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;
    int order = strcmp(x->topic, y->topic);
    return order ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

static enum zkc_err add(struct picks *p, struct pick pick, struct why *why)
{
    if (p->count == p->max) {
        size_t max = p->max ? p->max * 2 : 64;
        struct pick *list = max <= PICKS_MAX * 2 ? realloc(p->list, max * sizeof *list) : NULL;
        if (!list) {
            why_set(why, "more than %d partitions, or out of memory", PICKS_MAX);
            return max <= PICKS_MAX * 2 ? ZKC_ERR_NOMEM : ZKC_ERR_TOO_LARGE;
        }
        p->list = list;
        p->max = max;
    }
    p->list[p->count++] = pick;
    return ZKC_OK;
}

static enum zkc_err sort(struct picks *p, struct why *why)
{
    if (p->count)
        qsort(p->list, p->count, sizeof *p->list, by_place);
    for (size_t i = 1; i < p->count; i++)
        if (by_place(&p->list[i - 1], &p->list[i]) == 0) {
            why_set(why, "partition %" PRId32 " of topic %s is given twice", p->list[i].partition,
                    p->list[i].topic);
            return ZKC_ERR_CONFIG;
        }
    return ZKC_OK;
}

static enum zkc_err keep_topic(struct picks *p, struct bytes name, const char **out,
                               struct why *why)
{
    *out = arena_text(&p->arena, name);
    if (!*out) {
        why_set(why, "out of memory");
        return p->arena.failed;
    }
    return zk_check_topic(*out, why) ? ZKC_ERR_CONFIG : ZKC_OK;
}

enum zkc_err picks_add_topic(struct picks *p, const char *topic, const char *partitions,
                             struct why *why)
{
    char text[512];
    int32_t *list;
    size_t count;
    const char *name;
    enum zkc_err err = keep_topic(p, bytes_of_text(topic), &name, why);
    if (err)
        return err;
    if (!where_parse_partitions(partitions, &list, &count, text, sizeof text)) {
        why_set(why, "%s", text);
        return ZKC_ERR_CONFIG;
    }
    for (size_t i = 0; !err && i < count; i++)
        err = add(p, (struct pick){name, list[i], -1}, why);
    free(list);
    return err ? err : sort(p, why);
}

/* The next field, up to `separator` or the end, without the blanks around it. */
static struct bytes take(struct bytes *rest, char separator)
{
    size_t len = 0;
    while (len < rest->len && rest->data[len] != (uint8_t)separator)
        len++;
    struct bytes field = bytes_of(rest->data, len);
    len += len < rest->len;
    *rest = bytes_of(rest->data + len, rest->len - len);
    while (field.len && strchr(" \t\r", field.data[0]))
        field = bytes_of(field.data + 1, field.len - 1);
    while (field.len && strchr(" \t\r", field.data[field.len - 1]))
        field.len--;
    return field;
}

static bool read_number(struct bytes field, int64_t max, int64_t *out)
{
    char text[32];
    if (field.len >= sizeof text)
        return false;
    memcpy(text, field.data, field.len);
    text[field.len] = 0;
    return cli_parse_number(text, 0, max, out);
}

static enum zkc_err add_line(struct picks *p, struct bytes line, struct why *why)
{
    int64_t partition, offset;
    const char *name;
    struct bytes topic = take(&line, ','), number = take(&line, ',');
    if (!line.len || !read_number(number, INT32_MAX, &partition) ||
        !read_number(take(&line, '\n'), INT64_MAX, &offset)) {
        why_set(why, "expected topic,partition,offset");
        return ZKC_ERR_CONFIG;
    }
    enum zkc_err err = keep_topic(p, topic, &name, why);
    return err ? err : add(p, (struct pick){name, (int32_t)partition, offset}, why);
}

enum zkc_err picks_add_lines(struct picks *p, struct bytes text, struct why *why)
{
    enum zkc_err err = ZKC_OK;
    for (size_t number = 1; !err && text.len; number++) {
        struct bytes line = take(&text, '\n');
        if (line.len)
            err = add_line(p, line, why);
        if (err) {
            struct why what = *why;
            why_set(why, "line %zu: %s", number, what.text);
        }
    }
    return err ? err : sort(p, why);
}

const struct pick *picks_find(const struct picks *p, const char *topic, int32_t partition)
{
    struct pick key = {topic, partition, -1};
    return p->count ? bsearch(&key, p->list, p->count, sizeof key, by_place) : NULL;
}

const struct pick *picks_of(const struct picks *p, const char *topic, size_t *count)
{
    size_t first = 0;
    *count = 0;
    while (first < p->count && strcmp(p->list[first].topic, topic) != 0)
        first++;
    while (first + *count < p->count && strcmp(p->list[first + *count].topic, topic) == 0)
        ++*count;
    return *count ? &p->list[first] : NULL;
}
