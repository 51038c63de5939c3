#include "zkconsumer/cli/reset_plan.h"
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/file.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/when.h"
#include "zkconsumer/core/base/properties.h"
#include <stdlib.h>

const struct cli_option reset_options[RESET_OPTIONS] = {
    [RESET_ZOOKEEPER] = OPTION_ZOOKEEPER,
    [RESET_GROUP] = OPTION_GROUP,
    [RESET_TOPIC] = {"topic", 't', "TOPIC[:PARTITIONS]", true,
                     "Only this topic, of it only these partitions (3, 0,2,5 or 0-7); may be given "
                     "several times. Default: every topic of which the group has offsets."},
    [RESET_PARTITION] = {"partition", 'p', "N", false, "Only this partition of each topic."},
    [RESET_EARLIEST] = {"to-earliest", 0, NULL, false, "To the beginning of each log."},
    [RESET_LATEST] = {"to-latest", 0, NULL, false, "To the end of each log."},
    [RESET_TIME] = {"to-time to-datetime", 0, "TIME", false,
                    "To before what was written at this time: milliseconds since 1970, or "
                    "2015-02-26T21:33:20, with .500 and a zone such as +01:00 or without (UTC). As "
                    "exact as the log's segments: the beginning of the last segment that was "
                    "finished before."},
    [RESET_DURATION] = {"by-duration", 0, "PnDTnHnMnS", false,
                        "The same of the time so long ago: P1DT12H is a day and a half."},
    [RESET_OFFSET] = {"to-offset", 0, "N", false,
                      "To this offset; at most to the ends of the log."},
    [RESET_SHIFT] =
        {"shift-by", 0, "N", false,
         "By so many messages, back with a negative N; at most to the ends of the log."},
    [RESET_CURRENT] = {"to-current", 0, NULL, false,
                       "To where the group is; where it is nowhere yet, to the end of the log."},
    [RESET_FROM_FILE] = {"from-file", 0, "FILE", false,
                         "To the offsets in this file, lines of topic,partition,offset, and only "
                         "those; at most to the ends of the logs."},
    [RESET_EXPORT] = {"export", 0, NULL, false,
                      "Print lines as --from-file takes them: topic,partition,offset."},
    [RESET_DRY_RUN] = {"dry-run", 'n', NULL, false, "Print, and write nothing."},
    [RESET_FORCE] =
        {"force", 0, NULL, false,
         "Write although members are registered. Consumers of 0.8 do not look at it before "
         "their next rebalance, and overwrite it when their own position moves. Our members "
         "in safe mode obey: beside an owner the number is written with a leading zero, which "
         "asks them to move. What is written in Kafka they do not look at."},
    [RESET_CONFIG] = OPTION_STORE_CONFIG,
    [RESET_PROPERTY] = OPTION_STORE_PROPERTY,
    [RESET_TIMEOUT] = OPTION_TIMEOUT,
    [RESET_HELP] = OPTION_HELP,
};

#define CONFIG_BYTES_MAX ((size_t)1 << 20)
#define FILE_BYTES_MAX   ((size_t)1 << 28)

/* ---- which topics ---- */

static bool keep_topic(struct reset_plan *plan, const char *topic)
{
    for (size_t i = 0; i < plan->topic_count; i++)
        if (strcmp(plan->topics[i], topic) == 0)
            return false;
    plan->topics[plan->topic_count++] = topic;
    return true;
}

static bool report_no_memory(void)
{
    report_error("out of memory");
    return false;
}

/* TOPIC or TOPIC:PARTITIONS */
static bool take_topic(struct reset_plan *plan, const char *text)
{
    struct why why;
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);
    const char *topic = arena_format(&plan->picks.arena, "%.*s", (int)len, text);
    if (!topic)
        return report_no_memory();
    if (!names_check_topic(topic))
        return false;
    if (!keep_topic(plan, topic)) {
        report_error("--topic: %s is given twice", topic);
        return false;
    }
    if (!colon || picks_add_topic(&plan->picks, topic, colon + 1, &why) == ZKC_OK)
        return true;
    report_error("--topic=%s: %s", text, why.text);
    return false;
}

static bool read_topics(struct reset_plan *plan, const struct cli_args *args)
{
    const char *text;
    bool ok = true;
    plan->topics =
        arena_alloc_array(&plan->picks.arena, args->given_count + 1, sizeof *plan->topics);
    if (!plan->topics)
        return report_no_memory();
    for (size_t i = 0; ok && (text = cli_args_value(args, RESET_TOPIC, i)); i++)
        ok = take_topic(plan, text);
    if (ok && plan->picks.count && cli_args_has(args, RESET_PARTITION)) {
        report_error("--partition and --topic=TOPIC:PARTITIONS both say which: one of them");
        return false;
    }
    return ok;
}

/* ---- where to ---- */

static bool read_file(struct reset_plan *plan, const struct cli_args *args)
{
    struct buf text;
    struct why why;
    const char *path = cli_args_text(args, RESET_FROM_FILE, "");
    if (cli_args_has(args, RESET_TOPIC) || cli_args_has(args, RESET_PARTITION)) {
        report_error("--from-file says which topics and partitions: neither --topic nor "
                     "--partition beside it");
        return false;
    }
    buf_init(&text, FILE_BYTES_MAX);
    bool ok = read_whole_file(path, &text, &why) &&
              picks_add_lines(&plan->picks, buf_bytes(&text), &why) == ZKC_OK;
    buf_deinit(&text);
    if (!ok || plan->picks.count == 0) {
        report_error("%s: %s", path, ok ? "there is no offset in it" : why.text);
        return false;
    }
    plan->topics = arena_alloc_array(&plan->picks.arena, plan->picks.count, sizeof *plan->topics);
    if (!plan->topics)
        return report_no_memory();
    for (size_t i = 0; i < plan->picks.count; i++) /* by topic */
        if (i == 0 || strcmp(plan->picks.list[i].topic, plan->picks.list[i - 1].topic) != 0)
            plan->topics[plan->topic_count++] = plan->picks.list[i].topic;
    return true;
}

static bool read_duration(struct reset_plan *plan, const char *text)
{
    int64_t ms, now_ms = clock_wall_ms();
    if (!when_parse_duration(text, &ms) || __builtin_sub_overflow(now_ms, ms, &plan->n)) {
        report_error("--by-duration=%s: expected PnDTnHnMnS, such as P7D or PT1H30M", text);
        return false;
    }
    if (plan->n < 0) /* negative numbers are no times in the protocol */
        plan->n = 0;
    return true;
}

static bool read_number(struct reset_plan *plan, const struct cli_args *args, size_t option,
                        int64_t min)
{
    char text[256];
    if (cli_args_number(args, option, min, INT64_MAX, &plan->n, text, sizeof text))
        return true;
    report_error("%s", text);
    return false;
}

static bool read_place(struct reset_plan *plan, const struct cli_args *args, size_t option)
{
    const char *text = cli_args_text(args, option, "");
    switch (option) {
    case RESET_EARLIEST: plan->n = LIST_OFFSETS_EARLIEST; return true;
    case RESET_LATEST: plan->n = LIST_OFFSETS_LATEST; return true;
    case RESET_TIME:
        if (when_parse_time(text, &plan->n))
            return true;
        report_error("--to-time=%s: expected milliseconds since 1970 or 2015-02-26T21:33:20", text);
        return false;
    case RESET_DURATION: return read_duration(plan, text);
    case RESET_OFFSET: plan->place = RESET_TO_OFFSET; return read_number(plan, args, option, 0);
    case RESET_SHIFT:
        plan->place = RESET_BY_SHIFT;
        return read_number(plan, args, option, -INT64_MAX);
    case RESET_CURRENT: plan->place = RESET_TO_CURRENT; return true;
    default: plan->place = RESET_TO_PICKS; return read_file(plan, args);
    }
}

static bool read_where(struct reset_plan *plan, const struct cli_args *args)
{
    size_t given = RESET_OPTIONS;
    int count = 0;
    for (size_t option = RESET_EARLIEST; option <= RESET_FROM_FILE; option++)
        if (cli_args_has(args, option)) {
            given = option;
            count++;
        }
    if (count == 1)
        return read_place(plan, args, given);
    report_error(
        "exactly one of --to-earliest, --to-latest, --to-time, --by-duration, --to-offset, "
        "--shift-by, --to-current, --from-file is needed");
    return false;
}

static bool read_options(struct reset_plan *plan, const struct cli_args *args)
{
    static const char example[] =
        "zkconsumer offsets reset -G billing --to-earliest " EXAMPLE_ZOOKEEPER;
    char text[256];
    if (!report_needs(args, RESET_GROUP, example) ||
        !report_needs(args, RESET_ZOOKEEPER, example) || !report_takes_no_operands(args) ||
        !read_topics(plan, args) || !read_where(plan, args))
        return false;
    if (!cli_args_number(args, RESET_PARTITION, 0, INT32_MAX, &plan->partition, text,
                         sizeof text)) {
        report_error("%s", text);
        return false;
    }
    plan->group = cli_args_text(args, RESET_GROUP, "");
    plan->connect = cli_args_text(args, RESET_ZOOKEEPER, "");
    plan->format = cli_args_has(args, RESET_EXPORT) ? RESET_CSV
                   : args->called_as                ? RESET_TABLE
                                                    : RESET_LINES;
    return true;
}

/* ---- kafka.tools.UpdateOffsetsInZK: earliest|latest FILE TOPIC ---- */

static enum zkc_err take_property(const struct property *p, void *user)
{
    struct reset_plan *plan = user;
    char **field = strcmp(p->key, "group.id") == 0            ? &plan->file_group
                   : strcmp(p->key, "zookeeper.connect") == 0 ? &plan->file_connect
                                                              : NULL;
    if (!field)
        return ZKC_OK; /* Kafka's tool does not look at offsets.storage */
    free(*field);
    *field = strdup(p->value);
    return *field ? ZKC_OK : ZKC_ERR_NOMEM;
}

static bool read_config(struct reset_plan *plan, const char *path)
{
    struct buf text;
    struct why why;
    buf_init(&text, CONFIG_BYTES_MAX);
    bool ok = read_whole_file(path, &text, &why) &&
              properties_parse(buf_bytes(&text), take_property, plan, &why) == ZKC_OK;
    buf_deinit(&text);
    if (!ok)
        report_error("%s: %s", path, why.text);
    else if (!plan->file_group || !plan->file_connect)
        report_error("%s: group.id and zookeeper.connect are needed", path);
    return ok && plan->file_group && plan->file_connect;
}

static bool read_operands(struct reset_plan *plan, const struct cli_args *args)
{
    const char *where = args->operand_count ? args->operands[0] : "";
    if (args->operand_count != 3 ||
        (strcmp(where, "earliest") != 0 && strcmp(where, "latest") != 0)) {
        report_error("USAGE: kafka.tools.UpdateOffsetsInZK [earliest | latest] "
                     "consumer.properties topic");
        return false;
    }
    plan->format = RESET_UPDATE_TOOLS;
    plan->n = strcmp(where, "latest") == 0 ? LIST_OFFSETS_LATEST : LIST_OFFSETS_EARLIEST;
    plan->topics = arena_alloc_array(&plan->picks.arena, 1, sizeof *plan->topics);
    if (!plan->topics)
        return report_no_memory();
    plan->topics[plan->topic_count++] = args->operands[2];
    if (!read_config(plan, args->operands[1]))
        return false;
    plan->group = plan->file_group;
    plan->connect = plan->file_connect;
    return true;
}

bool reset_plan_init(struct reset_plan *plan, const struct cli_args *args)
{
    bool is_class = args->called_as && strstr(args->called_as, "UpdateOffsetsInZK");
    *plan = (struct reset_plan){.partition = -1};
    if (!offset_store_init(&plan->store, args, RESET_CONFIG, RESET_PROPERTY))
        return false;
    picks_init(&plan->picks);
    if ((is_class ? read_operands : read_options)(plan, args) && names_check_group(plan->group))
        return true;
    reset_plan_deinit(plan);
    return false;
}

void reset_plan_deinit(struct reset_plan *plan)
{
    offset_store_deinit(&plan->store);
    picks_deinit(&plan->picks);
    free(plan->file_group);
    free(plan->file_connect);
}
