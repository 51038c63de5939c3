#include "zkconsumer/core/wire/list_offsets.h"

static void request_partition_fields(struct wire_codec *c, struct list_offsets_request_partition *p)
{
    wire_struct_begin(c);
    wire_i32(c, "partition_index", &p->partition_index);
    wire_i64(c, "timestamp", &p->timestamp);
    if (c->version == 0)
        wire_i32(c, "max_num_offsets", &p->max_num_offsets);
    wire_struct_end(c);
}

static void request_topic_fields(struct wire_codec *c, struct list_offsets_request_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "name", &t->name);
    t->partitions = wire_array_begin(c, "partitions", t->partitions, &t->partitions_count,
                                     sizeof *t->partitions, c->version == 0 ? 16 : 12);
    for (size_t i = 0; i < t->partitions_count; i++)
        request_partition_fields(c, &t->partitions[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void list_offsets_request_fields(struct wire_codec *c, struct list_offsets_request *m)
{
    wire_struct_begin(c);
    wire_i32(c, "replica_id", &m->replica_id);
    m->topics = wire_array_begin(c, "topics", m->topics, &m->topics_count, sizeof *m->topics, 6);
    for (size_t i = 0; i < m->topics_count; i++)
        request_topic_fields(c, &m->topics[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

static void segment_starts(struct wire_codec *c, struct list_offsets_response_partition *p)
{
    p->old_style_offsets =
        wire_array_begin(c, "old_style_offsets", p->old_style_offsets, &p->old_style_offsets_count,
                         sizeof *p->old_style_offsets, 8);
    for (size_t i = 0; i < p->old_style_offsets_count; i++)
        wire_i64(c, NULL, &p->old_style_offsets[i]);
    wire_array_end(c);
}

static void response_partition_fields(struct wire_codec *c,
                                      struct list_offsets_response_partition *p)
{
    wire_struct_begin(c);
    wire_i32(c, "partition_index", &p->partition_index);
    wire_i16(c, "error_code", &p->error_code);
    if (c->version == 0) {
        segment_starts(c, p);
    } else {
        wire_i64(c, "timestamp", &p->timestamp);
        wire_i64(c, "offset", &p->offset);
    }
    wire_struct_end(c);
}

static void response_topic_fields(struct wire_codec *c, struct list_offsets_response_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "name", &t->name);
    t->partitions = wire_array_begin(c, "partitions", t->partitions, &t->partitions_count,
                                     sizeof *t->partitions, c->version == 0 ? 10 : 22);
    for (size_t i = 0; i < t->partitions_count; i++)
        response_partition_fields(c, &t->partitions[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void list_offsets_response_fields(struct wire_codec *c, struct list_offsets_response *m)
{
    wire_struct_begin(c);
    m->topics = wire_array_begin(c, "topics", m->topics, &m->topics_count, sizeof *m->topics, 6);
    for (size_t i = 0; i < m->topics_count; i++)
        response_topic_fields(c, &m->topics[i]);
    wire_array_end(c);
    wire_struct_end(c);
}
