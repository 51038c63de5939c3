/* Scenarios for tests: of a text, and those of the project by name. */
#ifndef TESTS_UNIT_RUN_SCENARIOS_H
#define TESTS_UNIT_RUN_SCENARIOS_H

#include "study/scenario/scenario.h"

/* Each fails the test when it is refused; scenario_free() ends it. */
struct scenario *parse_scenario(const char *text);
struct scenario *read_scenario(const char *name); /* of study/scenarios */

#endif
