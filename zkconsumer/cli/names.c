#include "zkconsumer/cli/names.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/zk/filter.h"
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

bool names_check_filter(const struct zkc_filter *filter)
{
    bool is_white = filter->kind == ZKC_FILTER_WHITELIST;
    struct zk_filter *compiled;
    struct why why;
    enum zkc_err err = zk_filter_new(is_white ? ZK_PATTERN_WHITE_LIST : ZK_PATTERN_BLACK_LIST,
                                     filter->topics, true, &compiled, &why);
    if (err)
        report_error("%s: %s", is_white ? "--whitelist" : "--blacklist",
                     err == ZKC_ERR_NOMEM ? zkc_err_text(err) : why.text);
    else
        zk_filter_free(compiled);
    return !err;
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
