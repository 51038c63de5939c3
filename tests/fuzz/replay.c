/* Runs a fuzzer's entry point over files and folders of files, without libFuzzer. A crash or a
 * failed assertion ends it; so does an empty corpus, which would test nothing. */
#include "tests/fuzz/fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static size_t inputs;

static void fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(1);
}

static void run_file(const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    /* Just the size of the input, so that reading beyond it is seen. */
    uint8_t *data = malloc(size ? size : 1);
    if (!f || !data || fread(data, 1, size, f) != size)
        fail(path, "cannot be read");
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    inputs++;
}

static void run_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        fail(path, "is not there");
    if (!S_ISDIR(st.st_mode)) {
        run_file(path, (size_t)st.st_size);
        return;
    }
    DIR *dir = opendir(path);
    if (!dir)
        fail(path, "cannot be opened");
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        char below[4096];
        snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        run_path(below);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run_path(argv[i]);
    if (inputs == 0)
        fail(argc > 1 ? argv[1] : "corpus", "holds no input");
    printf("%zu inputs\n", inputs);
    return 0;
}
