/* Names to addresses without blocking: libevent's evdns, which asks the servers of /etc/resolv.conf
 * and honours /etc/hosts; both files are read again when they have changed. Numeric addresses cost
 * no lookup. One resolver serves all sessions and broker connections of a loop, on its thread.
 *
 * libevent tells the troubles of name servers to one function of the process (evdns_set_log_fn),
 * by default stderr. The first resolver silences it: the text of a failed lookup says what was
 * wrong. */
#ifndef ZKC_IO_RESOLVER_H
#define ZKC_IO_RESOLVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <zkconsumer/export.h>

struct event_base;

union resolver_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* What connect() and bufferevent_socket_connect() want beside &address->any. */
socklen_t resolver_address_len(const union resolver_address *address);

#define RESOLVER_TEXT_MAX 80 /* "[address%interface]:port" with its terminator */

/* "127.0.0.1:2181", "[::1]:2181", "[fe80::1%eth0]:2181". Returns `out`. */
const char *resolver_address_text(const union resolver_address *address,
                                  char out[RESOLVER_TEXT_MAX]);

/* Addresses in the order of the answer, IPv4 and IPv6, each once, with the port that was asked for.
 */
struct resolver_result {
    const union resolver_address *addresses;
    size_t count;
    const char *error; /* NULL: at least one address; else text such as "no such host" */
};

/* Borrowed for the call. */
typedef void resolver_fn(const struct resolver_result *result, void *user);

struct resolver;
struct resolver_request;

struct resolver_options {
    struct event_base *base; /* outlives the resolver */
    const char *nameserver;  /* "address:port" to ask instead of the servers of resolv.conf; NULL */
    const char *hosts_path;  /* NULL: /etc/hosts */
};

/* NULL: out of memory. No file is read and no socket opened before the first name is looked up. */
struct resolver *resolver_new(struct event_base *base);
struct resolver *resolver_new_with(const struct resolver_options *options);

/* Lookups under way are given up without a call of their fn. libevent frees what it holds for them
 * in the loop's next turn: let it turn once more before event_base_free(). NULL is allowed. */
void resolver_free(struct resolver *r);

/* Calls fn once, from the loop, never from inside this function. `host` is a name or a numeric
 * address (IPv6 without brackets), copied. Takes as long as the name servers' timeouts allow, some
 * 15 s at worst: whoever waits has a limit of its own and cancels.
 * NULL: out of memory; fn is not called. The handle is valid until fn is called or until it is
 * cancelled. */
struct resolver_request *resolver_lookup(struct resolver *r, const char *host, uint16_t port,
                                         resolver_fn *fn, void *user);

/* fn will not be called any more. NULL is allowed. */
void resolver_cancel(struct resolver_request *request);

#endif
