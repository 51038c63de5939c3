#include "zkconsumer/cli/lines.h"
#include <assert.h>

void lines_init(struct lines *l, struct bytes separator, size_t record_bytes_max)
{
    assert(separator.len > 0);
    *l = (struct lines){.separator = separator};
    buf_init(&l->buf, record_bytes_max);
}

void lines_deinit(struct lines *l)
{
    buf_deinit(&l->buf);
}

/* Moves what is left to the front: at most once for each reservation, and only what is incomplete
 * once all complete records were taken. */
static void compact(struct lines *l)
{
    if (l->at == 0)
        return;
    memmove(l->buf.data, l->buf.data + l->at, l->buf.len - l->at);
    l->buf.len -= l->at;
    l->searched -= l->at;
    l->at = 0;
}

uint8_t *lines_reserve(struct lines *l, size_t len)
{
    compact(l);
    return buf_reserve(&l->buf, len);
}

void lines_add(struct lines *l, size_t len)
{
    l->buf.len += len;
}

bool lines_next(struct lines *l, struct bytes *record)
{
    if (l->searched == l->buf.len)
        return false;
    const uint8_t *found = memmem(l->buf.data + l->searched, l->buf.len - l->searched,
                                  l->separator.data, l->separator.len);
    if (!found) {
        /* The last bytes may be the beginning of a separator. */
        size_t keep = l->separator.len - 1;
        if (l->buf.len - l->searched > keep)
            l->searched = l->buf.len - keep;
        return false;
    }
    size_t end = (size_t)(found - l->buf.data);
    *record = bytes_of(l->buf.data + l->at, end - l->at);
    l->at = l->searched = end + l->separator.len;
    return true;
}

bool lines_rest(struct lines *l, struct bytes *record)
{
    if (l->at == l->buf.len)
        return false;
    *record = bytes_of(l->buf.data + l->at, l->buf.len - l->at);
    l->at = l->searched = l->buf.len;
    return true;
}

bool lines_split_key(struct bytes record, struct bytes separator, struct bytes *key,
                     struct bytes *value)
{
    const uint8_t *found =
        record.len ? memmem(record.data, record.len, separator.data, separator.len) : NULL;
    if (!found)
        return false;
    *key = bytes_of(record.data, (size_t)(found - record.data));
    *value = bytes_of(found + separator.len, record.len - key->len - separator.len);
    return true;
}
