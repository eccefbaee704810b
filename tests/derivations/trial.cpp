#include "gradus/tests/derivations/trial.h"

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>

#include "gradus/engine/node.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/registry.h"

namespace gradus::derivations {
namespace {

/// Most sizes are unequal primes. The trials also have an axis of length 1, and a first axis that
/// is longer or shorter than the second.
constexpr std::int64_t kSizes[kTrials][6] = {
    {2, 3, 5, 4, 2, 3}, {5, 2, 3, 1, 3, 2}, {1, 4, 2, 3, 5, 2}};

struct BackwardNames : Observer {
  std::set<std::string> seen;
  void on_backward_end(const Node& node, const Gradients&) override { seen.insert(node.name()); }
};

Array array_of(const Tensor& x) {
  Array out;
  for (const std::int64_t size : x.shape()) out.shape.push_back(size);
  out.values = to(x.detach(), Dtype::f64).contiguous().to_vector<double>();
  return out;
}

/// Half of the allowed difference between neighboring lines. This difference is 1e-10, relative for
/// values above 1.
constexpr double kTolerance = 5e-11;

std::string shape_of(const Array& a) {
  std::string out = "[";
  for (std::size_t i = 0; i < a.shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(a.shape[i]);
  return out + "]";
}

std::optional<std::string> difference(const Array& got, const Array& expected) {
  if (got.shape != expected.shape)
    return "has the shape " + shape_of(got) + ", not " + shape_of(expected);
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double a = got.values[i], b = expected.values[i];
    if (std::abs(a - b) <= kTolerance * std::max(1.0, std::abs(b))) continue;
    std::ostringstream out;
    out.precision(12);
    out << "is " << a << ", not " << b << ", at position " << i << " of " << got.values.size();
    return out.str();
  }
  return {};
}

/// Axis sizes from the case's text. Other letters take the next size of kSizes.
struct Sizes {
  std::map<char, std::int64_t> of;
  int trial;
  std::size_t next = 0;

  std::int64_t operator()(char letter) {
    if (const auto known = of.find(letter); known != of.end()) return known->second;
    return of[letter] = kSizes[trial][next++ % 6];
  }
  std::int64_t places(const std::string& letters) {
    std::int64_t n = 1;
    for (const char c : letters) n *= (*this)(c);
    return n;
  }
  void fix(const std::string& word) {  // word is "k:2,3,1"
    if (word[2] == '#') {
      of[word[0]] = places(word.substr(3));
      return;
    }
    std::istringstream in(word.substr(2));
    std::string size;
    for (int i = 0; i <= trial; ++i) std::getline(in, size, ',');
    of[word[0]] = std::atoi(size.c_str());
  }
};

Tensor integers(const Shape& shape, std::int64_t below) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < numel(shape); ++i) out.push_back((i * i + 2 * i + 1) % below);
  return tensor(out, shape);
}

Tensor made(const std::string& word, Sizes& sizes, int which) {
  const auto [name, rest] = left_side(word);
  Shape shape;
  std::size_t at = 0;
  for (; at < rest.size() && std::isalpha(static_cast<unsigned char>(rest[at])); ++at)
    shape.push_back(sizes(rest[at]));
  const char kind = at < rest.size() ? rest[at] : ' ';
  if (kind == '<') return integers(shape, sizes(rest[at + 1]));
  if (kind == '?') return to(integers(shape, 3), Dtype::bool_);
  return kind == '>' ? testing::positive(shape, which) : testing::values(shape, which);
}

bool mentions(const Expression& e, const std::string& name) {
  if (e.kind == Kind::name && e.text == name) return true;
  for (const Expression& child : e.children)
    if (mentions(child, name)) return true;
  return false;
}

}  // namespace

Trial::Trial(const Document& document, const Case& which, int trial) : document_(document) {
  give(which, trial);
  run(which);
  for (const Line& line : document_.lines) {
    if (line.defines()) {
      define(line);
      continue;
    }
    const std::string gradient = line.name(), of = gradient.substr(1);
    if (gradients_.count(gradient)) continue;
    if (gradient[0] != 'd' || !world_.contains(of)) {
      failures_.push_back({line.number, gradient + " is not the gradient of a known name"});
      continue;
    }
    gradients_[gradient] = world_.gradient(output_name(), world_.evaluate("d" + output_name()), of);
    if (!world_.contains(gradient)) world_.give(gradient, gradients_[gradient]);
  }
  compare_backward();
}

void Trial::give(const Case& which, int trial) {
  Sizes sizes{{}, trial};
  std::istringstream in(which.inputs);
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  for (const std::string& word : words)
    if (word.size() > 1 && word[1] == ':') sizes.fix(word);
  int count = 0;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (word.size() > 1 && word[1] == ':') continue;
    if (equals != std::string::npos) {
      const bool counts = word[equals + 1] == '#';
      const double number = counts ? static_cast<double>(sizes.places(word.substr(equals + 2)))
                                   : std::strtod(word.c_str() + equals + 1, nullptr);
      given_.numbers[word.substr(0, equals)] = number;
      world_.give(word.substr(0, equals), {{}, {number}});
    } else {
      const std::string name = left_side(word).first;
      Tensor x = made(word, sizes, count++);
      world_.give(name, array_of(x));
      if (x.dtype() == Dtype::f64 && word.back() != '!') {
        x.requires_grad_();
        wanted_.push_back(name);
      }
      given_.tensors[name] = x;
    }
  }
  for (const auto& [letter, size] : sizes.of) world_.size(letter, size);
  if (!which.prepare) return;
  which.prepare(given_);
  for (const auto& [name, x] : given_.tensors)
    if (!world_.contains(name)) world_.give(name, array_of(x));
}

std::string Trial::output_name() const {
  std::string name;
  for (const Line& line : document_.lines) {
    if (!line.defines()) break;
    name = line.name();
  }
  return name;
}

void Trial::run(const Case& which) {
  BackwardNames names;
  const ObserverScope scope(names);
  y_ = which.f(given_);
  const Tensor dy = testing::values(y_.shape(), 7);
  y_.backward(to(dy, y_.dtype()));
  world_.give("d" + output_name(), array_of(dy));
  const std::string op = which.op.empty() ? which.file : which.op;
  if (!names.seen.count(op)) failures_.push_back({0, "no backward of " + op + " was called"});
}

void Trial::define(const Line& line) {
  world_.define(line.left, line.right);
  if (line.name() != output_name()) return;
  if (const auto wrong = difference(world_.evaluate(line.name()), array_of(y_)))
    failures_.push_back({line.number, line.left + " " + *wrong + " as computed by forward"});
}

void Trial::compare_backward() {
  for (const std::string& name : wanted_) {
    const auto gradient = gradients_.find("d" + name);
    if (gradient == gradients_.end()) {
      failures_.push_back({0, "d" + name + " is not derived"});
      continue;
    }
    if (const auto wrong = difference(gradient->second, array_of(given_(name).grad())))
      failures_.push_back({0, "d" + name + " " + *wrong + " as computed by Op::backward"});
  }
}

std::vector<Failure> Trial::failures() const {
  std::vector<Failure> out = failures_;
  for (const Line& line : document_.lines)
    if (const auto wrong = line.defines() ? std::nullopt : differs(line))
      out.push_back({line.number, line.left + " = " + line.text + ": " + *wrong});
  return out;
}

bool Trial::is_zero(const Line& line) const {
  for (const double x : gradients_.at(line.name()).values)
    if (x != 0) return false;
  return true;
}

std::optional<std::string> Trial::differs(const Line& line, const Expression& right) const {
  for (auto later = &line; later != document_.lines.data() + document_.lines.size(); ++later)
    if (!later->defines() && mentions(right, later->name()))
      return "uses " + later->name() + ", which is not derived yet";
  try {
    return difference(world_.evaluate(line.left, right), gradients_.at(line.name()));
  } catch (const NotationError& e) {
    return e.what();
  }
}

}  // namespace gradus::derivations
