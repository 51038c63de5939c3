/* zkstudy ablate: what each choice of 0.8.2, or rule of safe mode, is for, by taking it
 * away. */
#include "study/command_common.h"
#include "study/commands.h"
#include "study/run/ablation.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCENARIO, SEED, MODE, SET, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [SCENARIO] = {"scenario", 0, "FILE", true, "only this one, or these; else those of the study"},
    [SEED] = COMMON_SEED,
    [MODE] = COMMON_MODE,
    [SET] = COMMON_SET,
};

static const struct common_options common = {SCENARIO, SEED, MODE, SET, COMMON_NONE};

#define SCENARIOS_MAX 64

struct table {
    const char *names[SCENARIOS_MAX]; /* of the scenarios */
    size_t count;
    const struct ablations *of;
    struct ablation_sums *sums; /* of scenario s and row i: [s * of->count + i]; owned */
};

static const struct ablation_sums *sums_of(const struct table *t, size_t s, size_t i)
{
    return &t->sums[s * t->of->count + i];
}

/* ---- one scenario ---- */

static void print_row_name(const struct table *t, size_t i)
{
    const struct ablation *row = &t->of->row[i];
    if (row->key)
        printf("| `%s=%s`", row->key, row->value);
    else
        printf("| %s", t->of->base);
}

static bool is_seen(const struct table *t, size_t s, const struct ablation_fault *f)
{
    for (size_t i = 0; i < t->of->count; i++)
        if (ablation_value(sums_of(t, s, i), f) > 0)
            return true;
    return false;
}

static void print_number(double value)
{
    printf(value > 0 && value < 0.05 ? " | <0.1" : " | %.1f", value);
}

static void print_settled(const struct ablation_sums *sums)
{
    if (sums->settled)
        printf(" | %.2f", (double)sums->settled_ns / (double)sums->settled / 1e9);
    else
        printf(" | never");
}

static void print_scenario(const struct table *t, size_t s, const struct scenario *scenario)
{
    printf("\n## %s: %s\n\n| switch", t->names[s], scenario_value(scenario, "about"));
    for (size_t f = 0; f < ablation_fault_count; f++)
        if (is_seen(t, s, &ablation_faults[f]))
            printf(" | %s", ablation_faults[f].name);
    printf(" | settled, s | attempts | reads | writes |\n|---");
    for (size_t f = 0; f < ablation_fault_count; f++)
        if (is_seen(t, s, &ablation_faults[f]))
            printf("|--:");
    printf("|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < t->of->count; i++) {
        const struct ablation_sums *sums = sums_of(t, s, i);
        double runs = (double)sums->runs;
        print_row_name(t, i);
        for (size_t f = 0; f < ablation_fault_count; f++)
            if (is_seen(t, s, &ablation_faults[f]))
                print_number(ablation_value(sums, &ablation_faults[f]));
        print_settled(sums);
        print_number((double)sums->attempts / runs);
        print_number((double)sums->reads / runs);
        print_number((double)sums->writes / runs);
        printf(" |\n");
    }
}

/* ---- over all ---- */

/* The faults on which row i has this effect, each with its scenarios. */
static void print_effect(const struct table *t, size_t i, enum ablation_effect effect)
{
    bool is_first_fault = true;
    printf(" |");
    for (size_t f = 0; f < ablation_fault_count; f++) {
        bool is_first = true;
        for (size_t s = 0; s < t->count; s++) {
            if (ablation_effect(sums_of(t, s, 0), sums_of(t, s, i), &ablation_faults[f]) != effect)
                continue;
            if (is_first)
                printf("%s%s (", is_first_fault ? " " : ", ", ablation_faults[f].name);
            printf("%s%s", is_first ? "" : " ", t->names[s]);
            is_first = is_first_fault = false;
        }
        if (!is_first)
            printf(")");
    }
}

/* The faults that are as before in every scenario that has them. */
static void print_left(const struct table *t, size_t i)
{
    bool is_first = true;
    printf(" |");
    for (size_t f = 0; f < ablation_fault_count; f++) {
        bool is_left = false, is_less = false;
        for (size_t s = 0; s < t->count; s++) {
            enum ablation_effect effect =
                ablation_effect(sums_of(t, s, 0), sums_of(t, s, i), &ablation_faults[f]);
            is_left = is_left || effect == ABLATION_LEAVES;
            is_less = is_less || effect == ABLATION_REMOVES || effect == ABLATION_LESSENS;
        }
        if (is_left && !is_less)
            printf("%s%s", is_first ? " " : ", ", ablation_faults[f].name);
        is_first = is_first && !(is_left && !is_less);
    }
}

static void print_cost(uint64_t before, uint64_t after)
{
    printf(" | %+.1f %%", before ? 100.0 * ((double)after / (double)before - 1) : 0.0);
}

static void print_costs(const struct table *t, size_t i)
{
    uint64_t sums[2][3] = {{0}};
    for (size_t s = 0; s < t->count; s++)
        for (int k = 0; k < 2; k++) {
            const struct ablation_sums *of = sums_of(t, s, k ? i : 0);
            sums[k][0] += of->attempts;
            sums[k][1] += of->reads;
            sums[k][2] += of->writes;
        }
    for (int k = 0; k < 3; k++)
        print_cost(sums[0][k], sums[1][k]);
}

static bool is_seen_anywhere(const struct table *t, const struct ablation_fault *f)
{
    for (size_t s = 0; s < t->count; s++)
        if (is_seen(t, s, f))
            return true;
    return false;
}

static void print_over_all(const struct table *t)
{
    printf("\n## Over all\n\n| switch | removes | lessens | leaves | worsens | attempts | reads | "
           "writes |\n|---|---|---|---|---|--:|--:|--:|\n");
    for (size_t i = 1; i < t->of->count; i++) {
        print_row_name(t, i);
        print_effect(t, i, ABLATION_REMOVES);
        print_effect(t, i, ABLATION_LESSENS);
        print_left(t, i);
        print_effect(t, i, ABLATION_WORSENS);
        print_costs(t, i);
        printf(" |\n");
    }
    printf(
        "\nRemoves: none is left. Lessens: less than half. Leaves: more than half is left wherever "
        "it occurs. Worsens:\nmore than twice as much, or where there was none. In brackets the "
        "scenarios. The last three: over all scenarios,\nagainst %s.\n\n",
        t->of->against);
    for (size_t f = 0; f < ablation_fault_count; f++)
        if (is_seen_anywhere(t, &ablation_faults[f]))
            printf("- %s: %s\n", ablation_faults[f].name, ablation_faults[f].text);
}

/* ---- running ---- */

static bool run_scenario_rows(struct table *t, size_t s, const struct scenario *scenario,
                              uint64_t first, uint64_t last)
{
    for (size_t i = 0; i < t->of->count; i++) {
        struct why why;
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\r\033[K%s, %zu of %zu", t->names[s], i + 1, t->of->count);
        enum zkc_err err = ablation_run(scenario, &t->of->row[i], first, last,
                                        &t->sums[s * t->of->count + i], &why);
        if (!err)
            continue;
        report_error("%s: %s", t->names[s], err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
        return false;
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    return true;
}

static bool run_one(const struct cli_args *args, struct table *t, size_t s, uint64_t first,
                    uint64_t last)
{
    struct scenario *scenario = common_named_scenario(args, &common, t->names[s]);
    if (!scenario)
        return false;
    bool is_safe = strcmp(scenario_value(scenario, "zookeeper.mode"), "safe") == 0;
    bool ok = is_safe == (t->of == &ablations_safe);
    if (!ok)
        report_error("%s: it is of zookeeper.mode=%s; expected --mode=zookeeper:%s", t->names[s],
                     is_safe ? "safe" : "compat", is_safe ? "safe" : "compat");
    ok = ok && run_scenario_rows(t, s, scenario, first, last);
    if (ok)
        print_scenario(t, s, scenario);
    scenario_free(scenario);
    return ok && fflush(stdout) == 0;
}

static bool choose(const struct cli_args *args, struct table *t)
{
    const char *name;
    while ((name = cli_args_value(args, SCENARIO, t->count))) {
        if (t->count == SCENARIOS_MAX) {
            report_error("--scenario: expected %d at most", SCENARIOS_MAX);
            return false;
        }
        t->names[t->count++] = name;
    }
    for (size_t i = 0; !cli_args_value(args, SCENARIO, 0) && i < t->of->scenario_count; i++)
        t->names[t->count++] = t->of->scenarios[i];
    return true;
}

static enum cli_exit run(const struct cli_args *args)
{
    bool is_safe = strcmp(cli_args_text(args, MODE, "zookeeper:compat"), "zookeeper:safe") == 0;
    struct table t = {.of = is_safe ? &ablations_safe : &ablations_compat};
    uint64_t first, last;
    if (!common_no_operands(args) || !common_seeds(args, SEED, &first, &last) || !choose(args, &t))
        return CLI_FAILED;
    t.sums = calloc(t.count * t.of->count, sizeof *t.sums);
    bool ok = t.sums != NULL;
    if (!ok)
        report_error("out of memory");
    else
        printf("Seeds %" PRIu64 " to %" PRIu64 "; numbers are per run.\n", first, last);
    for (size_t s = 0; ok && s < t.count; s++)
        ok = run_one(args, &t, s, first, last);
    if (ok)
        print_over_all(&t);
    free(t.sums);
    return ok && fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED;
}

static const struct cli_pair examples[] = {
    {"zkstudy ablate --seed=1..20", "the tables of docs/ablations.md, from more seeds"},
    {"zkstudy ablate --mode=zookeeper:safe --seed=1..20", "the same of safe mode"},
    {"zkstudy ablate --scenario=S18 --seed=1..100", "one scenario"},
};

static const struct cli_pair exits[] = {
    {"0", "the tables were printed"},
    {"1", "usage, or a scenario that cannot be"},
};

const struct cli_command command_ablate = {
    .name = "ablate",
    .summary = "What each choice of Kafka 0.8.2, or rule of safe mode, is for, by taking it away",
    .synopsis = "[--scenario=FILE ...] [--seed=N[..M]] [--mode=MODE] [--set KEY=VALUE ...]",
    .description =
        "Runs each scenario as Kafka 0.8.2 would have it, or with all rules of safe mode, and "
        "once more with each switch by itself. Prints, as Markdown, which faults are found, "
        "what settling takes, and the operations after the warm-up.",
    .options = options,
    .option_count = OPTION_COUNT,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
