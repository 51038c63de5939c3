/* One TCP connection to one broker, on the loop: requests out, answers in, strictly in order
 * (Kafka guarantees it; wire-protocol "Correlation and order"). Connects when there is something to
 * send, and again, after a jittered backoff that doubles, when it was lost. It never sends a
 * request twice: when the connection is lost, everything unanswered is answered with the reason.
 *
 * Everything happens on the loop's thread. Nothing blocks. SIGPIPE is never raised (MSG_NOSIGNAL).
 *
 * The broker is not trusted: an answer size that is not positive or above the limit closes the
 * connection before any memory is taken for it, and so do a wrong correlation id and an answer that
 * nobody asked for. */
#ifndef ZKC_IO_BROKER_CONNECTION_H
#define ZKC_IO_BROKER_CONNECTION_H

#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/io/frame.h"
#include <zkconsumer/error.h>

struct event_base;
struct resolver;

struct broker_connection;

/* Texts are copied; base and resolver are borrowed and must outlive the connection. */
struct broker_connection_config {
    struct event_base *base;
    struct resolver *resolver;
    const char *host; /* name or numeric address */
    uint16_t port;
    const char *client_id;      /* client.id; NULL is sent as null */
    int64_t request_timeout_ms; /* socket.timeout.ms: from send to answer, connecting included */
    int64_t backoff_ms;        /* before the first reconnect; doubles with every failure in a row */
    int64_t backoff_max_ms;    /* up to this */
    int receive_buffer_bytes;  /* socket.receive.buffer.bytes (SO_RCVBUF); 0: the system's choice */
    size_t response_bytes_max; /* largest answer that is taken */
    size_t send_bytes_max;     /* requests that wait to be written, together */
    size_t requests_max;       /* requests that wait for their answer */
    uint64_t seed;             /* of the jitter */

    /* For people (may be NULL). Level 7: connected, closed by the broker while idle, broke with
     * requests waiting (which get the text as well); level 4: broke with nobody to tell. Must not
     * call back. */
    void (*on_log)(int level, const char *text, void *user);
    void *user;
};

/* An answer, or that there will be none; called exactly once for each request that was accepted, in
 * the order they were sent, never from inside broker_connection_send(). The callback may send and
 * may close the connection.
 *
 * ZKC_OK               `body` is what follows the correlation id, a view into `frame`; keep it with
 *                      frame_ref(). `text` is NULL
 * ZKC_ERR_UNREACHABLE  name does not resolve, connection refused or lost
 * ZKC_ERR_TIMED_OUT    no answer within request_timeout_ms
 * ZKC_ERR_PROTOCOL     the broker sent what the protocol does not allow
 * ZKC_ERR_TOO_LARGE    the answer is larger than response_bytes_max
 * ZKC_ERR_SYSTEM       no descriptor, no buffer
 * ZKC_ERR_NOMEM
 * ZKC_ERR_CLOSED       broker_connection_close()
 *
 * On an error `frame` is NULL, and `text` (lent for the call) says with host and port what
 * happened; all requests of a connection that broke get the same. */
typedef void broker_response_fn(enum zkc_err err, struct frame *frame, struct bytes body,
                                const char *text, void *user);

/* NULL: out of memory. Does not connect yet. */
struct broker_connection *broker_connection_new(const struct broker_connection_config *config);

/* Sends a request: the header is made here, `body` is copied. On an error nothing is sent and
 * on_response is not called.
 *
 * ZKC_ERR_TOO_LARGE  send_bytes_max or requests_max would be exceeded
 * ZKC_ERR_CLOSED     closing (from a callback inside broker_connection_close)
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err broker_connection_send(struct broker_connection *c, int16_t api_key,
                                                   int16_t api_version, struct bytes body,
                                                   broker_response_fn *on_response, void *user);

/* What is not written at this time (boot_clock.h) is not written any more: the connection is dropped,
 * and all that is unanswered is answered with ZKC_ERR_TIMED_OUT. Holds until it is set anew, for all
 * requests; INT64_MAX, as in the beginning: no limit. */
void broker_connection_write_until(struct broker_connection *c, int64_t boot_ms);

/* Drops the connection if there is one (an answer could not be decoded, a broker moved): whatever
 * is unanswered is answered with ZKC_ERR_PROTOCOL and `reason`, from the loop; the next send
 * connects again. */
void broker_connection_reset(struct broker_connection *c, const char *reason);

/* Ends it. Requests without an answer are answered with ZKC_ERR_CLOSED from inside this call; after
 * it nothing is called any more. Allowed in callbacks. NULL is allowed. */
void broker_connection_close(struct broker_connection *c);

/* For statistics and tests. */
struct broker_connection_stats {
    uint64_t connects;         /* connections established */
    uint64_t connect_failures; /* attempts that failed */
    uint64_t requests;
    uint64_t responses;
    uint64_t bytes_sent;
    uint64_t bytes_received;
    size_t in_flight; /* requests without an answer now */
    bool is_connected;
};
void broker_connection_stats(const struct broker_connection *c,
                             struct broker_connection_stats *out);

/* "host:port", IPv6 literals in brackets; lent as long as the connection. */
const char *broker_connection_name(const struct broker_connection *c);

#endif
