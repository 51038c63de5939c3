#include "broker/io/thread_loop.h"
#include "tests/unit/test.h"
#include <pthread.h>
#include <stdatomic.h>

struct world {
    struct thread_loop *loop;
    struct loop_item items[4];
    int ran[16];
    atomic_int count;
    int again; /* how often item 0 posts itself */
};

struct tag {
    struct world *world;
    int number;
};
static struct tag tags[4];

static void run(void *arg)
{
    struct tag *tag = arg;
    struct world *w = tag->world;
    assert_true(w->count < 16);
    w->ran[w->count] = tag->number;
    w->count++;
    if (tag->number == 0 && w->again-- > 0)
        thread_loop_post(w->loop, &w->items[0]);
    else if (tag->number == 3)
        thread_loop_leave(w->loop);
}

static void begin(struct world *w, int again)
{
    *w = (struct world){.again = again};
    w->loop = thread_loop_new();
    assert_non_null(w->loop);
    for (int i = 0; i < 4; i++) {
        tags[i] = (struct tag){w, i};
        loop_item_init(&w->items[i], run, &tags[i]);
    }
}

static void expect(const struct world *w, const int *ran, int count)
{
    assert_int_equal(w->count, count);
    assert_memory_equal(w->ran, ran, (size_t)count * sizeof *ran);
}

static void test_order_and_repetition(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 0);
    thread_loop_post(w.loop, &w.items[1]);
    thread_loop_post(w.loop, &w.items[2]);
    thread_loop_post(w.loop, &w.items[1]); /* is posted already */
    thread_loop_post(w.loop, &w.items[3]);
    thread_loop_run(w.loop);
    expect(&w, (int[]){1, 2, 3}, 3);
    thread_loop_free(w.loop);
}

/* What an item posts runs in the next turn, and needs nobody else to wake the loop. */
static void test_an_item_posts_itself(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 3);
    thread_loop_post(w.loop, &w.items[0]);
    thread_loop_post(w.loop, &w.items[1]);
    assert_true(thread_loop_start(w.loop, "test"));
    thread_loop_post(w.loop, &w.items[2]);
    while (w.count < 6)
        sched_yield();
    thread_loop_post(w.loop, &w.items[3]);
    thread_loop_join(w.loop);
    assert_int_equal(w.count, 7);
    assert_int_equal(w.ran[0], 0);
    assert_int_equal(w.ran[1], 1);
    assert_int_equal(w.ran[6], 3);
    thread_loop_free(w.loop);
}

static void test_cancel(void **state)
{
    (void)state;
    for (int gone = 0; gone < 3; gone++) {
        struct world w;
        begin(&w, 0);
        for (int i = 0; i < 4; i++)
            thread_loop_post(w.loop, &w.items[i]);
        thread_loop_cancel(w.loop, &w.items[gone]);
        thread_loop_cancel(w.loop, &w.items[gone]); /* not posted: nothing */
        thread_loop_run(w.loop);
        assert_int_equal(w.count, 3);
        for (int i = 0; i < 3; i++)
            assert_int_not_equal(w.ran[i], gone);
        thread_loop_free(w.loop);
    }
}

static void *post_many(void *arg)
{
    struct world *w = arg;
    for (int i = 0; i < 10000; i++)
        thread_loop_post(w->loop, &w->items[1]);
    return NULL;
}

static void count_only(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* From many threads: after the last post it runs at least once more. */
static void test_many_threads(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 0);
    atomic_int count = 0;
    loop_item_init(&w.items[1], count_only, &count);
    assert_true(thread_loop_start(w.loop, "test"));
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, &w), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    int before = count;
    thread_loop_post(w.loop, &w.items[1]);
    while (count == before)
        sched_yield();
    thread_loop_post(w.loop, &w.items[3]);
    thread_loop_join(w.loop);
    assert_true(count >= 1 && count <= 40001);
    thread_loop_free(w.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_repetition),
        cmocka_unit_test(test_an_item_posts_itself),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
