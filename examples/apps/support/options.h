// The flags of a command, each described in one place: where its value goes, what the help says.
// Ranges stand in judge.cpp.
//
//   struct SampleFlags : Options {
//     std::int64_t tokens = 500;
//     void add_to(CLI::App& app) { option(app, "--tokens", &tokens, "how many to draw"); }
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

/// How settings.json has a setting.
struct Kept {
  std::string field = "";   // its name there, where it is not the flag's
  bool optional = false;    // older runs lack it, which then have the default
  bool may_differ = false;  // what a flag says is no error where a resumed run has another
  std::vector<std::string> choices = {};  // of a word, where it may not be any
};

class Options {
 public:
  Options() = default;
  virtual ~Options() = default;
  Options(const Options&) = delete;  // flags point into it
  Options& operator=(const Options&) = delete;

  using Value =
      std::variant<std::int64_t*, double*, bool*, std::string*, std::vector<std::string>*>;
  /// A flag of the command line. The help shows its default, unless that is 0 or empty.
  CLI::Option& option(CLI::App& app, const std::string& flag, Value value, const std::string& help);
  bool given(const std::string& flag) const;  // on the command line
  /// Each value lies in its range and is one of its choices. The error names a flag, or the field
  /// of a file.
  void judge_values(const Judge& judge) const;

 protected:
  struct Setting {
    std::string flag;  // "--eval-every"; of a fact ""
    Kept kept;         // "eval_every"
    Value value;
    const CLI::Option* option;
    bool in_file = false;  // settings.json has it
  };
  Setting& described(const std::string& flag);

  std::vector<Setting> settings_;
};

}  // namespace gradus::examples
