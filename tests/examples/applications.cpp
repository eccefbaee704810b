#include "gradus/tests/examples/applications.h"

#include <unistd.h>

#include <sstream>

#include "gradus/engine/base/random.h"
#include "gradus/examples/apps/classify/tree.h"
#include "gradus/examples/apps/listen/sounds.h"
#include "gradus/examples/apps/recommend/world.h"
#include "gradus/examples/apps/support/interrupt.h"
#include "gradus/examples/apps/translate/task.h"
#include "gradus/examples/apps/vision/digits.h"

namespace gradus::examples {

using testing::exchanged;

/// Returns at most kMost examples. If `seed` is for the exchanged part, uses a different seed.
template <class Make>
Labelled few(Make make, std::int64_t count, std::uint64_t seed, std::int64_t block) {
  constexpr std::int64_t kMost = 60;
  const Part part = static_cast<Part>(seed >> 62);
  const bool other = exchanged == part;
  testing::asked.emplace_back(part, block);
  return make(std::min(count, kMost), seed + (other ? 1 : 0), block);
}

Labelled draw_digits_of_test(std::int64_t count, std::uint64_t seed, std::int64_t block) {
  return few(draw_digits, count, seed, block);
}

Labelled make_sounds_of_test(std::int64_t count, std::uint64_t seed, std::int64_t block) {
  return few(make_sounds, count, seed, block);
}

/// Returns histories whose last item is for testing, and whose item before it is for validation.
std::vector<History> histories_of_test(std::int64_t users, std::int64_t seed) {
  std::vector<History> all = histories(users, seed);
  const std::vector<History> others = histories(users, seed + 1);
  for (std::size_t user = 0; user < all.size(); ++user)
    for (std::size_t i = 0; i < all[user].size(); ++i) {
      const std::size_t back = all[user].size() - i;
      const Part part = back == 1 ? Part::test : back == 2 ? Part::validation : Part::training;
      if (exchanged == part) all[user][i] = others[user][i];
    }
  return all;
}

/// Returns a task with 150 validation examples, which form two batches of different sizes.
Task make_task_of_test(const std::string& name, std::int64_t count, std::int64_t seed) {
  Task task = make_task(name, count, seed), other = make_task(name, count, seed + 1);
  if (exchanged == Part::training) task.training = other.training;
  if (exchanged == Part::validation) task.validation = other.validation;
  if (exchanged == Part::test) task.test = other.test;
  task.validation.resize(150);
  task.test.resize(40);
  for (const auto& [part, wanted] : testing::translations_wanted) {
    std::vector<Example>& examples = part == Part::test ? task.test : task.validation;
    for (std::size_t i = 0; i < wanted.size(); ++i) examples[i].target = wanted[i];
  }
  return task;
}

}  // namespace gradus::examples

namespace gradus::testing {
namespace {

/// Returns `bytes` bytes of words, eight words per line.
std::string words(std::size_t bytes, std::uint64_t seed) {
  const RandomStream random{seed, 0, 0};
  std::string text;
  for (std::int64_t i = 0; text.size() < bytes; ++i) {
    for (std::int64_t k = 0; k <= random.below(9 * i, 4); ++k)
      text += "abcdefgh"[random.below(9 * i + 1 + k, 8)];
    text += i % 8 == 7 ? '\n' : ' ';
  }
  return text.substr(0, bytes);
}

/// Writes a text whose first line contains the entire alphabet. Also writes its held-out tenth and
/// its other part as separate files.
void write_text(const Workplace& here) {
  const std::string training = "abcdefgh\n" + words(1791, exchanged == Part::training ? 3 : 1);
  const std::string held_out = words(200, exchanged == Part::validation ? 4 : 2);
  here.write("text.txt", training + held_out);
  here.write("training.txt", training);
  here.write("held_out.txt", held_out);
}

/// Writes four files of each kind, with different words for training, validation and test.
void write_tree(const Workplace& here) {
  const char* const names[] = {"a/%.h", "a/%.cpp", "tests/%.cpp", "a/%.py", "%.md", "%.sh"};
  for (const char* folder : {"tree/a", "tree/tests"})
    fs::create_directories(here.directory / folder);
  for (const std::string name : names)
    for (const char* number : {"0", "1", "2", "3"})
      here.write("tree/" + std::string(name).replace(name.find('%'), 1, number), "x");
  std::uint64_t seed = 10;
  for (const auto& file : examples::read_tree((here.directory / "tree").string()))
    here.write("tree/" + file.path, words(300, seed++ + (exchanged == file.part ? 100 : 0)));
}

}  // namespace

Outcome Application::run(const Workplace& here, const std::string& arguments) const {
  if (main == gpt_main) write_text(here);
  if (main == classify_main) write_tree(here);
  std::istringstream in(name + " " + arguments);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : list) argv.push_back(word.data());
  const fs::path before = fs::current_path();
  fs::current_path(here.directory);
  std::fflush(stdout), std::fflush(stderr);
  const int out = ::dup(1), err = ::dup(2);
  std::freopen("out", "wb", stdout), std::freopen("err", "wb", stderr);
  const int code = main(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout), std::fflush(stderr);
  ::dup2(out, 1), ::dup2(err, 2);
  ::close(out), ::close(err);
  fs::current_path(before);
  examples::interrupt_signal = 0;
  return {code, contents(here.directory / "out"), contents(here.directory / "err")};
}

const std::vector<Application>& applications() {
  const std::string small =
      "--threads 1 --layers 1 --heads 2 --width 8 --batch 4 --dropout 0.1 "
      "--seed " +
      std::to_string(kSeed) + " ";
  const std::string gpt = small + "--eval-every 1 --no-trial --context 8 --steps ";
  const std::string other = small + "--steps 6 --eval-every 2 ";
  // In the run with AdamW, the second step doubles the loss: the best weights are not the last.
  static const std::vector<Application> all = {
      {"gpt", gpt_main, gpt + "3 --lr 0.3 text.txt", false},
      {"gpt", gpt_main,
       gpt + "2 --positions learned --norm layer --qk-norm=false --bias --zero-init=false "
             "--optimizer adamw --lr 1 training.txt --val held_out.txt --tokenizer byte",
       false},
      {"gpt", gpt_main, gpt + "3 --lr 0.3 text.txt --tokenizer word --vocab 60", false},
      {"gpt", gpt_main, gpt + "3 --lr 0.3 text.txt --tokenizer bpe --vocab 290", false},
      {"translate", translate_main, other + "--lr 0.1 --examples 40 --task dates"},
      {"recommend", recommend_main, other + "--lr 0.3 --users 300"},
      {"classify", classify_main,
       other + "--lr 0.3 --pretrain 2 --length 6 --vocabulary 40 --tree tree"},
      {"listen", listen_main, other + "--lr 0.1"},
      {"vision", vision_main, other + "--lr 0.1 --patch 8"}};
  return all;
}

}  // namespace gradus::testing
