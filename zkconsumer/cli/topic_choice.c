#include "zkconsumer/cli/topic_choice.h"
#include "zkconsumer/cli/names.h"
#include "zkconsumer/core/zk/filter.h"
#include "zkconsumer/core/zk/path.h"

static enum zkc_err compile(const char *expression, struct zk_filter **out, struct why *why)
{
    enum zkc_err err = zk_filter_new(ZK_PATTERN_WHITE_LIST, expression, false, out, why);
    if (err == ZKC_ERR_NOMEM)
        why_set(why, "out of memory");
    return err;
}

bool topic_choice_check(const struct cli_args *args, size_t topic)
{
    struct zk_filter *filter;
    struct why why;
    if (!args->called_as || !cli_args_has(args, topic))
        return names_check_topics(args, topic);
    if (compile(cli_args_text(args, topic, ""), &filter, &why)) {
        report_error("--topic: %s", why.text);
        return false;
    }
    zk_filter_free(filter);
    return true;
}

static enum zkc_err read_matching(struct admin *a, const char *expression, const char **list,
                                  const char *const *all, size_t count, struct topic_choice *out)
{
    struct zk_filter *filter;
    enum zkc_err err = compile(expression, &filter, &a->why);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++)
        if (zk_filter_allows(filter, all[i]))
            list[out->count++] = all[i];
    out->missing = out->count == 0;
    zk_filter_free(filter);
    return ZKC_OK;
}

static bool is_chosen(const struct topic_choice *choice, const char *name)
{
    size_t i = 0;
    while (i < choice->count && strcmp(choice->names[i], name) != 0)
        i++;
    return i < choice->count;
}

static enum zkc_err read_named(struct admin *a, const struct cli_args *args, size_t topic,
                               const char **list, struct topic_choice *out)
{
    enum zkc_err err = ZKC_OK;
    const char *name;
    struct zk_result result;
    for (size_t i = 0; !err && (name = cli_args_value(args, topic, i)); i++) {
        if (is_chosen(out, name))
            continue;
        err = admin_do(a, ZK_OP_EXISTS, zk_path_topic(name), BYTES_NULL, &result);
        if (!err && result.zk_rc == ZK_OK)
            list[out->count++] = name;
        else if (!err)
            out->missing++;
    }
    return err;
}

enum zkc_err topic_choice_read(struct admin *a, const struct cli_args *args, size_t topic,
                               struct topic_choice *out)
{
    bool is_given = cli_args_has(args, topic);
    const char *const *all = NULL;
    size_t count = 0;
    *out = (struct topic_choice){0};
    enum zkc_err err = !is_given || args->called_as ? admin_topics(a, &all, &count) : ZKC_OK;
    const char **list = arena_alloc_array(&a->arena, count + args->given_count, sizeof *list);
    if (err || !list)
        return err ? err : a->arena.failed;
    out->names = list;
    if (is_given && args->called_as)
        return read_matching(a, cli_args_text(args, topic, ""), list, all, count, out);
    if (is_given)
        return read_named(a, args, topic, list, out);
    out->names = all;
    out->count = count;
    return ZKC_OK;
}

void topic_choice_tell_missing(const struct topic_choice *choice, const struct cli_args *args,
                               size_t topic)
{
    const char *name;
    for (size_t i = 0; choice->missing && (name = cli_args_value(args, topic, i)); i++)
        if (!is_chosen(choice, name))
            report_error(args->called_as ? "there is no topic that matches %s"
                                         : "there is no topic %s",
                         name);
}
