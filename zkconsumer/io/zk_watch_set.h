/* The watches that a session has left, as far as their size matters: after a reconnect the C client
 * sets all of them again in one packet, and a server cuts the connection at one that is larger than
 * its jute.maxbuffer, each time anew (ZOOKEEPER-706). Paths are kept as hashes. */
#ifndef ZKC_IO_ZK_WATCH_SET_H
#define ZKC_IO_ZK_WATCH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum zk_watch_kind { ZK_WATCH_NODE, ZK_WATCH_CHILDREN };

struct zk_watch_set {
    uint64_t *slots; /* open addressing; 0: free */
    size_t count, cap;
    size_t bytes; /* that all of them take in a packet, about */
};

void zk_watch_set_deinit(struct zk_watch_set *w); /* empties it; it may be used again */

/* Without memory for it the watch is not counted. */
void zk_watch_set_add(struct zk_watch_set *w, enum zk_watch_kind kind, const char *path);
void zk_watch_set_remove(struct zk_watch_set *w, enum zk_watch_kind kind, const char *path);

#endif
