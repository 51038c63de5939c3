#include "zkconsumer/core/group/broker_scan.h"
#include "zkconsumer/core/zk/path.h"
#include <stdio.h>
#include <stdlib.h>

void broker_scan_deinit(struct broker_scan *s)
{
    for (size_t i = 0; i < s->name_count; i++)
        free(s->names[i]);
    free(s->names);
    for (size_t i = 0; i < s->broker_count; i++)
        zk_broker_deinit(&s->brokers[i].broker);
    free(s->brokers);
    *s = (struct broker_scan){0};
}

void broker_scan_begin(struct broker_scan *s, enum scan_mode mode, bool watch, struct zk_op *op)
{
    broker_scan_deinit(s);
    s->mode = mode;
    *op = (struct zk_op){.type = ZK_OP_CHILDREN, .path = ZK_PATH_BROKER_IDS, .watch = watch};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum zkc_err take_list(struct broker_scan *s, const struct zk_result *answer,
                              struct why *why)
{
    if (answer->children_count > BROKER_SCAN_MAX) {
        why_set(why, "%zu nodes under %s, at most %d are expected", answer->children_count,
                ZK_PATH_BROKER_IDS, BROKER_SCAN_MAX);
        return ZKC_ERR_TOO_LARGE;
    }
    s->names = calloc(answer->children_count + 1, sizeof *s->names);
    s->brokers = calloc(answer->children_count + 1, sizeof *s->brokers);
    if (!s->names || !s->brokers)
        return ZKC_ERR_NOMEM;
    for (size_t i = 0; i < answer->children_count; i++) {
        s->names[i] = strdup(answer->children[i]);
        if (!s->names[i])
            return ZKC_ERR_NOMEM;
        s->name_count++;
    }
    qsort(s->names, s->name_count, sizeof *s->names, by_name);
    return ZKC_OK;
}

static bool read_id(const char *name, int32_t *id)
{
    char *end;
    long n = strtol(name, &end, 10);
    if (end == name || *end || n < 0 || n > INT32_MAX)
        return false;
    *id = (int32_t)n;
    return true;
}

/* Takes the data of names[at]. A broker that registered an address we cannot use is listed without
 * one: it counts as registered, as it does for Java. */
static enum zkc_err take_broker(struct broker_scan *s, const struct zk_result *answer,
                                struct why *why)
{
    const char *name = s->names[s->at];
    struct scanned_broker *b = &s->brokers[s->broker_count];
    if (!read_id(name, &b->id)) {
        why_set(why, "%s/%s: the name of a broker's node must be a number", ZK_PATH_BROKER_IDS,
                name);
        return ZKC_ERR_CORRUPT;
    }
    struct why reason;
    enum zkc_err err = zk_broker_read(answer->data, &b->broker, &reason);
    if (err == ZKC_ERR_UNREACHABLE) {
        b->broker = (struct zk_broker){0};
        b->why = reason;
        err = ZKC_OK;
    }
    if (err)
        why_set(why, "%s/%s: %s", ZK_PATH_BROKER_IDS, name, reason.text);
    else
        s->broker_count++;
    return err;
}

/* Takes the answer to a read. */
static enum zkc_err take_answer(struct broker_scan *s, const struct zk_result *answer,
                                struct why *why)
{
    enum zkc_err err = ZKC_OK;
    if (answer->zk_rc == ZK_OK) {
        err = take_broker(s, answer, why);
    } else {
        why_set(why, "getData %s/%s: %s (%d)", ZK_PATH_BROKER_IDS, s->names[s->at],
                zk_rc_name(answer->zk_rc), answer->zk_rc);
        err = ZKC_ERR_ZOOKEEPER;
    }
    s->at++;
    bool is_skipped =
        s->mode == SCAN_USABLE || (s->mode == SCAN_PRESENT && answer->zk_rc == ZK_NO_NODE);
    return is_skipped && err != ZKC_ERR_NOMEM ? ZKC_OK : err;
}

/* Reads the next broker whose name makes a path. */
static enum scan_step read_next(struct broker_scan *s, struct zk_op *op, enum zkc_err *err,
                                struct why *why)
{
    for (; s->at < s->name_count; s->at++) {
        int n = snprintf(s->path, sizeof s->path, "%s/%s", ZK_PATH_BROKER_IDS, s->names[s->at]);
        if (n > 0 && (size_t)n < sizeof s->path) {
            *op = (struct zk_op){.type = ZK_OP_GET, .path = s->path};
            return SCAN_SEND;
        }
        if (s->mode == SCAN_USABLE)
            continue;
        why_set(why, "%s: a broker's node has a name of more than %zu bytes", ZK_PATH_BROKER_IDS,
                sizeof s->path);
        *err = ZKC_ERR_CORRUPT;
        return SCAN_FAILED;
    }
    return SCAN_DONE;
}

enum scan_step broker_scan_next(struct broker_scan *s, const struct zk_result *answer,
                                struct zk_op *op, enum zkc_err *err, struct why *why)
{
    why_clear(why);
    *err = ZKC_OK;
    if (s->names) {
        *err = take_answer(s, answer, why);
    } else if (answer->zk_rc == ZK_NO_NODE) {
        return SCAN_DONE;
    } else if (answer->zk_rc != ZK_OK) {
        why_set(why, "getChildren %s: %s (%d)", ZK_PATH_BROKER_IDS, zk_rc_name(answer->zk_rc),
                answer->zk_rc);
        *err = ZKC_ERR_ZOOKEEPER;
    } else {
        *err = take_list(s, answer, why);
    }
    return *err ? SCAN_FAILED : read_next(s, op, err, why);
}
