/* Between the two files of servers among themselves: zk_quorum.c (transactions, while roles stand)
 * and zk_roles.c (who leads, who follows, and what both agree on before they begin). */
#ifndef STUDY_SIM_ZK_QUORUM_H
#define STUDY_SIM_ZK_QUORUM_H

#include "study/sim/zk_server.h"

static inline uint64_t zk_now(const struct zk_server *s)
{
    return s->e->kernel->now_ns;
}
static inline uint64_t zk_tick_ns(const struct zk_server *s)
{
    return s->e->config.tick_ms * SIM_MS;
}

/* ---- zk_quorum.c ---- */

struct zk_peer_msg *zk_peer_msg_new(struct zk_server *s, enum msg_type type);
/* To the leader; dropped without a connection. */
void zk_send_leader(struct zk_server *s, struct zk_peer_msg *m);
/* To every follower that takes part in transactions. `x` may be NULL. */
void zk_tell_followers(struct zk_server *s, enum msg_type type, struct zk_txn *x, int64_t zxid);

struct zk_txn *zk_history_at(const struct zk_ensemble *e, size_t number);
/* Carries out the next transaction of the history, which heads our log or comes from the leader. */
void zk_apply_next(struct zk_server *s);
/* All that is in the log is on disk with this flush: told to the leader (ACK), counted as a leader.
 */
void zk_flush_log(struct zk_server *s);
/* Leader: commits what a quorum has on disk, in order. */
void zk_commit_ready(struct zk_server *s);
/* Follower: carries out all up to zxid. */
void zk_commit_until(struct zk_server *s, int64_t zxid);

/* Leader: SessionTrackerImpl.roundToInterval, the first tick after. */
uint64_t zk_tick_after(const struct zk_server *s, uint64_t t_ns);
void zk_expire_sessions(struct zk_server *s);

/* ---- zk_roles.c ---- */

/* These carry out a message of the handshake; the leader's side may end its leadership. */
void zk_hello_came(struct zk_server *s, struct conn *conn);
void zk_promise_came(struct zk_server *s, struct zk_follower *f, const struct zk_peer_msg *m);
void zk_epoch_came(struct zk_server *s, const struct zk_peer_msg *m);
void zk_welcome_came(struct zk_server *s, const struct zk_peer_msg *m);
void zk_up_to_date_came(struct zk_server *s, const struct zk_peer_msg *m);
/* Leader: what it waits for may be there now. */
void zk_lead_on(struct zk_server *s);

#endif
