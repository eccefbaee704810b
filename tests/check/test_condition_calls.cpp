// Whole checks of functions of tensors: each call with the layout of its tensors, and the report.
#include "gradus/ops/ops.h"
#include "gradus/tests/check/tensor_calls.h"

namespace gradus::tensor_calls {
namespace {

using check::Options;
using golden::Page;

const Tensor kMask = tensor({{1, 0, 1}, {1, 1, 0}}, Dtype::i64);

const Tensor kLong =
    tensor({{0.5, -1.25, 2.0}, {1.5, 0.75, -3.0}, {2.5, 1.0, -0.5}, {4.0, -2.0, 3.0}}, Dtype::f64);

Options plain() {
  Options o;
  o.smallest = false;
  return o;
}

Options in_f32() {
  Options o = plain();
  o.dtype = Dtype::f32;
  return o;
}

/// x² w by hand, with factors that may be wrong.
struct Product {
  std::function<double(const Tensors&in, const Tensor&dy)> x = {}, w = {};

  Tensors operator()(const Tensors& in, const Tensor& dy) const {
    const double a = x ? x(in, dy) : 1, b = w ? w(in, dy) : 1;
    return {dy * 2.0 * in[0] * in[1] * a, sum(dy * in[0] * in[0], {0}) * b};
  }
};

Tensor product(const Tensors& in) { return in[0] * in[0] * in[1]; }

void by_hand(Page& page, const std::string& what, const check::Vjp& vjp,
             const Options& options = plain()) {
  show(page, what, [&](Calls& calls) {
    return check::vjp("product", with_calls(product, calls), with_calls(vjp, calls), {kX, kW},
                      options);
  });
}

void of_function(Page& page, const std::string& what, const check::Function& f, const Tensors& in,
                 const Options& options = plain()) {
  show(page, what,
       [&](Calls& calls) { return check::gradients(what, with_calls(f, calls), in, options); });
}

/// A factor that is wrong when this holds.
template <class When>
auto bad(When when) {
  return [when](const Tensors& in, const Tensor& dy) { return when(in, dy) ? 1.5 : 1.0; };
}

Tensor f(const Tensors& in) { return in[0] * 1.0; }

bool strided(const Tensor& x) { return !x.is_contiguous(); }

/// The first half of the page.
void show_refused(Page& page) {
  of_function(page, "another unrecorded",
              [](const Tensors& in) { return in[0] * (GradMode::enabled() ? 1.0 : 2.0); }, {kX});
  of_function(page, "another shape unrecorded",
              [](const Tensors& in) {
                return GradMode::enabled() ? in[0] * 1.0 : reshape(in[0], {3, 2});
              },
              {kX});
  of_function(
      page, "refused inputs",
      [](const Tensors& in) {
        require(in[0].rank() == 2, "two axes ", GradMode::enabled() ? "recorded" : "please");
        return in[0] * in[0];
      },
      {kX},
      [] {
        Options o = plain();
        o.refused = {{kW}, {kX}};
        return o;
      }());
  of_function(
      page, "refused",
      [](const Tensors& in) {
        require(in[0].rank() == 2, "two axes");
        return in[0] * in[0];
      },
      {kX},
      [] {
        Options o = plain();
        o.refused = {{kW}};
        return o;
      }());
}

}  // namespace

TEST_CASE("the calls of checks by tensors are golden/check/tensors.txt") {
  Page page;
  by_hand(page, "right", Product{});
  Options o = plain();
  o.dtype = Dtype::f32;
  by_hand(page, "in f32", Product{}, o);
  o = plain();
  o.conditions = false;
  by_hand(page, "without conditions", Product{}, o);
  o = plain();
  o.names = {"x", "weight"};
  o.differentiable = {true, false};
  o.seed = 9;
  o.upstream = kX + 1.0;
  by_hand(page, "one of two", Product{}, o);
  o = plain();
  o.mode = check::Mode::projections;
  o.rtol = 1e-3;
  o.kinks = {{0, 0.75, 0.5}, {1, {}, 1}};
  by_hand(page, "sampled", Product{}, o);
  of_function(page, "masked",
              [](const Tensors& in) { return where(in[1] > in[2], in[0], in[0] * 2.0); },
              {kX, kMask, kMask * 0});
  of_function(page, "three", [](const Tensors& in) { return in[0] * in[1] + in[2]; },
              {kX, kX + 0.25, kX * 0.5});
  of_function(page, "a number", [](const Tensors& in) { return in[0] * in[0]; },
              {tensor(1.5, Dtype::f64)});
  page.compare("tensors.txt");
}

TEST_CASE("the calls of checks of second derivatives are golden/check/second.txt") {
  Page page;
  const auto second = [&](const std::string& what, const check::Function& f, const Tensors& in,
                          const Options& o) {
    show(page, what,
         [&](Calls& calls) { return check::second(what, with_calls(f, calls), in, o); });
  };
  Options o = plain();
  o.upstream = kX;
  o.refused = {{kW, kX}};
  o.names = {"x", "w"};
  o.conditions = false;
  second("product", product, {kX, kW}, o);
  second(
      "cube", [](const Tensors& in) { return in[0] * in[0] * in[0]; }, {kW}, plain());
  second(
      "linear", [](const Tensors& in) { return in[0] * 3.0 + in[1].detach(); }, {kW, kW}, plain());
  second(
      "masked", [](const Tensors& in) { return in[0] * in[0]; }, {kW, kMask},
      o =
          [] {
            Options with = plain();
            with.conditions = false;
            return with;
          }());
  second(
      "zeros", [](const Tensors& in) { return in[0] * in[0]; }, {kW * 0.0}, o);
  page.compare("second.txt");
}

TEST_CASE("what is wrong under one condition is told as in golden/check/conditions.txt") {
  Page page;
  by_hand(page, "strided x",
          Product{bad([](const Tensors& in, const Tensor&) { return strided(in[0]); })});
  by_hand(page, "strided dy",
          Product{{}, bad([](const Tensors&, const Tensor& dy) { return strided(dy); })});
  by_hand(page, "offset w",
          Product{bad([](const Tensors& in, const Tensor&) { return in[1].offset() > 0; })});
  by_hand(page, "repeated",
          Product{bad([](const Tensors& in, const Tensor&) { return in[1].strides()[0] == 0; })});
  by_hand(page, "poisoned",
          Product{{}, bad([](const Tensors&, const Tensor&) { return poisoned(); })});
  by_hand(page, "changing", Product{[n = 0](const Tensors&, const Tensor&) mutable {
            return ++n > 8 ? 1 + n : 1.0;
          }});
  by_hand(page, "nan", Product{[](const Tensors&, const Tensor& dy) {
            return strided(dy) ? std::nan("") : 1.0;
          }});
  by_hand(page, "throws", [](const Tensors& in, const Tensor& dy) {
    if (strided(in[0])) throw ValueError("not like this");
    return Product{}(in, dy);
  });
  by_hand(
      page, "of f32",
      Product{bad([](const Tensors& in, const Tensor&) { return in[0].dtype() == Dtype::f32; })},
      in_f32());
  by_hand(
      page, "of f32, throws",
      [](const Tensors& in, const Tensor& dy) {
        if (dy.dtype() == Dtype::f32) throw ValueError("too short");
        return Product{}(in, dy);
      },
      in_f32());
  page.compare("conditions.txt");
}

TEST_CASE("functions that are another one at times are told as in golden/check/forwards.txt") {
  Page page;
  show_refused(page);
  of_function(page, "no graph", [](const Tensors& in) { return in[0].detach() * 2.0; }, {kX});
  of_function(page, "too large", [](const Tensors& in) { return in[0] * 1e31; },
              {kernel::convert(kX, Dtype::f32)});
  of_function(page, "throws in f32",
              [](const Tensors& in) {
                require(in[0].dtype() == Dtype::f64, "doubles alone");
                return in[0] * 2.0;
              },
              {kernel::convert(kX, Dtype::f32)});
  of_function(page, "one tensor twice",
              [](const Tensors& in) {
                return in[0] * in[1] * (in[0].node() && in[0].node() == in[1].node() ? 2.0 : 1.0);
              },
              {kX, kX + 1.0});
  of_function(page, "wants all",
              [](const Tensors& in) {
                return in[0].requires_grad() != in[1].requires_grad() && GradMode::enabled()
                           ? in[0] * in[1] + in[0].detach() * in[1] - in[0] * in[1].detach()
                           : in[0] * in[1];
              },
              {kX, kX + 1.0});
  page.compare("forwards.txt");
}

TEST_CASE("smaller inputs that fail too are golden/check/smaller.txt") {
  Page page;
  const auto wrong_from = [](std::int64_t rows) {
    return [rows](const Tensors& in, const Tensor& dy) {
      return Tensors{in[0].size(0) >= rows ? dy * in[0] * 3.0 : dy * in[0] * 2.0};
    };
  };
  const auto square = [](const Tensors& in) { return in[0] * in[0]; };
  for (const std::int64_t rows : {1, 2, 3})
    show(page, "wrong from " + std::to_string(rows), [&](Calls& calls) {
      Options o;
      o.conditions = false;
      return check::vjp("square", with_calls(square, calls), wrong_from(rows), {kLong}, o);
    });
  show(page, "six inputs", [&](Calls& calls) {
    Options o;
    o.conditions = false;
    return check::vjp(
        "sum",
        with_calls([](const Tensors& in) { return in[0] + in[1] * in[2] + in[3] + in[4] + in[5]; },
                   calls),
        [](const Tensors& in, const Tensor& dy) { return Tensors{dy, dy * in[2], dy, dy, dy, dy}; },
        Tensors(6, kW), o);
  });
  show(page, "a condition", [&](Calls& calls) {
    return check::vjp("square", with_calls(square, calls),
                      [](const Tensors& in, const Tensor& dy) {
                        return Tensors{dy * in[0] * (strided(dy) ? 3.0 : 2.0)};
                      },
                      {kX}, {});
  });
  page.compare("smaller.txt");
}

TEST_CASE("what checks by tensors refuse is golden/check/refused_tensors.txt") {
  Page page;
  const auto with = [&](const std::string& what, const check::Function& g, const Tensors& in,
                        const Options& o) {
    show(page, what, [&](Calls&) { return check::gradients("g", g, in, o); });
  };
  with("empty", {}, {kX}, {});
  with("undefined input", f, {Tensor()}, {});
  with("undefined result", [](const Tensors&) { return Tensor(); }, {kX}, {});
  with("another dtype", [](const Tensors& in) { return kernel::convert(in[0], Dtype::f32); }, {kX},
       {});
  with("no inputs", f, {}, {});
  with("nothing differentiable", f, {kMask}, {});
  Options o;
  o.names = {"a", "b"};
  with("names", f, {kX}, o);
  o = {};
  o.differentiable = {true, true};
  with("flags", f, {kX}, o);
  o = {};
  o.differentiable = {true};
  with("integers", f, {kMask}, o);
  o = {};
  o.upstream = kW;
  with("upstream", f, {kX}, o);
  o = {};
  o.kinks = {{1, 0.0, 1}};
  with("kink of no input", f, {kX}, o);
  with(
      "kink of integers", [](const Tensors& in) { return in[0] * 1.0; }, {kX, kMask}, o);
  const auto vjp = [&](const std::string& what, const Tensors& dx) {
    show(page, what, [&](Calls&) {
      return check::vjp(
          "g", f, [dx](const Tensors&, const Tensor&) { return dx; }, {kX}, plain());
    });
  };
  vjp("no gradients", {});
  vjp("another shape", {kW});
  vjp("another dtype of dx", {kernel::convert(kX, Dtype::f32)});
  vjp("undefined gradient", {Tensor()});
  page.compare("refused_tensors.txt");
}

}  // namespace gradus::tensor_calls
