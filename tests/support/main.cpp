// The main function of the tests, compiled only where the installed Catch2 brings none.
#define CATCH_CONFIG_MAIN
#include "gradus/tests/support/catch.h"
