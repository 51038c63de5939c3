/* Decompression of gzip (RFC 1952), one member after the other, headers and checksums included: by
 * ISA-L, which takes a third of zlib's time, or by zlib where it is missing. */
#ifndef ZKC_WIRE_GUNZIP_H
#define ZKC_WIRE_GUNZIP_H

#include "zkconsumer/core/base/bytes.h"

struct gunzip;

enum gunzip_result {
    GUNZIP_MORE,    /* the room is used up; or the input, before the end of the member */
    GUNZIP_END,     /* the end of a member, whose checksum was right */
    GUNZIP_CORRUPT, /* not gzip, or broken */
    GUNZIP_NOMEM,
};

/* `in` is borrowed and at most 4 GB. NULL: out of memory. */
struct gunzip *gunzip_new(struct bytes in);
void gunzip_free(struct gunzip *g);

/* Writes at most `room` (at most 4 GB) bytes; *wrote is set with every result. */
enum gunzip_result gunzip_next(struct gunzip *g, uint8_t *out, size_t room, size_t *wrote);

/* After GUNZIP_END: what is behind the member; and, to go on with it as another one. */
struct bytes gunzip_rest(const struct gunzip *g);
void gunzip_next_member(struct gunzip *g);

#endif
