/* The spread of watches over sessions: each rule by itself, and all of them together against
 * servers that lag, sessions that come and go, and a reader that must see every change. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/zk/watch_spread.h"

#define PACKET  (256 + 8000) /* what a packet has beside its paths, and its paths */
#define ENTRY   100          /* a path of 96 bytes */
#define OWN_MAX 40           /* such paths on session 0 that might be elsewhere: half a packet */
#define MAX     70           /* on any session: seven eighths */
#define AGAIN   10000

static struct watch_spread *spread(unsigned sessions_max)
{
    const struct watch_spread_config config = {
        .packet_bytes = PACKET, .sessions_max = sessions_max, .look_again_ms = AGAIN};
    struct watch_spread *s = watch_spread_new(&config);
    assert_non_null(s);
    return s;
}

/* A path of ENTRY bytes with its length; lives until 256 more were asked for. */
static const char *path_of(int n)
{
    static char paths[256][ENTRY];
    char *path = paths[n % 256];
    snprintf(path, ENTRY, "/%0*d", ENTRY - 5, n);
    return path;
}

static struct zk_op read_of(int n)
{
    return (struct zk_op){.type = ZK_OP_GET, .path = path_of(n), .watch = true, .may_move = true};
}

static struct watch_place place(struct watch_spread *s, int n, int64_t now_ms)
{
    struct zk_op op = read_of(n);
    return watch_spread_place(s, &op, now_ms);
}

static bool answer(struct watch_spread *s, const struct watch_place *p, int n, int zk_rc,
                   int64_t zxid)
{
    struct zk_op op = read_of(n);
    return watch_spread_answered(s, p, &op, zk_rc, zxid);
}

/* Reads n with an answer; where its watch is: a session, or -1. */
static int read_one(struct watch_spread *s, int n, int64_t now_ms)
{
    struct watch_place p = place(s, n, now_ms);
    assert_true(answer(s, &p, n, ZK_OK, p.floor));
    return p.watch ? (int)p.session : -1;
}

static bool fire(struct watch_spread *s, unsigned session, int n)
{
    struct zk_watch_event event = {.type = ZK_EVENT_DATA_CHANGED, .path = path_of(n)};
    return watch_spread_fired(s, session, &event);
}

static int count_lost(struct watch_spread *s)
{
    struct zk_watch_event event;
    int count = 0;
    for (; watch_spread_take_lost(s, &event); count++)
        assert_int_equal(event.type, ZK_EVENT_WATCH_LOST);
    assert_false(watch_spread_has_lost(s));
    return count;
}

/* Reads `count` paths, with as many further sessions as that takes. */
static void fill(struct watch_spread *s, int count)
{
    for (int n = 0; n < count; n++)
        while (read_one(s, n, 0) < 0) {
            for (unsigned k = 1; k <= WATCH_SESSIONS_MAX; k++)
                if (watch_spread_state(s, k) == WATCH_SESSION_OPENING)
                    watch_spread_connected(s, k, 0);
            assert_int_equal(count_lost(s), 1);
        }
}

static void test_few_stay_with_the_own_session(void **state)
{
    (void)state;
    struct watch_spread *s = spread(4);
    for (int round = 0; round < 3; round++)
        for (int n = 0; n < OWN_MAX; n++)
            assert_int_equal(read_one(s, n, 0), 0);
    struct watch_spread_counts c = watch_spread_counts(s);
    assert_int_equal(c.watches, OWN_MAX);
    assert_int_equal(c.bytes, OWN_MAX * ENTRY);
    assert_int_equal(c.sessions, 0);
    assert_int_equal(watch_spread_deadline_ms(s), INT64_MAX);
    watch_spread_free(s);
}

static void test_others_go_to_further_sessions(void **state)
{
    (void)state;
    struct watch_spread *s = spread(4);
    fill(s, OWN_MAX);
    assert_int_equal(read_one(s, OWN_MAX, 5), -1); /* while it is being opened */
    assert_int_equal(read_one(s, OWN_MAX + 1, 5), -1);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_OPENING);
    assert_int_equal(watch_spread_state(s, 2), WATCH_SESSION_NONE);
    assert_int_equal(watch_spread_counts(s).unwatched, 2);
    watch_spread_connected(s, 1, 6);
    assert_int_equal(count_lost(s), 2); /* to be read again */
    for (int n = OWN_MAX; n < OWN_MAX + MAX; n++)
        assert_int_equal(read_one(s, n, 7), 1);
    assert_int_equal(read_one(s, OWN_MAX + MAX, 7), -1);
    assert_int_equal(watch_spread_state(s, 2), WATCH_SESSION_OPENING);
    assert_int_equal(read_one(s, 3, 7), 0); /* each stays where it is */
    assert_int_equal(read_one(s, OWN_MAX + 1, 7), 1);
    watch_spread_free(s);
}

/* What must be told by the own session has more room there, but not without end. */
static void test_own_watches(void **state)
{
    (void)state;
    struct watch_spread *s = spread(4);
    fill(s, OWN_MAX);
    for (int n = 100; n < 100 + MAX - OWN_MAX + 2; n++) {
        struct zk_op op = read_of(n);
        op.may_move = false;
        struct watch_place p = watch_spread_place(s, &op, 3);
        assert_int_equal(p.session, 0);
        assert_int_equal(p.watch, n < 100 + MAX - OWN_MAX);
        assert_true(watch_spread_answered(s, &p, &op, ZK_OK, 1));
    }
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE);
    watch_spread_run(s, 3 + AGAIN - 1);
    assert_int_equal(count_lost(s), 0);
    assert_int_equal(watch_spread_deadline_ms(s), 3 + AGAIN);
    watch_spread_run(s, 3 + AGAIN);
    assert_int_equal(count_lost(s), 2);
    watch_spread_free(s);
}

/* One that is carried elsewhere and is read as one's own comes home, and its watch there is
 * nobody's.
 */
static void test_comes_home(void **state)
{
    (void)state;
    struct watch_spread *s = spread(4);
    fill(s, OWN_MAX + 5);
    struct zk_op op = read_of(OWN_MAX);
    op.may_move = false;
    struct watch_place p = watch_spread_place(s, &op, 0);
    assert_true(p.session == 0 && p.watch);
    assert_true(watch_spread_answered(s, &p, &op, ZK_OK, 1));
    assert_false(fire(s, 1, OWN_MAX));
    assert_true(fire(s, 1, OWN_MAX + 1));
    assert_false(fire(s, 1, OWN_MAX + 1)); /* a watch fires once */
    watch_spread_free(s);
}

static void test_without_a_further_session(void **state)
{
    (void)state;
    struct watch_spread *s = spread(0);
    fill(s, OWN_MAX);
    assert_int_equal(read_one(s, OWN_MAX, 0), -1);
    for (int64_t now = AGAIN; now < 5 * AGAIN; now += AGAIN) {
        watch_spread_run(s, now);
        assert_int_equal(count_lost(s), 1);
        assert_int_equal(read_one(s, OWN_MAX, now), -1);
    }
    watch_spread_free(s);
}

static void test_refused(void **state)
{
    (void)state;
    struct watch_spread *s = spread(2);
    fill(s, OWN_MAX);
    assert_int_equal(read_one(s, OWN_MAX, 0), -1);
    watch_spread_over(s, 1, true, 50);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE);
    assert_int_equal(read_one(s, OWN_MAX + 1, 60), -1);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE); /* not at once again */
    watch_spread_run(s, AGAIN);
    assert_int_equal(count_lost(s), 2);
    assert_int_equal(read_one(s, OWN_MAX, AGAIN), -1);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_OPENING);
    watch_spread_run(s, 2 * AGAIN); /* nobody has said anything about it */
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE);
    watch_spread_free(s);
}

/* One that is wanted again before the shell had a chance to close it is another. */
static void test_wanted_again(void **state)
{
    (void)state;
    struct watch_spread *s = spread(1);
    fill(s, OWN_MAX + 1);
    assert_int_equal(watch_spread_life(s, 1), 1);
    watch_spread_rest(s);
    fill(s, OWN_MAX);
    assert_int_equal(watch_spread_life(s, 1), 1);
    assert_int_equal(read_one(s, OWN_MAX, 0), -1);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_OPENING);
    assert_int_equal(watch_spread_life(s, 1), 2);
    watch_spread_connected(s, 1, 0);
    assert_int_equal(watch_spread_life(s, 1), 2);
    assert_int_equal(count_lost(s), 1);
    assert_int_equal(read_one(s, OWN_MAX, 0), 1);
    watch_spread_over(s, 1, false, 0);
    assert_int_equal(count_lost(s), 1);
    assert_int_equal(read_one(s, OWN_MAX, 0), -1);
    assert_int_equal(watch_spread_life(s, 1), 3);
    watch_spread_free(s);
}

/* That nothing is said about a session that is being opened is told, once for each; and that there
 * are too few of them can be asked for until one is there. */
static void test_overdue_and_short(void **state)
{
    (void)state;
    struct watch_spread *s = spread(1);
    fill(s, OWN_MAX);
    assert_false(watch_spread_counts(s).is_short);
    assert_int_equal(read_one(s, OWN_MAX, 0), -1);
    assert_false(watch_spread_counts(s).is_short); /* it may just be on its way */
    watch_spread_run(s, AGAIN - 1);
    assert_false(watch_spread_take_overdue(s));
    watch_spread_run(s, AGAIN);
    assert_true(watch_spread_take_overdue(s));
    assert_false(watch_spread_take_overdue(s));
    assert_int_equal(count_lost(s), 1);
    assert_int_equal(read_one(s, OWN_MAX, AGAIN), -1); /* so soon it is not tried again */
    assert_true(watch_spread_counts(s).is_short);
    watch_spread_run(s, 2 * AGAIN);
    assert_int_equal(count_lost(s), 1);
    assert_int_equal(read_one(s, OWN_MAX, 2 * AGAIN), -1);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_OPENING);
    assert_true(watch_spread_counts(s).is_short); /* as long as it is only tried */
    watch_spread_connected(s, 1, 2 * AGAIN);
    assert_int_equal(count_lost(s), 1);
    assert_int_equal(read_one(s, OWN_MAX, 2 * AGAIN), 1);
    assert_false(watch_spread_counts(s).is_short);
    watch_spread_away(s, 1, 2 * AGAIN, 2000); /* that of one that was there is nobody's news */
    watch_spread_run(s, 2 * AGAIN + 2000);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE);
    assert_false(watch_spread_take_overdue(s));
    watch_spread_free(s);
}

static void test_short_when_there_are_no_more(void **state)
{
    (void)state;
    struct watch_spread *s = spread(1);
    fill(s, OWN_MAX + MAX);
    assert_false(watch_spread_counts(s).is_short);
    assert_int_equal(read_one(s, OWN_MAX + MAX, 0), -1);
    assert_true(watch_spread_counts(s).is_short);
    watch_spread_free(s);
}

/* What is under way when a session is there at last is read once more when it is answered. */
static void test_read_while_it_was_opened(void **state)
{
    (void)state;
    struct watch_spread *s = spread(2);
    fill(s, OWN_MAX);
    struct watch_place p = place(s, OWN_MAX, 0);
    assert_false(p.watch);
    watch_spread_connected(s, 1, 0);
    assert_int_equal(count_lost(s), 0);
    assert_true(answer(s, &p, OWN_MAX, ZK_OK, 1));
    assert_int_equal(count_lost(s), 1);
    assert_int_equal(read_one(s, OWN_MAX, 0), 1);
    watch_spread_free(s);
}

/* All that a session carried is told when it ends, but not what has fired, nor what is under way:
 * its read tells. */
static void test_session_ends(void **state)
{
    (void)state;
    struct watch_spread *s = spread(2);
    fill(s, OWN_MAX + 10);
    assert_true(fire(s, 1, OWN_MAX));
    struct watch_place under_way = place(s, OWN_MAX, 0);
    watch_spread_over(s, 1, false, 0);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE);
    assert_int_equal(count_lost(s), 9);
    assert_false(answer(s, &under_way, OWN_MAX, ZK_CONNECTION_LOSS, 0));
    assert_int_equal(watch_spread_counts(s).watches, OWN_MAX);
    assert_int_equal(read_one(s, OWN_MAX, 0), -1); /* opened again at once */
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_OPENING);
    watch_spread_free(s);
}

static void test_the_own_session_ends(void **state)
{
    (void)state;
    struct watch_spread *s = spread(2);
    fill(s, OWN_MAX + 10);
    watch_spread_over(s, 0, false, 0);
    assert_int_equal(count_lost(s), 0); /* whoever reads by it knows */
    assert_int_equal(watch_spread_counts(s).watches, 10);
    assert_int_equal(read_one(s, 0, 0), 0);
    assert_int_equal(read_one(s, OWN_MAX, 0), 1); /* that one has not */
    watch_spread_rest(s);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE);
    assert_int_equal(count_lost(s), 0);
    assert_int_equal(watch_spread_counts(s).watches, 0);
    watch_spread_free(s);
}

static void test_away_and_back(void **state)
{
    (void)state;
    struct watch_spread *s = spread(2);
    fill(s, OWN_MAX + 10);
    watch_spread_away(s, 1, 100, 2000);
    assert_int_equal(watch_spread_deadline_ms(s), 2100);
    assert_int_equal(count_lost(s), 0);
    watch_spread_run(s, 2099);
    watch_spread_connected(s, 1, 2099);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_UP);
    assert_int_equal(count_lost(s), 0); /* the client has left them again */
    assert_true(fire(s, 1, OWN_MAX));
    watch_spread_away(s, 1, 3000, 2000);
    assert_int_equal(read_one(s, OWN_MAX + 1, 3001), -1); /* not there: looked at again */
    watch_spread_run(s, 5000);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE);
    assert_int_equal(count_lost(s), 8);
    watch_spread_connected(s, 1, 5001); /* too late */
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE);
    watch_spread_free(s);
}

static void test_given_up_when_not_needed(void **state)
{
    (void)state;
    struct watch_spread *s = spread(3);
    fill(s, OWN_MAX + MAX + 5);
    assert_int_equal(watch_spread_state(s, 2), WATCH_SESSION_UP);
    for (int n = OWN_MAX; n < OWN_MAX + 30; n++)
        assert_true(fire(s, 1, n)); /* room for the five of session 2, and to spare */
    watch_spread_run(s, 1000);
    assert_int_equal(watch_spread_deadline_ms(s), 1000 + AGAIN);
    for (int n = OWN_MAX; n < OWN_MAX + 30; n++)
        assert_int_equal(read_one(s, n, 1500), 1); /* needed again */
    watch_spread_run(s, 1500);
    assert_int_equal(watch_spread_deadline_ms(s), INT64_MAX);
    for (int n = OWN_MAX; n < OWN_MAX + 30; n++)
        assert_true(fire(s, 1, n));
    watch_spread_run(s, 2000);
    watch_spread_run(s, 2000 + AGAIN - 1);
    assert_int_equal(watch_spread_state(s, 2), WATCH_SESSION_UP);
    watch_spread_run(s, 2000 + AGAIN);
    assert_int_equal(watch_spread_state(s, 2), WATCH_SESSION_NONE);
    assert_int_equal(count_lost(s), 5);
    assert_int_equal(read_one(s, OWN_MAX + MAX, 2000 + AGAIN), 1);
    watch_spread_free(s);
}

/* A read that is under way when its session is given up leaves its watch nowhere: whoever sent it
 * must hear so, also when the session answers before it is closed. */
static void test_given_up_with_a_read_under_way(void **state)
{
    (void)state;
    struct watch_spread *s = spread(2);
    fill(s, OWN_MAX + 5);
    for (int n = 0; n < 30; n++)
        assert_true(fire(s, 0, n)); /* room for the five of session 1, and to spare */
    watch_spread_run(s, 1000);
    struct watch_place p = place(s, OWN_MAX, 1000 + AGAIN - 1);
    assert_true(p.session == 1 && p.watch);
    assert_true(fire(s, 1, OWN_MAX)); /* it stands again by that read only */
    watch_spread_run(s, 1000 + AGAIN);
    assert_int_equal(watch_spread_state(s, 1), WATCH_SESSION_NONE);
    assert_int_equal(count_lost(s), 4);
    assert_false(answer(s, &p, OWN_MAX, ZK_OK, p.floor));
    assert_int_equal(read_one(s, OWN_MAX, 1000 + AGAIN), 0);
    watch_spread_free(s);
}

/* A further session's server may be behind what others have shown. */
static void test_old_answers_do_not_count(void **state)
{
    (void)state;
    struct watch_spread *s = spread(2);
    fill(s, OWN_MAX + 10);
    watch_spread_seen(s, 0, 500);
    struct watch_place p = place(s, OWN_MAX, 0);
    assert_int_equal(p.session, 1);
    assert_int_equal(p.floor, 500);
    assert_true(p.sync_first);
    struct watch_place next = place(s, OWN_MAX + 1, 0);
    assert_false(next.sync_first); /* one is on its way */
    assert_false(answer(s, &p, OWN_MAX, ZK_OK, 499));
    assert_true(place(s, OWN_MAX, 0).sync_first);
    assert_true(answer(s, &next, OWN_MAX + 1, ZK_NO_NODE, 501));
    assert_false(place(s, OWN_MAX, 0).sync_first);
    assert_int_equal(place(s, OWN_MAX, 0).floor, 501);
    assert_int_equal(place(s, 0, 0).floor, 501); /* the own session's may be behind as well */
    struct zk_op op = read_of(0);
    op.may_move = false;
    assert_int_equal(watch_spread_place(s, &op, 0).floor, 0); /* it is what it is */
    watch_spread_free(s);
}

/* Servers that were made anew count from the beginning. What the old ones have shown holds as long
 * as there are sessions of theirs, no longer, or no answer would count ever again. */
static void test_servers_that_were_made_anew(void **state)
{
    (void)state;
    struct watch_spread *s = spread(2);
    fill(s, OWN_MAX + 10);
    watch_spread_seen(s, 0, 5000);
    watch_spread_over(s, 1, false, 0);
    watch_spread_over(s, 0, false, 0);
    assert_int_equal(count_lost(s), 10);
    watch_spread_seen(s, 0, 7);
    watch_spread_seen(s, 0, 0); /* of an operation that was lost */
    fill(s, OWN_MAX);
    assert_int_equal(read_one(s, OWN_MAX, 0), -1);
    watch_spread_connected(s, 1, 0);
    assert_int_equal(count_lost(s), 1);
    struct watch_place p = place(s, OWN_MAX, 0);
    assert_int_equal(p.session, 1);
    assert_int_equal(p.floor, 7);
    assert_true(answer(s, &p, OWN_MAX, ZK_OK, 9));
    watch_spread_free(s);
}

/* No such node: exists leaves a watch, the others do not. */
static void test_missing_nodes(void **state)
{
    (void)state;
    struct watch_spread *s = spread(2);
    struct watch_place p = place(s, 1, 0);
    assert_true(answer(s, &p, 1, ZK_NO_NODE, 1));
    assert_int_equal(watch_spread_counts(s).watches, 0);
    struct zk_op exists = read_of(1), children = read_of(1);
    exists.type = ZK_OP_EXISTS;
    children.type = ZK_OP_CHILDREN;
    p = watch_spread_place(s, &exists, 0);
    assert_true(watch_spread_answered(s, &p, &exists, ZK_NO_NODE, 1));
    p = watch_spread_place(s, &children, 0);
    assert_true(watch_spread_answered(s, &p, &children, ZK_OK, 1));
    assert_int_equal(watch_spread_counts(s).watches, 2);
    struct zk_watch_event event = {.type = ZK_EVENT_CHILDREN_CHANGED, .path = path_of(1)};
    assert_true(watch_spread_fired(s, 0, &event));
    assert_int_equal(watch_spread_counts(s).watches, 1);
    event.type = ZK_EVENT_DELETED;
    assert_true(watch_spread_fired(s, 0, &event));
    assert_int_equal(watch_spread_counts(s).bytes, 0);
    watch_spread_free(s);
}

static void test_memory(void **state)
{
    (void)state;
    const struct watch_spread_config config = {.packet_bytes = PACKET, .look_again_ms = AGAIN};
    struct watch_spread *s = NULL;
    ALLOC_FAIL_EACH(n, failed, {
        s = watch_spread_new(&config);
        failed = !s;
    });
    alloc_fail_at(0);
    struct watch_place p = place(s, 1, 0);
    assert_true(alloc_fail_stop());
    assert_true(p.session == 0 && p.watch); /* as if there were no spread */
    assert_true(answer(s, &p, 1, ZK_OK, 1));
    assert_int_equal(watch_spread_counts(s).watches, 0);
    assert_true(fire(s, 0, 1));
    for (int n = 0; n < 30; n++)
        assert_int_equal(read_one(s, n, 0), 0);
    alloc_fail_run(0, 1000); /* the table cannot grow, nor take more */
    for (int n = 30; n < 60; n++)
        assert_int_equal(read_one(s, n, 0), 0);
    assert_true(alloc_fail_stop());
    assert_int_equal(watch_spread_counts(s).watches, 30);
    watch_spread_free(s);
}

/* ---- all together ---- */

#define PATHS    240
#define SESSIONS 4 /* further ones */
#define ASKED    64

/* A session as a server sees it. A server has applied the first `zxid` changes of all. */
struct server {
    bool is_open, is_linked;
    int64_t zxid;
    bool watches[PATHS];
};

struct asked {
    int n;
    struct watch_place place;
    unsigned life; /* of the session */
};

struct world {
    struct rng rng;
    struct watch_spread *s;
    int64_t now_ms, zxid;
    int64_t changed[PATHS]; /* the last change of each */
    struct server servers[1 + SESSIONS];
    unsigned lives[1 + SESSIONS];
    int64_t known[PATHS]; /* what the reader believes; -1: it is to be read */
    bool is_asked[PATHS];
    struct asked asked[ASKED];
    int asked_count;
    unsigned most; /* sessions at a time */
};

static uint32_t draw(struct world *w, uint32_t below)
{
    return (uint32_t)(rng_next(&w->rng) % below);
}

static int number_of(const char *path)
{
    return atoi(path + 1);
}

static void take_lost(struct world *w)
{
    struct zk_watch_event event;
    while (watch_spread_take_lost(w->s, &event))
        w->known[number_of(event.path)] = -1;
}

/* Opens and closes as the shell would. */
static void settle(struct world *w)
{
    unsigned open = 0;
    for (unsigned k = 1; k <= SESSIONS; k++) {
        struct server *v = &w->servers[k];
        enum watch_session_state state = watch_spread_state(w->s, k);
        open += state != WATCH_SESSION_NONE;
        if (state == WATCH_SESSION_NONE && v->is_open) {
            *v = (struct server){.zxid = 1}; /* the next may be far behind */
            w->lives[k]++;
        } else if (state == WATCH_SESSION_OPENING && !v->is_open) {
            v->is_open = true;
        }
    }
    w->most = open > w->most ? open : w->most;
    take_lost(w);
}

/* The server of k applies more, and tells of it. */
static void catch_up(struct world *w, unsigned k, int64_t zxid)
{
    struct server *v = &w->servers[k];
    for (int n = 0; n < PATHS; n++)
        if (v->watches[n] && w->changed[n] > v->zxid && w->changed[n] <= zxid) {
            v->watches[n] = false;
            struct zk_watch_event event = {.type = ZK_EVENT_DATA_CHANGED, .path = path_of(n)};
            if (watch_spread_fired(w->s, k, &event))
                w->known[n] = -1;
        }
    v->zxid = zxid > v->zxid ? zxid : v->zxid;
}

static void serve(struct world *w, int at)
{
    struct asked a = w->asked[at];
    unsigned k = a.place.session;
    struct server *v = &w->servers[k];
    struct zk_op op = read_of(a.n);
    w->asked[at] = w->asked[--w->asked_count];
    w->is_asked[a.n] = false;
    if (a.life != w->lives[k])
        return; /* nobody's answer; it was lost, and so is the read */
    if (!v->is_linked) {
        assert_true(watch_spread_answered(w->s, &a.place, &op, ZK_CONNECTION_LOSS, 0));
        return;
    }
    if (a.place.sync_first)
        catch_up(w, k, w->zxid);
    v->watches[a.n] |= a.place.watch;
    bool counts = watch_spread_answered(w->s, &a.place, &op, ZK_OK, v->zxid);
    int64_t seen = w->changed[a.n] <= v->zxid ? w->changed[a.n] : 0;
    if (!counts)
        return;
    assert_true(v->zxid >= a.place.floor);
    w->known[a.n] = seen;
}

static void ask(struct world *w, int n)
{
    if (w->is_asked[n] || w->asked_count == ASKED)
        return;
    struct watch_place p = place(w->s, n, w->now_ms);
    w->is_asked[n] = true;
    w->asked[w->asked_count++] = (struct asked){n, p, w->lives[p.session]};
    assert_true(p.session == 0 || w->servers[p.session].is_open);
}

/* A further session is connected, its connection is lost, or it ends. */
static void disturb(struct world *w, unsigned k, bool heal)
{
    struct server *v = &w->servers[k];
    if (!v->is_open)
        return;
    uint32_t what = heal ? 0 : draw(w, 4);
    if (what < 2 && !v->is_linked) {
        v->is_linked = true;
        watch_spread_connected(w->s, k, w->now_ms);
    } else if (what == 2 && v->is_linked) {
        v->is_linked = false;
        watch_spread_away(w->s, k, w->now_ms, 2000);
    } else if (what == 3) {
        watch_spread_over(w->s, k, draw(w, 2), w->now_ms);
    }
}

static void turn(struct world *w, bool heal)
{
    int n = (int)draw(w, PATHS);
    w->now_ms += draw(w, 300);
    watch_spread_run(w->s, w->now_ms);
    if (!heal && draw(w, 3) == 0)
        w->changed[n] = ++w->zxid;
    if (heal || draw(w, 20) == 0)
        disturb(w, 1 + draw(w, SESSIONS), heal);
    settle(w);
    for (unsigned k = 0; k <= SESSIONS; k++) {
        int64_t zxid = heal ? w->zxid : w->servers[k].zxid + draw(w, 3);
        if (w->servers[k].is_linked)
            catch_up(w, k, zxid < w->zxid ? zxid : w->zxid);
    }
    for (int i = 0; i < PATHS; i++)
        if (w->known[i] < 0)
            ask(w, i);
    settle(w);
    int count = heal ? ASKED : (int)draw(w, ASKED);
    for (int i = 0; i < count && w->asked_count; i++)
        serve(w, (int)draw(w, (uint32_t)w->asked_count));
    settle(w);
}

/* Whatever happens, once it has ended the reader knows the last change of everything, by a watch or
 * by looking again; and no session of those that live carries more than a packet takes. */
static void run_seed(uint64_t seed)
{
    struct world w = {.s = spread(SESSIONS), .zxid = 1};
    rng_init(&w.rng, seed);
    for (unsigned k = 0; k <= SESSIONS; k++)
        w.servers[k] = (struct server){.is_open = k == 0, .is_linked = k == 0, .zxid = 1};
    for (int n = 0; n < PATHS; n++)
        w.known[n] = -1;
    for (int i = 0; i < 400; i++)
        turn(&w, false);
    int64_t until_ms = w.now_ms + 4 * AGAIN; /* what is not watched is looked at again by then */
    while (w.now_ms < until_ms)
        turn(&w, true);
    for (int n = 0; n < PATHS; n++)
        if (w.known[n] != w.changed[n])
            fail_msg("seed %" PRIu64 ": path %d is known as of %" PRId64 ", changed at %" PRId64,
                     seed, n, w.known[n], w.changed[n]);
    assert_true(w.most >= 2);
    assert_int_equal(watch_spread_counts(w.s).unwatched, 0);
    watch_spread_free(w.s);
}

static void test_no_change_is_missed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_stay_with_the_own_session),
        cmocka_unit_test(test_others_go_to_further_sessions),
        cmocka_unit_test(test_own_watches),
        cmocka_unit_test(test_comes_home),
        cmocka_unit_test(test_without_a_further_session),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wanted_again),
        cmocka_unit_test(test_overdue_and_short),
        cmocka_unit_test(test_short_when_there_are_no_more),
        cmocka_unit_test(test_read_while_it_was_opened),
        cmocka_unit_test(test_session_ends),
        cmocka_unit_test(test_the_own_session_ends),
        cmocka_unit_test(test_away_and_back),
        cmocka_unit_test(test_given_up_when_not_needed),
        cmocka_unit_test(test_given_up_with_a_read_under_way),
        cmocka_unit_test(test_old_answers_do_not_count),
        cmocka_unit_test(test_servers_that_were_made_anew),
        cmocka_unit_test(test_missing_nodes),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_no_change_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
