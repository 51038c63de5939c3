#include "study/command_common.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/buf.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where scenarios are looked for when FILE is no file: in the source that the program was built
 * from, or, seen from the folder of an installed program, here. */
#ifndef STUDY_SCENARIOS
#define STUDY_SCENARIOS "study/scenarios"
#endif
#define INSTALLED_SCENARIOS "../share/zkconsumer/scenarios"
#define SUFFIX              ".scenario"

static void scenario_folder(char *out, size_t size)
{
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = len > 0 ? memrchr(self, '/', (size_t)len) : NULL;
    if (slash) {
        snprintf(out, size, "%.*s/" INSTALLED_SCENARIOS, (int)(slash - self), self);
        if (access(out, X_OK) == 0)
            return;
    }
    snprintf(out, size, "%s", STUDY_SCENARIOS);
}

static int is_scenario(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, SUFFIX) == 0;
}

/* False: none is installed. */
static bool list_names(const char *folder, const char *name, struct why *why)
{
    struct dirent **list;
    int count = scandir(folder, &list, is_scenario, alphasort);
    struct buf names;
    if (count < 0)
        return false;
    buf_init(&names, sizeof why->text);
    for (int i = 0; i < count; i++) {
        buf_appendf(&names, " %.*s", (int)(strlen(list[i]->d_name) - strlen(SUFFIX)),
                    list[i]->d_name);
        free(list[i]);
    }
    free(list);
    why_set(why, "%s: no such file, and no scenario that is installed; there are:%s", name,
            buf_text(&names) ? buf_text(&names) : "");
    buf_deinit(&names);
    return count > 0;
}

static enum zkc_err read_by_name(const char *name, struct scenario **out, struct why *why)
{
    char folder[4096], path[8192];
    scenario_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/%s" SUFFIX, folder, name);
    bool is_name = !strchr(name, '/') && access(name, R_OK) != 0;
    if (is_name && access(path, R_OK) != 0 && list_names(folder, name, why))
        return ZKC_ERR_CONFIG;
    return scenario_read(is_name ? path : name, out, why);
}

static bool set_one(struct scenario *s, const char *text)
{
    const char *equals = strchr(text, '=');
    struct why why;
    char *key = equals ? strndup(text, (size_t)(equals - text)) : NULL;
    if (!equals) {
        report_error("--set %s: expected KEY=VALUE", text);
        return false;
    }
    if (!key || scenario_set(s, key, equals + 1, &why)) {
        report_error("--set %s: %s", text, key ? why.text : "out of memory");
        free(key);
        return false;
    }
    free(key);
    return true;
}

static bool set_all(const struct cli_args *args, const struct common_options *o, struct scenario *s)
{
    const char *text;
    struct why why;
    struct world world;
    if (cli_args_has(args, o->mode)) {
        const char *mode = strchr(cli_args_text(args, o->mode, ":"), ':') + 1;
        if (scenario_set(s, "zookeeper.mode", mode, &why)) {
            report_error("--mode: %s", why.text);
            return false;
        }
    }
    for (size_t i = 0; (text = cli_args_value(args, o->set, i)); i++)
        if (!set_one(s, text))
            return false;
    enum zkc_err err = scenario_build(s, 1, &world, &why);
    if (err)
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
    else
        world_deinit(&world);
    return !err;
}

static bool is_mode_known(const struct cli_args *args, const struct common_options *o)
{
    const char *mode = cli_args_text(args, o->mode, "zookeeper:compat");
    if (strcmp(mode, "zookeeper:compat") == 0 || strcmp(mode, "zookeeper:safe") == 0)
        return true;
    report_error("--mode=%s: expected zookeeper:compat or zookeeper:safe", mode);
    return false;
}

struct scenario *common_named_scenario(const struct cli_args *args, const struct common_options *o,
                                       const char *name)
{
    struct scenario *s;
    struct why why;
    if (!is_mode_known(args, o))
        return NULL;
    enum zkc_err err = read_by_name(name, &s, &why);
    if (err) {
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
        return NULL;
    }
    if (set_all(args, o, s))
        return s;
    scenario_free(s);
    return NULL;
}

bool common_seeds(const struct cli_args *args, size_t option, uint64_t *first, uint64_t *last)
{
    const char *text = cli_args_text(args, option, "1"), *at = text;
    char *end;
    *first = *last = strtoull(at, &end, 10);
    bool ok = end != at && *at != '-';
    if (ok && strncmp(end, "..", 2) == 0) {
        at = end + 2;
        *last = strtoull(at, &end, 10);
        ok = end != at && *at != '-';
    }
    if (!ok || *end || *last < *first || *last == UINT64_MAX) {
        report_error("--seed=%s: expected a number, or two like 1..1000", text);
        return false;
    }
    return true;
}

bool common_no_operands(const struct cli_args *args)
{
    if (args->operand_count == 0)
        return true;
    report_error("\"%s\": expected options only", args->operands[0]);
    return false;
}

static bool read_repro(const struct cli_args *args, const struct common_options *o,
                       const char *path, struct common_run *r)
{
    struct why why;
    if (!is_mode_known(args, o))
        return false;
    enum zkc_err err = repro_read(path, &r->repro, &why);
    if (err) {
        report_error("%s", err == ZKC_ERR_NOMEM ? "out of memory" : why.text);
        return false;
    }
    r->is_repro = true;
    r->scenario = r->repro.scenario;
    r->repro.scenario = NULL;
    if (!cli_args_has(args, o->seed))
        r->first = r->last = r->repro.seed;
    return set_all(args, o, r->scenario);
}

bool common_run(const struct cli_args *args, const struct common_options *o, struct common_run *out)
{
    const char *file = cli_args_text(args, o->scenario, NULL);
    const char *repro = o->repro == COMMON_NONE ? NULL : cli_args_text(args, o->repro, NULL);
    *out = (struct common_run){0};
    if (!common_no_operands(args) || !common_seeds(args, o->seed, &out->first, &out->last))
        return false;
    bool ok = false;
    if (file && repro)
        report_error("expected one of --scenario and --repro");
    else if (repro)
        ok = read_repro(args, o, repro, out);
    else if (file)
        ok = (out->scenario = common_named_scenario(args, o, file)) != NULL;
    else
        report_error("no scenario was named: --scenario=S01");
    if (!ok)
        common_run_deinit(out);
    return ok;
}

void common_run_deinit(struct common_run *r)
{
    scenario_free(r->scenario);
    repro_deinit(&r->repro);
    *r = (struct common_run){0};
}

static void append_quoted(struct buf *out, const char *text)
{
    size_t plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,%+@");
    if (!text[plain]) {
        buf_append_text(out, text);
        return;
    }
    buf_append_byte(out, '\'');
    for (const char *at = text; *at; at++) {
        if (*at == '\'')
            buf_append_text(out, "'\\'");
        buf_append_byte(out, (uint8_t)*at);
        if (*at == '\'')
            buf_append_byte(out, '\'');
    }
    buf_append_byte(out, '\'');
}

#define COMMAND_BYTES_MAX ((size_t)1024 * 1024)

char *common_command(const struct cli_args *args, const struct common_options *o,
                     const char *command, uint64_t seed)
{
    struct buf out;
    const char *text;
    buf_init(&out, COMMAND_BYTES_MAX);
    bool is_repro = o->repro != COMMON_NONE && cli_args_has(args, o->repro);
    buf_appendf(&out, "zkstudy %s --%s=", command, is_repro ? "repro" : "scenario");
    append_quoted(&out, cli_args_text(args, is_repro ? o->repro : o->scenario, ""));
    buf_appendf(&out, " --seed=%" PRIu64, seed);
    if (cli_args_has(args, o->mode)) {
        buf_append_text(&out, " --mode=");
        append_quoted(&out, cli_args_text(args, o->mode, ""));
    }
    for (size_t i = 0; (text = cli_args_value(args, o->set, i)); i++) {
        buf_append_text(&out, " --set ");
        append_quoted(&out, text);
    }
    text = buf_text(&out);
    char *copy = text ? strdup(text) : NULL;
    buf_deinit(&out);
    return copy;
}
