/* What every unit test includes: cmocka with what its header needs. */
#ifndef ZKC_TEST_H
#define ZKC_TEST_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "zkconsumer/core/base/array.h"

#endif
