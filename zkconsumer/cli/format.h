/* How a consumed message is written: kcat's format tokens (-f), extended by %g, %m and %C. */
#ifndef ZKC_CLI_FORMAT_H
#define ZKC_CLI_FORMAT_H

#include "zkconsumer/core/base/buf.h"
#include <zkconsumer/stream.h>

struct format_item;

/* A format made ready for use. */
struct format {
    struct format_item *items; /* owned */
    size_t count;
    uint8_t *literals; /* owned; the texts between the tokens, unescaped */
};

/* What the tokens stand for. */
struct format_source {
    const struct zkc_message *message;
    const char *group;     /* %g; "" without group */
    const char *member;    /* %m: the consumer id; "" without group */
    const char *null_text; /* what %k and %s write for null; "" or "NULL" (-Z) */
};

/* Reads a format: %t topic, %p partition, %o offset, %k key, %s payload, %K %S their lengths (-1:
 * null), %R the payload's length as 4 bytes big endian, %T timestamp in ms (-1: 0.8's messages have
 * none), %h headers (none in 0.8: empty), %g group, %m member, %C CRC-32, %% and the escapes of
 * format_unescape(). On success the caller ends *f with format_deinit(). False: `why` names the
 * token and its position. */
bool format_init(struct format *f, const char *spec, char *why, size_t why_size);

/* The usual "key<key separator>payload<line separator>"; the key only `with_key`. The
 * separators are taken as they are. False: out of memory. */
bool format_init_lines(struct format *f, struct bytes key_separator, struct bytes line_separator,
                       bool with_key);
void format_deinit(struct format *f);

/* Appends the message. A report about a partition (message->err) is not a message and not for here.
 * Failures are the buffer's. */
void format_append(const struct format *f, const struct format_source *source, struct buf *out);

/* Replaces \n \r \t \\ \0 and \xN, \xNN in `text` by the bytes they stand for; `out` has room for
 * strlen(text) bytes. Returns their number; SIZE_MAX: a bad escape, whose index is put into *at. */
size_t format_unescape(const char *text, uint8_t *out, size_t *at);

#endif
