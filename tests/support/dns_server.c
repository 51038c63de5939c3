#include "tests/support/dns_server.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TYPE_A = 1, TYPE_AAAA = 28, RCODE_NO_SUCH_NAME = 3 };

struct dns_server {
    struct event *event;
    int fd;
    const struct dns_entry *entries;
    size_t count, questions;
    char address[32];
};

static void put16(uint8_t **at, unsigned value)
{
    *(*at)++ = (uint8_t)(value >> 8);
    *(*at)++ = (uint8_t)value;
}

/* The name of the first question as text; returns what follows it. */
static const uint8_t *read_name(const uint8_t *at, const uint8_t *end, char *out, size_t size)
{
    size_t len = 0;

    while (at < end && *at) {
        size_t label = *at++;
        if (label > (size_t)(end - at) || len + label + 2 > size)
            return NULL;
        if (len)
            out[len++] = '.';
        memcpy(out + len, at, label);
        len += label;
        at += label;
    }
    out[len] = '\0';
    return at < end ? at + 1 : NULL;
}

static unsigned put_records(uint8_t **at, const char *addresses, unsigned type)
{
    char text[256], *save = NULL;
    unsigned count = 0;

    snprintf(text, sizeof text, "%s", addresses ? addresses : "");
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        unsigned len = type == TYPE_A ? 4 : 16;
        put16(at, 0xc00c); /* the name is that of the question */
        put16(at, type);
        put16(at, 1); /* class IN */
        put16(at, 0);
        put16(at, 60); /* lives a minute */
        put16(at, len);
        if (inet_pton(type == TYPE_A ? AF_INET : AF_INET6, word, *at) != 1)
            abort();
        *at += len;
        count++;
    }
    return count;
}

static const struct dns_entry *find(const struct dns_server *d, const char *name)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcasecmp(d->entries[i].name, name) == 0)
            return &d->entries[i];
    return NULL;
}

static void on_question(evutil_socket_t fd, short what, void *arg)
{
    struct dns_server *d = arg;
    uint8_t packet[1500], *at;
    struct sockaddr_in peer;
    socklen_t peer_len = sizeof peer;
    ssize_t n = recvfrom(fd, packet, 512, 0, (struct sockaddr *)&peer, &peer_len);
    char name[256];

    (void)what;
    const uint8_t *rest = n > 12 ? read_name(packet + 12, packet + n, name, sizeof name) : NULL;
    if (!rest || packet + n - rest < 4)
        return;
    d->questions++;
    unsigned type = (unsigned)rest[0] << 8 | rest[1], count = 0;
    const struct dns_entry *entry = find(d, name);
    if (entry && entry->is_silent)
        return;
    at = packet + (rest - packet) + 4;
    if (entry && (type == TYPE_A || type == TYPE_AAAA))
        count = put_records(&at, type == TYPE_A ? entry->v4 : entry->v6, type);
    packet[2] = 0x81; /* an answer, recursion desired */
    packet[3] = (uint8_t)(0x80 | (entry ? 0 : RCODE_NO_SUCH_NAME));
    packet[6] = 0;
    packet[7] = (uint8_t)count;
    memset(packet + 8, 0, 4);
    sendto(fd, packet, (size_t)(at - packet), 0, (struct sockaddr *)&peer, peer_len);
}

struct dns_server *dns_server_new(struct event_base *base, const struct dns_entry *entries,
                                  size_t count)
{
    struct dns_server *d = calloc(1, sizeof *d);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    if (!d)
        abort();
    d->entries = entries;
    d->count = count;
    d->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(d->fd, (struct sockaddr *)&address, len) != 0 ||
        getsockname(d->fd, (struct sockaddr *)&address, &len) != 0)
        abort();
    snprintf(d->address, sizeof d->address, "127.0.0.1:%u", ntohs(address.sin_port));
    d->event = event_new(base, d->fd, EV_READ | EV_PERSIST, on_question, d);
    event_add(d->event, NULL);
    return d;
}

void dns_server_free(struct dns_server *d)
{
    event_free(d->event);
    close(d->fd);
    free(d);
}

const char *dns_server_address(const struct dns_server *d)
{
    return d->address;
}
size_t dns_server_questions(const struct dns_server *d)
{
    return d->questions;
}
