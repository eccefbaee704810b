// Whose code a frame is, for every function in every file: tests/golden/trace/callers.txt.
#include "gradus/trace/caller.h"

#include "gradus/tests/io/golden.h"

namespace gradus::testing {
namespace {

const char* const kFunctions[] = {"main",
                                  "??",
                                  "step",  // inlined: its plain name is known alone
                                  "_Z4stepi",
                                  "_ZN2me4stepEi",
                                  "_ZN6gradus3expERKNS_6TensorE",
                                  "_ZNK6gradus6models3GPT7forwardEv",
                                  "_ZZN6gradus3expERKNS_6TensorEENKUlvE_clEv",
                                  "_ZZNK6gradus3GPT7forwardEvENKUlvE_clEv",
                                  "_ZNSt6vectorIiSaIiEE9push_backERKi",
                                  "_ZNKSt8functionIFvvEEclEv",
                                  "_ZSt4moveIiEvv",
                                  "_ZN9__gnu_cxx3fooEv"};
const char* const kFiles[] = {"/home/me/step.cpp",
                              "/home/me/ops/step.cpp",
                              "/home/me/ops/deep/step.cpp",
                              "/home/me/ops/../step.cpp",
                              "/opt/include/gradus/nn/layer.h",
                              "/opt/include/c++/12/vector",
                              "/usr/include/x.h",
                              "/usr/lib/x.h",
                              "step.cpp",
                              "??"};

}  // namespace

TEST_CASE("of each function in each file it is known whether it is the user's") {
  std::string out;
  for (const char* function : kFunctions)
    for (const char* file : kFiles)
      for (const int line : {0, 12}) {
        const std::string caller =
            trace::caller_among({{function, file, line}, {"_Z4lastv", "/last.cpp", 1}});
        out += std::string(function) + " " + file + " " + std::to_string(line) + ": " +
               (caller == "/last.cpp:1" ? "ours" : caller) + "\n";
      }
  for (const char* folder : {"base", "engine", "ops", "nn", "models", "check", "io", "trace",
                             "train", "examples", "tests", "", "opsy"})
    out += std::string(folder) + (trace::is_component(folder) ? " is" : " is not") + "\n";
  check_golden("trace/callers.txt", out);
}

TEST_CASE("a function of an operation that lies deeper is the library's") {
  CHECK(trace::caller_among({{"_ZN6gradus9attentionEv", "/src/ops/attention/attention.cpp", 40},
                             {"main", "/home/me/a.cpp", 3}}) == "/home/me/a.cpp:3");
  CHECK(trace::caller_among({}).empty());
}

}  // namespace gradus::testing
