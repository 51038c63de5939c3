/* Apache's single-threaded C client behind an interface without its traps. It owns the client's
 * handle and the registration of its socket with libevent; when to connect and what to tell is the
 * session's business (zk_session.c).
 *
 * What is wrong with the client (3.8.0; the same in 3.9 but for details), and what is done here:
 *
 *   It closes its socket inside any call and reopens it inside another, mostly under the same
 *   number, and tells nobody (ZOOKEEPER-1494). libevent therefore gets a duplicate of ours, which
 *   stays valid until we close it; after every call the handle's state says whether the socket is
 *   still there, and a new one is only opened in zk_client_connect().
 *
 *   A send that fails inside zoo_a...() leaves the handle half dead: no event, no completion, and
 *   queues that do not fit the next connection (since ZOOKEEPER-4210). zk_client_reset().
 *
 *   It resolves names in every call (ZOOKEEPER-1998) and reseeds random(): it is given numeric
 *   addresses only, in an order of ours, and told not to resolve again.
 *
 *   zookeeper_close() waits for the server, up to 3 s (ZOOKEEPER-1105): it only ever sees a socket
 *   that is shut down.
 *
 *   Its sockets are not close-on-exec. It does send with MSG_NOSIGNAL.
 *
 * The client keeps texts and the counter of requests in static memory: sessions on the loops of
 * different threads share those. The counter only has to differ within a connection, and the texts
 * at worst mix two log lines. */
#ifndef ZKC_IO_ZK_CLIENT_H
#define ZKC_IO_ZK_CLIENT_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <zookeeper/zookeeper.h>

typedef void zk_client_io_fn(short events, void *user);
typedef void zk_client_line_fn(int level, const char *cause, const char *text, void *user);

struct zk_client {
    zhandle_t *zh; /* NULL: not open */
    struct event_base *base;
    struct event io;
    int fd;       /* our duplicate of its socket; -1: it has none */
    short events; /* that io is registered for; 0: it is not */
    bool is_corked;
    bool is_stale;   /* its queues belong to a connection that is gone: reset first */
    unsigned depth;  /* calls of the library under way: the handle must not be closed */
    char server[64]; /* of the last attempt: "127.0.0.1:2181", "[::1]:2181"; "" before any */
    int failure;     /* errno of the last failure that it reported; 0: none since connect */
    bool has_zxid;   /* see zk_client_zxid() */
    zk_client_io_fn *on_io;
    zk_client_line_fn *on_line;
    void *user; /* for both */
};

/* Sets the fields; opens nothing. */
void zk_client_init(struct zk_client *c, struct event_base *base, zk_client_io_fn *on_io,
                    zk_client_line_fn *on_line, void *user);

/* `servers` is "address:port,address:port", numeric, an odd number of them. The watcher gets the
 * session's events and those of all watches. False: out of memory. */
bool zk_client_open(struct zk_client *c, const char *servers, int timeout_ms, watcher_fn watcher,
                    void *context);

/* Ends the handle; never blocks. What is under way is answered with ZCLOSING from inside. Not while
 * a call of the library is under way. Does nothing when not open. */
void zk_client_close(struct zk_client *c);

static inline bool zk_client_is_open(const struct zk_client *c)
{
    return c->zh != NULL;
}
static inline bool zk_client_has_socket(const struct zk_client *c)
{
    return c->fd != -1;
}

/* New servers for the next attempts. Their number must differ from the last list's: the client
 * compares lists by number and addresses, without ports. Only without a socket. */
void zk_client_set_servers(struct zk_client *c, const char *servers);

/* Starts to connect to the next server. False: it failed at once; see c->failure. */
bool zk_client_connect(struct zk_client *c);

/* Asks the client what it waits for and registers that. It sends pings and judges silence here.
 * False: the socket is gone. *timeout_ms: ask again then at the latest. */
bool zk_client_wait(struct zk_client *c, int64_t *timeout_ms);

/* Overrides what zk_client_wait() registered: EV_READ, EV_WRITE. */
void zk_client_listen(struct zk_client *c, short events);

/* Lets it write, and read one packet. False: nothing (more) to read, or the socket is gone. */
bool zk_client_process(struct zk_client *c, short events);

/* Breaks the connection, or the attempt; completions get ZCONNECTIONLOSS from inside. */
void zk_client_break(struct zk_client *c);

/* Makes a stale handle consistent: everything that was queued or under way gets ZCONNECTIONLOSS,
 * from inside. Its price is one connection that is dropped at once. */
void zk_client_reset(struct zk_client *c);

/* Around each zoo_a...(): c = the client, outer = what enter returned. The requests of one turn of
 * the loop leave in one packet, at zk_client_flush(). */
struct zk_client *zk_client_enter(struct zk_client *c);
void zk_client_leave(struct zk_client *c, struct zk_client *outer);
void zk_client_cork(struct zk_client *c);
void zk_client_flush(struct zk_client *c);

/* The zxid of the answer that is being delivered; 0 where it cannot be known. The client has no
 * function for it, but keeps it right behind what zoo_client_id() points to, in all releases from
 * 3.4 to 3.9. `at_least`: a zxid that the answer itself names (or 0). An answer that names a later
 * one than we found shows another layout, and ends the guessing. */
int64_t zk_client_zxid(struct zk_client *c, int64_t at_least);

#endif
