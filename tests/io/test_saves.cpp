// Whatever Gradus saves over an older file: the old one or the new one is there, whole.
#include "gradus/io/checkpoint.h"
#include "gradus/io/csv.h"
#include "gradus/io/npy.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/tokenizer.h"
#include "gradus/io/write_file.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/crashes.h"

namespace gradus::testing {
namespace {

TEST_CASE("what is saved over an older file is whole, old or new, at any moment") {
  const Folder here;
  const std::string path = here / "saved/file";
  const Tensor x = from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  const std::map<std::string, std::function<void()>> savers = {
      {"bytes", [&] { io::write_file_atomically(path, "0123456789", 10); }},
      {"no bytes", [&] { io::write_file_atomically(path, "", 0); }},
      {"weights",
       [&] {
         io::save_safetensors(path, {{"x", x}}, {});
       }},
      {"checkpoint",
       [&] {
         io::save_checkpoint(path, {{{"x", x}}, {{"step", "3"}}});
       }},
      {"array", [&] { io::save_npy(path, x); }},
      {"table", [&] { io::save_csv(path, {{}, x}); }},
      {"tokenizer", [&] { io::save_tokenizer(path, io::CharTokenizer("abc")); }}};
  for (const auto& [name, save] : savers) {
    INFO(name);
    check_saves_whole(path, save);
  }
}

}  // namespace
}  // namespace gradus::testing
