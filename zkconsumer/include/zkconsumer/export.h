/* Marks of the public interface. */
#ifndef ZKCONSUMER_EXPORT_H
#define ZKCONSUMER_EXPORT_H

#define ZKC_API __attribute__((visibility("default")))
#define ZKC_MUST_CHECK __attribute__((warn_unused_result))
#define ZKC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#endif
