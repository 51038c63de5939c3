/* Registrations: what is read keeps its bounds, and written again it reads the same, also in Java.
 */
#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/zk/path.h"
#include "zkconsumer/core/zk/registration.h"
#include <assert.h>

static void check_bounds(const struct zk_registration *r)
{
    assert(r->pattern == ZK_PATTERN_STATIC || r->subscription_count == 1);
    assert(!r->subscription_count == !r->subscriptions);
    for (size_t i = 0; i < r->subscription_count; i++) {
        assert(r->subscriptions[i].topic);
        assert(r->subscriptions[i].streams >= 1 && r->subscriptions[i].streams <= ZK_STREAMS_MAX);
    }
}

static void check_again(const struct zk_registration *r)
{
    struct buf once, twice;
    struct zk_registration again;
    struct why java, why;
    buf_init(&once, 8 * ZK_DATA_BYTES_MAX);
    buf_init(&twice, 8 * ZK_DATA_BYTES_MAX);
    zk_registration_write(&once, r);
    assert(!once.failed);
    assert(zk_registration_read(buf_bytes(&once), &again, &java, &why) == ZKC_OK);
    assert(!java.text[0]);
    zk_registration_write(&twice, &again);
    assert(bytes_equal(buf_bytes(&once), buf_bytes(&twice)));
    zk_registration_deinit(&again);
    buf_deinit(&once);
    buf_deinit(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zk_registration r;
    struct why java, why;
    enum zkc_err err = zk_registration_read(bytes_of(data, size), &r, &java, &why);
    assert((err != ZKC_OK) == (why.text[0] != '\0'));
    if (err) {
        assert(err == ZKC_ERR_CORRUPT);
        return 0;
    }
    check_bounds(&r);
    check_again(&r);
    zk_registration_deinit(&r);
    return 0;
}
