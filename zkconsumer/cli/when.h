/* Points and spans of time, as written on the command line. */
#ifndef ZKC_CLI_WHEN_H
#define ZKC_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds since 1970: as such a number, or as 2015-02-26T21:33:20, with a fraction of the
 * second (".500") and a zone ("Z", "+01", "+0100", "+01:00"; none: UTC) or without: what
 * kafka-consumer-groups --to-datetime takes, and the same without its milliseconds. False: neither,
 * or before 1970. */
bool when_parse_time(const char *text, int64_t *ms);

/* Milliseconds of PnDTnHnMn.nS, as java.time.Duration.parse() takes it: in capitals or not, each
 * part with a sign or without, and one in front of all. What is less than a millisecond is cut.
 * False: not one, or out of range. */
bool when_parse_duration(const char *text, int64_t *ms);

#endif
