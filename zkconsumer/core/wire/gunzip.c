#include "zkconsumer/core/wire/gunzip.h"
#include <stdlib.h>

#ifdef ZKC_HAVE_ISAL
#include <isa-l/igzip_lib.h>

struct gunzip {
    struct inflate_state state; /* 87 KB */
};

struct gunzip *gunzip_new(struct bytes in)
{
    struct gunzip *g = malloc(sizeof *g); /* its own calls set what they read */
    if (!g)
        return NULL;
    isal_inflate_init(&g->state);
    g->state.crc_flag = ISAL_GZIP;
    g->state.next_in = (uint8_t *)in.data;
    g->state.avail_in = (uint32_t)in.len;
    return g;
}

void gunzip_free(struct gunzip *g)
{
    free(g);
}

enum gunzip_result gunzip_next(struct gunzip *g, uint8_t *out, size_t room, size_t *wrote)
{
    struct inflate_state *s = &g->state;
    s->next_out = out;
    s->avail_out = (uint32_t)room;
    int rc = isal_inflate(s);
    *wrote = room - s->avail_out;
    if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT)
        return GUNZIP_CORRUPT;
    return s->block_state == ISAL_BLOCK_FINISH ? GUNZIP_END : GUNZIP_MORE;
}

struct bytes gunzip_rest(const struct gunzip *g)
{
    return bytes_of(g->state.next_in, g->state.avail_in);
}

void gunzip_next_member(struct gunzip *g)
{
    isal_inflate_reset(&g->state);
}

#else
#include <zlib.h>

#define GZIP_WINDOW_BITS (MAX_WBITS + 16) /* 16: with gzip's header and trailer */

struct gunzip {
    z_stream z;
};

struct gunzip *gunzip_new(struct bytes in)
{
    struct gunzip *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->z.next_in = (uint8_t *)in.data;
    g->z.avail_in = (uInt)in.len;
    if (inflateInit2(&g->z, GZIP_WINDOW_BITS) != Z_OK) {
        free(g);
        return NULL;
    }
    return g;
}

void gunzip_free(struct gunzip *g)
{
    if (!g)
        return;
    inflateEnd(&g->z);
    free(g);
}

enum gunzip_result gunzip_next(struct gunzip *g, uint8_t *out, size_t room, size_t *wrote)
{
    g->z.next_out = out;
    g->z.avail_out = (uInt)room;
    int rc = inflate(&g->z, Z_NO_FLUSH);
    *wrote = room - g->z.avail_out;
    switch (rc) {
    case Z_STREAM_END: return GUNZIP_END;
    case Z_OK:
    case Z_BUF_ERROR: return GUNZIP_MORE;
    case Z_MEM_ERROR: return GUNZIP_NOMEM;
    default: return GUNZIP_CORRUPT;
    }
}

struct bytes gunzip_rest(const struct gunzip *g)
{
    return bytes_of(g->z.next_in, g->z.avail_in);
}

void gunzip_next_member(struct gunzip *g)
{
    inflateReset(&g->z);
}
#endif
