// Includes the checker from the single header or from the package.
#pragma once

#if __has_include("gradus_check.hpp")
#include "gradus_check.hpp"
#else
#include <gradus/check/raw/check.h>
#endif
