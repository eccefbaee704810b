// The attention kernel called by itself: heads whose backward is done in two and in three parts,
// gradients that hold something before, and NaN in padding.
#include <algorithm>
#include <limits>
#include <vector>

#include "gradus/ops/attention/tiling.h"
#include "gradus/ops/members.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/expect.h"
#include "gradus/tests/support/registry.h"

namespace gradus::testing {
namespace {

using kernel::AttentionProblem;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

kernel::HeadsView<const double> read(const Tensor& x) {
  return {x.data<double>(), x.strides()[0], x.strides()[1], x.strides()[2], x.size(3)};
}

struct Inputs {
  Tensor q, k, v, dout;
};

struct Wants {
  bool q = true, k = true, v = true;
};

/// dq, dk and dv by the kernel, which finds `before` in them; empty where not wanted.
std::vector<Numbers> gradients(const AttentionProblem& p, const Inputs& x, double before,
                               Wants wants = {}) {
  Tensor o = full({p.B, p.H, p.T, p.Dv}, before, Dtype::f64);
  Tensor lse = full({p.B, p.H, p.T}, before, Dtype::f64);
  const kernel::AttentionInputs<double> in{read(x.q), read(x.k), read(x.v)};
  const auto written = [](Tensor& y) -> kernel::HeadsView<double> {
    if (!y.defined()) return {};
    double* data = y.mutable_data<double>();
    return {data, y.strides()[0], y.strides()[1], y.strides()[2], y.size(3)};
  };
  kernel::attention_forward<double>(p, in, written(o), lse.mutable_data<double>());
  Tensor dq, dk, dv;
  if (wants.q) dq = full(x.q.shape(), before, Dtype::f64);
  if (wants.k) dk = full(x.k.shape(), before, Dtype::f64);
  if (wants.v) dv = full(x.v.shape(), before, Dtype::f64);
  kernel::attention_backward<double>(
      p, in, {read(o), read(x.dout), lse.data<double>(), written(dq), written(dk), written(dv)});
  std::vector<Numbers> all;
  for (const Tensor& d : {dq, dk, dv}) all.push_back(d.defined() ? numbers(d) : Numbers());
  return all;
}

/// Block n of 32 queries sees keys from 48 + 16 n to 80 + 16 n, but each fifth pair; so tiles 0 and
/// 4 are seen by none. No query sees key 60.
Mask steps(std::int64_t T, std::int64_t S) {
  std::vector<bool> allowed;
  for (std::int64_t i = 0; i < T; ++i)
    for (std::int64_t j = 0; j < S; ++j) {
      const std::int64_t first = 48 + i / 32 * 16;
      allowed.push_back(first <= j && j < first + 32 && j != 60 && (7 * i + 3 * j) % 5 != 0);
    }
  return dense_mask(tensor(allowed, {T, S}));
}

AttentionProblem problem(const Shape& heads, std::int64_t T, std::int64_t S, std::int64_t width,
                         const Mask& mask) {  // heads: H, Hk
  return {.B = 1,
          .H = heads[0],
          .Hk = heads[1],
          .T = T,
          .S = S,
          .D = width,
          .Dv = width,
          .scale = 0.1,
          .mask = mask};
}

Inputs inputs(const AttentionProblem& p) {
  return {values({p.B, p.H, p.T, p.D}), values({p.B, p.Hk, p.S, p.D}, 1),
          values({p.B, p.Hk, p.S, p.Dv}, 2), values({p.B, p.H, p.T, p.Dv}, 3)};
}

/// x with `value` in key `key` of each head.
Tensor with_key(const Tensor& x, std::int64_t key, double value) {
  Tensor y = x.clone();
  slice(y, 2, key, key + 1).detach().fill_(value);
  return y;
}

/// f64 sums of about a hundred terms of order 1, and of up to 256 of those.
void same(const std::vector<Numbers>& a, const std::vector<Numbers>& b, const std::string& what) {
  for (std::size_t i = 0; i < 3; ++i) expect(near(a[i], b[i], 1e-10), what);
}

std::vector<Numbers> by_formula(const AttentionProblem& p, const Inputs& x) {
  std::vector<Numbers> all;
  for (const Tensor& d : formula::backward(p, x.q, x.k, x.v, x.dout)) all.push_back(numbers(d));
  return all;
}

/// Two key heads of two parts each, and one of three: with as little work as makes so many.
std::vector<AttentionProblem> in_parts() {
  const AttentionProblem two = problem({4, 2}, 64, 160, 103, steps(64, 160));
  const AttentionProblem three = problem({1, 1}, 96, 160, 205, steps(96, 160));
  CHECK(kernel::parts_of(two).size() == 4);
  CHECK(kernel::parts_of(three).size() == 3);
  return {two, three};
}

TEST_CASE("parts of a head add up to the formula's gradients, whatever was there before") {
  for (const AttentionProblem& p : in_parts()) {
    const Inputs x = inputs(p);
    const std::vector<Numbers> right = by_formula(p, x), found = gradients(p, x, 7);
    same(found, right, "parts");
    expect(gradients(p, x, 7) == gradients(p, x, -3), "bits do not depend on what was there");
  }
}

TEST_CASE("gradients do not depend on a NaN that their buffers held") {
  std::vector<AttentionProblem> problems = in_parts();
  problems.push_back(problem({4, 2}, 40, 100, 8, causal_mask()));  // a part for each head
  for (const AttentionProblem& p : problems) {
    const Inputs x = inputs(p);
    expect(gradients(p, x, kNan) == gradients(p, x, 7), "bits do not depend on a NaN before");
  }
}

TEST_CASE("parts of a head: each gradient alone has the bits that it has beside the others") {
  const AttentionProblem p = in_parts()[0];
  const Inputs x = inputs(p);
  const std::vector<Numbers> all = gradients(p, x, 7);
  expect(gradients(p, x, 7, {true, false, false})[0] == all[0], "dq alone");
  expect(gradients(p, x, 7, {false, true, false})[1] == all[1], "dk alone");
  expect(gradients(p, x, 7, {false, false, true})[2] == all[2], "dv alone");
}

TEST_CASE("parts of a head: a NaN in padding reaches none") {
  for (const AttentionProblem& p : in_parts())
    for (const std::int64_t key : {40, 120}) {
      const Inputs x = inputs(p);
      const Inputs clean{x.q, with_key(x.k, key, 0), with_key(x.v, key, 0), x.dout};
      const Inputs dirty{x.q, with_key(x.k, key, kNan), with_key(x.v, key, kNan), x.dout};
      same(gradients(p, dirty, 7), gradients(p, clean, 7), "a NaN in padding");
    }
}

TEST_CASE("a mask that hides nothing changes no bit") {
  const AttentionProblem all = problem({2, 1}, 40, 100, 8, {});
  AttentionProblem masked = all;
  masked.mask = causal_mask(1000);
  const Inputs x = inputs(all);
  expect(gradients(all, x, 7) == gradients(masked, x, 7), "all bits");
}

}  // namespace
}  // namespace gradus::testing
