#include "zkconsumer/core/wire/produce.h"

static void request_partition_fields(struct wire_codec *c, struct produce_request_partition *p)
{
    wire_struct_begin(c);
    wire_i32(c, "index", &p->index);
    wire_nullable_bytes(c, "records", &p->records);
    wire_struct_end(c);
}

static void request_topic_fields(struct wire_codec *c, struct produce_request_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "name", &t->name);
    t->partition_data = wire_array_begin(c, "partition_data", t->partition_data,
                                         &t->partition_data_count, sizeof *t->partition_data, 8);
    for (size_t i = 0; i < t->partition_data_count; i++)
        request_partition_fields(c, &t->partition_data[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void produce_request_fields(struct wire_codec *c, struct produce_request *m)
{
    wire_struct_begin(c);
    wire_i16(c, "acks", &m->acks);
    wire_i32(c, "timeout_ms", &m->timeout_ms);
    m->topic_data = wire_array_begin(c, "topic_data", m->topic_data, &m->topic_data_count,
                                     sizeof *m->topic_data, 6);
    for (size_t i = 0; i < m->topic_data_count; i++)
        request_topic_fields(c, &m->topic_data[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

static void response_partition_fields(struct wire_codec *c, struct produce_response_partition *p)
{
    wire_struct_begin(c);
    wire_i32(c, "index", &p->index);
    wire_i16(c, "error_code", &p->error_code);
    wire_i64(c, "base_offset", &p->base_offset);
    wire_struct_end(c);
}

static void response_topic_fields(struct wire_codec *c, struct produce_response_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "name", &t->name);
    t->partition_responses =
        wire_array_begin(c, "partition_responses", t->partition_responses,
                         &t->partition_responses_count, sizeof *t->partition_responses, 14);
    for (size_t i = 0; i < t->partition_responses_count; i++)
        response_partition_fields(c, &t->partition_responses[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void produce_response_fields(struct wire_codec *c, struct produce_response *m)
{
    wire_struct_begin(c);
    m->responses = wire_array_begin(c, "responses", m->responses, &m->responses_count,
                                    sizeof *m->responses, 6);
    for (size_t i = 0; i < m->responses_count; i++)
        response_topic_fields(c, &m->responses[i]);
    wire_array_end(c);
    wire_struct_end(c);
}
