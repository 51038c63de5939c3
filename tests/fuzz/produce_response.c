#include "tests/fuzz/wire_message.h"
#include "zkconsumer/core/wire/produce.h"

static void fields(struct wire_codec *c, void *message)
{
    produce_response_fields(c, message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct produce_response message = {0};
    wire_message_fuzz(data, size, fields, &message);
    return 0;
}
