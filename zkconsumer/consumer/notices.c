#include "zkconsumer/consumer/consumer.h"
#include <event2/event.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NOTICES_MAX 64

void commit_queue_put(struct commit_queue *q, struct commit *c)
{
    c->next = NULL;
    if (q->last)
        q->last->next = c;
    else
        q->first = c;
    q->last = c;
}

struct commit *commit_queue_take(struct commit_queue *q)
{
    struct commit *c = q->first;
    if (c)
        q->first = c->next;
    if (!q->first)
        q->last = NULL;
    return c;
}

void commit_free(struct commit *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->list && i < c->count; i++)
        free((void *)(uintptr_t)c->list[i].topic);
    free(c->list);
    free(c);
}

void consumer_error(zkc_consumer *c, enum zkc_err err, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!c->view.on_error)
        return;
    struct notice *n = c->notice_count < NOTICES_MAX ? calloc(1, sizeof *n) : NULL;
    if (n)
        n->text = strdup(text);
    if (!n || !n->text) {
        free(n);
        c->notices_dropped++;
        return;
    }
    n->err = err;
    n->next = c->notices;
    c->notices = n;
    c->notice_count++;
    loop_post(c->loop, &c->tell);
}

void consumer_commit_done(zkc_consumer *c, struct commit *commit, enum zkc_err err)
{
    commit->err = err;
    commit_queue_put(&c->commits_done, commit);
    loop_post(c->loop, &c->tell);
}

static void tell_errors(zkc_consumer *c)
{
    struct notice *oldest_first = NULL;
    while (c->notices) {
        struct notice *n = c->notices;
        c->notices = n->next;
        n->next = oldest_first;
        oldest_first = n;
    }
    c->notice_count = 0;
    uint64_t dropped = c->notices_dropped;
    c->notices_dropped = 0;
    while (oldest_first) {
        struct notice *n = oldest_first;
        oldest_first = n->next;
        c->view.on_error(c, n->err, n->text, c->view.user);
        free(n->text);
        free(n);
    }
    if (dropped)
        log_line(c->log, 4, LOG_FACILITY_MEMBER, "%llu errors came too fast to be told",
                 (unsigned long long)dropped);
}

static void tell_commits(zkc_consumer *c)
{
    struct commit *commit;
    while ((commit = commit_queue_take(&c->commits_done))) {
        if (commit->wait)
            loop_wait_end(commit->wait, commit->err);
        if (commit->on_done)
            commit->on_done(c, commit->err, commit->user);
        commit_free(commit);
    }
}

void consumer_tell(void *consumer)
{
    zkc_consumer *c = consumer;
    tell_errors(c);
    tell_commits(c);
}

void consumer_forget_notices(zkc_consumer *c)
{
    while (c->notices) {
        struct notice *n = c->notices;
        c->notices = n->next;
        free(n->text);
        free(n);
    }
    c->notice_count = 0;
}

void consumer_end_waiters(zkc_consumer *c, enum zkc_err err)
{
    while (c->waiters) {
        struct waiter *w = c->waiters;
        c->waiters = w->next;
        loop_wait_end(w->wait, err);
        free(w);
    }
}

void consumer_check_waiters(zkc_consumer *c)
{
    if (c->state >= CONSUMER_CLOSING)
        consumer_end_waiters(c, ZKC_ERR_CLOSED);
    else if (c->is_refused)
        consumer_end_waiters(c, ZKC_ERR_ZOOKEEPER);
    else if (c->is_settled)
        consumer_end_waiters(c, c->gave_up ? ZKC_ERR_REBALANCE : ZKC_OK);
    else if (c->was_connected && c->state == CONSUMER_OPEN)
        consumer_end_waiters(c, ZKC_OK);
    else if (c->has_told_no_auth && !c->was_registered)
        consumer_end_waiters(c, ZKC_OK);
    else if (!c->was_connected && c->wait_err)
        consumer_end_waiters(c, c->wait_err);
}

/* ---- the lease ---- */

static void arm_lease_end(struct lease_news *n, int64_t now_ms)
{
    int64_t ms = n->end_ms > now_ms ? n->end_ms - now_ms : 0;
    struct timeval tv = {ms / 1000, (ms % 1000) * 1000};
    event_add(n->timer, &tv);
}

static void on_lease_end(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    zkc_consumer *c = arg;
    struct lease_news *n = &c->lease_news;
    int64_t now_ms = loop_now_ms();
    if (now_ms < n->end_ms) {
        arm_lease_end(n, now_ms);
        return;
    }
    if (n->is_stopped || !c->fetching || fetching_count(c->fetching) == 0)
        return; /* nothing flows */
    n->is_stopped = true;
    n->stopped_ms = now_ms;
    log_line(c->log, 4, LOG_FACILITY_MEMBER,
             "delivery stops: %s of the ZooKeeper session 0x%" PRIx64
             " has ended; it resumes if the session goes on",
             c->view.fence == CONF_FENCE_LEASE ? "the lease" : "the connection",
             (uint64_t)n->session_id);
}

void member_lease_moved(zkc_consumer *c, int64_t session_id, int64_t end_ms)
{
    struct lease_news *n = &c->lease_news;
    int64_t now_ms = loop_now_ms();
    if (!n->timer)
        n->timer = evtimer_new(loop_base(c->loop), on_lease_end, c);
    n->session_id = session_id;
    n->end_ms = end_ms;
    if (n->is_stopped && now_ms < end_ms) {
        log_line(c->log, 5, LOG_FACILITY_MEMBER, "delivery resumes after %" PRId64 " ms",
                 now_ms - n->stopped_ms);
        n->is_stopped = false;
    }
    if (!n->timer)
        return; /* no memory: nothing is told */
    event_del(n->timer);
    if (end_ms != INT64_MAX && !n->is_stopped)
        arm_lease_end(n, now_ms);
}

void member_lease_over(zkc_consumer *c)
{
    if (c->lease_news.timer)
        event_free(c->lease_news.timer);
    c->lease_news = (struct lease_news){0};
}
