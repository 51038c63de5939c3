/* What the shell feeds into a group machine. Everything is borrowed until the outputs of the step
 * have been carried out. */
#ifndef ZKC_GROUP_INPUT_H
#define ZKC_GROUP_INPUT_H

#include "zkconsumer/core/group/output.h"

enum group_input_type {
    GROUP_IN_CONNECTED,    /* ZooKeeper answers: a new session, or the same again */
    GROUP_IN_DISCONNECTED, /* the connection is lost; the session may live on */
    GROUP_IN_EXPIRED,      /* the server said that the session has ended; a new one will follow */
    GROUP_IN_RESULT,       /* the answer to a GROUP_OUT_OP */
    GROUP_IN_WATCH,        /* a watch fired */
    GROUP_IN_STOPPED,      /* answers GROUP_OUT_STOP */
    GROUP_IN_POSITIONS,    /* answers GROUP_OUT_POSITIONS */
    GROUP_IN_COMMIT,       /* the application commits */
    GROUP_IN_METADATA,     /* answers GROUP_OUT_METADATA */
    GROUP_IN_OFFSETS,      /* answers GROUP_OUT_OFFSETS_ASK */
    GROUP_IN_LEADER_LOST,  /* this partition's broker does not lead it, or is gone */
    GROUP_IN_TIME,         /* the deadline has passed */
    GROUP_IN_LEAVE,        /* the application closes the consumer */
    /* ---- of zk_safe only ---- */
    GROUP_IN_DRAINED,        /* answers GROUP_OUT_FETCH_STOP: nothing of that claim is out */
    GROUP_IN_SESSION_CLOSED, /* answers GROUP_OUT_CLOSE_SESSION */
    GROUP_IN_POLLED,         /* the application asks for messages; needed only from a member that is
                              * evicted (polled_ms tells the rest) */
    GROUP_IN_VIEW,           /* what the observer of the process has read */
};

struct zk_view;

struct group_offsets_answer {
    uint32_t seq;
    bool failed;         /* there was none, or it could not be read */
    const char *text;    /* why it failed */
    int16_t kafka_error; /* of FIND */
    const char *host;    /* of FIND: the offset manager, without an error */
    int32_t port;
    const struct group_offset *list; /* of FETCH and COMMIT; in any order */
    size_t count;
};

struct group_input {
    enum group_input_type type;
    int64_t now_ms;    /* monotonic; of zk_safe: of a clock that counts system suspend */
    int64_t wall_ms;   /* since 1970, for the timestamps in znodes */
    int64_t polled_ms; /* zk_safe: when the application last asked for a message, on now_ms's clock;
                        * negative: polling is not limited */
    union {
        struct {
            int64_t session_id;
            int64_t timeout_ms; /* as negotiated */
            bool is_new;
            int64_t connect_sent_ms; /* when the connect request that was answered was
                                      * sent, or earlier; never later */
        } connected;
        struct {
            enum group_lane lane;
            uint32_t seq;
            const struct zk_result *result;
        } result;
        struct zk_watch_event watch;
        struct {
            const struct group_position *list;
            size_t count;
        } positions; /* of STOPPED and POSITIONS: all partitions held (zk_safe: claims whose gate is
                      * open, or stopped and not drained) */
        struct {
            const struct group_position *list;
            size_t count;
            bool all_owned; /* list is all that is held; otherwise the application's own choice,
                             * refused whole when one of them is not owned */
        } commit;
        struct {
            uint32_t seq;
            bool failed;
            const char *text; /* why it failed */
            const struct group_leader *list;
            size_t count;
        } metadata;
        struct group_offsets_answer offsets;
        struct {
            const char *topic;
            int32_t partition;
        } leader_lost;
        struct {
            const char *topic;
            int32_t partition;
            uint64_t claim;   /* number */
            int64_t finished; /* next after what the application has finished; -1: nothing */
            uint32_t moves;   /* as in group_position */
        } drained;
        struct {
            const struct zk_view *view; /* NULL: the observer is lost; until the next one the member
                                         * reads by itself */
        } view;
    };
};

#endif
