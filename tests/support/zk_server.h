/* A private ZooKeeper server for C tests: Debian's zookeeper.jar (or another release:
 * ZKC_TEST_ZOOKEEPER_CLASSPATH), on a free loopback port, with its data in a temporary folder. It
 * dies with the test that started it, however that ends. Nothing here returns an error: what fails
 * says so on stderr, with the server's log, and aborts the test.
 */
#ifndef ZKC_TESTS_ZK_SERVER_H
#define ZKC_TESTS_ZK_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ZK_SERVER_DIR_MAX 64

struct zk_server_options {
    int tick_ms;                /* 0: 200. Session timeouts end at a multiple of it */
    int session_timeout_min_ms; /* 0: two ticks */
    const char *extra;          /* more lines of zoo.cfg; NULL */
};

struct zk_server {
    int port;  /* on 127.0.0.1 */
    pid_t pid; /* 0: not running */
    char dir[ZK_SERVER_DIR_MAX];
};

/* Exit status of a test that cannot run here; ctest's SKIP_RETURN_CODE. */
#define TEST_SKIPPED 77

/* Ends the process with TEST_SKIPPED and a reason on stdout if there is no java or zookeeper.jar.
 */
void zk_server_require(void);

void zk_server_init(struct zk_server *s, const struct zk_server_options *options);
/* Returns when it serves. A restart keeps port and data. */
void zk_server_start(struct zk_server *s);
void zk_server_kill(struct zk_server *s);   /* SIGKILL */
void zk_server_freeze(struct zk_server *s); /* SIGSTOP: holds connections, says nothing */
void zk_server_thaw(struct zk_server *s);
/* Kills it and removes its folder. */
void zk_server_deinit(struct zk_server *s);

/* The answer to a four letter word ("cons", "dump", "srvr"), cut at size; "" when there is none. */
void zk_server_ask(const struct zk_server *s, const char *word, char *out, size_t size);

/* Ends a session from outside, as its expiry would: takes it over by its id and closes it. Its
 * password follows from the id in ZooKeeper (SessionTrackerImpl, generatePasswd of
 * ZooKeeperServer). False: there is no such session. */
bool zk_server_expire(const struct zk_server *s, int64_t session_id);

/* A port that nobody listens on. */
int zk_server_free_port(void);

#endif
