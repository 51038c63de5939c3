#include "study/record/protocol.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/op.h"
#include <stddef.h>

static const struct {
    int32_t op;
    const char *name;
    bool has_path;
} OPS[] = {
    {ZK_PROTOCOL_CREATE, "create", true},
    {ZK_PROTOCOL_DELETE, "delete", true},
    {ZK_PROTOCOL_EXISTS, "exists", true},
    {ZK_PROTOCOL_GET, "getData", true},
    {ZK_PROTOCOL_SET, "setData", true},
    {6, "getACL", true},
    {7, "setACL", true},
    {ZK_PROTOCOL_CHILDREN, "getChildren", true},
    {ZK_PROTOCOL_SYNC, "sync", true},
    {ZK_PROTOCOL_PING, "ping", false},
    {ZK_PROTOCOL_CHILDREN2, "getChildren2", true},
    {ZK_PROTOCOL_CHECK, "check", true},
    {ZK_PROTOCOL_MULTI, "multi", false},
    {ZK_PROTOCOL_CREATE2, "create2", true},
    {16, "reconfig", false},
    {18, "removeWatches", true},
    {19, "createContainer", true},
    {21, "createTTL", true},
    {ZK_PROTOCOL_AUTH, "auth", false},
    {ZK_PROTOCOL_SET_WATCHES, "setWatches", false},
    {ZK_PROTOCOL_SASL, "sasl", false},
    {ZK_PROTOCOL_CLOSE, "closeSession", false},
    {ZK_PROTOCOL_ERROR, "error", false},
};

const char *zk_protocol_op_name(int32_t op)
{
    for (size_t i = 0; i < ARRAY_LEN(OPS); i++)
        if (OPS[i].op == op)
            return OPS[i].name;
    return "?";
}

bool zk_protocol_has_path(int32_t op)
{
    for (size_t i = 0; i < ARRAY_LEN(OPS); i++)
        if (OPS[i].op == op)
            return OPS[i].has_path;
    return false;
}

/* org.apache.zookeeper.ClientCnxn: pings, authentication, watches after a reconnect. */
int32_t zk_protocol_special_op(int32_t xid)
{
    switch (xid) {
    case -2: return ZK_PROTOCOL_PING;
    case -4: return ZK_PROTOCOL_AUTH;
    case -8: return ZK_PROTOCOL_SET_WATCHES;
    default: return 0;
    }
}

bool zk_protocol_is_special(int32_t xid)
{
    return zk_protocol_special_op(xid) != 0;
}

const char *zk_protocol_error_name(int32_t err)
{
    return zk_rc_name(err);
}

const char *zk_protocol_event_name(int32_t type)
{
    return type >= ZK_EVENT_CREATED && type <= ZK_EVENT_CHILDREN_CHANGED
               ? zk_event_name((enum zk_event_type)type)
               : "None";
}

const char *zk_protocol_state_name(int32_t state)
{
    switch (state) {
    case 0: return "Disconnected";
    case 3: return "SyncConnected";
    case 4: return "AuthFailed";
    case 5: return "ConnectedReadOnly";
    case -112: return "Expired";
    default: return "?";
    }
}
