// The flags of a command. judge.cpp defines their ranges.
//
//   struct SampleFlags : Options {
//     std::int64_t tokens = 500;
//     void add_to(CLI::App& app) { option(app, "--tokens", &tokens, "tokens to generate"); }
//   };
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gradus/examples/apps/support/judge.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gradus::examples {

/// How settings.json stores a setting.
struct Kept {
  std::string field = "";                 // default: the flag's name
  bool optional = false;                  // older runs may not contain it
  bool may_differ = false;                // --resume accepts and ignores a different value
  std::vector<std::string> choices = {};  // allowed words; empty: any word
};

class Options {
 public:
  Options() = default;
  virtual ~Options() = default;
  Options(const Options&) = delete;  // CLI11's flags point to members of this object
  Options& operator=(const Options&) = delete;

  using Value =
      std::variant<std::int64_t*, double*, bool*, std::string*, std::vector<std::string>*>;
  /// Adds a flag. The help shows its default unless the default is 0 or empty.
  CLI::Option& option(CLI::App& app, const std::string& flag, Value value, const std::string& help);
  bool given(const std::string& flag) const;  // on the command line
  void judge_values(const Judge& judge) const;

 protected:
  struct Setting {
    std::string flag;  // "--eval-every"; "" for a field without a flag
    Kept kept;
    Value value;
    const CLI::Option* option;
    bool in_file = false;  // in settings.json
  };
  Setting& described(const std::string& flag);

  std::vector<Setting> settings_;
};

}  // namespace gradus::examples
