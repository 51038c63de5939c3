#include "zkconsumer/cli/property_option.h"
#include "zkconsumer/cli/report.h"
#include <string.h>

bool property_option_each(const struct cli_args *args, size_t option, property_option_fn *take,
                          void *user)
{
    const char *text;
    for (size_t i = 0; (text = cli_args_value(args, option, i)); i++) {
        char key[PROPERTY_KEY_SIZE];
        size_t len = strcspn(text, "=");
        if (!text[len] || len == 0 || len >= sizeof key) {
            report_error("--property=%s: expected KEY=VALUE", text);
            return false;
        }
        memcpy(key, text, len);
        key[len] = 0;
        if (!take(key, text + len + 1, user))
            return false;
    }
    return true;
}
