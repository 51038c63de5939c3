/* The servers of zookeeper.connect: their addresses, and the list of them that the C client takes.
 * A server whose name cannot be looked up does not keep the others waiting, and a name that could
 * be looked up once keeps its addresses until there are newer ones. */
#ifndef ZKC_IO_ZK_SERVERS_H
#define ZKC_IO_ZK_SERVERS_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/zk/connect.h"
#include "zkconsumer/io/resolver.h"

typedef void zk_servers_fn(void *user);

struct zk_servers_host {
    struct zk_servers *owner;
    struct zk_host host;               /* owned */
    struct resolver_request *request;  /* under way; NULL */
    union resolver_address *addresses; /* owned; in byte order */
    size_t count;
    char *error; /* owned; of the last lookup; NULL: it worked, or is the first */
};

struct zk_servers {
    struct resolver *resolver;
    struct zk_servers_host *servers;
    size_t count;
    size_t list_len; /* entries of the last list */
    bool is_changed; /* there are other addresses than in the last list */
    zk_servers_fn *on_answer;
    void *user;
};

/* Takes the hosts out of *connect (leaves none in it), also when it fails: out of memory. on_answer
 * is called from the loop after each answer. */
bool zk_servers_init_take(struct zk_servers *s, struct resolver *resolver,
                          struct zk_connect *connect, zk_servers_fn *on_answer, void *user);
void zk_servers_deinit(struct zk_servers *s);

/* Looks all names up that are not being looked up. */
void zk_servers_resolve(struct zk_servers *s);
bool zk_servers_is_resolving(const struct zk_servers *s);

size_t zk_servers_address_count(const struct zk_servers *s);

/* All addresses, shuffled, as "address:port,address:port", to be freed by the caller; NULL without
 * any, or without memory. The client skips every other address after a failure (ZOOKEEPER-2466), so
 * their number is made odd by repeating some, and different from that of the last list
 * (zk_client_set_servers). */
char *zk_servers_list(struct zk_servers *s, struct rng *rng);

/* "h1:2181,h2:2181". */
void zk_servers_format(const struct zk_servers *s, struct buf *out);

/* "h1: no such host, h2: no answer from the name servers": of those without an address. */
void zk_servers_format_errors(const struct zk_servers *s, struct buf *out);

#endif
