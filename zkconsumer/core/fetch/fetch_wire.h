/* The fetcher's requests and answers as bytes: bodies of Fetch 0 and ListOffsets 0, between what
 * the fetcher says (fetcher.h) and what a connection carries.
 *
 *     FETCHER_OUT_FETCH or FETCHER_OUT_LIST_OFFSETS:
 *         fetch_wire_encode(output, &buf, &sent);     send buf; remember `sent` with it
 *     its answer:
 *         fetch_wire_decode(&decoder, &sent, body, &in);
 *         fetcher_step(f, &in, &out);
 *     no answer:
 *         in = fetch_wire_failed(&sent, err); fetcher_step(f, &in, &out); */
#ifndef ZKC_FETCH_FETCH_WIRE_H
#define ZKC_FETCH_FETCH_WIRE_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/fetch/fetcher.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/codec.h"

#define FETCH_WIRE_VERSION 0 /* of both */

/* What of a request is needed again when its answer comes. */
struct fetch_wire_sent {
    enum api_key api;
    uint64_t number; /* the fetcher's */
    size_t count;    /* partitions asked for: an answer may have no more */
};

/* Appends the body of the request to `body`, which keeps a failure (buf.h): without memory the
 * request counts as failed. */
void fetch_wire_encode(const struct fetcher_output *request, struct buf *body,
                       struct fetch_wire_sent *sent);

/* The memory of decoded answers, used again for each one. */
struct fetch_wire_decoder {
    struct fetch_response_view *fetched;
    size_t fetched_cap;
    struct fetcher_listed *listed;
    size_t listed_cap;
    char reason[WIRE_REASON_SIZE]; /* why an answer could not be decoded */
};

void fetch_wire_decoder_init(struct fetch_wire_decoder *d);
void fetch_wire_decoder_deinit(struct fetch_wire_decoder *d);

/* Makes the fetcher's input of an answer's body; the caller adds now_ms. The input lives until the
 * next call and as long as `body`. False: the body is malformed or memory is short; *in is then
 * FETCHER_IN_FAILED, with ZKC_ERR_PROTOCOL or ZKC_ERR_NOMEM, and d->reason says why. After
 * ZKC_ERR_PROTOCOL the connection is not to be trusted any further. */
bool fetch_wire_decode(struct fetch_wire_decoder *d, const struct fetch_wire_sent *sent,
                       struct bytes body, struct fetcher_input *in);

/* The input for a request that has no answer. */
struct fetcher_input fetch_wire_failed(const struct fetch_wire_sent *sent, enum zkc_err err);

#endif
