#include "zkconsumer/cli/cluster_ask.h"
#include "zkconsumer/cli/broker_link.h"
#include "zkconsumer/cli/options.h"
#include "zkconsumer/core/wire/api.h"
#include <stdlib.h>

static void request_fields(struct wire_codec *c, void *message)
{
    metadata_request_fields(c, message);
}

static void response_fields(struct wire_codec *c, void *message)
{
    metadata_response_fields(c, message);
}

/* "host:port" or "[::1]:port", cut in two. */
static bool split(char *text, char **host, uint16_t *port)
{
    int64_t number;
    char *colon = strrchr(text, ':');
    if (!colon || colon == text || !cli_parse_number(colon + 1, 1, 65535, &number))
        return false;
    *colon = 0;
    *host = text;
    *port = (uint16_t)number;
    size_t len = strlen(text);
    if (text[0] == '[' && text[len - 1] == ']') {
        text[len - 1] = 0;
        (*host)++;
    }
    return **host != 0;
}

static enum zkc_err ask_one(const char *host, uint16_t port, const char *client_id,
                            int64_t timeout_ms, struct arena *arena,
                            struct metadata_response *answer, struct why *why)
{
    struct metadata_request request = {0};
    struct broker_link *link = broker_link_open(host, port, client_id, timeout_ms);
    if (!link) {
        why_set(why, "no event loop to be had");
        return ZKC_ERR_SYSTEM;
    }
    enum zkc_err err = broker_link_ask(link, API_METADATA, 0, request_fields, &request,
                                       response_fields, answer, arena, why);
    for (size_t i = 0; !err && i < answer->brokers_count; i++) { /* texts outlive the link */
        struct bytes *name = &answer->brokers[i].host;
        if (name->data)
            name->data = (const uint8_t *)arena_format(arena, "%.*s", (int)name->len,
                                                       (const char *)name->data);
    }
    for (size_t i = 0; !err && i < answer->topics_count; i++) {
        struct bytes *name = &answer->topics[i].name;
        name->data =
            (const uint8_t *)arena_format(arena, "%.*s", (int)name->len, (const char *)name->data);
    }
    broker_link_close(link);
    return err ? err : arena->failed;
}

static int by_id(const void *a, const void *b)
{
    int32_t x = ((const struct broker *)a)->id, y = ((const struct broker *)b)->id;
    return (x > y) - (x < y);
}

static enum zkc_err take(const struct metadata_response *m, struct arena *arena,
                         struct cluster *out)
{
    struct broker *list = arena_alloc_array(arena, m->brokers_count, sizeof *list);
    for (size_t i = 0; list && i < m->brokers_count; i++)
        list[i] = (struct broker){
            .id = m->brokers[i].node_id,
            .host = (const char *)m->brokers[i].host.data,
            .port = (uint16_t)m->brokers[i].port,
            .problem = m->brokers[i].host.data ? NULL : "it has no address",
        };
    if (list)
        qsort(list, m->brokers_count, sizeof *list, by_id);
    *out = (struct cluster){{list, list ? m->brokers_count : 0}, m->topics, m->topics_count};
    return arena->failed;
}

enum zkc_err cluster_ask(const char *list, const char *client_id, int64_t timeout_ms,
                         struct arena *arena, struct cluster *out, struct why *why)
{
    struct metadata_response answer = {0};
    enum zkc_err err = ZKC_ERR_INVALID;
    char *text = arena_format(arena, "%s", list);
    why_set(why, "\"%s\": expected HOST:PORT,...", list);
    for (char *rest = NULL, *one = text ? strtok_r(text, ",", &rest) : NULL; one;
         one = strtok_r(NULL, ",", &rest)) {
        char *host;
        uint16_t port;
        if (!split(one, &host, &port)) {
            why_set(why, "\"%s\": expected HOST:PORT,...", list);
            return ZKC_ERR_INVALID;
        }
        err = ask_one(host, port, client_id, timeout_ms, arena, &answer, why);
        if (!err)
            return take(&answer, arena, out);
    }
    return text ? err : arena->failed;
}

const struct metadata_topic *cluster_topic(const struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->topic_count; i++)
        if (bytes_compare(c->topics[i].name, bytes_of_text(name)) == 0)
            return &c->topics[i];
    return NULL;
}

const struct metadata_partition *cluster_partition(const struct metadata_topic *t, int32_t number)
{
    for (size_t i = 0; t && i < t->partitions_count; i++)
        if (t->partitions[i].partition_index == number)
            return &t->partitions[i];
    return NULL;
}
