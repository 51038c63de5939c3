#include "zkconsumer/core/zk/op.h"

const char *zk_rc_name(int zk_rc)
{
    switch (zk_rc) {
    case ZK_OK: return "Ok";
    case ZK_SYSTEM_ERROR: return "SystemError";
    case ZK_RUNTIME_INCONSISTENCY: return "RuntimeInconsistency";
    case ZK_CONNECTION_LOSS: return "ConnectionLoss";
    case ZK_MARSHALLING_ERROR: return "MarshallingError";
    case ZK_OPERATION_TIMEOUT: return "OperationTimeout";
    case ZK_BAD_ARGUMENTS: return "BadArguments";
    case ZK_INVALID_STATE: return "InvalidState";
    case ZK_API_ERROR: return "APIError";
    case ZK_NO_NODE: return "NoNode";
    case ZK_NO_AUTH: return "NoAuth";
    case ZK_BAD_VERSION: return "BadVersion";
    case ZK_NO_CHILDREN_FOR_EPHEMERALS: return "NoChildrenForEphemerals";
    case ZK_NODE_EXISTS: return "NodeExists";
    case ZK_NOT_EMPTY: return "NotEmpty";
    case ZK_SESSION_EXPIRED: return "SessionExpired";
    case ZK_INVALID_ACL: return "InvalidACL";
    case ZK_AUTH_FAILED: return "AuthFailed";
    case ZK_CLOSING: return "Closing";
    case ZK_SESSION_MOVED: return "SessionMoved";
    }
    return "Error";
}

bool zk_rc_is_retriable(int zk_rc)
{
    return zk_rc == ZK_CONNECTION_LOSS || zk_rc == ZK_OPERATION_TIMEOUT ||
           zk_rc == ZK_RUNTIME_INCONSISTENCY || zk_rc == ZK_SESSION_EXPIRED ||
           zk_rc == ZK_SESSION_MOVED;
}

const char *zk_op_name(enum zk_op_type type)
{
    switch (type) {
    case ZK_OP_CREATE: return "create";
    case ZK_OP_DELETE: return "delete";
    case ZK_OP_EXISTS: return "exists";
    case ZK_OP_GET: return "getData";
    case ZK_OP_SET: return "setData";
    case ZK_OP_CHILDREN: return "getChildren";
    case ZK_OP_SYNC: return "sync";
    case ZK_OP_CHECK: return "check";
    case ZK_OP_MULTI: return "multi";
    }
    return "?";
}

const char *zk_op_path(const struct zk_op *op)
{
    return op->part_count ? op->parts[0].path : op->path;
}

size_t zk_op_bytes(const struct zk_op *op)
{
    size_t n = 0;
    for (size_t i = 0; i < op->part_count; i++)
        n += strlen(op->parts[i].path) + op->parts[i].data.len;
    return op->part_count ? n : strlen(op->path) + op->data.len;
}

size_t zk_result_culprit(const struct zk_result *result)
{
    size_t i = 0;
    while (i < result->part_count && result->parts[i].zk_rc == ZK_OK)
        i++;
    return i;
}

const char *zk_event_name(enum zk_event_type type)
{
    switch (type) {
    case ZK_EVENT_CREATED: return "NodeCreated";
    case ZK_EVENT_DELETED: return "NodeDeleted";
    case ZK_EVENT_DATA_CHANGED: return "NodeDataChanged";
    case ZK_EVENT_CHILDREN_CHANGED: return "NodeChildrenChanged";
    case ZK_EVENT_WATCH_LOST: return "WatchLost";
    }
    return "?";
}
