/* Shared by partition*.c. */
#ifndef BROKER_IO_PARTITION_INTERNAL_H
#define BROKER_IO_PARTITION_INTERNAL_H

#include "broker/core/log_names.h"
#include "broker/core/segment_scan.h"
#include "broker/io/clock.h"
#include "broker/io/file_ref.h"
#include "broker/io/journal.h"
#include "broker/io/partition.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sys/types.h>

struct segment_file {
    struct file_ref *log;
    int index_fd;    /* of the active segment; else -1 */
    void *index_map; /* of a segment that was loaded, lent to its index; NULL */
    size_t index_map_len;
};

enum partition_state {
    PARTITION_ONLINE,
    PARTITION_READ_ONLY, /* a write or a flush failed */
    PARTITION_UNREADABLE,
    PARTITION_DELETED,
};

struct partition {
    atomic_uint refs;
    struct partition_env env;
    char *path; /* of its folder */
    char name[LOG_FOLDER_NAME_SIZE];
    char topic[TOPIC_NAME_MAX + 1];
    int32_t number;

    pthread_mutex_t writer;
    bool is_folder_synced; /* the folder's entries are on disk; under writer */

    pthread_mutex_t view; /* of all below */
    enum partition_state state;
    struct why fault;
    struct partition_log log;
    struct {
        int64_t offset;      /* readers see what is below */
        int64_t base_offset; /* the segment that it lies in */
        uint32_t position;   /* and where */
    } visible;
    struct read_waiter *readers;
    struct flush_waiter *flushers;

    struct loop_item flush_item; /* on env.flusher; holds a reference while it is posted */
    atomic_bool flush_is_asked;
};

struct partition *partition_new(const struct partition_env *env, const char *dir, const char *topic,
                                int32_t number, const struct log_config *config);

/* Opens or creates <base><suffix> in the partition's folder; -1: errno. */
int partition_open(const struct partition *p, int64_t base_offset, const char *suffix, int flags);

/* "<folder>/<base><suffix>" */
void partition_file_path(const struct partition *p, int64_t base_offset, const char *suffix,
                         char *out, size_t size);

/* An empty segment's two files. NULL: errno. */
struct segment_file *segment_file_create(const struct partition *p, int64_t base_offset);
void segment_file_free(struct segment_file *f);

/* All of the bytes, or -1 and errno. */
int write_all_at(int fd, const uint8_t *data, size_t len, off_t offset);

/* The state after a failure; says so in the journal. */
void partition_fail(struct partition *p, enum partition_state state, const char *what, int error);

void partition_show_all(struct partition *p); /* visible: the log's end; under view */

#endif
