#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "gradus/examples/apps/classify/reader.h"
#include "gradus/ops/create.h"
#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_classify {
namespace {

using examples::kind_of;
using examples::kKinds;
using examples::Part;
using examples::Snippets;
using examples::SnippetSource;
using examples::SourceFile;
using examples::WordList;
using Ids = std::vector<std::int64_t>;

std::string joined(std::string_view text) {
  std::string all;
  for (const std::string_view piece : examples::pieces_of(text))
    all += (all.empty() ? "" : "|") + std::string(piece);
  return all;
}

TEST_CASE("text is split into words, marks, and line ends with their indentation") {
  CHECK(joined("  return kMaxSize_20;\n  }") == "return|k|Max|Size|_|2|0|;|\n  |}");
  CHECK(joined("TEST_CASE(\"a [MASK]\")") == "TEST|_|CASE|(|\"|a|[MASK]|\"|)");
  CHECK(joined("\n\n\tx → y\r\n") == "\n|\n|x|→|y|\n");
  CHECK(joined("\n" + std::string(40, ' ') + "x") == "\n" + std::string(16, ' ') + "|x");
  CHECK(joined("a\xff"
               "b") == "a|\xff|b");
  CHECK(joined("").empty());
}

TEST_CASE("a vocabulary has the most frequent words and can be read from a file") {
  const WordList words = WordList::of({"b a b\n  c", "c b d"}, 4 + 3);
  CHECK(words.size() == 7);
  CHECK(words.encode("b c a d [MASK]") == Ids{4, 5, 3, 3, WordList::kMask});
  CHECK(words.piece(4) == "b");
  CHECK(words.piece(6) == "\\n+2");
  CHECK(words.piece(WordList::kUnknown) == "[UNKNOWN]");
  CHECK_REFUSES(IndexError, words.piece(7), "7", "0");
  CHECK_REFUSES(ValueError, WordList::of({"a"}, 4), "4");

  const Workplace here;
  const std::string path = (here.directory / "words.json").string();
  words.save(path);
  CHECK(WordList::load(path).encode("a b\n  c") == words.encode("a b\n  c"));
  here.write("words.json", "{}");
  CHECK_REFUSES(FileError, WordList::load(path), "vocabulary");
}

TEST_CASE("kind_of classifies files by their paths") {
  CHECK((kind_of("nn/linear.h") == 0 && kind_of("nn/linear.cpp") == 1));
  CHECK((kind_of("tests/nn/x.cpp") == 2 && kind_of("tests/nn/x.h") == 2));
  CHECK((kind_of("tests/golden/make.py") == 3 && kind_of("README.md") == 4));
  CHECK((kind_of("tests/CMakeLists.txt") == 5 && kind_of("tools/cmake/x.cmake") == 5));
  CHECK((kind_of("test.sh") == 5 && kind_of("LICENSE") == -1 && kind_of("data.txt") == -1));
}

/// Writes `each` files of each kind. Kinds have different lines.
void write_tree(const Workplace& here, int each) {
  const char* const names[kKinds] = {"a/%.h", "a/%.cpp", "tests/%.cpp", "a/%.py", "%.md", "%.sh"};
  const char* const lines[kKinds] = {"class Shape;\n", "  return x + 1;\n",  "  CHECK(y == 2);\n",
                                     "def f(self):\n", "A word about it.\n", "set -e; cd \"$1\"\n"};
  for (const char* folder : {"a", "tests", "build", ".hidden"})
    fs::create_directories(here.directory / folder);
  for (int kind = 0; kind < kKinds; ++kind)
    for (int i = 0; i < each; ++i) {
      std::string name = names[kind], text;
      name.replace(name.find('%'), 1, "file" + std::to_string(i));
      for (int line = 0; line < 9; ++line)
        text += lines[kind] + std::string(static_cast<std::size_t>(line % 2), '\n');
      here.write(name, text);
    }
  here.write("build/made.cpp", "int none;\n");
  here.write(".hidden/x.md", "none\n");
}

TEST_CASE("a tree is split by entire files, and its snippets begin at lines") {
  const Workplace here;
  write_tree(here, 10);
  const std::vector<SourceFile> files = examples::read_tree(here.directory.string());
  CHECK(files.size() == 60);
  for (std::int64_t kind = 0; kind < kKinds; ++kind) {
    const auto count = [&](Part part) {
      return std::count_if(files.begin(), files.end(), [&](const SourceFile& file) {
        return file.kind == kind && file.part == part;
      });
    };
    CHECK((count(Part::test) == 2 && count(Part::validation) == 1 && count(Part::training) == 7));
  }
  std::vector<SourceFile> changed = files;
  changed[3].text += "x";
  CHECK(examples::digest_of(changed) != examples::digest_of(files));

  const WordList words = WordList::of({files[0].text, "return CHECK def A set"}, 100);
  const SnippetSource test(files, Part::test, words, 5);
  const Snippets some = test.some(3);
  CHECK(some.ids.shape() == Shape{18, 5});  // three of each kind
  const Ids ids = some.ids.to_vector<std::int64_t>(), kinds = some.kinds.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < 18; ++i) {
    CHECK(ids[5 * i] == WordList::kStart);
    CHECK(kinds[i] == static_cast<std::int64_t>(i / 3));
    CHECK((1 < some.lengths[i] && some.lengths[i] <= 5));
    for (std::int64_t t = 0; t < 5; ++t)
      CHECK((ids[5 * i + static_cast<std::size_t>(t)] == WordList::kPadding) ==
            (t >= some.lengths[i]));
  }
  // Each line has two tokens, and snippets consist of entire lines.
  SourceFile lines = files[0];
  lines.text = "a\nb\nc\nd\ne\nf\ng\nh\ni\n";
  std::vector<SourceFile> all;
  for (std::int64_t kind = 0; kind < kKinds; ++kind) {
    all.push_back(lines);
    all.back().kind = kind;
  }
  const WordList letters = WordList::of({lines.text}, 20);
  const std::map<std::int64_t, std::size_t> fit = {{3, 8}, {4, 4}, {5, 4}, {6, 3}};
  for (const auto& [length, count] : fit) {
    const Snippets apart = SnippetSource(all, lines.part, letters, length).some(100);
    CHECK(apart.lengths.size() == count * kKinds);
    std::multiset<std::string> seen;
    for (const std::int64_t id : apart.ids.to_vector<std::int64_t>())
      seen.insert(letters.piece(id));
    for (const char* letter : {"b", "c", "d", "e", "f", "g", "h", "i"})
      CHECK(seen.count(letter) <= kKinds);  // at most once for each kind
  }
  const Snippets drawn = test.draw(60, {3, 1, 0});
  CHECK(test.draw(60, {3, 1, 0}).ids.to_vector<std::int64_t>() ==
        drawn.ids.to_vector<std::int64_t>());
  const Ids of = drawn.kinds.to_vector<std::int64_t>();
  CHECK(std::set<std::int64_t>(of.begin(), of.end()).size() == kKinds);

  const Snippets user = examples::snippets_of("return A; CHECK def", words, 4);
  CHECK(user.ids.shape() == Shape{2, 4});
  CHECK(user.lengths == Ids{4, 3});
  CHECK_REFUSES(ValueError, examples::snippets_of(" ", words, 4), "empty");
  const std::vector<float> bag = examples::bags_of(user, words.size()).to_vector<float>();
  CHECK(bag[WordList::kStart] == std::log1p(1.0f));
  CHECK(bag[WordList::kPadding] == 0.0f);
  CHECK(bag[static_cast<std::size_t>(words.encode("return")[0])] == std::log1p(1.0f));
  const Snippets strange = examples::snippets_of("Z Y return", words, 5);
  const std::vector<float> other = examples::bags_of(strange, words.size()).to_vector<float>();
  CHECK(other[WordList::kUnknown] == std::log1p(2.0f));
  CHECK(other[WordList::kPadding] == 0.0f);
}

const std::string kClassify = "'" GRADUS_BINARY_DIR "/classify' ";
const std::string kTiny =
    "--threads 1 --tree . --pretrain 9 --steps 9 --eval-every 3 --batch 4 --layers 1 --heads 2 "
    "--width 8 --length 6 --vocabulary 40 --out ";

TEST_CASE("classify trains in both phases, classifies and fills in words") {
  const Workplace here;
  write_tree(here, 4);
  const Outcome whole = here.shell(kClassify + "train " + kTiny + "runs/run");
  CAPTURE(whole.err);
  REQUIRE(whole.code == 0);
  for (const char* words :
       {"majority", "bags of words", "BERT, pre-trained", "accuracy on masked words"})
    CHECK(has(whole.out, words));
  const Outcome named = here.shell(kClassify + "text runs/run tests/file1.cpp");
  CHECK(named.code == 0);
  for (const char* kind : examples::kKindNames) CHECK(has(named.out, kind));
  CHECK(here.shell(kClassify + "text runs/run 'CHECK(y == 2);'").code == 0);
  const Outcome filled = here.shell(kClassify + "fill runs/run 'return [MASK] + [MASK];'");
  CHECK(filled.code == 0);
  CHECK((has(filled.out, "[MASK] 1:  ") && has(filled.out, "\n[MASK] 2:  ")));

  check_refused(here.shell(kClassify + "fill runs/run 'return x'"), {"has no [MASK] to fill in"});
  check_refused(here.shell(kClassify + "text runs/run ' '"), {"the text is empty"});
  check_refused(here.shell(kClassify + "text runs/none x"), {"runs/none: holds no classify run"});
  here.write("new.md", "more\n");
  check_refused(
      here.shell(kClassify + "train --out runs/run --resume 2>&1 | grep -v ^t >&2; exit 2"),
      {"the files below . have changed since the run began"});
}

TEST_CASE("classify fill rejects a model without pre-training") {
  const Workplace here;
  write_tree(here, 4);
  const Outcome bare = here.shell(kClassify +
                                  "train --threads 1 --pretrain 0 --steps 2 --batch 2 --layers 1 "
                                  "--heads 2 --width 8 --length 6 --out runs/bare");
  CAPTURE(bare.err);
  REQUIRE(bare.code == 0);
  CHECK(has(bare.out, "BERT, not pre-trained"));
  check_refused(here.shell(kClassify + "fill runs/bare 'a [MASK]'"), {"--pretrain 0", "fill in"});
}

TEST_CASE("classify reports usage errors in one line") {
  const Workplace here;
  check_refused(here.shell(kClassify), {"subcommand"});
  check_refused(here.shell(kClassify + "train"), {".: holds 0 files of the kind", "3 are needed"});
  check_refused(here.shell(kClassify + "train --tree none"), {"none: not a directory"});
  check_refused(here.shell(kClassify + "train --pretrain -1"), {"--pretrain -1: must be 0"});
  check_refused(here.shell(kClassify + "train --length 1"), {"--length 1: must be 2 or more"});
  check_refused(here.shell(kClassify + "train --vocabulary 4"), {"--vocabulary 4: must be 5"});
  CHECK_FALSE(fs::exists(here.directory / "runs"));
}

}  // namespace
}  // namespace gradus::testing::test_classify
