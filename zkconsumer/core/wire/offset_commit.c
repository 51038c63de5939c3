#include "zkconsumer/core/wire/offset_commit.h"

static void request_partition_fields(struct wire_codec *c,
                                     struct offset_commit_request_partition *p)
{
    wire_struct_begin(c);
    wire_i32(c, "partition_index", &p->partition_index);
    wire_i64(c, "committed_offset", &p->committed_offset);
    if (c->version == 1)
        wire_i64(c, "commit_timestamp", &p->commit_timestamp);
    wire_nullable_string(c, "committed_metadata", &p->committed_metadata);
    wire_struct_end(c);
}

/* The smallest a partition can be: it is checked against before a list is made. */
static size_t request_partition_bytes_min(const struct wire_codec *c)
{
    return c->version == 1 ? 22 : 14;
}

static void request_topic_fields(struct wire_codec *c, struct offset_commit_request_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "name", &t->name);
    t->partitions = wire_array_begin(c, "partitions", t->partitions, &t->partitions_count,
                                     sizeof *t->partitions, request_partition_bytes_min(c));
    for (size_t i = 0; i < t->partitions_count; i++)
        request_partition_fields(c, &t->partitions[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void offset_commit_request_fields(struct wire_codec *c, struct offset_commit_request *m)
{
    wire_struct_begin(c);
    wire_string(c, "group_id", &m->group_id);
    if (c->version == 1) {
        wire_i32(c, "generation_id_or_member_epoch", &m->generation_id);
        wire_string(c, "member_id", &m->member_id);
    }
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
