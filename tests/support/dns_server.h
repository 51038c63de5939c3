/* A name server for tests, on UDP on a free loopback port, on the test's own loop. */
#ifndef ZKC_TESTS_DNS_SERVER_H
#define ZKC_TESTS_DNS_SERVER_H

#include <stddef.h>

struct event_base;
struct dns_server;

struct dns_entry {
    const char *name;    /* with its domain, without a dot at the end; in any case of letters */
    const char *v4, *v6; /* addresses, parted by blanks; NULL: an answer without records */
    int is_silent;       /* never answered */
};

/* Names that are not in the list do not exist. The list is borrowed and may be changed. */
struct dns_server *dns_server_new(struct event_base *base, const struct dns_entry *entries,
                                  size_t count);
void dns_server_free(struct dns_server *d);

/* "127.0.0.1:port". */
const char *dns_server_address(const struct dns_server *d);

size_t dns_server_questions(const struct dns_server *d); /* that came */

#endif
