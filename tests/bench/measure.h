/* What the benchmarks measure with: CPU time, wall time and memory of this process. */
#ifndef ZKC_BENCH_MEASURE_H
#define ZKC_BENCH_MEASURE_H

#include <stdint.h>

struct usage {
    int64_t user_ns, system_ns, wall_ns;
};

struct usage usage_now(void);
struct usage usage_since(struct usage begin);

/* Memory of this process that is in RAM, shared pages of libraries included. */
int64_t resident_bytes(void);
int64_t peak_resident_bytes(void); /* the most since exec (getrusage's is older than that) */

/* What malloc() has given out, its own overhead included. */
int64_t heap_bytes(void);

/* Ends the program with a message on stderr. A benchmark has nobody to return errors to. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The value of --NAME=VALUE; `otherwise` when it is not there, and without that it must be. */
const char *option(int argc, char **argv, const char *name, const char *otherwise);
int64_t option_int(int argc, char **argv, const char *name, const char *otherwise);

/* The name of topic number i of `count`: `topic` itself where there is one, else topic-i. Returns
 * `name`. */
const char *topic_name(char name[256], const char *topic, int64_t i, int64_t count);

#endif
