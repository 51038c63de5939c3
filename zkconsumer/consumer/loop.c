#include "zkconsumer/consumer/loop.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/io/boot_clock.h"
#include "zkconsumer/io/resolver.h"
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct zkc_loop {
    struct event_base *base;
    bool is_own; /* base and thread are ours */
    struct resolver *resolver;
    struct observer *observers;
    pthread_t thread;
    pid_t pid;
    unsigned char *alive; /* a page that the kernel zeroes in a forked child; NULL: not supported */
    int wake_fd;
    struct event *wake;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t started;
    bool is_started;
    struct loop_item *first, *last;
    uint64_t turn;
};

int64_t loop_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t loop_now_ms(void)
{
    return boot_clock_ms();
}

struct event_base *loop_base(zkc_loop *loop)
{
    return loop->base;
}

bool loop_is_own(const zkc_loop *loop)
{
    return loop->is_own;
}

struct resolver *loop_resolver(zkc_loop *loop)
{
    if (!loop->resolver)
        loop->resolver = resolver_new(loop->base);
    return loop->resolver;
}

struct observer **loop_observers(zkc_loop *loop)
{
    return &loop->observers;
}

bool loop_is_foreign(const zkc_loop *loop)
{
    return loop->alive ? *(volatile unsigned char *)loop->alive == 0 : getpid() != loop->pid;
}

bool zkc_loop_is_current(const zkc_loop *loop)
{
    return pthread_equal(loop->thread, pthread_self());
}

/* ---- the queue ---- */

static void wake(zkc_loop *loop)
{
    if (eventfd_write(loop->wake_fd, 1) < 0)
        return; /* full: it is readable as it is */
}

void loop_post(zkc_loop *loop, struct loop_item *item)
{
    bool was_empty = false;
    pthread_mutex_lock(&loop->lock);
    if (!item->is_posted) {
        item->is_posted = true;
        item->next = NULL;
        item->turn = loop->turn;
        was_empty = !loop->first;
        if (was_empty)
            loop->first = item;
        else
            loop->last->next = item;
        loop->last = item;
    }
    pthread_mutex_unlock(&loop->lock);
    if (was_empty)
        wake(loop);
}

void loop_cancel(zkc_loop *loop, struct loop_item *item)
{
    pthread_mutex_lock(&loop->lock);
    if (item->is_posted) {
        struct loop_item *before = NULL;
        for (struct loop_item *i = loop->first; i != item; i = i->next)
            before = i;
        if (before)
            before->next = item->next;
        else
            loop->first = item->next;
        if (loop->last == item)
            loop->last = before;
        item->is_posted = false;
    }
    pthread_mutex_unlock(&loop->lock);
}

/* The next item that was posted before this turn began; NULL: none. */
static struct loop_item *pop(zkc_loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct loop_item *item = loop->first;
    if (item && item->turn < loop->turn) {
        loop->first = item->next;
        item->is_posted = false;
    } else {
        item = NULL;
    }
    pthread_mutex_unlock(&loop->lock);
    return item;
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    zkc_loop *loop = arg;
    eventfd_t count;
    if (eventfd_read(fd, &count) < 0)
        return; /* read already */

    pthread_mutex_lock(&loop->lock);
    loop->turn++;
    pthread_mutex_unlock(&loop->lock);
    struct loop_item *item;
    while ((item = pop(loop)))
        item->run(item->arg);

    pthread_mutex_lock(&loop->lock);
    bool is_left = loop->first != NULL;
    pthread_mutex_unlock(&loop->lock);
    if (is_left)
        wake(loop);
}

struct call {
    struct loop_item item;
    zkc_loop *loop;
    loop_fn *fn;
    void *arg;
    pthread_cond_t returned;
    bool has_returned;
};

static void run_call(void *arg)
{
    struct call *call = arg;
    call->fn(call->arg);
    pthread_mutex_t *lock = &call->loop->lock;
    pthread_mutex_lock(lock);
    call->has_returned = true;
    pthread_cond_signal(&call->returned); /* under the lock: afterwards the call is gone */
    pthread_mutex_unlock(lock);
}

enum zkc_err loop_call(zkc_loop *loop, loop_fn *fn, void *arg)
{
    if (loop_is_foreign(loop))
        return ZKC_ERR_WRONG_PROCESS;
    if (zkc_loop_is_current(loop)) {
        fn(arg);
        return ZKC_OK;
    }
    struct call call = {.loop = loop, .fn = fn, .arg = arg};
    loop_item_init(&call.item, run_call, &call);
    pthread_cond_init(&call.returned, NULL);
    loop_post(loop, &call.item);
    pthread_mutex_lock(&loop->lock);
    while (!call.has_returned)
        pthread_cond_wait(&call.returned, &loop->lock);
    pthread_mutex_unlock(&loop->lock);
    pthread_cond_destroy(&call.returned);
    return ZKC_OK;
}

/* ---- life ---- */

static void *run_thread(void *arg)
{
    zkc_loop *loop = arg;
    pthread_setname_np(pthread_self(), "zkc-loop");
    pthread_mutex_lock(&loop->lock);
    loop->thread = pthread_self();
    loop->is_started = true;
    pthread_cond_signal(&loop->started);
    pthread_mutex_unlock(&loop->lock);
    event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

static void stop(void *arg)
{
    zkc_loop *loop = arg;
    event_base_loopbreak(loop->base);
}

static bool start_thread(zkc_loop *loop)
{
    /* The application's signals are for its own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, run_thread, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return false;
    pthread_mutex_lock(&loop->lock);
    while (!loop->is_started)
        pthread_cond_wait(&loop->started, &loop->lock);
    pthread_mutex_unlock(&loop->lock);
    return true;
}

/* What a base needs: epoll, timerfd, and a pair for signals. When that pair cannot be had, libevent
 * 2.1 ends the process (evsig_init_), so we look first. */
static bool has_descriptors_for_base(void)
{
    int fds[4];
    size_t n = 0;
    while (n < ARRAY_LEN(fds) && (fds[n] = eventfd(0, EFD_CLOEXEC)) >= 0)
        n++;
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
    return n == ARRAY_LEN(fds);
}

/* One thread touches it: no locks. Timers of a millisecond, which the coarse clock does not give.
 */
static struct event_base *new_base(void)
{
    struct event_config *config = has_descriptors_for_base() ? event_config_new() : NULL;
    if (!config)
        return NULL;
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

static unsigned char *new_alive_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *page =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, size, MADV_WIPEONFORK) < 0) {
        munmap(page, size);
        return NULL;
    }
    *page = 1;
    return page;
}

static void free_loop(zkc_loop *loop)
{
    if (loop->wake)
        event_free(loop->wake);
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    resolver_free(loop->resolver);
    if (loop->is_own && loop->base) {
        event_base_loop(loop->base,
                        EVLOOP_NONBLOCK); /* libevent frees its lookups in a last turn */
        event_base_free(loop->base);
    }
    if (loop->alive)
        munmap(loop->alive, (size_t)sysconf(_SC_PAGESIZE));
    pthread_cond_destroy(&loop->started);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

static enum zkc_err open_loop(zkc_loop *loop)
{
    if (loop->is_own && !(loop->base = new_base()))
        return ZKC_ERR_SYSTEM;
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake_fd < 0)
        return ZKC_ERR_SYSTEM;
    loop->wake = event_new(loop->base, loop->wake_fd, EV_READ | EV_PERSIST, on_wake, loop);
    if (!loop->wake || event_add(loop->wake, NULL) < 0)
        return ZKC_ERR_NOMEM;
    if (loop->is_own && !start_thread(loop))
        return ZKC_ERR_SYSTEM;
    return ZKC_OK;
}

enum zkc_err zkc_loop_open(struct event_base *base, zkc_loop **out)
{
    zkc_loop *loop = malloc(sizeof *loop);
    if (!loop)
        return ZKC_ERR_NOMEM;
    *loop = (zkc_loop){
        .base = base,
        .is_own = !base,
        .thread = pthread_self(),
        .pid = getpid(),
        .alive = new_alive_page(),
        .wake_fd = -1,
    };
    pthread_mutex_init(&loop->lock, NULL);
    pthread_cond_init(&loop->started, NULL);
    enum zkc_err err = open_loop(loop);
    if (err) {
        free_loop(loop);
        return err;
    }
    *out = loop;
    return ZKC_OK;
}

void zkc_loop_close(zkc_loop *loop)
{
    if (!loop || loop_is_foreign(loop))
        return; /* in a forked child thread and descriptors are the parent's */
    if (loop->is_own) {
        if (zkc_loop_is_current(loop))
            return; /* not allowed: a thread cannot wait for its own end */
        struct loop_item item;
        loop_item_init(&item, stop, loop);
        loop_post(loop, &item);
        pthread_join(loop->thread, NULL);
    }
    free_loop(loop);
}

/* ---- waiting ---- */

struct loop_wait {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended;
    bool is_abandoned; /* nobody waits: the end frees it */
    enum zkc_err err;
};

struct loop_wait *loop_wait_new(void)
{
    struct loop_wait *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    pthread_mutex_init(&w->lock, NULL);
    loop_cond_init(&w->ended);
    return w;
}

void loop_wait_free(struct loop_wait *w)
{
    if (!w)
        return;
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void loop_wait_end(struct loop_wait *w, enum zkc_err err)
{
    pthread_mutex_lock(&w->lock);
    w->has_ended = true;
    w->err = err;
    bool is_abandoned = w->is_abandoned;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    if (is_abandoned)
        loop_wait_free(w);
}

void loop_wait_abandon(struct loop_wait *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_abandoned = true;
    bool has_ended = w->has_ended;
    pthread_mutex_unlock(&w->lock);
    if (has_ended)
        loop_wait_free(w);
}

bool loop_wait(struct loop_wait *w, int timeout_ms, enum zkc_err *err)
{
    int64_t deadline_ns = timeout_ms < 0 ? -1 : loop_now_ns() + (int64_t)timeout_ms * 1000000;
    pthread_mutex_lock(&w->lock);
    bool is_in_time = true;
    while (!w->has_ended && is_in_time)
        is_in_time = loop_cond_wait(&w->ended, &w->lock, deadline_ns);
    bool has_ended = w->has_ended;
    if (has_ended)
        *err = w->err;
    pthread_mutex_unlock(&w->lock);
    return has_ended;
}

/* ---- condition variables on the monotonic clock ---- */

void loop_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool loop_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline_ns)
{
    if (deadline_ns < 0) {
        pthread_cond_wait(cond, lock);
        return true;
    }
    struct timespec at = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    return pthread_cond_timedwait(cond, lock, &at) == 0;
}
