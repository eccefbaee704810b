// Which lines a trace names and shows, from frames that are known: an addr2line of the test's own
// answers for each address of a call.
#include "gradus/trace/places.h"

#include <cstdlib>
#include <filesystem>
#include <span>

#include "gradus/tests/io/golden.h"
#include "gradus/tests/trace/tape.h"

namespace gradus::testing {
namespace {

struct Known {
  const char *function, *file;  // of the folder
  int line;
};

const Known kFrames[] = {
    {"_ZN6gradus5trace6Places4hereEv", "trace/places.cpp", 1},  // the library's own, not shown
    {"_ZN6gradus8platform5callsEv", "base/platform.cpp", 2},
    {"_ZN6gradus9Observers4tellEv", "engine/observer.h", 3},
    {"_ZN6gradus6recordEv", "engine/apply.cpp", 4},
    {"_ZN6gradus5applyEv", "engine/apply.cpp", 5},
    {"_ZN6gradus7OpEvent3endEv", "engine/observer.h", 6},
    {"_ZNSt8functionE", "/usr/include/c++/12/functional", 7},
    {"_ZSt4moveE", "/usr/include/c++/12/utility", 8},
    {"_ZNKSt3mapE", "/usr/include/c++/12/map", 9},
    {"??", "x.cpp", 10},
    {"_ZN6gradus8multiplyERKNS_6TensorES2_", "ops/arithmetic.cpp", 31},
    {"_ZN6gradus2nn5LayerclIiEEvT_", "nn/module.h", 7},
    {"_Z3useN6gradus2nn6LinearE", "/usr/include/use.h", 11},
    {"_ZNK6gradus2nn6Linear7forwardERKNS_6TensorE", "nn/linear.cpp", 12},
    {"_ZN6gradus2nn6Linear7forwardERKNS_6TensorE", "nn/linear.cpp", 13},
    {"_ZN6gradus7unknownEv", "??", 0},
    {"_Z4stepi", "user.cpp", 20},
    {"_ZN6gradus2nn6Linear5againEv", "nn/linear.cpp", 14},
    {"_ZN6gradus4deepEv", "train/distributed/worker.cpp", 5},
    {"_ZN6gradus6deeperEv", "train/one/two/worker.cpp", 6},
    {"_Z4stepi", "user.cpp", 20},
    {"_Z5otheri", "nn/../user.cpp", 22},
    {"_Z5outeri", "user.cpp", 27},
    {"_Z7fartherv", "user.cpp", 53},
    {"_Z7fartherv", "user.cpp", 66},
    {"_Z5shorti", "short.cpp", 2},
    {"_Z6beyondv", "short.cpp", 50},
    {"_Z4herev", "./nowhere.cpp", 3},  // of the current directory
    {"main", "user.cpp", 1}};

/// A line of a program with so many lines.
void write_program(const std::string& path, int lines) {
  std::string text;
  for (int i = 1; i <= lines; ++i) text += "line " + std::to_string(i) + "\n";
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  write_bytes(path, text);
}

/// One that answers with the frames from number `first` on.
void write_addr2line(const std::string& path, const std::string& folder, std::size_t first) {
  std::string answers;
  for (const Known& each : std::span(kFrames).subspan(first)) {
    const bool below = *each.file != '/' && *each.file != '?' && *each.file != '.';
    const std::string here = std::filesystem::current_path().string();
    answers += std::string("echo '") + each.function + "'; echo '" +
               (below               ? folder + each.file
                : *each.file == '.' ? here + (each.file + 1)
                                    : each.file) +
               ":" + std::to_string(each.line) + "'\n";
  }
  write_bytes(path, "#!/bin/sh\nshift 2\nfor a in \"$@\"; do echo $a\n" + answers + "done\n");
  std::filesystem::permissions(path, std::filesystem::perms::all);
}

/// What a trace has of a stack of the frames from number `first` on.
std::string places_of(std::size_t first) {
  const Folder folder;
  const std::string root = std::filesystem::canonical(folder / "").string() + "/";
  write_addr2line(folder / "addr2line", root, first);
  for (const char* each : {"ops/arithmetic.cpp", "nn/linear.cpp", "user.cpp"})
    write_program(folder / each, 70);
  write_program(folder / "short.cpp", 3);
  const std::string before = std::getenv("PATH") ? std::getenv("PATH") : "";
  setenv("PATH", (folder / "").c_str(), 1);
  trace::Places places;
  places.here();
  const Json all = Json::parse("{" + places.json() + "}");
  setenv("PATH", before.c_str(), 1);
  std::string out;
  for (const auto& [key, value] : all.items()) {
    out += key + "\n";
    for (const Json& row : value.is_array() ? value : value.at("rows"))
      out += "  " + row.dump() + "\n";
  }
  // Below the current directory files are named from there.
  const std::string here = std::filesystem::current_path().string() + "/";
  for (const std::string& each : {root, root.substr(root.starts_with(here) ? here.size() : 0)})
    for (std::size_t at; (at = out.find(each)) != out.npos;) out.replace(at, each.size(), "…/");
  return out;
}

}  // namespace

TEST_CASE("stacks, frames and source lines of a trace are those of golden/trace/places.txt") {
  std::size_t user = 0;
  while (std::string(kFrames[user].function) != "_Z4stepi") ++user;
  const std::string all = places_of(0), from_user = places_of(user);
  if (!contains(all, "multiply")) return;  // this system tells no frames
  check_golden("trace/places.txt", all + "== from the user's on\n" + from_user);
}

TEST_CASE("places without lines have stacks, the same one for the same calls") {
  const NoPrograms quick;
  trace::Places places;
  trace::Id ids[3];
  for (trace::Id& each : ids) each = places.here();
  CHECK(ids[0] == 0);
  CHECK(ids[1] == ids[2]);
  const Json all = Json::parse("{" + places.json() + "}");
  CHECK(all.at("frames").at("rows").empty());
  CHECK(all.at("stacks").at("rows").at(0) == Json({nullptr, nullptr, Json::array()}));
  CHECK(trace::Places().json() ==
        R"("files":[],"frames":{"columns":["file","line","function"],"rows":[]},)"
        R"("stacks":{"columns":["user","layer","frames"],"rows":[]},)"
        R"("sources":{"columns":["file","first","lines"],"rows":[]})");
}

}  // namespace gradus::testing
