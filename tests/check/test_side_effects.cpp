// Derivatives that write to buffers, and what they do to what they find there.
#include "gradus/tests/check/recorded.h"

namespace gradus::check::recorded {
namespace {

using golden::Page;

using Write = std::function<void(Values& buffer, const Values& right)>;

/// y = [a₀b₀, a₁ + b₀²] with gradients that are written in this way, into buffers of each input.
Subject written(const std::string& name, bool declared, const Write& a, const Write& b) {
  Subject s{name, {{"a", {2}, {0.75, -1.5}}, {"b", {1}, {2.5}}, {"c", {2}, {1, 0}, false}}, {}};
  s.functions.forward = [](const Arguments& in) {
    return Values{in[0][0] * in[1][0], in[0][1] + in[1][0] * in[1][0]};
  };
  s.functions.accumulates = declared;
  s.functions.into = [=](const Arguments& in, const Values& dy, const Arguments& start) {
    Arguments dx = start;
    a(dx[0], {dy[0] * in[1][0], dy[1]});
    b(dx[1], {dy[0] * in[0][0] + 2 * dy[1] * in[1][0]});
    return dx;
  };
  return s;
}

const Write kSets = [](Values& dx, const Values& right) { dx = right; };
const Write kAdds = [](Values& dx, const Values& right) {
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += right[i];
};
const Write kHalf = [](Values& dx, const Values& right) { dx[0] = right[0]; };
const Write kNothing = [](Values&, const Values&) {};
const Write kMixes = [](Values& dx, const Values& right) {
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = right[i] + 0.5 * dx[i];
};
const Write kBoth = [](Values& dx, const Values& right) {
  dx[0] = right[0];
  if (dx.size() > 1) dx[1] += right[1];
};
const Write kZero = [](Values& dx, const Values&) { std::fill(dx.begin(), dx.end(), 0.0); };

}  // namespace

TEST_CASE("gradients written in all ways to buffers are golden/check/buffers.txt") {
  Page page;
  const std::vector<std::pair<std::string, Write>> ways{
      {"set", kSets},    {"added", kAdds}, {"half set", kHalf}, {"nothing", kNothing},
      {"mixed", kMixes}, {"both", kBoth},  {"zero", kZero}};
  for (const bool declared : {false, true}) {
    const std::string end = declared ? ", declared to add" : "";
    for (const auto& [name, way] : ways) {
      show(page, "", written(name + end, declared, way, declared ? kAdds : kSets), {});
      show(page, "", written("other input " + name + end, declared, declared ? kAdds : kSets, way),
           {});
    }
    for (const double ulp : {0x1p-23, 0x1p-10}) {
      Subject s = written(
          "a little" + end, declared,
          [](Values& dx, const Values& right) {
            for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = right[i] + 1e-5 * dx[i];
          },
          kSets);
      s.functions.ulp = ulp;
      s.functions.reference = s.functions.forward;
      show(page, golden::shown(ulp), s, {});
    }
  }
  page.compare("buffers.txt");
}

TEST_CASE("derivatives that are not linear in dy are golden/check/linear.txt") {
  Page page;
  RawOptions coarse;
  coarse.rtol = 1e-2;
  const auto with = [&](const std::string& name, double (*g)(double)) {
    Subject s = written(name, false, kSets, kSets);
    s.functions.vjp = [g, into = s.functions.into](const Arguments& in, Values dy) {
      for (double& w : dy) w = g(w);
      return into(in, dy, {{0, 0}, {0}, {}});
    };
    s.functions.into = {};
    s.functions.linear = false;
    show(page, "", s, {});
    show(page, "coarse", s, coarse);
    s.functions.linear = true;
    show(page, "said to be linear", s, {});
  };
  with("clipped", [](double w) { return std::clamp(w, -2.0, 2.0); });
  with("of small dy", [](double w) { return std::abs(w) < 1 ? 1.5 * w : w; });
  with("of large dy", [](double w) { return std::abs(w) > 100 ? 1.5 * w : w; });
  with("nearly", [](double w) { return std::abs(w) > 100 ? (1 + 2e-3) * w : w; });
  with("more nearly", [](double w) { return std::abs(w) > 100 ? (1 + 5e-7) * w : w; });
  with("constant", [](double) { return 1.0; });
  with("nan", [](double w) { return std::abs(w) > 100 ? std::nan("") : w; });
  page.compare("linear.txt");
}

TEST_CASE("a derivative is linear in dy within ten times rtol, and a millionth at least") {
  for (const auto& [rtol, share] : {std::pair{1e-2, 0.1}, {1e-3, 1e-2}, {1e-9, 1e-6}})
    for (const double off : {0.9995, 1.0005}) {
      RawOptions options;
      options.rtol = rtol;
      const double small = 1 - off * share;
      const Functions f{[](const Arguments& in) { return Values{2 * in[0][0]}; },
                        [small](const Arguments&, const Values& dy) {
                          return Arguments{{2 * dy[0] * (std::abs(dy[0]) < 1 ? small : 1)}};
                        }};
      const Report report = check_vjp("twice", f, {{"x", {}, {0.75}}}, options);
      CAPTURE(rtol, off, report.text());
      CHECK((report.inputs[0].cause.name == "NOT LINEAR") == (off > 1));
    }
}

TEST_CASE("elements that are never written are counted") {
  for (const std::size_t written : {1, 2}) {
    Functions f;
    f.forward = [](const Arguments& in) { return Values{in[0][0] * in[0][1] * in[0][2]}; };
    f.into = [written](const Arguments& in, const Values& dy, const Arguments& start) {
      Arguments dx = start;
      for (std::size_t j = 0; j < written; ++j)
        dx[0][j] = dy[0] * in[0][(j + 1) % 3] * in[0][(j + 2) % 3];
      return dx;
    };
    const Report report = check_vjp("product", f, {{"x", {3}, {0.75, -1.5, 2.5}}});
    INFO(report.text());
    const std::string count = std::to_string(3 - written) + " of 3 elements of dx";
    CHECK(report.text().find(count + " are never written") != std::string::npos);
  }
}

}  // namespace gradus::check::recorded
