#ifndef ZKC_CLI_STDIO_FDS_H
#define ZKC_CLI_STDIO_FDS_H

/* Occupies those of the descriptors 0, 1 and 2 that the program was started without (`<&-`,
 * `2>&-`), so that no socket or file of ours becomes stdin, stdout or stderr. Reading and writing
 * them fails with EBADF as before. To be called before anything is opened. */
void stdio_fds_occupy(void);

#endif
