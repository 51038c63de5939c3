/* The inside of an attempt: only for its own files.
 *
 *   attempt.c         the order of phases; memory
 *   attempt_read.c    what is read: brokers, registrations, topics, offsets
 *   attempt_decide.c  the view and the assignment
 *   attempt_claim.c   release and claims
 *
 * A phase has a ..._begin() for its first operation and an ..._answer() for each answer; both give
 * ATTEMPT_NEXT_PHASE at the end of the phase. */
#ifndef ZKC_GROUP_ATTEMPT_PARTS_H
#define ZKC_GROUP_ATTEMPT_PARTS_H

#include "zkconsumer/core/group/attempt.h"

/* ---- attempt.c ---- */

enum attempt_step attempt_no_memory(struct attempt *a);

/* Fails for an answer that is none of those expected. */
enum attempt_step attempt_refused(struct attempt *a, const char *what, const char *path, int zk_rc);

/* Takes over an owned path (NULL: out of memory) and sends a read or a delete of it. */
enum attempt_step attempt_send_take(struct attempt *a, struct zk_op *op, enum zk_op_type type,
                                    char *path, bool watch);

void attempt_free_topics(struct attempt *a);

/* ---- attempt_read.c ---- */

enum attempt_step sync_begin(struct attempt *a, struct zk_op *op);
enum attempt_step sync_answer(struct attempt *a, const struct zk_result *answer);

/* SCAN_PRESENT gives ATTEMPT_NO_BROKERS when there is none. */
enum attempt_step brokers_begin(struct attempt *a, enum scan_mode mode, struct zk_op *op);
enum attempt_step brokers_answer(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op);

enum attempt_step own_begin(struct attempt *a, struct zk_op *op);
enum attempt_step own_answer(struct attempt *a, const struct zk_result *answer, struct zk_op *op);

enum attempt_step topics_begin(struct attempt *a, struct zk_op *op);
enum attempt_step topics_answer(struct attempt *a, const struct zk_result *answer, struct zk_op *op,
                                struct group_outputs *out);

enum attempt_step members_begin(struct attempt *a, struct zk_op *op);
enum attempt_step members_answer(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op);
enum attempt_step members_again_answer(struct attempt *a, const struct zk_result *answer);

enum attempt_step offsets_begin(struct attempt *a, struct zk_op *op);
enum attempt_step offsets_answer(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op, struct group_outputs *out);

/* Goes on after attempt_fetched(). */
enum attempt_step offsets_fetched(struct attempt *a, struct zk_op *op);

/* ---- attempt_decide.c ---- */

enum attempt_step decide_begin(struct attempt *a, struct group_outputs *out);
void view_free(struct attempt_view *v);

/* ---- attempt_claim.c ---- */

enum attempt_step release_begin(struct attempt *a, struct zk_op *op);
enum attempt_step release_answer(struct attempt *a, const struct zk_result *answer,
                                 struct zk_op *op, struct group_outputs *out);

enum attempt_step claims_begin(struct attempt *a, struct zk_op *op, struct group_outputs *out);
enum attempt_step claims_answer(struct attempt *a, const struct zk_result *answer, struct zk_op *op,
                                struct group_outputs *out);

/* Deletes what this attempt has created, one after the other; then ATTEMPT_FAILED. */
enum attempt_step undo_begin(struct attempt *a, struct zk_op *op);
enum attempt_step undo_answer(struct attempt *a, const struct zk_result *answer, struct zk_op *op,
                              struct group_outputs *out);

#endif
