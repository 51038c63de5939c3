#include "zkconsumer/cli/consume_exec.h"
#include "zkconsumer/cli/exec.h"
#include "zkconsumer/cli/json_text.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_BYTES_MAX ((size_t)4 << 30)
#define COMMIT_MS       30000 /* for one commit; a lost connection takes its time */
#define KEY_BYTES_MAX   4096  /* of a key in the environment */

void consume_exec_init(struct consume_exec *e, const struct consume_plan *plan,
                       zkc_consumer *consumer)
{
    *e = (struct consume_exec){
        .plan = plan, .consumer = consumer, .commits = consume_plan_group(plan) != NULL};
    buf_init(&e->input, INPUT_BYTES_MAX);
}

static void clear(struct consume_exec *e)
{
    buf_clear(&e->input);
    free(e->topic);
    free(e->key);
    e->topic = e->key = NULL;
    e->count = 0;
}

void consume_exec_deinit(struct consume_exec *e)
{
    clear(e);
    buf_deinit(&e->input);
}

static bool fail(struct consume_exec *e, enum cli_exit code)
{
    e->has_failed = true;
    e->code = code;
    return false;
}

/* *is_ours: the partition is still ours, so that the commit was written. */
static bool commit(struct consume_exec *e, bool *is_ours)
{
    struct zkc_position position = {e->topic, e->partition, e->last + 1};
    *is_ours = true;
    if (!e->commits)
        return true;
    enum zkc_err err = zkc_consumer_commit_wait(e->consumer, &position, 1, COMMIT_MS);
    if (err == ZKC_ERR_NOT_OWNED) {
        *is_ours = false;
        report_warning("[%s,%" PRId32 "] is not ours any more: offsets %" PRId64 " .. %" PRId64
                       " are not committed, %s",
                       e->topic, e->partition, e->first, e->last,
                       e->plan->commits_before ? "and the command does not run for them"
                                               : "and will be processed again");
    } else if (err) {
        report_error("[%s,%" PRId32 "] offset %" PRId64 " could not be committed: %s", e->topic,
                     e->partition, e->last + 1, zkc_err_text(err));
        return fail(e, report_exit_of(err));
    }
    return true;
}

static bool run_command(struct consume_exec *e)
{
    char partition[64], offset[64], count[64], topic[TOPIC_NAME_MAX + 32], key[KEY_BYTES_MAX + 32];
    struct why why;
    snprintf(topic, sizeof topic, "ZKCONSUMER_TOPIC=%s", e->topic);
    snprintf(partition, sizeof partition, "ZKCONSUMER_PARTITION=%" PRId32, e->partition);
    snprintf(offset, sizeof offset, "ZKCONSUMER_OFFSET=%" PRId64, e->first);
    snprintf(count, sizeof count, "ZKCONSUMER_COUNT=%" PRId64, e->count);
    snprintf(key, sizeof key, "ZKCONSUMER_KEY=%s", e->key ? e->key : "");
    char *environment[] = {topic, partition, offset, count, e->key ? key : NULL, NULL};
    struct exec_job job = {
        .command = e->plan->exec,
        .input = buf_bytes(&e->input),
        .environment = environment,
        .timeout_ms = e->plan->exec_timeout_ms,
    };
    for (int64_t i = 0; i < e->plan->exec_tries; i++) {
        if (exec_run(&job, &why))
            return true;
        report_warning("the command failed for [%s,%" PRId32 "] offset %" PRId64 ": %s", e->topic,
                       e->partition, e->first, why.text);
    }
    report_error("the command failed; %s", !e->commits ? "nothing is committed"
                                           : e->plan->commits_before
                                               ? "its messages are committed all the same"
                                               : "its messages are not committed");
    return fail(e, CLI_PROBLEM);
}

bool consume_exec_flush(struct consume_exec *e)
{
    bool is_ours = true, ok = !e->has_failed;
    if (!ok || e->count == 0)
        return ok;
    if (e->input.failed) {
        report_error("the command's input: %s", zkc_err_text(e->input.failed));
        ok = fail(e, CLI_FAILED);
    } else if (e->plan->commits_before) {
        ok = commit(e, &is_ours) && (!is_ours || run_command(e));
    } else {
        ok = run_command(e) && commit(e, &is_ours);
    }
    clear(e);
    return ok;
}

/* A key that fits a variable of the environment; of a single message only. */
static char *copy_key(const struct consume_exec *e, const struct zkc_message *m)
{
    if (e->plan->exec_messages > 1 || !m->key || m->key_len > KEY_BYTES_MAX ||
        memchr(m->key, 0, m->key_len))
        return NULL;
    return strndup(m->key, m->key_len);
}

bool consume_exec_add(struct consume_exec *e, const struct format_source *source)
{
    const struct zkc_message *m = source->message;
    bool is_another = e->count && (e->partition != m->partition || strcmp(e->topic, m->topic) != 0);
    if (e->has_failed || (is_another && !consume_exec_flush(e)))
        return false;
    if (e->count == 0) {
        e->topic = strdup(m->topic);
        e->key = copy_key(e, m);
        e->partition = m->partition;
        e->first = m->offset;
        if (!e->topic) {
            report_error("out of memory");
            return fail(e, CLI_FAILED);
        }
    }
    if (e->plan->is_json) {
        json_append_envelope(&e->input, m);
        buf_append_byte(&e->input, '\n');
    } else {
        format_append(&e->plan->format, source, &e->input);
    }
    e->last = m->offset;
    e->count++;
    return e->count < e->plan->exec_messages || consume_exec_flush(e);
}
