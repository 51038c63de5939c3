/* What is wrong with a group: the check that Kafka's VerifyConsumerRebalance was meant to be (it
 * compares numbers with text, and members with threads, so that it reports failure on every healthy
 * group), and what it does not look at: sessions, and who should own what. */
#ifndef ZKC_CLI_GROUP_CHECK_H
#define ZKC_CLI_GROUP_CHECK_H

#include "zkconsumer/cli/group_view.h"
#include "zkconsumer/core/base/arena.h"

enum group_problem_kind {
    GROUP_PROBLEM_NO_GROUP,   /* there is no /consumers/<g> */
    GROUP_PROBLEM_NO_MEMBERS, /* nobody is registered */
    GROUP_PROBLEM_GAVE_UP,    /* a member without fence has less than its share, and the rest of it
                               * is with nobody */
    GROUP_PROBLEM_MEMBER,     /* a registration cannot be read, or makes Java members fail */
    GROUP_PROBLEM_RULE,       /* the assignment rule cannot be applied to this group */
    GROUP_PROBLEM_UNOWNED,    /* a partition without owner node */
    GROUP_PROBLEM_UNREGISTERED, /* the owner is no registered member */
    GROUP_PROBLEM_SESSION,      /* the owner node is held by another session than the member's */
    GROUP_PROBLEM_WRONG_OWNER, /* the rule gives it to somebody else, or to nobody; or, where it was
                                * not applied, its owner is no thread of the member */
    GROUP_PROBLEM_OFFSET,      /* the committed offset is no number: whoever gets it fails */
};

/* "no_group", "no_members", "member", "rule", "gave_up", "unowned", ... Static. */
const char *group_problem_name(enum group_problem_kind kind);

/* --strategy: range, ceil, rendezvous or roundrobin; else reported. */
bool group_check_parse_strategy(const char *text, enum assign_strategy *out);

struct group_problem {
    enum group_problem_kind kind;
    const char *topic; /* NULL: not about a partition */
    int32_t partition;
    const char *member; /* a consumer id; NULL: not about one */
    const char *text;   /* one line, for people: what and where */
};

/* What a member has and should have. */
struct group_share {
    size_t owned;    /* partitions whose owner node is of its session */
    size_t share;    /* of what the rule gives to it; 0 as well where that was not checked */
    size_t free;     /* of these, without any owner */
    size_t unfenced; /* of what it owns: claimed without a lease, as Java members and compat do */
};

struct group_problems {
    struct group_problem *list; /* the group's, then members', then partitions' in order */
    size_t count;
    const char *unchecked;      /* NULL; else why nobody's share was compared with the rule: then no
                                 * problem does not mean that all is well */
    struct group_share *shares; /* of each member of the view */
};

/* The registered member with this id; NULL: there is none. */
const struct group_member *group_check_member(const struct group_view *view, struct bytes id);

/* The rule that was given; NULL: the one that the members declare: round robin, rendezvous or ceil
 * when all of them know it, as members in safe mode say, else Kafka's range (core/group/zk_safe.h,
 * enum zk_safe_strategy). */
enum assign_strategy group_check_rule(const struct group_view *view,
                                      const enum assign_strategy *given);

/* At most two problems for each member, and of owner and offset of each partition. Everything is
 * allocated in `arena`, texts of `view` are shared.
 *
 * ZKC_ERR_NOMEM, ZKC_ERR_TOO_LARGE */
ZKC_MUST_CHECK enum zkc_err group_check(const struct group_view *view,
                                        enum assign_strategy strategy, struct arena *arena,
                                        struct group_problems *out);

#endif
