#include "zkconsumer/cli/stdio_fds.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void stdio_fds_occupy(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        /* The lowest free descriptor is this one. In the wrong direction: what is not there must
         * not look like an empty input, or like an output that takes everything. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return;
    }
}
