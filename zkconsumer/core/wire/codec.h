/* The codec of Kafka's protocol messages. A message is described once, by a function that names its
 * fields in protocol order; the same function reads, writes, sizes and prints, by the direction of
 * the codec it is given:
 *
 *     void list_offsets_request_fields(struct wire_codec *c, struct list_offsets_request *m)
 *     {
 *         wire_struct_begin(c);
 *         wire_i32(c, "replica_id", &m->replica_id);
 *         m->topics = wire_array_begin(c, "topics", m->topics, &m->topics_count,
 *                                      sizeof *m->topics, 6);
 *         for (size_t i = 0; i < m->topics_count; i++)
 *             topic_fields(c, &m->topics[i]);
 *         wire_array_end(c);
 *         wire_struct_end(c);
 *     }
 *
 * The codec carries its error: go through the fields straight, look once at the end. After a
 * failure nothing more is read or written, values read are zero, and arrays are empty.
 *
 * Reading: strings and bytes are views into the input; arrays live in the arena that
 * wire_codec_read() was given. Both must outlive the message. Writing, sizing and printing do not
 * change the message.
 *
 * Encoding: big-endian integers, strings with an int16 length, bytes and arrays with an int32 one,
 * -1 for null (wire-protocol: primitive types of the non-flexible versions; Kafka's
 * org.apache.kafka.common.protocol.types.Type). */
#ifndef ZKC_WIRE_CODEC_H
#define ZKC_WIRE_CODEC_H

#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/bytes.h"

enum wire_direction {
    WIRE_READ,
    WIRE_WRITE,
    WIRE_SIZE,  /* count the bytes that WIRE_WRITE would produce */
    WIRE_PRINT, /* text for people and traces: JSON with the protocol's field names */
};

#define WIRE_DEPTH_MAX   8   /* structs and arrays inside each other, in any message */
#define WIRE_REASON_SIZE 200 /* bytes of an error text, its terminator included */

/* A struct or an array that is open at the moment. */
struct wire_scope {
    const char *name; /* of an array; NULL: a struct */
    size_t elements;  /* begun in it so far */
};

struct wire_codec {
    enum wire_direction direction;
    int16_t version; /* of the message: which fields there are */

    /* ZKC_OK or the first failure:
     * ZKC_ERR_PROTOCOL   the input is not what the description says
     * ZKC_ERR_NOMEM      memory could not be allocated
     * ZKC_ERR_TOO_LARGE  the arena's or the buffer's maximum, or a string too long for its length
     * ZKC_ERR_INVALID    the message to write has null where null is not allowed */
    enum zkc_err failed;
    /* The failure for people: which field, at which byte of the input or output, what was expected:
     * "topics[2].name at byte 31: a string of 300 bytes, but only 12 are left". Empty if none. */
    char reason[WIRE_REASON_SIZE];

    struct bytes in;     /* WIRE_READ: the whole input */
    size_t position;     /* bytes read, written or counted so far */
    struct arena *arena; /* WIRE_READ: where arrays go */
    struct buf *out;     /* WIRE_WRITE, WIRE_PRINT: appended to */

    struct wire_scope scopes[WIRE_DEPTH_MAX];
    size_t depth;
};

/* Starts a codec; it needs no end. Several messages may follow each other in one input or output
 * (a header, then its body). The arena, the buffer and the input are borrowed. */
void wire_codec_read(struct wire_codec *c, int16_t version, struct bytes in, struct arena *arena);
void wire_codec_write(struct wire_codec *c, int16_t version, struct buf *out);
void wire_codec_size(struct wire_codec *c, int16_t version); /* the result is in c->position */
void wire_codec_print(struct wire_codec *c, int16_t version, struct buf *out);

/* To be asked once, when the last message was read or written: c->failed; and when reading,
 * ZKC_ERR_PROTOCOL if input is left over. A reader that must ignore what follows (Kafka's brokers
 * ignore it behind requests) looks at c->failed instead. */
ZKC_MUST_CHECK enum zkc_err wire_codec_end(struct wire_codec *c);

/* Input not yet read. */
static inline size_t wire_codec_left(const struct wire_codec *c)
{
    return c->in.len - c->position;
}

/* Every struct, the message itself included, stands between these two. */
void wire_struct_begin(struct wire_codec *c);
void wire_struct_end(struct wire_codec *c);

/* An array, between these two. Returns the elements: the same ones, or when reading new zeroed ones
 * from the arena, with their number in *count (none: NULL). `element_size` is sizeof one of them;
 * `element_bytes_min` the least that one takes on the wire, in any version, at least 1: a count
 * that the bytes left cannot hold fails before anything is allocated. Null arrays are refused. */
void *wire_array_begin(struct wire_codec *c, const char *name, void *elements, size_t *count,
                       size_t element_size, size_t element_bytes_min);
void wire_array_end(struct wire_codec *c);

/* Fields. `name` as in the protocol's tables; static. NULL: an element of an array. */
void wire_bool(struct wire_codec *c, const char *name, bool *v); /* reads any non-zero as true */
void wire_i8(struct wire_codec *c, const char *name, int8_t *v);
void wire_i16(struct wire_codec *c, const char *name, int16_t *v);
void wire_i32(struct wire_codec *c, const char *name, int32_t *v);
void wire_i64(struct wire_codec *c, const char *name, int64_t *v);
void wire_u32(struct wire_codec *c, const char *name, uint32_t *v);
void wire_string(struct wire_codec *c, const char *name, struct bytes *v);
void wire_nullable_string(struct wire_codec *c, const char *name, struct bytes *v);
void wire_bytes(struct wire_codec *c, const char *name, struct bytes *v);
void wire_nullable_bytes(struct wire_codec *c, const char *name, struct bytes *v);

#endif
