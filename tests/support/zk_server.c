#include "tests/support/zk_server.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JAR     "/usr/share/java/zookeeper.jar"
#define LOG_JAR "/usr/share/java/slf4j-simple.jar"

#define START_MAX_S 60

static void fail(const struct zk_server *s, const char *what)
{
    char command[128];
    fprintf(stderr, "zk_server: %s\n", what);
    snprintf(command, sizeof command, "tail -n 40 %s/server.log >&2", s->dir);
    if (system(command) != 0)
        fprintf(stderr, "zk_server: no log\n");
    abort();
}

static const char *classpath(void)
{
    const char *other = getenv("ZKC_TEST_ZOOKEEPER_CLASSPATH");
    return other ? other : JAR ":" LOG_JAR;
}

void zk_server_require(void)
{
    if (!getenv("ZKC_TEST_ZOOKEEPER_CLASSPATH") && access(JAR, R_OK) != 0)
        printf("SKIPPED: " JAR " is missing (package libzookeeper-java)\n");
    else if (system("java -version >/dev/null 2>&1") != 0)
        printf("SKIPPED: no java (package default-jdk-headless)\n");
    else
        return;
    exit(TEST_SKIPPED);
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int zk_server_free_port(void)
{
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (struct sockaddr *)&address, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        abort();
    close(fd);
    return ntohs(address.sin_port);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- process ---- */

void zk_server_init(struct zk_server *s, const struct zk_server_options *options)
{
    int tick_ms = options->tick_ms ? options->tick_ms : 200;
    int min_ms = options->session_timeout_min_ms ? options->session_timeout_min_ms : 2 * tick_ms;
    const char *tmp = getenv("TMPDIR");
    char path[ZK_SERVER_DIR_MAX + 16];
    FILE *file;

    *s = (struct zk_server){.port = zk_server_free_port()};
    snprintf(s->dir, sizeof s->dir, "%.40s/zk-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(s->dir))
        fail(s, "mkdtemp");
    snprintf(path, sizeof path, "%s/zoo.cfg", s->dir);
    file = fopen(path, "we");
    if (!file)
        fail(s, path);
    fprintf(file,
            "tickTime=%d\nminSessionTimeout=%d\nmaxSessionTimeout=60000\ndataDir=%s/data\n"
            "clientPort=%d\nclientPortAddress=127.0.0.1\nclientPortListenBacklog=4096\n"
            "admin.enableServer=false\n4lw.commands.whitelist=*\nforceSync=no\npreAllocSize=1024\n"
            "snapCount=1000000\n%s\n",
            tick_ms, min_ms, s->dir, s->port, options->extra ? options->extra : "maxClientCnxns=0");
    fclose(file);
}

static void run_java(const struct zk_server *s)
{
    char config[ZK_SERVER_DIR_MAX + 16], log[ZK_SERVER_DIR_MAX + 16];
    int fd;

    snprintf(config, sizeof config, "%s/zoo.cfg", s->dir);
    snprintf(log, sizeof log, "%s/server.log", s->dir);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fd = open(log, O_CREAT | O_WRONLY | O_APPEND, 0644);
    dup2(fd, 1);
    dup2(fd, 2);
    execlp("java", "java", "-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
           "-XX:-UsePerfData", "-Dzookeeper.jmx.log4j.disable=true",
           "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classpath(),
           "org.apache.zookeeper.server.quorum.QuorumPeerMain", config, (char *)NULL);
    _exit(127);
}

void zk_server_start(struct zk_server *s)
{
    int64_t until = now_ms() + START_MAX_S * 1000;
    char text[2048];

    s->pid = fork();
    if (s->pid < 0)
        fail(s, "fork");
    if (s->pid == 0)
        run_java(s);
    while (now_ms() < until) {
        zk_server_ask(s, "srvr", text, sizeof text);
        if (strstr(text, "Mode:"))
            return;
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
            fail(s, "the server ended");
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    fail(s, "the server does not serve");
}

void zk_server_kill(struct zk_server *s)
{
    if (s->pid == 0)
        return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

void zk_server_freeze(struct zk_server *s)
{
    kill(s->pid, SIGSTOP);
    waitpid(s->pid, NULL, WUNTRACED); /* until all of its threads stand */
}
void zk_server_thaw(struct zk_server *s)
{
    kill(s->pid, SIGCONT);
}

void zk_server_deinit(struct zk_server *s)
{
    char command[ZK_SERVER_DIR_MAX + 16];

    zk_server_kill(s);
    snprintf(command, sizeof command, "rm -rf '%s'", s->dir);
    if (system(command) != 0)
        fprintf(stderr, "zk_server: %s is left\n", s->dir);
}

/* ---- blocking little clients ---- */

static int dial(const struct zk_server *s, int timeout_ms)
{
    struct sockaddr_in address = loopback(s->port);
    struct timeval timeout = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* With a short patience: a connection that was taken just before the server was ready is never
 * answered. */
void zk_server_ask(const struct zk_server *s, const char *word, char *out, size_t size)
{
    int fd = dial(s, 200);
    size_t len = 0;
    ssize_t n = 1;

    if (fd != -1 && send(fd, word, strlen(word), MSG_NOSIGNAL) > 0)
        while (len < size - 1 && n > 0)
            if ((n = recv(fd, out + len, size - 1 - len, 0)) > 0)
                len += (size_t)n;
    out[len] = '\0';
    if (fd != -1)
        close(fd);
}

/* java.util.Random(id ^ superSecret).nextBytes(16) */
static void session_password(int64_t session_id, uint8_t out[16])
{
    const uint64_t mask = (UINT64_C(1) << 48) - 1, multiplier = 0x5DEECE66D;
    uint64_t seed = (((uint64_t)session_id ^ 0xB3415C00) ^ multiplier) & mask;

    for (int i = 0; i < 16; i += 4) {
        uint32_t word;
        seed = (seed * multiplier + 0xB) & mask;
        word = htole32((uint32_t)(seed >> 16));
        memcpy(out + i, &word, 4);
    }
}

struct __attribute__((packed)) connect_request {
    uint32_t frame_len;
    uint32_t protocol;
    uint64_t last_zxid;
    uint32_t timeout_ms;
    uint64_t session_id;
    uint32_t password_len;
    uint8_t password[16];
    uint8_t is_read_only;
};

bool zk_server_expire(const struct zk_server *s, int64_t session_id)
{
    struct connect_request request = {.frame_len = htobe32(sizeof request - 4),
                                      .timeout_ms = htobe32(30000),
                                      .session_id = htobe64((uint64_t)session_id),
                                      .password_len = htobe32(16)};
    uint32_t close_request[] = {htobe32(8), htobe32(1), htobe32((uint32_t)-11)};
    uint8_t answer[64];
    uint64_t answered_id = 0;
    int fd = dial(s, 10000);

    session_password(session_id, request.password);
    if (fd == -1 || send(fd, &request, sizeof request, MSG_NOSIGNAL) != sizeof request)
        fail(s, "expire: no connection");
    if (recv(fd, answer, 20, MSG_WAITALL) == 20) /* length, protocol, timeout, session id */
        memcpy(&answered_id, answer + 12, 8);
    if (be64toh(answered_id) == (uint64_t)session_id) {
        if (send(fd, close_request, sizeof close_request, MSG_NOSIGNAL) < 0)
            fail(s, "expire: close");
        while (recv(fd, answer, sizeof answer, 0) > 0)
            ;
    }
    close(fd);
    return be64toh(answered_id) == (uint64_t)session_id;
}
