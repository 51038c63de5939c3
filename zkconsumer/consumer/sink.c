#include "zkconsumer/consumer/sink.h"
#include <stdlib.h>
#include <string.h>

struct waiting {
    struct waiting *next;
    struct chunk chunk; /* with references of its own to claim and buffer */
    char *text;         /* of a report */
};

struct sink *sink_new(zkc_stream *stream)
{
    struct sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->stream = stream;
    s->told_room = true;
    return s;
}

static void free_waiting(struct waiting *w)
{
    claim_unref(w->chunk.claim);
    if (w->chunk.buffer.owner)
        w->chunk.buffer.release(w->chunk.buffer.owner);
    free(w->text);
    free(w);
}

bool sink_has_room(const struct sink *s)
{
    return !s->first && stream_room(s->stream) > 0;
}

void sink_drain(struct sink *s)
{
    struct waiting **at = &s->first;
    s->last = NULL;
    while (*at) {
        struct waiting *w = *at;
        if (gate_is_closed(&w->chunk.claim->gate)) {
            *at = w->next;
            free_waiting(w);
            continue;
        }
        s->last = w;
        at = &w->next;
    }
    while (s->first) {
        struct waiting *w = s->first;
        if (!stream_push(s->stream, &w->chunk))
            return;
        s->first = w->next;
        w->chunk.buffer.owner = NULL; /* the stream's now */
        free_waiting(w);
    }
    s->last = NULL;
}

bool sink_put(struct sink *s, const struct chunk *chunk)
{
    if (!s->first && stream_push(s->stream, chunk))
        return true;
    struct waiting *w = calloc(1, sizeof *w);
    if (!w)
        return false;
    w->chunk = *chunk;
    claim_ref(chunk->claim);
    if (chunk->text) {
        w->text = strdup(chunk->text);
        w->chunk.text = w->text;
    }
    if (s->last)
        s->last->next = w;
    else
        s->first = w;
    s->last = w;
    return true;
}

void sink_free(struct sink *s)
{
    for (struct waiting *w = s->first, *next; w; w = next) {
        next = w->next;
        free_waiting(w);
    }
    free(s);
}
