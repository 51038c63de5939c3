/* How Kafka's console consumer and its simple consumer shell are told to write messages: formatters
 * by class, and their properties. Made into a format (format.h). */
#ifndef ZKC_CLI_PRINTING_H
#define ZKC_CLI_PRINTING_H

#include "zkconsumer/cli/format.h"

struct printing {
    const char *formatter;                      /* class; NULL: the default one */
    bool with_key;                              /* print.key */
    const char *key_separator, *line_separator; /* escapes not yet replaced */
    const char *topic; /* of the checksum formatter: written in front; NULL: nothing */
};

#define PRINTING_DEFAULT                                                                           \
    {                                                                                              \
        .key_separator = "\t", .line_separator = "\n"                                              \
    }

/* True if the property is a formatter's (print.key, key.separator, line.separator, topic). The
 * value is borrowed as long as *p. */
bool printing_take(struct printing *p, const char *key, const char *value);

/* On success the caller ends *out with format_deinit(); else reported: an unknown formatter or
 * escape. Known are DefaultMessageFormatter, NoOpMessageFormatter and ChecksumMessageFormatter,
 * with their package (kafka.tools, kafka.consumer) or without. */
bool printing_make(const struct printing *p, struct format *out);

#endif
