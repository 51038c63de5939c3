/* What commands wait by. */
#ifndef ZKC_CLI_CLOCK_H
#define ZKC_CLI_CLOCK_H

#include <stdint.h>

/* Milliseconds on CLOCK_MONOTONIC: for distances and deadlines within the process. Any thread. */
int64_t clock_now_ms(void);

#endif
