#include "pretrained.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "gradus/engine/grad_mode.h"
#include "gradus/io/output_file.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/io/pretrained/tensor_source.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "gradus/nn/extras/lora.h"
#include "gradus/nn/extras/packing.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "training.h"

namespace gradus::examples {
namespace {

/// These limits save memory, because a model's full context could take gigabytes.
constexpr std::int64_t kMostAtOnce = 2048, kWindow = 256;

std::vector<std::int64_t> numbers_in(const std::string& list) {
  std::vector<std::int64_t> numbers;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    std::size_t used = 0;
    try {
      numbers.push_back(std::stoll(part, &used));
    } catch (const std::exception&) {
      used = std::string::npos;
    }
    require(used == part.size(), "--ids ", io::quote(list), ": ", io::quote(part),
            " is not a token id; give ids as 1,5,9");
  }
  require(!numbers.empty(), "--ids is empty; give token ids as 1,5,9");
  return numbers;
}

}  // namespace

std::unique_ptr<io::Tokenizer> tokenizer_of(const std::string& model) {
  if (std::filesystem::is_directory(model)) return io::load_tokenizer(model + "/tokenizer.json");
  return std::make_unique<io::PretrainedTokenizer>(
      io::PretrainedTokenizer::of_gguf(io::TensorSource::open(model).facts(), model));
}

std::unique_ptr<io::Tokenizer> tokenizer_of_run(const GptFlags& flags) {
  return flags.from.ends_with(".gguf") ? tokenizer_of(flags.from)
                                       : io::load_tokenizer(flags.tokenizer_file());
}

TrainedModel load_pretrained(GptFlags& flags, const std::string& model) {
  TrainedModel loaded{tokenizer_of(model),
                      std::make_unique<nn::GPT>(io::load_gpt(model, [](nn::GPTOptions& o) {
                        if (!o.learns_positions()) o.context = std::min(o.context, kMostAtOnce);
                      }))};
  flags.from = flags.architecture = model;
  flags.context = std::min(loaded.model->options.context, kWindow);
  flags.vocab = loaded.model->options.vocab;
  return loaded;
}

int info_of_pretrained(const std::string& model) {
  const nn::GPTOptions o = io::read_gpt_options(model);
  const bool rotary = o.block.head.position == nn::HeadPosition::rotary;
  std::printf("model      %s: %lld layers, width %lld, feed-forward %lld, %s parameters\n",
              model.c_str(), static_cast<long long>(o.layers),
              static_cast<long long>(o.block.width),
              static_cast<long long>(o.block.hidden.value_or(4 * o.block.width)),
              io::grouped(static_cast<std::int64_t>(nn::GPT::parameter_count(o))).c_str());
  std::printf("attention  %lld heads, %lld for keys and values, %s%s, context %lld\n",
              static_cast<long long>(o.block.heads),
              static_cast<long long>(o.block.kv_heads.value_or(o.block.heads)),
              rotary ? str_cat("rotary positions with base ", o.block.head.rotary.base).c_str()
                     : "learned positions",
              o.window > 0 ? str_cat(", a window of ", o.window).c_str() : "",
              static_cast<long long>(o.context));
  std::printf("vocabulary %s tokens; the output projection %s\n", io::grouped(o.vocab).c_str(),
              o.tied ? "shares the embedding's weights" : "has its own weights");
  std::printf(
      "commands   gpt sample, chat, logits, attend and eval; gpt train --from fine-tunes it\n");
  return 0;
}

int logits(GptFlags& flags, const std::string& path, const LogitsFlags& how) {
  const std::vector<std::int64_t> ids = numbers_in(how.ids);
  const NoGrad off;
  const bool bare = io::is_pretrained(path);  // no tokenizer is needed
  nn::GPT model = bare ? io::load_gpt(path) : std::move(*load_trained(flags, path).model);
  if (bare) nn::pack(model, flags.precision(model));
  const Tensor all = model(tensor(ids, {1, std::ssize(ids)}));  // [1, T, V]
  const std::vector<float> numbers = all.to_vector<float>();
  std::string line;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool first = i % static_cast<std::size_t>(model.options.vocab) == 0;
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(numbers[i]));
    line += str_cat(first ? i > 0 ? "]\n[" : "[" : ",", digits);
  }
  write_out(line + "]\n", true);
  return 0;
}

int export_model(GptFlags& flags, const std::string& run, const ExportFlags& how) {
  const std::string& to = how.directory;
  const std::string theirs = run + "/tokenizer.json";
  const bool bare = io::is_pretrained(run) && !std::filesystem::exists(theirs);
  TrainedModel trained = bare ? TrainedModel{nullptr, std::make_unique<nn::GPT>(io::load_gpt(run))}
                              : load_trained(flags, run);
  if (how.adapters) {
    const nn::StateDict adapters = nn::adapter_state(*trained.model);
    require(!adapters.empty(), run, ": has no adapters; train them with --lora PATTERN");
    std::filesystem::create_directories(to);
    io::save_safetensors(to + "/adapters.safetensors", adapters);
  } else {
    nn::merge_adapters(*trained.model);
    io::save_pretrained(to, *trained.model);
    const std::string json = trained.tokenizer ? trained.tokenizer->to_json() : "";
    if (!json.empty()) io::write_file_atomically(to + "/tokenizer.json", json.data(), json.size());
  }
  std::printf("exported: %s\n", to.c_str());
  return 0;
}

}  // namespace gradus::examples
