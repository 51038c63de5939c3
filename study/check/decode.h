/* One line of a trace (rbtrace/1) as an event. The other direction: study/trace/event_json.h. */
#ifndef STUDY_CHECK_DECODE_H
#define STUDY_CHECK_DECODE_H

#include "study/trace/event.h"
#include "zkconsumer/core/base/arena.h"
#include "zkconsumer/core/base/why.h"
#include <jansson.h>

#define TRACE_LINE_MAX ((size_t)16 * 1024 * 1024)

struct trace_decoder {
    struct arena arena; /* behind the event */
    json_t *line;       /* the same */
};

void trace_decoder_init(struct trace_decoder *d);
void trace_decoder_deinit(struct trace_decoder *d);

enum trace_line {
    TRACE_LINE_EVENT,
    TRACE_LINE_UNKNOWN, /* in order, and of a type that is not known here: only t, src and seq of
                         * the event are set */
    TRACE_LINE_BROKEN,  /* why says what is wrong and what was expected */
};

/* Everything that the event points to is lent until the next call. `gs` of a line without one is
 * UINT64_MAX. Keys that are not known are ignored. */
enum trace_line trace_decode(struct trace_decoder *d, struct bytes line, struct trace_event *out,
                             struct why *why);

/* m_exit.code of a member whose trace has no end: how it ended is not known. */
#define TRACE_EXIT_UNKNOWN (-1)

#endif
