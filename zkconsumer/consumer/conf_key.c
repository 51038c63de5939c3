#include "zkconsumer/consumer/conf_key.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/zk/auth.h"
#include <string.h>
#include <strings.h>

/* Shapes of entries. Numbers stand once: their text is made from them. */
#define DOC(name_, type_, default_, range_, aliases_, text_)                                       \
    .doc = {.name = name_,                                                                         \
            .type = type_,                                                                         \
            .default_value = default_,                                                             \
            .range = range_,                                                                       \
            .aliases = aliases_,                                                                   \
            .text = text_}
#define INTEGER(name_, default_, min_, max_, aliases_, text_)                                      \
    {                                                                                              \
        DOC(name_, "integer", #default_, #min_ " .. " #max_, aliases_, text_),                     \
            .type = CONF_INTEGER, .default_text = #default_, .min = min_, .max = max_              \
    }
/* Kafka takes it from min_ to max_; it acts as if it were within used_min_ and used_max_. */
#define INTEGER_USED(name_, default_, min_, max_, used_min_, used_max_, aliases_, text_)           \
    {                                                                                              \
        DOC(name_, "integer", #default_, #min_ " .. " #max_, aliases_, text_),                     \
            .type = CONF_INTEGER, .default_text = #default_, .min = min_, .max = max_,             \
            .used_min = used_min_, .used_max = used_max_                                           \
    }
#define INTEGER_FROM(name_, from_, from_name_, min_, max_, aliases_, text_)                        \
    {                                                                                              \
        DOC(name_, "integer", "= " from_name_, #min_ " .. " #max_, aliases_, text_),               \
            .type = CONF_INTEGER, .default_from = from_, .has_default_from = true, .min = min_,    \
            .max = max_                                                                            \
    }
#define WORD(name_, default_, range_, words_, aliases_, text_)                                     \
    {                                                                                              \
        DOC(name_, "word", default_, range_, aliases_, text_),                                     \
            .type = CONF_WORD, .default_text = default_, .words = words_                           \
    }
#define BOOLEAN(name_, default_, range_, words_, aliases_, text_)                                  \
    {                                                                                              \
        DOC(name_, "boolean", default_, range_, aliases_, text_),                                  \
            .type = CONF_WORD, .default_text = default_, .words = words_                           \
    }
#define TEXT(name_, type_, range_, aliases_, text_)                                                \
    {                                                                                              \
        DOC(name_, "text", "", range_, aliases_, text_), .type = type_                             \
    }

#define NAME_RANGE "letters, digits, '.', '_', '-'"
#define ID_RANGE   "no '/', blanks or control characters"

static const struct conf_word acls[] = {{.word = "open"}, {.word = "creator"}, {0}};
static const struct conf_word both[] = {{.word = "true"}, {.word = "false"}, {0}};
static const struct conf_word auto_or_both[] = {
    {.word = "auto"}, {.word = "true"}, {.word = "false"}, {0}};
static const struct conf_word resets[] = {{.word = "smallest"},
                                          {.word = "largest"},
                                          {.word = "error"},
                                          {.word = "earliest", .means = "smallest"},
                                          {.word = "latest", .means = "largest"},
                                          {.word = "none", .means = "error"},
                                          {0}};
static const struct conf_word protocols[] = {{.word = "zookeeper"},
                                             {.word = "classic", .is_later = true},
                                             {.word = "consumer", .is_later = true},
                                             {0}};
static const struct conf_word storages[] = {{.word = "zookeeper"}, {.word = "kafka"}, {0}};
static const struct conf_word strategies[] = {{.word = "auto"},
                                              {.word = "ceil"},
                                              {.word = "range"},
                                              {.word = "rendezvous"},
                                              {.word = "roundrobin"},
                                              {.word = "sticky", .is_later = true},
                                              {.word = "cooperative-sticky", .is_later = true},
                                              {0}};
static const struct conf_word modes[] = {{.word = "compat"}, {.word = "safe"}, {0}};
static const struct conf_word variants[] = {
    {.word = "0.8"}, {.word = "0.7"}, {.word = "documented"}, {0}};
static const struct conf_word acknowledgements[] = {
    {.word = "auto"}, {.word = "taken"}, {.word = "next"}, {.word = "explicit"}, {0}};
static const struct conf_word claims[] = {
    {.word = "auto"}, {.word = "single"}, {.word = "multi"}, {0}};
static const struct conf_word blind[] = {
    {.word = "auto"}, {.word = "blind"}, {.word = "session"}, {0}};
static const struct conf_word fences[] = {
    {.word = "auto"}, {.word = "none"}, {.word = "disconnect"}, {.word = "lease"}, {0}};
static const struct conf_word give_ups[] = {
    {.word = "auto"}, {.word = "retries"}, {.word = "never"}, {0}};
static const struct conf_word probes[] = {{.word = "write"}, {.word = "sync"}, {0}};
static const struct conf_word observers[] = {{.word = "own"}, {.word = "process"}, {0}};

const struct conf_key conf_keys[CONF_KEYS] = {
    [KEY_ACKNOWLEDGEMENT_MODE] = WORD(
        "acknowledgement.mode", "auto", "auto, taken, next, explicit", acknowledgements, "",
        "What says that the application is done with a message, so that it may be committed. "
        "taken: taking it (compat, as Kafka 0.8); next: asking for the next one of that stream, or "
        "zkc_message_acknowledge (safe); explicit: zkc_message_acknowledge only (in compat nobody "
        "waits for it: at a rebalance what is not acknowledged is read again). auto: taken with "
        "zookeeper.mode=compat, next with safe."),
    [KEY_AUTO_COMMIT_ENABLE] = BOOLEAN(
        "auto.commit.enable", "true", "true, false", both, "enable.auto.commit, autocommit.enable",
        "Commit what has been consumed by a timer, at each rebalance and at close. Without it "
        "positions in memory are thrown away at a rebalance: even a partition that stays "
        "restarts at the last offset that was committed on request."),
    [KEY_AUTO_COMMIT_INTERVAL_MS] =
        INTEGER_USED("auto.commit.interval.ms", 60000, 0, 2147483647, 1, 2147483647,
                     "autocommit.interval.ms", "Period of the timer commit. 0 acts as 1."),
    [KEY_AUTO_OFFSET_RESET] = WORD(
        "auto.offset.reset", "largest", "smallest, largest, error", resets, "autooffset.reset",
        "Where to start without a committed offset, and where to go on when the broker says that "
        "the offset is out of range: at the oldest message, at the end, or nowhere (an error is "
        "reported and the partition stands still until zkc_consumer_seek). Also earliest, "
        "latest, none."),
    [KEY_CLIENT_ID] =
        {DOC("client.id", "text", "= group.id", NAME_RANGE, "",
             "Sent to brokers in each request; appears in their logs and quotas. Without a "
             "group: zkconsumer (never null, on which 0.9 brokers fail)."),
         .type = CONF_NAME, .default_from = KEY_GROUP_ID, .has_default_from = true},
    [KEY_CONSUMER_ID] = TEXT(
        "consumer.id", CONF_ID, ID_RANGE, "consumerid",
        "The part of the registered id after the group's name; generated (host, time, random) if "
        "not set. Two members with the same id cannot be registered at the same time."),
    [KEY_CONSUMER_TIMEOUT_MS] =
        INTEGER("consumer.timeout.ms", -1, -1, 2147483647, "",
                "How long zkc_stream_next and zkc_consumer_next wait when called with a timeout of "
                "-1; -1: for ever."),
    [KEY_DEBUG] =
        TEXT("debug", CONF_FACILITIES, "zk, member, claim, fetch, offset, conf, all", "",
             "A comma list of log facilities whose lines are all shown, whatever log.level "
             "says."),
    [KEY_DECOMPRESSED_MAX_BYTES] = INTEGER(
        "decompressed.max.bytes", 67108864, 1048576, 2147483647, "",
        "How much memory one compressed message set may need when it is opened. What needs "
        "more is reported as corrupt and passed over: a few bytes can be made to decompress "
        "to very many."),
    [KEY_DUAL_COMMIT_ENABLED] = WORD(
        "dual.commit.enabled", "auto", "auto, true, false", auto_or_both, "",
        "With offsets.storage=kafka: commit offsets to Kafka and to ZooKeeper, and start at the "
        "larger of both; for moving a group from one to the other. auto: true with "
        "offsets.storage=kafka. With offsets.storage=zookeeper Kafka is neither read nor "
        "written, whatever this says."),
    [KEY_EXCLUDE_INTERNAL_TOPICS] = BOOLEAN(
        "exclude.internal.topics", "true", "true, false", both, "",
        "Whether topic filters leave out __consumer_offsets. It is applied to the filters of "
        "all members of the group, so all must have the same value."),
    [KEY_FETCH_MESSAGE_MAX_BYTES] = INTEGER(
        "fetch.message.max.bytes", 1048576, 1, 2147483647, "max.partition.fetch.bytes, fetch.size",
        "How much of one partition a fetch asks for. Must hold the largest message (and the "
        "largest compressed set), or the partition stands still."),
    [KEY_FETCH_MIN_BYTES] = INTEGER_USED(
        "fetch.min.bytes", 1, 0, 2147483647, 1, 2147483647, "",
        "The broker waits until it has this much to answer a fetch with, but not longer than "
        "fetch.wait.max.ms. 0 acts as 1: nothing comes later by it, and with 0 an idle broker "
        "would be asked without a pause."),
    [KEY_FETCH_WAIT_MAX_MS] =
        INTEGER("fetch.wait.max.ms", 100, 0, 2147483647, "fetch.max.wait.ms",
                "How long the broker may hold a fetch that it has nothing for."),
    [KEY_GROUP_ID] =
        TEXT("group.id", CONF_NAME, NAME_RANGE, "groupid",
             "The name of the group: its members share the partitions of their topics. "
             "Required to subscribe."),
    [KEY_GROUP_PROTOCOL] = WORD("group.protocol", "zookeeper", "zookeeper", protocols, "",
                                "How members of the group agree: each for itself, through znodes."),
    [KEY_LOG_LEVEL] = INTEGER(
        "log.level", 4, 0, 7, "",
        "Log lines up to this syslog level are shown: 3 errors, 4 warnings, 5 changes of state, 6 "
        "information, 7 everything."),
    [KEY_MAX_POLL_INTERVAL_MS] = INTEGER(
        "max.poll.interval.ms", 300000, 0, 2147483647, "",
        "With zookeeper.mode=safe: an application that has messages and asks for none for so long "
        "loses its partitions, and the member its session; it joins again when the application "
        "next asks. 0: no limit. With compat nothing watches the application, as in Kafka 0.8."),
    [KEY_NUM_CONSUMER_FETCHERS] =
        INTEGER("num.consumer.fetchers", 1, 1, 2147483647, "",
                "Connections for fetching to each broker, among which its partitions are divided; "
                "those that get none are not made."),
    [KEY_OFFSETS_CHANNEL_BACKOFF_MS] = INTEGER(
        "offsets.channel.backoff.ms", 1000, 0, 2147483647, "",
        "With offsets.storage=kafka: pause between two questions for the group's offset manager, "
        "and before fetching or committing offsets is tried again."),
    [KEY_OFFSETS_CHANNEL_SOCKET_TIMEOUT_MS] = INTEGER(
        "offsets.channel.socket.timeout.ms", 10000, 1, 2147483647, "",
        "With offsets.storage=kafka: how long the offset manager may take to answer. When it is "
        "the very broker that was asked where it is, 3000 ms, as in Kafka 0.8.2."),
    [KEY_OFFSETS_COMMIT_MAX_RETRIES] = INTEGER(
        "offsets.commit.max.retries", 5, 0, 2147483647, "",
        "With offsets.storage=kafka. zookeeper.mode=compat: how often the commit at close is tried "
        "again; other commits are tried once, as in Kafka 0.8.2. safe: how often a commit of the "
        "application is tried again before it has failed; what is done with stays due."),
    [KEY_OFFSETS_STORAGE] =
        WORD("offsets.storage", "zookeeper", "zookeeper, kafka", storages, "",
             "Where offsets are committed: in znodes, or in Kafka (__consumer_offsets, from 0.8.2 "
             "on), through the broker that is the group's offset manager. While there is none: "
             "zookeeper.mode=compat waits before it joins the group and in each rebalance; safe "
             "holds what it has claimed and does not deliver it before it has read its offset, and "
             "a partition that is handed over waits for its commit until zookeeper.hand.over.ms "
             "(at least 1000 ms), no longer. Kafka takes any commit: those of safe are guarded by "
             "the lease alone (docs/safe-mode.md, SF5)."),
    [KEY_PARTITION_ASSIGNMENT_STRATEGY] = WORD(
        "partition.assignment.strategy", "auto", "auto, ceil, range, rendezvous, roundrobin",
        strategies, "",
        "How partitions are divided; all members of a group must use the same, and Kafka's "
        "members use range unless told otherwise. range: what Kafka's code does, the remainder "
        "to the first members; ceil: the published rule, N = partitions / threads rounded up; "
        "rendezvous: even shares of which few move when a member comes or goes (range and ceil "
        "move half of all partitions); with zookeeper.mode=safe it is used while every member of "
        "the group declares it, and until then what auto gives, so that a group can be switched "
        "member by member; "
        "roundrobin: as Kafka 0.8.2, which refuses members that do not subscribe alike; with "
        "zookeeper.mode=safe topics with the same threads are dealt together; auto: with "
        "zookeeper.mode=compat range, or ceil with "
        "zookeeper.variant=documented; with safe ceil while every member of the group declares "
        "that it knows it, else range."),
    [KEY_QUEUED_MAX_MESSAGE_CHUNKS] = INTEGER_USED(
        "queued.max.message.chunks", 2, 1, 2147483647, 1, 10000, "queuedchunks.max",
        "How many fetched chunks (one partition's part of one answer) wait in a stream. Each "
        "can be as large as fetch.message.max.bytes. More than 10000 act as 10000."),
    [KEY_REBALANCE_BACKOFF_MS] = INTEGER_FROM(
        "rebalance.backoff.ms", KEY_ZOOKEEPER_SYNC_TIME_MS, "zookeeper.sync.time.ms", 0, 2147483647,
        "", "Pause after an attempt to rebalance that failed. zookeeper.mode=compat only."),
    [KEY_REBALANCE_MAX_RETRIES] = INTEGER(
        "rebalance.max.retries", 4, 1, 2147483647, "rebalance.retries.max",
        "Attempts of one rebalance, the first one included, before it is given up. Times "
        "rebalance.backoff.ms it should exceed zookeeper.session.timeout.ms, or one crash can "
        "make the whole group give up. zookeeper.mode=compat only: safe never gives up."),
    [KEY_REFRESH_LEADER_BACKOFF_MS] =
        INTEGER_USED("refresh.leader.backoff.ms", 200, 0, 2147483647, 1, 2147483647, "",
                     "Pause between two looks for the leaders of partitions that have none. 0 acts "
                     "as 1."),
    [KEY_SOCKET_RECEIVE_BUFFER_BYTES] =
        INTEGER("socket.receive.buffer.bytes", 65536, -1, 2147483647,
                "receive.buffer.bytes, socket.buffersize",
                "SO_RCVBUF of connections to brokers; -1 or 0: what the system gives."),
    [KEY_SOCKET_TIMEOUT_MS] = INTEGER(
        "socket.timeout.ms", 30000, 1, 2147483647, "request.timeout.ms",
        "How long a broker may take to accept a connection, and to answer a request. Not less "
        "than fetch.wait.max.ms."),
    [KEY_STATISTICS_INTERVAL_MS] = INTEGER("statistics.interval.ms", 0, 0, 86400000, "",
                                           "Period of the statistics callback; 0: none."),
    [KEY_STRICT_CONFIG] = BOOLEAN("strict.config", "false", "true, false", both, "",
                                  "Unknown keys in a file are errors, not warnings."),
    [KEY_TRACE_LEVEL] =
        INTEGER("trace.level", 1, 0, 2, "",
                "How much is traced: 0 states, 1 and what each attempt did, 2 and each "
                "operation."),
    [KEY_TRACE_MEMBER] =
        TEXT("trace.member", CONF_ID, ID_RANGE, "",
             "The name of this member in the trace; its registered id if not set."),
    [KEY_TRACE_ORIGIN_NS] = INTEGER(
        "trace.origin.ns", 0, 0, 9223372036854775807, "",
        "What the trace counts time from, on CLOCK_MONOTONIC, which all processes of a machine "
        "share."),
    [KEY_TRACE_PATH] =
        TEXT("trace.path", CONF_TEXT, "a file", "",
             "Write a trace (docs/trace.md) into this file, which is emptied first. One "
             "file for each consumer. Not set: no trace."),
    [KEY_ZOOKEEPER_ACL] = WORD(
        "zookeeper.acl", "open", "open, creator", acls, "",
        "Who may read and change the znodes that the member makes for its group: open: "
        "everybody, as in Kafka 0.8; creator: whoever shows the same zookeeper.auth, which all "
        "members and tools of the group then need (so no members of Kafka 0.8). With "
        "zookeeper.mode=safe only. Znodes that are there keep what they have."),
    [KEY_ZOOKEEPER_AUTH] =
        TEXT("zookeeper.auth", CONF_AUTH, ZK_AUTH_FORM, "",
             "Credentials that are shown to ZooKeeper, for znodes that an ACL protects. A secret: "
             "better in a file (--config) than on a command line. The tools take it from the "
             "environment, from ZKCONSUMER_ZOOKEEPER_AUTH."),
    [KEY_ZOOKEEPER_CLAIM] =
        WORD("zookeeper.claim", "auto", "auto, single, multi", claims, "",
             "How partitions are claimed: single: one znode after the other; multi: many in one "
             "transaction. auto: single with zookeeper.mode=compat, multi with safe."),
    [KEY_ZOOKEEPER_COALESCE] =
        BOOLEAN("zookeeper.coalesce", "true", "true, false", both, "",
                "Changes that are seen during a rebalance cause one more, not one each."),
    [KEY_ZOOKEEPER_COMMIT] =
        WORD("zookeeper.commit", "auto", "auto, blind, session", blind, "",
             "How offsets are written: blind: whoever owns the partition and whatever is there by "
             "then; session: in the session that claimed it, over the version that is known. "
             "auto: blind with zookeeper.mode=compat, session with safe."),
    [KEY_ZOOKEEPER_CONNECT] = TEXT(
        "zookeeper.connect", CONF_CONNECT, "host:port,host:port,.../chroot", "zk.connect",
        "The ZooKeeper servers, with the chroot of the Kafka cluster, if it has one, once at the "
        "end. Required."),
    [KEY_ZOOKEEPER_CONNECTION_TIMEOUT_MS] =
        INTEGER_FROM("zookeeper.connection.timeout.ms", KEY_ZOOKEEPER_SESSION_TIMEOUT_MS,
                     "zookeeper.session.timeout.ms", 1, 2147483647, "zk.connectiontimeout.ms",
                     "How long the first connection to ZooKeeper may take."),
    [KEY_ZOOKEEPER_FENCE] =
        WORD("zookeeper.fence", "auto", "auto, none, disconnect, lease", fences, "",
             "What stops delivery while ZooKeeper cannot be reached: none: nothing, so two members "
             "may deliver the same messages; disconnect: the loss of the connection; lease: the "
             "end of what the session is sure to live. auto: none with "
             "zookeeper.mode=compat, lease with safe."),
    [KEY_ZOOKEEPER_GIVE_UP] =
        WORD("zookeeper.give.up", "auto", "auto, retries, never", give_ups, "",
             "When a rebalance is given up: retries: after rebalance.max.retries (compat only); "
             "never: not while the member lives. auto: retries with zookeeper.mode=compat, never "
             "with safe."),
    [KEY_ZOOKEEPER_HAND_OVER_MS] = INTEGER(
        "zookeeper.hand.over.ms", 4000, 0, 2147483647, "",
        "With zookeeper.mode=safe: how long a partition that goes to another member waits for the "
        "application to finish what it holds of it. Afterwards that is not committed any more, and "
        "the other member gets it again. Members of Kafka 0.8 give up after 6 seconds."),
    [KEY_ZOOKEEPER_JUTE_MAXBUFFER] = INTEGER(
        "zookeeper.jute.maxbuffer", 1048575,
        4096, 1073741824, "",
        "The largest packet that the ZooKeeper servers take: their property jute.maxbuffer, which "
        "is "
        "also Java's default. No request is made larger, and a session gets no more watches than "
        "one packet holds."),
    [KEY_ZOOKEEPER_KEEP_UNMOVED] =
        BOOLEAN("zookeeper.keep.unmoved", "true", "true, false", both, "",
                "With zookeeper.mode=safe: partitions that stay with a member are not stopped by a "
                "rebalance. false: all are given back and claimed again, as compat does."),
    [KEY_ZOOKEEPER_LEASE_PROBE] = WORD(
        "zookeeper.lease.probe", "write", "write, sync", probes, "",
        "With zookeeper.fence=lease: what renews the lease. write: pairs of transactions that "
        "change nothing, which only a leader with a quorum answers; sync: cheaper, and open to a "
        "leader that has been deposed and does not know it yet."),
    [KEY_ZOOKEEPER_MODE] =
        WORD("zookeeper.mode", "safe", "compat, safe", modes, "",
             "The character of the member: compat: what Kafka 0.8.2 does, faults included; safe: "
             "the same znodes without its faults (docs/safe-mode.md)."),
    [KEY_ZOOKEEPER_OBSERVER] =
        WORD("zookeeper.observer", "own", "own, process", observers, "",
             "With zookeeper.mode=safe: who reads the group: own: each member; process: one more "
             "session for all members of the group on a loop, whose watches spare the servers a "
             "herd."),
    [KEY_ZOOKEEPER_RELEASE] =
        WORD("zookeeper.release", "auto", "auto, blind, session", blind, "",
             "How owner znodes are deleted: blind: without a look at whose they are; session: only "
             "our own, in the session that made it. auto: blind with zookeeper.mode=compat, "
             "session with "
             "safe."),
    [KEY_ZOOKEEPER_SESSION_TIMEOUT_MS] =
        INTEGER("zookeeper.session.timeout.ms", 6000, 1, 2147483647,
                "session.timeout.ms, zk.sessiontimeout.ms",
                "How long ZooKeeper keeps the registration and claims of a member that it does not "
                "hear from; the server may choose another value near it."),
    [KEY_ZOOKEEPER_SYNC_BEFORE_READ] =
        BOOLEAN("zookeeper.sync.before.read", "false", "true, false", both, "",
                "Make the server catch up with its leader before the group is read."),
    [KEY_ZOOKEEPER_SYNC_TIME_MS] =
        INTEGER("zookeeper.sync.time.ms", 2000, 0, 2147483647, "zk.synctime.ms",
                "How far a ZooKeeper server may be behind; acts as the default of "
                "rebalance.backoff.ms."),
    [KEY_ZOOKEEPER_VARIANT] = WORD(
        "zookeeper.variant", "0.8", "0.8, 0.7, documented", variants, "",
        "Which algorithm: 0.8.2's code, 0.7's order of steps and broker watch (on the znodes of "
        "0.8), or the published one, in which every change of members or brokers makes everybody "
        "rebalance."),
    [KEY_ZOOKEEPER_WATCH_BROKERS] =
        WORD("zookeeper.watch.brokers", "auto", "auto, true, false", auto_or_both, "",
             "Rebalance when a broker comes or goes (compat only). auto: false with "
             "zookeeper.variant=0.8, else true."),
    [KEY_ZOOKEEPER_WATCH_OWNERS] =
        WORD("zookeeper.watch.owners", "auto", "auto, true, false", auto_or_both, "",
             "Watch owner znodes: contested ones, instead of trying again after "
             "rebalance.backoff.ms; and with zookeeper.mode=safe our own, so that a foreign delete "
             "is noticed. auto: false with zookeeper.mode=compat, true with "
             "safe."),
    [KEY_ZOOKEEPER_WATCH_SESSIONS_MAX] = INTEGER(
        "zookeeper.watch.sessions.max", 8, 0, 16, "",
        "With zookeeper.mode=safe: how many further sessions, which only read, may carry watches "
        "that "
        "one session has no room for (zookeeper.jute.maxbuffer), in thousands of topics or "
        "partitions. They are opened when they are needed. Without them such topics and owner "
        "znodes are read again every 10 seconds."),
};

#define WITH_COORDINATOR                                                                           \
    "belongs to the coordinator's protocols (group.protocol=classic), which are not available in " \
    "this version"
#define WITH_BROKERS "brokers are found through zookeeper.connect"
#define WITH_BYTES   "keys and values are bytes here; decode them in the application"

static const struct conf_refused refused[] = {
    {"bootstrap.servers", WITH_BROKERS, true, NULL},
    {"broker.list", WITH_BROKERS, true, NULL},
    {"metadata.broker.list", WITH_BROKERS, true, NULL},
    {"fetcher.backoff.ms", "fetches wait at the broker (fetch.wait.max.ms), since Kafka 0.8", true,
     NULL},
    {"group.instance.id", WITH_COORDINATOR, false, NULL},
    {"heartbeat.interval.ms", WITH_COORDINATOR, true, NULL},
    {"key.deserializer", WITH_BYTES, true, NULL},
    {"shallowiterator.enable",
     "was removed in Kafka 0.8 (KAFKA-732): compressed messages are always taken apart", false,
     "false"},
    {"value.deserializer", WITH_BYTES, true, NULL},
};

const char *conf_key_alias(const struct conf_key *key, const char *name)
{
    const char *list = key->doc.aliases;
    size_t len = strlen(name);
    if (strpbrk(name, ", "))
        return NULL;
    for (const char *at = list; len && (at = strstr(at, name)); at += len) {
        bool is_item = (at == list || at[-1] == ' ') && (at[len] == ',' || !at[len]);
        if (is_item)
            return at;
    }
    return NULL;
}

const struct conf_key *conf_key_find(const char *name)
{
    for (size_t i = 0; i < CONF_KEYS; i++)
        if (!strcmp(conf_keys[i].doc.name, name) || conf_key_alias(&conf_keys[i], name))
            return &conf_keys[i];
    return NULL;
}

const struct conf_refused *conf_refused_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (!strcmp(refused[i].name, name))
            return &refused[i];
    return NULL;
}

/* ---- nearest names ---- */

#define WORD_LEN_MAX 48 /* longer than any known one */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance, in which exchanged neighbours count once and the case of letters not at all. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][WORD_LEN_MAX + 1];
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > WORD_LEN_MAX || b_len > WORD_LEN_MAX)
        return WORD_LEN_MAX;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            bool is_same = !strncasecmp(&a[i - 1], &b[j - 1], 1);
            row[j] = least(least(row[j - 1], above[j]) + 1, above[j - 1] + !is_same);
            bool is_swap = i > 1 && j > 1 && !strncasecmp(&a[i - 1], &b[j - 2], 1) &&
                           !strncasecmp(&a[i - 2], &b[j - 1], 1);
            if (is_swap)
                row[j] = least(row[j], above2[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

struct nearest {
    const char *name;
    size_t distance;
};

static void look(struct nearest *best, const char *name, const char *candidate)
{
    size_t d = distance(name, candidate);
    if (d <= strlen(candidate) / 4 + 1 && (!best->name || d < best->distance))
        *best = (struct nearest){candidate, d};
}

const char *conf_key_nearest(const char *name)
{
    struct nearest best = {0};
    for (size_t i = 0; i < CONF_KEYS; i++)
        look(&best, name, conf_keys[i].doc.name);
    return best.name;
}

const char *conf_word_nearest(const struct conf_key *key, const char *word)
{
    struct nearest best = {0};
    for (const struct conf_word *w = key->words; w->word; w++)
        look(&best, word, w->word);
    return best.name;
}
