/* consume --exec: messages of one partition at a time become the input of a command, and are
 * committed before it runs or after it has succeeded.
 *
 * A commit names the one partition. When that is not ours any more nothing is written: then, with
 * "before", the command does not run, since whoever has it now gets the messages; with "after" they
 * are processed again there, which is what at least once means. */
#ifndef ZKC_CLI_CONSUME_EXEC_H
#define ZKC_CLI_CONSUME_EXEC_H

#include "zkconsumer/cli/command.h"
#include "zkconsumer/cli/consume_plan.h"

struct consume_exec {
    const struct consume_plan *plan;
    zkc_consumer *consumer;
    bool commits; /* there is a group to commit for */
    /* What is gathered for the next run: `count` messages of one partition. */
    struct buf input;
    char *topic, *key; /* owned */
    int32_t partition;
    int64_t first, last; /* offsets */
    int64_t count;
    bool has_failed;
    enum cli_exit code; /* CLI_DONE until it has failed; then nothing more may be added */
};

void consume_exec_init(struct consume_exec *e, const struct consume_plan *plan,
                       zkc_consumer *consumer);
void consume_exec_deinit(struct consume_exec *e);

/* Adds a message, after running the command for those of another partition, and before running it
 * when enough have come together. False: it is time to end (e->code). */
bool consume_exec_add(struct consume_exec *e, const struct format_source *source);

/* Runs the command for what has been gathered. False: as above. */
bool consume_exec_flush(struct consume_exec *e);

#endif
