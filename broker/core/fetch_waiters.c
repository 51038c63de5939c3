#include "broker/core/fetch_waiters.h"
#include <assert.h>
#include <stdlib.h>

bool fetch_is_due(int32_t max_wait_ms, int32_t min_bytes, size_t partition_count,
                  uint64_t readable_bytes, bool any_error)
{
    return max_wait_ms <= 0 || partition_count == 0 || any_error || min_bytes <= 0 ||
           readable_bytes >= (uint64_t)min_bytes;
}

void fetch_waiters_init(struct fetch_waiters *w)
{
    *w = (struct fetch_waiters){.count = 0};
}

void fetch_waiters_deinit(struct fetch_waiters *w)
{
    assert(w->count == 0 && !w->due_first);
    free(w->heap);
    fetch_waiters_init(w);
}

size_t fetch_waiter_size(size_t partitions)
{
    return sizeof(struct fetch_waiter) + partitions * sizeof(struct fetch_watch);
}

/* ---- The heap: a parent is never later than its children ---- */

static void put(struct fetch_waiters *w, size_t at, struct fetch_waiter *waiter)
{
    w->heap[at] = waiter;
    waiter->heap_index = at;
}

static void sift_up(struct fetch_waiters *w, size_t at, struct fetch_waiter *waiter)
{
    while (at > 0 && w->heap[(at - 1) / 2]->deadline_ms > waiter->deadline_ms) {
        put(w, at, w->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(w, at, waiter);
}

static void sift_down(struct fetch_waiters *w, size_t at, struct fetch_waiter *waiter)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < w->count && w->heap[child + 1]->deadline_ms < w->heap[child]->deadline_ms)
            child++;
        if (child >= w->count || w->heap[child]->deadline_ms >= waiter->deadline_ms)
            break;
        put(w, at, w->heap[child]);
        at = child;
    }
    put(w, at, waiter);
}

static enum zkc_err heap_add(struct fetch_waiters *w, struct fetch_waiter *waiter)
{
    if (w->count == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 64;
        struct fetch_waiter **grown = realloc(w->heap, cap * sizeof *grown);
        if (!grown)
            return ZKC_ERR_NOMEM;
        w->heap = grown;
        w->cap = cap;
    }
    w->count++;
    sift_up(w, w->count - 1, waiter);
    return ZKC_OK;
}

static void heap_remove(struct fetch_waiters *w, struct fetch_waiter *waiter)
{
    size_t at = waiter->heap_index;
    assert(w->heap[at] == waiter);
    struct fetch_waiter *last = w->heap[--w->count];
    if (last == waiter)
        return;
    if (at > 0 && w->heap[(at - 1) / 2]->deadline_ms > last->deadline_ms)
        sift_up(w, at, last);
    else
        sift_down(w, at, last);
}

/* ---- Watches ---- */

static void link_watch(struct fetch_watch_list *list, struct fetch_watch *watch)
{
    watch->prev = NULL;
    watch->next = list->first;
    if (list->first)
        list->first->prev = watch;
    list->first = watch;
}

static void unlink_watches(struct fetch_waiter *waiter)
{
    for (size_t i = 0; i < waiter->watch_count; i++) {
        struct fetch_watch *watch = &waiter->watches[i];
        if (watch->prev)
            watch->prev->next = watch->next;
        else
            watch->list->first = watch->next;
        if (watch->next)
            watch->next->prev = watch->prev;
    }
}

/* No longer waits: by its partitions or by time it is not found any more. */
static void leave(struct fetch_waiters *w, struct fetch_waiter *waiter)
{
    unlink_watches(waiter);
    heap_remove(w, waiter);
}

static void become_due(struct fetch_waiters *w, struct fetch_waiter *waiter)
{
    leave(w, waiter);
    waiter->state = WAITER_DUE;
    waiter->next_due = NULL;
    if (w->due_last)
        w->due_last->next_due = waiter;
    else
        w->due_first = waiter;
    w->due_last = waiter;
}

/* ---- Waiting ---- */

enum zkc_err fetch_wait(struct fetch_waiters *w, struct fetch_waiter *waiter, int64_t deadline_ms,
                        int32_t min_bytes, const struct fetch_interest *interests, size_t count)
{
    *waiter = (struct fetch_waiter){
        .deadline_ms = deadline_ms,
        .bytes_missing = min_bytes > 0 ? (uint64_t)min_bytes : 0,
        .state = WAITER_OVER,
        .watch_count = count,
    };
    enum zkc_err err = heap_add(w, waiter);
    if (err)
        return err;
    waiter->state = WAITER_WAITING;
    for (size_t i = 0; i < count; i++) {
        const struct fetch_interest *in = &interests[i];
        uint32_t bytes = in->bytes < in->bytes_max ? in->bytes : in->bytes_max;
        waiter->watches[i] = (struct fetch_watch){
            .list = in->partition, .waiter = waiter, .bytes = bytes, .bytes_max = in->bytes_max};
        link_watch(in->partition, &waiter->watches[i]);
        waiter->bytes_missing -= bytes < waiter->bytes_missing ? bytes : waiter->bytes_missing;
    }
    if (waiter->bytes_missing == 0)
        become_due(w, waiter);
    return ZKC_OK;
}

void fetch_appended(struct fetch_waiters *w, struct fetch_watch_list *partition, uint64_t bytes)
{
    struct fetch_watch *watch = partition->first;
    while (watch) {
        struct fetch_waiter *waiter = watch->waiter;
        uint64_t room = watch->bytes_max - watch->bytes;
        uint64_t more = bytes < room ? bytes : room;
        watch->bytes += (uint32_t)more;
        waiter->bytes_missing -= more < waiter->bytes_missing ? more : waiter->bytes_missing;
        if (waiter->bytes_missing > 0) {
            watch = watch->next;
            continue;
        }
        /* Its watches go, maybe several of this list, and maybe the next. */
        while (watch && watch->waiter == waiter)
            watch = watch->next;
        become_due(w, waiter);
    }
}

void fetch_partition_changed(struct fetch_waiters *w, struct fetch_watch_list *partition)
{
    while (partition->first)
        become_due(w, partition->first->waiter);
}

struct fetch_waiter *fetch_next_due(struct fetch_waiters *w, int64_t now_ms)
{
    if (!w->due_first && w->count && w->heap[0]->deadline_ms <= now_ms)
        become_due(w, w->heap[0]);
    struct fetch_waiter *waiter = w->due_first;
    if (!waiter)
        return NULL;
    w->due_first = waiter->next_due;
    if (!w->due_first)
        w->due_last = NULL;
    waiter->state = WAITER_OVER;
    return waiter;
}

static void leave_due(struct fetch_waiters *w, struct fetch_waiter *waiter)
{
    struct fetch_waiter *before = NULL;
    for (struct fetch_waiter *at = w->due_first; at != waiter; at = at->next_due)
        before = at;
    if (before)
        before->next_due = waiter->next_due;
    else
        w->due_first = waiter->next_due;
    if (w->due_last == waiter)
        w->due_last = before;
}

void fetch_cancel(struct fetch_waiters *w, struct fetch_waiter *waiter)
{
    assert(waiter->state != WAITER_OVER);
    if (waiter->state == WAITER_WAITING)
        leave(w, waiter);
    else
        leave_due(w, waiter);
    waiter->state = WAITER_OVER;
}

int64_t fetch_deadline_ms(const struct fetch_waiters *w)
{
    if (w->due_first)
        return INT64_MIN;
    return w->count ? w->heap[0]->deadline_ms : INT64_MAX;
}
