# Debian's own Python, which has kazoo and kafka; another one may be first on PATH.
find_program(ZKC_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT ZKC_PYTHON)
    message(FATAL_ERROR "/usr/bin/python3 is needed for the tests (scripts/setup installs it)")
endif()
