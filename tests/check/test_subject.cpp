// Functions that cannot be compared, or not well: what is said of each, and what was asked of it;
// functions in float, with a reference or a resolution.
#include "gradus/tests/check/recorded.h"

namespace gradus::check::recorded {
namespace {

using golden::Page;

/// y = [x₀x₁, x₁²] and what is changed of it.
Subject pair(const std::string& name, const std::function<void(Functions&)>& change = {}) {
  Subject s{name,
            {{"x", {2}, {0.75, -1.5}}},
            {[](const Arguments& in) {
               return Values{in[0][0] * in[0][1], in[0][1] * in[0][1]};
             },
             [](const Arguments& in, const Values& dy) {
               return Arguments{{dy[0] * in[0][1], dy[0] * in[0][0] + 2 * dy[1] * in[0][1]}};
             }}};
  if (change) change(s.functions);
  return s;
}

/// y as it is after so many calls.
Subject changing(const std::string& name, const std::function<double(int)>& after) {
  return pair(name, [&](Functions& f) {
    f.forward = [after, calls = 0](const Arguments& in) mutable {
      return Values{in[0][0] + after(calls++), in[0][1]};
    };
  });
}

Subject throwing(const std::string& name, bool forward, const std::function<void()>& raise) {
  return pair(name, [&](Functions& f) {
    if (forward)
      f.forward = [raise](const Arguments&) {
        raise();
        return Values();
      };
    else
      f.vjp = [raise](const Arguments&, const Values&) {
        raise();
        return Arguments();
      };
  });
}

/// forward gives `away` where it is not at the inputs.
Subject elsewhere(const std::string& name, const Values& away) {
  return pair(name, [&](Functions& f) {
    f.forward = [away](const Arguments& in) {
      return in[0] == Values{0.75, -1.5} ? Values{1, 2} : away;
    };
  });
}

Subject giving(const std::string& name, const Arguments& dx) {
  return pair(name,
              [&](Functions& f) { f.vjp = [dx](const Arguments&, const Values&) { return dx; }; });
}

double as_float(double v) { return static_cast<float>(v); }

/// The pair in float, with what is said of its precision.
Subject in_float(const std::string& name, double off, bool reference) {
  return pair(name, [&](Functions& f) {
    if (reference) f.reference = f.forward;
    f.ulp = 0x1p-23;
    f.forward = [exact = f.forward, off](const Arguments& in) {
      Values y = exact(in);
      for (double& v : y) v = as_float(v * (1 + off));
      return y;
    };
  });
}

}  // namespace

TEST_CASE("what forward may not do is golden/check/forward.txt") {
  Page page;
  const double inf = HUGE_VAL, nan = std::nan("");
  for (const auto& [name, after] : std::vector<std::pair<std::string, std::function<double(int)>>>{
           {"a counter", [](int n) { return n; }},
           {"a counter backwards", [](int n) { return -n; }},
           {"a running mean", [](int n) { return 1.0 / (n + 1); }},
           {"speeding up", [](int n) { return n * n; }},
           {"alternating", [](int n) { return n % 2; }},
           {"once", [](int n) { return n == 1 ? 1 : 0; }},
           {"the third time", [](int n) { return n == 2 ? 1 : 0; }}})
    show(page, "", changing(name, after), {});
  for (const bool forward : {true, false}) {
    const std::string who = forward ? "forward" : "vjp";
    show(page, "", throwing(who + " throws", forward, [] { throw std::runtime_error("no way"); }),
         {});
    show(page, "", throwing(who + " throws 3", forward, [] { throw 3; }), {});
    show(page, "", throwing(who + " damages", forward, [] { throw Damage("a broken thing"); }), {});
    show(page, "",
         throwing(who + " is called wrongly", forward, [] { throw BadInput("take another"); }), {});
  }
  show(page, "", elsewhere("fewer close by", {1}), {});
  show(page, "", elsewhere("none close by", {}), {});
  show(page, "", elsewhere("nan close by", {nan, 2}), {});
  for (const double y : {nan, inf, -inf})
    show(page, "",
         pair("gives no number",
              [y](Functions& f) {
                f.forward = [y](const Arguments& in) { return Values{in[0][0], y}; };
              }),
         {});
  show(page, "", pair("no forward", [](Functions& f) { f.forward = {}; }), {});
  show(page, "", pair("no derivative", [](Functions& f) { f.vjp = {}; }), {});
  page.compare("forward.txt");
}

TEST_CASE("gradients that do not fit are golden/check/structure.txt") {
  Page page;
  const double inf = HUGE_VAL, nan = std::nan("");
  show(page, "", giving("none", {}), {});
  show(page, "", giving("two", {{1, 2}, {3}}), {});
  show(page, "", giving("short", {{1}}), {});
  show(page, "", giving("empty", {{}}), {});
  for (const double v : {0.0, nan, inf, -inf})
    show(page, golden::shown(v), giving("always", {{v, 1}}), {});
  Subject two = giving("of two inputs", {{1, 2}, {}});
  two.inputs.push_back({"mask", {3}, {1, 0, 1}, false});
  show(page, "", two, {});
  two.functions.vjp = [](const Arguments&, const Values&) { return Arguments{{1, 2}, {1}}; };
  show(page, "", two, {});
  two.functions.vjp = [](const Arguments&, const Values&) { return Arguments{{1}, {1, 2}}; };
  show(page, "", two, {});
  two.inputs[1].differentiable = true;
  show(page, "", two, {});
  Subject random = pair("not the same twice");
  random.functions.vjp = [right = random.functions.vjp, n = 0](const Arguments& in,
                                                               const Values& dy) mutable {
    Arguments dx = right(in, dy);
    dx[0][1] += ++n == 7 ? 0.5 : 0;
    return dx;
  };
  show(page, "", random, {});
  page.compare("structure.txt");
}

TEST_CASE("functions in float, with a reference or a resolution, are golden/check/precision.txt") {
  Page page;
  RawOptions coarse, coarser;
  coarse.resolution = 1e-2;
  coarser.resolution = 0.25;
  for (const bool reference : {true, false})
    for (const double off : {0.0, 9e-4, 2e-3}) {
      const std::string name = golden::shown(off) + (reference ? " off its reference" : " off");
      show(page, "exact", in_float(name, off, reference), {});
      show(page, "coarse", in_float(name, off, reference), coarse);
    }
  Subject other = in_float("another reference", 0, true);
  other.functions.reference = [](const Arguments&) { return Values{1}; };
  show(page, "", other, {});
  for (const double y : {std::nan(""), HUGE_VAL}) {
    other.functions.reference = [y](const Arguments& in) { return Values{y, in[0][1] * in[0][1]}; };
    show(page, "", other, {});
  }
  for (const double size : {1e-12, 1e-6, 1e-3})
    for (const RawOptions& options : {coarse, coarser, RawOptions()}) {
      const Subject s = pair("jittering", [size](Functions& f) {
        f.forward = [exact = f.forward, size](const Arguments& in) {
          Values y = exact(in);
          for (double& v : y) v += column_cases::jitter(in[0][0] + in[0][1], size);
          return y;
        };
      });
      show(page, golden::shown(size) + " resolved to " + golden::shown(options.resolution), s,
           options);
    }
  Subject tiny = pair("tiny", [](Functions& f) {
    f.forward = [](const Arguments& in) { return Values{1e-200 * in[0][0], 0}; };
    f.vjp = [](const Arguments&, const Values& dy) { return Arguments{{1e-200 * dy[0], 0}}; };
  });
  show(page, "coarse", tiny, coarse);
  page.compare("precision.txt");
}

TEST_CASE("inputs that make no sense are refused") {
  Page page;
  const auto with = [&](const std::vector<Input>& inputs) {
    Subject s = pair("f");
    s.inputs = inputs;
    show(page, "", s, {});
  };
  with({});
  with({{"x", {3}, {1, 2}}});
  with({{"x", {-1, -2}, {1, 2}}});
  with({{"x", {2}, {1, 2}, false}});
  with({{"", {}, {1, 2}}, {"", {}, {3}}, {"", {1, 0}, {}}});
  with({{"x", {2}, {1, 2}, false}, {"", {2}, {3, 4}, false}});
  for (const Values& x : {Values{}, Values{1}, Values{1, 2}}) {
    const std::vector<Input> done = completed("f", {{"", {}, x}, {"b", {}, x}});
    page.line(done[0].name, list(done[0].shape), done[1].name, list(done[1].shape));
  }
  page.compare("refused_inputs.txt");
}

}  // namespace gradus::check::recorded
