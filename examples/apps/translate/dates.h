// Writes dates in many formats. The name of a format is Thursday, 3 September 1998 in that format:
//
//   "{Thursday}, the {3rd} of {September}, {1998}"    "{9}/{3}/{98} (m/d/y)"    "{3}-{IX}-{1998}"
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "task.h"

namespace gradus::examples {

using Date = std::chrono::year_month_day;

/// Day 0 is 1950-01-01 and the last day 2049-12-31, so two digits determine the year.
constexpr std::int64_t kDays = 36525;
Date date_of(std::int64_t day);

std::string write_date(const std::string& format, const Date& date);
std::string iso(const Date& date);  // 1998-09-03

/// Returns all formats. No text can be read as two different dates.
std::vector<std::string> date_formats();

/// Returns a task with `count` training pairs. Validation and test pairs have different days.
Task dates_task(std::int64_t count, std::int64_t seed);

}  // namespace gradus::examples
