// gradus::check_quick: what the headers hold inline, compiled once.
#define GRADUS_CHECK_INLINE

#include "gradus/check/raw/pullback.h"
