/* zookeeper.connect: host1:port1,host2:port2/chroot. The chroot stands once, after the last host,
 * and holds for all of them. Source: ZooKeeper's ConnectStringParser, and KAFKA-1664,
 * ZOOKEEPER-2282. */
#ifndef ZKC_ZK_CONNECT_H
#define ZKC_ZK_CONNECT_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

#define ZK_CONNECT_PORT_DEFAULT 2181
#define ZK_CONNECT_HOSTS_MAX    64
#define ZK_CONNECT_TEXT_MAX     4096 /* bytes of the whole setting */

struct zk_host {
    char *name; /* name or numeric address; an IPv6 address without its brackets */
    uint16_t port;
};

struct zk_connect {
    struct zk_host *hosts; /* in the order of the text; at least one */
    size_t host_count;
    char *chroot; /* "" (the server's root), or "/a/b": no '/' at the end */
};

/* Takes blanks around hosts and commas, IPv6 addresses in brackets ("[::1]:2181", "[::1]"), one '/'
 * at the end of the chroot (without meaning), and "/" alone (no chroot). On success the caller owns
 * *out and ends it with zk_connect_deinit(); otherwise *out is not touched.
 *
 * ZKC_ERR_CONFIG  `why` says what was found where, and what is expected
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err zk_connect_parse(const char *text, struct zk_connect *out,
                                             struct why *why);

void zk_connect_deinit(struct zk_connect *connect);

/* One host as ZooKeeper's clients take it: "name:port", "[address]:port". */
void zk_host_format(const struct zk_host *host, struct buf *out);

/* The canonical text: every port named, no blanks. */
void zk_connect_format(const struct zk_connect *connect, struct buf *out);

#endif
