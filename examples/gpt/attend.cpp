// gpt attend: which token looks at which, as pictures.
#include <cstdio>

#include "commands.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/io/attention_map.h"
#include "gradus/io/write_file.h"
#include "gradus/nn/attention_record.h"
#include "gradus/ops/create.h"
#include "run.h"

namespace gradus::examples {
namespace {

/// The weights of every layer while the model reads `ids`.
std::vector<io::AttentionLayer> attention_of(const nn::GPT& model,
                                             const std::vector<std::int64_t>& ids) {
  const NoGrad off;
  const nn::AttentionRecord record;
  static_cast<void>(model(from(ids, {1, std::ssize(ids)})));
  std::vector<io::AttentionLayer> layers;
  for (const auto& entry : record.entries()) layers.push_back({entry.layer, entry.weights});
  return layers;
}

std::string picture(const AttendFlags& flags, const std::string& out,
                    const std::vector<io::AttentionLayer>& layers,
                    const std::vector<std::string>& tokens) {
  if (out.ends_with(".html"))
    return io::attention_page("Attention in " + flags.directory, layers, tokens, tokens);
  const std::int64_t layer = flags.layer.value_or(0), head = flags.head.value_or(0);
  require(0 <= layer && layer < std::ssize(layers), "--layer ", layer, ": there are 0 to ",
          layers.size() - 1);
  const io::AttentionLayer& chosen = layers[static_cast<std::size_t>(layer)];
  require(0 <= head && head < chosen.weights.size(1), "--head ", head, ": there are 0 to ",
          chosen.weights.size(1) - 1);
  const io::AttentionMap map = io::head_of(chosen, head, tokens, tokens);
  return out.ends_with(".svg") ? io::svg(map) : io::png(map);
}

}  // namespace

int attend(const AttendFlags& flags) {
  const std::string out = flags.out.value_or(flags.directory + "/attention.html");
  const bool page = out.ends_with(".html");
  require(page || out.ends_with(".svg") || out.ends_with(".png"), "--out ", out,
          ": must end in .html (all heads), .svg or .png (one head)");
  require(!page || (!flags.layer && !flags.head),
          "--layer and --head are for pictures of one head: give --out FILE.svg or FILE.png");
  const Trained trained = load_trained({{flags.directory}});
  const std::vector<std::int64_t> ids = trained.tokenizer->encode(flags.prompt);
  require(!ids.empty(), "--prompt is empty: give the text to look at");
  require(std::ssize(ids) <= trained.settings.model.context, "--prompt has ", ids.size(),
          " tokens, but the model's context is ", trained.settings.model.context,
          ": give a shorter one");
  std::vector<std::string> tokens;
  for (const std::int64_t id : ids) tokens.push_back(trained.tokenizer->bytes_of(id));
  const std::string file = picture(flags, out, attention_of(*trained.model, ids), tokens);
  io::write_file_atomically(out, file.data(), file.size());
  std::printf("attention: %s\n", out.c_str());
  return 0;
}

}  // namespace gradus::examples
