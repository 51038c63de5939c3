/* Lists of claims, sorted by topic name and partition. */
#ifndef ZKC_GROUP_CLAIMS_H
#define ZKC_GROUP_CLAIMS_H

#include "zkconsumer/core/group/output.h"

/* Where the claim of this partition stands, or belongs. */
size_t claims_place(const struct group_claim *claims, size_t count, const char *topic,
                    int32_t partition);

/* The claim of this partition; NULL: none. */
const struct group_claim *claims_find(const struct group_claim *claims, size_t count,
                                      const char *topic, int32_t partition);

#endif
