#include <string.h>

/* Pure: constants, also of pointers, are no writable globals. */
const char *sample_name(size_t i);
static const char *const names[] = {"a", "b"};

const char *sample_name(size_t i)
{
    return i < 2 && strlen(names[i]) > 0 ? names[i] : "";
}
