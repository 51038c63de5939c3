/* The partitions that a consumer holds, and everything between their leaders and the streams: one
 * fetcher (core/fetch) with one connection for each leader broker, or num.consumer.fetchers of
 * them; the claims whose gates decide what is handed out; what waits for a full stream. Binds
 * machine to shell: what is fetched when is the fetcher's to decide. Loop's thread. */
#ifndef ZKC_CONSUMER_FETCHING_H
#define ZKC_CONSUMER_FETCHING_H

#include "zkconsumer/consumer/conf.h"
#include "zkconsumer/consumer/leader_query.h"
#include "zkconsumer/consumer/log.h"
#include "zkconsumer/consumer/stream.h"
#include "zkconsumer/consumer/tally.h"
#include "zkconsumer/consumer/tracing.h"
#include "zkconsumer/core/base/json.h"
#include "zkconsumer/core/group/output.h"

struct event_base;
struct resolver;
struct fetching;

/* Borrowed: everything; must outlive the object. */
struct fetching_options {
    struct event_base *base;
    struct resolver *resolver;
    const struct conf_view *conf;
    struct stream_hub *hub;
    struct log *log;
    struct tracing *tracing;
    uint64_t seed;

    /* The partition needs a leader. Never from inside of a call of this module. */
    void (*on_leader_lost)(const char *topic, int32_t partition, void *user);
    /* The application should know. May be called from inside; must not call back into here. */
    void (*on_error)(enum zkc_err err, const char *text, void *user);
    void *user;
};

/* NULL: out of memory. */
struct fetching *fetching_new(const struct fetching_options *options);
void fetching_free(struct fetching *f); /* NULL is allowed */

#define FETCHING_END (-3) /* as an offset: the end, whatever auto.offset.reset says */

/* Takes partitions over, sorted by topic and number; nothing is held before. `offset` of each is
 * where to start: 0 or more, -1 by auto.offset.reset, ZKC_OFFSET_BEGINNING, FETCHING_END. Fetching
 * starts with fetching_leaders(). `lease`: that all of them are under; NULL: none. ZKC_ERR_NOMEM:
 * nothing is held. */
ZKC_MUST_CHECK enum zkc_err fetching_hold(struct fetching *f, const struct zkc_owned *list,
                                          size_t count, struct gate_lease *lease);

/* ---- one by one, as safe has it ---- */

/* Takes one more partition over, which is not held yet, under a lease. `number`: the machine's of
 * the claim. `stored`: where it would start, had the application not chosen. ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err fetching_start(struct fetching *f, const struct zkc_owned *owned,
                                           uint64_t number, int64_t stored,
                                           struct gate_lease *lease);

/* Lets go of the partition, if it is held by this claim: true, and owned->offset is what the gate
 * said. What the application has in its hands of it is waited for: fetching_take_drained(). A claim
 * that was never held is drained. */
bool fetching_end(struct fetching *f, const char *topic, int32_t partition, uint64_t number,
                  enum gate_state gate, const char *why, struct zkc_owned *owned);

/* A claim that was ended, of which nothing is in the application's hands: true, each once. */
struct drained {
    const char *topic; /* lent as long as the hub */
    int32_t partition;
    uint64_t number;
    int64_t finished; /* next after what the application has finished; -1: nothing */
    uint32_t moves;   /* as in group_position */
};
bool fetching_take_drained(struct fetching *f, struct drained *out);

/* What is out of an ended claim does not count any more; 0: of all that were ended. True: there was
 * one, and *was is it (NULL is allowed). */
bool fetching_void(struct fetching *f, uint64_t number, struct drained *was);

/* What the application has finished of what is held, and of what was ended and is not drained.
 * Calls fn for each. */
typedef void fetching_finished_fn(const struct drained *finished, void *user);
void fetching_finished(struct fetching *f, fetching_finished_fn *fn, void *user);

/* ---- all at once, as compat has it ---- */

/* Lets go of everything: closes the gates, drops what is queued, forgets the partitions. The list
 * is what counts as consumed, by topic and number; lent until the next call here. `why` is for the
 * trace: release, lost, exit. */
void fetching_stop(struct fetching *f, enum gate_state gates, const char *why,
                   struct zkc_owned **list, size_t *count);

/* These brokers lead these partitions now. */
void fetching_leaders(struct fetching *f, const struct group_leader *list, size_t count);

/* Asks a broker who leads the partitions of topics (leader_query.h). */
void fetching_ask(struct fetching *f, uint32_t seq, const char *host, int32_t port,
                  const char *const *topics, size_t topic_count, leader_query_fn *fn, void *user);

/* A stream has room again. */
void fetching_room(struct fetching *f, zkc_stream *stream);

/* The broker that a partition is fetched from now; *host NULL: its leader is being looked for. Lent
 * until the next call here. ZKC_ERR_NOT_OWNED. */
enum zkc_err fetching_leader(struct fetching *f, const char *topic, int32_t partition,
                             const char **host, int32_t *port);

/* The calls of the application. ZKC_ERR_NOT_OWNED, ZKC_ERR_NOMEM; ZKC_ERR_INVALID: offset. */
enum zkc_err fetching_position(struct fetching *f, const char *topic, int32_t partition,
                               int64_t *out);
enum zkc_err fetching_log_end(struct fetching *f, const char *topic, int32_t partition,
                              int64_t *out);
enum zkc_err fetching_seek(struct fetching *f, const char *topic, int32_t partition,
                           int64_t offset);
enum zkc_err fetching_pause(struct fetching *f, const char *topic, int32_t partition);
enum zkc_err fetching_resume(struct fetching *f, const char *topic, int32_t partition);

/* All that is held, with what the gates say now; lent until the next call here. */
void fetching_owned(struct fetching *f, struct zkc_owned **list, size_t *count);

/* The same, with what counts as consumed: what was taken, or acknowledged. */
void fetching_consumed(struct fetching *f, struct zkc_owned **list, size_t *count);

/* Hands what was delivered since the last time to the trace. */
void fetching_trace_deliveries(struct fetching *f);

/* How many partitions are held, and the largest lag among them (-1: not known of any). */
size_t fetching_count(const struct fetching *f);
int64_t fetching_max_lag(const struct fetching *f);

/* Adds "brokers" and "partitions" to the statistics. `tally`: has what is committed; NULL is
 * allowed. `store`: where the consumer commits to. */
void fetching_stats(struct fetching *f, const struct tally *tally, enum tally_store store,
                    struct json *j);

/* What was fetched in all, and from each broker that is fetched from now, by all its fetchers
 * together: calls fn for each. Rates are as of now. */
struct fetch_numbers;
const struct fetch_numbers *fetching_numbers(const struct fetching *f);
typedef void fetching_broker_fn(const char *host, int32_t port, const struct fetch_numbers *numbers,
                                void *user);
void fetching_each_broker(struct fetching *f, fetching_broker_fn *fn, void *user);

#endif
