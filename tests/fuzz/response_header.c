#include "zkconsumer/core/wire/response_header.h"
#include "tests/fuzz/wire_message.h"

static void fields(struct wire_codec *c, void *message)
{
    response_header_fields(c, message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct response_header message = {0};
    wire_message_fuzz(data, size, fields, &message);
    return 0;
}
