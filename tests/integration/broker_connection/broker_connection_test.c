/* Broker connections against a broker that misbehaves (tests/support/fake_broker.h), on loopback.
 * Nothing here waits for a fixed time: the loop runs until what is expected has happened. */
#include "tests/support/fake_broker.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/rng.h"
#include "zkconsumer/core/wire/api.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/io/boot_clock.h"
#include "zkconsumer/io/broker_connection.h"
#include "zkconsumer/io/resolver.h"
#include <arpa/inet.h>
#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/event.h>
#include <event2/util.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWERS_MAX  2048
#define REQUESTS_MAX 2048

struct answer {
    enum zkc_err err;
    char body[40]; /* its beginning */
    char text[400];
};

struct request {
    struct fake_connection *connection;
    int32_t correlation_id;
    int16_t api_key, api_version;
    char client_id[40]; /* "(null)" */
    char body[40];
};

struct rig {
    struct event_base *base;
    struct resolver *resolver;
    struct fake_broker *broker;
    struct broker_connection *connection;
    struct broker_connection_config config;

    void (*act)(struct rig *rig, const struct request *r); /* on a request; NULL: silent */
    struct request *requests;
    size_t requests_count;
    struct answer *answers;
    size_t answers_count;
    char log[400]; /* the last line of level 4 */
};

static void copy_text(char *out, size_t size, struct bytes in)
{
    size_t n = in.len < size - 1 ? in.len : size - 1;
    if (n > 0)
        memcpy(out, in.data, n);
    out[n] = 0;
}

static void on_request(struct fake_connection *connection, const struct request_header *header,
                       struct bytes body, void *user)
{
    struct rig *rig = user;
    assert_true(rig->requests_count < REQUESTS_MAX);
    struct request *r = &rig->requests[rig->requests_count++];
    *r = (struct request){.connection = connection,
                          .correlation_id = header->correlation_id,
                          .api_key = header->api_key,
                          .api_version = header->api_version};
    copy_text(r->client_id, sizeof r->client_id,
              bytes_is_null(header->client_id) ? bytes_of_text("(null)") : header->client_id);
    copy_text(r->body, sizeof r->body, body);
    if (rig->act)
        rig->act(rig, r);
}

static void on_response(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                        void *user)
{
    struct rig *rig = user;
    assert_true(rig->answers_count < ANSWERS_MAX);
    assert_true((err == ZKC_OK) == (frame != NULL));
    assert_true((err == ZKC_OK) == (text == NULL));
    struct answer *a = &rig->answers[rig->answers_count++];
    *a = (struct answer){.err = err};
    copy_text(a->body, sizeof a->body, body);
    copy_text(a->text, sizeof a->text, bytes_of_text(text));
}

static void on_log(int level, const char *text, void *user)
{
    struct rig *rig = user;
    if (level == 4)
        copy_text(rig->log, sizeof rig->log, bytes_of_text(text));
}

static void echo(struct rig *rig, const struct request *r)
{
    (void)rig;
    fake_answer(r->connection, r->correlation_id, bytes_of_text(r->body));
}

static struct rig *rig_new(void)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig->requests = calloc(REQUESTS_MAX, sizeof *rig->requests);
    rig->answers = calloc(ANSWERS_MAX, sizeof *rig->answers);
    rig->base = event_base_new();
    rig->resolver = resolver_new(rig->base);
    rig->broker = fake_broker_new(rig->base, on_request, rig);
    assert_true(rig->requests && rig->answers && rig->base && rig->resolver);
    rig->act = echo;
    rig->config = (struct broker_connection_config){
        .base = rig->base,
        .resolver = rig->resolver,
        .host = "127.0.0.1",
        .port = fake_broker_port(rig->broker),
        .client_id = "group-1",
        .request_timeout_ms = 60000,
        .backoff_ms = 1,
        .backoff_max_ms = 2,
        .response_bytes_max = 8 << 20,
        .send_bytes_max = 1 << 20,
        .requests_max = REQUESTS_MAX,
        .seed = 1,
        .on_log = on_log,
        .user = rig,
    };
    return rig;
}

static void rig_free(struct rig *rig)
{
    broker_connection_close(rig->connection);
    fake_broker_free(rig->broker);
    resolver_free(rig->resolver);
    event_base_loop(rig->base, EVLOOP_NONBLOCK);
    event_base_free(rig->base);
    free(rig->requests);
    free(rig->answers);
    free(rig);
}

static struct rig *rig_open(void)
{
    struct rig *rig = rig_new();
    rig->connection = broker_connection_new(&rig->config);
    assert_non_null(rig->connection);
    return rig;
}

static void rig_reopen(struct rig *rig)
{
    broker_connection_close(rig->connection);
    rig->connection = broker_connection_new(&rig->config);
    assert_non_null(rig->connection);
}

static enum zkc_err try_send(struct rig *rig, const char *body)
{
    return broker_connection_send(rig->connection, API_FETCH, 0, bytes_of_text(body), on_response,
                                  rig);
}

static void rig_send(struct rig *rig, const char *body)
{
    assert_int_equal(try_send(rig, body), 0);
}

static void on_watchdog(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    (void)user;
    fail_msg("the loop does not come to what is expected");
}

/* Runs the loop until *value is at least `want`. */
static void run_until(struct rig *rig, const size_t *value, size_t want)
{
    struct timeval limit = {.tv_sec = 60};
    struct event *watchdog = evtimer_new(rig->base, on_watchdog, NULL);
    event_add(watchdog, &limit);
    while (*value < want)
        event_base_loop(rig->base, EVLOOP_ONCE);
    event_free(watchdog);
}

static void run_answers(struct rig *rig, size_t count)
{
    run_until(rig, &rig->answers_count, count);
    assert_int_equal(rig->answers_count, count);
}

static void expect_failure(const struct rig *rig, size_t i, enum zkc_err err, const char *part)
{
    const struct answer *a = &rig->answers[i];
    char name[64];
    snprintf(name, sizeof name, "127.0.0.1:%u: ", rig->config.port);
    if (a->err != err || !strstr(a->text, part) || strncmp(a->text, name, strlen(name)) != 0)
        fail_msg("answer %zu: %s \"%s\", expected %s \"%s\"", i, zkc_err_name(a->err), a->text,
                 zkc_err_name(err), part);
}

static struct broker_connection_stats stats_of(const struct rig *rig)
{
    struct broker_connection_stats stats;
    broker_connection_stats(rig->connection, &stats);
    return stats;
}

/* Ask once more: it works again. */
static void expect_recovery(struct rig *rig)
{
    size_t before = rig->answers_count;
    rig->act = echo;
    rig_send(rig, "again");
    run_answers(rig, before + 1);
    if (rig->answers[before].err)
        fail_msg("no recovery: %s", rig->answers[before].text);
    assert_string_equal(rig->answers[before].body, "again");
}

/* ---- requests and answers ---- */

static void test_requests_are_encoded(void **state)
{
    (void)state;
    static const char *const client_ids[] = {"group-1", "", NULL};
    for (size_t i = 0; i < ARRAY_LEN(client_ids); i++) {
        struct rig *rig = rig_new();
        rig->config.client_id = client_ids[i];
        rig->connection = broker_connection_new(&rig->config);
        assert_int_equal(broker_connection_send(rig->connection, API_METADATA, 0,
                                                bytes_of_text("body"), on_response, rig),
                         0);
        rig_send(rig, "");
        run_answers(rig, 2);
        assert_int_equal(rig->requests[0].api_key, API_METADATA);
        assert_int_equal(rig->requests[0].api_version, 0);
        assert_int_equal(rig->requests[0].correlation_id, 0);
        assert_string_equal(rig->requests[0].client_id, client_ids[i] ? client_ids[i] : "(null)");
        assert_string_equal(rig->requests[0].body, "body");
        assert_int_equal(rig->requests[1].api_key, API_FETCH);
        assert_int_equal(rig->requests[1].correlation_id, 1);
        assert_string_equal(rig->answers[0].body, "body");
        assert_string_equal(rig->answers[1].body, "");
        rig_free(rig);
    }
}

static void answer_when_five_are_there(struct rig *rig, const struct request *r)
{
    (void)r;
    if (rig->requests_count < 5)
        return;
    for (size_t i = 0; i < rig->requests_count; i++)
        fake_answer(rig->requests[i].connection, rig->requests[i].correlation_id,
                    bytes_of_text(rig->requests[i].body));
}

static void test_pipelining(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = answer_when_five_are_there;
    char body[2] = "a";
    for (int i = 0; i < 5; i++, body[0]++)
        rig_send(rig, body);
    assert_int_equal(stats_of(rig).in_flight, 5);
    run_answers(rig, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(rig->answers[i].err, ZKC_OK);
        assert_int_equal(rig->answers[i].body[0], 'a' + i);
    }
    assert_int_equal(fake_broker_accepted(rig->broker), 1);
    struct broker_connection_stats stats = stats_of(rig);
    assert_int_equal(stats.connects, 1);
    assert_int_equal(stats.requests, 5);
    assert_int_equal(stats.responses, 5);
    assert_int_equal(stats.in_flight, 0);
    assert_int_equal(stats.bytes_received, 5 * (4 + 4 + 1));
    assert_true(stats.is_connected);
    rig_free(rig);
}

static void echo_in_pieces(struct rig *rig, const struct request *r)
{
    (void)rig;
    uint8_t frame[60];
    size_t len = strlen(r->body);
    write_i32(frame, (int32_t)len + 4);
    write_i32(frame + 4, r->correlation_id);
    memcpy(frame + 8, r->body, len);
    fake_send_in_pieces(r->connection, bytes_of(frame, len + 8), 1);
}

static void test_answers_in_pieces_of_one_byte(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = echo_in_pieces;
    static const char *const bodies[] = {"", "x", "twenty-two bytes of it", "y"};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        rig_send(rig, bodies[i]);
    run_answers(rig, ARRAY_LEN(bodies));
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        assert_string_equal(rig->answers[i].body, bodies[i]);
    rig_free(rig);
}

static void test_many_small_answers_at_once(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    char body[40];
    for (int i = 0; i < 1000; i++) {
        snprintf(body, sizeof body, "%0*d", 1 + i % 30, i);
        rig_send(rig, body);
    }
    run_answers(rig, 1000);
    for (int i = 0; i < 1000; i++) {
        snprintf(body, sizeof body, "%0*d", 1 + i % 30, i);
        assert_string_equal(rig->answers[i].body, body);
    }
    assert_int_equal(fake_broker_accepted(rig->broker), 1);
    rig_free(rig);
}

/* ---- frames ---- */

#define LARGE (3 << 20)

struct kept {
    struct rig *rig;
    struct frame *frame;
    struct bytes body;
};

static void keep_and_close(enum zkc_err err, struct frame *frame, struct bytes body,
                           const char *text, void *user)
{
    (void)text;
    struct kept *kept = user;
    assert_int_equal(err, ZKC_OK);
    kept->frame = frame_ref(frame);
    kept->body = body;
    kept->rig->answers_count++;
    broker_connection_close(kept->rig->connection);
    kept->rig->connection = NULL;
}

static void answer_large(struct rig *rig, const struct request *r)
{
    (void)rig;
    uint8_t *body = malloc(LARGE);
    assert_non_null(body);
    for (size_t i = 0; i < LARGE; i++)
        body[i] = (uint8_t)(i * 2654435761u >> 13);
    fake_answer(r->connection, r->correlation_id, bytes_of(body, LARGE));
    fake_answer(r->connection, r->correlation_id + 1, bytes_of_text("behind it"));
    free(body);
}

static void test_a_kept_frame_outlives_the_connection(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct kept kept = {.rig = rig};
    rig->act = answer_large;
    assert_int_equal(broker_connection_send(rig->connection, API_FETCH, 0, bytes_of_text("x"),
                                            keep_and_close, &kept),
                     0);
    run_answers(rig, 1);
    assert_int_equal(kept.body.len, LARGE);
    assert_ptr_equal(kept.body.data, kept.frame->data + 4);
    for (size_t i = 0; i < LARGE; i++)
        if (kept.body.data[i] != (uint8_t)(i * 2654435761u >> 13))
            fail_msg("byte %zu differs", i);
    frame_unref(kept.frame);
    rig_free(rig);
}

static void answer_large_once(struct rig *rig, const struct request *r)
{
    if (rig->requests_count == 1)
        answer_large(rig, r);
}

static void test_a_small_answer_behind_a_large_one(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = answer_large_once;
    rig_send(rig, "a");
    rig_send(rig, "b");
    run_answers(rig, 2);
    assert_int_equal(rig->answers[0].err, ZKC_OK);
    assert_string_equal(rig->answers[1].body, "behind it");
    rig_free(rig);
}

/* ---- no answer ---- */

static void test_a_silent_broker(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig->config.request_timeout_ms = 20;
    rig->connection = broker_connection_new(&rig->config);
    rig->act = NULL;
    rig_send(rig, "a");
    rig_send(rig, "b");
    run_answers(rig, 2);
    expect_failure(rig, 0, ZKC_ERR_TIMED_OUT, "no answer to Fetch within 20 ms (");
    expect_failure(rig, 1, ZKC_ERR_TIMED_OUT, "no answer to Fetch within 20 ms (");
    assert_false(stats_of(rig).is_connected);
    rig->config.request_timeout_ms = 60000;
    rig_reopen(rig);
    expect_recovery(rig);
    rig_free(rig);
}

/* A listener whose queue is full lets nobody in and refuses nobody. */
static void test_a_broker_that_does_not_accept(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 0), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    int fillers[4];
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(fillers[i], (struct sockaddr *)&address, sizeof address) != 0)
            assert_int_equal(errno, EINPROGRESS);
    }
    rig->config.port = ntohs(address.sin_port);
    rig->config.request_timeout_ms = 30;
    rig->connection = broker_connection_new(&rig->config);
    rig_send(rig, "a");
    run_answers(rig, 1);
    assert_int_equal(rig->answers[0].err, ZKC_ERR_TIMED_OUT);
    assert_int_equal(stats_of(rig).connects, 0);
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++)
        close(fillers[i]);
    close(listener);
    rig_free(rig);
}

/* What is late is not written: not when it is sent, and not when the connection is there at last.
 */
static void test_nothing_is_written_after_its_time(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    broker_connection_write_until(rig->connection, boot_clock_ms() + 60000);
    rig_send(rig, "in time");
    run_answers(rig, 1);
    assert_int_equal(rig->answers[0].err, ZKC_OK);
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            rig_reopen(rig); /* it has to connect first */
        rig->answers_count = 0;
        broker_connection_write_until(rig->connection, boot_clock_ms());
        rig_send(rig, "late");
        run_answers(rig, 1);
        expect_failure(rig, 0, ZKC_ERR_TIMED_OUT, "the time for sending the request is over");
        assert_int_equal(rig->requests_count, 1);
    }
    broker_connection_write_until(rig->connection, INT64_MAX);
    expect_recovery(rig);
    assert_int_equal(rig->requests_count, 2);
    rig_free(rig);
}

/* ---- broken off ---- */

static void reset_at_once(struct rig *rig, const struct request *r)
{
    (void)rig;
    fake_reset(r->connection);
}

static void close_at_once(struct rig *rig, const struct request *r)
{
    (void)rig;
    fake_close(r->connection);
}

static const uint8_t half[] = {0, 0, 0, 100, 0, 0, 0, 0, 'h', 'a', 'l', 'f'};

static void close_in_mid_frame(struct rig *rig, const struct request *r)
{
    (void)rig;
    fake_send(r->connection, bytes_of(half, sizeof half));
    fake_close(r->connection);
}

static void close_in_mid_size(struct rig *rig, const struct request *r)
{
    (void)rig;
    fake_send(r->connection, bytes_of(half, 2));
    fake_close(r->connection);
}

static void answer_one_then_close(struct rig *rig, const struct request *r)
{
    echo(rig, r);
    fake_close(r->connection);
}

static void test_broken_off(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*act)(struct rig *, const struct request *);
        size_t good;
        const char *text;
    } cases[] = {
        {"reset", reset_at_once, 0, "unanswered"},
        {"closed", close_at_once, 0, "the broker closed the connection with 2 request(s) unan"},
        {"in mid frame", close_in_mid_frame, 0, "closed the connection after 8 of 100 bytes of"},
        {"in mid size", close_in_mid_size, 0, "closed the connection with 2 request(s) unanswered"},
        {"after one of two", answer_one_then_close, 1, "1 request(s) unanswered"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig *rig = rig_open();
        rig->act = cases[i].act;
        rig_send(rig, "a");
        rig_send(rig, "b");
        run_answers(rig, 2);
        for (size_t k = 0; k < cases[i].good; k++)
            assert_int_equal(rig->answers[k].err, ZKC_OK);
        for (size_t k = cases[i].good; k < 2; k++)
            expect_failure(rig, k, ZKC_ERR_UNREACHABLE, cases[i].text);
        expect_recovery(rig);
        assert_int_equal(fake_broker_accepted(rig->broker), 2);
        rig_free(rig);
    }
}

static void reset_in_mid_frame(evutil_socket_t fd, short what, void *user)
{
    (void)fd;
    (void)what;
    struct rig *rig = user;
    if (stats_of(rig).bytes_received == sizeof half)
        fake_reset(fake_broker_last(rig->broker));
}

static void send_half(struct rig *rig, const struct request *r)
{
    (void)rig;
    fake_send(r->connection, bytes_of(half, sizeof half));
}

static void test_a_reset_in_mid_frame(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = send_half;
    rig_send(rig, "a");
    struct event *each_turn = event_new(rig->base, -1, EV_PERSIST, reset_in_mid_frame, rig);
    struct timeval soon = {.tv_usec = 1000};
    event_add(each_turn, &soon);
    run_answers(rig, 1);
    event_free(each_turn);
    expect_failure(rig, 0, ZKC_ERR_UNREACHABLE, "after 8 of 100 bytes of an answer");
    expect_recovery(rig);
    rig_free(rig);
}

static void test_an_idle_connection_that_the_broker_closes_is_no_failure(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = answer_one_then_close;
    rig_send(rig, "a");
    run_answers(rig, 1);
    assert_int_equal(rig->answers[0].err, ZKC_OK);
    while (stats_of(rig).is_connected)
        event_base_loop(rig->base, EVLOOP_ONCE);
    assert_int_equal(rig->answers_count, 1);
    expect_recovery(rig);
    assert_int_equal(stats_of(rig).connects, 2);
    assert_int_equal(stats_of(rig).connect_failures, 0);
    rig_free(rig);
}

/* ---- what the protocol does not allow ---- */

static struct bytes hostile;

static void answer_hostile(struct rig *rig, const struct request *r)
{
    (void)rig;
    fake_send(r->connection, hostile);
}

#define HOSTILE(...) bytes_of((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

static void test_hostile_answers(void **state)
{
    (void)state;
    const struct {
        const char *name;
        struct bytes bytes;
        enum zkc_err err;
        const char *text;
    } cases[] = {
        {"size -1", HOSTILE(0xff, 0xff, 0xff, 0xff), ZKC_ERR_PROTOCOL, "answer of -1 bytes"},
        {"size 0", HOSTILE(0, 0, 0, 0), ZKC_ERR_PROTOCOL, "answer of 0 bytes"},
        {"size 3", HOSTILE(0, 0, 0, 3, 1, 1, 1), ZKC_ERR_PROTOCOL, "answer of 3 bytes"},
        {"size -2^31", HOSTILE(0x80, 0, 0, 0), ZKC_ERR_PROTOCOL, "answer of -2147483648 bytes"},
        {"size 2^31-1", HOSTILE(0x7f, 0xff, 0xff, 0xff), ZKC_ERR_TOO_LARGE,
         "Fetch answer of 2147483647 bytes, larger than the limit of 8388608"},
        {"limit + 1", HOSTILE(0, 0x80, 0, 1), ZKC_ERR_TOO_LARGE, "answer of 8388609 bytes"},
        {"HTTP", bytes_of_text("HTTP/1.1 400 Bad Request\r\n\r\n"), ZKC_ERR_TOO_LARGE,
         "answer of 1213486160 bytes"},
        {"wrong correlation id", HOSTILE(0, 0, 0, 5, 0, 0, 0, 1, 'x'), ZKC_ERR_PROTOCOL,
         "answer with correlation id 1, expected 0"},
        {"negative correlation id", HOSTILE(0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff), ZKC_ERR_PROTOCOL,
         "answer with correlation id -1, expected 0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig *rig = rig_open();
        rig->act = answer_hostile;
        hostile = cases[i].bytes;
        rig_send(rig, "a");
        rig_send(rig, "b");
        run_answers(rig, 2);
        expect_failure(rig, 0, cases[i].err, cases[i].text);
        expect_failure(rig, 1, cases[i].err, cases[i].text);
        expect_recovery(rig);
        assert_int_equal(fake_broker_accepted(rig->broker), 2);
        rig_free(rig);
    }
}

static void test_the_largest_answer_allowed(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig->config.response_bytes_max = 14;
    rig->connection = broker_connection_new(&rig->config);
    rig_send(rig, "ten bytes.");
    rig_send(rig, "eleven byte");
    run_answers(rig, 2);
    assert_string_equal(rig->answers[0].body, "ten bytes.");
    expect_failure(rig, 1, ZKC_ERR_TOO_LARGE, "answer of 15 bytes, larger than the limit of 14");
    rig_free(rig);
}

static void answer_twice(struct rig *rig, const struct request *r)
{
    echo(rig, r);
    echo(rig, r);
}

static void test_an_answer_that_nobody_asked_for(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = answer_twice;
    rig_send(rig, "a");
    run_answers(rig, 1);
    assert_int_equal(rig->answers[0].err, ZKC_OK);
    while (stats_of(rig).is_connected)
        event_base_loop(rig->base, EVLOOP_ONCE);
    assert_non_null(strstr(rig->log, "an answer of 5 bytes that nobody asked for"));
    expect_recovery(rig);
    assert_int_equal(stats_of(rig).connects, 2);
    rig_free(rig);
}

/* ---- connecting ---- */

/* A port of ours that refuses until somebody listens on it. */
static int closed_port(uint32_t address_host_order, uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(address_host_order);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static int64_t monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void test_connection_refused(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    int fd = closed_port(INADDR_LOOPBACK, &rig->config.port);
    rig->config.backoff_ms = 4;
    rig->config.backoff_max_ms = 20;
    rig->config.seed = 42;
    rig->connection = broker_connection_new(&rig->config);

    /* Two requests wait for one attempt; then one attempt for each, each after its pause. */
    rig_send(rig, "a");
    rig_send(rig, "b");
    run_answers(rig, 2);
    assert_int_equal(stats_of(rig).connect_failures, 1);
    int64_t pauses_ms = 0, since_ms = monotonic_ms();
    struct rng rng;
    rng_init(&rng, 42);
    for (unsigned i = 0; i < 5; i++) {
        rig_send(rig, "c");
        run_answers(rig, 3 + i);
        assert_int_equal(stats_of(rig).connect_failures, 2 + i);
        expect_failure(rig, 2 + i, ZKC_ERR_UNREACHABLE, "cannot connect to 127.0.0.1:");
        expect_failure(rig, 2 + i, ZKC_ERR_UNREACHABLE, "Connection refused");
        pauses_ms += rng_backoff_ms(&rng, i, 4, 20);
    }
    assert_true(pauses_ms >= 2 + 4 + 8 + 10 + 10); /* they double, up to 20, and half is jitter */
    assert_true(monotonic_ms() - since_ms >= pauses_ms - 1);
    assert_int_equal(stats_of(rig).connects, 0);
    close(fd);
    rig_free(rig);
}

static void test_an_answer_ends_the_backoff(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig->config.backoff_ms = 1;
    rig->config.backoff_max_ms = 1 << 30; /* doubled ten times in a row it would never end */
    rig->connection = broker_connection_new(&rig->config);
    for (int i = 0; i < 40; i++) {
        rig->act = reset_at_once;
        rig_send(rig, "a");
        run_answers(rig, rig->answers_count + 1);
        expect_recovery(rig);
    }
    rig_free(rig);
}

static const char *write_hosts(const char *text)
{
    static char path[] = "/tmp/broker_connection_hosts.XXXXXX";
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static void use_resolver(struct rig *rig, const char *nameserver, const char *hosts_path)
{
    resolver_free(rig->resolver);
    rig->resolver = resolver_new_with(&(struct resolver_options){
        .base = rig->base, .nameserver = nameserver, .hosts_path = hosts_path});
    assert_non_null(rig->resolver);
    rig->config.resolver = rig->resolver;
}

static void test_the_next_address_of_a_name(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    const char *hosts = write_hosts("127.0.0.2 broker-1\n127.0.0.3 broker-1\n127.0.0.1 broker-1\n");
    use_resolver(rig, "127.0.0.1:9", hosts);
    rig->config.host = "broker-1"; /* nobody listens on the first two */
    rig->connection = broker_connection_new(&rig->config);
    rig_send(rig, "a");
    run_answers(rig, 1);
    assert_int_equal(rig->answers[0].err, ZKC_OK);
    assert_int_equal(stats_of(rig).connect_failures, 2);
    assert_int_equal(stats_of(rig).connects, 1);
    unlink(hosts);
    rig_free(rig);
}

static void no_such_name(struct evdns_server_request *request, void *user)
{
    (void)user;
    evdns_server_request_respond(request, DNS_ERR_NOTEXIST);
}

/* A socket for a name server; `address` is what the resolver is told. */
static int name_server_socket(char *address, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(address, size, "127.0.0.1:%u", ntohs(at.sin_port));
    return fd;
}

static void test_a_name_that_does_not_exist(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    char address[32];
    int fd = name_server_socket(address, sizeof address);
    struct evdns_server_port *server =
        evdns_add_server_port_with_base(rig->base, fd, 0, no_such_name, NULL);
    const char *hosts = write_hosts("");
    use_resolver(rig, address, hosts);
    rig->config.host = "no-such-broker.example";
    rig->connection = broker_connection_new(&rig->config);
    rig_send(rig, "a");
    run_answers(rig, 1);
    assert_int_equal(rig->answers[0].err, ZKC_ERR_UNREACHABLE);
    assert_non_null(strstr(rig->answers[0].text, "no-such-broker.example:"));
    assert_non_null(strstr(rig->answers[0].text, "cannot resolve the name: "));
    assert_int_equal(stats_of(rig).connect_failures, 1);
    unlink(hosts);
    evdns_close_server_port(server);
    close(fd);
    rig_free(rig);
}

static void test_a_name_server_that_is_silent(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    char address[32];
    int fd = name_server_socket(address, sizeof address);
    const char *hosts = write_hosts("");
    use_resolver(rig, address, hosts);
    rig->config.host = "broker.example";
    rig->config.request_timeout_ms = 30;
    rig->connection = broker_connection_new(&rig->config);
    rig_send(rig, "a");
    run_answers(rig, 1);
    assert_int_equal(rig->answers[0].err, ZKC_ERR_TIMED_OUT);
    assert_non_null(strstr(rig->answers[0].text, "(resolving the name)"));
    unlink(hosts);
    close(fd);
    rig_free(rig);
}

static void test_names_of_connections(void **state)
{
    (void)state;
    static const struct {
        const char *host, *want;
    } cases[] = {
        {"broker-1", "broker-1:9092"}, {"::1", "[::1]:9092"}, {"10.0.0.1", "10.0.0.1:9092"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig *rig = rig_new();
        rig->config.host = cases[i].host;
        rig->config.port = 9092;
        rig->connection = broker_connection_new(&rig->config);
        assert_string_equal(broker_connection_name(rig->connection), cases[i].want);
        rig_free(rig);
    }
}

/* F61: an error with a text, no hang, and it works again when there are descriptors. */
static void test_no_descriptor_left(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    close(next);
    none = before;
    none.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rig_send(rig, "a");
    assert_int_equal(rig->answers_count, 0); /* never from inside of send */
    run_answers(rig, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_failure(rig, 0, ZKC_ERR_SYSTEM, "too many open files");
    expect_failure(rig, 0, ZKC_ERR_SYSTEM, "ulimit -n");
    expect_recovery(rig);
    rig_free(rig);
}

static void test_socket_options(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig->config.receive_buffer_bytes = 65536;
    rig->connection = broker_connection_new(&rig->config);
    int fd = dup(0); /* the lowest one free is the one that the connection gets */
    close(fd);
    rig_send(rig, "a");
    run_answers(rig, 1);
    int value = 0;
    socklen_t len = sizeof value;
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &len), 0);
    assert_int_equal(value, 2 * 65536); /* the kernel doubles it */
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &value, &len), 0);
    assert_int_equal(value, 1);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    rig_free(rig);
}

/* ---- limits of what waits ---- */

static void test_requests_beyond_the_limits_are_refused(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig->config.requests_max = 3;
    rig->connection = broker_connection_new(&rig->config);
    rig_send(rig, "a");
    rig_send(rig, "b");
    rig_send(rig, "c");
    assert_int_equal(try_send(rig, "d"), ZKC_ERR_TOO_LARGE);
    run_answers(rig, 3);
    rig_send(rig, "e");
    run_answers(rig, 4);
    assert_string_equal(rig->answers[3].body, "e");
    rig_free(rig);
}

static void test_a_broker_that_does_not_read(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig->config.send_bytes_max = 200000;
    rig->connection = broker_connection_new(&rig->config);
    expect_recovery(rig);
    fake_broker_set_reading(rig->broker, false);
    static uint8_t large[90000] = "a large request";
    struct bytes body = bytes_of(large, sizeof large);
    size_t sent = 0;
    enum zkc_err err;
    do
        err = broker_connection_send(rig->connection, API_FETCH, 0, body, on_response, rig);
    while (err == ZKC_OK && ++sent < REQUESTS_MAX / 2);
    assert_int_equal(err, ZKC_ERR_TOO_LARGE); /* the system's buffers are full, and so are ours */
    assert_int_equal(rig->answers_count, 1);
    fake_broker_set_reading(rig->broker, true);
    run_answers(rig, 1 + sent);
    for (size_t i = 1; i < rig->answers_count; i++) {
        assert_int_equal(rig->answers[i].err, ZKC_OK);
        assert_string_equal(rig->answers[i].body, "a large request");
    }
    uint8_t *too_large = calloc(1, 200001);
    assert_int_equal(broker_connection_send(rig->connection, API_FETCH, 0,
                                            bytes_of(too_large, 200001), on_response, rig),
                     ZKC_ERR_TOO_LARGE);
    free(too_large);
    expect_recovery(rig);
    rig_free(rig);
}

/* ---- calls from callbacks ---- */

static void close_it(struct rig *rig)
{
    broker_connection_close(rig->connection);
    rig->connection = NULL;
}

static void then_close(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                       void *user)
{
    struct rig *rig = user;
    on_response(err, frame, body, text, user);
    if (rig->connection)
        close_it(rig);
    if (text) /* still lent */
        assert_string_equal(rig->answers[0].text, text);
}

static enum zkc_err sent_while_closing;

static void send_while_closing(enum zkc_err err, struct frame *frame, struct bytes body,
                               const char *text, void *user)
{
    struct broker_connection *connection = user;
    (void)frame;
    (void)body;
    (void)text;
    assert_int_equal(err, ZKC_ERR_CLOSED);
    sent_while_closing =
        broker_connection_send(connection, API_FETCH, 0, BYTES_NULL, send_while_closing, user);
    broker_connection_close(connection); /* again: nothing happens */
    broker_connection_reset(connection, "too late");
}

static void test_close_answers_everything_and_nothing_more_comes(void **state)
{
    (void)state;
    /* How far things are when it is closed: turns of the loop. */
    for (int turns = 0; turns < 6; turns++) {
        struct rig *rig = rig_open();
        rig_send(rig, "a");
        rig_send(rig, "b");
        for (int i = 0; i < turns; i++)
            event_base_loop(rig->base, EVLOOP_NONBLOCK);
        close_it(rig);
        assert_int_equal(rig->answers_count, 2);
        for (size_t i = 0; i < 2; i++)
            if (rig->answers[i].err)
                expect_failure(rig, i, ZKC_ERR_CLOSED, "closed");
        if (turns == 0)
            assert_int_equal(rig->answers[0].err, ZKC_ERR_CLOSED);
        event_base_loop(rig->base, EVLOOP_NONBLOCK);
        assert_int_equal(rig->answers_count, 2);
        rig_free(rig);
    }
}

static void test_close_refuses_what_its_callbacks_send(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    sent_while_closing = ZKC_OK;
    assert_int_equal(broker_connection_send(rig->connection, API_FETCH, 0, BYTES_NULL,
                                            send_while_closing, rig->connection),
                     0);
    close_it(rig);
    assert_int_equal(sent_while_closing, ZKC_ERR_CLOSED);
    rig_free(rig);
}

static void test_close_in_an_answer(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = answer_when_five_are_there;
    assert_int_equal(
        broker_connection_send(rig->connection, API_FETCH, 0, bytes_of_text("a"), then_close, rig),
        0);
    for (int i = 0; i < 4; i++)
        rig_send(rig, "b");
    run_answers(rig, 5); /* the other four are in our buffer already: they count as closed */
    assert_int_equal(rig->answers[0].err, ZKC_OK);
    for (size_t i = 1; i < 5; i++)
        expect_failure(rig, i, ZKC_ERR_CLOSED, "closed");
    rig_free(rig);
}

static void test_close_in_a_failure(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = reset_at_once;
    assert_int_equal(
        broker_connection_send(rig->connection, API_FETCH, 0, bytes_of_text("a"), then_close, rig),
        0);
    rig_send(rig, "b");
    rig_send(rig, "c");
    run_answers(rig, 3);
    assert_int_equal(rig->answers[0].err, ZKC_ERR_UNREACHABLE);
    expect_failure(rig, 1, ZKC_ERR_CLOSED, "closed");
    expect_failure(rig, 2, ZKC_ERR_CLOSED, "closed");
    rig_free(rig);
}

static void then_send_again(enum zkc_err err, struct frame *frame, struct bytes body,
                            const char *text, void *user)
{
    struct rig *rig = user;
    on_response(err, frame, body, text, user);
    rig->act = echo;
    rig_send(rig, "again");
}

static void test_send_in_a_failure(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = reset_at_once;
    for (int i = 0; i < 3; i++)
        assert_int_equal(broker_connection_send(rig->connection, API_FETCH, 0, bytes_of_text("a"),
                                                then_send_again, rig),
                         0);
    run_answers(rig, 6); /* the old ones first, all of them */
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(rig->answers[i].err, ZKC_ERR_UNREACHABLE);
    for (size_t i = 3; i < 6; i++)
        assert_string_equal(rig->answers[i].body, "again");
    assert_int_equal(stats_of(rig).connects, 2);
    rig_free(rig);
}

static void send_and_reset(enum zkc_err err, struct frame *frame, struct bytes body,
                           const char *text, void *user)
{
    struct rig *rig = user;
    on_response(err, frame, body, text, user);
    rig_send(rig, "again");
    broker_connection_reset(rig->connection, "another reason");
}

static void test_each_failure_has_its_own_text(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    rig->act = reset_at_once;
    for (int i = 0; i < 3; i++)
        assert_int_equal(broker_connection_send(rig->connection, API_FETCH, 0, bytes_of_text("a"),
                                                send_and_reset, rig),
                         0);
    run_answers(rig, 6);
    for (size_t i = 0; i < 3; i++)
        expect_failure(rig, i, ZKC_ERR_UNREACHABLE, "unanswered");
    for (size_t i = 3; i < 6; i++)
        expect_failure(rig, i, ZKC_ERR_PROTOCOL, "another reason");
    rig_free(rig);
}

static void then_reset(enum zkc_err err, struct frame *frame, struct bytes body, const char *text,
                       void *user)
{
    struct rig *rig = user;
    on_response(err, frame, body, text, user);
    broker_connection_reset(rig->connection, "the answer to Fetch makes no sense");
    broker_connection_reset(rig->connection, "another reason");
    assert_int_equal(rig->answers_count, 1);
}

static void test_reset_in_an_answer(void **state)
{
    (void)state;
    struct rig *rig = rig_open();
    broker_connection_reset(rig->connection, "nothing to reset");
    rig->act = answer_when_five_are_there;
    assert_int_equal(
        broker_connection_send(rig->connection, API_FETCH, 0, bytes_of_text("a"), then_reset, rig),
        0);
    for (int i = 0; i < 4; i++)
        rig_send(rig, "b");
    run_answers(rig, 5);
    assert_int_equal(rig->answers[0].err, ZKC_OK);
    for (size_t i = 1; i < 5; i++)
        expect_failure(rig, i, ZKC_ERR_PROTOCOL, ": the answer to Fetch makes no sense");
    expect_recovery(rig);
    assert_int_equal(stats_of(rig).connects, 2);
    rig_free(rig);
}

/* ---- signals ---- */

/* F50: the peer is gone, we write, the process lives, its signal handlers are as they were. */
static void test_sigpipe(void **state)
{
    (void)state;
    struct sigaction before, after;
    signal(SIGPIPE, SIG_DFL);
    sigaction(SIGPIPE, NULL, &before);
    struct rig *rig = rig_open();
    expect_recovery(rig);
    size_t answers = rig->answers_count;
    fake_close(fake_broker_last(rig->broker));
    /* The first one is answered with a reset by the system; the second one is written into a
     * connection that is gone: EPIPE, and SIGPIPE for who does not take care. */
    rig_send(rig, "a");
    rig_send(rig, "b");
    rig_send(rig, "c");
    run_answers(rig, answers + 3);
    for (size_t i = answers; i < answers + 3; i++)
        assert_int_equal(rig->answers[i].err, ZKC_ERR_UNREACHABLE);
    sigaction(SIGPIPE, NULL, &after);
    assert_true(before.sa_handler == SIG_DFL && after.sa_handler == SIG_DFL);
    expect_recovery(rig);
    rig_free(rig);
}

/* ---- memory ---- */

static void test_no_memory_for_a_connection(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    ALLOC_FAIL_EACH(n, failed, {
        struct broker_connection *c = broker_connection_new(&rig->config);
        failed = c == NULL;
        broker_connection_close(c);
    });
    rig_free(rig);
}

static void test_no_memory_on_the_way(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    /* The n-th allocation fails: in send, in the lookup, or when the answer comes. */
    bool injected = true;
    size_t n;
    for (n = 0; injected; n++) {
        size_t before = rig->answers_count;
        rig_reopen(rig);
        alloc_fail_at(n);
        enum zkc_err err = try_send(rig, "a");
        if (err == ZKC_OK) {
            run_answers(rig, before + 1);
            err = rig->answers[before].err;
        }
        injected = alloc_fail_stop();
        if (injected ? err != ZKC_ERR_NOMEM && err != ZKC_ERR_UNREACHABLE : err != ZKC_OK)
            fail_msg("allocation %zu: %s", n, zkc_err_name(err));
        expect_recovery(rig);
    }
    assert_true(n > 4);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_are_encoded),
        cmocka_unit_test(test_pipelining),
        cmocka_unit_test(test_answers_in_pieces_of_one_byte),
        cmocka_unit_test(test_many_small_answers_at_once),
        cmocka_unit_test(test_a_kept_frame_outlives_the_connection),
        cmocka_unit_test(test_a_small_answer_behind_a_large_one),
        cmocka_unit_test(test_a_silent_broker),
        cmocka_unit_test(test_a_broker_that_does_not_accept),
        cmocka_unit_test(test_nothing_is_written_after_its_time),
        cmocka_unit_test(test_broken_off),
        cmocka_unit_test(test_a_reset_in_mid_frame),
        cmocka_unit_test(test_an_idle_connection_that_the_broker_closes_is_no_failure),
        cmocka_unit_test(test_hostile_answers),
        cmocka_unit_test(test_the_largest_answer_allowed),
        cmocka_unit_test(test_an_answer_that_nobody_asked_for),
        cmocka_unit_test(test_connection_refused),
        cmocka_unit_test(test_an_answer_ends_the_backoff),
        cmocka_unit_test(test_the_next_address_of_a_name),
        cmocka_unit_test(test_a_name_that_does_not_exist),
        cmocka_unit_test(test_a_name_server_that_is_silent),
        cmocka_unit_test(test_names_of_connections),
        cmocka_unit_test(test_no_descriptor_left),
        cmocka_unit_test(test_socket_options),
        cmocka_unit_test(test_requests_beyond_the_limits_are_refused),
        cmocka_unit_test(test_a_broker_that_does_not_read),
        cmocka_unit_test(test_close_answers_everything_and_nothing_more_comes),
        cmocka_unit_test(test_close_refuses_what_its_callbacks_send),
        cmocka_unit_test(test_close_in_an_answer),
        cmocka_unit_test(test_close_in_a_failure),
        cmocka_unit_test(test_send_in_a_failure),
        cmocka_unit_test(test_each_failure_has_its_own_text),
        cmocka_unit_test(test_reset_in_an_answer),
        cmocka_unit_test(test_sigpipe),
        cmocka_unit_test(test_no_memory_for_a_connection),
        cmocka_unit_test(test_no_memory_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
