/* The order in which Java's HashSet<String> gives its elements: ZooKeeper's lists of children and
 * the order in which a session's nodes go. Buckets in order, within one the order of insertion;
 * twice as many buckets as soon as more than 3/4 full. Source: java.util.HashMap of Java 8 and
 * later. Not modelled: a bucket of eight and more becomes a tree, which keeps the order too but for
 * ties.
 *
 * Elements are numbers that stand for texts (zk_paths.h), with the text's hash. */
#ifndef STUDY_SIM_JAVA_SET_H
#define STUDY_SIM_JAVA_SET_H

#include "study/sim/pool.h"
#include <stdbool.h>

struct java_entry {
    struct java_entry *next;
    uint32_t hash; /* spread */
    uint32_t id;
};

struct java_set {
    struct java_entry **buckets; /* NULL while nothing was added */
    uint32_t cap, count;
    uint32_t first_cap; /* a power of two */
};

void java_set_init(struct java_set *s, uint32_t first_cap);
void java_set_deinit(struct java_set *s, struct pool *p);
/* The element must not be there. */
void java_set_add(struct java_set *s, struct pool *p, int32_t hash, uint32_t id);
/* True if it was there. */
bool java_set_remove(struct java_set *s, struct pool *p, int32_t hash, uint32_t id);

/* for (struct java_cursor c = java_set_first(s); c.entry; java_set_next(s, &c)) */
struct java_cursor {
    uint32_t bucket;
    struct java_entry *entry;
};
struct java_cursor java_set_first(const struct java_set *s);
void java_set_next(const struct java_set *s, struct java_cursor *c);

/* String.hashCode() of ASCII. */
int32_t java_text_hash(const char *text, size_t len);

#endif
