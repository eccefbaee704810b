// Compiles the header-only checker once, for gradus::check_quick.
#define GRADUS_CHECK_INLINE

#include "gradus/check/raw/ci.h"
#include "gradus/check/raw/pullback.h"
