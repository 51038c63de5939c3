/* All partitions that this broker keeps, in the folders of log.dirs: locked against a second
 * broker, loaded at the start, checked after a crash, written down in checkpoints, trimmed by
 * retention. Files have Kafka's names and contents: a Kafka 0.8.2 can take a folder over, and its
 * folders can be taken over. Finding is for any thread, the rest for the main thread. */
#ifndef BROKER_IO_STORE_H
#define BROKER_IO_STORE_H

#include "broker/io/partition.h"

struct config;
struct store;

struct log_config store_log_config(const struct config *config);

/* Opens, locks and loads the folders. NULL: `why`. */
struct store *store_open(const struct config *config, struct journal *journal, struct why *why);

/* Begins retention, checkpoints and flushes by time. False: `why`. */
bool store_start(struct store *s, struct why *why);

/* Ends the threads; flushes that were asked for are forgotten. NULL is allowed. */
void store_stop(struct store *s);

/* Stops, and closes the files. is_orderly: flushes everything first, and writes the checkpoints and
 * the mark of a clean stop. Nothing may be appended any more. NULL is allowed. */
void store_close(struct store *s, bool is_orderly);

/* A reference to the partition, which is created if it is not there. NULL: `why`. */
struct partition *store_host(struct store *s, const char *topic, int32_t number,
                             const struct log_config *config, struct why *why);

/* A reference to a partition that is there; NULL: it is not. */
struct partition *store_find(struct store *s, const char *topic, int32_t number);

/* Settings of a topic for all its partitions here. */
void store_configure(struct store *s, const char *topic, const struct log_config *config);

/* Removes a partition and its folder. */
void store_delete(struct store *s, const char *topic, int32_t number);

size_t store_partition_count(struct store *s);

#endif
