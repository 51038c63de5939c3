#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/zk/path.h"

bool names_check_group(const char *group)
{
    struct why why;
    if (zk_check_group(group, &why) == ZKC_OK)
        return true;
    report_error("--group: %s", why.text);
    return false;
}

bool names_check_topic(const char *topic)
{
    struct why why;
    if (zk_check_topic(topic, &why) == ZKC_OK)
        return true;
    report_error("--topic: %s", why.text);
    return false;
}

static bool check_all(const struct cli_args *args, size_t option, bool (*check)(const char *))
{
    const char *name;
    for (size_t i = 0; (name = cli_args_value(args, option, i)); i++)
        if (!check(name))
            return false;
    return true;
}

bool names_check_groups(const struct cli_args *args, size_t option)
{
    return check_all(args, option, names_check_group);
}

bool names_check_topics(const struct cli_args *args, size_t option)
{
    return check_all(args, option, names_check_topic);
}
