/* A trace told to people: a line an event, of those that make the story (causes, faults, views,
 * claims, owners, commits, sessions); and transcripts that tests pin.
 *
 *     [    10.250] m1   claims t/0
 */
#ifndef STUDY_SIM_STORY_H
#define STUDY_SIM_STORY_H

#include "study/trace/event.h"
#include "zkconsumer/core/base/buf.h"

enum story_detail {
    STORY_SHORT, /* causes, faults, sessions, rebalances, who owns what */
    STORY_LONG,  /* and views, claims, releases, commits, deliveries */
};

struct story {
    struct buf text;
    enum story_detail detail;
    size_t lines_max; /* later ones are counted, not kept; 0: no limit */
    size_t lines, left_out;
};

void story_init(struct story *s, enum story_detail detail, size_t lines_max);
void story_deinit(struct story *s);

/* A sink: user is the story. */
void story_take(const struct trace_event *event, void *story);

/* The lines so far; lent until the next event. */
const char *story_text(struct story *s);

#endif
