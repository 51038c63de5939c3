#include "tests/fuzz/wire_message.h"
#include "zkconsumer/core/wire/offset_fetch.h"

static void fields(struct wire_codec *c, void *message)
{
    offset_fetch_request_fields(c, message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct offset_fetch_request message = {0};
    wire_message_fuzz(data, size, fields, &message);
    return 0;
}
