// A pattern has slots: {W} weekday, {D} day, {M} month, {Y} year. A format is a pattern with a
// style in each slot. write_date() replaces the styles with the parts of a date.
#include "dates.h"

#include <array>
#include <cstdio>
#include <map>

#include "gradus/engine/base/error.h"
#include "gradus/examples/apps/support/draws.h"
#include "gradus/io/text.h"
#include "templates.h"

namespace gradus::examples {
namespace {

using Words = std::vector<std::string>;

/// Patterns with the same styles. To avoid ambiguity, a two-digit year never comes first, and
/// formats that begin with a numeric day or month state their order.
struct Group {
  Words patterns, weekdays, days, months, years;
};

const std::vector<Group>& groups() {
  static const Words named = {"{Sep}", "{Sep.}", "{September}", "{SEP}", "{september}", "{IX}"};
  static const Words any_day = {"{3}", "{03}", "{3rd}", "{third}"};
  static const Words any_year = {"{1998}", "'{98}", "{98}", "{nineteen ninety-eight}"};
  static const std::vector<Group> all = {
      {{"{D} {M} {Y}", "{D}. {M} {Y}", "{D} of {M} {Y}", "{D} {M}, {Y}", "{D}-{M}-{Y}",
        "the {D} of {M}, {Y}", "{M} {D}, {Y}", "{M} {D} {Y}", "{M} the {D}, {Y}", "{M}/{D}/{Y}"},
       {""},
       any_day,
       named,
       any_year},
      {{"{Y} {M} {D}", "{Y}, {M} {D}", "{Y}-{M}-{D}", "in {Y}, {M} {D}"},
       {""},
       any_day,
       named,
       {"{1998}", "{nineteen ninety-eight}"}},
      {{"{W}, {D} {M} {Y}", "{W} {D} {M} {Y}", "{W}, {M} {D}, {Y}", "{W} the {D} of {M}, {Y}"},
       {"{Thursday}", "{Thu}", "{thursday}"},
       {"{3}", "{03}", "{3rd}"},
       named,
       {"{1998}", "'{98}"}},
      {{"{D}/{M}/{Y} (d/m/y)", "{D}.{M}.{Y} (d.m.y)", "{D}-{M}-{Y} (d-m-y)", "{D} {M} {Y} (d m y)",
        "{M}/{D}/{Y} (m/d/y)", "{M}.{D}.{Y} (m.d.y)", "{M}-{D}-{Y} (m-d-y)"},
       {""},
       {"{3}", "{03}"},
       {"{9}", "{09}"},
       {"{1998}", "'{98}", "{98}"}},
      {{"{Y}/{M}/{D}", "{Y}-{M}-{D}", "{Y} {M} {D}", "{Y}.{M}.{D}"},
       {""},
       {"{3}", "{03}"},
       {"{9}", "{09}"},
       {"{1998}"}}};
  return all;
}

std::string fill(std::string text, const std::string& place, const std::string& with) {
  const std::size_t at = text.find(place);
  return at == std::string::npos ? text : text.replace(at, place.size(), with);
}

std::string format_of(const std::string& pattern, const std::string& weekday,
                      const std::string& day, const std::string& month, const std::string& year) {
  return fill(fill(fill(fill(pattern, "{W}", weekday), "{D}", day), "{M}", month), "{Y}", year);
}

std::string drawn_format(Draws& draws) {
  std::vector<std::pair<const Group*, std::string>> patterns;
  for (const Group& group : groups())
    for (const std::string& pattern : group.patterns) patterns.emplace_back(&group, pattern);
  const auto& [group, pattern] = draws.one_of(patterns);
  // Separate statements, because the evaluation order of arguments is unspecified.
  const std::string year = draws.one_of(group->years), month = draws.one_of(group->months);
  const std::string day = draws.one_of(group->days), weekday = draws.one_of(group->weekdays);
  return format_of(pattern, weekday, day, month, year);
}

const std::array<const char*, 12> kMonths = {"January",   "February", "March",    "April",
                                             "May",       "June",     "July",     "August",
                                             "September", "October",  "November", "December"};
const std::array<const char*, 12> kRoman = {"I",   "II",   "III", "IV", "V",  "VI",
                                            "VII", "VIII", "IX",  "X",  "XI", "XII"};
const std::array<const char*, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                              "Thursday", "Friday", "Saturday"};
const std::array<const char*, 20> kNumbers = {
    "",         "one",     "two",     "three",     "four",     "five",    "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
const std::array<const char*, 10> kTens = {"",      "",      "twenty",  "thirty", "forty",
                                           "fifty", "sixty", "seventy", "eighty", "ninety"};
const std::array<const char*, 20> kOrdinals = {
    "",           "first",     "second",    "third",       "fourth",     "fifth",     "sixth",
    "seventh",    "eighth",    "ninth",     "tenth",       "eleventh",   "twelfth",   "thirteenth",
    "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"};

std::string two_digits(unsigned n) { return std::to_string(n / 10) + std::to_string(n % 10); }

std::string changed(std::string word, int (*letter)(int)) {
  for (char& c : word) c = static_cast<char>(letter(c));
  return word;
}

/// Returns a number in words: 21 → twenty-one.
std::string spelled(unsigned n) {
  if (n < 20) return kNumbers[n];
  return std::string(kTens[n / 10]) + (n % 10 ? "-" : "") + kNumbers[n % 10];
}

std::string spelled_ordinal(unsigned n) {
  if (n < 20) return kOrdinals[n];
  if (n % 10 == 0) return n == 20 ? "twentieth" : "thirtieth";
  return std::string(kTens[n / 10]) + "-" + kOrdinals[n % 10];
}

std::string ordinal(unsigned n) {
  const bool teen = n / 10 == 1;
  const char* end = teen || n % 10 > 3 || n % 10 == 0 ? "th"
                    : n % 10 == 1                     ? "st"
                    : n % 10 == 2                     ? "nd"
                                                      : "rd";
  return std::to_string(n) + end;
}

std::string spelled_year(unsigned year) {
  const unsigned rest = year % 100;
  if (year / 100 == 19) return "nineteen " + spelled(rest);
  if (rest < 10) return rest == 0 ? "two thousand" : "two thousand " + spelled(rest);
  return "twenty " + spelled(rest);
}

std::string piece(const std::string& style, const Date& date) {
  const unsigned d = static_cast<unsigned>(date.day()), m = static_cast<unsigned>(date.month());
  const unsigned y = static_cast<unsigned>(static_cast<int>(date.year()));
  const std::string month = kMonths[m - 1];
  const std::string weekday =
      kWeekdays[std::chrono::weekday(std::chrono::sys_days(date)).c_encoding()];
  const std::map<std::string, std::string> all = {
      {"3", std::to_string(d)},
      {"03", two_digits(d)},
      {"3rd", ordinal(d)},
      {"third", spelled_ordinal(d)},
      {"9", std::to_string(m)},
      {"09", two_digits(m)},
      {"IX", kRoman[m - 1]},
      {"Sep", month.substr(0, 3)},
      {"Sep.", month.substr(0, 3) + "."},
      {"September", month},
      {"september", changed(month, std::tolower)},
      {"SEP", changed(month.substr(0, 3), std::toupper)},
      {"1998", std::to_string(y)},
      {"98", two_digits(y % 100)},
      {"nineteen ninety-eight", spelled_year(y)},
      {"Thu", weekday.substr(0, 3)},
      {"Thursday", weekday},
      {"thursday", changed(weekday, std::tolower)}};
  const auto at = all.find(style);
  require(at != all.end(), "write_date: unknown style {", style, "}");
  return at->second;
}

/// True for every eleventh day. 11 divides neither 7 nor the length of a month, so these days
/// include all weekdays and days of the month.
bool held_out(std::int64_t day) { return day % 11 == 7; }

std::vector<Example> drawn(std::int64_t count, bool from_held_out, Draws& draws) {
  std::vector<Example> examples;
  while (std::ssize(examples) < count) {
    const std::int64_t day = draws.below(kDays);
    if (held_out(day) != from_held_out) continue;
    const Date date = date_of(day);
    examples.push_back({write_date(drawn_format(draws), date), iso(date)});
  }
  return examples;
}

}  // namespace

Date date_of(std::int64_t day) {
  using namespace std::chrono;
  return sys_days(year(1950) / January / 1) + days(day);
}

std::string write_date(const std::string& format, const Date& date) {
  std::string text;
  for (std::size_t at = 0; at < format.size();) {
    const std::size_t open = format.find('{', at), close = format.find('}', at);
    text += format.substr(at, open - at);
    if (open == std::string::npos) break;
    text += piece(format.substr(open + 1, close - open - 1), date);
    at = close + 1;
  }
  return text;
}

std::string iso(const Date& date) { return write_date("{1998}-{09}-{03}", date); }

std::vector<std::string> date_formats() {
  std::vector<std::string> all;
  for (const Group& g : groups())
    for (const std::string& pattern : g.patterns)
      for (const std::string& weekday : g.weekdays)
        for (const std::string& day : g.days)
          for (const std::string& month : g.months)
            for (const std::string& year : g.years)
              all.push_back(format_of(pattern, weekday, day, month, year));
  return all;
}

Task dates_task(std::int64_t count, std::int64_t seed) {
  Draws learnt(seed, 0), other(seed, 1);
  const std::string characters =
      "0123456789 .,-/()'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  Task task{"dates",
            str_cat("dates in ", io::grouped(std::ssize(date_formats())), " formats, to ISO 8601"),
            Vocabulary(Vocabulary::Unit::character, {characters}),
            Vocabulary(Vocabulary::Unit::character, {"0123456789-"}),
            drawn(count, false, learnt),
            drawn(kValidation, true, other),
            drawn(kTest, true, other),
            "days that no training example has",
            "templates learned from the same examples",
            {}};
  task.baseline = [templates = Templates(task.training)](const std::string& source) {
    return templates.fill(source);
  };
  return task;
}

}  // namespace gradus::examples
