#include "zkconsumer/include/zkconsumer/error.h"

static const struct {
    enum zkc_err err;
    const char *name;
    const char *text;
} descriptions[] = {
    {ZKC_OK, "ZKC_OK", "success"},
    {ZKC_ERR_NOMEM, "ZKC_ERR_NOMEM", "out of memory"},
    {ZKC_ERR_INVALID, "ZKC_ERR_INVALID", "invalid argument, or not allowed now"},
    {ZKC_ERR_CONFIG, "ZKC_ERR_CONFIG", "bad configuration"},
    {ZKC_ERR_TIMED_OUT, "ZKC_ERR_TIMED_OUT", "timed out"},
    {ZKC_ERR_CLOSED, "ZKC_ERR_CLOSED", "closed"},
    {ZKC_ERR_UNREACHABLE, "ZKC_ERR_UNREACHABLE", "ZooKeeper or broker unreachable"},
    {ZKC_ERR_PROTOCOL, "ZKC_ERR_PROTOCOL", "protocol violation by the peer"},
    {ZKC_ERR_SYSTEM, "ZKC_ERR_SYSTEM", "operating system error"},
    {ZKC_ERR_ZOOKEEPER, "ZKC_ERR_ZOOKEEPER", "ZooKeeper refused the operation"},
    {ZKC_ERR_BROKER, "ZKC_ERR_BROKER", "the broker answered with an error"},
    {ZKC_ERR_REBALANCE, "ZKC_ERR_REBALANCE", "rebalance given up after its last attempt"},
    {ZKC_ERR_NOT_OWNED, "ZKC_ERR_NOT_OWNED", "the partition is not owned by this consumer"},
    {ZKC_ERR_TOO_LARGE, "ZKC_ERR_TOO_LARGE", "larger than the configured limit"},
    {ZKC_ERR_CORRUPT, "ZKC_ERR_CORRUPT", "corrupt data"},
    {ZKC_ERR_OFFSET_RANGE, "ZKC_ERR_OFFSET_RANGE", "offset out of range"},
    {ZKC_ERR_WRONG_PROCESS, "ZKC_ERR_WRONG_PROCESS", "handle of another process (forked)"},
    {ZKC_ERR_NOT_RELEASED, "ZKC_ERR_NOT_RELEASED",
     "closed, but what is owned ends only with its session"},
    {ZKC_ERR_END, "ZKC_ERR_END", "end of stream"},
    {ZKC_ERR_EVICTED, "ZKC_ERR_EVICTED", "not asked for messages for too long"},
};

const char *zkc_err_text(enum zkc_err err)
{
    for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++)
        if (descriptions[i].err == err)
            return descriptions[i].text;
    return "unknown error";
}

const char *zkc_err_name(enum zkc_err err)
{
    for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++)
        if (descriptions[i].err == err)
            return descriptions[i].name;
    return "ZKC_ERR_UNKNOWN";
}
