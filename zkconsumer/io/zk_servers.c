#include "zkconsumer/io/zk_servers.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>

#define LIST_BYTES_MAX (1 << 17) /* ZK_CONNECT_HOSTS_MAX names of 16 addresses */

bool zk_servers_init_take(struct zk_servers *s, struct resolver *resolver,
                          struct zk_connect *connect, zk_servers_fn *on_answer, void *user)
{
    *s = (struct zk_servers){.resolver = resolver, .on_answer = on_answer, .user = user};
    s->servers = calloc(connect->host_count, sizeof *s->servers);
    if (!s->servers)
        return false;
    s->count = connect->host_count;
    for (size_t i = 0; i < s->count; i++) {
        s->servers[i].owner = s;
        s->servers[i].host = connect->hosts[i];
        connect->hosts[i].name = NULL;
    }
    return true;
}

void zk_servers_deinit(struct zk_servers *s)
{
    for (size_t i = 0; i < s->count; i++) {
        resolver_cancel(s->servers[i].request);
        free(s->servers[i].host.name);
        free(s->servers[i].addresses);
        free(s->servers[i].error);
    }
    free(s->servers);
    *s = (struct zk_servers){0};
}

/* ---- looking up ---- */

static int compare_addresses(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(union resolver_address));
}

static void take_addresses(struct zk_servers_host *server, const struct resolver_result *result)
{
    size_t bytes = result->count * sizeof *result->addresses;
    union resolver_address *addresses = malloc(bytes);

    if (!addresses)
        return; /* keeps the old ones */
    memcpy(addresses, result->addresses, bytes);
    qsort(addresses, result->count, sizeof *addresses, compare_addresses);
    if (result->count == server->count && memcmp(addresses, server->addresses, bytes) == 0) {
        free(addresses);
        return;
    }
    free(server->addresses);
    server->addresses = addresses;
    server->count = result->count;
    server->owner->is_changed = true;
}

static void on_lookup(const struct resolver_result *result, void *user)
{
    struct zk_servers_host *server = user;

    server->request = NULL;
    free(server->error);
    server->error = result->error ? strdup(result->error) : NULL;
    if (result->count > 0)
        take_addresses(server, result);
    server->owner->on_answer(server->owner->user);
}

void zk_servers_resolve(struct zk_servers *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct zk_servers_host *server = &s->servers[i];
        if (!server->request)
            server->request = resolver_lookup(s->resolver, server->host.name, server->host.port,
                                              on_lookup, server);
    }
}

bool zk_servers_is_resolving(const struct zk_servers *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->servers[i].request)
            return true;
    return false;
}

size_t zk_servers_address_count(const struct zk_servers *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->servers[i].count;
    return count;
}

/* ---- the client's list ---- */

/* The client takes "::1:2181" for IPv6, not "[::1]:2181". */
static void format_address(const union resolver_address *address, struct buf *out)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (getnameinfo(&address->any, resolver_address_len(address), host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        buf_appendf(out, "%s%s:%s", out->len ? "," : "", host, port);
}

static void shuffle(const union resolver_address **v, size_t n, struct rng *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = rng_below(rng, i);
        const union resolver_address *moved = v[i - 1];
        v[i - 1] = v[j];
        v[j] = moved;
    }
}

char *zk_servers_list(struct zk_servers *s, struct rng *rng)
{
    size_t count = zk_servers_address_count(s), len = count | 1, n = 0;
    const union resolver_address **order;
    struct buf text;

    if (count == 0 || !(order = calloc(count, sizeof *order)))
        return NULL;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->servers[i].count; k++)
            order[n++] = &s->servers[i].addresses[k];
    shuffle(order, count, rng);
    if (len == s->list_len)
        len += 2;
    buf_init(&text, LIST_BYTES_MAX);
    for (size_t i = 0; i < len; i++)
        format_address(order[i % count], &text);
    free(order);
    if (!buf_text(&text)) {
        buf_deinit(&text);
        return NULL;
    }
    s->list_len = len;
    s->is_changed = false;
    return (char *)text.data;
}

/* ---- texts ---- */

void zk_servers_format(const struct zk_servers *s, struct buf *out)
{
    for (size_t i = 0; i < s->count; i++) {
        if (i > 0)
            buf_append_byte(out, ',');
        zk_host_format(&s->servers[i].host, out);
    }
}

void zk_servers_format_errors(const struct zk_servers *s, struct buf *out)
{
    const char *separator = "";
    for (size_t i = 0; i < s->count; i++) {
        const struct zk_servers_host *server = &s->servers[i];
        if (server->count > 0 || !server->error)
            continue;
        buf_appendf(out, "%s%s: %s", separator, server->host.name, server->error);
        separator = ", ";
    }
}
