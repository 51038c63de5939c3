#include "zkconsumer/core/wire/metadata.h"

static void request_topic_fields(struct wire_codec *c, struct metadata_request_topic *t)
{
    wire_struct_begin(c);
    wire_string(c, "name", &t->name);
    wire_struct_end(c);
}

void metadata_request_fields(struct wire_codec *c, struct metadata_request *m)
{
    wire_struct_begin(c);
    m->topics = wire_array_begin(c, "topics", m->topics, &m->topics_count, sizeof *m->topics, 2);
    for (size_t i = 0; i < m->topics_count; i++)
        request_topic_fields(c, &m->topics[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

static void broker_fields(struct wire_codec *c, struct metadata_broker *b)
{
    wire_struct_begin(c);
    wire_i32(c, "node_id", &b->node_id);
    /* Not nullable by the schema, but 0.8 writes what the broker registered, and a null there must
     * not make the other brokers unreadable. */
    wire_nullable_string(c, "host", &b->host);
    wire_i32(c, "port", &b->port);
    wire_struct_end(c);
}

static int32_t *node_list(struct wire_codec *c, const char *name, int32_t *nodes, size_t *count)
{
    nodes = wire_array_begin(c, name, nodes, count, sizeof *nodes, 4);
    for (size_t i = 0; i < *count; i++)
        wire_i32(c, NULL, &nodes[i]);
    wire_array_end(c);
    return nodes;
}

static void partition_fields(struct wire_codec *c, struct metadata_partition *p)
{
    wire_struct_begin(c);
    wire_i16(c, "error_code", &p->error_code);
    wire_i32(c, "partition_index", &p->partition_index);
    wire_i32(c, "leader_id", &p->leader_id);
    p->replica_nodes = node_list(c, "replica_nodes", p->replica_nodes, &p->replica_nodes_count);
    p->isr_nodes = node_list(c, "isr_nodes", p->isr_nodes, &p->isr_nodes_count);
    wire_struct_end(c);
}

static void topic_fields(struct wire_codec *c, struct metadata_topic *t)
{
    wire_struct_begin(c);
    wire_i16(c, "error_code", &t->error_code);
    wire_string(c, "name", &t->name);
    t->partitions = wire_array_begin(c, "partitions", t->partitions, &t->partitions_count,
                                     sizeof *t->partitions, 18);
    for (size_t i = 0; i < t->partitions_count; i++)
        partition_fields(c, &t->partitions[i]);
    wire_array_end(c);
    wire_struct_end(c);
}

void metadata_response_fields(struct wire_codec *c, struct metadata_response *m)
{
    wire_struct_begin(c);
    m->brokers =
        wire_array_begin(c, "brokers", m->brokers, &m->brokers_count, sizeof *m->brokers, 10);
    for (size_t i = 0; i < m->brokers_count; i++)
        broker_fields(c, &m->brokers[i]);
    wire_array_end(c);
    m->topics = wire_array_begin(c, "topics", m->topics, &m->topics_count, sizeof *m->topics, 8);
    for (size_t i = 0; i < m->topics_count; i++)
        topic_fields(c, &m->topics[i]);
    wire_array_end(c);
    wire_struct_end(c);
}
