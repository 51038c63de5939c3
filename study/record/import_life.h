/* The life of one member as the import follows it, operation by operation. */
#ifndef STUDY_RECORD_IMPORT_LIFE_H
#define STUDY_RECORD_IMPORT_LIFE_H

#include "study/record/import_state.h"

struct claim {
    struct topic_partition p;
    int64_t offset;
    bool is_tried, is_ok, has_conflict;
    struct trace_event *event; /* the last try */
};

struct list { /* grows in the arena */
    void *at;
    size_t count, cap;
};

struct scan { /* of brokers: whose it is turns out by what follows */
    bool is_on;
    uint64_t t_ns, end_ns, ns;
    uint64_t order, end_order;
    uint64_t ops[TRACE_OP_COUNT];
    int64_t zxid_first, zxid_last;
};

struct attempt {
    bool is_on;
    uint32_t number;
    uint64_t end_ns, decided_ns;
    uint64_t end_order, decided_order; /* of what happens then, and shows later */
    uint64_t ops[TRACE_OP_COUNT];
    uint64_t read_ns, commit_ns, release_ns, claim_ns;
    int64_t zxid_first, zxid_last;
    bool own_missing, has_list, has_self, has_no_brokers, is_list_with_self;
    unsigned scans;
    bool has_scan_after_list;
    size_t listed;
    struct list members;    /* const char * */
    struct list partitions; /* struct topic_partition */
    struct list claims;     /* struct claim */
    bool has_error;
};

enum reread { REREAD_NONE, REREAD_EVENT, REREAD_EXISTS };

struct life {
    struct import *x;
    const char *name;
    const char *id; /* consumer id; NULL: not running */
    bool has_session, is_connected, was_expired, is_leaving;
    uint64_t order; /* of events, among those of the same time */
    uint64_t session, gone_ns, gone_order;
    bool is_gone_by_client;
    struct list owned;   /* struct topic_partition */
    struct list offsets; /* struct claim: what was read or written last */
    struct list commits; /* const struct path_info *: set, and had no node */
    uint8_t *rereads;    /* by path: enum reread */
    struct scan scan;
    struct attempt attempt;
    bool in_rebalance;
    uint32_t rebalance, failed; /* attempts of the rebalance that have failed */
    const char *trigger;        /* since the rebalance began; NULL: none */
    uint64_t trigger_ns, trigger_order;
};

/* ---- import_member.c ---- */

/* Room for one more, in the arena; NULL: no memory. */
void *life_add(struct life *l, struct list *list, size_t size);
/* The partition's place in a list of claims; a new one if it has none. NULL: no memory. */
struct claim *life_claim(struct life *l, struct list *list, struct topic_partition p);
const struct path_info *life_path(const struct life *l, const struct item *i);
struct topic_partition life_partition(const struct life *l, const struct path_info *p);
bool life_is_self(const struct life *l, const struct path_info *p); /* its own registration */
/* An event of the member, in the order of l->order. NULL: no memory. */
struct trace_event *life_emit(struct life *l, enum trace_type type, uint64_t t_ns);
enum trace_op life_op(enum capture_op op); /* of those that a trace has */
void life_note_zxid(int64_t *first, int64_t *last, int64_t zxid);
int64_t life_offset_in(struct bytes data); /* -1: none */

/* ---- import_attempt.c ---- */

/* True: part of a scan of brokers, whose it is shows in what follows. */
bool life_scan_op(struct life *l, const struct item *i, const struct path_info *p);
/* The scan before belongs to the attempt. */
void life_join_scan(struct life *l);
void life_count_op(struct life *l, const struct item *i, uint64_t *ns);
void life_read(struct life *l, const struct item *i, const struct path_info *p);
/* An offset is to be written: by the documented algorithm, the first thing in an attempt. */
void life_before_commit(struct life *l, const struct item *i);
void life_create_owner(struct life *l, const struct item *i, const struct path_info *p);
void life_delete_owner(struct life *l, const struct item *i, const struct path_info *p);
/* When an attempt has ended shows in what comes next; `is_retried`: another one, and nobody asked
 * for it. */
void life_end_attempt(struct life *l, bool is_retried);
/* Nothing follows by which it would show how the attempt went. */
void life_leave_attempt(struct life *l, uint64_t now_ns);
void life_end_rebalance(struct life *l, uint64_t t_ns, bool ok, bool gave_up);
void life_end_owned(struct life *l, uint64_t t_ns, const char *why);

#endif
