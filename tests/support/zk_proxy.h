/* A TCP link that misbehaves on command, between a client and a server on loopback, on the test's
 * own loop: cut, reset, silence, delay, answers that get lost. Also stands in for a server that is
 * not there at all: without an upstream it takes connections and follows its mode. */
#ifndef ZKC_TESTS_ZK_PROXY_H
#define ZKC_TESTS_ZK_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct zk_proxy;

enum zk_proxy_mode {
    ZK_PROXY_PASS,
    ZK_PROXY_SILENT, /* takes connections and bytes, passes nothing on in either direction */
    ZK_PROXY_STUCK,  /* takes connections and reads nothing: the peer's send buffer fills */
    ZK_PROXY_SLAM,   /* closes new connections as soon as something was read from them */
    ZK_PROXY_REFUSE, /* does not listen */
};

/* Listens on a free port. upstream_port 0: none. Aborts the test on errors, as everything here. */
struct zk_proxy *zk_proxy_new(struct event_base *base, int upstream_port);
void zk_proxy_free(struct zk_proxy *p);
int zk_proxy_port(const struct zk_proxy *p);

/* Holds for the connections there are, and new ones. */
void zk_proxy_set_mode(struct zk_proxy *p, enum zk_proxy_mode mode);

void zk_proxy_cut(struct zk_proxy *p);   /* ends all connections (FIN) */
void zk_proxy_reset(struct zk_proxy *p); /* ends them with RST */

/* Bytes of the server are passed on this much later; 0: at once. */
void zk_proxy_set_delay_ms(struct zk_proxy *p, int delay_ms);

/* The n-th answer from now on (1: the next) is swallowed and its connection reset; pings and watch
 * events do not count. The server has carried the request out. */
void zk_proxy_drop_answer(struct zk_proxy *p, unsigned n);

size_t zk_proxy_connections(const struct zk_proxy *p); /* open now */
size_t zk_proxy_accepted(const struct zk_proxy *p);    /* in all */

#endif
