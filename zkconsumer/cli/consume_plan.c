#include "zkconsumer/cli/consume_plan.h"
#include "zkconsumer/cli/clock.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/printing.h"
#include "zkconsumer/cli/property_option.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/cli/zk_reader.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/connect.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP,
    TOPIC,
    ZOOKEEPER,
    PARTITION,
    OFFSET,
    FROM_BEGINNING,
    MESSAGES_MAX,
    EXIT_AT_END,
    GRACE,
    SILENCE,
    FORMAT,
    JSON,
    KEY_SEPARATOR,
    LINE_SEPARATOR,
    NULLS,
    UNBUFFERED,
    EXEC,
    COMMIT,
    EXEC_MESSAGES,
    EXEC_TRIES,
    EXEC_TIMEOUT,
    METRICS,
    WHITELIST,
    BLACKLIST,
    STREAMS,
    DELETE_OFFSETS,
    FORMATTER,
    SKIP,
    CSV,
    METRICS_DIR,
    CLIENT,
    CONFIG,
    PROPERTY,
    QUIET,
    VERBOSE,
    HELP,
    OPTIONS
};
_Static_assert(OPTIONS == CONSUME_OPTIONS, "one entry for each");

#define GRACE_DEFAULT_MS 10000

const struct cli_option consume_options[OPTIONS] = {
    [GROUP] = {"group group.id", 'G', "GROUP", false,
               "Join this group: its members share the partitions, and offsets are committed. "
               "Default: a group of its own, console-consumer-<number>, which is removed at the "
               "end. With --partition: read its offsets, without joining it."},
    [TOPIC] = {"topic", 't', "TOPIC[:STREAMS]", true,
               "What to read; may be given several times. STREAMS is how many shares this process "
               "takes part with (threads, in Kafka's words); default: 1. Words that belong to no "
               "option are topics too."},
    [ZOOKEEPER] = OPTION_ZOOKEEPER,
    [PARTITION] =
        {"partition", 'p', "N[,N|N-M...]", false,
         "Read these partitions of one topic, without being a member of any group; nothing "
         "is registered, claimed or committed."},
    [OFFSET] = {"offset", 'o', "WHERE", false,
                "With --partition, where to start: beginning, end, stored (the offset that --group "
                "has committed), N, or -N for N messages before the end. Default: end."},
    [FROM_BEGINNING] =
        {"from-beginning", 0, NULL, false,
         "Start at the oldest message where there is no committed offset "
         "(auto.offset.reset=smallest; overrides the file). Where there is one, it is "
         "obeyed, and told. Default: at the end."},
    [MESSAGES_MAX] = {"max-messages", 'c', "N", false,
                      "End after N messages. No more than these count as consumed."},
    [EXIT_AT_END] = {"exit-at-end", 'e', NULL, false,
                     "End when every assigned partition has been read up to the end that it had "
                     "when it was assigned."},
    [GRACE] =
        {"exit-grace", 0, "MS", false,
         "With --exit-at-end: end if no partition has been assigned for so long, because there "
         "are more members than partitions, or no such topic. Default: 10000."},
    [SILENCE] = {"timeout-ms consumer.timeout.ms", 0, "MS", false,
                 "End when no message has come for so long; no error, as in Kafka's console "
                 "consumer. Default: never."},
    [FORMAT] =
        {"format", 'f', "FORMAT", false,
         "How a message is written, in kcat's tokens: %t topic, %p partition, %o offset, %k "
         "key, %s payload, %K %S their lengths (-1: null), %R payload length as 4 bytes big "
         "endian, %T timestamp (-1: messages of 0.8 have none), %h headers (none), and of our "
         "own %g group, %m member id, %C checksum; %%, \\n \\r \\t \\0 \\\\ \\xNN. "
         "Default: payload and line end."},
    [JSON] = {"json", 'J', NULL, false,
              "One JSON object for each message, as kcat: topic, partition, offset, tstype, ts, "
              "broker, key, payload. What is not UTF-8 comes as key_base64 and payload_base64 "
              "instead."},
    [KEY_SEPARATOR] = {"key-separator", 'K', "TEXT", false,
                       "Write the key and this before the payload."},
    [LINE_SEPARATOR] = {"line-separator delimiter", 'D', "TEXT", false,
                        "Write this behind each message. Default: \\n."},
    [NULLS] = {"null", 'Z', NULL, false,
               "Write NULL for null keys and payloads. Default: nothing."},
    [UNBUFFERED] = {"unbuffered", 'u', NULL, false,
                    "Write each message at once. Default: when a lot has come together, or nothing "
                    "more is there at the moment."},
    [EXEC] =
        {"exec", 0, "COMMAND", false,
         "Run this (by sh -c) for each message instead of writing it, with the value on its "
         "standard input and ZKCONSUMER_TOPIC, _PARTITION, _OFFSET, _COUNT and _KEY in its "
         "environment. Status 0 is success; anything else ends the program with status 2. "
         "Offsets are committed as --commit says and never otherwise, but for where a partition "
         "starts."},
    [COMMIT] =
        {"commit", 0, "before|after", false,
         "With --exec: commit a message before its command runs (at most once: a crash loses "
         "it) or after it has succeeded (at least once: a crash repeats it). Default: after."},
    [EXEC_MESSAGES] = {"exec-messages", 0, "N", false,
                       "With --exec: give it up to N messages of one partition at a time, written "
                       "as --format says (a line each). Default: 1, the bare value."},
    [EXEC_TRIES] = {"exec-tries", 0, "N", false,
                    "With --exec: run a command that fails up to N times. Default: 1."},
    [EXEC_TIMEOUT] = {"exec-timeout", 0, "MS", false,
                      "With --exec: end a command that takes longer, which is a failure. Default: "
                      "60000."},
    [METRICS] = OPTION_METRICS,
    [WHITELIST] = {"whitelist", 0, "REGEX", false,
                   "Read all topics whose whole name matches this Java regular expression, now and "
                   "later; commas stand for |."},
    [BLACKLIST] = {"blacklist", 0, "REGEX", false, "Read all topics whose name does not match."},
    [STREAMS] = {"streams", 0, "N", false,
                 "With --whitelist and --blacklist, how many shares this process takes part with. "
                 "Default: 1."},
    [DELETE_OFFSETS] = {"delete-consumer-offsets", 0, NULL, false,
                        "Delete the group from ZooKeeper before starting; refused while it has "
                        "members."},
    [FORMATTER] = {"formatter", 0, "CLASS", false,
                   "Kafka's: kafka.tools.DefaultMessageFormatter, NoOpMessageFormatter or "
                   "ChecksumMessageFormatter."},
    [SKIP] = {"skip-message-on-error", 0, NULL, false,
              "Kafka's; without effect here, which is said: a message that cannot be read is "
              "reported and passed in any case."},
    [CSV] = {"csv-reporter-enabled", 0, NULL, false,
             "Kafka's; refused: --metrics serves the numbers."},
    [METRICS_DIR] = {"metrics-dir", 0, "FOLDER", false, "Kafka's; refused with the above."},
    [CLIENT] = {"client.id", 0, "ID", false, "What brokers know us by. Default: the group."},
    [CONFIG] = {"config consumer.config consumer-config", 'F', "FILE", false,
                "A properties file with the consumer's settings (group.id, zookeeper.connect, "
                "auto.offset.reset ...). Options override it."},
    [PROPERTY] = {"property consumer-property", 'X', "KEY=VALUE", true,
                  "A setting of the consumer; overrides the file. Known from Kafka's console "
                  "consumer are print.key, key.separator and line.separator."},
    [QUIET] = OPTION_QUIET,
    [VERBOSE] = OPTION_VERBOSE,
    [HELP] = OPTION_HELP,
};

#define TOLD_MS  9500 /* what the library tells every ten seconds is not held back */
#define TOLD_MAX 32

/* What was told lately: an error comes as a log line and to on_error, and some with each new try.
 * All on the loop's thread. */
static struct {
    char text[256]; /* cut, and without the library's count of repeats */
    int64_t ms;
} told[TOLD_MAX];
static size_t told_next;

static void told_clear(void)
{
    memset(told, 0, sizeof told);
    told_next = 0;
}

/* Says whether it is to be told now, and takes it that it is. */
static bool may_tell(const char *text)
{
    const char *count = strstr(text, " [and ");
    char key[sizeof told[0].text];
    snprintf(key, sizeof key, "%.*s", count ? (int)(count - text) : (int)sizeof key, text);
    int64_t now_ms = clock_now_ms();
    size_t at = 0;
    while (at < TOLD_MAX && strcmp(told[at].text, key) != 0)
        at++;
    if (at < TOLD_MAX && now_ms - told[at].ms < TOLD_MS)
        return false;
    if (at == TOLD_MAX)
        at = told_next++ % TOLD_MAX;
    memcpy(told[at].text, key, sizeof key);
    told[at].ms = now_ms;
    return true;
}

void consume_error(zkc_consumer *consumer, enum zkc_err err, const char *text, void *user)
{
    (void)consumer;
    (void)user;
    if (may_tell(text))
        report_warning("%s (%s)", text, zkc_err_name(err));
}

void consume_log(zkc_consumer *consumer, int level, const char *facility, const char *text,
                 void *user)
{
    (void)consumer;
    (void)user;
    bool is_told = strcmp(facility, "zk") == 0; /* what matters of it comes as an error, too */
    if (level == 5) /* a change of state, each of them: what is told next is news again */
        told_clear();
    if (report_level() == REPORT_VERBOSE || level == 5)
        report_status("%s: %s", facility, text);
    else if (level <= 4 && !is_told && may_tell(text))
        report_warning("%s: %s", facility, text);
}

bool consume_conf_set(zkc_conf *conf, const char *where, const char *key, const char *value)
{
    char why[512];
    if (!value || zkc_conf_set(conf, key, value, why, sizeof why) == ZKC_OK)
        return true;
    report_error("%s: %s", where, why);
    return false;
}

static void look_for_commit(const char *key, const char *value, bool is_default, void *user)
{
    bool *is_set = user;
    *is_set |= !is_default && !strcmp(key, "auto.commit.enable") && !strcmp(value, "true");
}

bool consume_conf_commit_by_hand(zkc_conf *conf, const char *who)
{
    bool is_set = false;
    zkc_conf_dump(conf, look_for_commit, &is_set);
    if (is_set)
        report_warning(
            "auto.commit.enable=true has no effect: %s commits what is done, and that only", who);
    return consume_conf_set(conf, who, "auto.commit.enable", "false");
}

zkc_conf *consume_conf_new(void)
{
    zkc_conf *conf = zkc_conf_new();
    if (!conf) {
        report_error("out of memory");
        return NULL;
    }
    zkc_conf_set_on_log(conf, consume_log);
    zkc_conf_set_on_error(conf, consume_error);
    if (consume_conf_set(conf, "default", "log.level", "5") &&
        consume_conf_set(conf, ZK_READER_AUTH_VARIABLE, "zookeeper.auth",
                         getenv(ZK_READER_AUTH_VARIABLE)))
        return conf;
    zkc_conf_free(conf);
    return NULL;
}

static bool set(struct consume_plan *plan, const char *option, const char *key, const char *value)
{
    char why[512];
    if (!value || zkc_conf_set(plan->conf, key, value, why, sizeof why) == ZKC_OK)
        return true;
    size_t len = strlen(key); /* the option says it as well */
    bool repeats =
        strcmp(option, "--property") != 0 && strncmp(why, key, len) == 0 && why[len] == ':';
    report_error("%s: %s", option, repeats ? why + len + 2 : why);
    return false;
}

/* ---- settings ---- */

struct property_taker {
    struct consume_plan *plan;
    struct printing *printing;
};

static bool take_property(const char *key, const char *value, void *user)
{
    struct property_taker *taker = user;
    return printing_take(taker->printing, key, value) || set(taker->plan, "--property", key, value);
}

static bool load_file(struct consume_plan *plan, const char *path)
{
    char why[512];
    if (!path || zkc_conf_load(plan->conf, path, why, sizeof why) == ZKC_OK)
        return true;
    report_error("%s", why); /* names file and line */
    return false;
}

/* A message is consumed when it has been written, or its command has ended, unless
 * acknowledgement.mode says otherwise: a commit by the timer must not cover what is in our buffer.
 */
static bool acknowledges(const struct consume_plan *plan)
{
    return strcmp(zkc_conf_get(plan->conf, "acknowledgement.mode"), "auto") == 0;
}

static bool read_settings(struct consume_plan *plan, const struct cli_args *args,
                          struct printing *printing)
{
    plan->conf = consume_conf_new();
    if (!plan->conf)
        return false;
    if (report_level() == REPORT_VERBOSE && !set(plan, "--verbose", "log.level", "6"))
        return false;
    if (!load_file(plan, cli_args_text(args, CONFIG, NULL)))
        return false;
    struct property_taker taker = {plan, printing};
    if (!property_option_each(args, PROPERTY, take_property, &taker))
        return false;
    return names_check_groups(args, GROUP) && /* an empty one would be none: a throw-away group */
           set(plan, "--zookeeper", "zookeeper.connect", cli_args_text(args, ZOOKEEPER, NULL)) &&
           set(plan, "--group", "group.id", cli_args_text(args, GROUP, NULL)) &&
           set(plan, "--client.id", "client.id", cli_args_text(args, CLIENT, NULL)) &&
           (!plan->exec || consume_conf_commit_by_hand(plan->conf, "--exec")) &&
           set(plan, "consume", "acknowledgement.mode", acknowledges(plan) ? "explicit" : NULL) &&
           set(plan, "--metrics", "statistics.interval.ms", plan->metrics ? "1000" : NULL) &&
           set(plan, "--timeout-ms", "consumer.timeout.ms", cli_args_text(args, SILENCE, NULL)) &&
           set(plan, "--from-beginning", "auto.offset.reset",
               plan->from_beginning ? "smallest"
               : plan->is_kafkas    ? "largest"
                                    : NULL);
}

/* ---- what to read ---- */

static bool add_topic(struct consume_plan *plan, const char *text)
{
    char room[512];
    struct where_topic *t = &plan->topics[plan->topic_count];
    if (!where_parse_topic(text, t, room, sizeof room)) {
        report_error("--topic: %s", room);
        return false;
    }
    if (!names_check_topic(t->name))
        return false;
    for (size_t i = 0; i < plan->topic_count; i++) {
        if (strcmp(plan->topics[i].name, t->name) == 0) {
            report_error("topic %s is given twice; %s:2 would take part with two streams", t->name,
                         t->name);
            return false;
        }
    }
    plan->topic_count++;
    return true;
}

/* To Kafka's console consumer a topic is a whitelist, too. */
static bool read_filter(struct consume_plan *plan, const struct cli_args *args)
{
    char why[256];
    int64_t streams = 1;
    const char *white = cli_args_text(args, WHITELIST, NULL);
    const char *black = cli_args_text(args, BLACKLIST, NULL);
    const char *topic = cli_args_value(args, TOPIC, 0);
    bool has_topic = topic || args->operand_count > 0;
    bool is_too_much = (white != NULL) + (black != NULL) + has_topic > 1;
    if (is_too_much ||
        (plan->is_kafkas && (!(white || black || topic) || cli_args_value(args, TOPIC, 1)))) {
        report_error("Exactly one of whitelist/blacklist/topic is required.");
        return false;
    }
    if (!cli_args_number(args, STREAMS, 1, WHERE_STREAMS_MAX, &streams, why, sizeof why)) {
        report_error("%s", why);
        return false;
    }
    plan->filter = (struct zkc_filter){
        .kind = black ? ZKC_FILTER_BLACKLIST : ZKC_FILTER_WHITELIST,
        .topics = white             ? white
                  : black           ? black
                  : plan->is_kafkas ? topic
                                    : NULL,
        .streams = (int32_t)streams,
    };
    return !plan->filter.topics || names_check_filter(&plan->filter);
}

/* Topics may stand without --topic, as in `kcat -G group topic`. */
static bool read_topics(struct consume_plan *plan, const struct cli_args *args)
{
    plan->topics = calloc(args->given_count + args->operand_count + 1, sizeof *plan->topics);
    if (!plan->topics)
        return false;
    if (!read_filter(plan, args))
        return false;
    if (plan->filter.topics)
        return true;
    const char *text;
    for (size_t i = 0; (text = cli_args_value(args, TOPIC, i)); i++)
        if (!add_topic(plan, text))
            return false;
    for (size_t i = 0; i < args->operand_count; i++)
        if (!add_topic(plan, args->operands[i]))
            return false;
    return plan->topic_count > 0 || report_needs(args, TOPIC, CONSUME_EXAMPLE);
}

static bool read_partitions(struct consume_plan *plan, const struct cli_args *args)
{
    char why[512];
    const char *text = cli_args_text(args, PARTITION, NULL);
    const char *offset = cli_args_text(args, OFFSET, NULL);
    plan->is_member = text == NULL;
    plan->start = (struct where_start){plan->from_beginning ? WHERE_BEGINNING : WHERE_END, 0};
    if (!text && offset) {
        report_error("--offset needs --partition: a member starts where its group is");
        return false;
    }
    if (offset && plan->from_beginning) {
        report_error("--offset and --from-beginning both say where to start");
        return false;
    }
    if ((text && !where_parse_partitions(text, &plan->partitions, &plan->partition_count, why,
                                         sizeof why)) ||
        (offset && !where_parse_start(offset, &plan->start, why, sizeof why))) {
        report_error("%s", why);
        return false;
    }
    if (text && plan->filter.topics) {
        report_error("--partition takes a topic, not a filter");
        return false;
    }
    if (text && plan->topic_count > 1) {
        report_error("--partition takes one topic, not %zu", plan->topic_count);
        return false;
    }
    if (plan->start.kind == WHERE_STORED && !zkc_conf_get(plan->conf, "group.id")) {
        report_error("--offset=stored needs --group: whose offset?");
        return false;
    }
    return true;
}

static bool name_group(struct consume_plan *plan, uint32_t random)
{
    const char *group = zkc_conf_get(plan->conf, "group.id");
    if (group && !names_check_group(group))
        return false;
    if (group || !plan->is_member)
        return true;
    plan->is_throwaway = true;
    snprintf(plan->throwaway, sizeof plan->throwaway, "console-consumer-%" PRIu32,
             random % 100000); /* Kafka's range */
    return set(plan, "group", "group.id", plan->throwaway);
}

/* ---- how to write it ---- */

static bool read_printing(struct consume_plan *plan, const struct cli_args *args,
                          struct printing *printing)
{
    char why[512];
    const char *key = cli_args_text(args, KEY_SEPARATOR, NULL);
    const char *spec = cli_args_text(args, FORMAT, NULL);
    plan->is_json = cli_args_has(args, JSON);
    plan->is_unbuffered = cli_args_has(args, UNBUFFERED);
    plan->null_text = cli_args_has(args, NULLS) ? "NULL" : plan->is_kafkas ? "null" : "";
    printing->formatter = cli_args_text(args, FORMATTER, NULL);
    if (plan->is_json && spec) {
        report_error("--format and --json both say how to write messages");
        return false;
    }
    if (key) {
        printing->with_key = true;
        printing->key_separator = key;
    }
    printing->line_separator = cli_args_text(args, LINE_SEPARATOR, printing->line_separator);
    if (!spec && plan->exec && plan->exec_messages == 1 && !plan->is_json && !key &&
        !printing->formatter && !cli_args_has(args, LINE_SEPARATOR))
        spec = "%s"; /* the bare value */
    if (!spec)
        return printing_make(printing, &plan->format);
    if (format_init(&plan->format, spec, why, sizeof why))
        return true;
    report_error("--format: %s", why);
    return false;
}

static bool read_limits(struct consume_plan *plan, const struct cli_args *args)
{
    char why[512];
    plan->from_beginning = cli_args_has(args, FROM_BEGINNING);
    plan->exits_at_end = cli_args_has(args, EXIT_AT_END);
    plan->messages_max = -1;
    plan->grace_ms = GRACE_DEFAULT_MS;
    if (!cli_args_number(args, MESSAGES_MAX, 1, INT64_MAX, &plan->messages_max, why, sizeof why) ||
        !cli_args_number(args, GRACE, 0, INT32_MAX, &plan->grace_ms, why, sizeof why)) {
        report_error("%s", why);
        return false;
    }
    if (cli_args_has(args, GRACE) && !plan->exits_at_end) {
        report_error("--exit-grace does nothing without --exit-at-end");
        return false;
    }
    return true;
}

/* What is done with messages beside writing them. */
static bool read_exec(struct consume_plan *plan, const struct cli_args *args)
{
    char why[256];
    const char *commit = cli_args_text(args, COMMIT, "after");
    plan->exec = cli_args_text(args, EXEC, NULL);
    plan->commits_before = strcmp(commit, "before") == 0;
    plan->exec_messages = plan->exec_tries = 1;
    plan->exec_timeout_ms = 60000;
    plan->metrics = cli_args_text(args, METRICS, NULL);
    plan->deletes_group = cli_args_has(args, DELETE_OFFSETS);
    if (cli_args_has(args, SKIP))
        report_warning(
            "--skip-message-on-error has no effect here: a message that cannot be read is "
            "reported and passed in any case");
    if (cli_args_has(args, CSV) || cli_args_has(args, METRICS_DIR)) {
        report_error("there are no metrics as CSV files; --metrics=HOST:PORT serves them");
        return false;
    }
    if (!plan->commits_before && strcmp(commit, "after") != 0) {
        report_error("--commit=%s: expected before or after", commit);
        return false;
    }
    static const size_t needing[] = {COMMIT, EXEC_MESSAGES, EXEC_TRIES, EXEC_TIMEOUT};
    for (size_t i = 0; !plan->exec && i < ARRAY_LEN(needing); i++) {
        if (!cli_args_has(args, needing[i]))
            continue;
        report_error("--%s does nothing without --exec", consume_options[needing[i]].names);
        return false;
    }
    if (cli_args_number(args, EXEC_MESSAGES, 1, 1000000, &plan->exec_messages, why, sizeof why) &&
        cli_args_number(args, EXEC_TRIES, 1, 1000000, &plan->exec_tries, why, sizeof why) &&
        cli_args_number(args, EXEC_TIMEOUT, 1, INT32_MAX, &plan->exec_timeout_ms, why, sizeof why))
        return true;
    report_error("%s", why);
    return false;
}

static bool check_connect(const struct consume_plan *plan, const struct cli_args *args)
{
    struct zk_connect parsed;
    struct why why;
    const char *connect = zkc_conf_get(plan->conf, "zookeeper.connect");
    if (!connect)
        return report_needs(args, ZOOKEEPER, CONSUME_EXAMPLE);
    if (zk_connect_parse(connect, &parsed, &why) != ZKC_OK) {
        report_error("%s", why.text);
        return false;
    }
    zk_connect_deinit(&parsed);
    return true;
}

bool consume_plan_init(struct consume_plan *plan, const struct cli_args *args, uint32_t random)
{
    struct printing printing = PRINTING_DEFAULT;
    *plan = (struct consume_plan){0};
    report_set_level_by(args, QUIET, VERBOSE);
    plan->is_kafkas = args->called_as != NULL;
    if (plan->is_kafkas && report_level() == REPORT_NORMAL)
        report_set_level(REPORT_QUIET);
    if (!read_limits(plan, args) || !read_exec(plan, args) || !read_topics(plan, args) ||
        !read_settings(plan, args, &printing) || !read_partitions(plan, args) ||
        !name_group(plan, random) || !read_printing(plan, args, &printing))
        return false;
    const char *silence = zkc_conf_get(plan->conf, "consumer.timeout.ms");
    if (!silence || !cli_parse_number(silence, -1, INT32_MAX, &plan->silence_ms))
        plan->silence_ms = -1;
    return check_connect(plan, args);
}

void consume_plan_deinit(struct consume_plan *plan)
{
    zkc_conf_free(plan->conf);
    free(plan->topics);
    free(plan->partitions);
    format_deinit(&plan->format);
}

const char *consume_plan_group(const struct consume_plan *plan)
{
    return zkc_conf_get(plan->conf, "group.id");
}
