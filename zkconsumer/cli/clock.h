/* What commands wait by, and what time it is. */
#ifndef ZKC_CLI_CLOCK_H
#define ZKC_CLI_CLOCK_H

#include <stdint.h>

/* Milliseconds on CLOCK_MONOTONIC: for distances and deadlines within the process. Any thread. */
int64_t clock_now_ms(void);

/* Milliseconds since 1970, by the machine's clock, which may be set. Any thread. */
int64_t clock_wall_ms(void);

#endif
