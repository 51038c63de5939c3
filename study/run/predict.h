/* What theory says that a run comes to, to stand beside what was measured. Formulas F1 to F24 are
 * those of reference/rebalance-study.md 2; where the operations of 0.8.2 were counted
 * (zookeeper-consumer.md 3.3 and R1), the counted ones hold. All are of zookeeper:compat, variant
 * 0.8, at plain topics. */
#ifndef STUDY_RUN_PREDICT_H
#define STUDY_RUN_PREDICT_H

#include "study/run/run.h"

/* NAN: the formulas do not speak of such a scenario. Of chance they say the mean, or how likely it
 * is; failed attempts and their conflicts are taken as measured where what they cost is asked. */
struct predicted {
    double rebalances, notifications; /* F8; a mass start F24: the most, when it takes long */
    double reads, writes, watches;    /* F5 to F7: one member comes or goes; a mass start */
    double tts_s;                     /* F12: the step of the staircase that was lost to */
    double gap_ps;                    /* F1: of a member that is killed */
    double dual_ps;                   /* F15: of one that is cut from ZooKeeper only */
    double give_up_p;                 /* F14: of a lone member, killed and started again */
    double give_up_after_s;           /* F13: a release that takes longer leaves a claimant
                                       * that gives up */
};

struct predicted predict(const struct world *w, const struct run_result *r);

/* The formulas by themselves; times in seconds. */

struct session_times {          /* rebalance-study.md 0.3 */
    double session, tick, ping; /* S, tau, g */
    unsigned servers; /* of more than one, a follower reports the session at the leader's next ping:
                       * U(0, tau/2) later, for (servers - 1)/servers of the members */
};

/* F1, its mean: from a kill until the member's nodes are gone. */
double predict_detection_s(const struct session_times *t);
/* F13: retries r, backoff b, attempt A, and from an attempt's begin until its last claim. */
double predict_give_up_after_s(double retries, double backoff_s, double attempt_s,
                               double until_claim_s);
/* F14: P(U(0, tau) - U(0, g) > x), x = lasting - S, and with the follower's delay. `lasting`: from
 * the kill to the last claim, d + (r - 1) b + r A. */
double predict_give_up_p(const struct session_times *t, double lasting_s);

#endif
