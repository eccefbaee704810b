// Several causes at one input, differences of all sizes, and how much of a rounding is carried.
#include "gradus/check/condition.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/check/tensor_calls.h"

namespace gradus::tensor_calls {
namespace {

using check::Options;
using golden::Page;

Tensor product(const Tensors& in) { return in[0] * in[0] * in[1]; }

const check::Cause kCause{"CAUSE", "why", "hint"}, kOther{"OTHER", "why else", "another hint"};

/// A trial of the product at kX, kW, with what it adds to the report.
template <class F>
void with_trial(Page& page, const std::string& what, const Tensors& in, const check::Function& f,
                F use) {
  const check::TensorFunction function("product", f, in, {});
  check::RowSum rows;
  check::Report report;
  report.inputs = {{.name = "x0"}, {.name = "x1"}};
  check::Trial trial(function, rows, report, function.inputs,
                     check::other_numbers(function.output));
  use(trial);
  page.line("== " + what, report.counts.conditions);
  for (const check::Finding& finding : report.findings)
    page.line("  ", to_string(finding.kind), to_string(finding.verdict), finding.input,
              finding.input_name, finding.note);
  for (const check::InputSummary& input : report.inputs)
    page.line("  ", input.name, input.cause.name, input.cause.why, input.cause.hint);
}

void show_kinks(Page& page) {
  const Tensor x = tensor({0.0, 1.5, -2.0}, Dtype::f64);
  for (const check::Kink& kink : {check::Kink{0, {}, 0}, {0, 0.0, 0}, {0, 5.0, 0}, {0, {}, 1}}) {
    Options o;
    o.conditions = o.smallest = false;
    o.kinks = {kink};
    show(page, "kinks", [&](Calls&) {
      return check::gradients(
          "relu", [](const Tensors& in) { return relu(in[0]); }, {x}, o);
    });
  }
  show(page, "each of its kinks, none at 0", [&](Calls&) {
    Options each;
    each.conditions = each.smallest = false;
    each.kinks = {{0, {}, 0}};
    return check::gradients(
        "relu", [](const Tensors& in) { return relu(in[0] - 1.5); },
        {tensor({0.5, 1.5, -2.0}, Dtype::f64)}, each);
  });
}

}  // namespace

TEST_CASE("results that differ by a little and by much are golden/check/trials.txt") {
  Page page;
  const double inf = HUGE_VAL, nan = std::nan("");
  for (const double off : {0.0, 0.9e-15, 0.9e-13, 2.7e-13, 0.9e-12, 1e-6, -0.5, inf, nan})
    for (const std::size_t part : {0U, 1U, 2U})
      for (const std::int64_t place : {0, 2})
        with_trial(
            page,
            golden::shown(off) + " at " + std::to_string(place) + " of " + std::to_string(part),
            {kX, kW}, product, [&](check::Trial& t) {
              const bool right = t.same("here", kCause, [&] {
                check::Result r = t.f.run(t.x, t.dy);
                Tensor& changed = part == 2 ? r.y : r.dx[part];
                changed = reshape(changed.clone(), {changed.numel()});
                const Tensor one = slice(changed, 0, place, place + 1);
                one.detach().copy_(one * (1 + off));
                changed = part == 1 ? changed : reshape(changed, {2, 3});
                return r;
              });
              page.line(right);
            });
  page.compare("trials.txt");
}

TEST_CASE("numbers where none are expected, and sums of many, are golden/check/sums.txt") {
  Page page;
  const auto root = [](const Tensors& in) { return sqrt(in[0]) * in[1]; };
  for (const double value : {0.5, -2.0, std::nan("")})
    with_trial(page, "instead of nan " + golden::shown(value), {kX, kW}, root,
               [&](check::Trial& t) {
                 const bool right = t.same("here", kCause, [&] {
                   check::Result r = t.f.run(t.x, t.dy);
                   const Tensor one = slice(slice(r.y = r.y.clone(), 0, 0, 1), 1, 1, 2);
                   one.detach().fill_(value);
                   return r;
                 });
                 page.line(right);
               });
  const auto total = [](const Tensors& in) { return sum(in[0] * in[0]); };
  for (int bits = -48; bits <= -38; ++bits)
    with_trial(page, "2 to the " + std::to_string(bits), {kX, kW}, total, [&](check::Trial& t) {
      const bool right = t.same("here", kCause, [&] {
        check::Result r = t.f.run(t.x, t.dy);
        r.y = r.y * (1 + std::ldexp(1.0, bits));
        return r;
      });
      page.line(right);
    });
  page.compare("sums.txt");
}

TEST_CASE("shapes that differ, parts that are left out, and what is thrown") {
  Page page;
  const auto with = [&](const std::string& what,
                        const std::function<void(check::Result&)>& change) {
    with_trial(page, what, {kX, kW}, product, [&](check::Trial& t) {
      const bool right = t.same("there", kCause, [&] {
        check::Result r = t.f.run(t.x, t.dy);
        change(r);
        return r;
      });
      page.line(right);
    });
  };
  with("right", [](check::Result&) {});
  with("shape of y", [](check::Result& r) { r.y = reshape(r.y, {3, 2}); });
  with("shape of dx1", [](check::Result& r) { r.dx[1] = reshape(r.dx[1], {1, 3}); });
  with("no y", [](check::Result& r) { r.y = Tensor(); });
  with("no dx0", [](check::Result& r) { r.dx[0] = Tensor(); });
  with("throws", [](check::Result&) { throw ValueError("out of order"); });
  with_trial(page, "causes", {kX, kW}, product, [&](check::Trial& t) {
    t.add(0, kCause, "first");
    t.add(0, kCause, "the same cause");
    t.add(1, kOther, "of another input");
    t.report.inputs[0].cause.name = "NOW THIS";
    t.add(0, kOther, "second");
    t.add(0, kCause, "third");
    t.add(0, kOther, "fourth");
    t.add(1, kCause, "second of another");
  });
  page.compare("parts.txt");
}

TEST_CASE(
    "what is carried of a rounding, and other and nudged numbers, are golden/check/carried.txt") {
  Page page;
  for (const double scale : {1.0, 1e3, 0.0})
    with_trial(page, "scale " + golden::shown(scale), {kX * scale, kW}, product,
               [&](check::Trial& t) {
                 page.line(golden::shown(t.carried(0), 4), golden::shown(t.carried(1), 4),
                           golden::shown(t.carried(0), 4));
               });
  with_trial(
      page, "at an edge", {kX * kX, kW * kW},
      [](const Tensors& in) { return sqrt(in[0] - 0.25) * in[1]; },
      [&](check::Trial& t) {
        page.line(golden::shown(t.carried(0), 3), golden::shown(t.carried(1), 3));
      });
  const auto numbers = [](const Tensor& x) {
    return kernel::convert(x, Dtype::f64).to_vector<double>();
  };
  for (const Dtype dtype : {Dtype::f64, Dtype::f32})
    for (const std::uint64_t seed : {77U, 5U}) {
      const Tensor x = kernel::convert(kX, dtype), other = check::other_numbers(x, seed);
      page.line(other.dtype() == dtype, str_cat(other.shape()), numbers(other));
      for (const Tensor& moved : check::nudged({x, kW, x}, {true, false, true}, 0.25, seed))
        page.line(numbers(moved), moved.dtype() == dtype);
    }
  page.line(numbers(check::other_numbers(kX)), numbers(check::nudged({kX}, {true}, 0.5)[0]));
  page.compare("carried.txt");
}

TEST_CASE("four causes at one input: three are told") {
  Page page;
  Options o;
  o.smallest = false;
  o.dtype = Dtype::f32;
  show(page, "four", [&](Calls&) {
    return check::vjp(
        "product", product,
        [](const Tensors& in, const Tensor& dy) {
          const bool wrong = !in[0].is_contiguous() || !dy.is_contiguous() ||
                             in[0].dtype() == Dtype::f32 ||
                             in[0].requires_grad() != in[1].requires_grad();
          return Tensors{dy * 2.0 * in[0] * in[1] * (wrong ? 1.5 : 1.0),
                         sum(dy * in[0] * in[0], {0})};
        },
        {kX, kW}, o);
  });
  page.compare("four_causes.txt");
}

TEST_CASE("options that checks by tensors hand on are golden/check/handed_on.txt") {
  Page page;
  show_kinks(page);
  const auto square = [](const Tensors& in) { return in[0] * in[0]; };
  Options o;
  show(page, "none of one", [&](Calls& calls) {
    const auto none = [](const Tensors&, const Tensor&) { return Tensors(); };
    return check::vjp("square", with_calls(square, calls), none, {kX}, o);
  });
  o.dtype = Dtype::f32;
  show(page, "in f32, by more and less", [&](Calls& calls) {
    const auto off = [](const Tensors& in, const Tensor& dy) {
      const Tensor more = tensor({{1.5, 1.01, 1.75}, {1.0, 1.6, 1.2}}, in[0].dtype());
      const bool wrong = in[0].dtype() == Dtype::f32 && in[0].shape() == more.shape();
      return Tensors{wrong ? dy * 2.0 * in[0] * more : dy * 2.0 * in[0]};
    };
    return check::vjp("square", with_calls(square, calls), off, {kX}, o);
  });
  show(page, "in f32, smaller", [&](Calls& calls) {
    const auto off = [](const Tensors& in, const Tensor& dy) {
      return Tensors{dy * in[0] * (in[0].dtype() == Dtype::f32 ? 2.5 : 2.0)};
    };
    return check::vjp("square", with_calls(square, calls), off, {kX}, o);
  });
  o = {};
  o.refused = {{kW}, {kX}};
  show(page, "second, refused",
       [&](Calls& calls) { return check::second("square", with_calls(square, calls), {kX}, o); });
  o = {};
  o.conditions = false;
  show(page, "second, of what has no gradient", [&](Calls& calls) {
    const auto apart = [](const Tensors& in) { return in[0].detach() * 2.0; };
    return check::second("apart", with_calls(apart, calls), {kX}, o);
  });
  page.compare("handed_on.txt");
}

}  // namespace gradus::tensor_calls
