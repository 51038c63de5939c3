/* The smallest program that needs the library. */
#include <stdio.h>
#include <string.h>
#include <zkconsumer/consumer.h>
#include <zkconsumer/version.h>

int main(void)
{
    if (zkc_version() != ZKC_VERSION || strcmp(zkc_version_text(), ZKC_VERSION_TEXT) != 0)
        return 1;
    puts(zkc_err_name(ZKC_ERR_CONFIG));
    return 0;
}

/* A name that the library uses inside: it must not clash. */
int buf_append(void);
int buf_append(void)
{
    return 0;
}
