#include "broker/io/thread_loop.h"
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct thread_loop {
    struct event_base *base;
    struct event *wake;
    int fd; /* eventfd: something was posted */
    pthread_mutex_t lock;
    struct loop_item *first, *last; /* posted; under the lock */
    bool is_leaving;                /* under the lock */
    bool is_started;
    pthread_t thread;
};

static struct loop_item *take_first(struct thread_loop *l)
{
    struct loop_item *item = l->first;
    if (!item)
        return NULL;
    l->first = item->next;
    if (l->first)
        l->first->previous = NULL;
    else
        l->last = NULL;
    item->next = item->previous = NULL;
    item->is_posted = false;
    return item;
}

static void wake(struct thread_loop *l)
{
    uint64_t one = 1;
    ssize_t n = write(l->fd, &one, sizeof one);
    (void)n; /* fails only if it is full, and then it is readable as well */
}

/* Runs what was posted before this turn; what these post runs in the next one. */
static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    struct thread_loop *l = arg;
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof count);
    (void)n;
    pthread_mutex_lock(&l->lock);
    struct loop_item mark = {0};
    struct loop_item *end = &mark;
    if (l->last) { /* the mark stands behind what is there now */
        mark.previous = l->last;
        l->last->next = end;
        l->last = end;
        while (l->first != end) {
            struct loop_item *item = take_first(l);
            pthread_mutex_unlock(&l->lock);
            item->run(item->arg);
            pthread_mutex_lock(&l->lock);
        }
        take_first(l);
    }
    bool is_leaving = l->is_leaving;
    bool has_more = l->first != NULL; /* posted behind the mark: nobody else wakes for them */
    pthread_mutex_unlock(&l->lock);
    if (has_more)
        wake(l);
    if (is_leaving)
        event_base_loopbreak(l->base);
}

struct thread_loop *thread_loop_new(void)
{
    struct thread_loop *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    pthread_mutex_init(&l->lock, NULL);
    struct event_config *config = event_config_new();
    if (config) {
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
        l->base = event_base_new_with_config(config);
        event_config_free(config);
    }
    l->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (l->base && l->fd >= 0)
        l->wake = event_new(l->base, l->fd, EV_READ | EV_PERSIST, on_wake, l);
    if (!l->wake || event_add(l->wake, NULL)) {
        thread_loop_free(l);
        return NULL;
    }
    return l;
}

void thread_loop_free(struct thread_loop *l)
{
    if (!l)
        return;
    if (l->wake)
        event_free(l->wake);
    if (l->fd >= 0)
        close(l->fd);
    if (l->base)
        event_base_free(l->base);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

struct event_base *thread_loop_base(struct thread_loop *l)
{
    return l->base;
}

void thread_loop_run(struct thread_loop *l)
{
    event_base_loop(l->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

static void *run(void *arg)
{
    thread_loop_run(arg);
    return NULL;
}

bool thread_loop_start(struct thread_loop *l, const char *name)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&l->thread, NULL, run, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        errno = error;
        return false;
    }
    pthread_setname_np(l->thread, name);
    l->is_started = true;
    return true;
}

void thread_loop_leave(struct thread_loop *l)
{
    pthread_mutex_lock(&l->lock);
    l->is_leaving = true;
    pthread_mutex_unlock(&l->lock);
    wake(l);
}

void thread_loop_join(struct thread_loop *l)
{
    if (l->is_started)
        pthread_join(l->thread, NULL);
    l->is_started = false;
}

void thread_loop_post(struct thread_loop *l, struct loop_item *item)
{
    pthread_mutex_lock(&l->lock);
    bool is_first = !item->is_posted && !l->first;
    if (!item->is_posted) {
        item->is_posted = true;
        item->previous = l->last;
        if (l->last)
            l->last->next = item;
        else
            l->first = item;
        l->last = item;
    }
    pthread_mutex_unlock(&l->lock);
    if (is_first)
        wake(l);
}

void thread_loop_cancel(struct thread_loop *l, struct loop_item *item)
{
    pthread_mutex_lock(&l->lock);
    if (item->is_posted) {
        *(item->previous ? &item->previous->next : &l->first) = item->next;
        *(item->next ? &item->next->previous : &l->last) = item->previous;
        item->next = item->previous = NULL;
        item->is_posted = false;
    }
    pthread_mutex_unlock(&l->lock);
}
