#include "zkconsumer/core/zk/broker.h"
#include "zkconsumer/core/zk/json.h"
#include <stdlib.h>

#define HOST_LEN_MAX 255 /* of a name in DNS; longer ones cannot be resolved */

struct endpoint {
    struct bytes listener; /* name of the listener: before 0.10.2 the protocol itself */
    struct bytes host;     /* without brackets; may be empty: all interfaces */
    int32_t port;
};

static bool read_port(struct bytes text, int32_t *out)
{
    int32_t port = 0;
    if (!text.len || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        port = port * 10 + (text.data[i] - '0');
    }
    *out = port;
    return port >= 1 && port <= 65535;
}

/* LISTENER://host:port, the host an IPv6 address in brackets or not (kafka.cluster.EndPoint). */
static bool read_endpoint(const char *text, struct endpoint *out)
{
    const char *scheme_end = strstr(text, "://");
    const char *colon = strrchr(text, ':');
    if (!scheme_end || colon < scheme_end + 3)
        return false;
    out->listener = bytes_of(text, (size_t)(scheme_end - text));
    out->host = bytes_of(scheme_end + 3, (size_t)(colon - scheme_end - 3));
    if (out->host.len >= 2 && out->host.data[0] == '[' && out->host.data[out->host.len - 1] == ']')
        out->host = bytes_of(out->host.data + 1, out->host.len - 2);
    return out->host.len > 0 && out->host.len <= HOST_LEN_MAX &&
           read_port(bytes_of_text(colon + 1), &out->port);
}

/* The protocol of a listener: by the map, or the name itself where the map has none. */
static bool is_plaintext(struct bytes listener, json_t *protocols)
{
    json_t *protocol = json_object_getn(protocols, (const char *)listener.data, listener.len);
    if (!json_is_string(protocol))
        return bytes_equal_text(listener, "PLAINTEXT");
    return strcmp(json_string_value(protocol), "PLAINTEXT") == 0;
}

static bool find_plaintext(json_t *json, struct endpoint *out)
{
    json_t *endpoints = json_object_get(json, "endpoints");
    json_t *protocols = json_object_get(json, "listener_security_protocol_map");
    for (size_t i = 0; i < json_array_size(endpoints); i++) {
        const char *text = json_string_value(json_array_get(endpoints, i));
        if (text && read_endpoint(text, out) && is_plaintext(out->listener, protocols))
            return true;
    }
    return false;
}

static bool find_host_and_port(json_t *json, struct endpoint *out)
{
    struct bytes host = bytes_of_text(json_string_value(json_object_get(json, "host")));
    json_int_t port = json_integer_value(json_object_get(json, "port"));
    if (!host.len || host.len > HOST_LEN_MAX || port < 1 || port > 65535)
        return false;
    *out = (struct endpoint){.host = host, .port = (int32_t)port};
    return true;
}

static enum zkc_err explain_no_address(json_t *json, struct why *why)
{
    json_t *endpoints = json_object_get(json, "endpoints");
    if (!json_array_size(endpoints)) {
        why_set(why, "no usable \"host\" and \"port\", and no \"endpoints\"");
        return ZKC_ERR_CORRUPT;
    }
    char *shown = json_dumps(endpoints, JSON_COMPACT | JSON_ENCODE_ANY);
    why_set(why,
            "no endpoint without encryption or authentication (PLAINTEXT), only %s: this client "
            "speaks neither TLS nor SASL",
            shown ? shown : "others");
    free(shown);
    return ZKC_ERR_UNREACHABLE;
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

static enum zkc_err read_fields(json_t *json, struct zk_broker *out, struct why *why)
{
    struct endpoint reach;
    if (!find_host_and_port(json, &reach) && !find_plaintext(json, &reach))
        return explain_no_address(json, why);
    json_int_t version = json_integer_value(json_object_get(json, "version"));
    char *host = copy(reach.host);
    if (!host)
        return ZKC_ERR_NOMEM;
    *out = (struct zk_broker){
        .host = host,
        .port = reach.port,
        .version = version > 0 && version <= INT32_MAX ? (int32_t)version : 0,
    };
    return ZKC_OK;
}

enum zkc_err zk_broker_read(struct bytes data, struct zk_broker *out, struct why *why)
{
    json_t *json;
    enum zkc_err err = zk_json_read_object(data, &json, NULL, why);
    if (err)
        return err;
    err = read_fields(json, out, why);
    json_decref(json);
    return err;
}

void zk_broker_deinit(struct zk_broker *broker)
{
    free(broker->host);
    *broker = (struct zk_broker){.host = NULL};
}
