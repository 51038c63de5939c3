/* Brokers' registrations: an address that can be used, or the reason why there is none. */
#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/zk/broker.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zk_broker b;
    struct why why;
    enum zkc_err err = zk_broker_read(bytes_of(data, size), &b, &why);
    assert((err != ZKC_OK) == (why.text[0] != '\0'));
    if (err) {
        assert(err == ZKC_ERR_CORRUPT || err == ZKC_ERR_UNREACHABLE);
        return 0;
    }
    assert(b.host[0] && strlen(b.host) <= 255);
    assert(b.port >= 1 && b.port <= 65535 && b.version >= 0);
    zk_broker_deinit(&b);
    return 0;
}
