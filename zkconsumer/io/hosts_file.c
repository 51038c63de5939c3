#include "zkconsumer/io/hosts_file.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool hosts_file_numeric(const char *text, uint16_t port, union resolver_address *out)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char port_text[8];

    snprintf(port_text, sizeof port_text, "%u", port);
    if (getaddrinfo(text, port_text, &hints, &found) != 0)
        return false;
    memset(out, 0, sizeof *out);
    memcpy(out, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return true;
}

static bool line_names(char *names, const char *name)
{
    char *save = NULL;
    for (char *word = strtok_r(names, " \t\r", &save); word; word = strtok_r(NULL, " \t\r", &save))
        if (strcasecmp(word, name) == 0)
            return true;
    return false;
}

size_t hosts_file_find(char *text, const char *name, uint16_t port, union resolver_address *out,
                       size_t max)
{
    size_t count = 0;
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line && count < max;
         line = strtok_r(NULL, "\n", &save)) {
        line[strcspn(line, "#")] = '\0';
        char *address = line + strspn(line, " \t");
        char *end = address + strcspn(address, " \t");
        if (*end == '\0')
            continue;
        *end = '\0';
        if (line_names(end + 1, name) && hosts_file_numeric(address, port, &out[count]))
            count++;
    }
    return count;
}
