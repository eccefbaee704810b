// search: finds the sentences of documents whose meaning is closest to a question.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <sstream>

#include "gradus/engine/grad_mode.h"
#include "gradus/examples/apps/support/program.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/text.h"
#include "gradus/ops/create.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/members.h"
#include "sentences.h"

namespace gradus::examples {
namespace {

struct Asked {
  std::string model, question;
  std::vector<std::string> files;
  std::int64_t best = 3;
  std::string vectors;
};

/// Prints the vector of each line of the file as a JSON array.
int print_vectors(const std::string& path, const nn::BERT& model,
                  const io::PretrainedTokenizer& tokenizer) {
  std::vector<std::string> lines;
  std::istringstream text(io::read_text(path));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  require(!lines.empty(), path, ": contains no lines");
  const Tensor vectors = vectors_of(lines, model, tokenizer);
  for (std::int64_t i = 0; i < vectors.size(0); ++i) {
    const char* before = "[";
    for (const float each : vectors[i].to_vector<float>()) {
      std::printf("%s%.9g", before, static_cast<double>(each));
      before = ",";
    }
    std::printf("]\n");
  }
  return 0;
}

int run(const Asked& asked) {
  require(asked.best > 0, "--best ", asked.best, ": must be at least 1");
  const NoGrad off;
  const nn::BERT model = io::load_bert(asked.model);
  const std::string file = asked.model + "/tokenizer.json";
  const auto tokenizer = io::PretrainedTokenizer::parse(io::read_text(file), file);
  if (!asked.vectors.empty()) return print_vectors(asked.vectors, model, tokenizer);
  require(!asked.question.empty(), "a question is missing; give a question and the documents");
  const Tensor question = vectors_of({asked.question}, model, tokenizer);  // [1, C]
  std::vector<SourceSentence> sentences;
  for (const std::string& path : asked.files)
    for (SourceSentence& each : sentences_of(io::read_text(path), path))
      sentences.push_back(std::move(each));
  require(!sentences.empty(),
          "the documents contain no sentences; give text files, like docs/*.md");
  std::vector<std::string> texts;
  for (const SourceSentence& each : sentences) texts.push_back(each.text);
  const Tensor vectors = vectors_of(texts, model, tokenizer);            // [N, C]
  const auto cosine = matmul(vectors, question.t()).to_vector<float>();  // vectors have length 1
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return cosine[a] > cosine[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(asked.best)));
  for (const std::size_t i : order)
    std::printf("%.3f  %s:%lld  %s\n", static_cast<double>(cosine[i]), sentences[i].file.c_str(),
                static_cast<long long>(sentences[i].line), sentences[i].text.c_str());
  return 0;
}

}  // namespace
}  // namespace gradus::examples

int main(int argc, char** argv) {
  using namespace gradus::examples;
  CLI::App app(
      "Finds the sentences that match a question.\n"
      "  search minilm_dir \"How are gradients checked?\" docs/*.md");
  Asked asked;
  app.add_option("model", asked.model,
                 "directory of all-MiniLM-L6-v2 (docs/guides/pretrained_models.md)")
      ->required();
  app.add_option("question", asked.question, "question to search for");
  app.add_option("files", asked.files, "documents to search");
  app.add_option("--best", asked.best, "number of sentences printed (default: 3)");
  app.add_option("--vectors", asked.vectors, "print the vector of each line of a file, and exit")
      ->type_name("FILE");
  return program(app, "search", argc, argv, [&] { return run(asked); });
}
