/* A ZooKeeper in memory, for machines that speak in operations: nodes, ephemerals, one-time
 * watches, and clients whose requests and answers travel in order, each at its own pace. */
#ifndef ZKC_TEST_ZK_MODEL_H
#define ZKC_TEST_ZK_MODEL_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/zk/op.h"

#define MODEL_CLIENTS_MAX 8

struct model_node {
    char *path;
    uint8_t *data; /* NULL: null */
    size_t len;
    struct zk_stat stat;
};

struct model_watch {
    int client;
    char *path;
    bool is_child;
};

/* Something on its way to a client. */
struct model_arrival {
    bool is_event;
    enum zk_event_type event;
    char *path;              /* of an event */
    uint32_t slot, seq;      /* of a result */
    struct zk_result result; /* data and children owned */
};

struct model_request {
    uint32_t slot, seq;
    struct zk_op op; /* path and data owned */
};

struct model_client {
    bool is_connected;
    int64_t session; /* 0: none */
    struct model_request *requests;
    size_t request_count;
    struct model_arrival *arrivals;
    size_t arrival_count;
};

struct zk_model {
    struct model_node *nodes; /* by path */
    size_t node_count;
    struct model_watch *watches;
    size_t watch_count;
    int64_t zxid, last_session;
    struct model_client clients[MODEL_CLIENTS_MAX];
    /* Writes of a client, a line each: "create /path data E", "setData /path data 3",
     * "delete /path"; failed ones end in their error. */
    struct buf writes[MODEL_CLIENTS_MAX];
};

struct zk_model *zk_model_new(void);
void zk_model_free(struct zk_model *z);

/* An operation from nowhere, at once (a tool's). The result's data and children live until the next
 * call. */
struct zk_result zk_model_do(struct zk_model *z, const struct zk_op *op);
int zk_model_create(struct zk_model *z, const char *path, const char *data);
int zk_model_set(struct zk_model *z, const char *path, const char *data);
int zk_model_delete(struct zk_model *z, const char *path);
/* The data as text, NULL: no node, or no data. Until the next write. */
const char *zk_model_text(struct zk_model *z, const char *path);
bool zk_model_has(struct zk_model *z, const char *path);

/* Begins a session; the last one must have ended. */
int64_t zk_model_session(struct zk_model *z, int client);
void zk_model_send(struct zk_model *z, int client, uint32_t slot, uint32_t seq,
                   const struct zk_op *op);
/* The server takes the client's next request. False: there is none. */
bool zk_model_serve(struct zk_model *z, int client);
/* What arrives next at the client; owned by the caller (model_arrival_free). False: nothing. */
bool zk_model_arrive(struct zk_model *z, int client, struct model_arrival *out);
void model_arrival_free(struct model_arrival *a);
/* The connection breaks: requests on their way are lost after `served` of them were taken, answers
 * are lost; events are kept for when the client is back. Calls lost() for each. */
void zk_model_cut(struct zk_model *z, int client, size_t served);
/* The session ends: ephemerals and watches go, and all that is on its way. */
void zk_model_expire(struct zk_model *z, int client);

#endif
