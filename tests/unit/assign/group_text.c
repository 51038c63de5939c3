#include "tests/unit/assign/group_text.h"
#include "tests/unit/test.h"
#include "zkconsumer/core/zk/consumer_id.h"

static void read_strategy(struct group_text *text, char *words)
{
    snprintf(text->name, sizeof text->name, "%s", words);
    vectors_cut(words, ' ');
    for (int s = ASSIGN_RANGE; s <= ASSIGN_ROUNDROBIN; s++)
        if (strcmp(assign_strategy_name(s), words) == 0) {
            text->strategy = s;
            return;
        }
    fail_msg("unknown strategy %s", words);
}

static void read_topic(struct group_text *text, char *words)
{
    size_t t = text->group.topic_count++, n = 0;
    assert_true(t < GROUP_TEXT_TOPICS_MAX);
    char *number = vectors_cut(words, ' ');
    while (number && *number) {
        char *next = vectors_cut(number, ',');
        assert_true(n < GROUP_TEXT_PARTITIONS_MAX);
        text->partitions[t][n++] = (int32_t)atoi(number);
        number = next;
    }
    text->topics[t] = (struct assign_topic){words, text->partitions[t], n};
}

static void read_member(struct group_text *text, char *words)
{
    size_t m = text->group.member_count++, n = 0;
    assert_true(m < GROUP_TEXT_MEMBERS_MAX);
    char *topic = vectors_cut(words, ' ');
    while (topic) {
        char *next = vectors_cut(topic, ' ');
        char *streams = vectors_cut(topic, ':');
        assert_true(n < GROUP_TEXT_TOPICS_MAX && streams);
        text->subscriptions[m][n++] = (struct assign_subscription){topic, atoi(streams)};
        topic = next;
    }
    text->members[m] = (struct assign_member){words, text->subscriptions[m], n};
}

bool group_text_read(struct vectors *v, size_t *at, struct group_text *text)
{
    if (*at == v->count)
        return false;
    memset(text, 0, sizeof *text);
    text->group.members = text->members;
    text->group.topics = text->topics;
    for (; *at < v->count; ++*at) {
        char *line = v->lines[*at];
        char *words = vectors_cut(line, ' ');
        if (strcmp(line, "end") == 0) {
            ++*at;
            return true;
        }
        assert_true(text->owns_count < GROUP_TEXT_LINES_MAX &&
                    text->deals_count < GROUP_TEXT_LINES_MAX);
        if (strcmp(line, "refused") == 0)
            text->is_refused = true;
        else if (strcmp(line, "assign") == 0)
            read_strategy(text, words);
        else if (strcmp(line, "topic") == 0)
            read_topic(text, words);
        else if (strcmp(line, "member") == 0)
            read_member(text, words);
        else if (strcmp(line, "owns") == 0)
            text->owns[text->owns_count++] = words;
        else if (strcmp(line, "deal") == 0)
            text->deals[text->deals_count++] = words;
        else
            fail_msg("unknown line %s", line);
    }
    fail_msg("%s has no end", text->name);
    return false;
}

/* What one thread owns, as its line says it; "" when nothing. */
static void owns_line(const struct group_text *text, const struct assignment *a, size_t member,
                      int32_t thread, char *out, size_t size)
{
    char *id = zk_thread_id(text->members[member].consumer_id, thread);
    const char *topic = NULL;
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < assignment_member_count(a, member); i++) {
        const struct assign_entry *e = assignment_member_entry(a, member, i);
        assert_int_equal(e->member, member);
        if (e->thread != thread)
            continue;
        const char *name = text->topics[e->topic].name;
        if (!topic)
            len += (size_t)snprintf(out + len, size - len, "%s", id);
        if (topic != name)
            len += (size_t)snprintf(out + len, size - len, " %s:%d", name, e->partition);
        else
            len += (size_t)snprintf(out + len, size - len, ",%d", e->partition);
        assert_true(len < size);
        topic = name;
    }
    free(id);
}

static bool is_wanted(const struct group_text *text, const char *line)
{
    for (size_t i = 0; i < text->owns_count; i++)
        if (strcmp(text->owns[i], line) == 0)
            return true;
    return false;
}

/* Lines differ in their thread ids, so as many equal ones as there are wanted are all of them. */
void group_text_check(const struct group_text *text, const struct assignment *a)
{
    size_t lines = 0, entries = 0;
    for (size_t m = 0; m < text->group.member_count; m++) {
        entries += assignment_member_count(a, m);
        for (int32_t thread = 0; thread < 64; thread++) {
            char line[8192];
            owns_line(text, a, m, thread, line, sizeof line);
            if (!line[0])
                continue;
            lines++;
            if (!is_wanted(text, line))
                fail_msg("%s: not wanted: %s", text->name, line);
        }
    }
    if (lines != text->owns_count || entries != a->count)
        fail_msg("%s: %zu threads own something, not %zu; %zu of %zu entries have a member",
                 text->name, lines, text->owns_count, entries, a->count);
}
