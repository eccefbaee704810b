// Tests traces requested with GRADUS_TRACE.
#include "gradus/trace/automatic.h"

#include "gradus/engine/backward.h"
#include "gradus/nn/module.h"
#include "gradus/ops/checkpoint.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/capture_output.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/trace/tape.h"
#include "gradus/train/optim/optim.h"

namespace gradus::testing::test_automatic {
namespace {

using trace::Automatic;

Tensor leaf() { return tensor({1.0, 2.0}).requires_grad_(); }

/// Returns the step of a trace page and its numbers of ops, visits and updates, or "none" if there
/// is no file.
std::string page_of(const std::string& path) {
  if (!std::filesystem::exists(path)) return "none";
  const std::string page = read_bytes(path);
  const std::size_t begin = page.find('>', page.find("id=\"tape\"")) + 1;
  const ReadTape tape(page.substr(begin, page.find("</script>", begin) - begin));
  std::string out = "step " + tape.all.at("meta").at("step").dump() + ":";
  for (std::size_t i = 0; i < tape.count("ops"); ++i)
    out += " " + tape.at("ops", i, "op").get<std::string>();
  return out + ", " + std::to_string(tape.count("visits")) + " visits, " +
         std::to_string(tape.count("updates")) + " updates";
}

/// Returns the page after `program`, the page after finish(), and the captured output.
std::string traced(trace::Id step, const std::function<void(Automatic&)>& program,
                   const char* file = "x.html") {
  const NoPrograms quick;
  const Folder folder;
  const std::string path = folder / file;
  std::string out;
  std::string message = capture_output([&] {
    Automatic automatic(path, step);
    program(automatic);
    out = page_of(path) + "\n";
    automatic.finish();
  });
  for (std::size_t at; (at = message.find(path)) != message.npos;)
    message.replace(at, path.size(), file);
  return out + page_of(path) + "\n" + message;
}

void backward_of(Tensor (*op)(const Tensor&)) { sum(op(leaf())).backward(); }

void train(Automatic& automatic, bool in_backward = false) {
  exp(leaf());
  Tensor w = leaf();
  optim::SGD optimizer({{"w", w}}, {.lr = 0.5});
  automatic.on_optimizer_created();
  for (Tensor (*op)(const Tensor&) : {exp, tanh, square}) {
    if (in_backward) optimizer.step_in_backward();
    sum(op(w)).backward();
    if (!in_backward) optimizer.step();
  }
}

}  // namespace

TEST_CASE("without an optimizer, a step ends with its backward pass") {
  const auto three = [](Automatic&) {
    for (Tensor (*op)(const Tensor&) : {exp, tanh, square}) backward_of(op);
  };
  const std::string first = "step 1: exp sum, 2 visits, 0 updates\n";
  CHECK(traced(1, three) == first + first + "gradus: trace of step 1: x.html\n");
  const std::string second = "step 2: tanh sum, 2 visits, 0 updates\n";
  CHECK(traced(2, three) == second + second + "gradus: trace of step 2: x.html\n");
  CHECK(traced(4, three) ==
        "none\nnone\ngradus: GRADUS_TRACE: no operation ran on the main thread. No trace "
        "was written.\n");
  CHECK(
      traced(5, three) ==
      "none\nnone\ngradus: GRADUS_TRACE_STEP is 5, but the program made only 3 steps. No trace was "
      "written.\n");
}

TEST_CASE("at exit, the page shows the unfinished step") {
  CHECK(traced(1, [](Automatic&) { exp(leaf()); }) ==
        "none\nstep 1: exp, 0 visits, 0 updates\ngradus: trace of step 1: x.html\n");
  CHECK(traced(1, [](Automatic&) {}) ==
        "none\nnone\ngradus: GRADUS_TRACE: no operation ran on the main thread. No trace "
        "was written.\n");
  CHECK(traced(2, [](Automatic&) { backward_of(exp), tanh(leaf()); }) ==
        "none\nstep 2: tanh, 0 visits, 0 updates\ngradus: trace of step 2: x.html\n");
  CHECK(
      traced(2, [](Automatic&) { exp(leaf()); }) ==
      "none\nnone\ngradus: GRADUS_TRACE_STEP is 2, but the program made only 0 steps. No trace was "
      "written.\n");
  CHECK(traced(
            1, [](Automatic&) { exp(leaf()); }, "none/x.html") ==
        "none\nnone\ngradus: GRADUS_TRACE: cannot write none/x.html: No such file or directory. "
        "The previous contents are unchanged.\n");
}

TEST_CASE("with an optimizer, the page covers only one step") {
  const auto page = [](const char* text) { return std::string(text) + "\n" + text + "\n"; };
  for (const bool in_backward : {false, true}) {
    const auto run = [&](Automatic& automatic) { train(automatic, in_backward); };
    CHECK(traced(1, run) ==
          page("step 1: exp sum, 2 visits, 1 updates") + "gradus: trace of step 1: x.html\n");
    CHECK(traced(2, run) ==
          page("step 2: tanh sum, 2 visits, 1 updates") + "gradus: trace of step 2: x.html\n");
    CHECK(traced(3, run) ==
          page("step 3: square sum, 2 visits, 1 updates") + "gradus: trace of step 3: x.html\n");
  }
  CHECK(traced(2, [](Automatic& automatic) {  // an earlier backward was step 1
          backward_of(exp);
          tanh(leaf());
          automatic.on_optimizer_created();
          square(leaf());
        }) == "none\nstep 2: tanh square, 0 visits, 0 updates\ngradus: trace of step 2: x.html\n");
}

TEST_CASE("a step ends with its outermost backward, unless that throws or is not observed") {
  const auto nested = [](Automatic&) {
    sum(checkpoint([](const std::vector<Tensor>& in) { return exp(in[0]); }, {leaf()})).backward();
  };
  CHECK(contains(traced(1, nested), "step 1: exp checkpoint sum exp, 3 visits"));
  const auto deeper = [](Automatic&) {
    sum(checkpoint([](const std::vector<Tensor>& in) { return exp(in[0]); }, {tanh(leaf())}))
        .backward();
  };
  CHECK(contains(traced(1, deeper), "step 1: tanh exp checkpoint sum exp, 4 visits"));
  const auto throwing = [](Automatic&) {
    const Tensor y = exp(leaf());
    y.register_hook([](const Tensor&) -> Tensor { fail<ValueError>("no"); });
    CHECK_THROWS_AS(sum(y).backward(), ValueError);
  };
  CHECK(traced(1, throwing).starts_with("none\nstep 1: exp sum, "));
  const auto paused = [](Automatic&) {
    {
      const ScopedPause pause;
      backward_of(exp);
    }
    backward_of(tanh);
  };
  CHECK(traced(1, paused).starts_with("step 1: tanh sum, 2 visits"));
}

TEST_CASE("steps before and after the requested step are not kept") {
  const NoPrograms quick;
  const Folder folder;
  const auto ops = [](Automatic& automatic) { return ReadTape(automatic.json()).count("ops"); };
  Automatic automatic(folder / "x.html", 2);
  exp(leaf());
  CHECK(ops(automatic) == 0);
  backward_of(exp);
  CHECK(ops(automatic) == 0);
  tanh(leaf());
  CHECK(ops(automatic) == 1);
  capture_output([&] { backward_of(exp); });
  CHECK(ops(automatic) == 0);
  tanh(leaf());
  CHECK(ops(automatic) == 0);
}

TEST_CASE("a step has all operations since the first optimizer and all its backward passes") {
  const auto two_optimizers = [](Automatic& automatic) {
    automatic.on_optimizer_created();
    exp(leaf());
    automatic.on_optimizer_created();
  };
  CHECK(contains(traced(1, two_optimizers), "step 1: exp, 0 visits"));
  const auto once_in_backward = [](Automatic& automatic) {
    Tensor w = leaf();
    optim::SGD optimizer({{"w", w}}, {.lr = 0.5});
    automatic.on_optimizer_created();
    optimizer.step_in_backward();
    sum(exp(w)).backward();
    sum(tanh(leaf())).backward();
    sum(square(w)).backward();
    optimizer.step();
  };
  CHECK(contains(traced(2, once_in_backward), "step 2: tanh sum square sum, 4 visits, 1 updates"));
}

TEST_CASE("an automatic trace has the rows of an explicit trace") {
  const NoPrograms quick;
  Trace trace;
  Automatic automatic("none.html", 1);
  automatic.on_optimizer_created();
  const Tensor x = leaf();
  for (int i = 0; i < 2; ++i)
    sum(exp(checkpoint([](const std::vector<Tensor>& in) { return tanh(in[0]); }, {exp(x)})))
        .backward();
  Json expected = ReadTape(trace).all, is = ReadTape(automatic.json()).all;
  expected["meta"]["step"] = is["meta"]["step"];
  CHECK(is == expected);
}

TEST_CASE("a backward pass of earlier operations is a step") {
  const Tensor y = exp(leaf());
  CHECK(contains(traced(1, [&](Automatic&) { y.backward(ones({2})); }),
                 "step 1:, 1 visits, 0 updates"));
}

TEST_CASE("without a step number, the first step is traced") {
  const NoPrograms quick;
  const Folder folder;
  const std::string path = folder / "x.html";
  capture_output([&] {
    const std::unique_ptr<Automatic> automatic = Automatic::from_env(path.c_str(), nullptr);
    backward_of(exp);
  });
  CHECK(page_of(path) == "step 1: exp sum, 2 visits, 0 updates");
}

TEST_CASE("GRADUS_TRACE requires a file and a valid step") {
  const auto start = [](const char* path, const char* step) {
    std::string message;
    std::unique_ptr<Automatic> made;
    message = capture_output([&] { made = Automatic::from_env(path, step); });
    return (made ? "a trace" : "none") + (message.empty() ? "" : ", " + message);
  };
  CHECK(start(nullptr, "1") == "none");
  CHECK(start("", "0") == "none");
  CHECK(start("x", nullptr) == "a trace");
  CHECK(start("x", "") == "a trace");
  CHECK(start("x", "1") == "a trace");
  CHECK(start("x", "12") == "a trace");
  for (const std::string step : {"0", "-1", "x"})
    CHECK(start("x", step.c_str()) ==
          "none, gradus: GRADUS_TRACE_STEP must be an integer of at least 1, got " + step + "\n");
}

}  // namespace gradus::testing::test_automatic
