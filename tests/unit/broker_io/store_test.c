/* Partitions in real files: what is read is what was written, across restarts, crashes and
 * failures of the disk. */
#include "broker/io/config.h"
#include "broker/io/file_ref.h"
#include "broker/io/journal.h"
#include "broker/io/store.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/wire/message_set.h"
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct world {
    char folder[64];
    char log_dir[96];
    struct config config;
    struct journal *journal;
    struct store *store;
    struct log_append append;
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void ignore_note(int level, const char *text, void *user)
{
    (void)level, (void)text, (void)user;
}

static void set_up(struct world *w, const char *setting)
{
    *w = (struct world){.folder = "/tmp/zkc-store-XXXXXX"};
    assert_non_null(mkdtemp(w->folder));
    snprintf(w->log_dir, sizeof w->log_dir, "%s/logs", w->folder);
    char dirs[128], journal[96];
    snprintf(dirs, sizeof dirs, "log.dirs=%s", w->log_dir);
    snprintf(journal, sizeof journal, "%s/journal", w->folder);
    const char *overrides[] = {"broker.id=1", "zookeeper.connect=h:1", dirs,
                               setting ? setting : "port=0"};
    struct why why;
    if (!config_read(&w->config, NULL, overrides, 4, ignore_note, NULL, &why))
        fail_msg("%s", why.text);
    w->journal = journal_new(journal, JOURNAL_INFO);
    assert_non_null(w->journal);
    log_append_init(&w->append, 1 << 20);
}

static void tear_down(struct world *w)
{
    log_append_deinit(&w->append);
    journal_free(w->journal);
    config_deinit(&w->config);
    nftw(w->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void open_store(struct world *w)
{
    struct why why;
    w->store = store_open(&w->config, w->journal, &why);
    if (!w->store || !store_start(w->store, &why))
        fail_msg("%s", why.text);
}

static void close_store(struct world *w, bool is_orderly)
{
    store_close(w->store, is_orderly);
    w->store = NULL;
}

static struct partition *host(struct world *w, const char *topic, int32_t number)
{
    struct log_config c = store_log_config(&w->config);
    struct why why;
    struct partition *p = store_host(w->store, topic, number, &c, &why);
    if (!p)
        fail_msg("%s", why.text);
    return p;
}

/* Appends messages "<from>" .. in one set; the answer. */
static struct append_result append(struct world *w, struct partition *p, int from, int count)
{
    struct buf set;
    buf_init(&set, 1 << 20);
    for (int i = from; i < from + count; i++) {
        char value[300];
        int len = snprintf(value, sizeof value, "%0199d;", i);
        message_set_append(&set, 0, BYTES_NULL, bytes_of(value, (size_t)len));
    }
    struct append_result result;
    partition_append(p, set.data, set.len, &w->append, &result);
    buf_deinit(&set);
    return result;
}

static void append_ok(struct world *w, struct partition *p, int from, int count)
{
    struct append_result result = append(w, p, from, count);
    assert_int_equal(result.error, KAFKA_ERR_NONE);
    assert_int_equal(result.first_offset, from);
}

/* Reads from an offset on to the end, by as many reads as that takes; checks that message i is
 * "<i>", and returns the offset behind the last. */
static int64_t read_all(struct partition *p, int64_t offset)
{
    for (;;) {
        struct partition_read got;
        partition_read(p, offset, 1 << 16, &got);
        assert_int_equal(got.error, KAFKA_ERR_NONE);
        if (!got.file)
            return offset;
        uint8_t *bytes = malloc(got.len);
        assert_non_null(bytes);
        assert_int_equal(pread(got.file->fd, bytes, got.len, got.position), got.len);
        file_ref_put(got.file);
        struct message_iter it;
        struct message_iter_limits limits = {.decompressed_bytes_max = 1 << 20};
        message_iter_init(&it, bytes_of(bytes, got.len), &limits);
        struct message_view m;
        while (message_iter_next(&it, &m) == MESSAGE_ITER_MESSAGE) {
            assert_int_equal(m.offset, offset);
            assert_int_equal(strtol((const char *)m.value.data, NULL, 10), offset);
            offset++;
        }
        message_iter_deinit(&it);
        free(bytes);
    }
}

static void file_path(const struct world *w, const char *name, char out[200])
{
    snprintf(out, 200, "%s/%s", w->log_dir, name);
}

static off_t file_size(const struct world *w, const char *name)
{
    char path[200];
    struct stat st;
    file_path(w, name, path);
    return stat(path, &st) ? -1 : st.st_size;
}

#define SEGMENT_0 "t-0/00000000000000000000.log"
#define INDEX_0   "t-0/00000000000000000000.index"

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, "log.segment.bytes=20000");
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    assert_int_equal(read_all(p, 0), 0);
    for (int i = 0; i < 500; i += 5)
        append_ok(&w, p, i, 5);
    for (int64_t from = 0; from <= 500; from += 7)
        assert_int_equal(read_all(p, from), 500);
    assert_true(file_size(&w, SEGMENT_0) > 0 && file_size(&w, SEGMENT_0) <= 20000);
    assert_true(file_size(&w, INDEX_0) > 0 && file_size(&w, INDEX_0) % 8 == 0);
    partition_put(p);
    close_store(&w, true);
    assert_int_equal(file_size(&w, ".kafka_cleanshutdown"), 0);

    for (int is_clean = 1; is_clean >= 0; is_clean--) { /* again after a stop, and after a crash */
        open_store(&w);
        assert_int_equal(file_size(&w, ".kafka_cleanshutdown"), -1);
        p = host(&w, "t", 0);
        assert_int_equal(partition_end_offset(p), 500);
        assert_int_equal(read_all(p, 0), 500);
        assert_int_equal(read_all(p, 333), 500);
        partition_put(p);
        close_store(&w, false);
    }
    tear_down(&w);
}

static void test_offsets_out_of_range(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, NULL);
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    append_ok(&w, p, 0, 3);
    struct partition_read got;
    partition_read(p, 4, 100, &got);
    assert_int_equal(got.error, KAFKA_ERR_OFFSET_OUT_OF_RANGE);
    partition_read(p, -1, 100, &got);
    assert_int_equal(got.error, KAFKA_ERR_OFFSET_OUT_OF_RANGE);
    partition_read(p, 3, 100, &got);
    assert_int_equal(got.error, KAFKA_ERR_NONE);
    assert_null(got.file);
    assert_int_equal(got.high_watermark, 3);
    partition_read(p, 0, 10, &got); /* cut, but there: old clients see that it is too large */
    assert_int_equal(got.len, 10);
    file_ref_put(got.file);
    partition_put(p);
    close_store(&w, true);
    tear_down(&w);
}

static void test_a_torn_tail_is_cut(void **state)
{
    (void)state;
    static const off_t lost[] = {1, 17, 225, 226, 230, 1000};
    for (size_t i = 0; i < ARRAY_LEN(lost); i++) {
        struct world w;
        set_up(&w, NULL);
        open_store(&w);
        struct partition *p = host(&w, "t", 0);
        append_ok(&w, p, 0, 100);
        partition_put(p);
        close_store(&w, false);
        char path[200];
        file_path(&w, SEGMENT_0, path);
        off_t size = file_size(&w, SEGMENT_0);
        assert_int_equal(truncate(path, size - lost[i]), 0);

        open_store(&w);
        p = host(&w, "t", 0);
        int64_t end = partition_end_offset(p);
        assert_int_equal(end, 100 - (lost[i] + 225) / 226);
        assert_int_equal(read_all(p, 0), end);
        append_ok(&w, p, (int)end, 10);
        assert_int_equal(read_all(p, 0), end + 10);
        partition_put(p);
        close_store(&w, true);
        tear_down(&w);
    }
}

static void test_a_damaged_segment_ends_the_log(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, "log.segment.bytes=5000");
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    for (int i = 0; i < 100; i++)
        append_ok(&w, p, i, 1);
    partition_put(p);
    store_stop(w.store);
    close_store(&w, false);
    char path[200];
    file_path(&w, SEGMENT_0, path);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 226 * 10 + 100), 1);
    close(fd);
    file_path(&w, "recovery-point-offset-checkpoint", path);
    unlink(path);

    open_store(&w);
    p = host(&w, "t", 0);
    assert_int_equal(partition_end_offset(p), 10);
    assert_int_equal(read_all(p, 0), 10);
    assert_int_equal(file_size(&w, "t-0/00000000000000000022.log"), -1);
    partition_put(p);
    close_store(&w, true);
    tear_down(&w);
}

static void test_a_lost_index_is_rebuilt(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, NULL);
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    append_ok(&w, p, 0, 1000);
    partition_put(p);
    close_store(&w, true);
    off_t size = file_size(&w, INDEX_0);
    char path[200];
    file_path(&w, INDEX_0, path);
    unlink(path);
    open_store(&w);
    p = host(&w, "t", 0);
    assert_int_equal(file_size(&w, INDEX_0), size);
    assert_int_equal(read_all(p, 777), 1000);
    partition_put(p);
    close_store(&w, true);
    tear_down(&w);
}

struct flushed {
    struct thread_loop *loop;
    struct flush_waiter waiter;
    unsigned count;
};

static void on_flushed(void *arg)
{
    struct flushed *f = arg;
    f->count++;
    thread_loop_leave(f->loop);
}

static void test_acknowledged_is_flushed(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, "log.flush.interval.messages=1");
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    struct append_result result = append(&w, p, 0, 3);
    assert_true(result.must_wait);
    assert_int_equal(result.end_offset, 3);
    struct flushed f = {.loop = thread_loop_new()};
    f.waiter.loop = f.loop;
    loop_item_init(&f.waiter.item, on_flushed, &f);
    partition_wait_flush(p, result.end_offset, &f.waiter);
    thread_loop_run(f.loop);
    assert_int_equal(f.count, 1);
    assert_int_equal(f.waiter.error, KAFKA_ERR_NONE);
    assert_int_equal(partition_recovery_point(p), 3);
    assert_int_equal(read_all(p, 0), 3);
    thread_loop_free(f.loop);
    partition_put(p);
    close_store(&w, true);
    tear_down(&w);
}

/* Nobody reads what a crash could take back. */
static void test_unflushed_is_not_read(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, "log.flush.interval.messages=1");
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    append(&w, p, 0, 3); /* nobody asks for its flush */
    assert_int_equal(partition_end_offset(p), 0);
    assert_int_equal(read_all(p, 0), 0);
    struct partition_read got;
    partition_read(p, 2, 100, &got);
    assert_null(got.file);
    assert_true(partition_flush(p));
    assert_int_equal(partition_end_offset(p), 3);
    assert_int_equal(read_all(p, 0), 3);
    partition_put(p);
    close_store(&w, true);
    tear_down(&w);
}

static void limit_file_size(rlim_t size)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* As a full disk: refused, nothing half written, and goes on when there is room again. */
static void test_no_room(void **state)
{
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    struct world w;
    set_up(&w, NULL);
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    append_ok(&w, p, 0, 10);
    limit_file_size(226 * 15);
    struct append_result result = append(&w, p, 10, 10);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(result.error, KAFKA_ERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(result.first_offset, -1);
    assert_int_equal(file_size(&w, SEGMENT_0), 226 * 10);
    assert_int_equal(read_all(p, 0), 10);
    append_ok(&w, p, 10, 10);
    assert_int_equal(read_all(p, 0), 20);
    partition_put(p);
    close_store(&w, true);
    tear_down(&w);
}

/* Puts something else in the place of the partition's open segment. */
static void replace_file(struct partition *p, int fd)
{
    struct partition_read got;
    partition_read(p, 0, 1, &got);
    assert_non_null(got.file);
    assert_true(dup2(fd, got.file->fd) >= 0);
    file_ref_put(got.file);
    close(fd);
}

static void expect_off(struct world *w, struct partition *p, const char *text)
{
    struct append_result result = append(w, p, 10, 1);
    assert_int_equal(result.error, KAFKA_ERR_UNKNOWN_SERVER_ERROR);
    struct why why;
    partition_fault(p, &why);
    assert_string_equal(why.text, text);
    partition_put(p);
    close_store(w, true);
    assert_int_equal(file_size(w, ".kafka_cleanshutdown"), -1); /* not to be vouched for */
    open_store(w);
    p = host(w, "t", 0);
    append_ok(w, p, 10, 1);
    assert_int_equal(read_all(p, 0), 11);
    partition_put(p);
    close_store(w, true);
    tear_down(w);
}

/* After a flush that failed nobody knows what is on the disk: nothing is acknowledged any more. */
static void test_a_flush_that_fails(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, NULL);
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    append_ok(&w, p, 0, 10);
    int ends[2];
    assert_int_equal(pipe(ends), 0); /* cannot be synchronised */
    close(ends[0]);
    replace_file(p, ends[1]);
    struct flushed f = {.loop = thread_loop_new()};
    f.waiter.loop = f.loop;
    loop_item_init(&f.waiter.item, on_flushed, &f);
    partition_wait_flush(p, 10, &f.waiter);
    thread_loop_run(f.loop);
    assert_int_equal(f.waiter.error, KAFKA_ERR_UNKNOWN_SERVER_ERROR);
    thread_loop_free(f.loop);
    expect_off(&w, p, "a flush failed: Invalid argument");
}

/* A write that failed and cannot be taken back. */
static void test_a_write_that_fails(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, NULL);
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    append_ok(&w, p, 0, 10);
    char path[200];
    file_path(&w, SEGMENT_0, path);
    replace_file(p, open(path, O_RDONLY)); /* as after a remount */
    assert_int_equal(append(&w, p, 10, 1).error, KAFKA_ERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(read_all(p, 0), 10); /* reading goes on */
    expect_off(&w, p, "a write failed: Bad file descriptor");
}

static void test_two_brokers_with_one_folder(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, NULL);
    open_store(&w);
    struct why why;
    assert_null(store_open(&w.config, w.journal, &why));
    assert_non_null(strstr(why.text, "is in use by another broker"));
    close_store(&w, true);
    tear_down(&w);
}

/* A start that fails for another folder does not cost a check of this one. */
static void test_a_start_that_fails_leaves_it_clean(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, NULL);
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    append_ok(&w, p, 0, 10);
    partition_put(p);
    close_store(&w, true);
    char *dirs[] = {w.log_dir, "/proc/nothing"};
    struct config two = w.config;
    two.log_dirs = dirs;
    two.log_dirs_count = 2;
    struct why why;
    assert_null(store_open(&two, w.journal, &why));
    assert_int_equal(file_size(&w, ".kafka_cleanshutdown"), 0);
    open_store(&w);
    close_store(&w, true);
    tear_down(&w);
}

static void test_a_folder_that_cannot_be_used(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, "log.dirs=/proc/nothing/here");
    struct why why;
    assert_null(store_open(&w.config, w.journal, &why));
    assert_non_null(strstr(why.text, "log.dirs: /proc/nothing/here cannot be created: "));
    tear_down(&w);
}

static void test_deletion(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, NULL);
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    append_ok(&w, p, 0, 3);
    struct partition_read got;
    partition_read(p, 0, 100, &got); /* a reader that is in the middle of it */
    store_delete(w.store, "t", 0);
    assert_int_equal(file_size(&w, "t-0"), -1);
    uint8_t byte;
    assert_int_equal(pread(got.file->fd, &byte, 1, 0), 1);
    file_ref_put(got.file);
    partition_read(p, 0, 100, &got);
    assert_int_equal(got.error, KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(append(&w, p, 3, 1).error, KAFKA_ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_null(store_find(w.store, "t", 0));
    partition_put(p);
    p = host(&w, "t", 0); /* again, and empty */
    append_ok(&w, p, 0, 1);
    partition_put(p);
    close_store(&w, true);
    tear_down(&w);
}

static void remember(const char *path, int64_t delay_ms, void *user)
{
    (void)delay_ms;
    unsigned *count = user;
    assert_non_null(strstr(path, ".deleted"));
    assert_int_equal(unlink(path), 0);
    ++*count;
}

/* F47: what remains keeps its offsets. */
static void test_retention_by_size(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, "log.segment.bytes=2500");
    w.config.log_retention_bytes = 10000;
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    for (int i = 0; i < 100; i++)
        append_ok(&w, p, i, 1);
    unsigned removed = 0;
    partition_retain(p, remember, &removed);
    assert_true(removed > 0 && removed % 2 == 0);
    int64_t *offsets;
    size_t count;
    assert_int_equal(partition_offsets(p, -2, 1, &offsets, &count), KAFKA_ERR_NONE);
    int64_t first = offsets[0];
    free(offsets);
    assert_true(first > 0);
    struct partition_read got;
    partition_read(p, first - 1, 100, &got);
    assert_int_equal(got.error, KAFKA_ERR_OFFSET_OUT_OF_RANGE);
    assert_int_equal(read_all(p, first), 100);
    partition_put(p);
    close_store(&w, true);
    open_store(&w);
    p = host(&w, "t", 0);
    assert_int_equal(read_all(p, first), 100);
    partition_put(p);
    close_store(&w, true);
    tear_down(&w);
}

/* All segments are too old: the end stays where it is. */
static void test_retention_of_everything(void **state)
{
    (void)state;
    struct world w;
    set_up(&w, NULL);
    w.config.log_retention_ms = 0;
    open_store(&w);
    struct partition *p = host(&w, "t", 0);
    append_ok(&w, p, 0, 7);
    unsigned removed = 0;
    while (!removed) /* a millisecond has to pass */
        partition_retain(p, remember, &removed);
    assert_int_equal(partition_end_offset(p), 7);
    assert_int_equal(read_all(p, 7), 7);
    append_ok(&w, p, 7, 1);
    assert_int_equal(read_all(p, 7), 8);
    partition_put(p);
    close_store(&w, true);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_offsets_out_of_range),
        cmocka_unit_test(test_a_torn_tail_is_cut),
        cmocka_unit_test(test_a_damaged_segment_ends_the_log),
        cmocka_unit_test(test_a_lost_index_is_rebuilt),
        cmocka_unit_test(test_acknowledged_is_flushed),
        cmocka_unit_test(test_unflushed_is_not_read),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_a_flush_that_fails),
        cmocka_unit_test(test_a_write_that_fails),
        cmocka_unit_test(test_two_brokers_with_one_folder),
        cmocka_unit_test(test_a_start_that_fails_leaves_it_clean),
        cmocka_unit_test(test_a_folder_that_cannot_be_used),
        cmocka_unit_test(test_deletion),
        cmocka_unit_test(test_retention_by_size),
        cmocka_unit_test(test_retention_of_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
