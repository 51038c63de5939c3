/* Sessions under test: one loop, one real server, a record of all that a session told, and counts
 * of what the C client did to the process. */
#ifndef ZKC_TESTS_ZK_SESSION_HARNESS_H
#define ZKC_TESTS_ZK_SESSION_HARNESS_H

#include "tests/support/zk_proxy.h"
#include "tests/support/zk_server.h"
#include "tests/unit/test.h"
#include "zkconsumer/io/resolver.h"
#include "zkconsumer/io/zk_session.h"

#include <event2/event.h>

#define TICK_MS 5

/* The server's: sessions live at least this long. */
#define SESSION_TIMEOUT_MS 1000

struct world {
    struct event_base *base;
    struct resolver *resolver;
    struct zk_server server;
    size_t ticks;           /* of a timer of TICK_MS on the loop: it stands while the loop does */
    void (*on_tick)(void);  /* may be NULL */
    unsigned loop_warnings; /* of libevent: a registration that is stale */
    unsigned getaddrinfos;  /* calls in the process */
    unsigned reseeds;       /* of random() or drand48() */
    unsigned blocked_polls; /* poll() calls that waited for nothing: in zookeeper_close() */
};

extern struct world world;

/* Runs the tests against a server with these options, or skips them. `avoid`: backends of libevent
 * not to use, ended by NULL. */
int run_group(const char *name, const struct CMUnitTest *tests, size_t count,
              const struct zk_server_options *options, const char *const *avoid);

/* In which callback a session closes itself. */
enum close_in {
    CLOSE_NOWHERE,
    CLOSE_IN_CONNECTED,
    CLOSE_IN_SUSPENDED,
    CLOSE_IN_EXPIRED,
    CLOSE_IN_UNREACHABLE,
    CLOSE_IN_AUTH_FAILED,
    CLOSE_IN_WATCH,
    CLOSE_IN_RESULT,
};

struct app {
    struct zk_session *s; /* NULL: closed */
    unsigned connected, new_sessions, suspended, expired, auth_failed, unreachable;
    int64_t session_id;
    int32_t timeout_ms;
    char server[64], notice[1024];

    unsigned sent, answered, ok, lost, closing, other, refused_inside;
    int last_rc;
    unsigned last_number;        /* of the request answered last */
    unsigned out_of_order;       /* server's answers that came before earlier requests' */
    unsigned answered_at_expiry; /* when EXPIRED was told */
    unsigned suspended_at_loss;  /* when the first request was lost */
    struct zk_stat stat;
    int64_t zxid;
    char data[256];     /* of the last get; "(null)" */
    char children[256]; /* "a b " in byte order */
    char parts[256];    /* of the last multi: "Ok Ok 1 ": zk_rc, and version where one was set */
    size_t part_count, culprit;

    unsigned watches;
    enum zk_event_type watch_type;
    char watch_path[128];

    unsigned warnings, errors; /* log lines */
    char log[512];             /* the last warning of our own */

    enum close_in close_in;
    bool is_closing; /* app_close() was called */
    int64_t close_deadline_ms;
    unsigned closed;
    bool is_released;
    unsigned calls_after_closed;

    void (*on_suspended)(struct app *);
    void (*on_answer)(struct app *, int zk_rc);
};

struct app_options {
    const char *connect;       /* NULL: the server */
    struct resolver *resolver; /* NULL: that of the world */
    int64_t timeout_ms;        /* 0: 4000 */
    uint64_t seed;
    const char *auth, *private_path;
};

struct app *app_open(const struct app_options *options);
/* Opens one on the server and waits until it is connected. */
struct app *app_connect(void);
struct app *app_connect_to(const char *connect);

void app_send(struct app *a, enum zk_op_type type, const char *path);
void app_send_op(struct app *a, const struct zk_op *op);
/* Sends it and waits for the answer. */
int app_do(struct app *a, enum zk_op_type type, const char *path);
int app_do_op(struct app *a, const struct zk_op *op);
int app_create(struct app *a, const char *path, const char *data, bool is_ephemeral);
int app_watch(struct app *a, enum zk_op_type type, const char *path);
int app_ensure_chroot(struct app *a);

void app_close(struct app *a, int64_t deadline_ms);
/* Closes it, waits, checks that each request was answered once, and frees the record. */
void app_end(struct app *a);

/* "127.0.0.1:port/chroot" in one of a few static buffers. */
const char *at(int port, const char *chroot);
const char *two(int port1, int port2);

/* One turn of the loop. False: the test has waited too long. */
bool turn(void);
void patience_start(void);
void turn_ticks(size_t n);

#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        patience_start();                                                                          \
        while (!(condition))                                                                       \
            if (!turn())                                                                           \
                fail_msg("%s:%d: never: %s", __FILE__, __LINE__, #condition);                      \
    } while (0)

unsigned open_descriptors(void);

#endif
