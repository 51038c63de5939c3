/* What passes on one connection between a client of ZooKeeper and its server, as lines of a
 * capture. Frames go in whole (without their length), each direction in its order; a line comes out
 * for each, in the format that docs/trace.md describes ("Captures"). Pure: time comes in, text goes
 * out, and a frame that cannot be decoded becomes a line with its bytes.
 *
 * Answers are matched with requests by their order and xid, as the protocol promises; the requests
 * that wait for one are kept, PENDING_MAX of them (more than any client has under way: Apache's
 * servers take 1000 at a time by default).
 *
 * Source: zookeeper.jute, org.apache.zookeeper.ClientCnxn and ZooDefs. */
#ifndef STUDY_RECORD_TAP_H
#define STUDY_RECORD_TAP_H

#include "zkconsumer/core/base/buf.h"
#include <zkconsumer/error.h>

#define TAP_PENDING_MAX 65536
/* Of a line: a frame's bytes may stand in it as six characters each. */
#define TAP_FRAME_MAX ((size_t)4 * 1024 * 1024)
#define TAP_LINE_MAX  (8 * TAP_FRAME_MAX)

/* Where and when a line is written. */
struct tap_moment {
    uint64_t seq;    /* of the capture's lines, from 1 */
    int64_t wall_us; /* since 1970 */
    uint64_t ns;     /* CLOCK_MONOTONIC, which members' traces have too */
};

struct tap_pending {
    int32_t xid;
    int32_t op; /* ZooKeeper's number */
    char *path; /* owned; NULL: it has none */
};

struct tap {
    char *label; /* owned; "" where members share a listener */
    uint32_t connection;
    int64_t session; /* 0: not answered yet */
    bool has_request, has_answer;
    struct tap_pending *pending; /* owned; a ring */
    size_t pending_at, pending_count, pending_cap;
};

/* ZKC_ERR_NOMEM. The caller ends it with tap_deinit(). */
ZKC_MUST_CHECK enum zkc_err tap_init(struct tap *t, const char *label, uint32_t connection);
void tap_deinit(struct tap *t);

/* Each appends one line to `out`, which then may have failed (too large, no memory).
 * The connection is there, to this server; it has gone, and why: client, server, cut, ... */
void tap_opened(const struct tap *t, struct tap_moment at, const char *server, struct buf *out);
void tap_closed(const struct tap *t, struct tap_moment at, const char *why, struct buf *out);

/* What a request is, before it is passed on: for who wants to hold one. The path is a view into the
 * frame; null where there is none, and for the first frame of a connection. */
struct tap_request {
    const char *op; /* "create", ...; "?": not known; "connect" */
    struct bytes path;
};
struct tap_request tap_peek(const struct tap *t, struct bytes frame);

/* ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE: more than TAP_PENDING_MAX requests wait. What the connection
 * says from then on cannot be followed: end it. */
ZKC_MUST_CHECK enum zkc_err tap_request(struct tap *t, struct tap_moment at, struct bytes frame,
                                        struct buf *out);
void tap_answer(struct tap *t, struct tap_moment at, struct bytes frame, struct buf *out);

/* The first and the last line of a capture: one without its end was cut short. `drops` counts the
 * lines that could not be written. */
void tap_begin(struct tap_moment at, const char *servers, struct buf *out);
void tap_end(struct tap_moment at, uint64_t drops, struct buf *out);

/* A line between the others: what a script does at this point. */
void tap_mark(struct tap_moment at, const char *text, struct buf *out);

#endif
