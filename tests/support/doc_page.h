/* Programs that write a page of docs/ from a table of the code; with the page's name they compare
 * instead, and fail where it differs, so that it cannot fall behind. */
#ifndef ZKC_TESTS_DOC_PAGE_H
#define ZKC_TESTS_DOC_PAGE_H

#include <stdio.h>

/* Writes the page by write(), to stdout, or compares it with the file that argv names. What main()
 * returns. */
int doc_page_main(int argc, char **argv, void (*write)(FILE *out));

/* A paragraph in lines of about a hundred columns. */
void doc_page_wrapped(FILE *out, const char *text);

#endif
