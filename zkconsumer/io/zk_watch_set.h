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

/* Whether to believe that the servers' limit is what keeps the session from being taken up again:
 * `cuts` connections in a row ended soon after they were there, before anything was answered.
 * `packet_bytes` is the limit we were told of, and theirs may be smaller. Three cuts will do when
 * the watches come to an eighth of it. Fewer watches may be too much as well (each attempt makes
 * the session live on, so it would go on for ever), but other troubles are as likely then, and end:
 * a session in which nothing is answered twelve times in a row is not worth keeping. */
bool zk_watch_set_is_refused(const struct zk_watch_set *w, unsigned cuts, size_t packet_bytes);

#endif
