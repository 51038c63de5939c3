/* One connection to one broker, for tools that ask and wait. */
#ifndef ZKC_CLI_BROKER_LINK_H
#define ZKC_CLI_BROKER_LINK_H

#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/wire/codec.h"
#include <zkconsumer/error.h>

struct broker_link;

/* Does not connect yet. timeout_ms is for each request, connecting included. NULL: out of memory or
 * of descriptors. The caller ends it with broker_link_close(). */
struct broker_link *broker_link_open(const char *host, uint16_t port, const char *client_id,
                                     int64_t timeout_ms);

/* Sends a request and waits for its answer. The codec functions are the message's
 * descriptions. What the answer points to is in `arena`, and in the link until its next call. Asks
 * stop.h: a stop ends the wait with ZKC_ERR_CLOSED.
 *
 * ZKC_ERR_UNREACHABLE, ZKC_ERR_TIMED_OUT, ZKC_ERR_PROTOCOL, ZKC_ERR_TOO_LARGE, ZKC_ERR_NOMEM: `why`
 * says what happened where */
typedef void broker_link_fields(struct wire_codec *c, void *message);
ZKC_MUST_CHECK enum zkc_err broker_link_ask(struct broker_link *link, int16_t api_key,
                                            int16_t api_version, broker_link_fields *request_fields,
                                            void *request, broker_link_fields *response_fields,
                                            void *response, struct arena *arena, struct why *why);

/* NULL is allowed. */
void broker_link_close(struct broker_link *link);

#endif
