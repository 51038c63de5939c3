/* CPU time of the consumer's hot path: going through uncompressed message sets, CRC included,
 * beside zlib's crc32() over the same messages, which any reader of message sets needs at least. */
#include "zkconsumer/core/base/array.h"
#include "zkconsumer/core/wire/crc32.h"
#include "zkconsumer/core/wire/message_set.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define SET_BYTES (1 << 20) /* fetch.message.max.bytes */

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t fill(struct buf *set, size_t value_len)
{
    uint8_t *value = malloc(value_len);
    assert(value);
    for (size_t i = 0; i < value_len; i++)
        value[i] = (uint8_t)(i * 7);
    size_t count = 0;
    for (; set->len + 26 + value_len <= SET_BYTES; count++)
        message_set_append(set, (int64_t)count, BYTES_NULL, bytes_of(value, value_len));
    free(value);
    return count;
}

static size_t iterate(struct bytes set)
{
    static const struct message_iter_limits limits = {.decompressed_bytes_max = SET_BYTES};
    struct message_iter it;
    struct message_view m;
    size_t count = 0;
    message_iter_init(&it, set, &limits);
    while (message_iter_next(&it, &m) == MESSAGE_ITER_MESSAGE)
        count++;
    message_iter_deinit(&it);
    return count;
}

typedef uint32_t crc_fn(const uint8_t *data, size_t len);

static uint32_t crc_of_zlib(const uint8_t *data, size_t len)
{
    return (uint32_t)crc32_z(0, data, len);
}

static uint32_t crc_of_all(struct bytes set, size_t entry_bytes, crc_fn *fn)
{
    uint32_t sum = 0;
    for (size_t at = 0; at + entry_bytes <= set.len; at += entry_bytes)
        sum ^= fn(set.data + at + 16, entry_bytes - 16);
    return sum;
}

static void run(size_t value_len, int rounds)
{
    struct buf set;
    buf_init(&set, SET_BYTES);
    size_t count = fill(&set, value_len), seen = 0;
    double messages = (double)count * rounds, begin = cpu_ns();
    for (int i = 0; i < rounds; i++)
        seen += iterate(buf_bytes(&set));
    double iterating = (cpu_ns() - begin) / messages;
    assert(seen == count * rounds);

    begin = cpu_ns();
    for (int i = 0; i < rounds; i++)
        seen += message_set_extent(buf_bytes(&set)).entries;
    double extent = (cpu_ns() - begin) / messages;

    uint32_t ours = 0, peers = 0;
    begin = cpu_ns();
    for (int i = 0; i < rounds; i++)
        ours += crc_of_all(buf_bytes(&set), value_len + 26, wire_crc32);
    double crc = (cpu_ns() - begin) / messages;
    begin = cpu_ns();
    for (int i = 0; i < rounds; i++)
        peers += crc_of_all(buf_bytes(&set), value_len + 26, crc_of_zlib);
    double zlib = (cpu_ns() - begin) / messages;
    assert(ours == peers);

    printf(
        "%5zu byte values: iterating %5.1f ns per message (%.2f of zlib's CRC alone), shallow look "
        "%4.1f ns, CRC %5.1f ns (%.2f of zlib's %.1f ns)\n",
        value_len, iterating, iterating / zlib, extent, crc, crc / zlib, zlib);
    buf_deinit(&set);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 && strcmp(argv[1], "--smoke") == 0 ? 1 : 200;
    static const size_t sizes[] = {10, 100, 1024, 10240};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        run(sizes[i], rounds);
    return 0;
}
