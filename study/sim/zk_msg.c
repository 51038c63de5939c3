#include "study/sim/zk_msg.h"

static void free_request(struct pool *p, struct zk_request *r)
{
    if (r->type == MSG_ZK_SET_WATCHES) {
        pool_give(p, r->watches);
        return;
    }
    value_unref(p, r->write.data);
    if (r->what != ZK_DO_MULTI)
        return;
    for (uint32_t i = 0; i < r->count; i++)
        value_unref(p, r->writes[i].data);
    pool_give(p, r->writes);
}

static void free_answer(struct pool *p, struct zk_answer *a)
{
    value_unref(p, a->data);
    zk_names_unref(p, a->names);
    pool_give(p, a->parts);
}

static void free_peer(struct pool *p, struct zk_peer_msg *m)
{
    zk_txn_unref(p, m->txn);
    for (size_t i = 0; m->txns && i < m->count; i++)
        zk_txn_unref(p, m->txns[i]);
    pool_give(p, m->txns);
    pool_give(p, m->sessions);
}

void msg_free(struct pool *p, void *message)
{
    struct msg *m = message;
    if (!m)
        return;
    switch (m->type) {
    case MSG_ZK_CONNECT:
    case MSG_ZK_PING:
    case MSG_ZK_REQUEST:
    case MSG_ZK_SET_WATCHES:
    case MSG_ZK_FORWARD: free_request(p, message); break;
    case MSG_ZK_CONNECTED:
    case MSG_ZK_PONG:
    case MSG_ZK_ANSWER:
    case MSG_ZK_EVENT: free_answer(p, message); break;
    case MSG_ZK_HELLO:
    case MSG_ZK_ACK:
    case MSG_ZK_TOUCHED:
    case MSG_ZK_REVALIDATE:
    case MSG_ZK_PROMISE:
    case MSG_ZK_EPOCH:
    case MSG_ZK_UP_TO_DATE:
    case MSG_ZK_WELCOME:
    case MSG_ZK_PROPOSE:
    case MSG_ZK_COMMIT:
    case MSG_ZK_LEADER_PING:
    case MSG_ZK_REVALIDATED:
    case MSG_ZK_SYNCED: free_peer(p, message); break;
    case MSG_FETCH:
    case MSG_FETCHED:
    case MSG_METADATA:
    case MSG_LEADERS:
    case MSG_OFFSETS:
    case MSG_OFFSETS_ANSWER: break;
    }
    pool_give(p, message);
}
