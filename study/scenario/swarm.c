/* Swarms: faults drawn from the seed (Groce et al., "Swarm testing", 2012: a random subset of the
 * kinds finds more than always all of them). */
#include "study/scenario/parts.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/base/rng.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* %m member, %z server, %b broker, %p a point, %d a duration of up to 20 s, %s a short one, %t the
 * first topic with what it grows to. */
static const char *const kinds[] = {
    "join %l",
    "leave %m",
    "crash %m for %d",
    "crash %m",
    "suspend %m for %d",
    "expire %m",
    "cut %m zk* both for %d",
    "cut %m zk* in for %d",
    "cut %m zk* out for %d",
    "cut %m b* both for %d",
    "cut %z %z both for %d",
    "reset %m %z",
    "delay %m %z both by %s for %d",
    "lose_reply %m %p",
    "lag %z by %s for %d",
    "stall %z by %s for %d",
    "crash zk:leader for %d",
    "crash %z for %d",
    "suspend %z for %d",
    "crash %b for %d",
    "slow_stop %m by %d for %d",
    "slow_app %m by %s for %d",
    "partitions %t",
};

struct drawing {
    struct rng rng;
    const struct names_known *known;
    int32_t partitions; /* of the first topic, so far */
    uint64_t joined;    /* late members that were started */
};

static void append_duration(struct drawing *d, char *out, size_t size, uint64_t ms_max)
{
    snprintf(out, size, "%" PRIu64 "ms", 1 + rng_below(&d->rng, ms_max));
}

/* What a letter stands for; "" when there is nothing that it could. */
static void expand(struct drawing *d, char letter, char *out, size_t size)
{
    static const char *const points[] = {"register", "claim",       "release",
                                         "commit",   "offset_read", "members"};
    const struct names_known *k = d->known;
    *out = 0;
    switch (letter) {
    case 'm':
        if (k->members)
            snprintf(out, size, "m%" PRIu64, 1 + rng_below(&d->rng, k->members));
        break;
    case 'l':
        if (d->joined < k->late)
            snprintf(out, size, "m%" PRIu64, k->members + ++d->joined);
        break;
    case 'z': snprintf(out, size, "zk%" PRIu64, 1 + rng_below(&d->rng, k->servers)); break;
    case 'b': snprintf(out, size, "b%" PRIu64, rng_below(&d->rng, k->brokers)); break;
    case 'p': snprintf(out, size, "%s", points[rng_below(&d->rng, ARRAY_LEN(points))]); break;
    case 'd': append_duration(d, out, size, 20000); break;
    case 's': append_duration(d, out, size, 1000); break;
    default:
        d->partitions += 1 + (int32_t)rng_below(&d->rng, 4);
        snprintf(out, size, "%s to %" PRId32, k->topics[0].name, d->partitions);
        break;
    }
}

/* False: this kind has nobody to befall any more. */
static bool draw(struct drawing *d, const char *kind, char *out, size_t size)
{
    uint64_t last_ms = d->known->run_ns * 9 / 10 / SIM_MS, first_ms = last_ms / 5;
    size_t len = (size_t)snprintf(out, size, "at %" PRIu64 "ms ",
                                  first_ms + rng_below(&d->rng, last_ms - first_ms + 1));
    for (const char *c = kind; *c && len + 300 < size; c++) {
        if (*c != '%') {
            out[len++] = *c;
            out[len] = 0;
            continue;
        }
        expand(d, *++c, out + len, size - len);
        if (!out[len])
            return false;
        len += strlen(out + len);
    }
    return true;
}

static uint64_t first_free(const struct scenario *s)
{
    uint64_t free_number = 1, n;
    for (size_t i = 0; i < s->count; i++) {
        const char *at = s->entries[i].key + 6;
        if (strncmp(s->entries[i].key, "fault.", 6) == 0 && read_natural(&at, &n) &&
            n >= free_number)
            free_number = n + 1;
    }
    return free_number;
}

/* What ZooKeeper promises holds: nobody else ends sessions. */
static bool keeps_promises(const char *kind)
{
    return strncmp(kind, "expire ", strlen("expire ")) != 0;
}

enum zkc_err swarm_draw(struct scenario *s, const struct names_known *known, uint64_t count,
                        uint64_t seed)
{
    bool is_kept = strcmp(scenario_value(s, "swarm.kinds"), "kept") == 0;
    struct drawing d = {.known = known, .partitions = known->topics[0].partitions};
    const char *chosen[ARRAY_LEN(kinds)];
    size_t chosen_count = 0;
    uint64_t number = first_free(s), drawn = 0;
    rng_init(&d.rng, seed ^ 0x73776172ull);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (rng_below(&d.rng, 2) && (!is_kept || keeps_promises(kinds[i])))
            chosen[chosen_count++] = kinds[i];
    if (!chosen_count)
        chosen[chosen_count++] = kinds[0];
    uint64_t want = 1 + rng_below(&d.rng, count);
    for (uint64_t tries = 0; drawn < want && tries < 10 * want; tries++) {
        char key[32], value[1024];
        if (!draw(&d, chosen[rng_below(&d.rng, chosen_count)], value, sizeof value))
            continue;
        snprintf(key, sizeof key, "fault.%" PRIu64, number++);
        enum zkc_err err = scenario_append(s, key, value);
        if (err)
            return err;
        drawn++;
    }
    return ZKC_OK;
}
