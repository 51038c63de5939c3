/* Input cut into records: bytes come in as they are read, records go out. */
#ifndef ZKC_CLI_LINES_H
#define ZKC_CLI_LINES_H

#include "zkconsumer/core/base/buf.h"

struct lines {
    struct buf buf;         /* what came in and was not handed out yet begins at `at` */
    size_t at;              /* start of the next record */
    size_t searched;        /* from here on the separator has not been looked for */
    struct bytes separator; /* not empty; borrowed */
};

/* A record may be at most `record_bytes_max` long. */
void lines_init(struct lines *l, struct bytes separator, size_t record_bytes_max);
void lines_deinit(struct lines *l);

/* Room for `len` bytes of input; the caller writes there and says how many with lines_add(). NULL:
 * the record that has begun is longer than the maximum (l->buf.failed is ZKC_ERR_TOO_LARGE) or
 * memory is out. Takes back the records handed out. */
uint8_t *lines_reserve(struct lines *l, size_t len);
void lines_add(struct lines *l, size_t len);

/* The next complete record, without its separator; lent until lines_reserve(). False: none yet. */
bool lines_next(struct lines *l, struct bytes *record);

/* After the end of the input: what follows the last separator, if anything does. */
bool lines_rest(struct lines *l, struct bytes *record);

/* Cuts a record at the first key separator. False: it has none. */
bool lines_split_key(struct bytes record, struct bytes separator, struct bytes *key,
                     struct bytes *value);

#endif
