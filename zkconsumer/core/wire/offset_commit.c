#include "zkconsumer/core/wire/offset_commit.h"

static void request_partition_fields(struct wire_codec *c,
                                     struct offset_commit_request_partition *p)
{
    wire_struct_begin(c);
    wire_i32(c, "partition_index", &p->partition_index);
    wire_i64(c, "committed_offset", &p->committed_offset);
    wire_nullable_string(c, "committed_metadata", &p->committed_metadata);
    wire_struct_end(c);
}

static void request_topic_fields(struct wire_codec *c, struct offset_commit_request_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "name", &t->name);
    t->partitions = wire_array_begin(c, "partitions", t->partitions, &t->partitions_count,
                                     sizeof *t->partitions, 14);
    for (size_t i = 0; i < t->partitions_count; i++)
        request_partition_fields(c, &t->partitions[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void offset_commit_request_fields(struct wire_codec *c, struct offset_commit_request *m)
{
    wire_struct_begin(c);
    wire_string(c, "group_id", &m->group_id);
    m->topics = wire_array_begin(c, "topics", m->topics, &m->topics_count, sizeof *m->topics, 6);
    for (size_t i = 0; i < m->topics_count; i++)
        request_topic_fields(c, &m->topics[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

static void response_partition_fields(struct wire_codec *c,
                                      struct offset_commit_response_partition *p)
{
    wire_struct_begin(c);
    wire_i32(c, "partition_index", &p->partition_index);
    wire_i16(c, "error_code", &p->error_code);
    wire_struct_end(c);
}

static void response_topic_fields(struct wire_codec *c, struct offset_commit_response_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "name", &t->name);
    t->partitions = wire_array_begin(c, "partitions", t->partitions, &t->partitions_count,
                                     sizeof *t->partitions, 6);
    for (size_t i = 0; i < t->partitions_count; i++)
        response_partition_fields(c, &t->partitions[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void offset_commit_response_fields(struct wire_codec *c, struct offset_commit_response *m)
{
    wire_struct_begin(c);
    m->topics = wire_array_begin(c, "topics", m->topics, &m->topics_count, sizeof *m->topics, 6);
    for (size_t i = 0; i < m->topics_count; i++)
        response_topic_fields(c, &m->topics[i]);
    wire_array_end(c);
    wire_struct_end(c);
}
