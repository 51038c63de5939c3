/* The settings of topics (/config/topics/TOPIC) as commands give them: KEY=VALUE to be set, KEY to
 * be taken away. */
#ifndef ZKC_CLI_TOPIC_SETTINGS_H
#define ZKC_CLI_TOPIC_SETTINGS_H

#include "zkconsumer/cli/admin.h"
#include "zkconsumer/core/zk/cluster.h"

#define TOPIC_SETTINGS_MAX 64

struct topic_settings {
    struct zk_setting set[TOPIC_SETTINGS_MAX]; /* the texts are owned: key and value in one */
    size_t set_count;
    const char *removed[TOPIC_SETTINGS_MAX]; /* the command line's */
    size_t removed_count;
};

#define TOPIC_SETTINGS_NONE SIZE_MAX /* the command has no such option */

/* By a command's options. A setting that Kafka does not know, or with a value that it cannot read,
 * is refused: a broker that finds one opens no log at its next start (LogConfig.validate). True:
 * the caller ends *s with topic_settings_deinit(); else reported. */
bool topic_settings_init(struct topic_settings *s, const struct cli_args *args, size_t config,
                         size_t delete_config);
void topic_settings_deinit(struct topic_settings *s);

/* Changes them of a topic that is there, and tells the brokers (AdminUtils.changeTopicConfig): what
 * the topic has besides stays; one that is set and taken away is away. */
ZKC_MUST_CHECK enum zkc_err topic_settings_change(const struct topic_settings *s, struct admin *a,
                                                  const char *topic);

#endif
