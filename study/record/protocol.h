/* ZooKeeper's client protocol in numbers and names: kinds of requests, errors, events. Names are
 * those of captures (golden scenes and zkstudy record). Source:
 * org.apache.zookeeper.ZooDefs.OpCode, KeeperException.Code, Watcher.Event. */
#ifndef STUDY_RECORD_PROTOCOL_H
#define STUDY_RECORD_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ZK_PROTOCOL_CREATE = 1,
    ZK_PROTOCOL_DELETE = 2,
    ZK_PROTOCOL_EXISTS = 3,
    ZK_PROTOCOL_GET = 4,
    ZK_PROTOCOL_SET = 5,
    ZK_PROTOCOL_CHILDREN = 8,
    ZK_PROTOCOL_SYNC = 9,
    ZK_PROTOCOL_PING = 11,
    ZK_PROTOCOL_CHILDREN2 = 12,
    ZK_PROTOCOL_CHECK = 13,
    ZK_PROTOCOL_MULTI = 14,
    ZK_PROTOCOL_CREATE2 = 15,
    ZK_PROTOCOL_AUTH = 100,
    ZK_PROTOCOL_SET_WATCHES = 101,
    ZK_PROTOCOL_SASL = 102,
    ZK_PROTOCOL_CLOSE = -11,
    ZK_PROTOCOL_ERROR = -1, /* a part of a multi that was refused */
};

/* "create", "getData", ...; "?" for a number that is none. Static. */
const char *zk_protocol_op_name(int32_t op);
/* Its request begins with a path. */
bool zk_protocol_has_path(int32_t op);

/* Requests of the client library itself have fixed xids, and are answered out of order. */
enum { ZK_PROTOCOL_XID_EVENT = -1 };
bool zk_protocol_is_special(int32_t xid);
int32_t zk_protocol_special_op(int32_t xid); /* which; 0: none of them */

const char *zk_protocol_error_name(int32_t err);   /* "NoNode"; "Error": not known */
const char *zk_protocol_event_name(int32_t type);  /* "NodeDeleted"; "None": about the session */
const char *zk_protocol_state_name(int32_t state); /* "SyncConnected"; "?": not known */

#endif
