// Numbers, positions and paragraphs as text; arrays and positions in them.
#include "gradus/check/raw/random.h"
#include "gradus/check/raw/words.h"
#include "gradus/tests/check/golden.h"

namespace gradus::check {

using golden::Page;

TEST_CASE("numbers, lists and words are golden/check/words.txt") {
  Page page;
  for (const double v : {0.0, 1.0, -2.5, 1e-7, 123456789.0, 0.1234567891, 1e300, HUGE_VAL,
                         std::nan(""), -std::nan("")})
    for (const int digits : {1, 3, 7, 17}) page.line(number(v, digits));
  page.line(joined("a", 1, std::string("b"), true, -3, "c"), joined(), joined(7));
  for (const Shape& shape : {Shape{}, {3}, {-1, 20, 0}})
    page.line(list(shape), indexed("x", shape), share(2, 7), without_trailing_blanks("a b   "),
              "[" + without_trailing_blanks("   ") + "]");
  page.compare("words.txt");
}

TEST_CASE("paragraphs of all lengths are golden/check/paragraphs.txt") {
  Page page;
  const std::string umlauts = "Höhe über Grüße süß ∂x √2 x̂ — ";
  for (const std::size_t indent : {0U, 2U, 6U}) {
    for (const std::string& unit :
         {std::string("word "), std::string("a"), umlauts, std::string("longer-words-than-most "),
          std::string("  two  blanks"), std::string("tab\tand\nline ")})
      for (const std::size_t length : {0U, 1U, 69U, 70U, 71U, 73U, 74U, 75U, 76U, 77U, 78U, 160U}) {
        std::string text;
        while (text.size() < length) text += unit;
        text.resize(unit == umlauts ? text.size() : length);
        page.line(wrapped(text, indent) + "|");
      }
    for (std::size_t head = 66; head <= 78; ++head)
      page.line(wrapped(std::string(head, 'x') + " " + std::string(3, 'y') + " z", indent) + "|");
    page.line(wrapped(" " + std::string(90, 'x'), indent) + "|");
    page.line(wrapped(std::string(80, ' ') + "x", indent) + wrapped("   three before", indent) +
              "|");
  }
  page.compare("paragraphs.txt");
}

TEST_CASE("arrays: counts, indices, sizes and closeness are golden/check/arrays.txt") {
  Page page;
  const double inf = HUGE_VAL, nan = std::nan("");
  for (const Shape& shape : {Shape{}, {4}, {2, 3}, {2, 1, 3}, {0, 2}}) {
    page.line(list(shape), count_of(shape));
    for (std::size_t i = 0; i < count_of(shape); ++i) {
      page.line(i, list(index_of(i, shape)), element_at(index_of(i, shape), shape));
    }
  }
  const std::vector<Values> all{
      {},          {0},        {1},        {-2, 1},       {1 + 1e-9, nan}, {1, nan},
      {inf, 3},    {-inf, 3},  {nan, nan}, {0, 0},        {1e200, -1e200}, {3, 4},
      {1e-320, 0}, {-5, 0.25}, {2, 1},     {2.002001, 1}, {1, 2.003}};
  for (const Values& x : all)
    page.line(x, "largest", largest_of(x), "rms", rms(x), scaled(x, -2.0));
  for (const double share : {0.0, 1e-3})
    for (const Values& a : all) {
      std::string row;
      for (const Values& b : all) row += close(a, b, share) ? '=' : '.';
      page.line(row);
    }
  Matrix m{2, 3};
  m(1, 0) = 5;
  m(0, 2) = 7;
  page.line(m.values, static_cast<const Matrix&>(m)(1, 0));
  Random random(1234567);
  for (int i = 0; i < 5; ++i) page.line(std::to_string(random.next()));
  for (int i = 0; i < 20; ++i) {
    const double uniform = random.uniform(), between = random.between(-1, 3);
    const auto below = random.below(10);
    page.line(uniform, between, below, random.upstream());
  }
  page.compare("arrays.txt");
}

}  // namespace gradus::check
