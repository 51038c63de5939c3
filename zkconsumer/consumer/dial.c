#include "zkconsumer/consumer/dial.h"

struct broker_connection *dial_broker(struct dial *d, const char *host, int32_t port,
                                      size_t response_bytes_max)
{
    return dial_broker_within(d, host, port, response_bytes_max, d->conf->socket_timeout_ms);
}

struct broker_connection *dial_broker_within(struct dial *d, const char *host, int32_t port,
                                             size_t response_bytes_max, int64_t timeout_ms)
{
    struct broker_connection_config config = {
        .base = d->base,
        .resolver = d->resolver,
        .host = host,
        .port = (uint16_t)port,
        .client_id = d->conf->client_id,
        .request_timeout_ms = timeout_ms,
        .backoff_ms = 50,
        .backoff_max_ms = 2000,
        .receive_buffer_bytes = d->conf->socket_receive_buffer_bytes,
        .response_bytes_max = response_bytes_max,
        .send_bytes_max = DIAL_REQUEST_BYTES_MAX,
        .requests_max = 4,
        .seed = rng_next(&d->rng),
    };
    return broker_connection_new(&config);
}
