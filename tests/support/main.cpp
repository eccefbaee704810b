// Compiled only if the installed Catch2 has no main().
#define CATCH_CONFIG_MAIN
#include "gradus/tests/support/catch.h"
