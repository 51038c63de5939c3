#include "tests/support/zk_story.h"
#include "zkconsumer/core/base/array.h"

#define TEXT(text)                                                                                 \
    {                                                                                              \
        (const uint8_t *)(text), sizeof(text) - 1                                                  \
    }

#define CREATE(path_, text)                                                                        \
    {                                                                                              \
        .type = ZK_OP_CREATE, .path = path_, .data = TEXT(text)                                    \
    }
#define CREATE_NULL(path_)                                                                         \
    {                                                                                              \
        .type = ZK_OP_CREATE, .path = path_                                                        \
    }
#define EPHEMERAL(path_, text)                                                                     \
    {                                                                                              \
        .type = ZK_OP_CREATE, .path = path_, .data = TEXT(text), .ephemeral = true                 \
    }
#define SET(path_, text, version_)                                                                 \
    {                                                                                              \
        .type = ZK_OP_SET, .path = path_, .data = TEXT(text), .version = version_                  \
    }
#define DELETE(path_, version_)                                                                    \
    {                                                                                              \
        .type = ZK_OP_DELETE, .path = path_, .version = version_                                   \
    }
#define GET(path_)                                                                                 \
    {                                                                                              \
        .type = ZK_OP_GET, .path = path_                                                           \
    }
#define EXISTS(path_)                                                                              \
    {                                                                                              \
        .type = ZK_OP_EXISTS, .path = path_                                                        \
    }
#define CHILDREN(path_)                                                                            \
    {                                                                                              \
        .type = ZK_OP_CHILDREN, .path = path_                                                      \
    }
#define WATCH(type_, path_)                                                                        \
    {                                                                                              \
        .type = ZK_OP_##type_, .path = path_, .watch = true                                        \
    }

#define CHECK(path_, version_)                                                                     \
    {                                                                                              \
        .type = ZK_OP_CHECK, .path = path_, .version = version_                                    \
    }
#define MULTI(list)                                                                                \
    {                                                                                              \
        .type = ZK_OP_MULTI, .parts = list, .part_count = ARRAY_LEN(list)                          \
    }
#define SYNC(path_)                                                                                \
    {                                                                                              \
        .type = ZK_OP_SYNC, .path = path_                                                          \
    }

static const struct zk_op claim[] = {EPHEMERAL("/s/m/0", "a-0"), SET("/s/m/0", "a-0", 0),
                                     EPHEMERAL("/s/m/1", "a-0"), CREATE_NULL("/s/m/2")};
static const struct zk_op release[] = {SET("/s/x", "7", 4), DELETE("/s/m/0", 1),
                                       DELETE("/s/m/1", 0), CHECK("/s/m/2", 0)};
static const struct zk_op probe[] = {CHECK("/s/m/2", 0), CHECK("/s/x", ZK_ANY_VERSION)};
static const struct zk_op again[] = {DELETE("/s/m/2", ZK_ANY_VERSION), CREATE_NULL("/s/m/2")};
static const struct zk_op stale[] = {SET("/s/x", "8", ZK_ANY_VERSION), CHECK("/s/m/2", 3),
                                     DELETE("/s/m/2", 0)};
static const struct zk_op orphan[] = {CHECK("/s/none", ZK_ANY_VERSION)};
static const struct zk_op busy[] = {CREATE_NULL("/s/m/9"), DELETE("/s/m", ZK_ANY_VERSION)};

const struct zk_story_step zk_story[] = {
    /* nodes */
    {.who = 'a', .op = GET("/s"), .zk_rc = ZK_NO_NODE},
    {.who = 'a', .op = CREATE("/s/x", "1"), .zk_rc = ZK_NO_NODE},
    {.who = 'a', .op = CREATE_NULL("/s")},
    {.who = 'a', .op = CREATE("/s", "other"), .zk_rc = ZK_NODE_EXISTS},
    {.who = 'b', .op = GET("/s"), .got = "(null)"},
    {.who = 'a', .op = CREATE("/s/x", "1")},
    {.who = 'b', .op = GET("/s/x"), .got = "1"},
    {.who = 'b', .op = EXISTS("/s/x"), .version = 0},
    {.who = 'b', .op = SET("/s/x", "2", ZK_ANY_VERSION), .version = 1},
    {.who = 'b', .op = SET("/s/x", "3", 0), .zk_rc = ZK_BAD_VERSION},
    {.who = 'b', .op = SET("/s/x", "3", 1), .version = 2},
    {.who = 'a', .op = GET("/s/x"), .got = "3", .version = 2},
    {.who = 'a', .op = SET("/s/none", "3", ZK_ANY_VERSION), .zk_rc = ZK_NO_NODE},
    {.who = 'a', .op = CREATE("/s/a", "")},
    {.who = 'a', .op = GET("/s/a"), .got = ""},
    {.who = 'a', .op = CREATE("/s/a-b", "")},
    {.who = 'a', .op = CREATE("/s/a/deep", "")},
    {.who = 'b', .op = CHILDREN("/s"), .got = "a a-b x "},
    {.who = 'b', .op = CHILDREN("/s/x"), .got = ""},
    {.who = 'b', .op = CHILDREN("/s/none"), .zk_rc = ZK_NO_NODE},
    {.who = 'b', .op = DELETE("/s/a", ZK_ANY_VERSION), .zk_rc = ZK_NOT_EMPTY},
    {.who = 'b', .op = DELETE("/s/a/deep", 7), .zk_rc = ZK_BAD_VERSION},
    {.who = 'b', .op = DELETE("/s/a/deep", 0)},
    {.who = 'b', .op = DELETE("/s/a", ZK_ANY_VERSION)},
    {.who = 'b', .op = DELETE("/s/a", ZK_ANY_VERSION), .zk_rc = ZK_NO_NODE},

    /* ephemerals */
    {.who = 'a', .op = EPHEMERAL("/s/e", "of a")},
    {.who = 'a', .op = EPHEMERAL("/s/none/e", "of a"), .zk_rc = ZK_NO_NODE},
    {.who = 'b', .op = EPHEMERAL("/s/e", "of b"), .zk_rc = ZK_NODE_EXISTS},
    {.who = 'a', .op = GET("/s/e"), .got = "of a", .is_ours = true},
    {.who = 'b', .op = GET("/s/e"), .got = "of a"},
    {.who = 'a', .op = CREATE("/s/e/child", ""), .zk_rc = ZK_NO_CHILDREN_FOR_EPHEMERALS},
    {.who = 'b', .op = DELETE("/s/e", ZK_ANY_VERSION)}, /* anybody may */
    {.who = 'b', .op = EPHEMERAL("/s/e", "of b")},
    {.who = 'b', .op = EXISTS("/s/e"), .is_ours = true},

    /* data watches: once, and only on what was there, but for exists */
    {.who = 'a', .op = WATCH(GET, "/s/w"), .zk_rc = ZK_NO_NODE},
    {.who = 'b', .op = CREATE("/s/w", "1")},
    {.who = 'b', .op = DELETE("/s/w", ZK_ANY_VERSION)},
    {.who = 'a', .op = WATCH(EXISTS, "/s/w"), .zk_rc = ZK_NO_NODE},
    {.who = 'b', .op = CREATE("/s/w", "1"), .events_a = "NodeCreated /s/w, "},
    {.who = 'b', .op = SET("/s/w", "2", ZK_ANY_VERSION), .version = 1},
    {.who = 'a', .op = WATCH(EXISTS, "/s/w"), .version = 1},
    {.who = 'a', .op = WATCH(GET, "/s/w"), .version = 1}, /* the same watch */
    {.who = 'b',
     .op = SET("/s/w", "3", ZK_ANY_VERSION),
     .version = 2,
     .events_a = "NodeDataChanged /s/w, "},
    {.who = 'b', .op = SET("/s/w", "4", ZK_ANY_VERSION), .version = 3},
    {.who = 'a', .op = WATCH(GET, "/s/w"), .got = "4", .version = 3},
    {.who = 'b', .op = CREATE("/s/w/c", "")}, /* children are not its data */
    {.who = 'b', .op = DELETE("/s/w/c", ZK_ANY_VERSION)},
    {.who = 'a', .op = DELETE("/s/w", ZK_ANY_VERSION), .events_a = "NodeDeleted /s/w, "},

    /* child watches */
    {.who = 'a', .op = WATCH(CHILDREN, "/s/none"), .zk_rc = ZK_NO_NODE},
    {.who = 'a', .op = WATCH(CHILDREN, "/s"), .got = "a-b e x "},
    {.who = 'b', .op = WATCH(CHILDREN, "/s"), .got = "a-b e x "},
    {.who = 'b', .op = SET("/s/x", "5", ZK_ANY_VERSION), .version = 3},
    {.who = 'b', .op = SET("/s", "5", ZK_ANY_VERSION), .version = 1},
    {.who = 'b', .op = CREATE("/s/x/deep", "")},
    {.who = 'b',
     .op = CREATE("/s/n", ""),
     .events_a = "NodeChildrenChanged /s, ",
     .events_b = "NodeChildrenChanged /s, "},
    {.who = 'b', .op = DELETE("/s/n", ZK_ANY_VERSION)},
    {.who = 'a', .op = CREATE("/s/p", "")},
    {.who = 'a', .op = WATCH(CHILDREN, "/s/p"), .got = ""},
    {.who = 'a', .op = WATCH(GET, "/s/p"), .got = ""},
    {.who = 'b', .op = DELETE("/s/p", ZK_ANY_VERSION), .events_a = "NodeDeleted /s/p, "}, /* once */
    {.who = 'a', .op = CREATE("/s/p", "")},
    {.who = 'a', .op = WATCH(GET, "/s/p"), .got = ""},
    {.who = 'a', .op = WATCH(CHILDREN, "/s"), .version = 1},
    {.who = 'b',
     .op = DELETE("/s/p", ZK_ANY_VERSION),
     .events_a = "NodeDeleted /s/p, NodeChildrenChanged /s, "},

    /* a lost connection: watches are put again, and fire for what was missed */
    {.who = 'a', .op = CREATE("/s/q", "")},
    {.who = 'b', .op = WATCH(CHILDREN, "/s"), .version = 1},
    {.who = 'b', .op = WATCH(GET, "/s/x"), .got = "5", .version = 3},
    {.who = 'b', .op = WATCH(EXISTS, "/s/new"), .zk_rc = ZK_NO_NODE},
    {.who = 'b', .op = WATCH(CHILDREN, "/s/x"), .got = "deep ", .version = 3},
    {.who = 'b', .op = WATCH(EXISTS, "/s/q"), .version = 0},
    {.who = 'b', .what = ZK_STORY_CUT},
    {.who = 'a', .op = SET("/s/x", "6", ZK_ANY_VERSION), .version = 4},
    {.who = 'b', .what = ZK_STORY_BACK, .events_b = "NodeDataChanged /s/x, "},
    {.who = 'b', .op = EXISTS("/s/e"), .is_ours = true},
    {.who = 'b', .what = ZK_STORY_CUT},
    {.who = 'a', .op = CREATE("/s/x/more", "")},
    {.who = 'b', .what = ZK_STORY_BACK, .events_b = "NodeChildrenChanged /s/x, "},
    {.who = 'b', .what = ZK_STORY_CUT},
    {.who = 'a', .op = DELETE("/s/q", ZK_ANY_VERSION)},
    {.who = 'a', .op = CREATE("/s/q", "")}, /* there and gone: nobody can tell, but by its times */
    {.who = 'b',
     .what = ZK_STORY_BACK,
     .events_b = "NodeDataChanged /s/q, NodeChildrenChanged /s, "},
    {.who = 'a', .op = CREATE("/s/new", ""), .events_b = "NodeCreated /s/new, "}, /* still stood */

    /* multi: all or nothing, each part after those before it; one transaction, so that a watch on
     * the children fires once */
    {.who = 'a',
     .op = MULTI(claim),
     .zk_rc = ZK_NO_NODE,
     .got = "NoNode RuntimeInconsistency "
            "RuntimeInconsistency RuntimeInconsistency "},
    {.who = 'a', .op = CREATE_NULL("/s/m")},
    {.who = 'b', .op = WATCH(CHILDREN, "/s/m"), .got = ""},
    {.who = 'a',
     .op = MULTI(claim),
     .got = "Ok Ok 1 Ok Ok ",
     .events_b = "NodeChildrenChanged /s/m, "},
    {.who = 'a', .op = GET("/s/m/0"), .got = "a-0", .version = 1, .is_ours = true},
    {.who = 'a', .op = EXISTS("/s/m/2")},
    {.who = 'b', .op = WATCH(EXISTS, "/s/m/0"), .version = 1},
    {.who = 'b',
     .op = MULTI(claim),
     .zk_rc = ZK_NODE_EXISTS,
     .got = "NodeExists RuntimeInconsistency "
            "RuntimeInconsistency RuntimeInconsistency "},
    {.who = 'b',
     .op = MULTI(stale),
     .zk_rc = ZK_BAD_VERSION,
     .got = "Ok BadVersion RuntimeInconsistency "},
    {.who = 'b', .op = GET("/s/x"), .got = "6", .version = 4}, /* nothing was done */
    {.who = 'b', .op = MULTI(busy), .zk_rc = ZK_NOT_EMPTY, .got = "Ok NotEmpty "},
    {.who = 'b', .op = MULTI(orphan), .zk_rc = ZK_NO_NODE, .got = "NoNode "},
    {.who = 'b', .op = MULTI(probe), .got = "Ok Ok "},
    {.who = 'a', .op = MULTI(release), .got = "Ok 5 Ok Ok Ok ", .events_b = "NodeDeleted /s/m/0, "},
    {.who = 'a',
     .op = MULTI(release),
     .zk_rc = ZK_BAD_VERSION,
     .got = "BadVersion RuntimeInconsistency "
            "RuntimeInconsistency RuntimeInconsistency "},
    {.who = 'b', .op = CHILDREN("/s/m"), .got = "2 "},
    {.who = 'b', .op = WATCH(EXISTS, "/s/m/2")},
    {.who = 'a', .op = MULTI(again), .got = "Ok Ok ", .events_b = "NodeDeleted /s/m/2, "},

    {.who = 'a', .op = DELETE("/s/m/2", ZK_ANY_VERSION)},
    {.who = 'a', .op = DELETE("/s/m", ZK_ANY_VERSION)},

    /* sync */
    {.who = 'b', .op = SYNC("/s")},
    {.who = 'b', .op = SYNC("/s/none")}, /* it need not exist */

    /* the end of a session: its ephemerals go */
    {.who = 'a', .op = WATCH(EXISTS, "/s/e")},
    {.who = 'b', .op = EPHEMERAL("/s/f", "")},
    {.who = 'b', .what = ZK_STORY_CLOSE, .events_a = "NodeDeleted /s/e, "},
    {.who = 'a', .op = CHILDREN("/s"), .got = "a-b new q x ", .version = 1},
};

const size_t zk_story_len = ARRAY_LEN(zk_story);
