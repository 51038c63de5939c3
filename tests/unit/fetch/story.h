/* Stories for the fetcher: an input in words, then what comes out, in words.
 *
 *     add a/0 @5 [sink=1] [tag=9] [full] [paused]      @reset, @first, @last instead of an offset
 *     remove a/0      pause a/0      resume a/0      seek a/0 @7
 *     room 1 no       room 1 yes     turn
 *     listed a/0=42 a/1!6 a/2=none
 *     fetched a/0:hw10:5-7 a/1!6 a/2:hw3:               answers a/0 with messages 5 to 7, a/1 with
 *                                                       error 6, a/2 with no bytes
 *     failed lost     failed timeout  failed large
 *
 * "+100 turn" lets 100 ms pass first. "fetched #3 ..." answers request 3 instead of the last one.
 * Records, joined by commas: 5-7 messages; cut: the beginning of a message; cut2000: of one that
 * takes 2000 bytes; bad: an impossible entry; pad: Kafka 2.x's padding; null: no records at all.
 *
 * What comes out, joined by " | ":
 *
 *     list#1 a/0@-1 | fetch#2 wait100 a/0@5 a/1@0
 *     chunk a/0 5>8 hw10 | moved a/0 -1>42 start | error a/0@5 ZKC_ERR_TOO_LARGE needs 2000
 *     lost a/0 @5 error 6 | lost a/0 @reset ZKC_ERR_NOMEM
 *
 * followed by " ~now", " ~never" or " ~200": when the next turn is due, in ms, at the end of each.
 */
#ifndef ZKC_TEST_FETCH_STORY_H
#define ZKC_TEST_FETCH_STORY_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/fetch/fetcher.h"

struct story {
    struct fetcher *fetcher;
    int64_t now_ms;
    uint64_t request; /* the last that was sent */
    struct fetcher_outputs last;
    struct buf text; /* of them */
    struct buf records[8];
};

struct story_step {
    const char *in;
    const char *out;
};

struct fetcher_config story_config(void);

void story_init(struct story *s, const struct fetcher_config *config);
void story_deinit(struct story *s);

/* Lent until the next one. */
const char *story_tell(struct story *s, const char *in);

/* Fails the test where something else comes out. */
void story_expect(struct story *s, const char *name, const struct story_step *steps, size_t count);

/* Appends messages first .. last, of `value_bytes` each. */
void story_append_messages(struct buf *out, int64_t first, int64_t last, size_t value_bytes);

#endif
