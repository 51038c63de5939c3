/* Topic filters of other members: any text is compiled or refused, and judges topics. */
#include "tests/fuzz/fuzz.h"
#include "zkconsumer/core/zk/filter.h"
#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const topics[] = {"orders", "a", "a.b_c-1", "__consumer_offsets", ""};
    char *raw = malloc(size + 1);
    assert(raw);
    if (size)
        memcpy(raw, data, size);
    raw[size] = '\0';
    struct zk_filter *white, *black;
    struct why why;
    enum zkc_err err = zk_filter_new(ZK_PATTERN_WHITE_LIST, raw, false, &white, &why);
    assert((err != ZKC_OK) == (why.text[0] != '\0'));
    assert(zk_filter_new(ZK_PATTERN_BLACK_LIST, raw, false, &black, &why) == err);
    if (!err) {
        for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
            assert(zk_filter_allows(white, topics[i]) != zk_filter_allows(black, topics[i]));
        zk_filter_free(white);
        zk_filter_free(black);
    }
    free(raw);
    return 0;
}
