/* Names in a log directory (Kafka's kafka.log.Log, LogManager; broker-zookeeper 3.1):
 *
 *   <log.dir>/<topic>-<partition>/00000000000000000000.log     20 digits: the base offset
 *                                 00000000000000000000.index
 *             .kafka_cleanshutdown                             empty; see CLEAN_SHUTDOWN_FILE */
#ifndef ZKC_BROKER_LOG_NAMES_H
#define ZKC_BROKER_LOG_NAMES_H

#include "zkconsumer/core/base/topic_partition.h"
#include <stdbool.h>
#include <stddef.h>

#define LOG_LOCK_FILE           ".lock"
#define LOG_RECOVERY_POINT_FILE "recovery-point-offset-checkpoint"
#define LOG_HIGH_WATERMARK_FILE "replication-offset-checkpoint"

/* Written, empty, as the very last of a clean stop, when everything is flushed and the checkpoints
 * are written. Where it is found at the start, all logs are taken as whole: the recovery point is
 * the log's end. Remove it before the first append, or it vouches for what a later crash tore. */
#define LOG_CLEAN_SHUTDOWN_FILE ".kafka_cleanshutdown"

/* Longest topic name whose folder fits a file name of 255 bytes with any partition up to 99999:
 * Kafka's own limit since 0.9 (KAFKA-1654); 0.8 allowed 255 and failed at the file system. Topics
 * are created up to this length. */
#define LOG_TOPIC_NAME_MAX 249

enum log_file_kind {
    LOG_FILE_SEGMENT, /* .log */
    LOG_FILE_INDEX,   /* .index: delete when its .log is missing */
    LOG_FILE_DELETED, /* any ".deleted": delete */
    LOG_FILE_CLEANED, /* any ".cleaned", a compaction that was not finished: delete */
    LOG_FILE_SWAP,    /* ".log.swap", a compaction that was: delete the segment's index, rename it
                       * to .log (replacing), rebuild the index */
    LOG_FILE_SWAP_INDEX, /* ".index.swap": delete */
    LOG_FILE_OTHER,      /* not ours, or of a later release (.timeindex): leave alone */
};

/* What a file in a partition's folder is, and the base offset in its name (SEGMENT, INDEX, SWAP).
 */
enum log_file_kind log_file_kind(const char *name, int64_t *base_offset);

#define LOG_FILE_NAME_SIZE 40

/* "00000000000000000035.log"; `suffix` as ".log", ".index", ".log.deleted". base_offset >= 0. */
void log_file_name(int64_t base_offset, const char *suffix, char out[LOG_FILE_NAME_SIZE]);

#define LOG_FOLDER_NAME_SIZE (TOPIC_NAME_MAX + 12)

/* "<topic>-<partition>" */
void log_folder_name(const char *topic, int32_t partition, char out[LOG_FOLDER_NAME_SIZE]);

/* Takes a folder's name apart at its last dash. False: no partition's folder (no dash, no canonical
 * number 0 .. 2^31-1 behind it, no topic name that Kafka allows). */
bool log_folder_parse(const char *name, char topic[TOPIC_NAME_MAX + 1], int32_t *partition);

#endif
