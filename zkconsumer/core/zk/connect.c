#include "zkconsumer/core/zk/connect.h"
#include "zkconsumer/core/zk/path.h"
#include <stdlib.h>

#define EXPECTED      "expected host1:port1,host2:port2/chroot"
#define HOST_NAME_MAX 255 /* of DNS */

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct bytes trim(struct bytes b)
{
    while (b.len && is_blank(b.data[0]))
        b = bytes_of(b.data + 1, b.len - 1);
    while (b.len && is_blank(b.data[b.len - 1]))
        b.len--;
    return b;
}

static struct bytes from(struct bytes b, size_t at)
{
    return bytes_of(b.data + at, b.len - at);
}

/* Position of a byte, or b.len. */
static size_t find(struct bytes b, char c)
{
    const uint8_t *at = b.len ? memchr(b.data, c, b.len) : NULL;
    return at ? (size_t)(at - b.data) : b.len;
}

static char *copy(struct bytes b)
{
    char *text = malloc(b.len + 1);
    if (text) {
        memcpy(text, b.data, b.len);
        text[b.len] = '\0';
    }
    return text;
}

static enum zkc_err parse_port(struct bytes text, struct bytes host, uint16_t *out, struct why *why)
{
    uint32_t port = 0;
    bool good = text.len >= 1 && text.len <= 5;
    for (size_t i = 0; good && i < text.len; i++) {
        good = text.data[i] >= '0' && text.data[i] <= '9';
        port = port * 10 + (text.data[i] - (uint32_t)'0');
    }
    if (!good || port < 1 || port > 65535) {
        why_set(why, "zookeeper.connect: port \"%s\" of \"%s\"; expected a number in 1 .. 65535",
                why_quote(text).text, why_quote(host).text);
        return ZKC_ERR_CONFIG;
    }
    *out = (uint16_t)port;
    return ZKC_OK;
}

/* The end of the host's name in `text`: what follows is nothing, or ':' and the port. An IPv6
 * address is in brackets, or it could not be told from its port. */
static enum zkc_err split_host(struct bytes text, struct bytes *name, struct bytes *port,
                               struct why *why)
{
    struct bytes rest;
    if (text.len && text.data[0] == '[') {
        size_t end = find(text, ']');
        if (end == text.len) {
            why_set(why, "zookeeper.connect: \"%s\" has no closing ']'", why_quote(text).text);
            return ZKC_ERR_CONFIG;
        }
        *name = bytes_of(text.data + 1, end - 1);
        rest = from(text, end + 1);
        if (rest.len && rest.data[0] != ':') {
            why_set(why, "zookeeper.connect: \"%s\": expected ':' and a port after ']'",
                    why_quote(text).text);
            return ZKC_ERR_CONFIG;
        }
    } else {
        size_t end = find(text, ':');
        *name = bytes_of(text.data, end);
        rest = from(text, end);
        if (rest.len && find(from(rest, 1), ':') < rest.len - 1) {
            why_set(why,
                    "zookeeper.connect: \"%s\" has several ':'; write an IPv6 address in "
                    "brackets, [::1]:2181, and separate hosts by ','",
                    why_quote(text).text);
            return ZKC_ERR_CONFIG;
        }
    }
    *port = rest.len ? from(rest, 1) : BYTES_NULL;
    return ZKC_OK;
}

static bool is_letter_or_digit(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* A name or an IPv4 address: what DNS and hosts files take. */
static enum zkc_err check_name(struct bytes name, struct bytes text, struct why *why)
{
    if (!name.len || name.len > HOST_NAME_MAX) {
        why_set(why, "zookeeper.connect: \"%s\": expected a host name of 1 to %d bytes",
                why_quote(text).text, HOST_NAME_MAX);
        return ZKC_ERR_CONFIG;
    }
    for (size_t i = 0; i < name.len; i++) {
        if (is_letter_or_digit(name.data[i]) || memchr("._-", name.data[i], 3))
            continue;
        why_set(why, "zookeeper.connect: \"%s\" in host \"%s\"; " EXPECTED,
                why_quote_first(from(name, i)).text, why_quote(text).text);
        return ZKC_ERR_CONFIG;
    }
    return ZKC_OK;
}

/* What stands in brackets: an IPv6 address, with its interface after '%' if it has one. Only its
 * characters are looked at: the resolver knows the rest. */
static enum zkc_err check_ipv6(struct bytes name, struct bytes text, struct why *why)
{
    size_t percent = find(name, '%');
    bool good = name.len <= HOST_NAME_MAX && find(name, ':') < percent && percent + 1 != name.len;
    for (size_t i = 0; i < name.len; i++) {
        bool is_hex = is_letter_or_digit(name.data[i]) && (name.data[i] | 0x20) <= 'f';
        if (i < percent)
            good = good && (is_hex || name.data[i] == ':' || name.data[i] == '.');
        else if (i > percent)
            good = good && (is_letter_or_digit(name.data[i]) || memchr("._-", name.data[i], 3));
    }
    if (good)
        return ZKC_OK;
    why_set(why, "zookeeper.connect: \"%s\": expected an IPv6 address in the brackets",
            why_quote(text).text);
    return ZKC_ERR_CONFIG;
}

static enum zkc_err parse_host(struct bytes text, size_t number, struct zk_host *out,
                               struct why *why)
{
    struct bytes name, port;
    if (!text.len) {
        why_set(why, "zookeeper.connect: host %zu is empty; " EXPECTED, number);
        return ZKC_ERR_CONFIG;
    }
    enum zkc_err err = split_host(text, &name, &port, why);
    if (!err)
        err = text.data[0] == '[' ? check_ipv6(name, text, why) : check_name(name, text, why);
    out->port = ZK_CONNECT_PORT_DEFAULT;
    if (!err && !bytes_is_null(port))
        err = parse_port(port, text, &out->port, why);
    if (err)
        return err;
    out->name = copy(name);
    return out->name ? ZKC_OK : ZKC_ERR_NOMEM;
}

static enum zkc_err parse_hosts(struct bytes text, struct zk_connect *out, struct why *why)
{
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == ',';
    if (count > ZK_CONNECT_HOSTS_MAX) {
        why_set(why, "zookeeper.connect: %zu hosts; expected at most %d", count,
                ZK_CONNECT_HOSTS_MAX);
        return ZKC_ERR_CONFIG;
    }
    out->hosts = calloc(count, sizeof *out->hosts);
    if (!out->hosts)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        size_t end = find(text, ',');
        struct bytes host = trim(bytes_of(text.data, end));
        enum zkc_err err = parse_host(host, i + 1, &out->hosts[i], why);
        if (err)
            return err;
        out->host_count = i + 1;
        if (i + 1 < count)
            text = from(text, end + 1);
    }
    return ZKC_OK;
}

static enum zkc_err check_element(struct bytes element, struct bytes chroot, struct why *why)
{
    size_t legal = zk_znode_name_span(element);
    if (legal < element.len) {
        why_set(why,
                "zookeeper.connect: chroot \"%s\": \"%s\", which ZooKeeper does not take in the "
                "name of a znode",
                why_quote(chroot).text, why_quote_first(from(element, legal)).text);
        return ZKC_ERR_CONFIG;
    }
    bool is_name =
        element.len && !bytes_equal_text(element, ".") && !bytes_equal_text(element, "..");
    if (is_name && bytes_equal(element, trim(element)))
        return ZKC_OK;
    why_set(why,
            "zookeeper.connect: chroot \"%s\" has the element \"%s\"; expected names that are not "
            "empty, \".\" or \"..\", and have no blank at an end",
            why_quote(chroot).text, why_quote(element).text);
    return ZKC_ERR_CONFIG;
}

/* `text` begins with the chroot's '/'. */
static enum zkc_err parse_chroot(struct bytes text, struct zk_connect *out, struct why *why)
{
    size_t comma = find(text, ',');
    if (comma < text.len) {
        why_set(why,
                "zookeeper.connect: \"%s\" after the chroot \"%s\"; the chroot stands once, after "
                "the last host, and holds for all: " EXPECTED,
                why_quote(from(text, comma)).text, why_quote(bytes_of(text.data, comma)).text);
        return ZKC_ERR_CONFIG;
    }
    if (text.data[text.len - 1] == '/')
        text.len--;
    for (size_t at = 0; at < text.len;) { /* each element, from its '/' */
        struct bytes element = from(text, at + 1);
        element.len = find(element, '/');
        enum zkc_err err = check_element(element, text, why);
        if (err)
            return err;
        at += 1 + element.len;
    }
    out->chroot = copy(text);
    return out->chroot ? ZKC_OK : ZKC_ERR_NOMEM;
}

enum zkc_err zk_connect_parse(const char *text, struct zk_connect *out, struct why *why)
{
    struct bytes all = trim(bytes_of_text(text));
    why_clear(why);
    if (!all.len || all.len > ZK_CONNECT_TEXT_MAX) {
        why_set(why, "zookeeper.connect has %zu bytes; " EXPECTED ", at most %d bytes", all.len,
                ZK_CONNECT_TEXT_MAX);
        return ZKC_ERR_CONFIG;
    }
    size_t slash = find(all, '/');
    struct zk_connect parsed = {.hosts = NULL};
    enum zkc_err err = slash < all.len ? parse_chroot(from(all, slash), &parsed, why)
                                       : parse_chroot(bytes_of_text("/"), &parsed, why);
    if (!err)
        err = parse_hosts(bytes_of(all.data, slash), &parsed, why);
    if (err)
        zk_connect_deinit(&parsed);
    else
        *out = parsed;
    return err;
}

void zk_connect_deinit(struct zk_connect *connect)
{
    for (size_t i = 0; i < connect->host_count; i++)
        free(connect->hosts[i].name);
    free(connect->hosts);
    free(connect->chroot);
    *connect = (struct zk_connect){.hosts = NULL};
}

void zk_host_format(const struct zk_host *host, struct buf *out)
{
    bool is_ipv6 = strchr(host->name, ':') != NULL;
    buf_appendf(out, is_ipv6 ? "[%s]:%u" : "%s:%u", host->name, (unsigned)host->port);
}

void zk_connect_format(const struct zk_connect *connect, struct buf *out)
{
    for (size_t i = 0; i < connect->host_count; i++) {
        if (i)
            buf_append_byte(out, ',');
        zk_host_format(&connect->hosts[i], out);
    }
    buf_append_text(out, connect->chroot);
}
