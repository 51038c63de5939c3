#include <zkconsumer/version.h>

int zkc_version(void)
{
    return ZKC_VERSION;
}

const char *zkc_version_text(void)
{
    return ZKC_VERSION_TEXT;
}
