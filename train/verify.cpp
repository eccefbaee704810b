#include "gradus/train/verify.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/io/json.h"
#include "gradus/io/text.h"
#include "gradus/train/distributed/shards.h"

namespace gradus::train {
namespace {

/// One step of a hash. Each operation can be undone, so a changed word changes the result.
std::uint32_t mix(std::uint32_t hash, std::uint32_t word) {
  hash = (hash ^ word) * 0x9E3779B1u;
  return hash ^ hash >> 15;
}

/// Hashes n words in 16 independent lanes, which is faster than one, then the lanes.
std::uint32_t hash_of(const void* from, std::size_t n) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  std::array<std::uint32_t, 16> lanes{};
  const auto add = [&](std::size_t i, std::size_t lane) {
    std::uint32_t word;
    std::memcpy(&word, bytes + 4 * i, 4);
    lanes[lane] = mix(lanes[lane], word);
  };
  std::size_t i = 0;
  for (; i + lanes.size() <= n; i += lanes.size())
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) add(i + lane, lane);
  for (; i < n; ++i) add(i, i % lanes.size());
  auto hash = static_cast<std::uint32_t>(n);
  for (const std::uint32_t lane : lanes) hash = mix(hash, lane);
  return hash;
}

std::uint32_t hash_of(const Tensor& parameter) {
  const Tensor values = parameter.detach().contiguous();
  std::uint32_t hash = 0;
  dispatch_float("hash_of", values.dtype(), [&]<class T>() {
    hash = hash_of(values.data<T>(), static_cast<std::size_t>(values.numel()) * sizeof(T) / 4);
  });
  return hash;
}

/// Reads the hashes of a log.
std::map<std::int64_t, std::string> logged_hashes(const std::string& path) {
  std::map<std::int64_t, std::string> hashes;
  std::istringstream lines(io::read_text(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const io::Json fields = io::Json::parse(line, str_cat(path, ", line ", number));
    if (fields.has("weights"))
      hashes[1 + static_cast<std::int64_t>(fields.at("step").number())] =
          fields.at("weights").text();
  }
  return hashes;
}

class Replay : private Loop {
 public:
  Replay(nn::Module& model, optim::Optimizer& optimizer, optim::Schedule schedule,
         const TrainOptions& options, std::map<std::int64_t, std::string> logged)
      : Loop(optimizer, std::move(schedule),
             {options.steps, options.eval_every, options.clip_norm, options.clip_value}),
        parameters_(model.parameters()),
        stop_asked_(options.stop),
        logged_(std::move(logged)) {
    if (options.shards > 1)
      shards_ = std::make_unique<distributed::Shards>(model, optimizer, distributed::alone(),
                                                      options.shards);
  }

  Verified run(const LossOf& loss_of) {
    Loop::run(loss_of, [] {});
    found_.step = step_;
    return found_;
  }

 private:
  bool begin_step() override {
    return step_ < logged_.rbegin()->first && !found_.difference &&
           !(stop_asked_ && *stop_asked_) && Loop::begin_step();
  }

  void after_update(const LossOf& loss_of) override {
    Loop::after_update(loss_of);
    const auto logged = logged_.find(step_);
    if (logged == logged_.end()) return;
    ++found_.compared;
    const std::string here = train::hash_of(parameters_);
    if (here == logged->second) return;
    const auto at =
        std::mismatch(here.begin(), here.end(), logged->second.begin(), logged->second.end())
            .first -
        here.begin();
    const std::size_t which = std::min(static_cast<std::size_t>(at / 8), parameters_.size() - 1);
    found_.difference = {step_, parameters_[which].name};
  }

  bool evaluates() override { return false; }

  std::vector<nn::NamedTensor> parameters_;
  const volatile std::sig_atomic_t* stop_asked_;
  std::map<std::int64_t, std::string> logged_;
  Verified found_;
};

}  // namespace

std::string hash_of(const std::vector<nn::NamedTensor>& parameters) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::vector<std::uint32_t> hashes(parameters.size());
  parallel_for(std::ssize(parameters), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      hashes[i] = hash_of(parameters[i].tensor);
  });
  std::string text;
  for (const std::uint32_t hash : hashes)
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[hash >> shift & 15u];
  return text;
}

Verified verify(nn::Module& model, optim::Optimizer& optimizer, optim::Schedule schedule,
                const TrainOptions& options, const Loop::LossOf& loss_of, const StepRange& steps) {
  const std::string path = RunFiles{options.directory}.metrics();
  require(options.time.seconds == 0, path,
          ": the run had a time limit, so its steps depended on the clock. Train without one to "
          "verify.");
  std::map<std::int64_t, std::string> logged = logged_hashes(path);
  require<FileError>(!logged.empty(), path,
                     ": has no hashes of weights. Train with portable bits (--bits portable).");
  std::erase_if(logged, [&](const auto& each) {
    return each.first < steps.first || each.first > steps.last;
  });
  require<FileError>(!logged.empty(), path, ": has no hashes for steps ", steps.first, " to ",
                     steps.last, ". Choose steps of the run.");
  return Replay(model, optimizer, std::move(schedule), options, std::move(logged)).run(loss_of);
}

}  // namespace gradus::train
