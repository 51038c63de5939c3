/* How long a match can be: java.util.regex.Pattern's TreeInfo and the study() of its nodes. What it
 * says of a sum that overflows is kept (Java looks behind by it), but for a group whose sum
 * overflows only with what stands before it: Java refuses that, and we do not. */
#include "zkconsumer/core/zk/java_regex_parts.h"

#define LEAST_MAX 0xFFFFFFF /* Java's */

const struct regex_width regex_no_width = {.is_bounded = true, .is_fixed = true};

static int32_t sum(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static int32_t product(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

static struct regex_width after(struct regex_width before, struct regex_width of)
{
    return (struct regex_width){
        .least = sum(before.least, of.least),
        .most = sum(before.most, of.most),
        .is_bounded = before.is_bounded && of.is_bounded,
        .is_fixed = before.is_fixed && of.is_fixed,
        .has_branch = before.has_branch || of.has_branch,
        .is_odd = before.is_odd || of.is_odd,
    };
}

static struct regex_width maybe(struct regex_width before, struct regex_width of, bool is_branch)
{
    of.least = 0;
    of.most = is_branch && of.most < 0 ? 0 : of.most;
    of.is_fixed = false;
    of.has_branch = of.has_branch || is_branch;
    return after(before, of);
}

static struct regex_width counted(struct regex_width before, struct regex_width of,
                                  struct regex_quantifier q)
{
    struct regex_width w = after(before, of);
    int64_t least = (int64_t)of.least * q.least + before.least;
    w.least = least > LEAST_MAX ? LEAST_MAX : (int32_t)least;
    w.most = sum(product(of.most, q.most), before.most);
    if (w.most < before.most && !before.has_branch)
        w.is_bounded = false;
    w.is_fixed = of.is_fixed && q.least == q.most && before.is_fixed;
    return w;
}

struct regex_width regex_width_then(struct regex_width before, struct regex_width of,
                                    struct regex_quantifier q, bool is_group)
{
    bool is_loop = is_group && !q.is_possessive; /* what Java makes of a group */
    of.is_odd = of.is_odd || (q.repeat != REGEX_ONCE && q.least != q.most);
    switch (q.repeat) {
    case REGEX_ONCE: break;
    case REGEX_MAYBE: return maybe(before, of, is_loop);
    case REGEX_GREEDY:
        return after(before, (struct regex_width){.least = q.least,
                                                  .most = INT32_MAX,
                                                  .is_bounded = of.is_bounded,
                                                  .is_odd = true});
    case REGEX_COUNTED:
        if (is_loop && !of.is_fixed)
            of.is_bounded = false;
        return counted(before, of, q);
    }
    return after(before, of);
}

struct regex_width regex_width_either(struct regex_width one, struct regex_width other)
{
    return (struct regex_width){
        .least = one.least < other.least ? one.least : other.least,
        .most = one.most > other.most ? one.most : other.most,
        .is_bounded = one.is_bounded && other.is_bounded,
        .has_branch = true,
        .is_odd = one.is_odd || other.is_odd,
    };
}
