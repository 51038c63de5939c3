#include "study/trace/event.h"
#include "zkconsumer/core/zk/path.h"

static const struct {
    const char *name;
    int level;
} TYPES[TRACE_TYPE_COUNT] = {
    [TRACE_RUN] = {"run", 0},
    [TRACE_END] = {"end", 0},
    [TRACE_PHASE] = {"phase", 0},
    [TRACE_CAUSE] = {"cause", 0},
    [TRACE_FAULT] = {"fault", 0},
    [TRACE_HEAL] = {"heal", 0},
    [TRACE_M_START] = {"m_start", 0},
    [TRACE_M_EXIT] = {"m_exit", 0},
    [TRACE_SUSPEND] = {"suspend", 0},
    [TRACE_RESUME] = {"resume", 0},
    [TRACE_PRODUCE] = {"produce", 0},
    [TRACE_ZK_SESSION] = {"zk_session", 0},
    [TRACE_ZK_TXN] = {"zk_txn", 0}, /* of offsets: 1 */
    [TRACE_ZK_ROLE] = {"zk_role", 0},
    [TRACE_ZK_STATE] = {"zk_state", 0},
    [TRACE_ZK_WATCH] = {"zk_watch", 1},
    [TRACE_ZK_OP] = {"zk_op", 2},
    [TRACE_RB_TRIGGER] = {"rb_trigger", 1},
    [TRACE_RB_BEGIN] = {"rb_begin", 0},
    [TRACE_RB_TRY] = {"rb_try", 0},
    [TRACE_VIEW] = {"view", 0},
    [TRACE_DECIDE] = {"decide", 0},
    [TRACE_CLAIM] = {"claim", 1},
    [TRACE_RELEASE] = {"release", 1},
    [TRACE_RB_TRY_END] = {"rb_try_end", 1},
    [TRACE_RB_BACKOFF] = {"rb_backoff", 1},
    [TRACE_RB_END] = {"rb_end", 0},
    [TRACE_OWN_BEGIN] = {"own_begin", 0},
    [TRACE_OWN_END] = {"own_end", 0},
    [TRACE_FETCH_START] = {"fetch_start", 0},
    [TRACE_FETCH_STOP] = {"fetch_stop", 0},
    [TRACE_OFFSET_READ] = {"offset_read", 1},
    [TRACE_COMMIT] = {"commit", 1},
    [TRACE_DELIVER] = {"deliver", 0},
    [TRACE_PROCESSED] = {"processed", 1},
    [TRACE_LEASE] = {"lease", 1},
    [TRACE_VOID] = {"void", 1},
    [TRACE_STORE] = {"store", 1},
    [TRACE_MOVED] = {"moved", 0},
    [TRACE_SAMPLE] = {"sample", 1},
    [TRACE_VIOL] = {"viol", 0},
};

const char *trace_type_name(enum trace_type type)
{
    return TYPES[type].name;
}

int trace_type_level(enum trace_type type)
{
    return TYPES[type].level;
}

const char *trace_op_name(enum trace_op op)
{
    static const char *const names[TRACE_OP_COUNT] = {"create",  "delete",      "exists", "getData",
                                                      "setData", "getChildren", "multi",  "sync"};
    return names[op];
}

const char *trace_class_name(enum trace_class c)
{
    static const char *const names[] = {"", "id", "owner", "offset", "broker", "topic"};
    return names[c];
}

struct trace_path trace_path_read(const char *path)
{
    static const enum trace_class classes[] = {
        [ZK_PATH_ID] = TRACE_CLASS_ID,         [ZK_PATH_OWNER] = TRACE_CLASS_OWNER,
        [ZK_PATH_OFFSET] = TRACE_CLASS_OFFSET, [ZK_PATH_BROKER] = TRACE_CLASS_BROKER,
        [ZK_PATH_TOPIC] = TRACE_CLASS_TOPIC,   [ZK_PATH_PARTITION_STATE] = TRACE_CLASS_OTHER,
    };
    struct zk_path_parts parts = zk_path_parse(path);
    struct trace_path read = {.class_of = classes[parts.kind], .partition = -1};
    if (read.class_of == TRACE_CLASS_OTHER)
        return read;
    read.topic = (const char *)parts.topic.data;
    read.topic_len = parts.topic.len;
    if (read.class_of == TRACE_CLASS_OWNER || read.class_of == TRACE_CLASS_OFFSET)
        read.partition = parts.partition;
    return read;
}

/* ---- contents of messages ---- */

uint64_t trace_partition_hash(const char *topic, int32_t partition)
{
    uint64_t h = 1469598103934665603ull; /* FNV-1a */
    for (const char *c = topic; *c; c++)
        h = (h ^ (uint8_t)*c) * 1099511628211ull;
    h = (h ^ (uint32_t)partition) * 1099511628211ull;
    h ^= h >> 29;
    return h * 0xbf58476d1ce4e5b9ull;
}

uint64_t trace_message_hash(uint64_t partition_hash, int64_t offset)
{
    return partition_hash ^ (uint64_t)offset;
}

/* 0 ^ 1 ^ ... ^ n */
static uint64_t xor_up_to(uint64_t n)
{
    const uint64_t by_rest[] = {n, 1, n + 1, 0};
    return by_rest[n % 4];
}

uint64_t trace_messages_hash(uint64_t partition_hash, int64_t first, int64_t last)
{
    uint64_t count = (uint64_t)(last - first) + 1;
    uint64_t below = first > 0 ? xor_up_to((uint64_t)first - 1) : 0;
    return (count % 2 ? partition_hash : 0) ^ xor_up_to((uint64_t)last) ^ below;
}
