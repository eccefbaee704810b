// Checks whose every call is written down: where forward was asked, with which dy the derivative.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gradus/check/raw/pullback.h"
#include "gradus/tests/check/column_cases.h"

namespace gradus::check::recorded {

/// A text with its numbers in six digits; those that are rounding, and nothing else, are "~".
inline std::string rounded(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const bool inside =
        i > 0 && (std::isalnum(static_cast<unsigned char>(text[i - 1])) || text[i - 1] == '.');
    if (inside || !std::isdigit(static_cast<unsigned char>(text[i]))) {
      result += text[i++];
      continue;
    }
    char* end = nullptr;
    const double value = std::strtod(text.c_str() + i, &end);
    const std::string was = text.substr(i, static_cast<std::size_t>(end - text.c_str()) - i);
    const bool whole = was.find_first_of(".e") == std::string::npos && was.size() < 12;
    result += whole                    ? was
              : std::abs(value) < 1e-8 ? "~"
                                       : golden::shown(value, value < 1e-5 ? 2 : 6);
    i += was.size();
  }
  return result;
}

/// The calls, in order: those of forward that move the same elements in one line.
class Calls {
 public:
  explicit Calls(const std::vector<Input>& inputs) : inputs_(inputs) {}

  void forward(const std::string& name, const Arguments& in) {
    std::string moved;
    double by = 0;
    for (std::size_t k = 0; k < in.size(); ++k) {
      std::size_t count = 0, last = 0;
      for (std::size_t j = 0; j < in[k].size() && j < inputs_[k].values.size(); ++j) {
        const double apart = in[k][j] - inputs_[k].values[j];
        if (std::abs(apart) <= 1e-15) continue;  // what a manifold makes of a step of 0
        if (by == 0) by = apart;
        ++count;
        last = j;
      }
      if (count == 1) moved += " " + std::to_string(k) + "[" + std::to_string(last) + "]";
      if (count > 1) moved += " " + std::to_string(k) + "[" + std::to_string(count) + " of them]";
    }
    if (name + moved != line_) end_line();
    line_ = name + moved;
    steps_.add(by);
  }

  void derivative(const std::string& name, const Values& dy, const Arguments& start = {}) {
    end_line();
    std::string text = name;
    std::size_t others = 0;
    for (const double w : dy) others += w != 0 ? 1 : 0;
    for (std::size_t i = 0; i < dy.size() && others > 0; ++i)
      if (others > 1 || dy[i] != 0)
        text += (others == 1 ? " " + std::to_string(i) + ":" : " ") + golden::shown(dy[i], 5);
    for (const Values& buffer : start)
      text += buffer.empty() ? " on nothing" : " on " + golden::shown(buffer[0], 5);
    text_ += text + "\n";
  }

  std::string text() {
    end_line();
    return std::exchange(text_, "");
  }

 private:
  void end_line() {
    if (!line_.empty()) text_ += line_ + ":" + steps_.text() + "\n";
    line_.clear();
    steps_ = column_cases::Steps(0);
  }

  std::vector<Input> inputs_;
  std::string line_, text_;
  column_cases::Steps steps_{0};
};

struct Subject {
  std::string name;
  std::vector<Input> inputs;
  Functions functions;
};

/// The same functions, which write down their calls.
inline Functions with_calls(Functions f, const std::shared_ptr<Calls>& calls) {
  Functions g = f;
  g.forward = [f, calls](const Arguments& in) {
    calls->forward("f", in);
    return f.forward(in);
  };
  if (f.reference)
    g.reference = [f, calls](const Arguments& in) {
      calls->forward("reference", in);
      return f.reference(in);
    };
  if (f.vjp)
    g.vjp = [f, calls](const Arguments& in, const Values& dy) {
      calls->derivative("vjp", dy);
      return f.vjp(in, dy);
    };
  if (f.into)
    g.into = [f, calls](const Arguments& in, const Values& dy, const Arguments& start) {
      calls->derivative("into", dy, start);
      return f.into(in, dy, start);
    };
  return g;
}

/// The calls of a check and its whole report; or why it was refused.
inline void show(golden::Page& page, const std::string& what, const Subject& s,
                 const RawOptions& options, const Places& places = {}) {
  const auto calls = std::make_shared<Calls>(s.inputs);
  const Functions f = with_calls(s.functions, calls);
  page.line("======", s.name + ",", what);
  std::string report;
  try {
    report = (places.any() ? check_on(s.name, f, s.inputs, places, options)
                           : check_vjp(s.name, f, s.inputs, options))
                 .json();
  } catch (const BadInput& error) {
    report = std::string("refused: ") + error.what();
  }
  page.line(page.once(calls->text()));
  page.line(page.once(rounded(report)));
}

}  // namespace gradus::check::recorded
