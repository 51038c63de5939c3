/* One line of a capture, as data. Three forms are read: what zkstudy record writes (zkcapture/1),
 * the raw lines of the golden scenes' recorder (golden/zkrecord.py), and the scenes that were made
 * of them (golden/zookeeper: a line for each operation, with its answer in it). docs/trace.md
 * describes them. Unknown keys are ignored, and lines of an unknown kind passed over. */
#ifndef STUDY_RECORD_CAPTURE_H
#define STUDY_RECORD_CAPTURE_H

#include "study/trace/event.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/why.h"
#include <jansson.h>

enum capture_kind {
    CAPTURE_OTHER, /* of no concern here: a ping, an authentication, what is not known */
    CAPTURE_BEGIN, /* the header; the golden forms have none */
    CAPTURE_END,
    CAPTURE_OPEN,      /* the transport is there */
    CAPTURE_CLOSE,     /* and gone: text says why */
    CAPTURE_CONNECT,   /* a session is asked for: session (0: a new one), timeout_ms */
    CAPTURE_CONNECTED, /* the answer: session, or is_expired */
    CAPTURE_REQUEST,
    CAPTURE_ANSWER,
    CAPTURE_EVENT,     /* of a watch: type, path */
    CAPTURE_MARK,      /* text */
    CAPTURE_DELIVERED, /* messages: partition, first, last */
};

enum capture_op {
    CAPTURE_CREATE,
    CAPTURE_DELETE,
    CAPTURE_EXISTS,
    CAPTURE_GET,
    CAPTURE_SET,
    CAPTURE_CHILDREN,
    CAPTURE_MULTI,
    CAPTURE_SYNC, /* so far as enum trace_op */
    CAPTURE_CLOSE_SESSION,
    CAPTURE_CHECK, /* a part of a multi */
};

struct capture_part { /* of a multi */
    enum capture_op op;
    const char *path; /* of requests */
    struct bytes data;
    bool is_ephemeral;
    int zk_rc; /* of answers */
};

/* 2100, in seconds since 1970. No time of a line or of a log is later, so that the sum or
 * difference of any two, in nanoseconds, is an int64_t. */
#define CAPTURE_TIME_S_MAX INT64_C(4102444800)

struct capture_line {
    enum capture_kind kind;
    bool is_whole;   /* a scene's: CONNECT has its answer too, REQUEST its own */
    bool has_ns;     /* t_ns is of CLOCK_MONOTONIC, as in members' traces */
    uint64_t t_ns;   /* up to CAPTURE_TIME_S_MAX */
    const char *who; /* "": not known by its port */
    uint32_t link;   /* number of the connection; scenes have none */
    enum capture_op op;
    int32_t xid;
    const char *path;  /* NULL: none, or the answer to a request that has one */
    struct bytes data; /* of create, set, and of the answer to getData */
    bool is_ephemeral, has_watch;
    bool is_answered; /* of a whole one */
    int zk_rc;
    int64_t zxid; /* 0: not known */
    const char *const *children;
    size_t child_count;
    bool has_stat;
    uint64_t owner; /* of the node: its stat's ephemeralOwner */
    const struct capture_part *parts;
    size_t part_count;
    uint64_t session, session_given;
    bool is_expired;
    int64_t timeout_ms;
    const char *text, *type;
    struct topic_partition p;
    int64_t first, last;
    uint64_t drops; /* END */
};

#define CAPTURE_LINE_MAX ((size_t)64 * 1024 * 1024)

struct capture_decoder {
    struct arena arena; /* behind the line */
    json_t *json;
};

void capture_decoder_init(struct capture_decoder *d);
void capture_decoder_deinit(struct capture_decoder *d);

/* All that the line points to is lent until the next call. False: `why` says what is wrong and what
 * was expected. */
bool capture_decode(struct capture_decoder *d, struct bytes text, struct capture_line *out,
                    struct why *why);

#endif
