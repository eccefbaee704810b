// The one file that knows which Catch2 is installed: version 2 (Debian 12) or 3.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // where version 2 has it
#else
#include <catch2/catch.hpp>
#endif
