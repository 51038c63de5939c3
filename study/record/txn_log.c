#include "study/record/txn_log.h"
#include "study/record/jute.h"
#include "zkconsumer/core/wire/big_endian.h"
#include <inttypes.h>
#include <zlib.h>

#define MAGIC      UINT32_C(0x5a4b4c47) /* ZKLG */
#define VERSION    2
#define HEAD_BYTES 16
#define FRAME_HEAD 12 /* checksum and length */
#define TXN_MIN    32 /* its header */

/* ZooDefs.OpCode */
enum {
    OP_ERROR = -1,
    OP_CREATE_SESSION = -10,
    OP_CLOSE_SESSION = -11,
    OP_CREATE = 1,
    OP_DELETE = 2,
    OP_SET_DATA = 5,
    OP_CHECK = 13,
    OP_MULTI = 14,
    OP_CREATE2 = 15,
    OP_CREATE_CONTAINER = 19,
    OP_DELETE_CONTAINER = 20,
    OP_CREATE_TTL = 21,
};

bool txn_log_open(struct txn_log *l, struct bytes file, struct why *why)
{
    struct jute j = jute_of(file);
    uint32_t magic = (uint32_t)jute_i32(&j);
    int32_t version = jute_i32(&j);
    l->file = file;
    l->at = HEAD_BYTES;
    if (file.len < HEAD_BYTES || magic != MAGIC) {
        why_set(why, "expected a transaction log of ZooKeeper, which begins with ZKLG");
        return false;
    }
    if (version != VERSION)
        why_set(why, "expected version %d of the transaction log, found %d", VERSION, version);
    return version == VERSION;
}

static enum txn_kind kind_of(int32_t op)
{
    switch (op) {
    case OP_CREATE:
    case OP_CREATE2:
    case OP_CREATE_CONTAINER:
    case OP_CREATE_TTL: return TXN_CREATE;
    case OP_DELETE:
    case OP_DELETE_CONTAINER: return TXN_DELETE;
    case OP_SET_DATA: return TXN_SET;
    case OP_CHECK: return TXN_CHECK;
    case OP_CREATE_SESSION: return TXN_CREATE_SESSION;
    case OP_CLOSE_SESSION: return TXN_CLOSE_SESSION;
    case OP_ERROR: return TXN_ERROR;
    case OP_MULTI: return TXN_MULTI;
    default: return TXN_OTHER;
    }
}

static void read_acls(struct jute *j)
{
    for (int32_t n = jute_count(j, 12); n > 0 && !j->failed; n--) {
        jute_i32(j);
        jute_bytes(j);
        jute_bytes(j);
    }
}

/* A record that changes one node, or none. */
static void read_part(struct jute *j, int32_t op, struct txn_part *out)
{
    *out = (struct txn_part){.kind = kind_of(op)};
    switch (out->kind) {
    case TXN_CREATE:
        out->path = jute_bytes(j);
        out->data = jute_bytes(j);
        read_acls(j);
        out->is_ephemeral = (op == OP_CREATE || op == OP_CREATE2) && jute_bool(j);
        break;
    case TXN_SET:
        out->path = jute_bytes(j);
        out->data = jute_bytes(j);
        break;
    case TXN_DELETE:
    case TXN_CHECK: out->path = jute_bytes(j); break;
    default: break;
    }
}

static void read_multi(struct txn_log *l, struct jute *j, struct txn *out)
{
    int32_t n = jute_count(j, 8);
    j->failed = j->failed || n > TXN_PARTS_MAX;
    for (int32_t i = 0; i < n && !j->failed; i++) {
        int32_t op = jute_i32(j);
        struct jute record = jute_of(jute_bytes(j));
        read_part(&record, op, &l->parts[i]);
        j->failed = j->failed || record.failed;
        if (l->parts[i].kind == TXN_ERROR)
            out->kind = TXN_ERROR;
    }
    out->part_count = out->kind == TXN_MULTI && !j->failed ? (size_t)n : 0;
}

static bool read_txn(struct txn_log *l, struct bytes text, struct txn *out)
{
    struct jute j = jute_of(text);
    *out = (struct txn){.session = (uint64_t)jute_i64(&j), .parts = l->parts};
    out->cxid = jute_i32(&j);
    out->zxid = jute_i64(&j);
    out->time_ms = jute_i64(&j);
    int32_t op = jute_i32(&j);
    out->kind = kind_of(op);
    if (out->kind == TXN_MULTI) {
        read_multi(l, &j, out);
    } else if (out->kind >= TXN_CREATE && out->kind <= TXN_CHECK) {
        read_part(&j, op, &l->parts[0]);
        out->part_count = 1;
    }
    return !j.failed;
}

static enum txn_next broken(const struct txn_log *l, struct why *why, const char *what)
{
    why_set(why, "at byte %zu: %s", l->at, what);
    return TXN_BROKEN;
}

enum txn_next txn_log_next(struct txn_log *l, struct txn *out, struct why *why)
{
    size_t left = l->file.len - l->at;
    const uint8_t *frame = l->file.data + l->at;
    why_clear(why);
    if (left == 0)
        return TXN_END;
    if (left < FRAME_HEAD)
        return broken(l, why, "the file is cut short");
    int64_t sum = read_i64(frame);
    int32_t len = read_i32(frame + 8);
    if (len == 0 && sum == 0)
        return TXN_END; /* room that was made ahead */
    if (len < TXN_MIN)
        return broken(l, why, "expected a transaction of at least 32 bytes");
    if ((size_t)len >= left - FRAME_HEAD)
        return broken(l, why, "the file is cut short in the middle of a transaction");
    const uint8_t *text = frame + FRAME_HEAD;
    if (text[len] != 'B')
        return broken(l, why, "a transaction was not written to its end");
    if (sum != (int64_t)adler32(adler32(0, NULL, 0), text, (uInt)len))
        return broken(l, why, "the checksum of a transaction is wrong");
    if (!read_txn(l, bytes_of(text, (size_t)len), out))
        return broken(l, why, "a transaction that cannot be read");
    l->at += FRAME_HEAD + (size_t)len + 1;
    return TXN_NEXT;
}
