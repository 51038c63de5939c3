#include "zkconsumer/core/zk/auth.h"
#include <string.h>

#define SCHEME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

bool zk_auth_split(const char *text, char scheme[ZK_AUTH_SCHEME_SIZE], struct bytes *credentials)
{
    size_t len = strspn(text, SCHEME_CHARS);
    if (len == 0 || len >= ZK_AUTH_SCHEME_SIZE || text[len] != ':' || text[len + 1] == '\0')
        return false;
    memcpy(scheme, text, len);
    scheme[len] = '\0';
    *credentials = bytes_of_text(text + len + 1);
    const char *colon = strchr(text + len + 1, ':');
    return strcmp(scheme, "digest") != 0 || (colon && colon > text + len + 1);
}
