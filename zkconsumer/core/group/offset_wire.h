/* Between the offset manager's questions and their bytes: ConsumerMetadata 0 (FindCoordinator),
 * OffsetFetch 1, OffsetCommit 1, filled in as 0.8.2's consumer does: generation -1, no member id,
 * time -1 (when it is received), no metadata. */
#ifndef ZKC_GROUP_OFFSET_WIRE_H
#define ZKC_GROUP_OFFSET_WIRE_H

#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"
#include "zkconsumer/core/group/input.h"

/* Api key and version of a request. */
int16_t offset_wire_api(enum group_offsets_request request);
int16_t offset_wire_version(enum group_offsets_request request);

/* Appends the body of a GROUP_OUT_OFFSETS_ASK. `arena` is scratch. ZKC_ERR_NOMEM;
 * ZKC_ERR_TOO_LARGE: more than the buffer takes. */
ZKC_MUST_CHECK enum zkc_err offset_wire_encode(const struct group_output *ask, struct arena *arena,
                                               struct buf *body);

/* Reads an answer into *out, whose lists and texts live in the arena. ZKC_ERR_PROTOCOL,
 * ZKC_ERR_NOMEM; `why` says what was wrong. */
ZKC_MUST_CHECK enum zkc_err offset_wire_decode(enum group_offsets_request request,
                                               struct bytes body, struct arena *arena,
                                               struct group_offsets_answer *out, struct why *why);

#endif
