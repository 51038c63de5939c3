#include "tests/fuzz/wire_message.h"
#include "zkconsumer/core/wire/find_coordinator.h"

static void fields(struct wire_codec *c, void *message)
{
    find_coordinator_response_fields(c, message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct find_coordinator_response message = {0};
    wire_message_fuzz(data, size, fields, &message);
    return 0;
}
