/* What every fuzzer includes. */
#ifndef ZKC_FUZZ_H
#define ZKC_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The entry point: any bytes. Always returns 0; what must not be ends the program, by assert() or
 * a sanitizer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
