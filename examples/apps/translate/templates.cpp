#include "templates.h"

#include <algorithm>

namespace gradus::examples {
namespace {

bool is_digit(char c) { return '0' <= c && c <= '9'; }

std::string shape_of(std::string source) {
  std::replace_if(source.begin(), source.end(), is_digit, '9');
  return source;
}

int votes_for(const std::vector<const Example*>& alike, std::size_t place, int rule) {
  int votes = 0;
  for (const Example* each : alike) {
    const char c =
        rule >= 0 ? static_cast<char>(rule) : each->source[static_cast<std::size_t>(-1 - rule)];
    votes += place < each->target.size() && each->target[place] == c;
  }
  return votes;
}

std::vector<int> best_rules(const std::vector<const Example*>& alike) {
  std::vector<int> candidates, best;
  const std::string& source = alike.front()->source;
  for (std::size_t i = 0; i < source.size(); ++i)
    if (is_digit(source[i])) candidates.push_back(-1 - static_cast<int>(i));
  for (const char c : std::string("-0123456789")) candidates.push_back(c);
  for (std::size_t place = 0; place < alike.front()->target.size(); ++place)
    best.push_back(*std::max_element(candidates.begin(), candidates.end(), [&](int a, int b) {
      return votes_for(alike, place, a) < votes_for(alike, place, b);
    }));
  return best;
}

}  // namespace

Templates::Templates(const std::vector<Example>& examples) {
  std::map<std::string, std::vector<const Example*>> alike;
  for (const Example& each : examples) alike[shape_of(each.source)].push_back(&each);
  for (const auto& [shape, some] : alike) rules_[shape] = best_rules(some);
}

std::string Templates::fill(const std::string& source) const {
  const auto at = rules_.find(shape_of(source));
  if (at == rules_.end()) return "?";
  std::string target;
  for (const int rule : at->second)
    target += rule >= 0 ? static_cast<char>(rule) : source[static_cast<std::size_t>(-1 - rule)];
  return target;
}

}  // namespace gradus::examples
