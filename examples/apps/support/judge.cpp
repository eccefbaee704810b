#include "judge.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/platform.h"
#include "gradus/io/text.h"
#include "words.h"

namespace gradus::examples {
namespace {

/// An inclusive range. Upper limits keep products of counts within 64 bits: steps · batch and
/// batch · context are at most 10¹⁸. Stream numbers reach 2 · (steps + pretrain) and fit into
/// 32 bits.
struct Range {
  double least, most;
  const char* rule;
};
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kTiny = std::numeric_limits<double>::min();
constexpr double kBelow1 = 1 - std::numeric_limits<double>::epsilon() / 2;
constexpr Range kCount{1, 1e9, "must be positive, at most 1,000,000,000"};
constexpr Range kSize{1, 1e6, "must be positive, at most 1,000,000"};
constexpr Range kFew{1, 1e5, "must be positive, at most 100,000"};
constexpr Range kRate{kTiny, std::numeric_limits<double>::max(), "must be positive"};
constexpr Range kShare{0, kBelow1, "must be in [0, 1)"};
constexpr Range kPart{0, 1, "must be in [0, 1]"};
constexpr Range kPositive{kTiny, 1e9, "must be positive, at most 1,000,000,000"};
constexpr Range kFromZero{0, 1e9, "must be 0 to 1,000,000,000"};

const std::map<std::string, Range>& ranges() {
  static const std::map<std::string, Range> all = {
      {"steps", kCount},
      {"batch", kCount},
      {"eval_every", kCount},
      {"shards", kFew},
      {"context", kCount},
      {"layers", kFew},
      {"heads", kSize},
      {"width", kSize},
      {"vocab", kCount},
      {"tokenizer_vocab", kFromZero},
      {"kv_heads", kSize},
      {"dropout", kShare},
      {"lr", kRate},
      {"learning_rate", kRate},
      {"beta2", kShare},
      {"final_factor", kPart},
      {"warmup", kFromZero},
      {"clip_norm", kFromZero},
      {"weight_decay", kFromZero},
      {"tokens", kFromZero},
      {"top_k", kFromZero},
      {"min_p", kPart},
      {"temperature", kFromZero},
      {"repetition_penalty", kPositive},
      {"seconds", kPositive},
      {"evaluation_steps", kFromZero},
      {"most_steps", kCount},
      {"patch", kSize},
      {"users", kCount},
      {"examples", kCount},
      {"minutes", {kTiny, 1e6, "must be positive, at most 1,000,000"}},
      {"window", {0, 1e9, "must be positive, or 0 for all"}},
      {"seed", {0, kInfinite, "must not be negative"}},
      {"top_p", {kTiny, 1, "must be in (0, 1]"}},
      {"tested", {1, 1e6, "must be 1 to 1,000,000"}},
      {"beams", {1, 1e3, "must be positive, at most 1,000"}},
      {"pretrain", {0, 1e9, "must be 0 to 1,000,000,000"}},
      {"length", {2, 1e6, "must be 2 or more, at most 1,000,000"}},
      {"vocabulary", {5, 1e6, "must be 5 or more, at most 1,000,000"}}};
  return all;
}

constexpr std::uintmax_t kLargestFile = 4'000'000;  // bytes
constexpr int kDeepest = 4;                         // nesting depth of brackets

}  // namespace

double Need::training() const {
  return 16 * parameters + std::max({step, evaluation, 12 * parameters}) + data;
}

double kept_by_blocks(double layers, double tokens, double width) {
  return 4 * layers * tokens * 8 * width;
}

std::string Judge::name(const std::string& key) const {
  if (!file_.empty()) return file_ + ": " + key;
  std::string flag = key == "learning_rate" ? "lr" : key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return "--" + flag;
}

void Judge::number(const std::string& key, double value) const {
  const auto at = ranges().find(key);
  if (at == ranges().end()) return;
  const auto& [least, most, rule] = at->second;
  require(least <= value && value <= most, key, value, ": ", rule);
}

void Judge::number(const std::string& key, std::int64_t value) const {
  const auto at = ranges().find(key);
  if (at == ranges().end()) return;
  const auto& [least, most, rule] = at->second;
  const auto near = static_cast<double>(value);  // may be rounded; the limits are exact
  require(least <= near && near <= most, key, value, ": ", rule);
}

void Judge::choice(const std::string& key, const std::string& word,
                   const std::vector<std::string>& choices) const {
  std::string all;
  for (const std::string& each : choices) all += (all.empty() ? "" : ", ") + each;
  require(choices.empty() || std::find(choices.begin(), choices.end(), word) != choices.end(), key,
          io::quote(word), ": must be one of ", all);
}

void Judge::memory(double bytes,
                   const std::vector<std::pair<const char*, std::int64_t>>& sizes) const {
  const auto machine = static_cast<double>(platform::physical_memory());
  const auto limit = static_cast<double>(memory::usage().limit_bytes);
  const double most = machine > 0 ? std::min(machine, limit) : limit;
  if (bytes <= most) return;
  std::string all;
  for (const auto& [key, value] : sizes)
    all += str_cat(all.empty() ? "" : ", ", file_.empty() ? name(key) : key, " ", value);
  const double shown = std::min(bytes, 9e18);
  refuse(str_cat(file_.empty() ? "" : file_ + ": ", all, ": need at least ",
                 byte_size(static_cast<std::int64_t>(shown)),
                 " of memory, but this process may use ",
                 byte_size(static_cast<std::int64_t>(most)), "; reduce one of them"));
}

void Judge::refuse(const std::string& what) const {
  if (file_.empty()) fail<ValueError>(what);
  fail<FileError>(what, kWayOn);
}

std::string SettingsFile::text_of(const std::string& file) {
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(file, none);
  gradus::require<FileError>(none || bytes <= kLargestFile, file, ": has ", bytes,
                             " bytes, too many for settings", kWayOn);
  return io::read_text(file);
}

SettingsFile::SettingsFile(const std::string& text, std::string file, std::string program)
    : file_(std::move(file)), program_(std::move(program)) {
  try {
    json_ = nlohmann::json::parse(text, [this](int depth, auto, auto&) {
      if (depth > kDeepest) refuse("its brackets are nested too deeply");
      return true;
    });
  } catch (const nlohmann::json::exception& error) {
    refuse(io::abbreviate(error.what()));
  }
  if (!json_.is_object()) refuse("it must be an object {...}");
}

const nlohmann::json& SettingsFile::field(const std::string& key, Kind kind) {
  const auto at = json_.find(key);
  if (at == json_.end()) refuse("it lacks \"" + key + "\"");
  known_.insert(key);
  const auto expect = [&](bool right, const char* what) {
    gradus::require<FileError>(right, file_, ": ", key, " is ",
                               io::abbreviate(at->dump(-1, ' ', true)), ", but must be ", what,
                               kWayOn);
  };
  const bool fits = !at->is_number_unsigned() ||
                    at->get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  if (kind == Kind::whole) expect(at->is_number_integer() && fits, "a 64-bit integer");
  if (kind == Kind::number) expect(at->is_number(), "a number");
  if (kind == Kind::truth) expect(at->is_boolean(), "true or false");
  if (kind == Kind::words) expect(at->is_string(), "a string");
  if (kind == Kind::list)
    expect(at->is_array() && std::all_of(at->begin(), at->end(),
                                         [](const auto& each) { return each.is_string(); }),
           "a list of strings");
  return *at;
}

SettingsFile SettingsFile::part(const std::string& key) {
  known_.insert(key);
  SettingsFile inner = *this;
  inner.json_ = json_.at(key);
  inner.known_.clear();
  if (!inner.json_.is_object()) refuse(key + " must be an object {...}");
  return inner;
}

void SettingsFile::finish() const {
  for (const auto& [key, value] : json_.items())
    if (!known_.contains(key)) refuse("unknown field " + io::quote(key));
}

void SettingsFile::refuse(const std::string& what) const {
  fail<FileError>(file_, ": not the settings of a ", program_, " run: ", what, kWayOn);
}

}  // namespace gradus::examples
