#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace gradus::examples {
namespace {

std::string field_of(const std::string& flag) {
  std::string field = flag.substr(flag.find_first_not_of('-'));
  std::replace(field.begin(), field.end(), '-', '_');
  return field;
}

}  // namespace

CLI::Option& Options::option(CLI::App& app, const std::string& flag, Value value,
                             const std::string& help) {
  CLI::Option* option = std::visit(
      [&]<class T>(T* at) {
        if constexpr (std::is_same_v<T, bool>) return app.add_flag(flag, *at, help);
        CLI::Option* added = app.add_option(flag, *at, help);
        return *at == T() ? added : added->capture_default_str();
      },
      value);
  settings_.push_back({flag, {.field = field_of(flag)}, value, option});
  return *option;
}

Options::Setting& Options::described(const std::string& flag) {
  return *std::find_if(settings_.begin(), settings_.end(),
                       [&](const Setting& each) { return each.flag == flag; });
}

bool Options::given(const std::string& flag) const {
  return std::any_of(settings_.begin(), settings_.end(), [&](const Setting& each) {
    return each.option && each.flag == flag && each.option->count() > 0;
  });
}

void Options::judge_values(const Judge& judge) const {
  for (const Setting& each : settings_)
    std::visit(
        [&]<class T>(const T* at) {
          if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>)
            judge.number(each.kept.field, *at);
          if constexpr (std::is_same_v<T, std::string>)
            judge.choice(each.kept.field, *at, each.kept.choices);
        },
        each.value);
}

}  // namespace gradus::examples
