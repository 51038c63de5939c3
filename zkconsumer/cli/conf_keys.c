#include "zkconsumer/cli/conf_keys.h"
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <string.h>
#include <zkconsumer/conf.h>

struct each {
    cli_key_fn *fn;
    void *user;
};

static void give(const struct zkc_conf_key *key, void *user)
{
    const struct each *each = user;
    bool has_words = strcmp(key->type, "word") == 0 || strcmp(key->type, "boolean") == 0;
    each->fn(key->name, has_words ? key->range : "", key->text, each->user);
}

void conf_keys_of_consumer(cli_key_fn *fn, void *user)
{
    zkc_conf_describe(give, &(struct each){fn, user});
}

/* librdkafka tells names and defaults; what they mean is in its own manual. */
void conf_keys_of_producer(cli_key_fn *fn, void *user)
{
    size_t count = 0;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    const char **list = conf ? rd_kafka_conf_dump(conf, &count) : NULL;
    for (size_t i = 0; list && i + 1 < count; i += 2) {
        char text[256];
        snprintf(text, sizeof text, "librdkafka's, %.200s by default", list[i + 1]);
        fn(list[i], "", text, user);
    }
    if (list)
        rd_kafka_conf_dump_free(list, count);
    if (conf)
        rd_kafka_conf_destroy(conf);
}
