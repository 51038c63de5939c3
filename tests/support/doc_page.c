#include "tests/support/doc_page.h"
#include <string.h>

void doc_page_wrapped(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column && column + 1 + len > 100) {
            fputc('\n', out);
            column = 0;
        } else if (column) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, len, out);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static int compare(FILE *page, const char *path, const char *writer)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return 1;
    }
    rewind(page);
    char want[512], got[512];
    for (int line = 1;; line++) {
        char *w = fgets(want, sizeof want, page);
        char *g = fgets(got, sizeof got, file);
        if (!w && !g)
            break;
        if (!w || !g || strcmp(w, g)) {
            fprintf(stderr, "%s:%d: is\n%sand should be\n%swrite it anew: %s > %s\n", path, line,
                    g ? g : "(the end)\n", w ? w : "(the end)\n", writer, path);
            fclose(file);
            return 1;
        }
    }
    fclose(file);
    return 0;
}

int doc_page_main(int argc, char **argv, void (*write)(FILE *out))
{
    FILE *page = argc > 1 ? tmpfile() : stdout;
    if (!page) {
        perror("tmpfile");
        return 1;
    }
    write(page);
    return argc > 1 ? compare(page, argv[1], argv[0]) : 0;
}
