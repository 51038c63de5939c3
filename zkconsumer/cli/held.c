#include "zkconsumer/cli/held.h"
#include <stdlib.h>
#include <string.h>

void held_init(struct held *h)
{
    *h = (struct held){0};
}

static void clear(struct held *h)
{
    for (size_t i = 0; i < h->from_count; i++)
        zkc_message_free(h->from[i].message);
    h->from_count = h->mark_count = h->marks_done = 0;
}

void held_deinit(struct held *h)
{
    clear(h);
    free(h->marks);
    free(h->from);
    held_init(h);
}

/* False: out of memory. */
static bool grow(void *list, size_t count, size_t *cap, size_t size)
{
    void **at = list;
    if (count < *cap)
        return true;
    size_t more = *cap ? 2 * *cap : 64;
    void *grown = realloc(*at, more * size);
    if (!grown)
        return false;
    *at = grown;
    *cap = more;
    return true;
}

static bool is_from(const struct held_from *from, const struct zkc_message *m)
{
    const struct zkc_message *known = from->message;
    return known->claim == m->claim && known->partition == m->partition &&
           strcmp(known->topic, m->topic) == 0;
}

/* Where it comes from, most likely where the last one did; SIZE_MAX: out of memory. */
static size_t find_from(struct held *h, const struct zkc_message *m)
{
    size_t last = h->mark_count ? h->marks[h->mark_count - 1].from : 0;
    if (h->mark_count && is_from(&h->from[last], m))
        return last;
    for (size_t i = 0; i < h->from_count; i++)
        if (is_from(&h->from[i], m))
            return i;
    if (!grow(&h->from, h->from_count, &h->from_cap, sizeof *h->from))
        return SIZE_MAX;
    struct zkc_message bare = {.topic = m->topic, .partition = m->partition, .claim = m->claim};
    struct zkc_message *copy = zkc_message_dup(&bare);
    if (!copy)
        return SIZE_MAX;
    h->from[h->from_count] = (struct held_from){.message = copy};
    return h->from_count++;
}

bool held_add(struct held *h, const struct zkc_message *message, uint64_t end)
{
    if (!grow(&h->marks, h->mark_count, &h->mark_cap, sizeof *h->marks))
        return false;
    size_t from = find_from(h, message);
    if (from == SIZE_MAX)
        return false;
    h->marks[h->mark_count++] = (struct held_mark){end, message->offset, from};
    return true;
}

static void acknowledge(struct held_from *from)
{
    if (from->message->claim) /* gone to another member since: it gets the messages again */
        (void)zkc_message_acknowledge(from->message);
    from->has_done = false;
}

void held_done(struct held *h, uint64_t end)
{
    size_t before = h->marks_done;
    while (h->marks_done < h->mark_count && h->marks[h->marks_done].end <= end) {
        const struct held_mark *mark = &h->marks[h->marks_done++];
        h->from[mark->from].message->offset = mark->offset;
        h->from[mark->from].has_done = true;
    }
    if (h->marks_done == before)
        return;
    h->done_count += (int64_t)(h->marks_done - before);
    for (size_t i = 0; i < h->from_count; i++)
        if (h->from[i].has_done)
            acknowledge(&h->from[i]);
    if (h->marks_done == h->mark_count)
        clear(h);
}

/* A claim that is set back is another one from there on: what is acknowledged of the old one
 * afterwards only says that nothing of it is held any more. */
static void set_back(struct held_from *from, zkc_consumer *consumer)
{
    const struct zkc_message *m = from->message;
    from->is_left = zkc_consumer_seek(consumer, m->topic, m->partition, from->first) != ZKC_OK;
}

void held_return(struct held *h, zkc_consumer *consumer)
{
    for (size_t i = 0; i < h->from_count; i++)
        h->from[i].first = -1;
    for (size_t i = h->mark_count; i > h->marks_done; i--) {
        struct held_from *from = &h->from[h->marks[i - 1].from];
        if (from->first < 0)
            from->message->offset = h->marks[i - 1].offset; /* the last one */
        from->first = h->marks[i - 1].offset;
    }
    for (size_t i = 0; consumer && i < h->from_count; i++)
        if (h->from[i].first >= 0)
            set_back(&h->from[i], consumer);
    for (size_t i = 0; i < h->from_count; i++)
        if (h->from[i].first >= 0 && !h->from[i].is_left)
            acknowledge(&h->from[i]);
    clear(h);
}
