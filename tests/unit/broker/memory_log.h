/* A partition's folder in memory, driven as partition_log.h says: the shell of a log, for tests. */
#ifndef ZKC_TEST_MEMORY_LOG_H
#define ZKC_TEST_MEMORY_LOG_H

#include "broker/core/partition_log.h"
#include "broker/core/segment_scan.h"

/* A segment's files. */
struct segment_file {
    int64_t base_offset;
    struct buf log;
    struct buf index;
};

struct memory_folder {
    struct segment_file **files; /* ascending; owned */
    size_t count;
};

struct segment_file *memory_folder_add(struct memory_folder *f, int64_t base_offset);
void memory_folder_free(struct memory_folder *f);

/* Reads the .log and .index files of a folder on disk. */
struct memory_folder memory_folder_read(const char *path);

/* Loads all of it, checking what needs it and cutting what does not hold, `chunk` bytes at a time
 * (0: at once). */
void memory_log_load(struct partition_log *log, struct memory_folder *f,
                     const struct log_config *config, int64_t recovery_point, size_t chunk,
                     int64_t now_ms);

/* One whole append. The set is changed. */
enum kafka_error memory_log_append(struct partition_log *log, struct memory_folder *f,
                                   struct log_append *a, uint8_t *set, size_t len, int64_t now_ms);

/* What a fetch is answered, at most max_bytes. */
enum log_locate_result memory_log_read(const struct partition_log *log, int64_t offset,
                                       size_t max_bytes, struct bytes *out);

/* Deletes what has expired, files included; returns how many segments. */
size_t memory_log_expire(struct partition_log *log, struct memory_folder *f, int64_t now_ms);

#endif
