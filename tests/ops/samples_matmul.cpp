#include "gradus/ops/arithmetic.h"
#include "gradus/ops/linear.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/tests/support/naive.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using naive::numbers;

/// `as_a` and `as_b` are the shapes after matmul adds an axis to vectors.
Sample product(const char* what, const Shape& a, const Shape& b, Sizes as_a, Sizes as_b) {
  return {"matmul",
          what,
          {values(a), values(b, 1)},
          [](const Inputs& in) { return matmul(in[0], in[1]); },
          [=]<class T>(const Arguments<T>& in) {
            return naive::matmul(numbers(in[0]), as_a, numbers(in[1]), as_b);
          }};
}

Sample product(const char* what, const Shape& a, const Shape& b) {
  return product(what, a, b, {a.begin(), a.end()}, {b.begin(), b.end()});
}

template <class T>
List<T> even_columns(const List<T>& x, std::int64_t rows, std::int64_t columns) {
  List<T> y;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; c += 2) y.push_back(x[naive::at(r * columns + c)]);
  return y;
}

void add_products(Samples& all) {
  all.push_back(product("a matrix and a matrix, unequal primes", {3, 5}, {5, 2}));
  all.push_back(product("1 x 1 matrices", {1, 1}, {1, 1}));
  all.push_back(product("a row and a column", {1, 7}, {7, 1}));
  all.push_back(product("a column and a row", {3, 1}, {1, 5}));
  all.push_back(product("an inner size of 0", {3, 0}, {0, 2}));
  all.push_back(product("no rows", {0, 3}, {3, 2}));
  all.push_back(product("no batches", {0, 2, 3}, {3, 2}));
  all.push_back(product("an inner size of 0 in a batch", {2, 3, 0}, {0, 2}));
  all.push_back(product("batches", {3, 2, 5}, {3, 5, 2}));
  all.push_back(product("batches broadcast on both sides", {2, 1, 3, 2}, {5, 2, 3}));
  all.push_back(product("batches broadcast crosswise", {2, 1, 2, 3}, {1, 3, 3, 2}));
  all.push_back(product("many rows of a batch on one matrix", {2, 3, 5}, {5, 3}));
  all.push_back(product("one matrix on a batch", {2, 5}, {3, 5, 2}));
  all.push_back(product("vector · vector", {5}, {5}, {1, 5}, {5, 1}));
  all.push_back(product("vector · matrix", {5}, {5, 3}, {1, 5}, {5, 3}));
  all.push_back(product("matrix · vector", {3, 5}, {5}, {3, 5}, {5, 1}));
  all.push_back(product("vector · batch", {3}, {2, 3, 5}, {1, 3}, {2, 3, 5}));
  all.push_back(product("batch · vector", {2, 3, 5}, {5}, {2, 3, 5}, {5, 1}));
}

void add_strided_products(Samples& all) {
  all.push_back({"matmul",
                 "both operands transposed",
                 {values({5, 3}), values({2, 5}, 1)},
                 [](const Inputs& in) { return matmul(transpose(in[0]), transpose(in[1])); },
                 []<class T>(const Arguments<T>& in) {
                   return naive::matmul(naive::transpose(numbers(in[0]), 5, 3), {3, 5},
                                        naive::transpose(numbers(in[1]), 2, 5), {5, 2});
                 }});
  all.push_back({"matmul",
                 "x xᵀ: one tensor on both sides",
                 {values({3, 5})},
                 [](const Inputs& in) { return matmul(in[0], transpose(in[0])); },
                 []<class T>(const Arguments<T>& in) {
                   const List<T> x = numbers(in[0]);
                   return naive::matmul(x, {3, 5}, naive::transpose(x, 3, 5), {5, 3});
                 }});
  all.push_back(
      {"matmul",
       "an operand with every second column",
       {values({3, 5}), values({3, 2}, 1)},
       [](const Inputs& in) { return matmul(slice(in[0], 1, 0, 5, 2), in[1]); },
       []<class T>(const Arguments<T>& in) {
         return naive::matmul(even_columns(numbers(in[0]), 3, 5), {3, 3}, numbers(in[1]), {3, 2});
       }});
  all.push_back({"matmul",
                 "expanded operands",
                 {values({1, 3}), values({2, 1, 1}, 1)},
                 [](const Inputs& in) {
                   return matmul(expand(in[0], {5, 3}), expand(in[1], {2, 3, 2}));
                 },
                 []<class T>(const Arguments<T>& in) {
                   const List<T> row = numbers(in[0]), b = numbers(in[1]);
                   List<T> y;
                   for (const T each : b)
                     for (int i = 0; i < 10; ++i) y.push_back((row[0] + row[1] + row[2]) * each);
                   return y;
                 }});
  all.push_back({"matmul",
                 "heads split from [B, T, H·D], as views",
                 {values({2, 3, 4}), values({2, 3, 4}, 1)},
                 [](const Inputs& in) {
                   const auto heads = [](const Tensor& x) {
                     return transpose(reshape(x, {2, 3, 2, 2}), 1, 2);
                   };
                   return matmul(heads(in[0]), transpose(heads(in[1])));
                 },
                 []<class T>(const Arguments<T>& in) {
                   List<T> y;
                   const List<T> q = naive::split_heads(numbers(in[0]), 2, 3, 2, 2, 4);
                   const List<T> k = naive::split_heads(numbers(in[1]), 2, 3, 2, 2, 4);
                   for (std::int64_t bh = 0; bh < 4; ++bh)
                     for (std::int64_t i = 0; i < 3; ++i)
                       for (std::int64_t j = 0; j < 3; ++j) {
                         const std::size_t a = naive::at((bh * 3 + i) * 2),
                                           b = naive::at((bh * 3 + j) * 2);
                         y.push_back(q[a] * k[b] + q[a + 1] * k[b + 1]);
                       }
                   return y;
                 }});
}

Sample affine(const char* what, Inputs inputs) {
  return {"linear", what, std::move(inputs),
          [](const Inputs& in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); },
          []<class T>(const Arguments<T>& in) {
            return naive::affine(numbers(in[0]), in[0].shape.back(), numbers(in[1]),
                                 in.size() > 2 ? numbers(in[2]) : List<T>{});
          }};
}

void add_affine(Samples& all) {
  const Tensor w = values({2, 5}, 1), b = values({2}, 2);
  all.push_back(affine("without bias", {values({3, 5}), w}));
  all.push_back(affine("with bias", {values({3, 5}), w, b}));
  all.push_back(affine("a square result", {values({3, 5}), values({3, 5}, 1), values({3}, 2)}));
  all.push_back(affine("three axes", {values({2, 3, 5}), w, b}));
  all.push_back(affine("one vector", {values({5}), w, b}));
  all.push_back(affine("no rows", {values({0, 5}), w, b}));
  all.push_back(affine("no rows in the middle", {values({2, 0, 5}), w, b}));
  all.push_back(affine("all sizes 1", {values({1, 1}), values({1, 1}, 1), values({1}, 2)}));
  all.push_back(affine("one input column", {values({7, 1}), values({3, 1}, 1), values({3}, 2)}));
}

void add_strided_affine(Samples& all) {
  all.push_back({"linear",
                 "x and the weight transposed, a strided bias",
                 {values({5, 3}), values({5, 2}, 1), values({3}, 2)},
                 [](const Inputs& in) {
                   return linear(transpose(in[0]), transpose(in[1]), slice(in[2], 0, 0, 3, 2));
                 },
                 []<class T>(const Arguments<T>& in) {
                   const List<T> b = numbers(in[2]);
                   return naive::affine(naive::transpose(numbers(in[0]), 5, 3), 5,
                                        naive::transpose(numbers(in[1]), 5, 2), {b[0], b[2]});
                 }});
  all.push_back({"linear",
                 "an expanded row and an expanded bias",
                 {values({1, 3}), values({2, 3}, 1), values({1}, 2), values({1, 2}, 3)},
                 [](const Inputs& in) {
                   const Tensor x = expand(in[0], {5, 3});
                   const Tensor y = linear(x, in[1], expand(in[2], {2}));
                   return (linear(x, in[1]) + in[3]) * y;
                 },
                 []<class T>(const Arguments<T>& in) {
                   const List<T> x = numbers(in[0]), b = numbers(in[2]), r = numbers(in[3]);
                   const List<T> y = naive::affine(x, 3, numbers(in[1]), {});
                   List<T> out;
                   for (int row = 0; row < 5; ++row)
                     for (std::size_t o = 0; o < 2; ++o)
                       out.push_back((y[o] + r[o]) * (y[o] + b[0]));
                   return out;
                 }});
  all.push_back({"linear",
                 "the weight is also the input",
                 {values({3, 3})},
                 [](const Inputs& in) { return linear(in[0], in[0]); },
                 []<class T>(const Arguments<T>& in) {
                   const List<T> x = numbers(in[0]);
                   return naive::affine(x, 3, x, {});
                 }});
}

}  // namespace

Samples matmul_samples() {
  Samples all;
  add_products(all);
  add_strided_products(all);
  add_affine(all);
  add_strided_affine(all);
  return all;
}

}  // namespace gradus::testing
