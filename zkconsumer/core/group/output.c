#include "zkconsumer/core/group/output.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void group_outputs_clear(struct group_outputs *out)
{
    out->count = 0;
    out->text_len = 0;
}

struct group_output *group_emit(struct group_outputs *out, enum group_output_type type)
{
    assert(out->count < GROUP_OUTPUTS_MAX);
    struct group_output *o = &out->list[out->count++];
    memset(o, 0, sizeof *o);
    o->type = type;
    return o;
}

static const char *add_text(struct group_outputs *out, const char *fmt, va_list args)
{
    size_t room = sizeof out->text - out->text_len;
    if (room <= 1)
        return "";
    char *at = out->text + out->text_len;
    int n = vsnprintf(at, room, fmt, args);
    if (n < 0)
        return "";
    out->text_len += (size_t)n < room ? (size_t)n + 1 : room;
    return at;
}

const char *group_text(struct group_outputs *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = add_text(out, fmt, args);
    va_end(args);
    return text;
}

void group_notice(struct group_outputs *out, int level, const char *facility, enum zkc_err err,
                  const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = add_text(out, fmt, args);
    va_end(args);
    struct group_output *o = group_emit(out, GROUP_OUT_NOTICE);
    o->notice.level = level;
    o->notice.facility = facility;
    o->notice.err = err;
    o->notice.text = text;
}

static void hash_bytes(uint64_t *hash, const void *data, size_t len) /* FNV-1a */
{
    for (const uint8_t *p = data; len-- > 0; p++)
        *hash = (*hash ^ *p) * 0x100000001b3u;
}

uint64_t group_view_hash(const struct group_view_member *members, size_t member_count,
                         const struct group_view_topic *topics, size_t topic_count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < member_count; i++)
        hash_bytes(&hash, members[i].consumer_id, strlen(members[i].consumer_id) + 1);
    for (size_t i = 0; i < topic_count; i++) {
        hash_bytes(&hash, topics[i].topic, strlen(topics[i].topic) + 1);
        for (size_t k = 0; k < topics[i].count; k++)
            hash_bytes(&hash, &topics[i].partitions[k], sizeof(int32_t));
    }
    return hash;
}

static void emit_op(struct lane *lane, enum group_lane which, struct group_outputs *out)
{
    lane->parked = false;
    lane->seq++;
    struct group_output *o = group_emit(out, GROUP_OUT_OP);
    o->op.lane = which;
    o->op.seq = lane->seq;
    o->op.op = lane->op;
}

void lane_send(struct lane *lanes, enum group_lane which, const struct zk_op *op, bool connected,
               struct group_outputs *out)
{
    struct lane *lane = &lanes[which];
    assert(!lane->busy);
    lane->op = *op;
    lane->busy = true;
    lane->parked = true;
    if (connected)
        emit_op(lane, which, out);
}

bool lane_answered(struct lane *lane, uint32_t seq, int zk_rc)
{
    if (!lane->busy || lane->parked || lane->seq != seq)
        return false;
    if (zk_rc_is_retriable(zk_rc)) {
        lane->parked = true;
        return false;
    }
    lane->busy = false;
    return true;
}

void lanes_resend(struct lane *lanes, struct group_outputs *out)
{
    for (int i = 0; i < GROUP_LANE_COUNT; i++)
        if (lanes[i].busy && lanes[i].parked)
            emit_op(&lanes[i], (enum group_lane)i, out);
}

void lanes_park(struct lane *lanes)
{
    for (int i = 0; i < GROUP_LANE_COUNT; i++)
        lanes[i].parked = lanes[i].busy;
}

void lane_abandon(struct lane *lane)
{
    lane->busy = false;
    lane->parked = false;
}

int group_offset_compare(const void *a, const void *b)
{
    const struct group_offset *x = a, *y = b;
    return topic_partition_compare((struct topic_partition){x->topic, x->partition},
                                   (struct topic_partition){y->topic, y->partition});
}

const struct group_offset *group_offset_find(const struct group_offset *list, size_t count,
                                             const char *topic, int32_t partition)
{
    struct group_offset want = {.topic = topic, .partition = partition};
    return count ? bsearch(&want, list, count, sizeof *list, group_offset_compare) : NULL;
}
