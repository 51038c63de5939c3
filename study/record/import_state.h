/* What the import remembers of a capture. */
#ifndef STUDY_RECORD_IMPORT_STATE_H
#define STUDY_RECORD_IMPORT_STATE_H

#include "study/check/names.h"
#include "study/record/import.h"
#include "zkconsumer/core/zk/op.h"
#include "zkconsumer/core/zk/path.h"

#define IMPORT_NONE UINT32_MAX

enum item_kind {
    ITEM_OP,
    ITEM_WATCH,
    ITEM_SESSION, /* a new session was given */
    ITEM_BACK,    /* the same one again */
    ITEM_EXPIRED, /* the member was told that its session is over */
    ITEM_GONE,    /* the connection of its session */
    ITEM_DELIVERED,
    ITEM_MARK,
};

struct item {
    enum item_kind kind;
    enum capture_op op;
    uint32_t link, member; /* IMPORT_NONE: nobody's (a mark) */
    uint32_t path;         /* of x->paths; IMPORT_NONE: none */
    uint64_t t_ns, done_ns;
    uint64_t order; /* of its events among those of the same time: its line's, or after its write */
    uint64_t session;
    int zk_rc;
    int64_t zxid; /* 0: not known */
    int32_t xid;
    bool has_watch, is_ephemeral, is_answered, has_stat, is_client_end;
    int foreign;    /* of a delete: the node was another session's; -1: not known */
    uint64_t owner; /* by its stat */
    struct bytes data;
    const char *const *children; /* NULL: none were told */
    size_t child_count;
    const struct capture_part *parts;
    size_t part_count;
    const char *text;
    struct topic_partition p;
    int64_t first, last;
};

struct link {
    const char *label;
    uint32_t registered; /* item that registered by it first; IMPORT_NONE: none */
    uint64_t session, wanted;
    uint32_t *pending; /* owned; items */
    size_t pending_count, pending_cap;
};

/* A node as the paths of the capture have it, without the chroot. */
struct path_info {
    const char *path;
    enum zk_path_kind kind;
    bool is_group;  /* below the group's folder */
    bool is_other;  /* below another group's */
    uint32_t topic; /* of x->topics: owner, offset, topic */
    int32_t partition;
    const char *leaf;
};

struct session {
    uint64_t number;
    uint32_t member;
    uint32_t registered; /* item that registered in it; IMPORT_NONE: none */
    bool is_closed;      /* by itself */
    uint64_t alive_ns;   /* the last answer in it */
    bool has_end;        /* it ended otherwise, and this was the first sign: */
    uint64_t end_ns, sign_ns;
    int64_t zxid_max; /* of its end; 0: not known */
};

struct out {
    uint64_t t_ns;
    uint64_t order; /* at the same time: by the line that it comes from, */
    size_t index;   /* and of one line as they were emitted */
    struct trace_event *event;
};

struct logged {       /* a transaction of a server's log */
    struct item item; /* as if it had been recorded */
    int64_t time_ms;
};

/* A write to tell of. */
struct write {
    int64_t zxid;
    struct item *item;
    struct session *session; /* no item: its end */
    uint64_t from_ns, to_ns; /* when it can have been; then both when it was */
    uint64_t order;          /* of the event */
};

struct writes {
    struct write *list;
    size_t count, cap;
};

struct import {
    struct import_options options;
    struct arena arena;
    enum zkc_err failed;
    bool has_lines, has_header, has_end, is_scene;
    uint64_t drops;
    uint64_t first_ns, last_ns;
    int64_t session_timeout_ms;

    struct item *items;
    size_t item_count, item_cap;
    struct logged *logged;
    size_t logged_count, logged_cap;
    uint64_t unlogged; /* writes that were recorded, and are not in the log */
    struct link *links;
    size_t link_cap;
    struct session *sessions;
    size_t session_cap;
    struct path_info *infos; /* by path, once all are known */
    struct names link_names, path_names, session_names, member_names, topic_names;
    const char *group_path; /* "/consumers/g"; in the arena */
    const char *chroot;     /* before it in the capture's paths; "" : none */

    struct out *outs;
    size_t out_count, out_cap;
};

/* ---- import.c ---- */

/* Memory ran out; other errors are no failure. */
void import_failed(struct import *x, enum zkc_err err);
/* Room for one more; false: no memory (x->failed). */
bool import_reserve(struct import *x, void **list, size_t count, size_t *cap, size_t size);
void *import_alloc(struct import *x, size_t count,
                   size_t size); /* zeroed, in the arena; NULL likewise */
char *import_text(struct import *x, const char *text, size_t len);
const char *import_member_name(const struct import *x, uint32_t member);
struct session *import_session(struct import *x, uint64_t number); /* NULL: no memory */

/* Where an event stands among those of the same time. */
#define IMPORT_FIRST 0
#define IMPORT_LAST  UINT64_MAX

/* A new event; m may be NULL. NULL: no memory. */
struct trace_event *import_emit(struct import *x, enum trace_type type, uint64_t t_ns,
                                uint64_t order, const char *src, const char *m);

uint32_t import_path(struct import *x, const char *path); /* NAMES_NONE: no memory */
/* What is kept of a node's data. */
struct bytes import_data(struct import *x, const char *path, struct bytes data);

/* ---- import_txns.c ---- */

/* What the log has, into the writes that were recorded, which are in the order of their zxids; and
 * their times, as the log knows them better. */
void import_txns(struct import *x, struct writes *w);

/* ---- import_writes.c ---- */

void import_write_add(struct import *x, struct writes *w, struct write one);
void import_writes_sort(struct writes *w);

/* zk_txn for all writes; sets item.foreign and session.has_end. */
void import_writes(struct import *x);

/* ---- import_member.c ---- */

/* The life of one member. */
void import_member(struct import *x, uint32_t member);

#endif
