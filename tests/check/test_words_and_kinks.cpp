// Lines of text are as full as words allow; kinks are where one-sided slopes stay apart.
#include <algorithm>
#include <sstream>

#include "gradus/check/raw/kinks.h"
#include "gradus/check/raw/words.h"
#include "gradus/tests/support/catch.h"

namespace gradus::check {
namespace {

std::size_t width(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

/// Greedy, for words that fit in a line.
std::string wrapped_by_words(const std::string& text, std::size_t indent) {
  std::istringstream in(text);
  std::string all, line, word;
  while (in >> word) {
    if (line.empty()) {
      line = std::string(indent, ' ') + word;
    } else if (width(line) + 1 + width(word) > 76) {
      all += line + "\n";
      line = std::string(indent + 2, ' ') + word;
    } else {
      line += " " + word;
    }
  }
  return all + line + "\n";
}

Slope slope(double left, double right) {
  Slope s{.value = 0, .noise = 1e-15, .step = 0.5};
  s.left = left;
  s.right = right;
  return s;
}

}  // namespace

TEST_CASE("words: lines are as full as they can be, in characters, not in bytes") {
  const std::vector<std::string> words{"a",     "é",          "√2·π",        "straße",
                                       "∂f/∂x", "derivative", "ääääääääääää"};
  for (std::size_t seed = 1; seed < 40; ++seed) {
    std::string text;
    for (std::size_t k = 0; k < 60; ++k)
      text += (k == 0 ? "" : " ") + words[(k * k + seed * k + seed) % words.size()];
    CAPTURE(text);
    CHECK(wrapped(text, seed % 5) == wrapped_by_words(text, seed % 5));
  }
  const std::string longest(180, 'x');
  for (const std::string before : {"", "a few words ", "ä "}) {
    std::string joined_up = wrapped(before + longest + " and more", 2),
                wanted = before + longest + "andmore";
    std::istringstream lines(joined_up);
    for (std::string line; std::getline(lines, line);) CHECK(width(line) <= 76);
    for (std::string* each : {&joined_up, &wanted})
      each->erase(
          std::remove_if(each->begin(), each->end(), [](char c) { return c == ' ' || c == '\n'; }),
          each->end());
    CHECK(joined_up == wanted);
  }
}

TEST_CASE("kinks: one-sided slopes that stay where they are, and apart") {
  const double inf = HUGE_VAL;
  const auto kink = [](const Slope& before, const Slope& now) {
    const Slope found = kink_of({before, now});
    return found.kink && found.finite();
  };
  CHECK(kink(slope(0, 1), slope(0, 1)));
  CHECK(kink(slope(0, 1), slope(0.09, 1.09)));
  CHECK(kink(slope(0, 1), slope(0, 1.1)));
  CHECK(!kink(slope(0, 1), slope(0.11, 1.11)));
  CHECK(!kink(slope(0, 1), slope(0, 1.25)));
  CHECK(!kink(slope(0, 1), slope(0, 3)));
  CHECK(!kink(slope(0, 1), slope(0.4, 0.5)));
  CHECK(!kink(slope(1, 1), slope(1, 1)));
  for (const Slope& other : {slope(0, inf), slope(-inf, 0), slope(-inf, inf), slope(inf, inf)}) {
    CHECK(!kink_of({slope(0, 1), other}).kink);
    CHECK(!kink_of({other, other}).kink);
    CHECK(!kink_of({other, slope(0, 1)}).kink);
  }
  CHECK(!kink_of({slope(0, 1)}).kink);
  CHECK(kink_of({slope(0, 1), slope(0.05, 1.05), slope(0.05, 1.06)}).right == 1.06);
}

}  // namespace gradus::check
