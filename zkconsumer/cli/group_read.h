/* Reads a group: what ZooKeeper has under /consumers/<g> and /brokers, and log ends from the
 * leaders. Reads only: nothing is created, not even by a broker (leaders are taken from the topics'
 * state nodes; a Metadata request could make a broker create a topic). */
#ifndef ZKC_CLI_GROUP_READ_H
#define ZKC_CLI_GROUP_READ_H

#include "zkconsumer/cli/brokers.h"
#include "zkconsumer/cli/group_view.h"

/* What is to be read beside the usual; zeros: nothing. */
struct group_read_options {
    const char *const *topics; /* these too, whether the group has to do with them or not */
    size_t topic_count;
    bool without_ends; /* no broker is asked: log ends stay unknown */
    bool watch;        /* leave watches on everything that is read (zk_reader_wait) */
};

struct group_read {
    struct group_view view;
    struct brokers brokers;
    enum zkc_err ends_err; /* ZKC_OK: all log ends are there. Else a reason why some are not:
                            * ZKC_ERR_UNREACHABLE before any other */
    bool is_changing;      /* members or owners came or went during each reading: the parts of the
                            * view may belong to different moments */
};

/* Everything is allocated in `arena`. Reads again, a few times, when members or owners change
 * meanwhile. Errors as zk_reader_run(). A group that is not there is no error (view.exists). */
ZKC_MUST_CHECK enum zkc_err group_read(struct zk_reader *r, const char *group,
                                       const struct group_read_options *options,
                                       struct arena *arena, struct group_read *out,
                                       struct why *why);

#endif
