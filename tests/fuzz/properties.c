/* Properties files: entries have a key, come with rising line numbers and within the limit; an
 * error names its line. */
#include "zkconsumer/core/base/properties.h"
#include "tests/fuzz/fuzz.h"
#include <assert.h>

static enum zkc_err check(const struct property *p, void *user)
{
    size_t *line = user;
    assert(p->line > *line);
    assert(p->key[0] && strlen(p->key) + strlen(p->value) <= PROPERTIES_LINE_MAX);
    assert(!p->is_trimmed || p->value[0]);
    *line = p->line;
    return ZKC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t line = 0;
    struct why why;
    enum zkc_err err = properties_parse(bytes_of(data, size), check, &line, &why);
    assert(err == ZKC_OK || err == ZKC_ERR_CONFIG);
    assert((err != ZKC_OK) == (strncmp(why.text, "line ", 5) == 0));
    return 0;
}
