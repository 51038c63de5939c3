#include "study/sim/swarm.h"
#include "study/sim/kernel.h"
#include <stdio.h>
#include <string.h>

#define KIND_COUNT (SIM_LEADER + 1)  /* later kinds happen on request alone */
#define POINTS     SIM_POINT_BACKOFF /* likewise */
#define ALL_KINDS  (((1u << KIND_COUNT) - 1) & ~(1u << SIM_TOPIC))

struct draw {
    struct stream stream;
    const struct sim_config *config;
    const struct swarm_options *options;
    unsigned kinds; /* that this swarm uses */
};

static uint64_t below(struct draw *d, uint64_t n)
{
    return stream_below(&d->stream, n);
}

static void name_one(struct draw *d, char name[16], const char *prefix, size_t count, size_t first)
{
    snprintf(name, 16, "%s%zu", prefix, first + (size_t)below(d, count));
}

static void name_server(struct draw *d, char name[16])
{
    if (below(d, 3) == 0)
        snprintf(name, 16, "zk:leader");
    else
        name_one(d, name, "zk", d->config->zk.servers, 1);
}

static void name_member(struct draw *d, char name[16])
{
    name_one(d, name, "m", d->config->member_count, 1);
}

/* A third each of blinks, of times around what a session bears, and of longer ones. */
static uint64_t duration(struct draw *d)
{
    uint64_t longest = d->options->scale_ns ? d->options->scale_ns : 20 * SIM_S;
    switch (below(d, 3)) {
    case 0: return 1 + below(d, longest / 20 + 1);
    case 1: return 1 + below(d, longest / 2 + 1);
    default: return longest / 2 + below(d, longest / 2 + 1);
    }
}

static enum sim_fault_kind pick_kind(struct draw *d)
{
    for (;;) {
        enum sim_fault_kind kind = (enum sim_fault_kind)below(d, KIND_COUNT);
        if (d->kinds & (1u << kind))
            return kind;
    }
}

/* Members alone, or any process. */
static void pick_process(struct draw *d, char name[16])
{
    uint64_t what = below(d, 6);
    if (what == 0)
        name_server(d, name);
    else if (what == 1 && d->config->brokers.count > 0)
        name_one(d, name, "b", d->config->brokers.count, 0);
    else
        name_member(d, name);
}

static void pick_link(struct draw *d, char who[16], char peer[16])
{
    switch (below(d, 4)) {
    case 0:
        name_server(d, who);
        snprintf(peer, 16, "zk*");
        break;
    case 1:
        name_member(d, who);
        if (d->config->brokers.count > 0) {
            name_one(d, peer, "b", d->config->brokers.count, 0);
            break;
        } /* fall through */
    case 2:
        name_member(d, who);
        name_server(d, peer);
        break;
    default:
        name_member(d, who);
        snprintf(peer, 16, "zk*");
        break;
    }
}

static void pick_target(struct draw *d, struct sim_fault *f, char who[16], char peer[16])
{
    f->who = who;
    switch (f->kind) {
    case SIM_CRASH:
    case SIM_SUSPEND: pick_process(d, who); break;
    case SIM_CUT:
    case SIM_RESET:
    case SIM_DELAY:
        pick_link(d, who, peer);
        f->peer = peer;
        break;
    case SIM_LAG:
    case SIM_STALL: name_server(d, who); break;
    case SIM_PARTITIONS:
    case SIM_LEADER:
        f->who = NULL;
        f->topic = d->config->topics[below(d, d->config->topic_count)].name;
        break;
    default: name_member(d, who); break;
    }
}

static void pick_size(struct draw *d, struct sim_fault *f, char peer[16])
{
    f->for_ns = duration(d);
    f->dir = (enum sim_dir)below(d, 3);
    f->point = (enum sim_point)below(d, SIM_POINT_TRY);
    switch (f->kind) {
    case SIM_DELAY:
    case SIM_DELAY_WATCH:
    case SIM_LAG: f->value_ns = below(d, duration(d)); break;
    case SIM_STALL: f->value_ns = below(d, 500 * SIM_MS); break;
    case SIM_SLOW_STOP: f->value_ns = below(d, duration(d)); break;
    case SIM_SLOW_APP: f->value_ns = below(d, 200 * SIM_MS); break;
    case SIM_PARTITIONS: f->count = (int32_t)below(d, 12) + 1; break;
    case SIM_LEADER:
        name_one(d, peer, "b", d->config->brokers.count, 0);
        f->peer = peer;
        break;
    default: break;
    }
}

static void pick_time(struct draw *d, struct sim_fault *f)
{
    const struct swarm_options *o = d->options;
    if (below(d, 6) == 0) {
        f->when = (struct sim_when){.kind = SIM_AT_POINT,
                                    .who = "any",
                                    .point = (enum sim_point)(1 + below(d, POINTS)),
                                    .nth = 1 + (uint32_t)below(d, 30),
                                    .base_ns = below(d, 2) ? 0 : below(d, 50 * SIM_MS)};
        return;
    }
    f->when =
        (struct sim_when){.kind = SIM_AT, .base_ns = o->from_ns + below(d, o->to_ns - o->from_ns)};
}

static bool can_happen(const struct draw *d, enum sim_fault_kind kind)
{
    if (kind == SIM_PARTITIONS)
        return d->config->topic_count > 0;
    if (kind == SIM_LEADER)
        return d->config->topic_count > 0 && d->config->brokers.count > 0;
    return true;
}

void swarm_draw(const struct swarm_options *options, const struct sim_config *config,
                struct swarm *out)
{
    struct draw d = {.stream = stream_of(options->seed, "swarm", "faults"),
                     .config = config,
                     .options = options};
    unsigned allowed = options->kinds ? options->kinds : ALL_KINDS;
    size_t most = options->faults_max < SWARM_FAULTS_MAX ? options->faults_max : SWARM_FAULTS_MAX;
    memset(out, 0, sizeof *out);
    allowed &= (1u << KIND_COUNT) - 1;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (!can_happen(&d, (enum sim_fault_kind)kind))
            allowed &= ~(1u << kind);
    if (config->member_count == 0 || most == 0 || allowed == 0)
        return;
    do { /* each swarm has its own mixture */
        d.kinds = allowed & (unsigned)stream_next(&d.stream);
    } while (d.kinds == 0);
    out->count = 1 + (size_t)below(&d, most);
    for (size_t i = 0; i < out->count; i++) {
        struct sim_fault *f = &out->faults[i];
        f->kind = pick_kind(&d);
        pick_target(&d, f, out->names[i][0], out->names[i][1]);
        pick_size(&d, f, out->names[i][1]);
        pick_time(&d, f);
    }
}
