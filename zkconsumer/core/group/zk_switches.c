#include "zkconsumer/core/group/zk_switches.h"
#include "zkconsumer/core/base/array.h"
#include <string.h>

size_t zk_switches_set(const struct zk_switches *s, struct zk_switch list[ZK_SWITCH_COUNT])
{
    static const char *const fences[] = {
        [ZK_FENCE_NONE] = "none", [ZK_FENCE_DISCONNECT] = "disconnect", [ZK_FENCE_LEASE] = "lease"};
    const struct {
        bool is_set;
        struct zk_switch as;
    } all[ZK_SWITCH_COUNT] = {
        {s->each_event, {"zookeeper.coalesce", "false"}},
        {s->watch_owners, {"zookeeper.watch.owners", "true"}},
        {s->claim == ZK_CLAIM_MULTI, {"zookeeper.claim", "multi"}},
        {s->release == ZK_GUARD_SESSION, {"zookeeper.release", "session"}},
        {s->commit == ZK_GUARD_SESSION, {"zookeeper.commit", "session"}},
        {s->fence != ZK_FENCE_NONE, {"zookeeper.fence", fences[s->fence]}},
        {s->sync_before_read, {"zookeeper.sync.before.read", "true"}},
        {s->never_gives_up, {"zookeeper.give.up", "never"}},
    };
    size_t count = 0;
    for (size_t i = 0; i < ZK_SWITCH_COUNT; i++)
        if (all[i].is_set)
            list[count++] = all[i].as;
    return count;
}

bool zk_mode_acts_on(bool is_safe, const char *key, const char *value)
{
    enum { COMPAT, SAFE };
    static const struct {
        const char *key;
        const char *value; /* NULL: any */
        int mode;          /* that alone acts on it */
    } of_modes[] = {
        {"acknowledgement.mode", "taken", COMPAT},    {"acknowledgement.mode", "next", SAFE},
        {"zookeeper.acl", "creator", SAFE},           {"zookeeper.give.up", "retries", COMPAT},
        {"zookeeper.hand.over.ms", NULL, SAFE},       {"zookeeper.keep.unmoved", NULL, SAFE},
        {"zookeeper.lease.probe", NULL, SAFE},        {"zookeeper.observer", NULL, SAFE},
        {"zookeeper.watch.sessions.max", NULL, SAFE}, {"zookeeper.variant", "0.7", COMPAT},
        {"zookeeper.variant", "documented", COMPAT},  {"zookeeper.watch.brokers", "true", COMPAT},
    };
    for (size_t i = 0; i < ARRAY_LEN(of_modes); i++)
        if (strcmp(of_modes[i].key, key) == 0 &&
            (!of_modes[i].value || strcmp(of_modes[i].value, value) == 0))
            return of_modes[i].mode == (is_safe ? SAFE : COMPAT);
    return true;
}
