#include "tests/unit/fetch/story.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/message_set.h"

struct fetcher_config story_config(void)
{
    return (struct fetcher_config){
        .fetch_bytes_max = 1000,
        .fetch_bytes_min = 1,
        .fetch_wait_max_ms = 100,
        .backoff_ms = 200,
        .stuck_backoff_ms = 1000,
        .answer_bytes_max = 1000000,
        .reset = FETCHER_RESET_LARGEST,
    };
}

void story_init(struct story *s, const struct fetcher_config *config)
{
    *s = (struct story){.now_ms = 5000};
    s->fetcher = fetcher_new(config);
    assert_non_null(s->fetcher);
    buf_init(&s->text, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(s->records); i++)
        buf_init(&s->records[i], 1 << 20);
}

void story_deinit(struct story *s)
{
    fetcher_free(s->fetcher);
    buf_deinit(&s->text);
    for (size_t i = 0; i < ARRAY_LEN(s->records); i++)
        buf_deinit(&s->records[i]);
}

void story_append_messages(struct buf *out, int64_t first, int64_t last, size_t value_bytes)
{
    static const char value[256] = "value";
    assert_true(value_bytes <= sizeof value);
    for (int64_t offset = first; offset <= last; offset++)
        message_set_append(out, offset, BYTES_NULL, bytes_of(value, value_bytes));
    assert_int_equal(out->failed, ZKC_OK);
}

static void append_entry_start(struct buf *out, int64_t offset, int32_t size)
{
    uint8_t *at = buf_reserve(out, 20);
    assert_non_null(at);
    memset(at, 0, 20);
    write_i64(at, offset);
    write_i32(at + 8, size);
    out->len += 20;
}

static struct bytes parse_records(struct buf *out, char *spec)
{
    int64_t next = 0;
    char *save = NULL;
    buf_clear(out);
    if (strcmp(spec, "null") == 0)
        return BYTES_NULL;
    for (char *part = strtok_r(spec, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        int64_t first, last;
        int size = 50;
        if (sscanf(part, "%" SCNd64 "-%" SCNd64, &first, &last) == 2) {
            story_append_messages(out, first, last, 10);
            next = last + 1;
        } else if (strncmp(part, "cut", 3) == 0) {
            sscanf(part, "cut%d", &size);
            append_entry_start(out, next, size - MESSAGE_OVERHEAD);
        } else if (strcmp(part, "bad") == 0) {
            append_entry_start(out, next, 3);
        } else if (strcmp(part, "pad") == 0) {
            append_entry_start(out, -1, 61);
        } else {
            fail_msg("records: %s", part);
        }
    }
    return bytes_of(out->len ? out->data : (const uint8_t *)"", out->len);
}

static struct topic_partition parse_partition(char *word, char **rest)
{
    char *slash = strchr(word, '/');
    if (!slash)
        fail_msg("no partition: %s", word);
    *slash = 0;
    struct topic_partition p = {word, (int32_t)strtol(slash + 1, rest, 10)};
    return p;
}

static void parse_from(const char *word, enum fetcher_from *from, int64_t *offset)
{
    *offset = -1;
    if (strcmp(word, "@reset") == 0)
        *from = FETCHER_FROM_RESET;
    else if (strcmp(word, "@first") == 0)
        *from = FETCHER_FROM_EARLIEST;
    else if (strcmp(word, "@last") == 0)
        *from = FETCHER_FROM_LATEST;
    else if (sscanf(word, "@%" SCNd64, offset) == 1)
        *from = FETCHER_FROM_OFFSET;
    else
        fail_msg("from where: %s", word);
}

#define WORDS_MAX 16

static void parse_about(struct fetcher_input *in, char **words, size_t count)
{
    char *rest;
    enum fetcher_from from = FETCHER_FROM_OFFSET;
    int64_t offset = -1;
    uint64_t tag = 0, sink = 1;
    bool is_full = false, is_paused = false;
    in->partition = parse_partition(words[0], &rest);
    for (size_t i = 1; i < count; i++) {
        if (words[i][0] == '@')
            parse_from(words[i], &from, &offset);
        else if (sscanf(words[i], "tag=%" SCNu64, &tag) == 1)
            continue;
        else if (sscanf(words[i], "sink=%" SCNu64, &sink) == 1)
            continue;
        else if (strcmp(words[i], "full") == 0)
            is_full = true;
        else if (strcmp(words[i], "paused") == 0)
            is_paused = true;
        else
            fail_msg("what: %s", words[i]);
    }
    if (in->type == FETCHER_IN_ADD) {
        in->add.from = from;
        in->add.offset = offset;
        in->add.tag = tag;
        in->add.sink = sink;
        in->add.sink_has_room = !is_full;
        in->add.is_paused = is_paused;
    } else if (in->type == FETCHER_IN_SEEK) {
        in->seek.from = from;
        in->seek.offset = offset;
    }
}

static size_t parse_listed(struct fetcher_listed *list, char **words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *rest;
        struct topic_partition p = parse_partition(words[i], &rest);
        list[i] = (struct fetcher_listed){
            .topic = bytes_of_text(p.topic), .partition = p.partition, .offset = -1};
        int error = 0;
        if (sscanf(rest, "!%d", &error) == 1)
            list[i].kafka_error = (int16_t)error;
        else if (strcmp(rest, "=none") != 0 && sscanf(rest, "=%" SCNd64, &list[i].offset) != 1)
            fail_msg("listed: %s", rest);
    }
    return count;
}

static size_t parse_fetched(struct story *s, struct fetch_response_view *list, char **words,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *rest;
        struct topic_partition p = parse_partition(words[i], &rest);
        list[i] = (struct fetch_response_view){
            .topic = bytes_of_text(p.topic), .partition = p.partition, .high_watermark = -1};
        int error = 0, end = 0;
        if (sscanf(rest, "!%d", &error) == 1) {
            list[i].error_code = (int16_t)error;
            continue;
        }
        if (sscanf(rest, ":hw%" SCNd64 ":%n", &list[i].high_watermark, &end) != 1 || end == 0)
            fail_msg("fetched: %s", rest);
        list[i].records = parse_records(&s->records[i], rest + end);
    }
    return count;
}

static const char *last_word(const struct fetcher_output *o, char *text, size_t size)
{
    if (o->lost.kafka_error)
        snprintf(text, size, "error %d", o->lost.kafka_error);
    else
        snprintf(text, size, "%s", zkc_err_name(o->lost.err));
    return text;
}

static void print_request(struct buf *out, const struct fetcher_output *o)
{
    const struct fetcher_request *r = &o->request;
    bool is_fetch = o->type == FETCHER_OUT_FETCH;
    buf_appendf(out, "%s#%" PRIu64, is_fetch ? "fetch" : "list", r->number);
    if (is_fetch)
        buf_appendf(out, " wait%" PRId32, r->wait_max_ms);
    for (size_t i = 0; i < r->count; i++)
        buf_appendf(out, " %s/%" PRId32 "@%" PRId64, r->targets[i].topic, r->targets[i].partition,
                    is_fetch ? r->targets[i].offset : r->targets[i].time);
}

static void print_output(struct buf *out, const struct fetcher_output *o)
{
    static const char *const why[] = {"start", "asked", "out of range"};
    static const char *const from[] = {"", "@reset", "@first", "@last"};
    char text[64];
    if (out->len)
        buf_append_text(out, " | ");
    switch (o->type) {
    case FETCHER_OUT_LIST_OFFSETS:
    case FETCHER_OUT_FETCH: print_request(out, o); return;
    case FETCHER_OUT_CHUNK:
        buf_appendf(out, "chunk %s/%" PRId32 " %" PRId64 ">%" PRId64 " hw%" PRId64,
                    o->partition.topic, o->partition.partition, o->chunk.offset,
                    o->chunk.next_offset, o->chunk.high_watermark);
        break;
    case FETCHER_OUT_MOVED:
        buf_appendf(out, "moved %s/%" PRId32 " %" PRId64 ">%" PRId64 " %s", o->partition.topic,
                    o->partition.partition, o->moved.old_offset, o->moved.new_offset,
                    why[o->moved.why]);
        break;
    case FETCHER_OUT_ERROR:
        buf_appendf(out, "error %s/%" PRId32 "@%" PRId64 " %s", o->partition.topic,
                    o->partition.partition, o->error.offset, zkc_err_name(o->error.err));
        if (o->error.err == ZKC_ERR_TOO_LARGE)
            buf_appendf(out, " needs %" PRId64, o->error.bytes_needed);
        if (o->error.err == ZKC_ERR_CORRUPT)
            buf_appendf(out, " bad %" PRId64, o->error.bad_offset);
        break;
    case FETCHER_OUT_LEADER_LOST:
        buf_appendf(out, "lost %s/%" PRId32 " ", o->partition.topic, o->partition.partition);
        if (o->lost.from == FETCHER_FROM_OFFSET)
            buf_appendf(out, "@%" PRId64, o->lost.offset);
        buf_appendf(out, "%s %s%s", from[o->lost.from], last_word(o, text, sizeof text),
                    o->lost.is_paused ? " paused" : "");
        break;
    }
    if (o->tag)
        buf_appendf(out, " tag%" PRIu64, o->tag);
}

static void print_deadline(struct story *s)
{
    int64_t deadline_ms = fetcher_deadline_ms(s->fetcher);
    if (deadline_ms == INT64_MAX)
        buf_append_text(&s->text, " ~never");
    else if (deadline_ms <= s->now_ms)
        buf_append_text(&s->text, " ~now");
    else
        buf_appendf(&s->text, " ~%" PRId64, deadline_ms - s->now_ms);
}

static const struct {
    const char *word;
    enum fetcher_input_type type;
} types[] = {
    {"add", FETCHER_IN_ADD},       {"remove", FETCHER_IN_REMOVE}, {"pause", FETCHER_IN_PAUSE},
    {"resume", FETCHER_IN_RESUME}, {"seek", FETCHER_IN_SEEK},     {"room", FETCHER_IN_ROOM},
    {"turn", FETCHER_IN_TURN},     {"listed", FETCHER_IN_LISTED}, {"fetched", FETCHER_IN_FETCHED},
    {"failed", FETCHER_IN_FAILED},
};

static enum fetcher_input_type parse_type(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(word, types[i].word) == 0)
            return types[i].type;
    fail_msg("input: %s", word);
    return FETCHER_IN_TURN;
}

static enum zkc_err parse_failure(const char *word)
{
    if (strcmp(word, "lost") == 0)
        return ZKC_ERR_UNREACHABLE;
    return strcmp(word, "large") == 0 ? ZKC_ERR_TOO_LARGE : ZKC_ERR_TIMED_OUT;
}

const char *story_tell(struct story *s, const char *line)
{
    char copy[1024], *words[WORDS_MAX], *save = NULL;
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok_r(copy, " ", &save); w && count < WORDS_MAX;
         w = strtok_r(NULL, " ", &save))
        words[count++] = w;
    size_t at = 0;
    if (words[0][0] == '+')
        s->now_ms += atoi(words[at++]);
    struct fetcher_input in = {.type = parse_type(words[at++])};
    uint64_t request = s->request;
    if (at < count && words[at][0] == '#')
        request = strtoull(words[at++] + 1, NULL, 10);
    in.now_ms = s->now_ms;
    struct fetcher_listed listed[WORDS_MAX];
    struct fetch_response_view fetched[WORDS_MAX];
    switch (in.type) {
    case FETCHER_IN_LISTED:
        in.listed.request = request;
        in.listed.count = parse_listed(listed, words + at, count - at);
        in.listed.list = listed;
        break;
    case FETCHER_IN_FETCHED:
        in.fetched.request = request;
        in.fetched.count = parse_fetched(s, fetched, words + at, count - at);
        in.fetched.list = fetched;
        break;
    case FETCHER_IN_FAILED:
        in.failed.request = request;
        in.failed.err = parse_failure(words[at]);
        break;
    case FETCHER_IN_ROOM:
        in.room.sink = strtoull(words[at], NULL, 10);
        in.room.has_room = strcmp(words[at + 1], "yes") == 0;
        break;
    case FETCHER_IN_TURN: break;
    default: parse_about(&in, words + at, count - at);
    }
    struct fetcher_outputs out;
    fetcher_step(s->fetcher, &in, &out);
    s->last = out;
    buf_clear(&s->text);
    for (size_t i = 0; i < out.count; i++) {
        print_output(&s->text, &out.list[i]);
        if (out.list[i].type == FETCHER_OUT_FETCH || out.list[i].type == FETCHER_OUT_LIST_OFFSETS)
            s->request = out.list[i].request.number;
    }
    print_deadline(s);
    const char *text = buf_text(&s->text);
    assert_non_null(text);
    return text[0] == ' ' ? text + 1 : text;
}

void story_expect(struct story *s, const char *name, const struct story_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = story_tell(s, steps[i].in);
        if (strcmp(got, steps[i].out) != 0)
            fail_msg("%s, step %zu: %s\n  expected: %s\n  got:      %s", name, i, steps[i].in,
                     steps[i].out, got);
    }
}
