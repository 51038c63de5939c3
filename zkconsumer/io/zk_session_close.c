/* Ending a session without blocking. zookeeper_close() would wait for the server, so CLOSE goes out
 * by hand, on the client's own connection; from then on the client is not fed any more, and what
 * comes is only looked through for the server's answer. */
#include "zkconsumer/io/zk_session_internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

/* The client counts its own up from the time of day, and would have to send a billion more. */
#define CLOSE_XID 0x7ffffff0u
#define CLOSE_OP  (-11)

void zk_session_close(struct zk_session *s, int64_t deadline_ms, zk_session_closed_fn *on_closed,
                      void *user)
{
    assert(!s->is_closing);
    s->is_closing = true;
    s->close_deadline_ms = deadline_ms > 0 ? deadline_ms : 0;
    s->on_closed = on_closed;
    s->closed_user = user;
    zk_session_kick(s);
}

static bool send_close(struct zk_session *s)
{
    uint32_t frame[] = {htonl(8), htonl(CLOSE_XID), htonl((uint32_t)CLOSE_OP)};
    return send(s->client.fd, frame, sizeof frame, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof frame;
}

/* Nothing may be put into the middle of a request that is half sent. */
static void drain(struct zk_session *s)
{
    int64_t wait_ms;

    if (!zk_client_wait(&s->client, &wait_ms)) {
        zk_session_finish(s, false);
    } else if (s->client.events & EV_WRITE) {
        zk_client_listen(&s->client, EV_WRITE);
    } else if (send_close(s)) {
        s->link = ZK_LINK_CONFIRMING;
        zk_client_listen(&s->client, EV_READ);
    } else {
        zk_session_finish(s, false);
    }
}

void zk_session_close_begin(struct zk_session *s)
{
    if (!zk_session_is_connected(s)) {
        zk_session_finish(s, false);
        return;
    }
    s->link = ZK_LINK_DRAINING;
    zk_session_arm(s, s->close_deadline_ms);
    drain(s);
}

static void remember_tail(struct zk_session *s, const uint8_t *data, size_t len)
{
    uint8_t *tail = s->close_answer;

    if (len >= ZK_CLOSE_ANSWER_BYTES) {
        memcpy(tail, data + len - ZK_CLOSE_ANSWER_BYTES, ZK_CLOSE_ANSWER_BYTES);
    } else {
        memmove(tail, tail + len, ZK_CLOSE_ANSWER_BYTES - len);
        memcpy(tail + ZK_CLOSE_ANSWER_BYTES - len, data, len);
    }
}

/* The server answers CLOSE last and then ends the connection, so its answer is the end of what was
 * read, wherever in a packet the client had stopped reading. */
static bool is_confirmed(const struct zk_session *s)
{
    uint32_t word[ZK_CLOSE_ANSWER_BYTES / 4];

    memcpy(word, s->close_answer, sizeof word);
    return ntohl(word[0]) == 16 && ntohl(word[1]) == CLOSE_XID && word[4] == 0;
}

static void confirm(struct zk_session *s)
{
    uint8_t data[4096];
    ssize_t n = recv(s->client.fd, data, sizeof data, MSG_DONTWAIT);

    if (n > 0)
        remember_tail(s, data, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        zk_session_finish(s, is_confirmed(s));
}

void zk_session_close_io(struct zk_session *s)
{
    if (s->link == ZK_LINK_CONFIRMING) {
        confirm(s);
        return;
    }
    zk_client_process(&s->client, EV_WRITE);
    drain(s);
}
