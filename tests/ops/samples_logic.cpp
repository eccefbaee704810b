#include <array>

#include "gradus/ops/create.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

template <class T>
using OfThree = List<T>(const List<T>&, const List<T>&, const List<T>&);

/// An irregular pattern: i² mod 7 < 3.
Tensor flags(const Shape& shape) {
  std::array<bool, 64> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * i % 7 < 3;
  return tensor(std::span<const bool>(values.data(), static_cast<std::size_t>(numel(shape))),
                shape);
}

Sample chosen(std::string what, const Shape& c, const Shape& a, const Shape& b,
              Generic<OfThree> reference) {
  return {.op = "where",
          .what = std::move(what),
          .inputs = {flags(c), values(a, 0), values(b, 1)},
          .f = [](const Inputs& x) { return where(x[0], x[1], x[2]); },
          .reference =
              [reference]<class T>(const Arguments<T>& x) {
                List<T> condition;
                for (const std::int64_t v : x[0].integers)
                  condition.push_back(static_cast<double>(v));
                return reference(condition, x[1].values, x[2].values);
              }};
}

template <class T>
List<T> same_shape(const List<T>& c, const List<T>& a, const List<T>& b) {
  List<T> out;
  for (std::size_t i = 0; i < c.size(); ++i) out.push_back(c[i] != 0 ? a[i] : b[i]);
  return out;
}

/// c [3, 1], a [5], b [2, 1, 1] → [2, 3, 5]
template <class T>
List<T> all_three(const List<T>& c, const List<T>& a, const List<T>& b) {
  List<T> out;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 5; ++k) out.push_back(c[j] != 0 ? a[k] : b[i]);
  return out;
}

/// c [5], a [3, 5], b []
template <class T>
List<T> row_condition(const List<T>& c, const List<T>& a, const List<T>& b) {
  List<T> out;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 5; ++k) out.push_back(c[k] != 0 ? a[i * 5 + k] : b[0]);
  return out;
}

Sample filled(std::string what, const Shape& x, const Shape& mask, std::size_t repeats) {
  return {.op = "masked_fill",
          .what = std::move(what),
          .inputs = {values(x, 2), flags(mask)},
          .f = [](const Inputs& in) { return masked_fill(in[0], in[1], -7.5); },
          .reference =
              [repeats]<class T>(const Arguments<T>& in) {
                List<T> out = in[0].values;
                const std::vector<std::int64_t> hidden = in[1].integers;
                for (std::size_t i = 0; i < out.size(); ++i)  // the mask broadcasts
                  if (hidden[i / repeats % hidden.size()]) out[i] = -7.5;
                return out;
              }};
}

}  // namespace

Samples logic_samples() {
  Samples out;
  out.push_back(chosen("equal shapes", {3, 5}, {3, 5}, {3, 5},
                       [](const auto&... x) { return same_shape(x...); }));
  out.push_back(chosen("rank 0", {}, {}, {}, [](const auto&... x) { return same_shape(x...); }));
  out.push_back(chosen("no elements", {0, 2}, {0, 2}, {0, 2},
                       [](const auto&... x) { return same_shape(x...); }));
  out.push_back(chosen("all three broadcast", {3, 1}, {5}, {2, 1, 1},
                       [](const auto&... x) { return all_three(x...); }));
  out.push_back(chosen("a row of conditions, a number", {5}, {3, 5}, {},
                       [](const auto&... x) { return row_condition(x...); }));
  out.push_back(
      {.op = "where",
       .what = "transposed views of one tensor on both sides",
       .inputs = {flags({2, 3}), values({3, 2}, 3)},
       .f =
           [](const Inputs& x) { return where(x[0], transpose(x[1]), transpose(flip(x[1], {0}))); },
       .reference =
           []<class T>(const Arguments<T>& x) {
             const List<T> v = x[1].values;
             const std::vector<std::int64_t> c = x[0].integers;
             List<T> result;
             for (std::size_t i = 0; i < 2; ++i)
               for (std::size_t j = 0; j < 3; ++j)
                 result.push_back(c[i * 3 + j] ? v[j * 2 + i] : v[(2 - j) * 2 + i]);
             return result;
           }});
  out.push_back(filled("equal shapes", {3, 5}, {3, 5}, 1));
  out.push_back(filled("a row", {3, 5}, {5}, 1));
  out.push_back(filled("a column", {3, 5}, {3, 1}, 5));
  out.push_back(filled("rank 0", {}, {}, 1));
  out.push_back(filled("no elements", {2, 0}, {2, 0}, 1));
  return out;
}

}  // namespace gradus::testing
