// Linked with test.cpp: both include the header.
#include "gradus_check.hpp"

gradus::check::Report second(double x) { return gradus::check::raw("sin", std::sin, std::cos, x); }
