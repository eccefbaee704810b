// Compiled only if the installed Catch2 provides no main().
#define CATCH_CONFIG_MAIN
#include "gradus/tests/support/catch.h"
