/* zookeeper.connect: what is taken is taken in its canonical form too, which stays as it is. */
#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/zk/connect.h"
#include <assert.h>
#include <stdlib.h>

static void check_canonical(const struct zk_connect *c)
{
    struct zk_connect again;
    struct buf once, twice;
    struct why why;
    buf_init(&once, 8 * ZK_CONNECT_TEXT_MAX);
    buf_init(&twice, 8 * ZK_CONNECT_TEXT_MAX);
    zk_connect_format(c, &once);
    const char *text = buf_text(&once);
    assert(text);
    if (once.len <= ZK_CONNECT_TEXT_MAX) { /* named ports may have made it too long */
        assert(zk_connect_parse(text, &again, &why) == ZKC_OK);
        zk_connect_format(&again, &twice);
        assert(bytes_equal(buf_bytes(&once), buf_bytes(&twice)));
        zk_connect_deinit(&again);
    }
    buf_deinit(&once);
    buf_deinit(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zk_connect c;
    struct why why;
    char *text = malloc(size + 1);
    assert(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    enum zkc_err err = zk_connect_parse(text, &c, &why);
    assert((err != ZKC_OK) == (why.text[0] != '\0'));
    if (!err) {
        assert(c.host_count >= 1 && c.host_count <= ZK_CONNECT_HOSTS_MAX);
        assert(!c.chroot[0] || c.chroot[0] == '/');
        check_canonical(&c);
        zk_connect_deinit(&c);
    }
    free(text);
    return 0;
}
