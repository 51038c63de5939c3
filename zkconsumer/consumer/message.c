/* Messages that last, and what the application says of them. */
#include "zkconsumer/consumer/stream.h"
#include <stdlib.h>
#include <string.h>

struct zkc_message *zkc_message_dup(const struct zkc_message *message)
{
    size_t topic_len = strlen(message->topic) + 1;
    char *block = malloc(sizeof *message + topic_len + message->key_len + message->value_len + 1);
    if (!block)
        return NULL;
    struct zkc_message *dup = (struct zkc_message *)(void *)block;
    char *topic = block + sizeof *message;
    char *key = topic + topic_len;
    char *value = key + message->key_len;
    *dup = *message;
    dup->topic = memcpy(topic, message->topic, topic_len);
    if (message->key)
        dup->key = message->key_len ? memcpy(key, message->key, message->key_len) : key;
    if (message->value)
        dup->value = message->value_len ? memcpy(value, message->value, message->value_len) : value;
    if (message->claim)
        claim_ref(message->claim);
    return dup;
}

void zkc_message_free(struct zkc_message *dup)
{
    if (dup)
        claim_unref(dup->claim);
    free(dup);
}

enum zkc_err zkc_message_acknowledge(const struct zkc_message *message)
{
    bool is_drained;
    struct claim *claim = message ? message->claim : NULL;
    if (!claim)
        return ZKC_ERR_INVALID;
    enum zkc_err err = claim_finish(claim, message->offset + 1, &is_drained);
    if (!err && is_drained)
        stream_tell_drained(claim->stream);
    return err;
}
