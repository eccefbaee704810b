// gradus::check_quick: compiles the header-only checker once.
#define GRADUS_CHECK_INLINE

#include "gradus/check/raw/pullback.h"
