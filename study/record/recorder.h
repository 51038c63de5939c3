/* The recorder: a proxy between clients and real ZooKeeper servers, on libevent. Frames pass whole
 * and unchanged; what passes is written as the lines of a capture (tap.h, docs/trace.md), each
 * before its frame goes on, so that a capture never has an answer without its request. It can
 * disturb what passes, on command, as networks do.
 *
 * Bounded: a frame longer than TAP_FRAME_MAX ends its connection (ZooKeeper takes 1 MiB by
 * default), and neither side's bytes pile up when the other does not read. One thread, the base's.
 */
#ifndef STUDY_RECORD_RECORDER_H
#define STUDY_RECORD_RECORDER_H

#include "zkconsumer/core/base/buf.h"
#include "zkconsumer/core/base/why.h"
#include <zkconsumer/error.h>

struct event_base;
struct recorder;

struct recorder_options {
    /* "LABEL=HOST:PORT", who connects there is called LABEL; or "HOST:PORT", where members are told
     * apart by their sessions and registrations. Port 0: any. */
    const char *const *listens;
    size_t listen_count;
    const char *servers; /* "host:port,host:port"; connections take turns */
    const char *path;    /* of the capture; created or emptied */
    /* What happens between commands: "held m1 create /a". May be NULL. */
    void (*say)(const char *text, void *user);
    void *user;
};

/* Listens when it returns. `why` says what was wrong.
 *
 * ZKC_ERR_CONFIG  a listener or a server that cannot be read, or whose name cannot be resolved;
 *                 a label given twice
 * ZKC_ERR_SYSTEM  cannot listen; the file cannot be opened
 * ZKC_ERR_NOMEM */
ZKC_MUST_CHECK enum zkc_err recorder_new(struct event_base *base,
                                         const struct recorder_options *options,
                                         struct recorder **out, struct why *why);
/* Ends all connections and the capture. NULL is allowed. */
void recorder_free(struct recorder *r);

size_t recorder_listener_count(const struct recorder *r);
const char *recorder_label(const struct recorder *r, size_t i); /* "" : none */
int recorder_port(const struct recorder *r, size_t i);

/* Carries out one command and says how it went: "ok", or "error " and why. Labels are those of the
 * listeners.
 *
 *     mark TEXT            a line of its own in the capture
 *     cut LABEL            its connections end; it may come back at once
 *     refuse LABEL         they end, and new ones do, until heal
 *     hole LABEL           they stay, and nothing passes, until heal, which ends them
 *     heal LABEL
 *     hold LABEL OP [PATH] the next such request, and all behind it, wait for
 *     go LABEL */
void recorder_command(struct recorder *r, const char *line, struct why *answer);

/* Lines that could not be written (full disk). */
uint64_t recorder_drops(const struct recorder *r);

#endif
