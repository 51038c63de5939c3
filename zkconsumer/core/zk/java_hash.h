/* Two rules of Java strings that decide assignments: their order and their hash. Both go by UTF-16
 * units; here over UTF-8 text. An invalid byte counts as U+FFFD, as when Java decodes it. */
#ifndef ZKC_ZK_JAVA_HASH_H
#define ZKC_ZK_JAVA_HASH_H

#include <stdint.h>

/* String.hashCode: h = 31 * h + unit over all units, modulo 2^32, read as signed. */
int32_t java_hash(const char *text);

/* The hash of "[topic,partition]" (TopicAndPartition.toString), which orders round robin. */
int32_t java_hash_partition(const char *topic, int32_t partition);

/* String.compareTo: by unit, a proper prefix first. For ASCII this is strcmp. */
int java_compare(const char *a, const char *b);

#endif
