#include "study/run/totals.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool seed_failed(const struct seed_result *r)
{
    return r->died || r->run.violated != CHECK_COUNT;
}

void seed_failure(const struct seed_result *r, struct buf *out)
{
    if (r->died >= 256)
        buf_appendf(out, "its process ended with status %d", r->died - 256);
    else if (r->died)
        buf_appendf(out, "its process was ended by signal %d", r->died);
    else
        buf_appendf(out, "%s at %.6f s: %s", check_name(r->run.violated),
                    (double)r->run.violated_ns / 1e9, r->run.detail);
}

void totals_deinit(struct totals *t)
{
    free(t->tts);
    *t = (struct totals){0};
}

/* Keeps the lowest. */
static void note_failed(struct totals *t, uint64_t seed)
{
    t->failed_runs++;
    size_t at = t->failed_count;
    if (at == TOTALS_FAILED_KEPT && seed > t->failed[at - 1])
        return;
    if (at == TOTALS_FAILED_KEPT)
        at--;
    else
        t->failed_count++;
    for (; at > 0 && t->failed[at - 1] > seed; at--)
        t->failed[at] = t->failed[at - 1];
    t->failed[at] = seed;
}

static void add_checks(struct totals *t, const struct run_result *r)
{
    for (int i = 0; i < CHECK_COUNT; i++) {
        t->found[i] += r->checks[i].found;
        t->checked[i] += r->checks[i].checked;
        t->runs_with[i] += r->checks[i].found > 0;
        t->unknown[i] += r->checks[i].unknown != NULL;
        const char *why = r->checks[i].unknown; /* of several the first by the alphabet */
        if (why && (!t->why_unknown[i] || strcmp(why, t->why_unknown[i]) < 0))
            t->why_unknown[i] = why;
    }
}

static void add_measures(struct measures *sum, const struct measures *m)
{
    sum->causes += m->causes;
    sum->rebalances += m->rebalances;
    sum->attempts += m->attempts;
    sum->failed += m->failed;
    sum->conflicts += m->conflicts;
    sum->reads += m->reads;
    sum->writes += m->writes;
    sum->commits += m->commits;
    sum->notifications += m->notifications;
}

static bool has_room(struct totals *t)
{
    if (t->tts_count < t->tts_cap)
        return true;
    size_t cap = t->tts_cap ? 2 * t->tts_cap : 256;
    uint64_t *grown = realloc(t->tts, cap * sizeof *grown);
    if (!grown)
        return false;
    t->tts = grown;
    t->tts_cap = cap;
    return true;
}

enum zkc_err totals_add(struct totals *t, const struct seed_result *r)
{
    if (!has_room(t))
        return ZKC_ERR_NOMEM;
    t->runs++;
    if (seed_failed(r))
        note_failed(t, r->seed);
    if (r->died) {
        t->died_runs++;
        return ZKC_OK;
    }
    t->unstable += !r->run.is_stable;
    t->events += r->run.counts.events;
    add_checks(t, &r->run);
    add_measures(&t->sum, &r->run.measures);
    if (r->run.measures.causes && r->run.tts_ns != UINT64_MAX)
        t->tts[t->tts_count++] = r->run.tts_ns;
    else if (r->run.measures.causes)
        t->never_settled++;
    return ZKC_OK;
}

/* ---- the table ---- */

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank; what did not settle in time is beyond all others. */
static void say_quantile(const struct totals *t, unsigned percent, struct buf *out)
{
    uint64_t all = t->tts_count + t->never_settled, rank = (all * percent + 99) / 100;
    if (rank && rank <= t->tts_count)
        buf_appendf(out, "  p%u %.2f s", percent, (double)t->tts[rank - 1] / 1e9);
    else if (rank)
        buf_appendf(out, "  p%u not in time", percent);
}

static void say_check(const struct totals *t, int id, struct buf *out)
{
    const char *name = check_name((enum check_id)id);
    uint64_t ended = t->runs - t->died_runs;
    if (t->unknown[id] == ended) {
        buf_appendf(out, "  %-18s not decided: %s\n", name,
                    t->why_unknown[id] ? t->why_unknown[id] : "no run came to its end");
        return;
    }
    if (id < CHECK_MUST_COUNT) {
        buf_appendf(
            out, "  %-18s %-12s %" PRIu64 " checked, %" PRIu64 " violations in %" PRIu64 " runs\n",
            name,
            t->found[id]     ? "VIOLATED"
            : t->checked[id] ? "ok"
                             : "nothing",
            t->checked[id], t->found[id], t->runs_with[id]);
        return;
    }
    bool is_time = id >= CHECK_DUAL && id <= CHECK_RECORD_MISMATCH;
    buf_appendf(out, "  %-18s %12.3f per run, in %" PRIu64 " runs\n", name,
                (double)t->found[id] / (is_time ? 1e9 : 1) / (double)ended, t->runs_with[id]);
}

static void say_failed(const struct totals *t, struct buf *out)
{
    if (!t->failed_count)
        return;
    buf_append_text(out, "failed:");
    for (size_t i = 0; i < t->failed_count; i++)
        buf_appendf(out, " %" PRIu64, t->failed[i]);
    buf_append_text(out, t->failed_runs > t->failed_count ? " ...\n" : "\n");
}

void totals_report(struct totals *t, struct buf *out)
{
    double causes = t->sum.causes ? (double)t->sum.causes : 1;
    if (t->tts_count)
        qsort(t->tts, t->tts_count, sizeof *t->tts, by_size);
    buf_append_text(out, "MUST\n");
    for (int i = 0; i < CHECK_COUNT; i++) {
        if (i == CHECK_MUST_COUNT)
            buf_append_text(out, "COUNT\n");
        say_check(t, i, out);
    }
    buf_appendf(out,
                "after the warm-up, for each of %" PRIu64
                " changes: %.1f rebalances, %.1f attempts, %.1f reads, %.1f writes, %.1f "
                "notifications\n",
                t->sum.causes, (double)t->sum.rebalances / causes, (double)t->sum.attempts / causes,
                (double)t->sum.reads / causes, (double)t->sum.writes / causes,
                (double)t->sum.notifications / causes);
    buf_append_text(out, "until stable after the last change:");
    say_quantile(t, 50, out);
    say_quantile(t, 90, out);
    say_quantile(t, 99, out);
    buf_appendf(out, "  (%" PRIu64 " not before faults were healed)\n", t->never_settled);
    say_failed(t, out);
    buf_appendf(out, "%" PRIu64 " runs, %" PRIu64 " events; %" PRIu64 " violated a MUST", t->runs,
                t->events, t->failed_runs - t->died_runs);
    if (t->died_runs)
        buf_appendf(out, ", %" PRIu64 " DIED", t->died_runs);
    buf_appendf(out, ", %" PRIu64 " were not stable at the end\n", t->unstable);
}
