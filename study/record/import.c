#include "study/record/import.h"
#include "study/record/import_state.h"
#include "zkconsumer/core/zk/topic.h"
#include <assert.h>
#include <stdlib.h>

#define ARENA_MAX      ((size_t)4 * 1024 * 1024 * 1024)
#define ITEMS_MAX      50000000
#define NAMES_MAX      10000000
#define DATA_MAX       65536 /* of a node, that is kept; more is nothing that members write */
#define PENDING_MAX    65536
#define UNSEEN_SESSION (UINT64_C(0xffffffff) << 32)

struct import *import_new(const struct import_options *options)
{
    struct import *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->options = *options;
    x->session_timeout_ms = -1;
    arena_init(&x->arena, ARENA_MAX);
    names_init(&x->link_names, NAMES_MAX);
    names_init(&x->path_names, NAMES_MAX);
    names_init(&x->session_names, NAMES_MAX);
    names_init(&x->member_names, NAMES_MAX);
    names_init(&x->topic_names, NAMES_MAX);
    return x;
}

void import_free(struct import *x)
{
    if (!x)
        return;
    for (uint32_t i = 0; i < x->link_names.count && x->links; i++)
        free(x->links[i].pending);
    free(x->items);
    free(x->logged);
    free(x->links);
    free(x->sessions);
    free(x->outs);
    names_deinit(&x->link_names);
    names_deinit(&x->path_names);
    names_deinit(&x->session_names);
    names_deinit(&x->member_names);
    names_deinit(&x->topic_names);
    arena_deinit(&x->arena);
    free(x);
}

/* ---- memory ---- */

void import_failed(struct import *x, enum zkc_err err)
{
    if (!x->failed && (err == ZKC_ERR_NOMEM || err == ZKC_ERR_TOO_LARGE))
        x->failed = err;
}

bool import_reserve(struct import *x, void **list, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return true;
    size_t grown_cap = *cap ? *cap * 2 : 64;
    void *grown = realloc(*list, grown_cap * size);
    if (!grown) {
        import_failed(x, ZKC_ERR_NOMEM);
        return false;
    }
    memset((char *)grown + *cap * size, 0, (grown_cap - *cap) * size);
    *list = grown;
    *cap = grown_cap;
    return true;
}

void *import_alloc(struct import *x, size_t count, size_t size)
{
    void *p = arena_alloc_array(&x->arena, count, size);
    if (!p)
        import_failed(x, x->arena.failed);
    return p;
}

char *import_text(struct import *x, const char *text, size_t len)
{
    char *copy = import_alloc(x, len + 1, 1);
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

static uint32_t name(struct import *x, struct names *names, const char *text, uint64_t number)
{
    uint32_t i = names_add(names, text, number);
    if (i == NAMES_NONE)
        import_failed(x, names->count == names->max ? ZKC_ERR_TOO_LARGE : ZKC_ERR_NOMEM);
    return i;
}

/* The thing of a name, in a list beside the names; zeroed when it is new. */
static void *named(struct import *x, struct names *names, const char *text, uint64_t number,
                   void **list, size_t *cap, size_t size)
{
    uint32_t i = name(x, names, text, number);
    while (i != NAMES_NONE && *cap <= i)
        if (!import_reserve(x, list, *cap, cap, size))
            return NULL;
    return i == NAMES_NONE ? NULL : (char *)*list + i * size;
}

struct session *import_session(struct import *x, uint64_t number)
{
    uint32_t before = x->session_names.count;
    struct session *s =
        named(x, &x->session_names, "", number, (void **)&x->sessions, &x->session_cap, sizeof *s);
    if (s && x->session_names.count > before)
        *s = (struct session){.number = number, .member = IMPORT_NONE, .registered = IMPORT_NONE};
    return s;
}

const char *import_member_name(const struct import *x, uint32_t member)
{
    return x->member_names.list[member].text;
}

/* ---- lines ---- */

static struct item *item_add(struct import *x, enum item_kind kind, const struct capture_line *line)
{
    if (x->item_count == ITEMS_MAX)
        import_failed(x, ZKC_ERR_TOO_LARGE);
    if (x->failed ||
        !import_reserve(x, (void **)&x->items, x->item_count, &x->item_cap, sizeof *x->items))
        return NULL;
    struct item *i = &x->items[x->item_count++];
    *i = (struct item){.kind = kind,
                       .link = IMPORT_NONE,
                       .member = IMPORT_NONE,
                       .path = IMPORT_NONE,
                       .t_ns = line->t_ns,
                       .done_ns = line->t_ns,
                       .order = x->item_count,
                       .zk_rc = ZK_CONNECTION_LOSS,
                       .foreign = -1};
    return i;
}

static struct item *link_item(struct import *x, enum item_kind kind, uint32_t link,
                              const struct capture_line *line)
{
    struct item *i = item_add(x, kind, line);
    if (!i)
        return NULL;
    i->link = link;
    i->session = x->links[link].session;
    return i;
}

uint32_t import_path(struct import *x, const char *path)
{
    return name(x, &x->path_names, path, 0);
}

struct bytes import_data(struct import *x, const char *path, struct bytes data)
{
    if (!data.data || data.len > DATA_MAX || (path && strstr(path, ZK_PATH_BROKER_IDS)))
        return BYTES_NULL; /* what brokers say of themselves is not needed */
    char *copy = import_text(x, (const char *)data.data, data.len);
    return copy ? bytes_of(copy, data.len) : BYTES_NULL;
}

static const struct capture_part *keep_parts(struct import *x, const struct capture_line *line)
{
    struct capture_part *parts = import_alloc(x, line->part_count, sizeof *parts);
    for (size_t i = 0; parts && i < line->part_count; i++) {
        parts[i] = line->parts[i];
        uint32_t path = parts[i].path ? import_path(x, parts[i].path) : NAMES_NONE;
        parts[i].path = path == NAMES_NONE ? NULL : x->path_names.list[path].text;
        parts[i].data = import_data(x, NULL, parts[i].data);
    }
    return parts;
}

static const char *const *keep_texts(struct import *x, const char *const *list, size_t count)
{
    const char **copy = list ? import_alloc(x, count, sizeof *copy) : NULL;
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = import_text(x, list[i], strlen(list[i]))))
            return NULL;
    return copy;
}

static bool pend(struct import *x, struct link *l, size_t item)
{
    if (l->pending_count == PENDING_MAX) {
        import_failed(x, ZKC_ERR_TOO_LARGE);
        return false;
    }
    if (!import_reserve(x, (void **)&l->pending, l->pending_count, &l->pending_cap,
                        sizeof *l->pending))
        return false;
    l->pending[l->pending_count++] = (uint32_t)item;
    return true;
}

/* What an answer says, into the item of its request. */
static void answered(struct import *x, struct item *i, const struct capture_line *line)
{
    i->is_answered = true;
    i->done_ns = line->t_ns;
    i->zk_rc = line->zk_rc;
    i->zxid = line->zxid;
    i->has_stat = line->has_stat;
    i->owner = line->owner;
    if (i->op == CAPTURE_GET)
        i->data = import_data(x, i->path == IMPORT_NONE ? NULL : x->path_names.list[i->path].text,
                              line->data);
    i->children = keep_texts(x, line->children, line->child_count);
    i->child_count = i->children ? line->child_count : 0;
    if (i->op == CAPTURE_MULTI && !line->is_whole && !line->zk_rc)
        for (size_t k = 0; k < line->part_count && k < i->part_count; k++)
            if (line->parts[k].zk_rc && !i->zk_rc)
                i->zk_rc = line->parts[k].zk_rc;
}

static void take_request(struct import *x, uint32_t link, const struct capture_line *line)
{
    uint32_t path = line->path ? import_path(x, line->path) : IMPORT_NONE;
    struct item *i = link_item(x, ITEM_OP, link, line);
    if (!i)
        return;
    i->op = line->op;
    i->path = path;
    i->xid = line->xid;
    i->has_watch = line->has_watch;
    i->is_ephemeral = line->is_ephemeral;
    if (line->op == CAPTURE_MULTI) {
        i->parts = keep_parts(x, line);
        i->part_count = i->parts ? line->part_count : 0;
    } else if (line->op != CAPTURE_GET) {
        i->data = import_data(x, line->path, line->data);
    }
    if (line->is_whole && line->is_answered)
        answered(x, i, line);
    else
        pend(x, &x->links[link], x->item_count - 1);
}

static bool take_answer(struct import *x, struct link *l, const struct capture_line *line,
                        struct why *why)
{
    /* Requests are answered in their order, so it is the first. What is before the request that a
     * capture begins with has none. */
    if (l->pending_count == 0) {
        why_set(why, "an answer to no request that is in the capture");
        return false;
    }
    struct item *i = &x->items[l->pending[0]];
    if (i->op != line->op) {
        why_set(why, "an answer to another request than the oldest that waits for one");
        return false;
    }
    memmove(l->pending, l->pending + 1, --l->pending_count * sizeof *l->pending);
    answered(x, i, line);
    return true;
}

static void take_connected(struct import *x, uint32_t link, const struct capture_line *line,
                           uint64_t given)
{
    struct link *l = &x->links[link];
    bool is_back = given && given == l->wanted;
    l->session = line->is_expired ? 0 : given;
    struct item *i = link_item(x,
                               line->is_expired ? ITEM_EXPIRED
                               : is_back        ? ITEM_BACK
                                                : ITEM_SESSION,
                               link, line);
    if (i && line->is_expired)
        i->session = l->wanted;
    if (!line->is_expired && line->timeout_ms > x->session_timeout_ms)
        x->session_timeout_ms = line->timeout_ms;
}

static void take_close(struct import *x, uint32_t link, const struct capture_line *line)
{
    struct link *l = &x->links[link];
    for (size_t i = 0; i < l->pending_count; i++)
        x->items[l->pending[i]].done_ns = line->t_ns;
    l->pending_count = 0;
    if (!l->session)
        return;
    struct item *i = link_item(x, ITEM_GONE, link, line);
    if (i)
        i->is_client_end = strcmp(line->text, "client") == 0;
    l->session = 0;
}

static void take_event(struct import *x, uint32_t link, const struct capture_line *line)
{
    const char *type = NULL;
    for (int t = ZK_EVENT_CREATED; t <= ZK_EVENT_CHILDREN_CHANGED; t++)
        if (strcmp(zk_event_name((enum zk_event_type)t), line->type) == 0)
            type = zk_event_name((enum zk_event_type)t);
    uint32_t path = type ? import_path(x, line->path) : IMPORT_NONE;
    struct item *i = type ? link_item(x, ITEM_WATCH, link, line) : NULL;
    if (!i)
        return; /* about the session */
    i->path = path;
    i->text = type;
}

static void take_other(struct import *x, uint32_t link, const struct capture_line *line)
{
    struct item *i;
    if (line->kind == CAPTURE_MARK) {
        i = item_add(x, ITEM_MARK, line);
        if (i)
            i->text = import_text(x, line->text, strlen(line->text));
    } else if (line->kind == CAPTURE_DELIVERED) {
        const char *topic = import_text(x, line->p.topic, strlen(line->p.topic));
        i = link_item(x, ITEM_DELIVERED, link, line);
        if (!i)
            return;
        i->p = (struct topic_partition){topic, line->p.partition};
        i->first = line->first;
        i->last = line->last;
    }
}

/* The connection that a line is about; a scene has one for each member. */
static uint32_t link_of(struct import *x, const struct capture_line *line)
{
    struct link *l = named(x, &x->link_names, line->who, line->link, (void **)&x->links,
                           &x->link_cap, sizeof *l);
    if (!l)
        return IMPORT_NONE;
    uint32_t i = (uint32_t)(l - x->links);
    if (!l->label) /* its session is not known, if it began before the capture; but it is its own */
        l->session = UNSEEN_SESSION | i;
    l->label = x->link_names.list[i].text;
    return i;
}

bool import_take(struct import *x, const struct capture_line *line, struct why *why)
{
    why_clear(why);
    if (x->has_lines && line->t_ns < x->last_ns && !line->is_whole) {
        why_set(why, "a time before that of the line before");
        return false;
    }
    if (!x->has_lines)
        x->first_ns = line->t_ns;
    x->has_lines = true;
    x->is_scene = x->is_scene || line->is_whole;
    if (line->t_ns > x->last_ns)
        x->last_ns = line->t_ns;
    if (line->kind == CAPTURE_BEGIN)
        x->has_header = true;
    if (line->kind == CAPTURE_END) {
        x->has_end = true;
        x->drops += line->drops;
    }
    if (line->kind == CAPTURE_BEGIN || line->kind == CAPTURE_END || line->kind == CAPTURE_OTHER)
        return true;
    if (line->kind == CAPTURE_MARK) {
        take_other(x, IMPORT_NONE, line);
        return true;
    }
    uint32_t link = link_of(x, line);
    if (link == IMPORT_NONE)
        return false;
    switch (line->kind) {
    case CAPTURE_OPEN: break;
    case CAPTURE_CONNECT:
        x->links[link].wanted = line->session;
        if (line->is_whole && line->is_answered)
            take_connected(x, link, line, line->session_given);
        break;
    case CAPTURE_CONNECTED: take_connected(x, link, line, line->session); break;
    case CAPTURE_REQUEST: take_request(x, link, line); break;
    case CAPTURE_ANSWER: return take_answer(x, &x->links[link], line, why);
    case CAPTURE_CLOSE: take_close(x, link, line); break;
    case CAPTURE_EVENT: take_event(x, link, line); break;
    default: take_other(x, link, line); break;
    }
    return !x->failed;
}

/* ---- who is who ---- */

/* How much of a registration's path stands before "/consumers/"; false: it is none. */
static bool chroot_of(const char *path, size_t *len)
{
    for (const char *at = path; (at = strstr(at, ZK_PATH_CONSUMERS "/")); at++)
        if (zk_path_parse(at).kind == ZK_PATH_ID) {
            *len = (size_t)(at - path);
            return true;
        }
    return false;
}

static bool is_registration(const struct import *x, const struct item *i, size_t *chroot)
{
    return i->kind == ITEM_OP && i->op == CAPTURE_CREATE && i->is_answered && !i->zk_rc &&
           i->path != IMPORT_NONE && chroot_of(x->path_names.list[i->path].text, chroot);
}

/* The group's folder and what is before it, from the first registration (of the group that is asked
 * for). */
static bool find_group(struct import *x, struct why *why)
{
    const char *found = NULL;
    size_t found_len = 0, chroot;
    for (size_t k = 0; k < x->item_count; k++) {
        if (!is_registration(x, &x->items[k], &chroot))
            continue;
        const char *whole = x->path_names.list[x->items[k].path].text, *path = whole + chroot;
        struct bytes group = zk_path_parse(path).group;
        size_t len = (size_t)((const char *)group.data - path) + group.len;
        if (x->options.group && !bytes_equal_text(group, x->options.group))
            continue;
        if (found && (len != found_len || memcmp(found, path, len) != 0)) {
            why_set(why, "it has members of several groups, %.*s and %.*s: choose one",
                    (int)found_len, found, (int)len, path);
            return false;
        }
        if (!found)
            x->chroot = import_text(x, whole, chroot);
        found = path;
        found_len = len;
    }
    if (!found)
        why_set(why, "no member of %s%s registers in it", x->options.group ? "group " : "a group",
                x->options.group ? x->options.group : "");
    x->group_path = found ? import_text(x, found, found_len) : NULL;
    return x->group_path && x->chroot;
}

static void read_paths(struct import *x)
{
    size_t chroot = strlen(x->chroot), group_len = strlen(x->group_path);
    x->infos = import_alloc(x, x->path_names.count, sizeof *x->infos);
    for (uint32_t i = 0; x->infos && i < x->path_names.count; i++) {
        struct path_info *info = &x->infos[i];
        info->path = x->path_names.list[i].text;
        if (strncmp(info->path, x->chroot, chroot) == 0 && info->path[chroot] == '/')
            info->path += chroot;
        struct zk_path_parts parts = zk_path_parse(info->path);
        info->kind = parts.kind;
        info->partition = parts.partition;
        info->leaf = zk_path_leaf(info->path);
        info->is_group = strncmp(info->path, x->group_path, group_len) == 0 &&
                         (info->path[group_len] == '/' || !info->path[group_len]);
        info->is_other = !info->is_group && parts.group.data;
        info->topic = IMPORT_NONE;
        if (!parts.topic.data || parts.topic.len > TOPIC_NAME_MAX)
            continue;
        char topic[TOPIC_NAME_MAX + 1];
        memcpy(topic, parts.topic.data, parts.topic.len);
        topic[parts.topic.len] = 0;
        info->topic = name(x, &x->topic_names, topic, 0);
    }
}

static const char *registered_id(const struct import *x, uint32_t item)
{
    return item == IMPORT_NONE ? NULL : x->infos[x->items[item].path].leaf;
}

/* Who registered in which session, and by which connection. */
static void find_registrations(struct import *x)
{
    for (uint32_t i = 0; i < x->link_names.count; i++)
        x->links[i].registered = IMPORT_NONE;
    for (size_t k = 0; k < x->item_count; k++) {
        const struct item *i = &x->items[k];
        if (i->kind != ITEM_OP || i->op != CAPTURE_CREATE || !i->is_answered || i->zk_rc ||
            i->path == IMPORT_NONE || !x->infos[i->path].is_group ||
            x->infos[i->path].kind != ZK_PATH_ID)
            continue;
        struct session *s = import_session(x, i->session);
        if (s && s->registered == IMPORT_NONE)
            s->registered = (uint32_t)k;
        if (x->links[i->link].registered == IMPORT_NONE)
            x->links[i->link].registered = (uint32_t)k;
    }
}

/* A label is a member's name, unless several members use its port. */
static bool is_shared(const struct import *x, const char *label)
{
    const char *first = NULL;
    for (uint32_t i = 0; i < x->link_names.count; i++) {
        const char *id = registered_id(x, x->links[i].registered);
        if (!id || strcmp(x->links[i].label, label) != 0)
            continue;
        if (first && strcmp(first, id) != 0)
            return true;
        first = id;
    }
    return false;
}

static void find_members(struct import *x)
{
    struct names shared;
    names_init(&shared, NAMES_MAX);
    find_registrations(x);
    for (uint32_t i = 0; i < x->link_names.count && !x->failed; i++) {
        const char *label = x->links[i].label;
        bool is_known = names_find(&shared, label, 0) != NAMES_NONE;
        if (!is_known && (!*label || is_shared(x, label)))
            name(x, &shared, label, 0);
    }
    for (size_t k = 0; k < x->item_count && !x->failed; k++) {
        struct item *i = &x->items[k];
        if (i->link == IMPORT_NONE)
            continue;
        const char *label = x->links[i->link].label;
        struct session *s = i->session ? import_session(x, i->session) : NULL;
        const char *id = s ? registered_id(x, s->registered) : NULL;
        if (id && names_find(&shared, label, 0) != NAMES_NONE)
            label = id;
        if (*label)
            i->member = name(x, &x->member_names, label, 0);
        if (s && i->member != IMPORT_NONE)
            s->member = i->member;
        if (s && i->is_answered && i->done_ns > s->alive_ns)
            s->alive_ns = i->done_ns;
    }
    names_deinit(&shared);
}

/* ---- events ---- */

struct trace_event *import_emit(struct import *x, enum trace_type type, uint64_t t_ns,
                                uint64_t order, const char *src, const char *m)
{
    struct trace_event *e = import_alloc(x, 1, sizeof *e);
    if (!e || !import_reserve(x, (void **)&x->outs, x->out_count, &x->out_cap, sizeof *x->outs))
        return NULL;
    uint64_t origin = x->options.has_origin ? x->options.origin_ns : x->first_ns;
    e->type = type;
    e->t_ns = t_ns > origin ? t_ns - origin : 0;
    e->src = src;
    e->m = m;
    x->outs[x->out_count] = (struct out){e->t_ns, order, x->out_count, e};
    x->out_count++;
    return e;
}

static int by_time(const void *a, const void *b)
{
    const struct out *x = a, *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* How many partitions topics have at the beginning: as the first read of each says. */
static void add_topics(struct import *x, struct trace_event *e)
{
    struct trace_topic *topics = import_alloc(x, x->topic_names.count, sizeof *topics);
    e->run.topics = topics;
    for (size_t k = 0; topics && k < x->item_count; k++) {
        const struct item *i = &x->items[k];
        struct zk_topic read;
        struct why why;
        if (i->kind != ITEM_OP || i->op != CAPTURE_GET || i->zk_rc || i->path == IMPORT_NONE ||
            x->infos[i->path].kind != ZK_PATH_TOPIC || x->infos[i->path].topic == IMPORT_NONE)
            continue;
        const char *topic = x->topic_names.list[x->infos[i->path].topic].text;
        bool is_known = false;
        for (size_t n = 0; n < e->run.topic_count; n++)
            is_known = is_known || strcmp(topics[n].name, topic) == 0;
        enum zkc_err err = is_known ? ZKC_ERR_INVALID : zk_topic_read(i->data, &read, &why);
        import_failed(x, err);
        if (err)
            continue;
        topics[e->run.topic_count++] = (struct trace_topic){topic, (int32_t)read.partition_count};
        zk_topic_deinit(&read);
    }
}

static struct trace_event *emit_header(struct import *x, uint32_t member_count)
{
    struct trace_event *e = import_emit(x, TRACE_RUN, 0, IMPORT_FIRST, "import", NULL);
    if (!e)
        return NULL;
    e->run.mode = x->options.is_safe ? "zookeeper:safe" : "zookeeper:compat";
    e->run.variant = x->options.variant ? x->options.variant : "0.8";
    e->run.strategy = x->options.strategy ? x->options.strategy : "range";
    e->run.scenario = "";
    e->run.level = x->is_scene ? 1 : TRACE_LEVEL_MAX; /* a scene's reads have no zxid */
    e->run.member_count = member_count;
    e->run.session_timeout_ms = x->session_timeout_ms;
    e->run.backoff_ms = x->options.backoff_ms;
    e->run.attempts_max = x->options.attempts_max;
    e->run.commit_interval_ms = -1;
    e->run.is_capture = !x->options.writes_only;
    e->run.is_of_writes = x->options.writes_only;
    if (!x->options.writes_only)
        add_topics(x, e);
    return e;
}

static void emit_marks(struct import *x)
{
    uint32_t id = 0;
    for (size_t k = 0; k < x->item_count; k++) {
        if (x->items[k].kind != ITEM_MARK)
            continue;
        struct trace_event *e =
            import_emit(x, TRACE_CAUSE, x->items[k].t_ns, x->items[k].order, "import", NULL);
        if (!e)
            return;
        e->cause.id = ++id;
        e->cause.kind = "mark";
        e->cause.who = "";
        e->cause.detail = x->items[k].text;
    }
}

static void emit_end(struct import *x)
{
    struct trace_event *e;
    if (x->options.is_settled &&
        (e = import_emit(x, TRACE_PHASE, x->last_ns, IMPORT_LAST, "import", NULL)))
        e->phase.name = "drain";
    e = import_emit(x, TRACE_END, x->last_ns, IMPORT_LAST, "import", NULL);
    if (!e)
        return;
    e->end.reason = "done";
    e->end.drops = x->drops;
}

/* Who and what is in a view is told the first time. */
static void shorten_view(struct import *x, struct names *views, struct trace_event *e)
{
    uint32_t before = views->count;
    if (name(x, views, "", e->view.hash) != NAMES_NONE && views->count == before) {
        e->view.members = NULL;
        e->view.partitions = NULL;
    }
}

/* In the order of time, each source's lines numbered from 0. */
static void hand_out(struct import *x, const struct trace_sink *sink)
{
    struct names sources, views;
    uint64_t *numbers = calloc(x->member_names.count + 3, sizeof *numbers);
    names_init(&sources, NAMES_MAX);
    names_init(&views, NAMES_MAX);
    qsort(x->outs, x->out_count, sizeof *x->outs, by_time);
    uint64_t written = 0;
    for (size_t i = 0; numbers && i < x->out_count; i++) {
        struct trace_event *e = x->outs[i].event;
        if (trace_type_level(e->type) > sink->level ||
            (x->is_scene && trace_type_level(e->type) > 1))
            continue;
        uint32_t source = names_add(&sources, e->src, 0);
        if (source == NAMES_NONE || source >= x->member_names.count + 3) {
            import_failed(x, ZKC_ERR_NOMEM);
            break;
        }
        e->seq = numbers[source]++;
        e->gs = written++;
        if (e->type == TRACE_END)
            e->end.events = e->gs;
        if (e->type == TRACE_VIEW)
            shorten_view(x, &views, e);
        sink->emit(e, sink->user);
    }
    if (!numbers)
        import_failed(x, ZKC_ERR_NOMEM);
    free(numbers);
    names_deinit(&sources);
    names_deinit(&views);
}

static bool is_member(const struct import *x, uint32_t member)
{
    for (uint32_t i = 0; i < x->session_names.count; i++)
        if (x->sessions[i].member == member && x->sessions[i].registered != IMPORT_NONE)
            return true;
    return false;
}

enum zkc_err import_finish(struct import *x, const struct trace_sink *sink, struct why *why)
{
    why_clear(why);
    if (x->failed)
        return x->failed;
    for (uint32_t i = 0; i < x->link_names.count; i++) /* never answered */
        for (size_t k = 0; k < x->links[i].pending_count; k++)
            x->items[x->links[i].pending[k]].done_ns = x->last_ns;
    if (!find_group(x, why))
        return x->failed ? x->failed : ZKC_ERR_INVALID;
    read_paths(x);
    if (!x->failed)
        find_members(x);
    uint32_t count = 0;
    for (uint32_t m = 0; m < x->member_names.count; m++)
        count += is_member(x, m);
    struct trace_event *header = emit_header(x, count);
    if (!x->failed)
        emit_marks(x);
    if (!x->failed)
        import_writes(x);
    if (header) /* whether the log has all that was recorded is known by now */
        header->run.is_logged = header->run.is_of_writes && x->logged_count > 0 && x->unlogged == 0;
    for (uint32_t m = 0; m < x->member_names.count && !x->failed && !x->options.writes_only; m++)
        if (is_member(x, m))
            import_member(x, m);
    emit_end(x);
    if (!x->failed)
        hand_out(x, sink);
    return x->failed;
}

bool import_has_end(const struct import *x)
{
    return x->has_end;
}

bool import_has_header(const struct import *x)
{
    return x->has_header;
}

uint64_t import_drops(const struct import *x)
{
    return x->drops;
}

uint64_t import_unlogged(const struct import *x)
{
    return x->unlogged;
}

/* ---- counts ---- */

static void count_item(const struct item *i, struct import_counts *c)
{
    if (i->kind == ITEM_WATCH) {
        c->events++;
        return;
    }
    switch (i->op) {
    case CAPTURE_EXISTS:
    case CAPTURE_GET:
    case CAPTURE_CHILDREN:
        c->reads++;
        c->watches += i->has_watch;
        break;
    case CAPTURE_CREATE:
    case CAPTURE_DELETE:
    case CAPTURE_SET:
    case CAPTURE_MULTI: c->writes++; break;
    default: break;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct name *const *)a)->text, (*(const struct name *const *)b)->text);
}

void import_count(const struct import *x,
                  void (*each)(const char *mark, size_t interval, const char *member,
                               const struct import_counts *counts, void *user),
                  void *user)
{
    uint32_t n = x->member_names.count;
    struct import_counts *counts = calloc(n + 1, sizeof *counts);
    const struct name **order = calloc(n + 1, sizeof *order);
    for (uint32_t m = 0; order && m < n; m++)
        order[m] = &x->member_names.list[m];
    if (order)
        qsort(order, n, sizeof *order, by_name);
    const char *mark = "";
    size_t interval = 0;
    for (size_t k = 0; counts && order && k <= x->item_count; k++) {
        bool is_over = k == x->item_count || x->items[k].kind == ITEM_MARK;
        if (!is_over && x->items[k].member != IMPORT_NONE &&
            (x->items[k].kind == ITEM_OP || x->items[k].kind == ITEM_WATCH))
            count_item(&x->items[k], &counts[x->items[k].member]);
        for (uint32_t m = 0; is_over && m < n; m++) {
            struct import_counts *c = &counts[order[m] - x->member_names.list];
            if (c->reads || c->writes || c->events)
                each(mark, interval, order[m]->text, c, user);
            *c = (struct import_counts){0};
        }
        if (is_over && k < x->item_count) {
            mark = x->items[k].text;
            interval++;
        }
    }
    free(counts);
    free(order);
}
