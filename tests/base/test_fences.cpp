// Matmuls and transposes stay inside their matrices, which lie next to inaccessible pages.
#if defined(__unix__)
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gradus/base/transpose.h"
#include "gradus/tests/base/products.h"
#include "gradus/tests/support/catch.h"

namespace products = gradus::products;
using std::int64_t;

namespace {

template <class T>
class Fenced {
 public:
  Fenced(const std::vector<T>& numbers, bool at_end) : size(numbers.size()) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t bytes = size * sizeof(T), inner = (bytes + page - 1) / page * page;
    whole_ = inner + 2 * page;
    place_ = ::mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(place_ != MAP_FAILED);
    char* first = static_cast<char*>(place_) + page;
    REQUIRE(::mprotect(first, inner, PROT_READ | PROT_WRITE) == 0);
    data = reinterpret_cast<T*>(first + (at_end ? inner - bytes : 0));
    std::copy(numbers.begin(), numbers.end(), data);
  }
  ~Fenced() { ::munmap(place_, whole_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  std::size_t size;
  T* data;

 private:
  void* place_;
  std::size_t whole_;
};

template <class T>
void check_product(int64_t m, int64_t n, int64_t k, bool ta, bool tb, bool at_end) {
  using gradus::tests::numbers;
  const Fenced<T> a(numbers<T>(m * k, 1), at_end), b(numbers<T>(k * n, 2), at_end),
      residual(numbers<T>(m * n, 3), at_end), bias(numbers<T>(n, 4), at_end);
  const products::Matrix<const T> left(a.data, ta ? k : m, ta ? m : k),
      right(b.data, tb ? n : k, tb ? k : n);
  std::vector<T> expected;
  for (const products::Choice& choice : gradus::tests::every_choice()) {
    const Fenced<T> c(std::vector<T>(static_cast<std::size_t>(m * n), T(7)), at_end);
    multiply_by(choice, products::Matrix<T>(c.data, m, n), ta ? left.transpose() : left,
                tb ? right.transpose() : right,
                {.bias = bias.data, .residual = {residual.data, m, n}});
    if (expected.empty()) expected.assign(c.data, c.data + c.size);  // by plain loops
    int wrong = 0;
    for (std::size_t i = 0; i < c.size; ++i)
      wrong += !(std::abs(c.data[i] - expected[i]) <= gradus::tests::product_tolerance(k, T(1)));
    CAPTURE(choice.reason, m, n, k, ta, tb, at_end);
    CHECK(wrong == 0);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("matmuls touch nothing outside their matrices", "", float, double) {
  for (const int64_t m : {1, 3, 31, 67})
    for (const int64_t n : {1, 4, 45})
      for (const int64_t k : {5, 24, 41})
        for (int options = 0; options < 8; ++options)
          check_product<TestType>(m, n, k, options % 2 != 0, options / 2 % 2 != 0, options >= 4);
}

TEMPLATE_TEST_CASE("transposes touch nothing outside their matrices", "", float, double) {
  for (const int64_t rows : {1, 7, 8, 15, 16, 17, 40})
    for (const int64_t width : {1, 8, 9, 23, 24})
      for (const bool at_end : {false, true}) {
        const auto x = gradus::tests::numbers<TestType>(rows * width, 1);
        const Fenced<TestType> from(x, at_end), to(std::vector<TestType>(x.size()), at_end);
        gradus::kernel::transpose(from.data, width, rows, width, to.data, rows);
        int64_t wrong = 0;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < width; ++c)
            wrong += to.data[c * rows + r] != from.data[r * width + c];
        CAPTURE(rows, width, at_end);
        CHECK(wrong == 0);
      }
}
#endif
