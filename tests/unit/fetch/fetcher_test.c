/* The rules of fetching, each as a story (story.h). */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/fetch/story.h"
#include "tests/unit/test.h"

#define STORY(...) .steps = {__VA_ARGS__}

struct story_case {
    const char *name;
    enum fetcher_reset reset;
    int32_t wait_max_ms; /* 0: as story_config() */
    struct story_step steps[24];
};

static void run(const struct story_case *cases, size_t count)
{
    for (const struct story_case *c = cases; c < cases + count; c++) {
        struct fetcher_config config = story_config();
        config.reset = c->reset;
        if (c->wait_max_ms)
            config.fetch_wait_max_ms = c->wait_max_ms;
        struct story s;
        size_t steps = 0;
        while (steps < ARRAY_LEN(c->steps) && c->steps[steps].in)
            steps++;
        story_init(&s, &config);
        story_expect(&s, c->name, c->steps, steps);
        story_deinit(&s);
    }
}

#define RUN(cases) run(cases, ARRAY_LEN(cases))

/* ---- the happy path ---- */

static const struct story_case flow_cases[] = {
    {.name = "fetch, chunk, and on from behind it",
     STORY({"add a/0 @5 tag=9", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw10:5-7", "chunk a/0 5>8 hw10 tag9 ~now"},
           {"turn", "fetch#2 wait100 a/0@8 ~never"})},
    {.name = "nothing to fetch, nothing sent", STORY({"turn", "~never"})},
    {.name = "all that is there goes into one request, sorted",
     STORY({"add b/1 @1", "~now"}, {"add a/10 @2", "~now"}, {"add a/9 @3", "~now"},
           {"add b/0 @4", "~now"}, {"turn", "fetch#1 wait100 a/9@3 a/10@2 b/0@4 b/1@1 ~never"})},
    {.name = "one request at a time; what is new waits for the answer",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"add a/1 @0", "~never"}, {"turn", "~never"}, {"+100 fetched a/0:hw5:", "~now"},
           {"turn", "fetch#2 wait100 a/0@5 a/1@0 ~never"})},
    {.name = "answers in another order than asked",
     STORY({"add a/0 @5", "~now"}, {"add b/0 @6", "~now"}, {"add c/0 @7", "~now"},
           {"turn", "fetch#1 wait100 a/0@5 b/0@6 c/0@7 ~never"},
           {"fetched c/0:hw8:7-7 a/0:hw6:5-5 b/0:hw7:6-6",
            "chunk c/0 7>8 hw8 | chunk a/0 5>6 hw6 | chunk b/0 6>7 hw7 ~now"})},
    {.name = "offset 0 is an offset (F21)",
     STORY({"add a/0 @0", "~now"}, {"turn", "fetch#1 wait100 a/0@0 ~never"},
           {"fetched a/0:hw1:0-0", "chunk a/0 0>1 hw1 ~now"})},
    {.name = "the incomplete tail is ignored (F14)",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw10:5-7,cut", "chunk a/0 5>8 hw10 ~now"},
           {"turn", "fetch#2 wait100 a/0@8 ~never"})},
    {.name = "a set that begins below the position (compressed)",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw10:3-6", "chunk a/0 5>7 hw10 ~now"})},
    {.name = "a partition that is there keeps its position",
     STORY({"add a/0 @5 tag=1", "~now"}, {"add a/0 @9 tag=2", "~now"},
           {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw6:5-5", "chunk a/0 5>6 hw6 tag1 ~now"})},
    {.name = "unknown partitions and sinks are ignored",
     STORY({"remove a/0", "~never"}, {"pause a/0", "~never"}, {"resume a/0", "~never"},
           {"seek a/0 @7", "~never"}, {"room 1 no", "~never"}, {"room 1 yes", "~never"})},
};

static void test_flow(void **state)
{
    (void)state;
    RUN(flow_cases);
}

/* ---- answers to what has changed meanwhile ---- */

static const struct story_case late_cases[] = {
    {.name = "removed",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"remove a/0", "~never"}, {"fetched a/0:hw10:5-7", "~never"})},
    {.name = "removed and added again elsewhere",
     STORY({"add a/0 @5 tag=1", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"remove a/0", "~never"}, {"add a/0 @20 tag=2", "~never"},
           {"fetched a/0:hw10:5-7", "~now"}, {"turn", "fetch#2 wait100 a/0@20 ~never"})},
    {.name = "removed and added again at the same offset: a new claim, asked for anew",
     STORY({"add a/0 @5 tag=1", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"remove a/0", "~never"}, {"add a/0 @5 tag=2", "~never"},
           {"fetched a/0:hw10:5-7", "~now"}, {"turn", "fetch#2 wait100 a/0@5 ~never"})},
    {.name = "sought",
     STORY({"add a/0 @5 tag=1", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"seek a/0 @2", "~never"}, {"fetched a/0:hw10:5-7", "~now"},
           {"turn", "fetch#2 wait100 a/0@2 ~never"},
           {"fetched a/0:hw10:2-3", "chunk a/0 2>4 hw10 tag1 ~now"})},
    {.name = "sought: the others of the answer count",
     STORY({"add a/0 @5", "~now"}, {"add a/1 @5", "~now"},
           {"turn", "fetch#1 wait100 a/0@5 a/1@5 ~never"}, {"seek a/0 @2", "~never"},
           {"fetched a/0!1 a/1:hw6:5-5", "chunk a/1 5>6 hw6 ~now"},
           {"turn", "fetch#2 wait100 a/0@2 a/1@6 ~never"})},
    {.name = "paused: what was asked for is brought",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"pause a/0", "~never"}, {"fetched a/0:hw10:5-7", "chunk a/0 5>8 hw10 ~never"},
           {"resume a/0", "~now"}, {"turn", "fetch#2 wait100 a/0@8 ~never"})},
    {.name = "an answer counts once",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw10:5-7", "chunk a/0 5>8 hw10 ~now"}, {"fetched #1 a/0:hw10:5-7", "~now"},
           {"failed #1 lost", "~now"}, {"turn", "fetch#2 wait100 a/0@8 ~never"},
           {"fetched #1 a/0:hw10:5-7", "~never"}, {"failed #1 lost", "~never"},
           {"fetched #2 a/0:hw10:8-9", "chunk a/0 8>10 hw10 ~now"})},
    {.name = "a partition that the answer has twice counts once",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw10:5-7 a/0:hw10:5-7 a/0!6", "chunk a/0 5>8 hw10 ~now"})},
    {.name = "partitions nobody asked for",
     STORY({"add a/0 @5", "~now"}, {"add a/1 @5 paused", "~now"},
           {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/1:hw9:5-6 z/9:hw10:5-7 z/9!6 a/0:hw6:5-5", "chunk a/0 5>6 hw6 ~now"})},
    {.name = "an answer without a partition that was asked for",
     STORY({"add a/0 @5", "~now"}, {"add a/1 @5", "~now"},
           {"turn", "fetch#1 wait100 a/0@5 a/1@5 ~never"},
           {"fetched a/1:hw6:5-5", "chunk a/1 5>6 hw6 ~now"},
           {"turn", "fetch#2 wait100 a/0@5 a/1@6 ~never"})},
    {.name = "a position that is being looked for is sought",
     STORY({"add a/0 @reset", "~now"}, {"turn", "list#1 a/0@-1 ~never"}, {"seek a/0 @7", "~never"},
           {"listed a/0=42", "~now"}, {"turn", "fetch#2 wait100 a/0@7 ~never"})},
    {.name = "a position that is being looked for is removed",
     STORY({"add a/0 @reset", "~now"}, {"turn", "list#1 a/0@-1 ~never"}, {"remove a/0", "~never"},
           {"listed a/0=42", "~never"})},
};

static void test_late_answers(void **state)
{
    (void)state;
    RUN(late_cases);
}

/* ---- where to start ---- */

static const struct story_case start_cases[] = {
    {.name = "largest",
     .reset = FETCHER_RESET_LARGEST,
     STORY({"add a/0 @reset", "~now"}, {"turn", "list#1 a/0@-1 ~never"},
           {"listed a/0=42", "moved a/0 -1>42 start ~now"},
           {"turn", "fetch#2 wait100 a/0@42 ~never"})},
    {.name = "smallest",
     .reset = FETCHER_RESET_SMALLEST,
     STORY({"add a/0 @reset", "~now"}, {"turn", "list#1 a/0@-2 ~never"},
           {"listed a/0=0", "moved a/0 -1>0 start ~now"},
           {"turn", "fetch#2 wait100 a/0@0 ~never"})},
    {.name = "error: reported once, no movement, until a seek",
     .reset = FETCHER_RESET_ERROR,
     STORY({"add a/0 @reset", "~now"}, {"turn", "error a/0@-1 ZKC_ERR_OFFSET_RANGE ~never"},
           {"+5000 turn", "~never"}, {"resume a/0", "~never"}, {"seek a/0 @3", "~now"},
           {"turn", "fetch#1 wait100 a/0@3 ~never"})},
    {.name = "error: the others flow",
     .reset = FETCHER_RESET_ERROR,
     STORY({"add a/0 @reset", "~now"}, {"add a/1 @4", "~now"},
           {"turn", "error a/0@-1 ZKC_ERR_OFFSET_RANGE | fetch#1 wait100 a/1@4 ~never"})},
    {.name = "a stored offset below zero is none (6.4)",
     .reset = FETCHER_RESET_SMALLEST,
     STORY({"add a/0 @-5", "~now"}, {"turn", "list#1 a/0@-2 ~never"})},
    {.name = "the application's own wish goes before auto.offset.reset",
     .reset = FETCHER_RESET_ERROR,
     STORY({"add a/0 @first", "~now"}, {"add a/1 @last", "~now"},
           {"turn", "list#1 a/0@-2 a/1@-1 ~never"},
           {"listed a/0=3 a/1=9", "moved a/0 -1>3 asked | moved a/1 -1>9 asked ~now"})},
    {.name = "sought to the beginning",
     .reset = FETCHER_RESET_LARGEST,
     STORY({"add a/0 @5", "~now"}, {"seek a/0 @first", "~now"}, {"turn", "list#1 a/0@-2 ~never"},
           {"listed a/0=0", "moved a/0 -1>0 asked ~now"})},
    {.name = "paused and without room: the end is looked for now, not when somebody reads",
     STORY({"add a/0 @reset paused full", "~now"}, {"turn", "list#1 a/0@-1 ~never"},
           {"listed a/0=42", "moved a/0 -1>42 start ~never"}, {"resume a/0", "~never"},
           {"room 1 yes", "~now"}, {"turn", "fetch#2 wait100 a/0@42 ~never"})},
    {.name = "asking fails: to the leader finder, as it came",
     STORY({"add a/0 @reset", "~now"}, {"add a/1 @reset", "~now"},
           {"add a/2 @first paused", "~now"}, {"add a/3 @reset", "~now"},
           {"turn", "list#1 a/0@-1 a/1@-1 a/2@-2 a/3@-1 ~never"},
           {"listed a/0!6 a/1=none a/2!-1",
            "lost a/0 @reset error 6 | lost a/1 @reset error -1 | lost a/2 @first error -1 paused "
            "| lost a/3 @reset error -1 ~never"})},
};

static void test_start(void **state)
{
    (void)state;
    RUN(start_cases);
}

/* ---- errors of partitions (6.2) ---- */

static void test_every_error_code(void **state)
{
    (void)state;
    for (int code = -1; code <= 127; code++) {
        if (code == 0 || code == 1)
            continue;
        struct fetcher_config config = story_config();
        struct story s;
        char in[64], out[128];
        story_init(&s, &config);
        story_tell(&s, "add a/0 @5 tag=7");
        story_tell(&s, "add a/1 @6");
        story_tell(&s, "turn");
        snprintf(in, sizeof in, "fetched a/0!%d a/1:hw7:6-6", code);
        snprintf(out, sizeof out, "lost a/0 @5 error %d tag7 | chunk a/1 6>7 hw7 ~now", code);
        const struct story_step steps[] = {
            {in, out},
            {"turn", "fetch#2 wait100 a/1@7 ~never"}, /* the others flow (F28) */
            {"add a/0 @5", "~never"},
        };
        story_expect(&s, in, steps, ARRAY_LEN(steps));
        story_deinit(&s);
    }
}

static const struct story_case range_cases[] = {
    {.name = "above the end, largest (F25): one jump, one report",
     .reset = FETCHER_RESET_LARGEST,
     STORY({"add a/0 @500", "~now"}, {"turn", "fetch#1 wait100 a/0@500 ~never"},
           {"fetched a/0!1", "~now"}, {"turn", "list#2 a/0@-1 ~never"},
           {"listed a/0=20", "moved a/0 500>20 out of range ~now"},
           {"turn", "fetch#3 wait100 a/0@20 ~never"}, {"+100 fetched a/0:hw20:", "~now"})},
    {.name = "below the start, smallest (F25)",
     .reset = FETCHER_RESET_SMALLEST,
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0!1", "~now"}, {"turn", "list#2 a/0@-2 ~never"},
           {"listed a/0=12", "moved a/0 5>12 out of range ~now"},
           {"turn", "fetch#3 wait100 a/0@12 ~never"})},
    {.name = "error (F25): reported, no movement, no loop",
     .reset = FETCHER_RESET_ERROR,
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0!1", "error a/0@5 ZKC_ERR_OFFSET_RANGE ~never"}, {"+9999 turn", "~never"},
           {"seek a/0 @12", "~now"}, {"turn", "fetch#2 wait100 a/0@12 ~never"})},
    {.name = "again right after the jump: with a pause",
     .reset = FETCHER_RESET_SMALLEST,
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0!1", "~now"}, {"turn", "list#2 a/0@-2 ~never"},
           {"listed a/0=12", "moved a/0 5>12 out of range ~now"},
           {"turn", "fetch#3 wait100 a/0@12 ~never"}, {"fetched a/0!1", "~200"},
           {"+199 turn", "~1"}, {"+1 turn", "list#4 a/0@-2 ~never"},
           {"listed a/0=14", "moved a/0 12>14 out of range ~now"},
           {"turn", "fetch#5 wait100 a/0@14 ~never"},
           {"fetched a/0:hw15:14-14", "chunk a/0 14>15 hw15 ~now"},
           {"turn", "fetch#6 wait100 a/0@15 ~never"}, {"fetched a/0!1", "~now"})},
    {.name = "asking where to jump fails: to the leader finder with the old position",
     .reset = FETCHER_RESET_SMALLEST,
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0!1", "~now"}, {"turn", "list#2 a/0@-2 ~never"},
           {"listed a/0!6", "lost a/0 @5 error 6 ~never"})},
};

static void test_out_of_range(void **state)
{
    (void)state;
    RUN(range_cases);
}

/* ---- what cannot go on ---- */

static const struct story_case stuck_cases[] = {
    {.name = "too large (F15): reported once with what it needs, retried slowly",
     STORY({"add a/0 @5 tag=7", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:cut2000", "error a/0@5 ZKC_ERR_TOO_LARGE needs 2000 tag7 ~1000"},
           {"+999 turn", "~1"}, {"+1 turn", "fetch#2 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:cut2000", "~1000"}, {"+1000 turn", "fetch#3 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:5-8", "chunk a/0 5>9 hw9 tag7 ~now"},
           {"turn", "fetch#4 wait100 a/0@9 ~never"},
           {"fetched a/0:hw10:cut3000", "error a/0@9 ZKC_ERR_TOO_LARGE needs 3000 tag7 ~1000"})},
    {.name = "too large: the others flow without a pause (F15)",
     STORY({"add a/0 @5", "~now"}, {"add a/1 @0", "~now"},
           {"turn", "fetch#1 wait100 a/0@5 a/1@0 ~never"},
           {"fetched a/0:hw9:cut2000 a/1:hw5:", "error a/0@5 ZKC_ERR_TOO_LARGE needs 2000 ~now"},
           {"turn", "fetch#2 wait100 a/1@0 ~never"},
           {"fetched a/1:hw5:0-4", "chunk a/1 0>5 hw5 ~now"})},
    {.name = "a seek leads on at once",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:cut2000", "error a/0@5 ZKC_ERR_TOO_LARGE needs 2000 ~1000"},
           {"seek a/0 @6", "~now"}, {"turn", "fetch#2 wait100 a/0@6 ~never"})},
    {.name = "cut although it would fit: what it needs is not known",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:cut50", "error a/0@5 ZKC_ERR_TOO_LARGE needs 0 ~1000"})},
    {.name = "nothing comes although there is more (Kafka 3.9): three times is too large",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:", "~200"}, {"+200 turn", "fetch#2 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:", "~200"}, {"+200 turn", "fetch#3 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:", "error a/0@5 ZKC_ERR_TOO_LARGE needs 0 ~1000"},
           {"+1000 turn", "fetch#4 wait100 a/0@5 ~never"}, {"fetched a/0:hw9:", "~1000"},
           {"+1000 turn", "fetch#5 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:5-5", "chunk a/0 5>6 hw9 ~now"},
           {"turn", "fetch#6 wait100 a/0@6 ~never"}, {"fetched a/0:hw9:", "~200"})},
    {.name = "nothing comes, then the high watermark turns out to be a race",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"+60 fetched a/0:hw9:", "~now"}, {"turn", "fetch#2 wait100 a/0@5 ~never"},
           {"+60 fetched a/0:hw9:", "~now"}, {"turn", "fetch#3 wait100 a/0@5 ~never"},
           {"+60 fetched a/0:hw5:", "~now"}, {"turn", "fetch#4 wait100 a/0@5 ~never"},
           {"+60 fetched a/0:hw9:", "~now"})},
    {.name = "corrupt entry: no chunk, position unchanged, reported once, retried slowly (6.2)",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:bad", "error a/0@5 ZKC_ERR_CORRUPT bad 5 ~1000"},
           {"+1000 turn", "fetch#2 wait100 a/0@5 ~never"}, {"fetched a/0:hw9:bad", "~1000"},
           {"+1000 turn", "fetch#3 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:5-5", "chunk a/0 5>6 hw9 ~now"})},
    {.name = "corrupt behind good entries: nothing of it, as 0.8.2",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:5-7,bad", "error a/0@5 ZKC_ERR_CORRUPT bad 8 ~1000"})},
    {.name = "only what is below the position: never backwards",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:2-4", "error a/0@5 ZKC_ERR_CORRUPT bad 5 ~1000"})},
    {.name = "removed while it waits",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:bad", "error a/0@5 ZKC_ERR_CORRUPT bad 5 ~1000"},
           {"remove a/0", "~1000"}, {"+1000 turn", "~never"})},
    {.name = "paused while it waits",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:bad", "error a/0@5 ZKC_ERR_CORRUPT bad 5 ~1000"},
           {"pause a/0", "~1000"}, {"+1000 turn", "~never"}, {"resume a/0", "~now"},
           {"turn", "fetch#2 wait100 a/0@5 ~never"})},
};

static void test_stuck(void **state)
{
    (void)state;
    RUN(stuck_cases);
}

/* ---- answers that bring nothing ---- */

static const struct story_case empty_cases[] = {
    {.name = "after its time: asked again at once",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"+100 fetched a/0:hw5:", "~now"}, {"turn", "fetch#2 wait100 a/0@5 ~never"})},
    {.name = "too early: held back",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"+10 fetched a/0:hw5:", "~190"}, {"turn", "~190"},
           {"+190 turn", "fetch#2 wait100 a/0@5 ~never"})},
    {.name = "too early, null and padding are nothing too",
     STORY({"add a/0 @5", "~now"}, {"add a/1 @5", "~now"},
           {"turn", "fetch#1 wait100 a/0@5 a/1@5 ~never"},
           {"+10 fetched a/0:hw5:null a/1:hw5:pad", "~190"})},
    {.name = "an answer without any partition (a throttled broker's)",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"}, {"fetched", "~200"},
           {"+200 turn", "fetch#2 wait100 a/0@5 ~never"})},
    {.name = "who is new does not wait with the others",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw5:", "~200"}, {"add a/1 @0", "~now"},
           {"turn", "fetch#2 wait100 a/0@5 a/1@0 ~never"})},
    {.name = "nor does who came while the request was out",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"add a/1 @0", "~never"}, {"fetched a/0:hw5:", "~now"},
           {"turn", "fetch#2 wait100 a/0@5 a/1@0 ~never"}, {"fetched a/0:hw5: a/1:hw0:", "~200"})},
    {.name = "an error of another partition is no reason to wait",
     STORY({"add a/0 @5", "~now"}, {"add a/1 @5", "~now"},
           {"turn", "fetch#1 wait100 a/0@5 a/1@5 ~never"},
           {"fetched a/0!6 a/1:hw5:", "lost a/0 @5 error 6 ~now"})},
};

static void test_empty(void **state)
{
    (void)state;
    RUN(empty_cases);
}

static void test_a_wait_of_zero_does_not_spin(void **state)
{
    (void)state;
    struct fetcher_config config = story_config();
    config.fetch_wait_max_ms = 0;
    struct story s;
    story_init(&s, &config);
    const struct story_step steps[] = {
        {"add a/0 @5", "~now"},
        {"turn", "fetch#1 wait0 a/0@5 ~never"},
        {"fetched a/0:hw5:", "~200"},
        {"+200 turn", "fetch#2 wait0 a/0@5 ~never"},
        {"fetched a/0:hw6:5-5", "chunk a/0 5>6 hw6 ~now"},
    };
    story_expect(&s, "no wait", steps, ARRAY_LEN(steps));
    story_deinit(&s);
}

/* ---- room, pause ---- */

static const struct story_case room_cases[] = {
    {.name = "a full stream stops its own partitions only",
     STORY({"add a/0 @5 sink=1", "~now"}, {"add a/1 @6 sink=2", "~now"},
           {"add b/0 @7 sink=1", "~now"}, {"room 1 no", "~now"},
           {"turn", "fetch#1 wait100 a/1@6 ~never"},
           {"fetched a/1:hw7:6-6", "chunk a/1 6>7 hw7 ~now"}, {"room 2 no", "~never"},
           {"room 1 yes", "~now"}, {"turn", "fetch#2 wait100 a/0@5 b/0@7 ~never"})},
    {.name = "filled by a chunk of this answer",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"fetched a/0:hw9:5-6", "chunk a/0 5>7 hw9 ~now"}, {"room 1 no", "~never"},
           {"+5000 turn", "~never"}, {"room 1 yes", "~now"},
           {"turn", "fetch#2 wait100 a/0@7 ~never"})},
    {.name = "filled while asked for: the answer is taken all the same",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"room 1 no", "~never"}, {"fetched a/0:hw9:5-6", "chunk a/0 5>7 hw9 ~never"})},
    {.name = "full from the start",
     STORY({"add a/0 @5 full", "~never"}, {"turn", "~never"}, {"room 1 yes", "~now"},
           {"room 1 yes", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"})},
    {.name = "another partition brings later news of the sink",
     STORY({"add a/0 @5 full", "~never"}, {"add a/1 @6", "~now"},
           {"turn", "fetch#1 wait100 a/0@5 a/1@6 ~never"}, {"add a/2 @7 full", "~never"},
           {"fetched a/0:hw5: a/1:hw6:", "~never"})},
    {.name = "a sink is forgotten with its last partition",
     STORY({"add a/0 @5 full", "~never"}, {"remove a/0", "~never"}, {"add a/0 @5", "~now"})},
    {.name = "paused and resumed",
     STORY({"add a/0 @5 paused", "~never"}, {"turn", "~never"}, {"resume a/0", "~now"},
           {"pause a/0", "~never"}, {"pause a/0", "~never"}, {"resume a/0", "~now"},
           {"resume a/0", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"})},
    {.name = "a seek does not end a pause",
     STORY({"add a/0 @5 paused", "~never"}, {"seek a/0 @9", "~never"}, {"resume a/0", "~now"},
           {"turn", "fetch#1 wait100 a/0@9 ~never"})},
};

static void test_room_and_pause(void **state)
{
    (void)state;
    RUN(room_cases);
}

/* ---- no answer ---- */

static const struct story_case failed_cases[] = {
    {.name = "the same request once more, then all to the leader finder (SimpleConsumer)",
     STORY({"add a/0 @5", "~now"}, {"add a/1 @6 paused", "~now"},
           {"add b/0 @7 sink=2 full", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"failed lost", "~now"}, {"turn", "fetch#2 wait100 a/0@5 ~never"},
           {"failed lost", "lost a/0 @5 ZKC_ERR_UNREACHABLE | lost a/1 @6 ZKC_ERR_UNREACHABLE "
                           "paused | lost b/0 @7 ZKC_ERR_UNREACHABLE ~never"},
           {"add a/0 @5", "~now"}, {"turn", "fetch#3 wait100 a/0@5 ~never"},
           {"failed timeout", "~now"})},
    {.name = "an answer between makes it the first failure again (F24)",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"failed timeout", "~now"}, {"turn", "fetch#2 wait100 a/0@5 ~never"},
           {"fetched a/0:hw6:5-5", "chunk a/0 5>6 hw6 ~now"},
           {"turn", "fetch#3 wait100 a/0@6 ~never"}, {"failed lost", "~now"},
           {"turn", "fetch#4 wait100 a/0@6 ~never"},
           {"fetched a/0:hw7:6-6", "chunk a/0 6>7 hw7 ~now"})},
    {.name = "an error of a partition is an answer",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"failed lost", "~now"}, {"turn", "fetch#2 wait100 a/0@5 ~never"},
           {"fetched a/0!3", "lost a/0 @5 error 3 ~never"}, {"add a/0 @5", "~now"},
           {"turn", "fetch#3 wait100 a/0@5 ~never"}, {"failed lost", "~now"})},
    {.name = "while positions are looked for",
     STORY({"add a/0 @reset", "~now"}, {"add a/1 @3", "~now"}, {"turn", "list#1 a/0@-1 ~never"},
           {"failed lost", "~now"}, {"turn", "list#2 a/0@-1 ~never"},
           {"failed timeout", "lost a/0 @reset ZKC_ERR_TIMED_OUT | lost a/1 @3 "
                              "ZKC_ERR_TIMED_OUT ~never"})},
    {.name = "what changed meanwhile is in the second request",
     STORY({"add a/0 @5", "~now"}, {"turn", "fetch#1 wait100 a/0@5 ~never"},
           {"seek a/0 @1", "~never"}, {"add a/1 @2", "~never"}, {"failed lost", "~now"},
           {"turn", "fetch#2 wait100 a/0@1 a/1@2 ~never"})},
    {.name = "a partition that stands still is given up like the others",
     .reset = FETCHER_RESET_ERROR,
     STORY({"add a/0 @reset", "~now"}, {"add a/1 @2", "~now"},
           {"turn", "error a/0@-1 ZKC_ERR_OFFSET_RANGE | fetch#1 wait100 a/1@2 ~never"},
           {"failed lost", "~now"}, {"turn", "fetch#2 wait100 a/1@2 ~never"},
           {"failed lost",
            "lost a/0 @reset ZKC_ERR_UNREACHABLE | lost a/1 @2 ZKC_ERR_UNREACHABLE ~never"})},
};

static void test_failed_requests(void **state)
{
    (void)state;
    RUN(failed_cases);
}

/* ---- answers that would be too large together ---- */

static void test_answers_stay_below_their_maximum(void **state)
{
    (void)state;
    struct fetcher_config config = story_config();
    config.answer_bytes_max = 2200; /* two partitions of 1000 bytes */
    struct story s;
    story_init(&s, &config);
    const struct story_step steps[] = {
        {"add a/0 @0", "~now"},
        {"add a/1 @0", "~now"},
        {"add a/2 @0", "~now"},
        {"add a/3 @0", "~now"},
        {"add a/4 @0", "~now"},
        /* who is left out begins the next one; nobody waits for data while others wait */
        {"turn", "fetch#1 wait0 a/0@0 a/1@0 ~never"},
        {"fetched a/0:hw9:0-4 a/1:hw5:0-4", "chunk a/0 0>5 hw9 | chunk a/1 0>5 hw5 ~now"},
        /* a/1 is at its end and counts with nothing */
        {"turn", "fetch#2 wait0 a/2@0 a/3@0 a/1@5 ~never"},
        {"fetched a/2:hw1:0-0 a/3:hw0: a/1:hw5:", "chunk a/2 0>1 hw1 ~now"},
        {"turn", "fetch#3 wait100 a/4@0 a/0@5 a/1@5 a/2@1 a/3@0 ~never"},
        {"+100 fetched a/4:hw0: a/0:hw5: a/1:hw5: a/2:hw1: a/3:hw0:", "~now"},
        {"turn", "fetch#4 wait100 a/0@5 a/1@5 a/2@1 a/3@0 a/4@0 ~never"},
        /* all have got much meanwhile: in parts */
        {"failed large", "~now"},
        {"turn", "fetch#5 wait0 a/0@5 a/1@5 ~never"},
        {"fetched a/0:hw9:5-6 a/1:hw9:5-6", "chunk a/0 5>7 hw9 | chunk a/1 5>7 hw9 ~now"},
        {"turn", "fetch#6 wait0 a/2@1 a/3@0 ~never"},
    };
    story_expect(&s, "too large together", steps, ARRAY_LEN(steps));
    story_deinit(&s);
}

/* 8 bytes around the answer, 24 and the topic's name around each partition's records. */
static void test_what_an_answer_may_come_to(void **state)
{
    (void)state;
    static const struct {
        int64_t max;
        const char *want;
    } cases[] = {
        {8 + 2 * (1000 + 24 + 1), "fetch#1 wait100 a/0@0 a/1@0 ~never"},
        {8 + 2 * (1000 + 24 + 1) - 1, "fetch#1 wait0 a/0@0 ~never"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fetcher_config config = story_config();
        config.answer_bytes_max = cases[i].max;
        struct story s;
        story_init(&s, &config);
        const struct story_step steps[] = {
            {"add a/0 @0", "~now"}, {"add a/1 @0", "~now"}, {"turn", cases[i].want}};
        story_expect(&s, "exactly", steps, ARRAY_LEN(steps));
        story_deinit(&s);
    }
}

static void test_a_request_has_at_least_one_partition(void **state)
{
    (void)state;
    struct fetcher_config config = story_config();
    config.answer_bytes_max = 10;
    struct story s;
    story_init(&s, &config);
    const struct story_step steps[] = {
        {"add a/0 @0", "~now"},
        {"add a/1 @0", "~now"},
        {"turn", "fetch#1 wait0 a/0@0 ~never"},
        {"fetched a/0:hw9:0-4", "chunk a/0 0>5 hw9 ~now"},
        {"turn", "fetch#2 wait0 a/1@0 ~never"},
        {"fetched a/1:hw9:0-4", "chunk a/1 0>5 hw9 ~now"},
        {"turn", "fetch#3 wait0 a/0@5 ~never"},
    };
    story_expect(&s, "small", steps, ARRAY_LEN(steps));
    story_deinit(&s);
}

static void test_the_turn_is_kept_over_changes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct story_step steps[4];
    } cases[] = {
        {"nothing changed",
         {{"fetched b/1:hw9:0-0 b/2:hw9:0-0", "chunk b/1 0>1 hw9 | chunk b/2 0>1 hw9 ~now"},
          {"turn", "fetch#2 wait0 b/3@0 b/4@0 ~never"}}},
        {"one more in front",
         {{"add a/0 @0", "~never"},
          {"fetched b/1:hw9:0-0 b/2:hw9:0-0", "chunk b/1 0>1 hw9 | chunk b/2 0>1 hw9 ~now"},
          {"turn", "fetch#2 wait0 b/3@0 b/4@0 ~never"}}},
        {"one less in front: removed",
         {{"remove b/1", "~never"},
          {"fetched b/1:hw9:0-0 b/2:hw9:0-0", "chunk b/2 0>1 hw9 ~now"},
          {"turn", "fetch#2 wait0 b/3@0 b/4@0 ~never"}}},
        {"one less in front: lost",
         {{"fetched b/1!6 b/2:hw9:0-0", "lost b/1 @0 error 6 | chunk b/2 0>1 hw9 ~now"},
          {"turn", "fetch#2 wait0 b/3@0 b/4@0 ~never"}}},
        {"the next one itself",
         {{"remove b/3", "~never"},
          {"fetched b/1:hw9:0-0 b/2:hw9:0-0", "chunk b/1 0>1 hw9 | chunk b/2 0>1 hw9 ~now"},
          {"turn", "fetch#2 wait0 b/4@0 b/1@1 ~never"}}},
        {"all from there on",
         {{"remove b/3", "~never"},
          {"remove b/4", "~never"},
          {"fetched b/1:hw9:0-0 b/2:hw9:0-0", "chunk b/1 0>1 hw9 | chunk b/2 0>1 hw9 ~now"},
          {"turn", "fetch#2 wait100 b/1@1 b/2@1 ~never"}}},
    };
    static const struct story_step begin[] = {
        {"add b/1 @0", "~now"},
        {"add b/2 @0", "~now"},
        {"add b/3 @0", "~now"},
        {"add b/4 @0", "~now"},
        {"turn", "fetch#1 wait0 b/1@0 b/2@0 ~never"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fetcher_config config = story_config();
        config.answer_bytes_max = 2100;
        struct story s;
        size_t steps = 0;
        while (steps < ARRAY_LEN(cases[i].steps) && cases[i].steps[steps].in)
            steps++;
        story_init(&s, &config);
        story_expect(&s, cases[i].name, begin, ARRAY_LEN(begin));
        story_expect(&s, cases[i].name, cases[i].steps, steps);
        story_deinit(&s);
    }
}

/* ---- texts, status ---- */

static void test_error_texts(void **state)
{
    (void)state;
    static const struct {
        const char *steps[4];
        enum fetcher_reset reset;
        const char *want[5]; /* all are in it */
    } cases[] = {
        {{"add orders/3 @5", "turn", "fetched orders/3:hw9:cut2000"},
         FETCHER_RESET_LARGEST,
         {"[orders,3]", "offset 5", "2000 bytes", "fetch.message.max.bytes=1000", "raise"}},
        {{"add orders/3 @5", "turn", "fetched orders/3:hw9:cut50"},
         FETCHER_RESET_LARGEST,
         {"[orders,3]", "offset 5", "high watermark 9", "raise fetch.message.max.bytes", "seek"}},
        {{"add orders/3 @5", "turn", "fetched orders/3:hw9:5-6,bad"},
         FETCHER_RESET_LARGEST,
         {"[orders,3]", "offset 5", "corrupt at offset 7", "seek", ""}},
        {{"add orders/3 @5", "turn", "fetched orders/3!1"},
         FETCHER_RESET_ERROR,
         {"[orders,3]", "no offset 5", "auto.offset.reset=error", "seek", ""}},
        {{"add orders/3 @reset", "turn"},
         FETCHER_RESET_ERROR,
         {"[orders,3]", "no stored offset", "auto.offset.reset=error", "seek", ""}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fetcher_config config = story_config();
        config.reset = cases[i].reset;
        struct story s;
        story_init(&s, &config);
        for (size_t k = 0; k < 4 && cases[i].steps[k]; k++)
            story_tell(&s, cases[i].steps[k]);
        assert_int_equal(s.last.count, 1);
        char text[512];
        fetcher_error_text(s.fetcher, &s.last.list[0], text, sizeof text);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].want); k++)
            if (!strstr(text, cases[i].want[k]))
                fail_msg("case %zu: \"%s\" is not in: %s", i, cases[i].want[k], text);
        story_deinit(&s);
    }
}

static void expect_status(struct story *s, const char *step, struct fetcher_status want)
{
    story_tell(s, step);
    struct fetcher_status got;
    assert_true(fetcher_status(s->fetcher, (struct topic_partition){"a", 0}, &got));
    if (got.state != want.state || got.is_paused != want.is_paused ||
        got.is_asked_for != want.is_asked_for || got.offset != want.offset ||
        got.high_watermark != want.high_watermark)
        fail_msg("%s: state %d paused %d asked %d offset %" PRId64 " hw %" PRId64, step, got.state,
                 got.is_paused, got.is_asked_for, got.offset, got.high_watermark);
}

static void test_status(void **state)
{
    (void)state;
    struct fetcher_config config = story_config();
    config.reset = FETCHER_RESET_ERROR;
    struct story s;
    struct fetcher_status got;
    story_init(&s, &config);
    assert_false(fetcher_status(s.fetcher, (struct topic_partition){"a", 0}, &got));
    assert_int_equal(fetcher_partition_count(s.fetcher), 0);
    expect_status(&s, "add a/0 @last",
                  (struct fetcher_status){FETCHER_STATE_LOCATING, 0, 0, -1, -1});
    expect_status(&s, "turn", (struct fetcher_status){FETCHER_STATE_LOCATING, 0, 1, -1, -1});
    expect_status(&s, "listed a/0=5", (struct fetcher_status){FETCHER_STATE_FETCHING, 0, 0, 5, -1});
    expect_status(&s, "turn", (struct fetcher_status){FETCHER_STATE_FETCHING, 0, 1, 5, -1});
    expect_status(&s, "pause a/0", (struct fetcher_status){FETCHER_STATE_FETCHING, 1, 1, 5, -1});
    expect_status(&s, "fetched a/0:hw9:5-6",
                  (struct fetcher_status){FETCHER_STATE_FETCHING, 1, 0, 7, 9});
    expect_status(&s, "resume a/0", (struct fetcher_status){FETCHER_STATE_FETCHING, 0, 0, 7, 9});
    story_tell(&s, "turn");
    expect_status(&s, "fetched a/0:hw12:cut5000",
                  (struct fetcher_status){FETCHER_STATE_WAITING, 0, 0, 7, 12});
    story_tell(&s, "+1000 turn");
    expect_status(&s, "fetched a/0!1", (struct fetcher_status){FETCHER_STATE_STOPPED, 0, 0, 7, 12});
    assert_int_equal(fetcher_partition_count(s.fetcher), 1);
    story_deinit(&s);
}

/* ---- memory ---- */

static void test_no_memory_for_a_fetcher(void **state)
{
    (void)state;
    struct fetcher_config config = story_config();
    ALLOC_FAIL_EACH(n, failed, {
        struct fetcher *f = fetcher_new(&config);
        failed = f == NULL;
        fetcher_free(f);
    });
}

static struct fetcher_input add_input(int32_t partition)
{
    return (struct fetcher_input){
        .type = FETCHER_IN_ADD,
        .partition = {partition % 2 ? "a" : "b", partition},
        .add = {.from = FETCHER_FROM_OFFSET,
                .offset = 5,
                .tag = 100 + (uint64_t)partition,
                .sink = (uint64_t)partition / 4,
                .sink_has_room = true,
                .is_paused = partition == 7},
    };
}

/* A partition that cannot be added comes back for the leader finder; the others are untouched. */
static void test_no_memory_for_a_partition(void **state)
{
    (void)state;
    enum { PARTITIONS = 20 };
    struct fetcher_config config = story_config();
    ALLOC_FAIL_EACH(n, failed, {
        struct fetcher_outputs out;
        struct fetcher *f = fetcher_new(&config);
        for (int32_t i = 0; f && i < PARTITIONS; i++) {
            struct fetcher_input in = add_input(i);
            fetcher_step(f, &in, &out);
            if (out.count > 0) {
                failed = true;
                assert_int_equal(out.count, 1);
                assert_int_equal(out.list[0].type, FETCHER_OUT_LEADER_LOST);
                assert_string_equal(out.list[0].partition.topic, in.partition.topic);
                assert_int_equal(out.list[0].partition.partition, i);
                assert_int_equal(out.list[0].tag, 100 + i);
                assert_int_equal(out.list[0].sink, i / 4);
                assert_int_equal(out.list[0].lost.err, ZKC_ERR_NOMEM);
                assert_int_equal(out.list[0].lost.from, FETCHER_FROM_OFFSET);
                assert_int_equal(out.list[0].lost.offset, 5);
                assert_int_equal(out.list[0].lost.is_paused, i == 7);
                assert_int_equal(fetcher_partition_count(f), i);
                fetcher_step(f, &in, &out); /* once more: now it works */
                assert_int_equal(out.count, 0);
            }
        }
        if (f) {
            fetcher_step(f, &(struct fetcher_input){.type = FETCHER_IN_TURN}, &out);
            assert_int_equal(out.count, 1);
            assert_int_equal(out.list[0].request.count, PARTITIONS - 1);
        }
        failed = failed || !f;
        fetcher_free(f);
    });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flow),
        cmocka_unit_test(test_late_answers),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_every_error_code),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_a_wait_of_zero_does_not_spin),
        cmocka_unit_test(test_room_and_pause),
        cmocka_unit_test(test_failed_requests),
        cmocka_unit_test(test_answers_stay_below_their_maximum),
        cmocka_unit_test(test_what_an_answer_may_come_to),
        cmocka_unit_test(test_a_request_has_at_least_one_partition),
        cmocka_unit_test(test_the_turn_is_kept_over_changes),
        cmocka_unit_test(test_error_texts),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_no_memory_for_a_fetcher),
        cmocka_unit_test(test_no_memory_for_a_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
