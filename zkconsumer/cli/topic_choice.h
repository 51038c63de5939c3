/* What --topic means to the commands about topics that are there: a name, which may come several
 * times; under a name of Kafka's an expression of Java's that whole names have to match, where ','
 * is '|' (TopicCommand.getTopics, a Whitelist, internal topics included). */
#ifndef ZKC_CLI_TOPIC_CHOICE_H
#define ZKC_CLI_TOPIC_CHOICE_H

#include "zkconsumer/cli/admin.h"

#define OPTION_TOPICS                                                                              \
    {                                                                                              \
        "topic", 't', "TOPIC", true, "The topic; may be given several times."                      \
    }
#define OPTION_IF_EXISTS                                                                           \
    {                                                                                              \
        "if-exists", 0, NULL, false, "No such topic is no error."                                  \
    }

struct topic_choice {
    const char *const *names; /* in the arena of the `admin`; an expression's are sorted */
    size_t count;
    size_t missing; /* how many that were asked for are not there; an expression that nothing
                     * matches is one */
};

/* Whether the option's values may be what they should; else reported. */
bool topic_choice_check(const struct cli_args *args, size_t topic);

/* Without the option: all topics. */
ZKC_MUST_CHECK enum zkc_err topic_choice_read(struct admin *a, const struct cli_args *args,
                                              size_t topic, struct topic_choice *out);

/* Reports what was asked for and is not there. */
void topic_choice_tell_missing(const struct topic_choice *choice, const struct cli_args *args,
                               size_t topic);

#endif
