#ifdef __linux__
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#endif

#include "gradus/io/checkpoint.h"
#include "gradus/io/csv.h"
#include "gradus/io/npy.h"
#include "gradus/io/output_file.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/tokenizer.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/crashes.h"

#ifdef __linux__
namespace {
std::atomic<int> synced_files{0}, synced_directories{0};
}

extern "C" int fsync(int file) {
  struct stat about {};
  if (fstat(file, &about) == 0) ++(S_ISDIR(about.st_mode) ? synced_directories : synced_files);
  return static_cast<int>(syscall(SYS_fsync, file));
}
#endif

namespace gradus::testing::test_saves {
namespace {

#ifdef __linux__
TEST_CASE("a save syncs its file and its directory before it returns") {
  const Folder here;
  const int files = synced_files, directories = synced_directories;
  io::write_file_atomically(here / "file", "0123456789", 10);
  CHECK(synced_files == files + 1);
  CHECK(synced_directories == directories + 1);
}
#endif

TEST_CASE("a save over an existing file leaves the complete old or new file at any moment") {
  const Folder here;
  const std::string path = here / "saved/file";
  const Tensor x = tensor(std::vector<float>{1, 2, 3, 4}, {2, 2});
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
      {"table",
       [&] {
         io::save_csv(path, {{}, x});
       }},
      {"tokenizer", [&] { io::save_tokenizer(path, io::CharTokenizer("abc")); }}};
  for (const auto& [name, save] : savers) {
    INFO(name);
    check_saves_whole(path, save);
  }
}

}  // namespace
}  // namespace gradus::testing::test_saves
