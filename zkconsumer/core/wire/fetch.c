#include "zkconsumer/core/wire/fetch.h"
#include "zkconsumer/core/wire/big_endian.h"
#include <inttypes.h>
#include <stdio.h>

static void request_partition_fields(struct wire_codec *c, struct fetch_request_partition *p)
{
    wire_struct_begin(c);
    wire_i32(c, "partition", &p->partition);
    wire_i64(c, "fetch_offset", &p->fetch_offset);
    wire_i32(c, "partition_max_bytes", &p->partition_max_bytes);
    wire_struct_end(c);
}

static void request_topic_fields(struct wire_codec *c, struct fetch_request_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "topic", &t->topic);
    t->partitions = wire_array_begin(c, "partitions", t->partitions, &t->partitions_count,
                                     sizeof *t->partitions, 16);
    for (size_t i = 0; i < t->partitions_count; i++)
        request_partition_fields(c, &t->partitions[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void fetch_request_fields(struct wire_codec *c, struct fetch_request *m)
{
    wire_struct_begin(c);
    wire_i32(c, "replica_id", &m->replica_id);
    wire_i32(c, "max_wait_ms", &m->max_wait_ms);
    wire_i32(c, "min_bytes", &m->min_bytes);
    m->topics = wire_array_begin(c, "topics", m->topics, &m->topics_count, sizeof *m->topics, 6);
    for (size_t i = 0; i < m->topics_count; i++)
        request_topic_fields(c, &m->topics[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

/* The least that a partition and a topic take in an answer: version 0 has fewest fields. */
#define RESPONSE_PARTITION_BYTES_MIN 18
#define RESPONSE_TOPIC_BYTES_MIN     6

static void response_partition_fields(struct wire_codec *c, struct fetch_response_partition *p)
{
    wire_struct_begin(c);
    wire_i32(c, "partition_index", &p->partition_index);
    wire_i16(c, "error_code", &p->error_code);
    wire_i64(c, "high_watermark", &p->high_watermark);
    wire_nullable_bytes(c, "records", &p->records);
    wire_struct_end(c);
}

static void response_topic_fields(struct wire_codec *c, struct fetch_response_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "topic", &t->topic);
    t->partitions = wire_array_begin(c, "partitions", t->partitions, &t->partitions_count,
                                     sizeof *t->partitions, RESPONSE_PARTITION_BYTES_MIN);
    for (size_t i = 0; i < t->partitions_count; i++)
        response_partition_fields(c, &t->partitions[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void fetch_response_fields(struct wire_codec *c, struct fetch_response *m)
{
    wire_struct_begin(c);
    m->responses = wire_array_begin(c, "responses", m->responses, &m->responses_count,
                                    sizeof *m->responses, RESPONSE_TOPIC_BYTES_MIN);
    for (size_t i = 0; i < m->responses_count; i++)
        response_topic_fields(c, &m->responses[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

/* ---- The hand-written twin ---- */

static enum fetch_response_result malformed(struct fetch_response_reader *r, const char *field,
                                            int64_t value)
{
    r->malformed = true;
    snprintf(r->reason, sizeof r->reason,
             "fetch response, byte %zu: %s %" PRId64 ", with %zu bytes left", r->position, field,
             value, r->body.len - r->position);
    return FETCH_RESPONSE_MALFORMED;
}

static size_t left(const struct fetch_response_reader *r)
{
    return r->body.len - r->position;
}

static const uint8_t *at(const struct fetch_response_reader *r)
{
    return r->body.data + r->position;
}

/* A number of elements that the bytes left can hold. False: r is malformed. */
static bool read_count(struct fetch_response_reader *r, const char *what, size_t bytes_min,
                       uint32_t *count)
{
    if (left(r) < 4) {
        malformed(r, what, -1);
        return false;
    }
    int32_t n = read_i32(at(r));
    if (n < 0 || (size_t)n > (left(r) - 4) / bytes_min) {
        malformed(r, what, n);
        return false;
    }
    r->position += 4;
    *count = (uint32_t)n;
    return true;
}

void fetch_response_reader_init(struct fetch_response_reader *r, struct bytes body)
{
    r->body = body;
    r->position = 0;
    r->topics_left = 0;
    r->partitions_left = 0;
    r->topic = BYTES_NULL;
    r->reason[0] = 0;
    r->malformed = false;
    read_count(r, "number of topics", RESPONSE_TOPIC_BYTES_MIN, &r->topics_left);
}

static bool read_topic(struct fetch_response_reader *r)
{
    if (left(r) < 2) {
        malformed(r, "end inside a topic; topics left", r->topics_left);
        return false;
    }
    int16_t len = read_i16(at(r));
    if (len < 0 || (size_t)len > left(r) - 2) {
        malformed(r, "length of a topic name", len);
        return false;
    }
    r->topic = bytes_of(at(r) + 2, (size_t)len);
    r->position += 2 + (size_t)len;
    r->topics_left--;
    return read_count(r, "number of partitions", RESPONSE_PARTITION_BYTES_MIN, &r->partitions_left);
}

enum fetch_response_result fetch_response_next(struct fetch_response_reader *r,
                                               struct fetch_response_view *out)
{
    if (r->malformed)
        return FETCH_RESPONSE_MALFORMED;
    while (r->partitions_left == 0) {
        if (r->topics_left == 0)
            return left(r) == 0 ? FETCH_RESPONSE_END : malformed(r, "left over bytes", 0);
        if (!read_topic(r))
            return FETCH_RESPONSE_MALFORMED;
    }
    if (left(r) < RESPONSE_PARTITION_BYTES_MIN)
        return malformed(r, "end inside a partition; partitions left", r->partitions_left);
    const uint8_t *p = at(r);
    int32_t len = read_i32(p + 14);
    if (len < -1 || (len > 0 && (size_t)len > left(r) - RESPONSE_PARTITION_BYTES_MIN))
        return malformed(r, "length of a message set", len);
    *out = (struct fetch_response_view){
        .topic = r->topic,
        .partition = read_i32(p),
        .error_code = read_i16(p + 4),
        .high_watermark = read_i64(p + 6),
        .records = len < 0 ? BYTES_NULL : bytes_of(p + RESPONSE_PARTITION_BYTES_MIN, (size_t)len),
    };
    r->position += RESPONSE_PARTITION_BYTES_MIN + (size_t)(len < 0 ? 0 : len);
    r->partitions_left--;
    return FETCH_RESPONSE_PARTITION;
}
