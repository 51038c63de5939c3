/* What ZooKeeper answers, as one table: operations of two clients, a and b, what they come to, and
 * the events that they fire. The in-memory ZooKeeper and a real server must both tell this story.
 */
#ifndef ZKC_TESTS_ZK_STORY_H
#define ZKC_TESTS_ZK_STORY_H

#include "zkconsumer/core/zk/op.h"

enum zk_story_what {
    ZK_STORY_OP,
    ZK_STORY_CUT,   /* the client loses its connection, not its session */
    ZK_STORY_BACK,  /* it is connected again */
    ZK_STORY_CLOSE, /* its session is closed; nothing more of it follows */
};

struct zk_story_step {
    char who; /* a or b */
    enum zk_story_what what;
    struct zk_op op;
    int zk_rc;
    const char *got; /* of a read: the data, "(null)", or the children in byte order, each with a
                      * blank after it; of a multi: of each part its zk_rc, and the version where
                      * it set data, each with a blank; NULL: not looked at */
    bool is_ours;    /* of a read: the node is an ephemeral of the one who reads */
    int version;     /* of exists and set */
    const char *events_a; /* that the step fires, e.g. "NodeDeleted /x, "; NULL: none */
    const char *events_b;
};

extern const struct zk_story_step zk_story[];
extern const size_t zk_story_len;

#endif
