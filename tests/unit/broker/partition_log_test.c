/* A partition log against a plain list of the messages that were produced. */
#include "broker/core/partition_log.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/broker/memory_log.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/wire/message_set.h"

#define OPENED_MAX (1u << 20)

/* ---- Random runs ---- */

#define MESSAGES_MAX 4000

struct model {
    char values[MESSAGES_MAX][12]; /* of the message of that offset */
    int64_t end;
};

struct run {
    struct rng rng;
    struct log_config config;
    struct partition_log log;
    struct memory_folder folder;
    struct log_append append;
    struct model *model;
    int64_t now_ms;
};

static void append_plain(struct run *r, struct buf *set, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *value = r->model->values[r->model->end++];
        snprintf(value, 12, "%u", (unsigned)rng_below(&r->rng, 100000000));
        message_set_append(set, (int64_t)rng_below(&r->rng, 99), BYTES_NULL, bytes_of_text(value));
    }
}

/* A set of plain messages, of a wrapper, or of both. */
static void produce(struct run *r)
{
    struct buf set;
    buf_init(&set, 1 << 20);
    int64_t first = r->model->end;
    append_plain(r, &set, rng_below(&r->rng, 4));
    if (rng_below(&r->rng, 4) == 0) {
        struct buf inner;
        buf_init(&inner, 1 << 20);
        append_plain(r, &inner, 1 + rng_below(&r->rng, 5));
        assert_int_equal(
            message_set_append_wrapper(&set, 77, COMPRESSION_SNAPPY, buf_bytes(&inner)), ZKC_OK);
        buf_deinit(&inner);
    }
    size_t whole = set.len;
    if (rng_below(&r->rng, 3) == 0) /* its last message did not arrive whole */
        buf_append(&set, "\0\0\0\0\0\0\0\0\0\0\0\x20half", 1 + rng_below(&r->rng, 16));
    enum kafka_error error = memory_log_append(
        &r->log, &r->folder, &r->append, set.data ? set.data : (uint8_t *)"", set.len, r->now_ms);
    assert_int_equal(error, KAFKA_ERR_NONE);
    assert_int_equal(r->append.first_offset, whole ? first : -1);
    assert_int_equal(r->log.end_offset, r->model->end);
    buf_deinit(&set);
}

/* A fetch at any offset: the messages from it on, and all of them right. */
static void read_somewhere(struct run *r)
{
    int64_t start = log_start_offset(&r->log);
    int64_t offset = start - 2 + (int64_t)rng_below(&r->rng, (uint64_t)(r->model->end - start + 5));
    size_t max = rng_below(&r->rng, 600);
    struct bytes got;
    enum log_locate_result result = memory_log_read(&r->log, offset, max, &got);
    if (offset < start || offset > r->model->end) {
        assert_int_equal(result, LOG_OUT_OF_RANGE);
        return;
    }
    assert_int_equal(result, offset == r->model->end ? LOG_AT_END : LOG_FOUND);
    if (result != LOG_FOUND)
        return;
    assert_true(got.len <= max);
    struct message_iter it;
    struct message_view m;
    const struct message_iter_limits limits = {OPENED_MAX};
    message_iter_init(&it, got, &limits);
    int64_t expected = -1;
    while (message_iter_next(&it, &m) == MESSAGE_ITER_MESSAGE) {
        assert_true(expected < 0 ? m.offset <= offset : m.offset == expected);
        assert_true(bytes_equal_text(m.value, r->model->values[m.offset]));
        expected = m.offset + 1;
    }
    assert_true(it.end == MESSAGE_ITER_END || it.end == MESSAGE_ITER_PARTIAL ||
                it.end == MESSAGE_ITER_TOO_LARGE);
    message_iter_deinit(&it);
}

static void list_offsets(struct run *r)
{
    int64_t offsets[512], one[1];
    assert_int_equal(log_offsets_before(&r->log, -2, 5, r->now_ms, offsets, 512), 1);
    assert_int_equal(offsets[0], log_start_offset(&r->log));
    size_t n = log_offsets_before(&r->log, -1, 512, r->now_ms, offsets, 512);
    assert_true(n <= log_offsets_max(&r->log));
    assert_int_equal(offsets[0], r->log.end_offset);
    for (size_t i = 1; i < n; i++)
        assert_true(offsets[i] < offsets[i - 1]);
    assert_int_equal(offsets[n - 1], log_start_offset(&r->log));
    assert_int_equal(log_offsets_before(&r->log, -1, 1, r->now_ms, one, 1), 1);
    assert_int_equal(one[0], r->log.end_offset);
}

/* Restart: after a clean stop, after a crash, after a crash that tore the tail. */
static void restart(struct run *r)
{
    int64_t recovery_point = r->log.recovery_point;
    partition_log_deinit(&r->log);
    switch (rng_below(&r->rng, 3)) {
    case 0: recovery_point = INT64_MAX; break;
    case 1: break;
    case 2: {
        struct buf *last = &r->folder.files[r->folder.count - 1]->log;
        buf_append(last, "\0\0\0\0\0\0\x7f\xff\0\0\0\x30torn", 16);
        break;
    }
    }
    memory_log_load(&r->log, &r->folder, &r->config, recovery_point, 1 + rng_below(&r->rng, 500),
                    r->now_ms);
    assert_int_equal(r->log.end_offset, r->model->end);
}

static void check_invariants(const struct run *r)
{
    uint64_t bytes = 0;
    assert_int_equal(r->log.count, r->folder.count);
    for (size_t i = 0; i < r->log.count; i++) {
        const struct log_segment *s = &r->log.segments[i];
        bytes += s->size;
        assert_ptr_equal(s->file, r->folder.files[i]);
        assert_int_equal(s->size, s->file->log.len);
        assert_true(s->size <= (uint32_t)r->config.segment_bytes);
        assert_true(s->index.count * 8 <= (size_t)r->config.index_bytes_max);
        assert_int_equal(s->index.count * 8, s->file->index.len);
        assert_memory_equal(s->index.entries ? s->index.entries : (const uint8_t *)"",
                            s->file->index.data ? s->file->index.data : (uint8_t *)"",
                            s->file->index.len);
    }
    assert_int_equal(bytes, r->log.bytes);
    assert_true(r->log.recovery_point <= r->log.end_offset);
}

static void run_seed(uint64_t seed)
{
    struct run r = {.config = log_config_default(), .now_ms = 1000000};
    rng_init(&r.rng, seed);
    r.config.segment_bytes = 300 + (int32_t)rng_below(&r.rng, 900);
    r.config.index_interval_bytes = (int32_t)rng_below(&r.rng, 300);
    r.config.index_bytes_max = 8 + (int32_t)rng_below(&r.rng, 200);
    r.config.segment_ms = 5000;
    r.config.retention_ms = rng_below(&r.rng, 2) ? 20000 : -1;
    r.config.retention_bytes = rng_below(&r.rng, 2) ? 3000 : -1;
    r.config.flush_messages = rng_below(&r.rng, 2) ? 5 : INT64_MAX;
    r.model = calloc(1, sizeof *r.model);
    assert_non_null(r.model);
    log_append_init(&r.append, OPENED_MAX);
    memory_log_load(&r.log, &r.folder, &r.config, 0, 0, r.now_ms);
    for (int step = 0; step < 400 && r.model->end < MESSAGES_MAX - 20; step++) {
        r.now_ms += (int64_t)rng_below(&r.rng, 400);
        switch (rng_below(&r.rng, 12)) {
        case 0: {
            int64_t end = r.log.end_offset, start = log_start_offset(&r.log);
            memory_log_expire(&r.log, &r.folder, r.now_ms);
            assert_int_equal(r.log.end_offset, end); /* F47 */
            assert_true(log_start_offset(&r.log) >= start);
            break;
        }
        case 1: restart(&r); break;
        case 2: list_offsets(&r); break;
        case 3:
        case 4:
        case 5:
        case 6: read_somewhere(&r); break;
        default: produce(&r);
        }
        check_invariants(&r);
    }
    partition_log_deinit(&r.log);
    log_append_deinit(&r.append);
    memory_folder_free(&r.folder);
    free(r.model);
}

static void test_random_runs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_seed(seed);
}

/* ---- Single rules ---- */

struct fixture {
    struct log_config config;
    struct partition_log log;
    struct memory_folder folder;
    struct log_append append;
};

static struct fixture *begin(struct fixture *f)
{
    memory_log_load(&f->log, &f->folder, &f->config, 0, 0, 0);
    log_append_init(&f->append, OPENED_MAX);
    return f;
}

static void end(struct fixture *f)
{
    partition_log_deinit(&f->log);
    log_append_deinit(&f->append);
    memory_folder_free(&f->folder);
}

static struct fixture defaults(void)
{
    return (struct fixture){.config = log_config_default()};
}

/* Appends n messages of 26 + 4 bytes each. */
static enum kafka_error append(struct fixture *f, size_t n, int64_t now_ms)
{
    struct buf set;
    buf_init(&set, 1 << 20);
    for (size_t i = 0; i < n; i++)
        message_set_append(&set, 0, BYTES_NULL, bytes_of_text("data"));
    enum kafka_error error =
        memory_log_append(&f->log, &f->folder, &f->append, set.data, set.len, now_ms);
    buf_deinit(&set);
    return error;
}

static void test_rolls(void **state)
{
    (void)state;
    struct fixture f = defaults();
    f.config.segment_bytes = 90;
    f.config.segment_ms = 1000;
    f.config.segment_jitter_ms = 100;
    begin(&f);
    assert_int_equal(append(&f, 1, 5000), 0); /* an empty segment is not rolled, however old */
    assert_int_equal(f.log.count, 1);
    assert_int_equal(append(&f, 2, 5000), 0);
    assert_int_equal(f.log.count, 2); /* too old by then: created at 0 */
    assert_int_equal(f.append.base_offset, 1);
    assert_int_equal(append(&f, 1, 5900), 0);
    assert_int_equal(f.log.count, 2); /* exactly full, and just not too old */
    assert_int_equal(f.log.segments[1].size, 90);
    assert_int_equal(append(&f, 1, 5900), 0);
    assert_int_equal(f.log.count, 3); /* full */
    assert_int_equal(append(&f, 1, 6801), 0);
    assert_int_equal(f.log.count, 4); /* too old */
    assert_int_equal(append(&f, 4, 6801), KAFKA_ERR_RECORD_LIST_TOO_LARGE);
    assert_int_equal(f.log.end_offset, 6);
    end(&f);
}

static void test_rolls_when_the_index_is_full(void **state)
{
    (void)state;
    struct fixture f = defaults();
    f.config.index_bytes_max = 16;
    f.config.index_interval_bytes = 0;
    begin(&f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(append(&f, 1, 0), 0);
    assert_int_equal(f.log.segments[0].index.count, 2);
    assert_int_equal(f.log.count, 1);
    assert_int_equal(append(&f, 10, 0), 0);
    assert_int_equal(f.log.count, 2);
    assert_int_equal(f.log.segments[1].index.count, 2); /* no more, though ten messages came */
    end(&f);
}

static void test_flush_is_due(void **state)
{
    (void)state;
    struct fixture f = defaults();
    f.config.flush_messages = 3;
    f.config.flush_ms = 1000;
    begin(&f);
    assert_int_equal(log_flush_deadline_ms(&f.log), INT64_MAX);
    assert_int_equal(append(&f, 2, 10), 0);
    assert_false(f.append.flush_due);
    assert_int_equal(log_flush_deadline_ms(&f.log), 1000);
    assert_int_equal(append(&f, 1, 20), 0);
    assert_true(f.append.flush_due);
    assert_int_equal(f.log.recovery_point, 3);
    assert_int_equal(log_flush_deadline_ms(&f.log), INT64_MAX);
    assert_int_equal(append(&f, 1, 30), 0);
    assert_int_equal(log_flush_deadline_ms(&f.log), 1020);
    assert_int_equal(log_unflushed_from(&f.log), 0);
    log_flushed(&f.log, 2, 40); /* an older flush that ends late moves nothing back */
    assert_int_equal(f.log.recovery_point, 3);
    end(&f);
}

static void test_offsets_by_time(void **state)
{
    (void)state;
    struct fixture f = defaults();
    f.config.segment_bytes = 60;
    begin(&f);
    for (int i = 0; i < 6; i++) /* segments 0, 2, 4, last changed at 200, 400, 600 */
        assert_int_equal(append(&f, 1, 100 * (i + 1)), 0);
    static const struct {
        int64_t timestamp;
        int32_t max;
        size_t count;
        int64_t want[4];
    } cases[] = {
        {-1, 10, 4, {6, 4, 2, 0}}, {-1, 2, 2, {6, 4}},     {-1, 0, 0, {0}},
        {-2, 10, 1, {0}},          {-2, 0, 0, {0}},        {0, 10, 0, {0}},
        {199, 9, 0, {0}},          {200, 9, 1, {0}},       {599, 9, 2, {2, 0}},
        {600, 1, 1, {4}},          {999, 9, 3, {4, 2, 0}}, {1000, 9, 4, {6, 4, 2, 0}},
        {-3, 9, 0, {0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t got[8];
        size_t n = log_offsets_before(&f.log, cases[i].timestamp, cases[i].max, 1000, got, 8);
        if (n != cases[i].count || memcmp(got, cases[i].want, n * sizeof *got) != 0)
            fail_msg("%" PRId64 "/%d: %zu offsets, the first %" PRId64, cases[i].timestamp,
                     cases[i].max, n, n ? got[0] : -1);
    }
    int64_t got[1];
    assert_true(log_offsets_before(&f.log, -1, -1, 0, got, 1) == SIZE_MAX);
    end(&f);
}

static void test_offsets_of_an_empty_log(void **state)
{
    (void)state;
    struct fixture f = defaults();
    begin(&f);
    int64_t got[2];
    assert_int_equal(log_offsets_before(&f.log, -1, 5, 0, got, 2), 1);
    assert_int_equal(got[0], 0);
    struct bytes read;
    assert_int_equal(memory_log_read(&f.log, 0, 100, &read), LOG_AT_END);
    assert_int_equal(memory_log_read(&f.log, 1, 100, &read), LOG_OUT_OF_RANGE);
    assert_int_equal(memory_log_read(&f.log, -1, 100, &read), LOG_OUT_OF_RANGE);
    end(&f);
}

/* F47: what is deleted moves the beginning, and nothing else. */
static void test_retention(void **state)
{
    (void)state;
    struct fixture f = defaults();
    f.config.segment_bytes = 60;
    f.config.retention_ms = 1000;
    begin(&f);
    for (int i = 0; i < 6; i++)
        assert_int_equal(append(&f, 1, 100 * (i + 1)), 0);
    assert_int_equal(memory_log_expire(&f.log, &f.folder, 1200), 0);
    assert_int_equal(memory_log_expire(&f.log, &f.folder, 1201), 1);
    assert_int_equal(log_start_offset(&f.log), 2);
    struct bytes got;
    assert_int_equal(memory_log_read(&f.log, 1, 100, &got), LOG_OUT_OF_RANGE);
    assert_int_equal(memory_log_read(&f.log, 2, 100, &got), LOG_FOUND);
    assert_int_equal(got.data[7], 2);
    assert_int_equal(memory_log_expire(&f.log, &f.folder, 9999), 2); /* all: a new one is begun */
    assert_int_equal(f.log.count, 1);
    assert_int_equal(log_start_offset(&f.log), 6);
    assert_int_equal(memory_log_expire(&f.log, &f.folder, 99999), 0);
    assert_int_equal(memory_log_read(&f.log, 6, 100, &got), LOG_AT_END);
    assert_int_equal(append(&f, 1, 99999), 0);
    assert_int_equal(f.append.first_offset, 6);
    end(&f);
}

static void test_retention_by_size(void **state)
{
    (void)state;
    static const struct {
        int64_t retention_bytes;
        bool compact;
        size_t want;
    } cases[] = {{-1, false, 0}, {300, false, 0}, {181, false, 0}, {121, false, 0}, {120, false, 1},
                 {61, false, 1}, {60, false, 2},  {1, false, 2},   {0, false, 3},   {0, true, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f = defaults();
        f.config.segment_bytes = 60;
        f.config.retention_bytes = cases[i].retention_bytes;
        f.config.compact = cases[i].compact;
        begin(&f);
        assert_int_equal(append(&f, 2, 0), 0);
        assert_int_equal(append(&f, 2, 0), 0);
        assert_int_equal(append(&f, 2, 0), 0);
        size_t got = memory_log_expire(&f.log, &f.folder, 0);
        if (got != cases[i].want)
            fail_msg("retention.bytes=%" PRId64 ": %zu segments went", cases[i].retention_bytes,
                     got);
        assert_int_equal(f.log.end_offset, 6);
        end(&f);
    }
}

/* An append that could not be written leaves no trace. */
static void test_plan_without_commit(void **state)
{
    (void)state;
    struct fixture f = defaults();
    f.config.segment_bytes = 60;
    begin(&f);
    assert_int_equal(append(&f, 2, 0), 0);
    struct buf set;
    buf_init(&set, 1000);
    message_set_append(&set, 0, BYTES_NULL, bytes_of_text("data"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(log_append_plan(&f.log, set.data, set.len, 0, &f.append), 0);
        assert_true(f.append.roll);
        assert_int_equal(f.append.first_offset, 2);
    }
    assert_int_equal(f.log.count, 1);
    assert_int_equal(f.log.end_offset, 2);
    assert_int_equal(append(&f, 1, 0), 0);
    assert_int_equal(f.log.end_offset, 3);
    buf_deinit(&set);
    end(&f);
}

static void test_loading_refuses(void **state)
{
    (void)state;
    struct partition_log log;
    struct log_config c = log_config_default();
    partition_log_init(&log, &c, 0);
    struct log_segment_loaded s = {.base_offset = 5};
    assert_int_equal(log_load_segment(&log, &s, 0), ZKC_OK);
    assert_int_equal(log_load_segment(&log, &s, 0), ZKC_ERR_INVALID);
    assert_int_equal(log.count, 1);
    assert_int_equal(log_roll(&log, NULL, 0), ZKC_ERR_INVALID);
    partition_log_deinit(&log);
}

static void test_needs_check(void **state)
{
    (void)state;
    assert_true(log_segment_needs_check(INT64_MAX, INT64_MAX, true));
    assert_true(log_segment_needs_check(11, 10, false));
    assert_false(log_segment_needs_check(10, 10, false));
}

/* What a plan needs: a compressed set, rolled into a new segment, with an index entry. */
static enum zkc_err plan(const void *input)
{
    const struct fixture *f = input;
    struct log_append a;
    struct buf set;
    buf_init(&set, 10000);
    log_append_init(&a, OPENED_MAX);
    for (int i = 0; i < 6; i++)
        message_set_append(&set, 0, BYTES_NULL, bytes_of_text("data"));
    enum zkc_err err = set.failed;
    enum kafka_error error = KAFKA_ERR_NONE;
    if (!err)
        error = log_append_plan(&f->log, set.data, set.len, 0, &a);
    if (error == KAFKA_ERR_UNKNOWN_SERVER_ERROR) {
        assert_int_equal(a.first_offset, -1);
        err = ZKC_ERR_NOMEM;
    } else if (!err) {
        assert_int_equal(error, KAFKA_ERR_NONE);
        assert_true(a.roll && a.segments && a.index_grown);
    }
    log_append_deinit(&a);
    buf_deinit(&set);
    return err;
}

/* Memory that is not there fails an append before anything was changed. */
static void test_without_memory(void **state)
{
    (void)state;
    struct fixture f = defaults();
    f.config.index_interval_bytes = 0;
    f.config.segment_bytes = 200;
    begin(&f);
    for (int i = 0; i < 4; i++)
        assert_int_equal(append(&f, 6, 0), 0);
    alloc_fail_each(plan, &f);
    assert_int_equal(f.log.end_offset, 24);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_runs),
        cmocka_unit_test(test_rolls),
        cmocka_unit_test(test_rolls_when_the_index_is_full),
        cmocka_unit_test(test_flush_is_due),
        cmocka_unit_test(test_offsets_by_time),
        cmocka_unit_test(test_offsets_of_an_empty_log),
        cmocka_unit_test(test_retention),
        cmocka_unit_test(test_retention_by_size),
        cmocka_unit_test(test_plan_without_commit),
        cmocka_unit_test(test_loading_refuses),
        cmocka_unit_test(test_needs_check),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
