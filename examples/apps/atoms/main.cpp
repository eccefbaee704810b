// atoms: maps a reaction's product atoms to its reactant atoms by an attention head of RXNMapper, a
// model trained only to fill in masked parts of reactions.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <sstream>

#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/support/program.h"
#include "gradus/io/output_file.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/text.h"
#include "gradus/nn/attention_record.h"
#include "gradus/ops/create.h"
#include "gradus/ops/shape_ops.h"
#include "gradus/trace/trace.h"
#include "mapping.h"

namespace gradus::examples {
namespace {

constexpr std::size_t kLayer = 10;  // the layer that the authors selected
constexpr std::int64_t kHead = 5;

struct Asked {
  std::string model, page;
  std::vector<std::string> reactions;
};

/// Returns [CLS], the token ids and [SEP]. Unknown tokens become [UNK].
std::vector<std::int64_t> ids_of(const std::string& vocabulary,
                                 const std::vector<std::string>& tokens) {
  std::map<std::string, std::int64_t> id_of;
  std::istringstream lines(io::read_text(vocabulary));
  for (std::string line; std::getline(lines, line);) id_of.emplace(line, std::ssize(id_of));
  const auto id = [&](const std::string& token) {
    const auto found = id_of.find(token);
    return found == id_of.end() ? id_of["[UNK]"] : found->second;
  };
  for (const char* needed : {"[CLS]", "[SEP]", "[UNK]"})
    require<FileError>(id_of.count(needed) == 1, vocabulary, ": has no line ", needed);
  std::vector<std::int64_t> ids = {id("[CLS]")};
  for (const std::string& token : tokens) ids.push_back(id(token));
  ids.push_back(id("[SEP]"));
  return ids;
}

int run(const Asked& asked) {
  const NoGrad off;
  const nn::MaskedLM model = io::load_masked_lm(asked.model);
  require(model.bert.options.layers > static_cast<std::int64_t>(kLayer) &&
              model.bert.options.block.heads > kHead,
          asked.model, ": has ", model.bert.options.layers, " layers of ",
          model.bert.options.block.heads,
          " heads, but maps need layer 10, head 5; give the directory of RXNMapper");
  for (const std::string& text : asked.reactions) {
    const Reaction reaction = read_reaction(text);
    const std::vector<std::int64_t> ids = ids_of(asked.model + "/vocab.txt", reaction.tokens);
    const nn::AttentionRecord record;
    static_cast<void>(model.bert(tensor(ids, {1, std::ssize(ids)})));
    const Tensor layer = record.entries().at(kLayer).weights;  // [1, H, T, T]
    const AtomMap map = map_atoms(reaction, select(select(layer, 0, 0), 0, kHead));
    std::printf("%s\nconfidence %.9f\n", mapped_text(reaction, map).c_str(), map.all);
    if (asked.page.empty()) continue;
    std::vector<std::string> names = {"[CLS]"};
    names.insert(names.end(), reaction.tokens.begin(), reaction.tokens.end());
    names.push_back("[SEP]");
    const std::string page = trace::attention_page(
        "Attention between atoms: " + text,
        {{str_cat("layer ", kLayer, ": head ", kHead, " maps atoms"), layer}}, names, names);
    io::write_file_atomically(asked.page, page.data(), page.size());
    std::printf("page: %s\n", asked.page.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace gradus::examples

int main(int argc, char** argv) {
  using namespace gradus::examples;
  CLI::App app(
      "Maps atoms of products to atoms of reactants by a model's attention.\n"
      "  atoms rxnmapper_dir \"CC(C)S.Fc1cccnc1F>>CC(C)Sc1ncccc1F\" --page map.html");
  Asked asked;
  app.add_option("model", asked.model,
                 "directory of RXNMapper's model (docs/guides/pretrained_models.md)")
      ->required();
  app.add_option("reactions", asked.reactions, "reactions in SMILES, REACTANTS>>PRODUCTS")
      ->required();
  app.add_option("--page", asked.page, "page to write the attention of the last reaction to");
  return program(app, "atoms", argc, argv, [&] { return run(asked); });
}
