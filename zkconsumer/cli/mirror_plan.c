#include "zkconsumer/cli/mirror_plan.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/consume_plan.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/producer_brokers.h"
#include "zkconsumer/cli/property_option.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/properties.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONSUMER_CONFIG,
    PRODUCER_CONFIG,
    ZOOKEEPER,
    GROUP,
    TO_BROKERS,
    TO_ZOOKEEPER,
    WHITELIST,
    BLACKLIST,
    STREAMS,
    QUEUE,
    COMMIT_INTERVAL,
    PRODUCERS,
    ABORT,
    IGNORED_FLAGS,
    METRICS,
    PROPERTY,
    QUIET,
    VERBOSE,
    HELP,
    OPTIONS_END
};

static_assert(OPTIONS_END == MIRROR_OPTIONS, "mirror_options[] has as many");

const struct cli_option mirror_options[MIRROR_OPTIONS] = {
    [CONSUMER_CONFIG] = {"consumer.config consumer-config", 'F', "FILE", true,
                         "A properties file for a source: zookeeper.connect, group.id ... One for "
                         "each source cluster."},
    [PRODUCER_CONFIG] = {"producer.config producer-config", 0, "FILE", false,
                         "A properties file for the target: metadata.broker.list or "
                         "bootstrap.servers (or zookeeper.connect), and librdkafka's settings. "
                         "What only Java's producers have is left out, and told."},
    [ZOOKEEPER] =
        {"zookeeper zkconnect zookeeper.connect", 0, "HOST:PORT[,...][/CHROOT]", false,
         "The source's ZooKeeper servers; overrides the file, of which there is one at most."},
    [GROUP] = {"group group.id", 'G', "GROUP", false, "The group; overrides the files."},
    [TO_BROKERS] = {"to-broker-list", 0, "HOST:PORT[,...]", false, "The target's brokers."},
    [TO_ZOOKEEPER] = {"to-zookeeper", 0, "HOST:PORT[,...][/CHROOT]", false,
                      "The target's ZooKeeper servers, which know its brokers and their age."},
    [WHITELIST] = {"whitelist", 0, "REGEX", false,
                   "The topics, a Java regular expression for whole names."},
    [BLACKLIST] = {"blacklist", 0, "REGEX", false, "All topics but those."},
    [STREAMS] = {"num.streams", 0, "N", false,
                 "How many shares of each group this process takes. Default: 1."},
    [QUEUE] =
        {"queue.size", 0, "N", false,
         "At most so many messages on their way to the target, of each producer. Default: 10000."},
    [COMMIT_INTERVAL] = {"offset.commit.interval.ms", 0, "MS", false,
                         "Wait for acknowledgements and commit so often. Default: 5000."},
    [PRODUCERS] =
        {"num.producers", 0, "N", false,
         "So many producers of each source, chosen by key, or by partition where there is "
         "none. Default: 1."},
    [ABORT] = {"abort.on.send.failure", 0, "BOOL", false,
               "true: a message that the target refuses ends it. false: it is told, lost, and the "
               "others go on. Default: true."},
    [IGNORED_FLAGS] = {"new.producer", 0, NULL, false, "Kafka's; without effect here."},
    [METRICS] = OPTION_METRICS,
    [PROPERTY] = {"property", 'X', "KEY=VALUE", true, "A setting of the consumers."},
    [QUIET] = OPTION_QUIET,
    [VERBOSE] = OPTION_VERBOSE,
    [HELP] = OPTION_HELP,
};

#define FILE_BYTES_MAX ((size_t)16 << 20)

struct target_file {
    struct mirror_plan *plan;
    const char *path;
};

static bool keep(char **field, const char *value)
{
    free(*field);
    *field = strdup(value);
    return *field != NULL;
}

static enum zkc_err take_target(const struct property *p, void *user)
{
    struct target_file *file = user;
    struct mirror_plan *plan = file->plan;
    char where[300];
    snprintf(where, sizeof where, "%s, line %zu", file->path, p->line);
    if (strcmp(p->key, "metadata.broker.list") == 0 || strcmp(p->key, "bootstrap.servers") == 0)
        return keep(&plan->to_brokers, p->value) ? ZKC_OK : ZKC_ERR_NOMEM;
    if (strcmp(p->key, "zookeeper.connect") == 0)
        return keep(&plan->to_zookeeper, p->value) ? ZKC_OK : ZKC_ERR_NOMEM;
    if (strcmp(p->key, "broker.version.fallback") == 0 ||
        strcmp(p->key, "api.version.request") == 0)
        plan->keeps_dialect = true;
    if (producer_conf_is_javas(p->key)) {
        report_status("%s: %s is a setting of Java's producers; it is left out", where, p->key);
        return ZKC_OK;
    }
    return producer_conf_set(plan->target, where, p->key, p->value) ? ZKC_OK : ZKC_ERR_CONFIG;
}

static bool read_target(struct mirror_plan *plan, const struct cli_args *args)
{
    const char *path = cli_args_text(args, PRODUCER_CONFIG, NULL);
    char queue[24];
    struct buf text;
    struct why why;
    snprintf(queue, sizeof queue, "%" PRId64, plan->queue);
    plan->target = rd_kafka_conf_new();
    /* For ever: who gives up a message loses it. One request at a time keeps the order. */
    if (!producer_conf_set(plan->target, "default", "message.timeout.ms", "0") ||
        !producer_conf_set(plan->target, "default", "message.send.max.retries", "2147483647") ||
        !producer_conf_set(plan->target, "default", "max.in.flight.requests.per.connection", "1") ||
        !producer_conf_set(plan->target, "--queue.size", "queue.buffering.max.messages", queue))
        return false;
    buf_init(&text, FILE_BYTES_MAX);
    bool ok = true;
    if (path) {
        struct target_file file = {plan, path};
        why_clear(&why);
        ok = read_whole_file(path, &text, &why) &&
             properties_parse(buf_bytes(&text), take_target, &file, &why) == ZKC_OK;
        if (!ok && why.text[0])
            report_error("%s: %s", path, why.text);
    }
    buf_deinit(&text);
    const char *brokers = cli_args_text(args, TO_BROKERS, NULL);
    const char *zookeeper = cli_args_text(args, TO_ZOOKEEPER, NULL);
    if ((brokers && !keep(&plan->to_brokers, brokers)) ||
        (zookeeper && !keep(&plan->to_zookeeper, zookeeper)))
        return false;
    if (!ok || plan->to_brokers || plan->to_zookeeper)
        return ok;
    report_error("whereto? --producer.config with metadata.broker.list, --to-broker-list or "
                 "--to-zookeeper");
    return false;
}

static bool set_property(const char *key, const char *value, void *conf)
{
    return consume_conf_set(conf, "--property", key, value);
}

/* What the options say of every source, over what its file says. */
static bool complete_source(struct mirror_source *source, const struct cli_args *args)
{
    if (!consume_conf_set(source->conf, "--zookeeper", "zookeeper.connect",
                          cli_args_text(args, ZOOKEEPER, NULL)) ||
        !consume_conf_set(source->conf, "--group", "group.id", cli_args_text(args, GROUP, NULL)) ||
        !property_option_each(args, PROPERTY, set_property, source->conf) ||
        !consume_conf_set(source->conf, "--metrics", "statistics.interval.ms",
                          cli_args_has(args, METRICS) ? "1000" : NULL) ||
        !consume_conf_commit_by_hand(source->conf, "mirror"))
        return false;
    source->zookeeper = zkc_conf_get(source->conf, "zookeeper.connect");
    source->group = zkc_conf_get(source->conf, "group.id");
    if (source->zookeeper && source->group)
        return true;
    report_error("%s%sfrom where? --consumer.config with zookeeper.connect and group.id, or "
                 "--zookeeper and --group",
                 source->path ? source->path : "", source->path ? ": " : "");
    return false;
}

/* `path` NULL: the options say it all. */
static bool add_source(struct mirror_plan *plan, const struct cli_args *args, const char *path)
{
    char why[512];
    struct mirror_source *source = &plan->sources[plan->source_count];
    source->path = path;
    source->conf = consume_conf_new();
    if (!source->conf)
        return false;
    plan->source_count++;
    if (path && zkc_conf_load(source->conf, path, why, sizeof why) != ZKC_OK) {
        report_error("%s", why);
        return false;
    }
    return complete_source(source, args);
}

/* Two members of one group in one process copy no more than one: a file was given twice. */
static bool check_sources(const struct mirror_plan *plan)
{
    for (size_t a = 0; a < plan->source_count; a++) {
        for (size_t b = a + 1; b < plan->source_count; b++) {
            const struct mirror_source *one = &plan->sources[a], *other = &plan->sources[b];
            if (strcmp(one->zookeeper, other->zookeeper) || strcmp(one->group, other->group))
                continue;
            report_error("%s and %s name the same source, group %s at %s; --num.streams takes more "
                         "shares of a group",
                         one->path, other->path, one->group, one->zookeeper);
            return false;
        }
    }
    return true;
}

static bool read_sources(struct mirror_plan *plan, const struct cli_args *args)
{
    const char *path;
    size_t count = 0;
    while (cli_args_value(args, CONSUMER_CONFIG, count))
        count++;
    plan->sources = calloc(count + 1, sizeof *plan->sources);
    if (!plan->sources || !names_check_groups(args, GROUP) || !names_check_filter(&plan->filter))
        return false;
    if (count > 1 && cli_args_has(args, ZOOKEEPER)) {
        report_error("--zookeeper names one source, but there are %zu --consumer.config: "
                     "zookeeper.connect stands in each of them",
                     count);
        return false;
    }
    for (size_t i = 0; (path = cli_args_value(args, CONSUMER_CONFIG, i)); i++)
        if (!add_source(plan, args, path))
            return false;
    return (count > 0 || add_source(plan, args, NULL)) && check_sources(plan);
}

bool mirror_plan_init(struct mirror_plan *plan, const struct cli_args *args)
{
    char text[256];
    int64_t streams = 1;
    const char *white = cli_args_text(args, WHITELIST, NULL);
    const char *black = cli_args_text(args, BLACKLIST, NULL);
    *plan = (struct mirror_plan){.queue = 10000, .commit_interval_ms = 5000, .producers = 1};
    if (!report_takes_no_operands(args))
        return false;
    if ((white == NULL) == (black == NULL)) {
        report_error("Exactly one of whitelist or blacklist is required.");
        return false;
    }
    if (!cli_args_number(args, STREAMS, 1, WHERE_STREAMS_MAX, &streams, text, sizeof text) ||
        !cli_args_number(args, PRODUCERS, 1, MIRROR_PRODUCERS_MAX, &plan->producers, text,
                         sizeof text) ||
        !cli_args_number(args, QUEUE, 1, 10000000, &plan->queue, text, sizeof text) ||
        !cli_args_number(args, COMMIT_INTERVAL, 1, INT32_MAX, &plan->commit_interval_ms, text,
                         sizeof text)) {
        report_error("%s", text);
        return false;
    }
    plan->metrics = cli_args_text(args, METRICS, NULL);
    const char *abort_text = cli_args_text(args, ABORT, "true");
    plan->goes_on = strcmp(abort_text, "false") == 0;
    if (!plan->goes_on && strcmp(abort_text, "true") != 0) {
        report_error("--abort.on.send.failure=%s: expected true or false", abort_text);
        return false;
    }
    plan->filter = (struct zkc_filter){white ? ZKC_FILTER_WHITELIST : ZKC_FILTER_BLACKLIST,
                                       white ? white : black, (int32_t)streams};
    return read_sources(plan, args) && read_target(plan, args);
}

void mirror_plan_deinit(struct mirror_plan *plan)
{
    for (size_t i = 0; i < plan->source_count; i++)
        zkc_conf_free(plan->sources[i].conf);
    free(plan->sources);
    if (plan->target)
        rd_kafka_conf_destroy(plan->target);
    free(plan->to_brokers);
    free(plan->to_zookeeper);
}

void mirror_plan_set_level(const struct cli_args *args)
{
    report_set_level_by(args, QUIET, VERBOSE);
}
