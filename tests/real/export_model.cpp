// `export_model FAMILY FROM TO` loads a pretrained model and saves it.
#include <cstdio>
#include <map>
#include <string>

#include "gradus/engine/base/error.h"
#include "gradus/io/pretrained/pretrained.h"

namespace {

template <auto load>
void copy(const std::string& from, const std::string& to) {
  gradus::io::save_pretrained(to, load(from));
}
gradus::nn::GPT load_gpt(const std::string& path) { return gradus::io::load_gpt(path); }

const std::map<std::string, void (*)(const std::string&, const std::string&)> kFamilies = {
    {"gpt", copy<load_gpt>},
    {"bert", copy<gradus::io::load_bert>},
    {"masked_lm", copy<gradus::io::load_masked_lm>},
    {"text_classifier", copy<gradus::io::load_text_classifier>},
    {"vision_transformer", copy<gradus::io::load_vision_transformer>}};

}  // namespace

int main(int argc, char** argv) {
  const auto family = argc == 4 ? kFamilies.find(argv[1]) : kFamilies.end();
  if (family == kFamilies.end()) {
    std::fprintf(stderr, "export_model FAMILY FROM TO, where FAMILY is one of:");
    for (const auto& [name, copies] : kFamilies) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  try {
    family->second(argv[2], argv[3]);
  } catch (const gradus::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
  return 0;
}
