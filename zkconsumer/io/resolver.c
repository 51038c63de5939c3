/* A lookup asks, in this order: is the name an address, is it in the hosts file, and then the name
 * servers, for IPv4 and IPv6 at once. libevent's own evdns_getaddrinfo() would do the same, but
 * holds on to its evdns base after that was freed while an answer is on its way, and knows the
 * hosts file only as it was at the start. */
#include "zkconsumer/io/resolver.h"

#include "zkconsumer/io/hosts_file.h"
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ADDRESSES_MAX   16 /* of one name; more are dropped */
#define HOSTS_BYTES_MAX (1 << 20)
#define RESOLV_CONF     "/etc/resolv.conf"

/* Once one family has answered, the other may take this long. Longer than RFC 8305's 50 ms: nobody
 * waits for a page here, and half a list of addresses costs a failed attempt later. */
static const struct timeval family_skew = {.tv_usec = 200 * 1000};

/* One question to the name servers. */
struct query {
    struct resolver_request *request;
    struct evdns_request *handle; /* NULL: not asked, or answered */
    int error;                    /* DNS_ERR_* */
};

struct resolver_request {
    struct resolver *r; /* NULL: done or cancelled, waits only for evdns to let go of it */
    struct resolver_request *prev, *next;
    resolver_fn *fn;
    void *user;
    struct event wake; /* delivers */
    struct query v4, v6;
    const char *error;
    uint16_t port;
    size_t count, count_v4; /* IPv4 addresses come first */
    union resolver_address addresses[ADDRESSES_MAX];
};

struct resolver {
    struct event_base *base;
    struct evdns_base *evdns;        /* NULL before the first question */
    struct timespec resolv_conf_age; /* of the file that evdns was made from */
    struct resolver_request *requests;
    char *nameserver, *hosts_path; /* owned */
};

socklen_t resolver_address_len(const union resolver_address *address)
{
    return address->any.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

const char *resolver_address_text(const union resolver_address *address,
                                  char out[RESOLVER_TEXT_MAX])
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    bool is_v6 = address->any.sa_family == AF_INET6;

    if (getnameinfo(&address->any, resolver_address_len(address), host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(out, RESOLVER_TEXT_MAX, "?");
    else
        snprintf(out, RESOLVER_TEXT_MAX, is_v6 ? "[%.64s]:%.5s" : "%.64s:%.5s", host, port);
    return out;
}

/* ---- requests ---- */

static void request_unlink(struct resolver_request *request)
{
    if (request->prev)
        request->prev->next = request->next;
    else
        request->r->requests = request->next;
    if (request->next)
        request->next->prev = request->prev;
    request->r = NULL;
}

static void request_free_if_idle(struct resolver_request *request)
{
    if (!request->v4.handle && !request->v6.handle)
        free(request);
}

/* Ends it towards the caller. evdns answers the cancelled questions in the next turn; until then it
 * points to the request. */
static void request_abandon(struct resolver_request *request)
{
    struct evdns_base *evdns = request->r->evdns;

    request_unlink(request);
    event_del(&request->wake);
    if (request->v4.handle)
        evdns_cancel_request(evdns, request->v4.handle);
    if (request->v6.handle)
        evdns_cancel_request(evdns, request->v6.handle);
}

static const char *error_text(const struct resolver_request *request)
{
    int e4 = request->v4.error, e6 = request->v6.error;

    if (request->error)
        return request->error;
    if (e4 == DNS_ERR_TIMEOUT || e6 == DNS_ERR_TIMEOUT)
        return "no answer from the name servers";
    if (e4 == DNS_ERR_NOTEXIST || e6 == DNS_ERR_NOTEXIST)
        return "no such host";
    if (e4 == DNS_ERR_NODATA)
        return "the name has no address";
    return evdns_err_to_string(e4);
}

static void request_deliver(struct resolver_request *request)
{
    struct resolver_result result = {.addresses = request->addresses, .count = request->count};

    if (result.count == 0)
        result.error = error_text(request);
    request_abandon(request);
    request->fn(&result, request->user);
    request_free_if_idle(request);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    request_deliver(arg);
}

static void request_add(struct resolver_request *request, const union resolver_address *address)
{
    bool is_v4 = address->any.sa_family == AF_INET;
    size_t at = is_v4 ? request->count_v4 : request->count;

    if (request->count == ADDRESSES_MAX)
        return;
    for (size_t i = 0; i < request->count; i++)
        if (memcmp(&request->addresses[i], address, sizeof *address) == 0)
            return;
    memmove(&request->addresses[at + 1], &request->addresses[at],
            (request->count - at) * sizeof *address);
    request->addresses[at] = *address;
    request->count++;
    request->count_v4 += is_v4;
}

/* ---- name servers ---- */

static void request_add_answer(struct resolver_request *request, char type, int count,
                               const void *data)
{
    for (int i = 0; i < count; i++) {
        union resolver_address address = {0};
        if (type == DNS_IPv4_A) {
            address.v4.sin_family = AF_INET;
            address.v4.sin_port = htons(request->port);
            memcpy(&address.v4.sin_addr, (const struct in_addr *)data + i, sizeof(struct in_addr));
        } else {
            address.v6.sin6_family = AF_INET6;
            address.v6.sin6_port = htons(request->port);
            memcpy(&address.v6.sin6_addr, (const struct in6_addr *)data + i,
                   sizeof(struct in6_addr));
        }
        request_add(request, &address);
    }
}

static void on_answer(int error, char type, int count, int ttl, void *addresses, void *arg)
{
    struct query *query = arg;
    struct resolver_request *request = query->request;

    (void)ttl;
    query->handle = NULL;
    query->error = error;
    if (!request->r) {
        request_free_if_idle(request);
        return;
    }
    if (error == DNS_ERR_NONE)
        request_add_answer(request, type, count, addresses);
    if (!request->v4.handle && !request->v6.handle)
        request_deliver(request);
    else if (request->count > 0)
        event_add(&request->wake, &family_skew);
}

static void drop_line(int is_warning, const char *text)
{
    (void)is_warning;
    (void)text;
}

static void silence_evdns(void)
{
    evdns_set_log_fn(drop_line);
}

static struct timespec resolv_conf_age(const struct resolver *r)
{
    struct stat st;
    if (r->nameserver || stat(RESOLV_CONF, &st) != 0)
        return (struct timespec){0};
    return st.st_mtim;
}

static bool is_asking(const struct resolver *r)
{
    for (const struct resolver_request *request = r->requests; request; request = request->next)
        if (request->v4.handle || request->v6.handle)
            return true;
    return false;
}

/* The name servers, as resolv.conf has them now. */
static struct evdns_base *open_evdns(struct resolver *r)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct timespec age = resolv_conf_age(r);

    if (r->evdns && !is_asking(r) &&
        (age.tv_sec != r->resolv_conf_age.tv_sec || age.tv_nsec != r->resolv_conf_age.tv_nsec)) {
        evdns_base_free(r->evdns, 0);
        r->evdns = NULL;
    }
    if (r->evdns)
        return r->evdns;
    pthread_once(&once, silence_evdns);
    r->evdns = evdns_base_new(r->base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (!r->evdns)
        return NULL;
    r->resolv_conf_age = age;
    if (r->nameserver)
        evdns_base_nameserver_ip_add(r->evdns, r->nameserver);
    else /* whatever it returns: without a usable file it takes 127.0.0.1, as resolv.conf(5) says */
        evdns_base_resolv_conf_parse(
            r->evdns, DNS_OPTION_SEARCH | DNS_OPTION_NAMESERVERS | DNS_OPTION_MISC, RESOLV_CONF);
    return r->evdns;
}

static void ask_name_servers(struct resolver_request *request, const char *host)
{
    struct evdns_base *evdns = open_evdns(request->r);

    if (!evdns) {
        request->error = "out of memory or descriptors";
    } else {
        request->v4.handle = evdns_base_resolve_ipv4(evdns, host, 0, on_answer, &request->v4);
        request->v6.handle = evdns_base_resolve_ipv6(evdns, host, 0, on_answer, &request->v6);
        if (!request->v4.handle && !request->v6.handle)
            request->error = "not a valid host name";
    }
    if (request->error)
        event_active(&request->wake, EV_TIMEOUT, 1);
}

/* ---- the hosts file ---- */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    struct stat st;

    if (!file)
        return NULL;
    if (fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) && st.st_size < HOSTS_BYTES_MAX)
        text = malloc((size_t)st.st_size + 1);
    if (text)
        text[fread(text, 1, (size_t)st.st_size, file)] = '\0';
    fclose(file);
    return text;
}

static bool ask_hosts_file(struct resolver_request *request, const char *host)
{
    union resolver_address found[ADDRESSES_MAX];
    char *text = read_file(request->r->hosts_path ? request->r->hosts_path : "/etc/hosts");
    size_t count = text ? hosts_file_find(text, host, request->port, found, ADDRESSES_MAX) : 0;

    free(text);
    for (size_t i = 0; i < count; i++)
        request_add(request, &found[i]);
    return count > 0;
}

/* ---- interface ---- */

struct resolver_request *resolver_lookup(struct resolver *r, const char *host, uint16_t port,
                                         resolver_fn *fn, void *user)
{
    struct resolver_request *request = calloc(1, sizeof *request);
    union resolver_address numeric;

    if (!request)
        return NULL;
    request->r = r;
    request->fn = fn;
    request->user = user;
    request->port = port;
    request->v4.request = request->v6.request = request;
    event_assign(&request->wake, r->base, -1, 0, on_wake, request);
    request->next = r->requests;
    if (r->requests)
        r->requests->prev = request;
    r->requests = request;

    if (hosts_file_numeric(host, port, &numeric)) {
        request_add(request, &numeric);
        event_active(&request->wake, EV_TIMEOUT, 1);
    } else if (ask_hosts_file(request, host)) {
        event_active(&request->wake, EV_TIMEOUT, 1);
    } else {
        ask_name_servers(request, host);
    }
    return request;
}

void resolver_cancel(struct resolver_request *request)
{
    if (!request)
        return;
    request_abandon(request);
    request_free_if_idle(request);
}

struct resolver *resolver_new_with(const struct resolver_options *options)
{
    struct resolver *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->base = options->base;
    if (options->nameserver)
        r->nameserver = strdup(options->nameserver);
    if (options->hosts_path)
        r->hosts_path = strdup(options->hosts_path);
    if ((options->nameserver && !r->nameserver) || (options->hosts_path && !r->hosts_path)) {
        resolver_free(r);
        return NULL;
    }
    return r;
}

struct resolver *resolver_new(struct event_base *base)
{
    return resolver_new_with(&(struct resolver_options){.base = base});
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    while (r->requests)
        resolver_cancel(r->requests);
    if (r->evdns)
        evdns_base_free(r->evdns, 0);
    free(r->nameserver);
    free(r->hosts_path);
    free(r);
}
