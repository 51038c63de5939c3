/* Reading one frame of ZooKeeper's client protocol (jute): big-endian numbers, strings and lists
 * with a length before them. The first thing that does not fit marks the reader failed, and
 * whatever is read after it is 0, so that a decoder goes straight through and looks once at the
 * end. A count is checked against the bytes that are left before anything loops over it.
 *
 * Source: zookeeper.jute, and org.apache.jute.BinaryInputArchive. */
#ifndef STUDY_RECORD_JUTE_H
#define STUDY_RECORD_JUTE_H

#include "zkconsumer/core/base/bytes.h"

struct jute {
    const uint8_t *at, *end;
    bool failed;
};

struct jute jute_of(struct bytes frame);
size_t jute_left(const struct jute *j);

int32_t jute_i32(struct jute *j);
int64_t jute_i64(struct jute *j);
bool jute_bool(struct jute *j);

/* A string or blob: a view into the frame; null when its length is negative, or failed. */
struct bytes jute_bytes(struct jute *j);

/* The length of a list whose elements take `least` bytes at least; a negative one (null) is 0. */
int32_t jute_count(struct jute *j, size_t least);

#endif
