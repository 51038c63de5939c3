/* A partition's way through a fetcher:
 *
 *              ADD, SEEK: offset known
 *          ┌────────────────────────────────┐
 *          │                                v
 *     ADD, SEEK ──> LOCATING ── MOVED ──> FETCHING ──> CHUNK, and again
 *                    │   ^                  │
 *                    │   └── out of range ──┤
 *                    v                      v
 *                 STOPPED  (auto.offset.reset=error; only a SEEK leads out)
 *
 * and from everywhere out again: REMOVE, or LEADER_LOST. LOCATING and FETCHING may back off
 * (wait_until_ms). A request asks for all that are ready: they are not asked for already, do not
 * back off, and, for a fetch, are not paused and have room. How many are ready is counted, so that
 * the deadline is known without a search. */
#include "zkconsumer/core/fetch/fetcher.h"
#include "zkconsumer/core/fetch/partition_set.h"
#include "zkconsumer/core/wire/kafka_error.h"
#include "zkconsumer/core/wire/list_offsets.h"
#include "zkconsumer/core/wire/message_set.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NOT_WAITING INT64_MIN

/* After so many empty answers in a row, although the high watermark says that there is more, the
 * next message is taken for too large. Kafka 3.9 answers a Fetch 0 like that; older brokers send
 * the beginning of the message. A single such answer may be a race with an append. */
#define SILENT_ANSWERS_MAX 3

/* Bytes of an answer around one partition's records: number, error, high watermark, length; and
 * its topic's name with its length and count, counted for each partition. */
#define ENTRY_OVERHEAD (4 + 2 + 8 + 4 + 2 + 4)

/* And around all of them: correlation id, number of topics. */
#define ANSWER_OVERHEAD (4 + 4)

struct fetcher {
    struct fetcher_config config;
    struct partition_set set;
    int64_t now_ms;

    size_t locating_ready; /* how many could be asked for in ListOffsets */
    size_t
        fetching_ready; /* how many could be asked for in Fetch: the `ready` of sinks with room */
    int64_t wake_ms;    /* not after the earliest wait_until_ms; INT64_MAX: nobody waits */
    size_t rotation;    /* index that the next fetch request begins with */

    uint64_t request;                      /* number of the last one */
    enum fetcher_output_type request_type; /* of it */
    bool is_outstanding;                   /* it has no answer yet */
    int64_t sent_ms;                       /* when it left */
    int64_t fetch_after_ms;                /* not before this time */
    unsigned failures;                     /* requests in a row that came to nothing */
    size_t asked_count;                    /* entries of `asked` and `targets` */
    struct partition **asked;              /* NULL: removed or sought since */
    struct fetcher_target *targets;        /* lent by the request */

    struct fetcher_output *outputs;
    size_t outputs_count;
    size_t cap;    /* of asked and targets; outputs has one more */
    bool has_gone; /* some partition is_gone */
};

/* ---- counting who is ready ---- */

static bool is_waiting(const struct partition *p)
{
    return p->wait_until_ms != NOT_WAITING;
}

static bool is_ready(const struct partition *p, enum partition_state state)
{
    return p->state == state && !p->is_gone && !is_waiting(p) && p->asked_at == NOT_ASKED_FOR &&
           !(state == PARTITION_FETCHING && p->is_paused);
}

static void count_ready(struct fetcher *f, const struct partition *p, int by)
{
    if (is_ready(p, PARTITION_LOCATING))
        f->locating_ready += (size_t)by;
    if (is_ready(p, PARTITION_FETCHING)) {
        p->sink->ready += (size_t)by;
        if (p->sink->has_room)
            f->fetching_ready += (size_t)by;
    }
}

/* Every change of a field that is_ready() looks at stands between these two. */
static void change_begin(struct fetcher *f, const struct partition *p)
{
    count_ready(f, p, -1);
}

static void change_end(struct fetcher *f, const struct partition *p)
{
    count_ready(f, p, +1);
}

/* ---- changes of one partition ---- */

/* Its answer, if one is to come, is ignored from now on. */
static void forget_asked(struct fetcher *f, struct partition *p)
{
    if (p->asked_at == NOT_ASKED_FOR)
        return;
    f->asked[p->asked_at] = NULL;
    p->asked_at = NOT_ASKED_FOR;
}

static void wait_until(struct fetcher *f, struct partition *p, int64_t until_ms)
{
    if (until_ms <= f->now_ms)
        return;
    p->wait_until_ms = until_ms;
    if (until_ms < f->wake_ms)
        f->wake_ms = until_ms;
}

static void set_offset(struct partition *p, int64_t offset)
{
    p->state = PARTITION_FETCHING;
    p->from = FETCHER_FROM_OFFSET;
    p->offset = offset;
    p->silent_answers = 0;
    p->is_reported = false;
}

static void locate(struct partition *p, enum fetcher_from from, enum fetcher_why why)
{
    p->state = PARTITION_LOCATING;
    p->from = from;
    p->why = why;
}

/* Where it starts, after ADD and SEEK. */
static void start(struct partition *p, enum fetcher_from from, int64_t offset)
{
    p->wait_until_ms = NOT_WAITING;
    p->has_jumped = false;
    p->may_fill = true;
    set_offset(p, offset);
    if (from == FETCHER_FROM_OFFSET && offset >= 0)
        return;
    p->offset = -1;
    if (from == FETCHER_FROM_OFFSET || from == FETCHER_FROM_RESET)
        locate(p, FETCHER_FROM_RESET, FETCHER_WHY_START);
    else
        locate(p, from, FETCHER_WHY_ASKED);
}

/* ---- outputs ---- */

static struct fetcher_output *emit(struct fetcher *f, enum fetcher_output_type type)
{
    assert(f->outputs_count <= f->cap); /* a step has one output for each partition, and one more */
    struct fetcher_output *o = &f->outputs[f->outputs_count++];
    *o = (struct fetcher_output){.type = type};
    return o;
}

static struct fetcher_output *emit_about(struct fetcher *f, enum fetcher_output_type type,
                                         const struct partition *p)
{
    struct fetcher_output *o = emit(f, type);
    o->partition = (struct topic_partition){p->topic->text, p->number};
    o->tag = p->tag;
    o->sink = p->sink->id;
    return o;
}

static void lose(struct fetcher *f, struct partition *p, int16_t kafka_error, enum zkc_err err)
{
    struct fetcher_output *o = emit_about(f, FETCHER_OUT_LEADER_LOST, p);
    o->lost = (struct fetcher_lost){.from = p->from,
                                    .offset = p->offset,
                                    .kafka_error = kafka_error,
                                    .err = err,
                                    .is_paused = p->is_paused};
    if (p->state == PARTITION_LOCATING && p->offset >= 0)
        o->lost.from = FETCHER_FROM_OFFSET; /* out of range: the next leader may have it */
    change_begin(f, p);
    forget_asked(f, p);
    p->is_gone = true;
    f->has_gone = true;
}

static void stop(struct fetcher *f, struct partition *p)
{
    struct fetcher_output *o = emit_about(f, FETCHER_OUT_ERROR, p);
    o->error = (struct fetcher_error){
        .err = ZKC_ERR_OFFSET_RANGE, .offset = p->offset, .high_watermark = p->high_watermark};
    change_begin(f, p);
    p->state = PARTITION_STOPPED;
    change_end(f, p);
}

/* It cannot go on at its position: said once, and tried again slowly. */
static void stick(struct fetcher *f, struct partition *p, struct fetcher_error error)
{
    if (!p->is_reported) {
        error.offset = p->offset;
        error.high_watermark = p->high_watermark;
        emit_about(f, FETCHER_OUT_ERROR, p)->error = error;
        p->is_reported = true;
    }
    change_begin(f, p);
    wait_until(f, p, f->now_ms + f->config.stuck_backoff_ms);
    change_end(f, p);
}

/* ---- inputs about one partition ---- */

/* Room for one more partition in everything that grows with them. */
static bool reserve(struct fetcher *f)
{
    if (f->set.count < f->cap)
        return true;
    size_t cap = f->cap ? f->cap * 2 : 8;
    struct partition **asked = realloc(f->asked, cap * sizeof *asked);
    if (asked)
        f->asked = asked;
    struct fetcher_target *targets = realloc(f->targets, cap * sizeof *targets);
    if (targets)
        f->targets = targets;
    struct fetcher_output *outputs = realloc(f->outputs, (cap + 1) * sizeof *outputs);
    if (outputs)
        f->outputs = outputs;
    if (!asked || !targets || !outputs)
        return false;
    f->cap = cap;
    return true;
}

static void set_room(struct fetcher *f, struct sink *sink, bool has_room)
{
    if (!sink || sink->has_room == has_room)
        return;
    sink->has_room = has_room;
    if (has_room)
        f->fetching_ready += sink->ready;
    else
        f->fetching_ready -= sink->ready;
}

static void add(struct fetcher *f, const struct fetcher_input *in)
{
    if (partition_set_find(&f->set, bytes_of_text(in->partition.topic), in->partition.partition))
        return;
    size_t index = 0;
    struct partition *p = NULL;
    if (reserve(f))
        p = partition_set_add(&f->set, in->partition, in->add.sink, in->add.sink_has_room, &index);
    if (!p) {
        struct fetcher_output *o = emit(f, FETCHER_OUT_LEADER_LOST);
        o->partition = in->partition;
        o->tag = in->add.tag;
        o->sink = in->add.sink;
        o->lost = (struct fetcher_lost){.from = in->add.from,
                                        .offset = in->add.offset,
                                        .err = ZKC_ERR_NOMEM,
                                        .is_paused = in->add.is_paused};
        return;
    }
    f->rotation += index < f->rotation;
    set_room(f, p->sink, in->add.sink_has_room);
    p->tag = in->add.tag;
    p->high_watermark = -1;
    p->asked_at = NOT_ASKED_FOR;
    p->is_paused = in->add.is_paused;
    start(p, in->add.from, in->add.offset);
    change_end(f, p);
}

static void remove_partition(struct fetcher *f, struct partition *p)
{
    change_begin(f, p);
    forget_asked(f, p);
    size_t index = partition_set_take_out(&f->set, p);
    f->rotation -= index < f->rotation;
}

static void set_paused(struct fetcher *f, struct partition *p, bool is_paused)
{
    change_begin(f, p);
    p->is_paused = is_paused;
    change_end(f, p);
}

static void seek(struct fetcher *f, struct partition *p, const struct fetcher_input *in)
{
    change_begin(f, p);
    forget_asked(f, p);
    start(p, in->seek.from, in->seek.offset);
    change_end(f, p);
}

/* ---- requests ---- */

static void end_waits(struct fetcher *f)
{
    if (f->now_ms < f->wake_ms)
        return;
    f->wake_ms = INT64_MAX;
    for (size_t i = 0; i < f->set.count; i++) {
        struct partition *p = f->set.list[i];
        if (!is_waiting(p))
            continue;
        change_begin(f, p);
        int64_t until_ms = p->wait_until_ms;
        p->wait_until_ms = NOT_WAITING;
        wait_until(f, p, until_ms);
        change_end(f, p);
    }
}

static struct fetcher_target *ask_for(struct fetcher *f, struct partition *p)
{
    change_begin(f, p);
    p->asked_at = f->asked_count;
    change_end(f, p);
    f->asked[f->asked_count] = p;
    struct fetcher_target *t = &f->targets[f->asked_count++];
    *t = (struct fetcher_target){.topic = p->topic->text, .partition = p->number};
    return t;
}

static void emit_request(struct fetcher *f, enum fetcher_output_type type, int32_t wait_max_ms)
{
    f->request++;
    f->request_type = type;
    f->is_outstanding = true;
    f->sent_ms = f->now_ms;
    emit(f, type)->request = (struct fetcher_request){.number = f->request,
                                                      .targets = f->targets,
                                                      .count = f->asked_count,
                                                      .wait_max_ms = wait_max_ms,
                                                      .bytes_min = f->config.fetch_bytes_min};
}

static int64_t list_time(const struct fetcher *f, enum fetcher_from from)
{
    if (from == FETCHER_FROM_RESET)
        return f->config.reset == FETCHER_RESET_SMALLEST ? LIST_OFFSETS_EARLIEST
                                                         : LIST_OFFSETS_LATEST;
    return from == FETCHER_FROM_EARLIEST ? LIST_OFFSETS_EARLIEST : LIST_OFFSETS_LATEST;
}

/* One ListOffsets request for all that need it. Nothing may be left to ask for. */
static void send_list_offsets(struct fetcher *f)
{
    f->asked_count = 0;
    for (size_t i = 0; i < f->set.count && f->locating_ready > 0; i++) {
        struct partition *p = f->set.list[i];
        if (!is_ready(p, PARTITION_LOCATING))
            continue;
        if (p->from == FETCHER_FROM_RESET && f->config.reset == FETCHER_RESET_ERROR)
            stop(f, p);
        else
            ask_for(f, p)->time = list_time(f, p->from);
    }
    if (f->asked_count > 0)
        emit_request(f, FETCHER_OUT_LIST_OFFSETS, 0);
}

/* What its part of the answer may come to. A partition that was at the end lately counts with
 * nothing: it costs little to ask, and what it has got since is rarely much. If that is wrong, the
 * answer is refused as too large, and all count in full until they have answered. */
static int64_t answer_bytes(const struct fetcher *f, const struct partition *p)
{
    return ENTRY_OVERHEAD + (int64_t)p->topic->len + (p->may_fill ? f->config.fetch_bytes_max : 0);
}

static void send_fetch(struct fetcher *f)
{
    int64_t bytes = ANSWER_OVERHEAD;
    size_t count = f->set.count, first_left_out = count;
    f->asked_count = 0;
    for (size_t n = 0, i = f->rotation < count ? f->rotation : 0;
         n < count && f->fetching_ready > 0; n++, i = i + 1 < count ? i + 1 : 0) {
        struct partition *p = f->set.list[i];
        if (!is_ready(p, PARTITION_FETCHING) || !p->sink->has_room)
            continue;
        int64_t more = answer_bytes(f, p);
        if (f->asked_count > 0 && more > f->config.answer_bytes_max - bytes) {
            if (first_left_out == count)
                first_left_out = i;
            continue;
        }
        bytes += more;
        struct fetcher_target *t = ask_for(f, p);
        t->offset = p->offset;
        t->bytes_max = f->config.fetch_bytes_max;
    }
    bool is_cut = first_left_out < count;
    f->rotation = is_cut ? first_left_out : 0;
    /* The others wait for their turn: no long poll then. */
    emit_request(f, FETCHER_OUT_FETCH, is_cut ? 0 : f->config.fetch_wait_max_ms);
}

static void turn(struct fetcher *f)
{
    if (f->is_outstanding)
        return;
    end_waits(f);
    if (f->locating_ready > 0)
        send_list_offsets(f);
    if (!f->is_outstanding && f->fetching_ready > 0 && f->now_ms >= f->fetch_after_ms)
        send_fetch(f);
}

/* ---- answers ---- */

static bool is_answered(struct fetcher *f, uint64_t request)
{
    if (!f->is_outstanding || request != f->request)
        return false;
    f->is_outstanding = false;
    f->failures = 0;
    return true;
}

/* The partition of an entry, no longer asked for; NULL: it was removed or sought since, or never
 * asked for. *next is where it is looked for first, because answers come in request order. (0.8.2
 * answers in the order of a Scala hash map: then it is a search.) */
static struct partition *take_asked(struct fetcher *f, struct bytes topic, int32_t number,
                                    size_t *next)
{
    struct partition *p = *next < f->asked_count ? f->asked[*next] : NULL;
    if (!p || p->number != number || !bytes_equal(topic, bytes_of(p->topic->text, p->topic->len))) {
        p = partition_set_find(&f->set, topic, number);
        if (!p || p->asked_at == NOT_ASKED_FOR)
            return NULL;
    }
    *next = p->asked_at + 1;
    change_begin(f, p);
    forget_asked(f, p);
    change_end(f, p);
    return p;
}

/* Calls fn for all that were asked for and are not answered. */
static void take_unanswered(struct fetcher *f, void (*fn)(struct fetcher *, struct partition *))
{
    for (size_t i = 0; i < f->asked_count; i++) {
        struct partition *p = f->asked[i];
        if (!p)
            continue;
        change_begin(f, p);
        forget_asked(f, p);
        change_end(f, p);
        fn(f, p);
    }
}

static void found(struct fetcher *f, struct partition *p, int64_t offset)
{
    struct fetcher_output *o = emit_about(f, FETCHER_OUT_MOVED, p);
    o->moved = (struct fetcher_moved){p->offset, offset, p->why};
    change_begin(f, p);
    p->has_jumped = p->why == FETCHER_WHY_OUT_OF_RANGE;
    p->may_fill = true;
    set_offset(p, offset);
    change_end(f, p);
}

static void lose_unlocated(struct fetcher *f, struct partition *p)
{
    lose(f, p, KAFKA_ERR_UNKNOWN_SERVER_ERROR, ZKC_ERR_BROKER);
}

static void listed(struct fetcher *f, const struct fetcher_input *in)
{
    if (!is_answered(f, in->listed.request))
        return;
    assert(f->request_type == FETCHER_OUT_LIST_OFFSETS);
    size_t next = 0;
    for (size_t i = 0; i < in->listed.count; i++) {
        const struct fetcher_listed *e = &in->listed.list[i];
        struct partition *p = take_asked(f, e->topic, e->partition, &next);
        if (!p)
            continue;
        if (e->kafka_error != KAFKA_ERR_NONE)
            lose(f, p, e->kafka_error, ZKC_ERR_BROKER);
        else if (e->offset < 0)
            lose_unlocated(f, p);
        else
            found(f, p, e->offset);
    }
    take_unanswered(f, lose_unlocated);
}

static void out_of_range(struct fetcher *f, struct partition *p)
{
    if (f->config.reset == FETCHER_RESET_ERROR) {
        stop(f, p);
        return;
    }
    change_begin(f, p);
    locate(p, FETCHER_FROM_RESET, FETCHER_WHY_OUT_OF_RANGE);
    if (p->has_jumped) /* there, too: the log moves under us, or the broker is odd */
        wait_until(f, p, f->now_ms + f->config.backoff_ms);
    change_end(f, p);
}

static void nothing_new(struct fetcher *f, struct partition *p)
{
    p->may_fill = false;
    if (p->high_watermark <= p->offset) {
        p->silent_answers = 0;
        return;
    }
    if (p->silent_answers < SILENT_ANSWERS_MAX)
        p->silent_answers++;
    if (p->silent_answers == SILENT_ANSWERS_MAX)
        stick(f, p, (struct fetcher_error){.err = ZKC_ERR_TOO_LARGE});
}

static void chunk(struct fetcher *f, struct partition *p, const struct message_set_extent *extent,
                  struct bytes records)
{
    struct fetcher_output *o = emit_about(f, FETCHER_OUT_CHUNK, p);
    o->chunk = (struct fetcher_chunk){.offset = p->offset,
                                      .next_offset = extent->next_offset,
                                      .high_watermark = p->high_watermark,
                                      .records = bytes_of(records.data, extent->valid_bytes)};
    set_offset(p, extent->next_offset);
    p->may_fill = p->high_watermark < 0 || extent->next_offset < p->high_watermark;
}

/* PartitionTopicInfo.enqueue and AbstractFetcherThread.processFetchRequest, case NoError. Returns
 * whether there were records, good or bad. */
static bool records_came(struct fetcher *f, struct partition *p,
                         const struct fetch_response_view *e)
{
    p->has_jumped = false;
    p->high_watermark = e->high_watermark;
    struct message_set_extent extent = message_set_extent(e->records);
    switch (extent.state) {
    case MESSAGE_SET_EMPTY: nothing_new(f, p); return false;
    case MESSAGE_SET_TOO_LARGE:
        stick(f, p,
              (struct fetcher_error){
                  .err = ZKC_ERR_TOO_LARGE,
                  .bytes_needed = extent.size_needed > (size_t)f->config.fetch_bytes_max
                                      ? (int64_t)extent.size_needed
                                      : 0,
              });
        return true;
    case MESSAGE_SET_OK:
        if (extent.next_offset > p->offset) {
            chunk(f, p, &extent, e->records);
            return true;
        }
        break; /* only offsets below the one asked for: nothing of it may be believed */
    case MESSAGE_SET_CORRUPT: break;
    }
    stick(f, p,
          (struct fetcher_error){
              .err = ZKC_ERR_CORRUPT,
              .bad_offset = extent.next_offset > p->offset ? extent.next_offset : p->offset,
          });
    return true;
}

static void entry_came(struct fetcher *f, struct partition *p, const struct fetch_response_view *e,
                       bool *has_brought)
{
    if (e->error_code == KAFKA_ERR_NONE) {
        *has_brought |= records_came(f, p, e);
        return;
    }
    *has_brought = true;
    if (e->error_code == KAFKA_ERR_OFFSET_OUT_OF_RANGE)
        out_of_range(f, p);
    else
        lose(f, p, e->error_code, ZKC_ERR_BROKER);
}

/* The answer brought nothing at all. If it came long before its time, the broker does not wait for
 * data (a throttled one, fetch.wait.max.ms=0, a message that it does not send): so we do. */
static void hold_back(struct fetcher *f)
{
    int64_t expected_ms =
        f->config.fetch_wait_max_ms > 0 ? f->config.fetch_wait_max_ms : f->config.backoff_ms;
    if (f->now_ms - f->sent_ms < expected_ms / 2)
        f->fetch_after_ms = f->sent_ms + f->config.backoff_ms;
}

static void nothing_answered(struct fetcher *f, struct partition *p)
{
    (void)f;
    p->may_fill = false;
}

static void fetched(struct fetcher *f, const struct fetcher_input *in)
{
    if (!is_answered(f, in->fetched.request))
        return;
    assert(f->request_type == FETCHER_OUT_FETCH);
    size_t next = 0, others = f->fetching_ready;
    bool has_brought = false;
    for (size_t i = 0; i < in->fetched.count; i++) {
        const struct fetch_response_view *e = &in->fetched.list[i];
        struct partition *p = take_asked(f, e->topic, e->partition, &next);
        if (p)
            entry_came(f, p, e, &has_brought);
    }
    take_unanswered(f, nothing_answered);
    if (!has_brought && others == 0)
        hold_back(f);
}

static void asked_in_vain(struct fetcher *f, struct partition *p)
{
    (void)f;
    p->may_fill = true;
}

/* kafka.consumer.SimpleConsumer.sendRequest reconnects and sends once more; if that fails as well,
 * AbstractFetcherThread gives all its partitions up. */
static void failed(struct fetcher *f, const struct fetcher_input *in)
{
    unsigned failures = f->failures + 1;
    if (!is_answered(f, in->failed.request))
        return;
    take_unanswered(f, asked_in_vain);
    if (failures < 2) {
        f->failures = failures;
        return;
    }
    for (size_t i = 0; i < f->set.count; i++)
        lose(f, f->set.list[i], KAFKA_ERR_NONE, in->failed.err);
}

/* ---- the machine ---- */

static void about_partition(struct fetcher *f, const struct fetcher_input *in)
{
    struct partition *p =
        partition_set_find(&f->set, bytes_of_text(in->partition.topic), in->partition.partition);
    if (!p)
        return;
    switch (in->type) {
    case FETCHER_IN_REMOVE: remove_partition(f, p); break;
    case FETCHER_IN_PAUSE: set_paused(f, p, true); break;
    case FETCHER_IN_RESUME: set_paused(f, p, false); break;
    case FETCHER_IN_SEEK: seek(f, p, in); break;
    default: assert(!"an input about a partition");
    }
}

static void check_invariants(const struct fetcher *f)
{
    assert(f->locating_ready <= f->set.count);
    assert(f->fetching_ready <= f->set.count);
    assert(f->asked_count <= f->cap);
}

void fetcher_step(struct fetcher *f, const struct fetcher_input *in, struct fetcher_outputs *out)
{
    size_t ready = f->fetching_ready;
    f->outputs_count = 0;
    f->now_ms = in->now_ms;
    partition_set_free_removed(&f->set);
    switch (in->type) {
    case FETCHER_IN_ADD: add(f, in); break;
    case FETCHER_IN_REMOVE:
    case FETCHER_IN_PAUSE:
    case FETCHER_IN_RESUME:
    case FETCHER_IN_SEEK: about_partition(f, in); break;
    case FETCHER_IN_ROOM:
        set_room(f, partition_set_find_sink(&f->set, in->room.sink), in->room.has_room);
        break;
    case FETCHER_IN_TURN: turn(f); break;
    case FETCHER_IN_LISTED: listed(f, in); break;
    case FETCHER_IN_FETCHED: fetched(f, in); break;
    case FETCHER_IN_FAILED: failed(f, in); break;
    }
    if (f->fetching_ready > ready && in->type != FETCHER_IN_FETCHED)
        f->fetch_after_ms = f->now_ms; /* somebody new must not wait */
    if (f->has_gone)
        f->rotation -= partition_set_take_out_gone(&f->set, f->rotation);
    f->has_gone = false;
    check_invariants(f);
    *out = (struct fetcher_outputs){f->outputs, f->outputs_count};
}

int64_t fetcher_deadline_ms(const struct fetcher *f)
{
    if (f->is_outstanding)
        return INT64_MAX;
    if (f->locating_ready > 0)
        return f->now_ms;
    if (f->fetching_ready > 0 && f->fetch_after_ms < f->wake_ms)
        return f->fetch_after_ms;
    return f->wake_ms;
}

size_t fetcher_partition_count(const struct fetcher *f)
{
    return f->set.count;
}

bool fetcher_status(const struct fetcher *f, struct topic_partition partition,
                    struct fetcher_status *out)
{
    const struct partition *p =
        partition_set_find(&f->set, bytes_of_text(partition.topic), partition.partition);
    if (!p)
        return false;
    *out = (struct fetcher_status){
        .state = FETCHER_STATE_FETCHING,
        .is_paused = p->is_paused,
        .is_asked_for = p->asked_at != NOT_ASKED_FOR,
        .offset = p->state == PARTITION_LOCATING ? -1 : p->offset,
        .high_watermark = p->high_watermark,
    };
    if (p->state == PARTITION_STOPPED)
        out->state = FETCHER_STATE_STOPPED;
    else if (is_waiting(p))
        out->state = FETCHER_STATE_WAITING;
    else if (p->state == PARTITION_LOCATING)
        out->state = FETCHER_STATE_LOCATING;
    return true;
}

struct fetcher *fetcher_new(const struct fetcher_config *config)
{
    assert(config->fetch_bytes_max > 0 && config->backoff_ms > 0 && config->stuck_backoff_ms > 0);
    struct fetcher *f = calloc(1, sizeof *f);
    struct fetcher_output *outputs = malloc(sizeof *outputs);
    if (!f || !outputs) {
        free(f);
        free(outputs);
        return NULL;
    }
    f->config = *config;
    f->outputs = outputs;
    f->wake_ms = INT64_MAX;
    f->fetch_after_ms = INT64_MIN;
    return f;
}

void fetcher_free(struct fetcher *f)
{
    if (!f)
        return;
    partition_set_deinit(&f->set);
    free(f->asked);
    free(f->targets);
    free(f->outputs);
    free(f);
}

/* ---- texts ---- */

static void too_large_text(const struct fetcher *f, const struct fetcher_output *o, char *text,
                           size_t size)
{
    const struct fetcher_error *e = &o->error;
    if (e->bytes_needed > 0)
        snprintf(text, size,
                 "[%s,%" PRId32 "]: the message at offset %" PRId64 " takes %" PRId64
                 " bytes, more than fetch.message.max.bytes=%" PRId32
                 ": the partition stands still; raise fetch.message.max.bytes to that, or seek "
                 "behind the message",
                 o->partition.topic, o->partition.partition, e->offset, e->bytes_needed,
                 f->config.fetch_bytes_max);
    else
        snprintf(text, size,
                 "[%s,%" PRId32 "]: the broker sends no whole message at offset %" PRId64
                 " (high watermark %" PRId64
                 "), so it is probably larger than fetch.message.max.bytes=%" PRId32
                 ": the partition stands still; raise fetch.message.max.bytes, or seek behind the "
                 "message",
                 o->partition.topic, o->partition.partition, e->offset, e->high_watermark,
                 f->config.fetch_bytes_max);
}

static void corrupt_text(const struct fetcher_output *o, char *text, size_t size)
{
    snprintf(text, size,
             "[%s,%" PRId32 "]: the data fetched for offset %" PRId64
             " is corrupt at offset %" PRId64
             ": the partition stands still and is tried again; if the broker's log is damaged, "
             "seek behind it",
             o->partition.topic, o->partition.partition, o->error.offset, o->error.bad_offset);
}

static void offset_range_text(const struct fetcher_output *o, char *text, size_t size)
{
    if (o->error.offset < 0)
        snprintf(text, size,
                 "[%s,%" PRId32 "]: there is no stored offset and auto.offset.reset=error: the "
                 "partition stands still; seek to where it shall begin",
                 o->partition.topic, o->partition.partition);
    else
        snprintf(text, size,
                 "[%s,%" PRId32 "]: the broker has no offset %" PRId64
                 " (out of range) and auto.offset.reset=error: the partition stands still; seek "
                 "to an offset that exists",
                 o->partition.topic, o->partition.partition, o->error.offset);
}

void fetcher_error_text(const struct fetcher *f, const struct fetcher_output *error, char *text,
                        size_t size)
{
    assert(error->type == FETCHER_OUT_ERROR);
    switch (error->error.err) {
    case ZKC_ERR_TOO_LARGE: too_large_text(f, error, text, size); break;
    case ZKC_ERR_CORRUPT: corrupt_text(error, text, size); break;
    default: offset_range_text(error, text, size); break;
    }
}
