#include <stdlib.h>

const char *sample_home(void);

const char *sample_home(void)
{
    return getenv("HOME");
}
