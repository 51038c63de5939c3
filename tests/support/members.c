/* Members of groups on command: what tests/java/Members.java is for Kafka's consumers, for ours,
 * with the same words, and with what only a program over the library can do.
 *
 * Commands, one a line on standard input:
 *
 *   open NAME [KEY=VALUE ...]       a consumer with these settings
 *   streams NAME TOPIC=N[,TOPIC=N]  joins the group; a thread takes from each stream
 *   filter NAME KIND N EXPRESSION   the same with N streams of a filter; KIND: white_list,
 *                                   black_list
 *   assign NAME TOPIC:P:OFFSET[,..] reads single partitions; OFFSET: N, beginning, end, stored
 *   take NAME N                     take N more messages in all, then stand still (-1: no limit)
 *   print NAME N                    print every Nth message only (1: all, the default; 0: none)
 *   counts NAME                     prints what was taken so far
 *   work NAME MS                    each message takes that long, before the next is asked for
 *   ack NAME                        acknowledges the last message of each stream
 *   stats NAME                      prints the next statistics document
 *   keep NAME N                     keep copies of the next N messages until the end
 *   commit NAME [TOPIC P OFFSET]    commits what was taken, or this
 *   position NAME TOPIC P           prints the position
 *   before NAME TOPIC P TIME N      at most N starts of segments not younger than that
 *   at NAME TOPIC P TIME            the first message that is not older; TIME: ms, beginning, end
 *   seek NAME TOPIC P OFFSET        moves it
 *   pause NAME TOPIC P | resume NAME TOPIC P
 *   hang NAME MS                    the next revoke callback takes that long
 *   closein NAME KIND               close in the next callback of this kind: assign, revoke, lost,
 *                                   error, message
 *   close NAME [TIMEOUT_MS]         (10000)
 *   late NAME                       every call once, on a consumer that is closed
 *   fork NAME                       every call once, in a child; the child's sockets after exec
 *   free NAME
 *   quit                            frees everything, prints what was kept
 *
 * Events, one a line on standard output; CODE is a name of enum zkc_err:
 *
 *   opened NAME ID | streams NAME | committed NAME CODE | closed NAME CODE MS | freed NAME
 *   msg NAME STREAM TOPIC PARTITION OFFSET KEY VALUE
 *       STREAM is TOPIC-N. KEY and VALUE are percent-encoded; "-" stands for null, "%" for empty.
 *   odd NAME STREAM TOPIC PARTITION OFFSET CODE     a report in a message's place
 *   counts NAME [TOPIC:PARTITION:COUNT:LASTOFFSET ...]
 *   acknowledged NAME [CODE ...]    one for each stream that has had a message
 *   stats NAME JSON
 *   before NAME CODE [OFFSET ...] | at NAME CODE OFFSET exact|segment
 *   position NAME TOPIC P CODE OFFSET | seek, pause, resume NAME CODE
 *   end NAME STREAM CODE            the stream has ended
 *   rebalance NAME assign|revoke|lost [TOPIC:P:OFFSET ...]
 *   report NAME CODE TEXT           the error callback
 *   late NAME [CALL=CODE ...] | child NAME [CALL=CODE ...] | sockets NAME COUNT
 *   closing NAME CODE               what close said in a callback | hung NAME
 *   kept NAME TOPIC PARTITION OFFSET VALUE
 *   error NAME TEXT                 a call failed
 *
 * Log lines go to standard error: LEVEL FACILITY NAME TEXT. */
#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zkconsumer/consumer.h>

#define MEMBERS_MAX    256
#define STREAMS_MAX    64
#define PARTITIONS_MAX 1024
#define WORDS_MAX      64
#define LINE_MAX_      65536

struct taken {
    char topic[64];
    int32_t partition;
    int64_t count, last;
};

struct member {
    char name[64];
    zkc_consumer *consumer;
    char (*topics)[64];
    struct zkc_subscription subscriptions[STREAMS_MAX];
    size_t topic_count;

    pthread_t joiner;
    bool has_joiner;
    struct taker {
        struct member *member;
        zkc_stream *stream;
        pthread_t thread;
        struct zkc_message *last; /* a copy, under the lock */
    } takers[STREAMS_MAX];
    size_t taker_count;
    pthread_t closer;
    bool has_closer;
    int close_timeout_ms;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    bool is_closing;
    bool closed_itself; /* in a callback */
    int64_t allowed;    /* messages that may still be taken; -1: any number */
    int64_t total;
    int every;
    int hang_ms;
    int work_ms;
    bool stats_wanted;
    char close_in[16];
    size_t keep_count, kept_count;
    struct zkc_message **kept;
    struct taken taken[PARTITIONS_MAX];
    size_t taken_count;
};

static zkc_loop *loop;
static struct member *members[MEMBERS_MAX];
static size_t member_count;
static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static void say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    pthread_mutex_lock(&out_lock);
    vprintf(fmt, args);
    putchar('\n');
    fflush(stdout);
    pthread_mutex_unlock(&out_lock);
    va_end(args);
}

static void say_failed(const struct member *m, const char *what, enum zkc_err err)
{
    say("error %s %s: %s", m->name, what, zkc_err_name(err));
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- messages ---- */

static char *encoded(const void *data, size_t len)
{
    const unsigned char *bytes = data;
    char *text = must(malloc(3 * len + 2)), *at = text;
    if (!data)
        *at++ = '-';
    else if (len == 0)
        *at++ = '%';
    for (size_t i = 0; i < len; i++) {
        bool plain = bytes[i] > ' ' && bytes[i] < 0x7f && bytes[i] != '%' && bytes[i] != '-';
        if (plain || (bytes[i] == '-' && len > 1))
            *at++ = (char)bytes[i];
        else
            at += sprintf(at, "%%%02X", bytes[i]);
    }
    *at = 0;
    return text;
}

static struct taken *taken_of(struct member *m, const struct zkc_message *message)
{
    for (size_t i = 0; i < m->taken_count; i++)
        if (m->taken[i].partition == message->partition &&
            strcmp(m->taken[i].topic, message->topic) == 0)
            return &m->taken[i];
    assert(m->taken_count < PARTITIONS_MAX);
    struct taken *t = &m->taken[m->taken_count++];
    snprintf(t->topic, sizeof t->topic, "%s", message->topic);
    t->partition = message->partition;
    return t;
}

/* Whether the message is to be printed. */
static bool count(struct member *m, const struct zkc_message *message)
{
    struct taken *t = taken_of(m, message);
    t->count++;
    t->last = message->offset;
    m->total++;
    if (m->kept_count < m->keep_count)
        m->kept[m->kept_count++] = must(zkc_message_dup(message));
    return m->every > 0 && m->total % m->every == 0;
}

static void tell_message(struct member *m, zkc_stream *stream, const struct zkc_message *message)
{
    const char *topic = zkc_stream_topic(stream);
    int index = zkc_stream_index(stream);
    if (message->err) {
        say("odd %s %s-%d %s %" PRId32 " %" PRId64 " %s", m->name, topic, index, message->topic,
            message->partition, message->offset, zkc_err_name(message->err));
        return;
    }
    char *key = encoded(message->key, message->key_len);
    char *value = encoded(message->value, message->value_len);
    say("msg %s %s-%d %s %" PRId32 " %" PRId64 " %s %s", m->name, topic, index, message->topic,
        message->partition, message->offset, key, value);
    free(key);
    free(value);
}

static void close_in(struct member *m, const char *kind)
{
    pthread_mutex_lock(&m->lock);
    bool now = strcmp(m->close_in, kind) == 0;
    if (now) {
        m->close_in[0] = 0;
        m->closed_itself = true;
    }
    pthread_mutex_unlock(&m->lock);
    if (now)
        say("closing %s %s", m->name,
            zkc_err_name(zkc_consumer_close(m->consumer, 5000, NULL, NULL)));
}

static void got_message(struct member *m, zkc_stream *stream, const struct zkc_message *message)
{
    pthread_mutex_lock(&m->lock);
    bool shown = message->err || count(m, message);
    pthread_mutex_unlock(&m->lock);
    if (shown)
        tell_message(m, stream, message);
    close_in(m, "message");
}

/* Waits until a message may be taken, and takes the permission. */
static void wait_for_permission(struct member *m)
{
    pthread_mutex_lock(&m->lock);
    while (m->allowed == 0 && !m->is_closing)
        pthread_cond_wait(&m->changed, &m->lock);
    if (m->allowed > 0)
        m->allowed--;
    pthread_mutex_unlock(&m->lock);
}

static void give_permission_back(struct member *m)
{
    pthread_mutex_lock(&m->lock);
    if (m->allowed >= 0)
        m->allowed++;
    pthread_mutex_unlock(&m->lock);
}

/* What the application does with a message: it has it in its hands until then. */
static void work(struct member *m)
{
    pthread_mutex_lock(&m->lock);
    int ms = m->work_ms;
    pthread_mutex_unlock(&m->lock);
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    if (ms)
        nanosleep(&pause, NULL);
}

static void remember(struct taker *taker, const struct zkc_message *message)
{
    struct zkc_message *copy = must(zkc_message_dup(message));
    pthread_mutex_lock(&taker->member->lock);
    struct zkc_message *before = taker->last;
    taker->last = copy;
    pthread_mutex_unlock(&taker->member->lock);
    zkc_message_free(before);
}

static void *take(void *arg)
{
    struct taker *taker = arg;
    struct member *m = taker->member;
    struct zkc_message message;
    enum zkc_err err;
    do {
        wait_for_permission(m);
        err = zkc_stream_next(taker->stream, 50, &message);
        if (err == ZKC_OK) {
            if (message.claim)
                remember(taker, &message);
            got_message(m, taker->stream, &message);
            work(m);
        } else {
            give_permission_back(m);
        }
    } while (err == ZKC_OK || err == ZKC_ERR_TIMED_OUT);
    say("end %s %s-%d %s", m->name, zkc_stream_topic(taker->stream),
        zkc_stream_index(taker->stream), zkc_err_name(err));
    return NULL;
}

/* ---- callbacks ---- */

static void on_log(zkc_consumer *consumer, int level, const char *facility, const char *text,
                   void *user)
{
    (void)consumer;
    struct member *m = user;
    fprintf(stderr, "%d %s %s %s\n", level, facility, m->name, text);
}

static void on_stats(zkc_consumer *consumer, const char *json, size_t len, void *user)
{
    (void)consumer;
    struct member *m = user;
    pthread_mutex_lock(&m->lock);
    bool is_wanted = m->stats_wanted;
    m->stats_wanted = false;
    pthread_mutex_unlock(&m->lock);
    if (is_wanted)
        say("stats %s %.*s", m->name, (int)len, json);
}

static void on_error(zkc_consumer *consumer, enum zkc_err err, const char *text, void *user)
{
    (void)consumer;
    struct member *m = user;
    say("report %s %s %s", m->name, zkc_err_name(err), text);
    close_in(m, "error");
}

static void on_rebalance(zkc_consumer *consumer, enum zkc_rebalance_kind kind,
                         struct zkc_owned *list, size_t list_count, void *user)
{
    static const char *const names[] = {[ZKC_REBALANCE_ASSIGN] = "assign",
                                        [ZKC_REBALANCE_REVOKE] = "revoke",
                                        [ZKC_REBALANCE_LOST] = "lost"};
    (void)consumer;
    struct member *m = user;
    char *text = must(malloc(list_count * 128 + 1)), *at = text;
    *at = 0;
    for (size_t i = 0; i < list_count; i++)
        at += snprintf(at, 128, " %.64s:%" PRId32 ":%" PRId64, list[i].topic, list[i].partition,
                       list[i].offset);
    say("rebalance %s %s%s", m->name, names[kind], text);
    free(text);
    pthread_mutex_lock(&m->lock);
    int hang_ms = kind == ZKC_REBALANCE_REVOKE ? m->hang_ms : 0;
    if (hang_ms)
        m->hang_ms = 0;
    pthread_mutex_unlock(&m->lock);
    if (hang_ms) {
        struct timespec pause = {hang_ms / 1000, hang_ms % 1000 * 1000000L};
        nanosleep(&pause, NULL);
        say("hung %s", m->name);
    }
    close_in(m, names[kind]);
}

static void on_committed(zkc_consumer *consumer, enum zkc_err err, void *user)
{
    (void)consumer;
    struct member *m = user;
    say("committed %s %s", m->name, zkc_err_name(err));
}

/* ---- commands ---- */

static struct member *find(const char *name)
{
    for (size_t i = 0; i < member_count; i++)
        if (strcmp(members[i]->name, name) == 0)
            return members[i];
    return NULL;
}

static void do_open(char **words, size_t word_count)
{
    assert(member_count < MEMBERS_MAX);
    struct member *m = must(calloc(1, sizeof *m));
    snprintf(m->name, sizeof m->name, "%s", words[1]);
    m->topics = must(calloc(STREAMS_MAX, sizeof *m->topics));
    m->allowed = -1;
    m->every = 1;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    zkc_conf *conf = must(zkc_conf_new());
    zkc_conf_set_user(conf, m);
    zkc_conf_set_on_log(conf, on_log);
    zkc_conf_set_on_error(conf, on_error);
    zkc_conf_set_on_rebalance(conf, on_rebalance);
    zkc_conf_set_on_stats(conf, on_stats);
    char why[512] = "";
    enum zkc_err err = ZKC_OK;
    for (size_t i = 2; !err && i < word_count; i++) {
        char *value = strchr(words[i], '=');
        assert(value);
        *value++ = 0;
        err = zkc_conf_set(conf, words[i], value, why, sizeof why);
    }
    if (!err)
        err = zkc_consumer_open(conf, loop, &m->consumer, why, sizeof why);
    zkc_conf_free(conf);
    members[member_count++] = m;
    if (err)
        say("error %s %s: %s", m->name, zkc_err_name(err), why);
    else
        say("opened %s %s", m->name, zkc_consumer_id(m->consumer));
}

static void start_taker(struct member *m, zkc_stream *stream)
{
    assert(stream && m->taker_count < STREAMS_MAX);
    struct taker *taker = &m->takers[m->taker_count++];
    *taker = (struct taker){.member = m, .stream = stream};
    if (pthread_create(&taker->thread, NULL, take, taker))
        abort();
}

static bool has_closed_itself(struct member *m)
{
    pthread_mutex_lock(&m->lock);
    bool itself = m->closed_itself;
    pthread_mutex_unlock(&m->lock);
    return itself;
}

/* createMessageStreams: streams are taken from when the first rebalance has ended well. */
static void *join(void *arg)
{
    struct member *m = arg;
    enum zkc_err err;
    while ((err = zkc_consumer_wait(m->consumer, -1)) == ZKC_ERR_UNREACHABLE) {
        struct timespec pause = {0, 100000000};
        nanosleep(&pause, NULL);
    }
    if (err == ZKC_ERR_CLOSED && has_closed_itself(m)) { /* in a callback, before we looked */
        say("end %s - %s", m->name, zkc_err_name(err));
        return NULL;
    }
    if (err) {
        say_failed(m, "wait", err);
        return NULL;
    }
    say("streams %s", m->name);
    for (size_t i = 0; i < m->topic_count; i++)
        for (int32_t k = 0; k < m->subscriptions[i].streams; k++)
            start_taker(m, zkc_consumer_stream(m->consumer, m->topics[i], k));
    return NULL;
}

static void start_joiner(struct member *m)
{
    m->has_joiner = pthread_create(&m->joiner, NULL, join, m) == 0;
    assert(m->has_joiner);
}

static void do_streams(struct member *m, char *wanted)
{
    for (char *rest = wanted, *one; (one = strtok_r(rest, ",", &rest));) {
        char *equals = strrchr(one, '=');
        assert(equals && m->topic_count < STREAMS_MAX);
        snprintf(m->topics[m->topic_count], sizeof *m->topics, "%.*s", (int)(equals - one), one);
        m->subscriptions[m->topic_count] =
            (struct zkc_subscription){m->topics[m->topic_count], atoi(equals + 1)};
        m->topic_count++;
    }
    enum zkc_err err = zkc_consumer_subscribe(m->consumer, m->subscriptions, m->topic_count);
    if (err)
        say_failed(m, "subscribe", err);
    else
        start_joiner(m);
}

static void do_filter(struct member *m, char **words, size_t word_count)
{
    assert(word_count == 5);
    struct zkc_filter filter = {.kind = strcmp(words[2], "white_list") == 0 ? ZKC_FILTER_WHITELIST
                                                                            : ZKC_FILTER_BLACKLIST,
                                .topics = words[4],
                                .streams = atoi(words[3])};
    snprintf(m->topics[0], sizeof *m->topics, "%s", words[4]);
    m->subscriptions[0] = (struct zkc_subscription){m->topics[0], filter.streams};
    m->topic_count = 1;
    enum zkc_err err = zkc_consumer_subscribe_filter(m->consumer, &filter);
    if (err)
        say_failed(m, "subscribe_filter", err);
    else
        start_joiner(m);
}

static int64_t offset_of(const char *word)
{
    return strcmp(word, "beginning") == 0 ? ZKC_OFFSET_BEGINNING
           : strcmp(word, "end") == 0     ? ZKC_OFFSET_END
           : strcmp(word, "stored") == 0  ? ZKC_OFFSET_STORED
                                          : strtoll(word, NULL, 10);
}

static void add_topic(struct member *m, const char *topic)
{
    for (size_t i = 0; i < m->topic_count; i++)
        if (strcmp(m->topics[i], topic) == 0)
            return;
    snprintf(m->topics[m->topic_count], sizeof *m->topics, "%s", topic);
    m->subscriptions[m->topic_count] = (struct zkc_subscription){m->topics[m->topic_count], 1};
    m->topic_count++;
}

static void do_assign(struct member *m, char *wanted)
{
    struct zkc_position list[STREAMS_MAX];
    size_t list_count = 0;
    for (char *rest = wanted, *one; (one = strtok_r(rest, ",", &rest));) {
        char *save, *topic = strtok_r(one, ":", &save), *partition = strtok_r(NULL, ":", &save),
                    *offset = strtok_r(NULL, ":", &save);
        assert(offset && list_count < STREAMS_MAX);
        list[list_count++] = (struct zkc_position){topic, atoi(partition), offset_of(offset)};
        add_topic(m, topic);
    }
    enum zkc_err err = zkc_consumer_assign(m->consumer, list, list_count);
    if (err)
        say_failed(m, "assign", err);
    else
        start_joiner(m);
}

static void do_counts(struct member *m)
{
    char *text = must(malloc(PARTITIONS_MAX * 128)), *at = text;
    *at = 0;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->taken_count; i++)
        at += snprintf(at, 128, " %s:%" PRId32 ":%" PRId64 ":%" PRId64, m->taken[i].topic,
                       m->taken[i].partition, m->taken[i].count, m->taken[i].last);
    pthread_mutex_unlock(&m->lock);
    say("counts %s%s", m->name, text);
    free(text);
}

static void do_take(struct member *m, int64_t n)
{
    pthread_mutex_lock(&m->lock);
    m->allowed = n;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

static void do_ack(struct member *m)
{
    char text[STREAMS_MAX * 32] = "";
    size_t len = 0;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->taker_count; i++)
        if (m->takers[i].last)
            len += (size_t)snprintf(text + len, sizeof text - len, " %s",
                                    zkc_err_name(zkc_message_acknowledge(m->takers[i].last)));
    pthread_mutex_unlock(&m->lock);
    say("acknowledged %s%s", m->name, text);
}

static void do_keep(struct member *m, size_t n)
{
    pthread_mutex_lock(&m->lock);
    m->kept = must(calloc(n + 1, sizeof *m->kept));
    m->keep_count = n;
    pthread_mutex_unlock(&m->lock);
}

static void release_takers(struct member *m)
{
    pthread_mutex_lock(&m->lock);
    m->is_closing = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

static void *close_member(void *arg)
{
    struct member *m = arg;
    int64_t started = now_ms();
    release_takers(m);
    enum zkc_err err = zkc_consumer_close_wait(m->consumer, m->close_timeout_ms);
    say("closed %s %s %" PRId64, m->name, zkc_err_name(err), now_ms() - started);
    return NULL;
}

static void do_close(struct member *m, int timeout_ms)
{
    assert(!m->has_closer);
    m->close_timeout_ms = timeout_ms;
    m->has_closer = pthread_create(&m->closer, NULL, close_member, m) == 0;
    assert(m->has_closer);
}

static void free_member(struct member *m)
{
    if (!m->consumer)
        return;
    release_takers(m);
    if (m->has_closer)
        pthread_join(m->closer, NULL);
    else
        zkc_consumer_close_wait(m->consumer, 0);
    if (m->has_joiner)
        pthread_join(m->joiner, NULL);
    for (size_t i = 0; i < m->taker_count; i++) {
        pthread_join(m->takers[i].thread, NULL);
        zkc_message_free(m->takers[i].last);
    }
    zkc_consumer_free(m->consumer);
    m->consumer = NULL;
    say("freed %s", m->name);
}

/* ---- every call once ---- */

static void ignore_owned(const struct zkc_owned *owned, void *user)
{
    (void)owned;
    (void)user;
}

static size_t every_call(struct member *m, char *text, size_t size)
{
    struct zkc_subscription subscription = {"t", 1};
    struct zkc_filter filter = {.kind = ZKC_FILTER_WHITELIST, .topics = "t", .streams = 1};
    struct zkc_position position = {"t", 0, 0};
    struct zkc_message message;
    int64_t offset;
    size_t one = 1;
    zkc_stream *stream = m->taker_count ? m->takers[0].stream : NULL;
    const struct {
        const char *name;
        enum zkc_err err;
    } calls[] = {
        {"subscribe", zkc_consumer_subscribe(m->consumer, &subscription, 1)},
        {"subscribe_filter", zkc_consumer_subscribe_filter(m->consumer, &filter)},
        {"assign", zkc_consumer_assign(m->consumer, &position, 1)},
        {"wait", zkc_consumer_wait(m->consumer, 100)},
        {"next", zkc_consumer_next(m->consumer, 0, &message)},
        {"stream_next", stream ? zkc_stream_next(stream, 0, &message) : ZKC_OK},
        {"commit", zkc_consumer_commit(m->consumer, NULL, 0, NULL, NULL)},
        {"commit_wait", zkc_consumer_commit_wait(m->consumer, NULL, 0, 100)},
        {"position", zkc_consumer_position(m->consumer, "t", 0, &offset)},
        {"log_end", zkc_consumer_log_end(m->consumer, "t", 0, &offset)},
        {"seek", zkc_consumer_seek(m->consumer, "t", 0, 0)},
        {"offsets_before",
         zkc_consumer_offsets_before(m->consumer, "t", 0, 0, &offset, &one, 1000)},
        {"offset_at", zkc_consumer_offset_at(m->consumer, "t", 0, 0, &offset, NULL, 1000)},
        {"pause", zkc_consumer_pause(m->consumer, "t", 0)},
        {"resume", zkc_consumer_resume(m->consumer, "t", 0)},
        {"owned", zkc_consumer_owned(m->consumer, ignore_owned, NULL)},
        {"close", zkc_consumer_close(m->consumer, 100, NULL, NULL)},
        {"close_wait", zkc_consumer_close_wait(m->consumer, 100)},
    };
    size_t len = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        len += (size_t)snprintf(text + len, size - len, " %s=%s", calls[i].name,
                                zkc_err_name(calls[i].err));
    return len;
}

static void do_late(struct member *m)
{
    char text[2048];
    every_call(m, text, sizeof text);
    say("late %s%s", m->name, text);
}

/* How many sockets this process has open. */
static int sockets(void)
{
    int found = 0;
    DIR *folder = must(opendir("/proc/self/fd"));
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat stat_;
        if (fstat(atoi(entry->d_name), &stat_) == 0 && S_ISSOCK(stat_.st_mode))
            found++;
    }
    closedir(folder);
    return found;
}

static void do_fork(struct member *m, const char *program)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char text[2048];
        every_call(m, text, sizeof text);
        zkc_consumer_free(m->consumer); /* touches nothing */
        printf("child %s%s\n", m->name, text);
        fflush(stdout);
        execl(program, program, "--sockets", m->name, (char *)NULL);
        _exit(1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0)
        say("error %s the child ended with %d", m->name, status);
}

static void do_before(struct member *m, const char *topic, int32_t partition, int64_t time_ms,
                      size_t n)
{
    int64_t offsets[64];
    char text[64 * 21] = "", *at = text;
    size_t list_count = n;
    assert(n <= 64);
    enum zkc_err err = zkc_consumer_offsets_before(m->consumer, topic, partition, time_ms, offsets,
                                                   &list_count, 30000);
    for (size_t i = 0; !err && i < list_count; i++)
        at += snprintf(at, 21, " %" PRId64, offsets[i]);
    say("before %s %s%s", m->name, zkc_err_name(err), text);
}

/* ---- the input ---- */

static void member_command(struct member *m, char **words, size_t word_count, const char *program)
{
    const char *what = words[0];
    const char *topic = word_count > 2 ? words[2] : "";
    int32_t partition = word_count > 3 ? atoi(words[3]) : 0;
    if (strcmp(what, "streams") == 0) {
        do_streams(m, words[2]);
    } else if (strcmp(what, "filter") == 0) {
        do_filter(m, words, word_count);
    } else if (strcmp(what, "assign") == 0) {
        do_assign(m, words[2]);
    } else if (strcmp(what, "take") == 0) {
        do_take(m, strtoll(words[2], NULL, 10));
    } else if (strcmp(what, "print") == 0) {
        pthread_mutex_lock(&m->lock);
        m->every = atoi(words[2]);
        pthread_mutex_unlock(&m->lock);
    } else if (strcmp(what, "counts") == 0) {
        do_counts(m);
    } else if (strcmp(what, "work") == 0) {
        pthread_mutex_lock(&m->lock);
        m->work_ms = atoi(words[2]);
        pthread_mutex_unlock(&m->lock);
    } else if (strcmp(what, "ack") == 0) {
        do_ack(m);
    } else if (strcmp(what, "stats") == 0) {
        pthread_mutex_lock(&m->lock);
        m->stats_wanted = true;
        pthread_mutex_unlock(&m->lock);
    } else if (strcmp(what, "keep") == 0) {
        do_keep(m, (size_t)atoi(words[2]));
    } else if (strcmp(what, "commit") == 0) {
        struct zkc_position at = {topic, partition, word_count > 4 ? offset_of(words[4]) : 0};
        enum zkc_err err =
            zkc_consumer_commit(m->consumer, word_count > 4 ? &at : NULL, 1, on_committed, m);
        if (err)
            say("committed %s %s", m->name, zkc_err_name(err));
    } else if (strcmp(what, "position") == 0) {
        int64_t offset = -1;
        enum zkc_err err = zkc_consumer_position(m->consumer, topic, partition, &offset);
        say("position %s %s %" PRId32 " %s %" PRId64, m->name, topic, partition, zkc_err_name(err),
            offset);
    } else if (strcmp(what, "before") == 0) {
        do_before(m, topic, partition, offset_of(words[4]), (size_t)atoi(words[5]));
    } else if (strcmp(what, "at") == 0) {
        bool is_exact = false;
        int64_t offset = -1;
        enum zkc_err err = zkc_consumer_offset_at(m->consumer, topic, partition,
                                                  offset_of(words[4]), &offset, &is_exact, 30000);
        say("at %s %s %" PRId64 " %s", m->name, zkc_err_name(err), offset,
            is_exact ? "exact" : "segment");
    } else if (strcmp(what, "seek") == 0) {
        say("seek %s %s", m->name,
            zkc_err_name(zkc_consumer_seek(m->consumer, topic, partition, offset_of(words[4]))));
    } else if (strcmp(what, "pause") == 0) {
        say("pause %s %s", m->name,
            zkc_err_name(zkc_consumer_pause(m->consumer, topic, partition)));
    } else if (strcmp(what, "resume") == 0) {
        say("resume %s %s", m->name,
            zkc_err_name(zkc_consumer_resume(m->consumer, topic, partition)));
    } else if (strcmp(what, "hang") == 0) {
        pthread_mutex_lock(&m->lock);
        m->hang_ms = atoi(words[2]);
        pthread_mutex_unlock(&m->lock);
    } else if (strcmp(what, "closein") == 0) {
        pthread_mutex_lock(&m->lock);
        snprintf(m->close_in, sizeof m->close_in, "%s", words[2]);
        pthread_mutex_unlock(&m->lock);
    } else if (strcmp(what, "close") == 0) {
        do_close(m, word_count > 2 ? atoi(words[2]) : 10000);
    } else if (strcmp(what, "late") == 0) {
        do_late(m);
    } else if (strcmp(what, "fork") == 0) {
        do_fork(m, program);
    } else if (strcmp(what, "free") == 0) {
        free_member(m);
    } else {
        say("error %s unknown command %s", m->name, what);
    }
}

static void command(char *line, const char *program)
{
    char *words[WORDS_MAX];
    size_t word_count = 0;
    for (char *rest = line, *word; (word = strtok_r(rest, " \n", &rest));) {
        assert(word_count < WORDS_MAX);
        words[word_count++] = word;
    }
    if (word_count < 2) {
        say("error - no member named");
    } else if (strcmp(words[0], "open") == 0) {
        do_open(words, word_count);
    } else {
        struct member *m = find(words[1]);
        if (m && m->consumer)
            member_command(m, words, word_count, program);
        else
            say("error %s no such member", words[1]);
    }
}

static void forget(struct member *m)
{
    for (size_t i = 0; i < m->kept_count; i++) {
        const struct zkc_message *kept = m->kept[i];
        char *value = encoded(kept->value, kept->value_len);
        say("kept %s %s %" PRId32 " %" PRId64 " %s", m->name, kept->topic, kept->partition,
            kept->offset, value);
        free(value);
        zkc_message_free(m->kept[i]);
    }
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->changed);
    free(m->kept);
    free(m->topics);
    free(m);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--sockets") == 0) {
        printf("sockets %s %d\n", argv[2], sockets());
        return 0;
    }
    enum zkc_err err = zkc_loop_open(NULL, &loop);
    if (err) {
        say("error - loop: %s", zkc_err_name(err));
        return 1;
    }
    char *line = must(malloc(LINE_MAX_));
    while (fgets(line, LINE_MAX_, stdin) && strcmp(line, "quit\n") != 0)
        if (line[0] != '\n')
            command(line, argv[0]);
    for (size_t i = 0; i < member_count; i++)
        free_member(members[i]);
    zkc_loop_close(loop);
    for (size_t i = 0; i < member_count; i++)
        forget(members[i]);
    free(line);
    return 0;
}
