#include <cmath>

#include "gradus/examples/exercises/exercises.h"
#include "gradus/examples/exercises/grader.h"
#include "gradus/examples/exercises/hints.h"
#include "gradus/ops/members.h"
#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"
#include "gradus/trace/derive.h"

namespace gradus::exercises {
namespace {

using testing::has;
using testing::Outcome;
using testing::Workplace;

const std::string kProgram = "'" GRADUS_BINARY_DIR "/exercises'";

/// Returns the output of grade_all if exercise `number` has a different backward function.
std::string text_with(std::size_t number, check::Vjp backward) {
  std::vector<Exercise> all = exercises();
  all[number - 1].backward = std::move(backward);
  const Result result = grade_all(all);
  CHECK(result.done == all.size() - 1);
  return result.text;
}

struct Mistake {
  const char* what;
  check::Vjp backward;
};

Tensor layer_norm_without_mean(const Tensors& in, const Tensor& dy) {
  const Tensor centred = in[0] - mean(in[0], {-1}, true);
  const Tensor r = rsqrt(mean(square(centred), {-1}, true) + 1e-5);
  const Tensor g = dy * in[1];
  return r * (g - centred * r * mean(g * centred * r, {-1}, true));
}

Tensor embedding_of_means(const Tensors& in, const Tensor& dy) {
  const Tensor which = one_hot(in[1], in[0].size(0), dy.dtype());
  return matmul(transpose(which / clamp(sum(which, {0}), 1, 100)), dy);
}

Tensors attention_without_factor_in_q(const Tensors& in, const Tensor& dy) {
  Tensors dx = attention_backward(in[0], in[1], in[2], dy);
  dx[0] = std::sqrt(static_cast<double>(in[0].size(-1))) * dx[0];
  return dx;
}

/// Returns one mistake for each exercise, in order.
std::vector<Mistake> mistakes() {
  return {
      {"the gradient of mean",
       [](const Tensors& in, const Tensor& dy) -> Tensors {
         return {expand(dy / static_cast<double>(in[0].numel()), in[0].shape())};
       }},
      {"one gradient for two inputs",
       [](const Tensors& in, const Tensor& dy) -> Tensors { return {dy * in[1]}; }},
      {"operands exchanged, with wrong shapes",
       [](const Tensors& in, const Tensor& dy) -> Tensors {
         return {matmul(transpose(in[1]), dy), matmul(dy, transpose(in[0]))};
       }},
      {"the other derivative at 0",
       [](const Tensors& in, const Tensor& dy) -> Tensors {
         return {dy * (in[0] >= 0.0).to(dy.dtype())};
       }},
      {"the gradient of sum",
       [](const Tensors& in, const Tensor& dy) -> Tensors {
         return {expand(unsqueeze(dy, 1), in[0].shape())};
       }},
      {"each element separately",
       [](const Tensors& in, const Tensor& dy) -> Tensors {
         const Tensor y = softmax(in[0]);
         return {dy * y * (1.0 - y)};
       }},
      {"no mean over the rows",
       [](const Tensors& in, const Tensor& dy) -> Tensors {
         return {dy * (softmax(in[0]) - one_hot(in[1], 4, dy.dtype())), Tensor{}};
       }},
      {"mean(g) is missing",
       [](const Tensors& in, const Tensor& dy) -> Tensors {
         Tensors dx = layer_norm_backward(in[0], in[1], in[2], dy);
         dx[0] = layer_norm_without_mean(in, dy);
         return dx;
       }},
      {"a mean over the positions of an id in place of a sum",
       [](const Tensors& in, const Tensor& dy) -> Tensors {
         return {embedding_of_means(in, dy), Tensor{}};
       }},
      {"dq without the factor", attention_without_factor_in_q},
  };
}

/// True if someone has changed the files of the exercises.
bool in_progress(const Workplace& place) {
  return place.shell("git -C '" GRADUS_SOURCE_DIR "' diff --quiet HEAD -- examples/exercises")
             .code == 1;
}

}  // namespace

TEST_CASE("exercises: at the start, none is done and the first is suggested") {
  const Workplace place;
  if (in_progress(place)) return;
  const Outcome outcome = place.shell(kProgram);
  CAPTURE(outcome.out);
  CHECK(outcome.code == 0);
  CHECK(has(outcome.out, "\n10 attention      not done yet\n"));
  CHECK(has(outcome.out, "0 of 10 done, next: 1 sum: examples/exercises/01_sum.cpp\n"));
  CHECK(!has(outcome.out, "wrong"));
}

TEST_CASE("exercises: the program has the documented flag and exit codes") {
  const Workplace place;
  const bool initial = !in_progress(place);
  if (initial) CHECK(place.shell(kProgram + " --strict").code == 1);
  testing::check_refused(place.shell(kProgram + " --string"), {"'--string'", "--strict"});
  testing::check_refused(place.shell(kProgram + " relu 4"), {"'4'", "--help"});
  testing::check_refused(place.shell(kProgram + " 11"), {"'11'", "1 to 10"});
  const Outcome help = place.shell(kProgram + " --help");
  CHECK(help.code == 0);
  CHECK(has(help.out, "--strict"));
  for (const char* one : {"relu", "4"}) {
    const Outcome outcome = place.shell(kProgram + " " + one);
    CHECK(outcome.code == 0);
    if (initial)
      CHECK(outcome.out ==
            " 4 relu           not done yet\n0 of 1 done, next: 4 relu: "
            "examples/exercises/04_relu.cpp\n");
  }
}

TEST_CASE("exercises: each has three hints, and the third is the derivation") {
  for (const Exercise& each : exercises()) {
    INFO(each.name);
    CHECK(has(hint(each.name, 1), "⟵ definition of the gradient"));
    CHECK(has(hint(each.name, 2), "\n- "));
    CHECK(!has(hint(each.name, 2), "Σ_s dy_s ∂y_s"));
    CHECK(hint(each.name, 3) == derivation(each.name));
    CHECK(hint(each.name, 1).size() < hint(each.name, 3).size());
  }
  CHECK(hint("softmax", 4).empty());
  const Workplace place;
  const Outcome outcome = place.shell(kProgram + " --hint 6 3");
  CHECK(outcome.code == 0);
  CHECK(outcome.out == derivation("softmax"));
  CHECK(place.shell(kProgram + " --hint softmax").out == hint("softmax", 1));
  for (const char* wrong : {" --hint", " --hint 11", " --hint relu 4", " --hint relu 12"})
    testing::check_refused(place.shell(kProgram + wrong), {"--hint needs", "1 to 3"});
}

TEST_CASE("exercises: the solutions pass") {
  const Result result = grade_all(exercises());
  CAPTURE(result.text);
  CHECK(result.done == 10);
  CHECK(has(result.text, "\n10 attention      done\n10 of 10 done\n"));
  CHECK(!has(result.text, "next:"));
}

TEST_CASE("exercises: the summary names the file of the next unfinished exercise") {
  const std::vector<Exercise> all = exercises();
  for (std::size_t number = 1; number <= all.size(); ++number) {
    const std::string text =
        text_with(number, [](const Tensors&, const Tensor& dy) { return not_done_yet(dy); });
    const std::string next =
        "9 of 10 done, next: " + std::to_string(number) + " " + all[number - 1].name + ": ";
    CAPTURE(text);
    REQUIRE(has(text, next));
    const std::size_t file = text.find(next) + next.size();
    CHECK(testing::fs::is_regular_file(GRADUS_SOURCE_DIR "/" +
                                       text.substr(file, text.size() - file - 1)));
    CHECK(!has(text, "wrong"));
  }
}

TEST_CASE("exercises: a plausible mistake in an exercise is reported by name") {
  const std::vector<Exercise> all = exercises();
  const std::vector<Mistake> wrong = mistakes();
  REQUIRE(wrong.size() == all.size());
  for (std::size_t number = 1; number <= all.size(); ++number) {
    const std::string text = text_with(number, wrong[number - 1].backward);
    const std::string& name = all[number - 1].name;
    INFO(wrong[number - 1].what);
    CAPTURE(text);
    CHECK(has(text, std::to_string(number) + " " + name + std::string(15 - name.size(), ' ') +
                        "wrong\n"));
    CHECK(has(text, number == 3 ? "matmul throws: " : "GRADCHECK FAIL  " + name));
    CHECK(has(text, "9 of 10 done, 1 wrong, next: " + std::to_string(number) + " " + name));
  }
  CHECK(has(text_with(8, wrong[7].backward), "MISSING TERM"));
}

TEST_CASE("exercises: only the first of several wrong exercises gets a report") {
  std::vector<Exercise> all = exercises();
  all[4].backward = mistakes()[4].backward;
  all[5].backward = mistakes()[5].backward;
  const Result result = grade_all(all);
  CAPTURE(result.text);
  CHECK(result.done == 8);
  CHECK(has(result.text, "GRADCHECK FAIL  mean"));
  CHECK(!has(result.text, "GRADCHECK FAIL  softmax"));
  CHECK(has(result.text, " 6 softmax        wrong\n"));
  CHECK(has(result.text, "8 of 10 done, 2 wrong, next: 5 mean: "));
}

}  // namespace gradus::exercises
