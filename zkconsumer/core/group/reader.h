/* A reader of single partitions, outside of any group protocol: nothing is registered or claimed.
 * Happy path: connected -> stored offsets are read where asked for -> assigned -> leaders are
 * found. Offsets are committed on request only, by the same committer as a member's. What a member
 * does about leaders, lost connections and ended sessions holds here too; an ended session costs a
 * reader nothing. */
#ifndef ZKC_GROUP_READER_H
#define ZKC_GROUP_READER_H

#include "zkconsumer/core/group/input.h"
#include "zkconsumer/core/group/leader_finder.h"
#include "zkconsumer/core/group/offset_committer.h"
#include "zkconsumer/core/group/offset_manager.h"

struct reader_partition {
    const char *topic;
    int32_t partition;
    int64_t offset;    /* handed through in the claims of GROUP_OUT_ASSIGN */
    bool wants_stored; /* replaced by the group's stored offset; -1 if there is none */
};

/* Everything is copied. */
struct reader_config {
    const char *group;                         /* NULL: nothing can be stored or committed */
    const struct reader_partition *partitions; /* each once; wants_stored only with a group */
    size_t partition_count;
    int64_t refresh_leader_backoff_ms;
    enum commit_store offsets_in; /* of zk_compat_config, these three; the offset manager is */
    int64_t offsets_channel_backoff_ms; /* looked for when it is needed */
    int64_t offsets_channel_timeout_ms;
    uint64_t seed;
};

struct reader;

/* ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err reader_new(const struct reader_config *config, struct reader **out);
void reader_free(struct reader *r); /* NULL is allowed */

/* As zk_compat_step() and so on. */
void reader_step(struct reader *r, const struct group_input *in, struct group_outputs *out);
int64_t reader_deadline_ms(const struct reader *r);
const struct group_claim *reader_held(const struct reader *r, size_t *count);
const char *reader_state_name(const struct reader *r); /* new, reading, owning, leaving, closed */

#endif
