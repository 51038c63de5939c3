/* Reading ZooKeeper's transaction log: the files log.ZXID in a server's dataDir/version-2. What is
 * in there is what the ensemble decided, in its order, answered or not, the ends of sessions
 * included.
 *
 *     "ZKLG", version, dbid (16 bytes); then for each transaction
 *     Adler-32 of it (8), its length (4), header and record, 'B'; zeros follow the last one
 *
 * Source: FileTxnLog, SerializeUtils, TxnHeader and the records of zookeeper.jute, 3.4 to 3.8 (what
 * later releases put behind a record, digests, is passed over). Pure: no files. */
#ifndef STUDY_RECORD_TXN_LOG_H
#define STUDY_RECORD_TXN_LOG_H

#include "zkconsumer/core/base/bytes.h"
#include "zkconsumer/core/base/why.h"

enum txn_kind {
    TXN_OTHER, /* ACLs, dynamic configuration: nothing that members write */
    TXN_CREATE,
    TXN_DELETE,
    TXN_SET,
    TXN_CHECK,
    TXN_CREATE_SESSION,
    TXN_CLOSE_SESSION,
    TXN_ERROR, /* it was refused; of a multi all of it was */
    TXN_MULTI,
};

struct txn_part {
    enum txn_kind kind;
    struct bytes path, data; /* CREATE, DELETE, SET, CHECK; CREATE, SET */
    bool is_ephemeral;       /* CREATE */
};

#define TXN_PARTS_MAX 4096 /* of a multi; ZooKeeper's packets end far below */

struct txn {
    uint64_t session;
    int32_t cxid; /* the client's number of the request */
    int64_t zxid;
    int64_t time_ms; /* since 1970, by the leader's clock, when it was proposed */
    enum txn_kind kind;
    const struct txn_part *parts; /* one, unless it is a MULTI that was done; else none */
    size_t part_count;
};

struct txn_log {
    struct bytes file; /* lent */
    size_t at;
    struct txn_part parts[TXN_PARTS_MAX];
};

/* False: it is no such file. */
bool txn_log_open(struct txn_log *l, struct bytes file, struct why *why);

enum txn_next {
    TXN_NEXT,
    TXN_END,
    TXN_BROKEN, /* cut short, a checksum that is wrong ...: nothing more is read of this file */
};
/* What `out` points to is lent until the next call, paths and data until the file goes. */
enum txn_next txn_log_next(struct txn_log *l, struct txn *out, struct why *why);

#endif
