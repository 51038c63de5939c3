#include "zkconsumer/core/wire/compression.h"
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/wire/big_endian.h"
#include "zkconsumer/core/wire/gunzip.h"
#include "zkconsumer/core/wire/xxh32.h"
#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>

static const char *const codec_names[] = {
    [COMPRESSION_NONE] = "none",
    [COMPRESSION_GZIP] = "gzip",
    [COMPRESSION_SNAPPY] = "snappy",
    [COMPRESSION_LZ4] = "lz4",
};

const char *compression_codec_name(int codec)
{
    return codec >= 0 && codec < (int)ARRAY_LEN(codec_names) ? codec_names[codec] : NULL;
}

static enum zkc_err corrupt(const char **reason, const char *text)
{
    *reason = text;
    return ZKC_ERR_CORRUPT;
}

static enum zkc_err out_of_memory(const char **reason)
{
    *reason = "out of memory";
    return ZKC_ERR_NOMEM;
}

static enum zkc_err too_large(const char **reason)
{
    *reason = "larger than allowed";
    return ZKC_ERR_TOO_LARGE;
}

/* buf_reserve() with our errors. */
static enum zkc_err reserve(struct buf *out, size_t len, const char **reason)
{
    if (buf_reserve(out, len))
        return ZKC_OK;
    return out->failed == ZKC_ERR_NOMEM ? out_of_memory(reason) : too_large(reason);
}

/* ---- Output of which the size is not known before ---- */

#define SINK_STEP_MIN 4096
#define SINK_RATIO    4 /* what text usually comes to: the first allocation is then the only one */

/* Where the next output goes. At the maximum of the buffer that is one byte beside it: a stream of
 * just that size ends without touching it, what is longer shows itself. */
struct sink {
    struct buf *out;
    size_t step; /* to grow by at least */
    uint8_t *at;
    size_t room;
    uint8_t beyond;
};

static struct sink sink_of(struct buf *out, size_t compressed_len)
{
    size_t guess = SINK_RATIO * compressed_len;
    return (struct sink){.out = out, .step = guess > SINK_STEP_MIN ? guess : SINK_STEP_MIN};
}

static enum zkc_err sink_open(struct sink *s, const char **reason)
{
    struct buf *out = s->out;
    size_t allowed = out->max - out->len;
    if (allowed == 0) {
        s->at = &s->beyond;
        s->room = 1;
        return ZKC_OK;
    }
    if (out->cap <= out->len) {
        enum zkc_err err = reserve(out, allowed < s->step ? allowed : s->step, reason);
        if (err)
            return err;
    }
    s->at = out->data + out->len;
    s->room = out->cap - out->len < allowed ? out->cap - out->len : allowed;
    return ZKC_OK;
}

static enum zkc_err sink_wrote(struct sink *s, size_t len, const char **reason)
{
    if (s->at == &s->beyond)
        return len ? too_large(reason) : ZKC_OK;
    s->out->len += len;
    return ZKC_OK;
}

/* ---- gzip ---- */

#define GZIP_WINDOW_BITS (MAX_WBITS + 16) /* 16: with gzip's header and trailer */

/* Further members belong to the stream; anything else behind a member is ignored, as by Java's
 * GZIPInputStream. */
static bool is_member(struct bytes rest)
{
    return rest.len >= 2 && rest.data[0] == 0x1f && rest.data[1] == 0x8b;
}

static enum zkc_err gzip_members(struct gunzip *g, struct sink *s, const char **reason)
{
    for (;;) {
        enum zkc_err err = sink_open(s, reason);
        if (err)
            return err;
        size_t wrote, room = s->room < UINT32_MAX ? s->room : UINT32_MAX;
        enum gunzip_result result = gunzip_next(g, s->at, room, &wrote);
        err = sink_wrote(s, wrote, reason);
        if (err)
            return err;
        switch (result) {
        case GUNZIP_END:
            if (!is_member(gunzip_rest(g)))
                return ZKC_OK;
            gunzip_next_member(g);
            break;
        case GUNZIP_MORE:
            if (wrote < room)
                return corrupt(reason, "the gzip stream is cut short");
            break;
        case GUNZIP_CORRUPT: return corrupt(reason, "not a gzip stream");
        case GUNZIP_NOMEM: return out_of_memory(reason);
        }
    }
}

static enum zkc_err gzip_decode(struct bytes in, struct buf *out, const char **reason)
{
    if (!is_member(in))
        return corrupt(reason, "not a gzip stream");
    struct gunzip *g = gunzip_new(in);
    if (!g)
        return out_of_memory(reason);
    struct sink s = sink_of(out, in.len);
    enum zkc_err err = gzip_members(g, &s, reason);
    gunzip_free(g);
    return err;
}

static enum zkc_err gzip_encode(struct bytes in, struct buf *out, const char **reason)
{
    z_stream z = {.next_in = (uint8_t *)in.data, .avail_in = (uInt)in.len};
    const int memory_level = 8; /* zlib's default */
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, memory_level,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return out_of_memory(reason);
    size_t bound = deflateBound(&z, (uLong)in.len);
    enum zkc_err err = reserve(out, bound, reason);
    if (!err) {
        z.next_out = out->data + out->len;
        z.avail_out = (uInt)bound;
        deflate(&z, Z_FINISH); /* cannot fail: the room is enough for all of it */
        out->len += bound - z.avail_out;
    }
    deflateEnd(&z);
    return err;
}

/* ---- snappy ---- */

#define XERIAL_HEADER_BYTES 16
#define XERIAL_BLOCK_BYTES  32768 /* before compression; what snappy-java takes by default */

/* Magic, version 1, lowest compatible version 1 (org.xerial.snappy.SnappyCodec). Readers look at
 * the magic only: other writers were free with the versions. */
static const uint8_t xerial_header[XERIAL_HEADER_BYTES] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0,
                                                           0,    0,   0,   1,   0,   0,   0,   1};
#define XERIAL_MAGIC_BYTES 8

/* The densest thing in a block is a copy of 64 bytes in 3: a block that announces more than that is
 * not worth the allocation. */
#define SNAPPY_RATIO_MAX 22

static enum zkc_err snappy_block_decode(struct bytes in, struct buf *out, const char **reason)
{
    size_t len;
    if (snappy_uncompressed_length((const char *)in.data, in.len, &len) != SNAPPY_OK ||
        len / SNAPPY_RATIO_MAX > in.len)
        return corrupt(reason, "not a snappy block");
    enum zkc_err err = reserve(out, len, reason);
    if (err)
        return err;
    if (snappy_uncompress((const char *)in.data, in.len, (char *)out->data + out->len, &len) !=
        SNAPPY_OK)
        return corrupt(reason, "the snappy block is broken");
    out->len += len;
    return ZKC_OK;
}

static enum zkc_err snappy_decode(struct bytes in, struct buf *out, const char **reason)
{
    if (in.len < XERIAL_HEADER_BYTES || memcmp(in.data, xerial_header, XERIAL_MAGIC_BYTES) != 0)
        return snappy_block_decode(in, out, reason);
    for (size_t at = XERIAL_HEADER_BYTES; at < in.len;) {
        if (in.len - at < 4)
            return corrupt(reason, "the snappy stream is cut short");
        int32_t len = read_i32(in.data + at);
        at += 4;
        if (len < 0 || (size_t)len > in.len - at)
            return corrupt(reason, "the snappy stream is cut short");
        enum zkc_err err = snappy_block_decode(bytes_of(in.data + at, (size_t)len), out, reason);
        if (err)
            return err;
        at += (size_t)len;
    }
    return ZKC_OK;
}

static enum zkc_err snappy_block_encode(struct bytes in, struct buf *out, const char **reason)
{
    size_t len = snappy_max_compressed_length(in.len);
    enum zkc_err err = reserve(out, 4 + len, reason);
    if (err)
        return err;
    snappy_compress((const char *)in.data, in.len, (char *)out->data + out->len + 4, &len);
    write_i32(out->data + out->len, (int32_t)len);
    out->len += 4 + len;
    return ZKC_OK;
}

static enum zkc_err snappy_encode(struct bytes in, struct buf *out, const char **reason)
{
    enum zkc_err err = reserve(out, sizeof xerial_header, reason);
    if (err)
        return err;
    buf_append(out, xerial_header, sizeof xerial_header);
    for (size_t at = 0; at < in.len && !err; at += XERIAL_BLOCK_BYTES) {
        size_t len = in.len - at < XERIAL_BLOCK_BYTES ? in.len - at : XERIAL_BLOCK_BYTES;
        err = snappy_block_encode(bytes_of(in.data + at, len), out, reason);
    }
    return err;
}

/* ---- lz4 ---- */

#define LZ4_FRAME_MAGIC_BYTES      4
#define LZ4_FRAME_HEADER_BYTES     7  /* magic, FLG, BD, checksum */
#define LZ4_FRAME_HEADER_BYTES_MAX 15 /* with the size of the contents */
#define LZ4_FLG_CONTENT_SIZE       0x08
#define LZ4_FLG_DICTIONARY         0x01

static uint8_t lz4_checksum(const uint8_t *data, size_t len)
{
    return (uint8_t)(wire_xxh32(data, len) >> 8);
}

/* The checksum as Java 0.8 and 0.9 calculate it, and as the specification wants it, of a header of
 * `len` bytes, its own one included. */
static uint8_t lz4_checksum_java(const uint8_t *header, size_t len)
{
    return lz4_checksum(header, len - 1);
}

static uint8_t lz4_checksum_right(const uint8_t *header, size_t len)
{
    return lz4_checksum(header + LZ4_FRAME_MAGIC_BYTES, len - 1 - LZ4_FRAME_MAGIC_BYTES);
}

/* Copies the header with the checksum that liblz4 wants to see. */
static enum zkc_err lz4_read_header(struct bytes in, uint8_t *header, size_t *len,
                                    const char **reason)
{
    static const uint8_t magic[LZ4_FRAME_MAGIC_BYTES] = {0x04, 0x22, 0x4d, 0x18};
    if (in.len < LZ4_FRAME_HEADER_BYTES || memcmp(in.data, magic, sizeof magic) != 0)
        return corrupt(reason, "not an lz4 frame");
    uint8_t flags = in.data[LZ4_FRAME_MAGIC_BYTES];
    if (flags & LZ4_FLG_DICTIONARY)
        return corrupt(reason, "the lz4 frame needs a dictionary");
    *len = flags & LZ4_FLG_CONTENT_SIZE ? LZ4_FRAME_HEADER_BYTES_MAX : LZ4_FRAME_HEADER_BYTES;
    if (in.len < *len)
        return corrupt(reason, "the lz4 frame is cut short");
    memcpy(header, in.data, *len);
    uint8_t right = lz4_checksum_right(header, *len);
    if (header[*len - 1] != right && header[*len - 1] != lz4_checksum_java(header, *len))
        return corrupt(reason, "the header checksum of the lz4 frame is wrong");
    header[*len - 1] = right;
    return ZKC_OK;
}

static enum zkc_err lz4_blocks(LZ4F_dctx *dctx, struct bytes in, struct sink *s,
                               const char **reason)
{
    for (size_t at = 0;;) {
        enum zkc_err err = sink_open(s, reason);
        if (err)
            return err;
        size_t read = in.len - at, wrote = s->room;
        size_t rc = LZ4F_decompress(dctx, s->at, &wrote, in.data + at, &read, NULL);
        if (LZ4F_isError(rc))
            return corrupt(reason, "the lz4 frame is broken");
        err = sink_wrote(s, wrote, reason);
        if (err)
            return err;
        if (rc == 0)
            return ZKC_OK; /* what follows the end mark is ignored, as by Java */
        at += read;
        if ((at == in.len || read == 0) && wrote < s->room)
            return corrupt(reason, "the lz4 frame is cut short");
    }
}

static enum zkc_err lz4_decode(struct bytes in, struct buf *out, const char **reason)
{
    uint8_t header[LZ4_FRAME_HEADER_BYTES_MAX];
    size_t header_len;
    enum zkc_err err = lz4_read_header(in, header, &header_len, reason);
    if (err)
        return err;
    LZ4F_dctx *dctx;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&dctx, LZ4F_VERSION)))
        return out_of_memory(reason);
    struct sink s = sink_of(out, in.len);
    size_t read = header_len, wrote = 0;
    size_t rc = LZ4F_decompress(dctx, &s.beyond, &wrote, header, &read, NULL);
    if (LZ4F_isError(rc) || read != header_len)
        err = corrupt(reason, "the header of the lz4 frame is broken");
    else
        err = lz4_blocks(dctx, bytes_of(in.data + header_len, in.len - header_len), &s, reason);
    LZ4F_freeDecompressionContext(dctx);
    return err;
}

static enum zkc_err lz4_encode(struct bytes in, struct buf *out, const char **reason)
{
    static const LZ4F_preferences_t preferences = {
        .frameInfo = {.blockSizeID = LZ4F_max64KB, .blockMode = LZ4F_blockIndependent}};
    size_t bound = LZ4F_compressFrameBound(in.len, &preferences);
    enum zkc_err err = reserve(out, bound, reason);
    if (err)
        return err;
    uint8_t *frame = out->data + out->len;
    size_t len = LZ4F_compressFrame(frame, bound, in.data, in.len, &preferences);
    if (LZ4F_isError(len))
        return out_of_memory(reason); /* the only failure left: the room is enough */
    frame[LZ4_FRAME_HEADER_BYTES - 1] = lz4_checksum_java(frame, LZ4_FRAME_HEADER_BYTES);
    out->len += len;
    return ZKC_OK;
}

/* ---- All ---- */

typedef enum zkc_err code_fn(struct bytes in, struct buf *out, const char **reason);

/* Runs one; a failure leaves `out` as it was. */
static enum zkc_err run(code_fn *fn, struct bytes in, struct buf *out, const char **reason)
{
    if (out->failed == ZKC_ERR_NOMEM)
        return out_of_memory(reason);
    if (out->failed || in.len > INT32_MAX)
        return too_large(reason);
    size_t before = out->len;
    enum zkc_err err = fn(in, out, reason);
    if (err) {
        out->len = before;
        out->failed = ZKC_OK;
    }
    return err;
}

enum zkc_err compression_decode(int codec, struct bytes in, struct buf *out, const char **reason)
{
    switch (codec) {
    case COMPRESSION_GZIP: return run(gzip_decode, in, out, reason);
    case COMPRESSION_SNAPPY: return run(snappy_decode, in, out, reason);
    case COMPRESSION_LZ4: return run(lz4_decode, in, out, reason);
    default: return corrupt(reason, "the compression codec is unknown");
    }
}

enum zkc_err compression_encode(int codec, struct bytes in, struct buf *out, const char **reason)
{
    switch (codec) {
    case COMPRESSION_GZIP: return run(gzip_encode, in, out, reason);
    case COMPRESSION_SNAPPY: return run(snappy_encode, in, out, reason);
    case COMPRESSION_LZ4: return run(lz4_encode, in, out, reason);
    default: return corrupt(reason, "the compression codec is unknown");
    }
}
