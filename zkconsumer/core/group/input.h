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
    GROUP_IN_LEADER_LOST,  /* this partition's broker does not lead it, or is gone */
    GROUP_IN_TIME,         /* the deadline has passed */
    GROUP_IN_LEAVE,        /* the application closes the consumer */
};

struct group_input {
    enum group_input_type type;
    int64_t now_ms;  /* monotonic */
    int64_t wall_ms; /* since 1970, for the timestamps in znodes */
    union {
        struct {
            int64_t session_id;
            int64_t timeout_ms; /* as negotiated */
            bool is_new;
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
        } positions; /* of STOPPED and POSITIONS: all partitions held */
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
        struct {
            const char *topic;
            int32_t partition;
        } leader_lost;
    };
};

#endif
