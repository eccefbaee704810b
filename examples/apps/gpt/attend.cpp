// gpt attend: draws attention weights.
#include <cstdio>

#include "commands.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/support/plot/attention_map.h"
#include "gradus/io/output_file.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/nn/attention_record.h"
#include "gradus/ops/create.h"
#include "gradus/trace/trace.h"
#include "training.h"

namespace gradus::examples {
namespace {

constexpr const char* kNoPng =
    "an SVG is written instead of a PNG; the page of --out FILE.html has a button that saves PNGs";

using Maps = std::vector<nn::AttentionRecord::Entry>;

Maps attention_of(const nn::GPT& model, const std::vector<std::int64_t>& ids) {
  const NoGrad off;
  const nn::AttentionRecord record;
  static_cast<void>(model(tensor(ids, {1, std::ssize(ids)})));
  return record.entries();
}

std::string picture(const AttendFlags& how, const std::string& run, const std::string& out,
                    const Maps& layers, const std::vector<std::string>& tokens) {
  if (out.ends_with(".html"))
    return trace::attention_page("Attention in " + run, layers, tokens, tokens);
  const std::int64_t layer = how.layer.value_or(0), head = how.head.value_or(0);
  require(0 <= layer && layer < std::ssize(layers), "--layer ", layer, ": must be 0 to ",
          layers.size() - 1);
  const auto& [name, weights] = layers[static_cast<std::size_t>(layer)];
  require(0 <= head && head < weights.size(1), "--head ", head, ": must be 0 to ",
          weights.size(1) - 1);
  return plot::svg(plot::head_of({name, weights}, head, tokens, tokens));
}

}  // namespace

int attend(GptFlags& flags, const std::string& directory, const AttendFlags& how) {
  const std::string folder = io::is_pretrained(directory) ? "." : directory;
  std::string out = how.out.empty() ? folder + "/attention.html" : how.out;
  const bool png = out.ends_with(".png");
  if (png) out.replace(out.size() - 3, 3, "svg");
  const bool page = out.ends_with(".html");
  require(page || out.ends_with(".svg"), "--out ", out,
          ": must end in .html (all heads) or .svg (one head)");
  require(!page || (!how.layer && !how.head),
          "--layer and --head require a picture of one head; give --out FILE.svg");
  const TrainedModel trained = load_trained(flags, directory);
  const std::vector<std::int64_t> ids = trained.tokenizer->encode(how.prompt);
  require(!ids.empty(), "--prompt is empty; give a text");
  require(std::ssize(ids) <= flags.context, "--prompt has ", ids.size(),
          " tokens, but the model's context is ", flags.context, "; give a shorter text");
  std::vector<std::string> tokens;
  for (const std::int64_t id : ids) tokens.push_back(trained.tokenizer->bytes_of(id));
  const std::string file = picture(how, directory, out, attention_of(*trained.model, ids), tokens);
  io::write_file_atomically(out, file.data(), file.size());
  std::printf("attention: %s\n", out.c_str());
  if (png) std::fprintf(stderr, "gpt: %s\n", kNoPng);
  return 0;
}

}  // namespace gradus::examples
