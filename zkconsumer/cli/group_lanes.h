/* A group on a terminal: a lane of time for each partition, whose letters are its owners. */
#ifndef ZKC_CLI_GROUP_LANES_H
#define ZKC_CLI_GROUP_LANES_H

#include "zkconsumer/cli/group_diff.h"

#define LANE_COLUMNS_MAX 256
#define LANE_EVENTS_MAX  20

struct group_lane {
    char *topic; /* owned */
    int32_t partition;
    char columns[LANE_COLUMNS_MAX]; /* the last `length` of them; '.': no owner for a moment or all
                                     * the time, '?': more owners than there are letters */
    size_t length;
    char latest; /* of the column that is being made; 0: nothing seen in it yet */
};

struct group_lanes {
    struct group_lane *list; /* owned; in order of appearance */
    size_t count;
    char **owners; /* owned; thread ids by letter, in order of appearance */
    size_t owner_count;
    char *events[LANE_EVENTS_MAX]; /* owned; the last lines, the oldest first */
    size_t event_count;
    bool failed; /* out of memory: lanes may lack columns */
};

void group_lanes_init(struct group_lanes *l);
void group_lanes_deinit(struct group_lanes *l);

/* Who owns what at this moment. */
void group_lanes_note(struct group_lanes *l, const struct group_view *view);

/* Ends the column. */
void group_lanes_tick(struct group_lanes *l);

/* Lines of group_diff_append(). */
void group_lanes_add_events(struct group_lanes *l, const char *lines);

/* A screen of at most `rows` lines of at most `columns` characters (bytes of ASCII), each ended by
 * "\r\n". `time` is shown in the first. */
void group_lanes_append(const struct group_lanes *l, const struct group_moment *now,
                        const char *time, int interval_ms, size_t columns, size_t rows,
                        struct buf *out);

#endif
