/* Credentials for ZooKeeper as people write them: "scheme:credentials", which is zkCli's `addauth
 * scheme credentials`; for digest "digest:user:password". */
#ifndef ZKC_ZK_AUTH_H
#define ZKC_ZK_AUTH_H

#include "zkconsumer/core/base/bytes.h"
#include <stdbool.h>

#define ZK_AUTH_SCHEME_SIZE 32 /* with the 0 at its end */
#define ZK_AUTH_FORM        "scheme:credentials, such as digest:user:password"

/* Splits it. False: it has no such form. `credentials` is within `text`. A server knows more
 * schemes than digest if it has been taught them; it says itself that it does not know one. */
bool zk_auth_split(const char *text, char scheme[ZK_AUTH_SCHEME_SIZE], struct bytes *credentials);

#endif
