#include "tests/unit/run/scenarios.h"
#include "tests/unit/test.h"

struct scenario *parse_scenario(const char *text)
{
    struct scenario *s;
    struct why why;
    if (scenario_parse("x", bytes_of_text(text), &s, &why))
        fail_msg("%s", why.text);
    return s;
}

struct scenario *read_scenario(const char *name)
{
    char path[512];
    struct scenario *s;
    struct why why;
    snprintf(path, sizeof path, "%s/%s.scenario", STUDY_SCENARIOS, name);
    if (scenario_read(path, &s, &why))
        fail_msg("%s", why.text);
    return s;
}
