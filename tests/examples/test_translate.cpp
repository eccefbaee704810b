#include "gradus/engine/base/error.h"
#include "gradus/examples/apps/translate/dates.h"
#include "gradus/examples/apps/translate/sentences.h"
#include "gradus/examples/apps/translate/templates.h"
#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

#include <map>
#include <set>

namespace gradus::testing::test_translate {
namespace {

using namespace examples;
using std::chrono::year;

Date date(int y, unsigned m, unsigned d) {
  return year(y) / std::chrono::month(m) / std::chrono::day(d);
}

TEST_CASE("dates are written in their format") {
  const std::map<std::string, std::string> of_a_second = {
      {"{Thursday}, the {3rd} of {September}, {1998}", "Sunday, the 2nd of December, 2007"},
      {"{Thu} {03}-{IX}-'{98}", "Sun 02-XII-'07"},
      {"{9}/{3}/{98} (m/d/y)", "12/2/07 (m/d/y)"},
      {"{september} {third}, {nineteen ninety-eight}", "december second, two thousand seven"},
      {"{SEP} {09} {Sep.} {thursday}", "DEC 12 Dec. sunday"}};
  for (const auto& [format, text] : of_a_second)
    CHECK(write_date(format, date(2007, 12, 2)) == text);
  const std::string spoken = "{3rd} {third} {nineteen ninety-eight}";
  CHECK(write_date(spoken, date(1950, 5, 11)) == "11th eleventh nineteen fifty");
  CHECK(write_date(spoken, date(1969, 5, 21)) == "21st twenty-first nineteen sixty-nine");
  CHECK(write_date(spoken, date(2000, 5, 30)) == "30th thirtieth two thousand");
  CHECK(write_date(spoken, date(2013, 5, 20)) == "20th twentieth twenty thirteen");
  CHECK(write_date(spoken, date(2040, 5, 23)) == "23rd twenty-third twenty forty");
  CHECK(iso(date(1998, 5, 3)) == "1998-05-03");
  CHECK(iso(date_of(0)) == "1950-01-01");
  CHECK(iso(date_of(kDays - 1)) == "2049-12-31");
  CHECK_REFUSES(ValueError, write_date("{4th}", date_of(0)), "style");
}

TEST_CASE("no text can be read as two dates") {
  std::map<std::string, std::string> meaning;
  const std::vector<std::string> formats = date_formats();
  CHECK(std::set<std::string>(formats.begin(), formats.end()).size() == formats.size());
  CHECK(formats.size() == 1684);
  std::size_t longest = 0;
  for (const int y : {1950, 1952, 1999, 2000, 2002, 2011, 2012})
    for (const unsigned m : {2u, 3u, 11u})
      for (const unsigned d : {2u, 3u, 11u, 23u})
        for (const std::string& format : formats) {
          const std::string text = write_date(format, date(y, m, d));
          const std::string day = iso(date(y, m, d));
          const auto [at, is_first] = meaning.emplace(text, day);
          longest = std::max(longest, text.size());
          if (is_first || at->second == day) continue;
          FAIL(text << " is " << at->second << " and " << day);
        }
  CHECK(longest <= 60);
}

TEST_CASE("held-out days are not in the training pairs, and the seed determines a task") {
  const Task task = make_task("dates", 2000, 5), again = make_task("dates", 3000, 5);
  std::set<std::string> learnt;
  for (const Example& each : again.training) learnt.insert(each.target);
  REQUIRE(task.test.size() == 1000);
  REQUIRE(task.validation.size() == 300);
  for (const std::vector<Example>* some : {&task.test, &task.validation})
    for (const Example& each : *some) CHECK(learnt.count(each.target) == 0);
  CHECK(task.training[1999].source == again.training[1999].source);
  CHECK(task.test[999].source == again.test[999].source);
  CHECK(make_task("dates", 1, 6).training[0].source != task.training[0].source);
  CHECK_REFUSES(ValueError, make_task("dates", 0, 5), "--examples", "0");
  for (const Example& each : task.training)
    CHECK(task.source.decode(task.source.encode(each.source)) == each.source);
}

TEST_CASE("templates compute dates from the digits of known formats") {
  const Templates templates({{"3 May '86", "1986-05-03"},
                             {"7 May '71", "1971-05-07"},
                             {"9 May '04", "2004-05-09"},
                             {"12.4.1977", "1977-04-12"},
                             {"30.8.2005", "2005-08-30"}});
  CHECK(templates.fill("5 May '62") == "1962-05-05");  // two of three such years began with 19
  CHECK(templates.fill("5 Mai '62") == "?");
  CHECK(templates.fill("31.9.2014") == "2014-09-31");
}

/// "the old dog that saw my bird gives two books to the friend in the garden"
Sentence long_sentence() {
  Sentence s;
  s.subject.noun = {.noun = 0, .adjective = 0};
  s.subject.relative = Relative{5, Tense::past, {.noun = 2, .determiner = 1}};
  s.verb = 14;
  s.object = NounPhrase{{.noun = 12, .plural = true, .determiner = 4}, {}};
  s.receiver = Noun{.noun = 7};
  s.place = Noun{.noun = 16};
  return s;
}

TEST_CASE("sentences are written in both languages") {
  Sentence s = long_sentence();
  CHECK(english(s) == "the old dog that saw my bird gives two books to the friend in the garden");
  CHECK(nolu(s) == "hamasu pelam enam vekakjeo kelo tavo lanake tivarim dva donen");
  CHECK(word_by_word("the old dog that saw my bird") == "tavo kelo vekak eno pela");

  Sentence other;
  other.subject.noun = {.noun = 3, .plural = true, .determiner = 6};
  other.tense = Tense::future, other.negated = true;
  other.place = Noun{.noun = 15, .determiner = 2};
  other.preposition = 1;
  CHECK(english(other) == "many horses will not sleep under your house");
  CHECK(nolu(other) == "barasu ulasu pod darnori mog ne nurush");
  other.tense = Tense::present;
  CHECK(english(other) == "many horses do not sleep under your house");
  other.subject.noun = {.noun = 9, .determiner = 3, .adjective = 4}, other.place = {};
  CHECK(english(other) == "every red teacher does not sleep");
  CHECK(nolu(other) == "orma ruka oma ne nuren");
}

TEST_CASE("held-out word pairs are not in the training examples") {
  Sentence s = long_sentence();
  CHECK_FALSE(is_new(s));
  s.subject.noun.adjective = 3;  // the adjective is now "big"
  CHECK(is_new(s));
  s = long_sentence();
  s.subject.relative->object.noun = 6;  // the clause is now "saw a child"
  CHECK(is_new(s));
  const Task task = make_task("sentences", 4000, 1);
  for (const Example& each : task.training) {
    CHECK(!has(each.source, "big dog"));
    CHECK(!has(each.source, "saw the child"));
  }
  bool tested = false;
  std::size_t longest = 0;
  for (const Example& each : task.test) tested = tested || has(each.source, "big dog");
  CHECK(tested);
  for (const std::vector<Example>* some : {&task.training, &task.test})
    for (const Example& each : *some) {  // the vocabulary must contain all words
      CHECK(task.source.decode(task.source.encode(each.source)) == each.source);
      longest = std::max(longest, task.target.encode(each.target).size());
    }
  CHECK(longest <= 20);
}

const std::string kTiny =
    " --examples 300 --batch 4 --width 16 --heads 2 --layers 1 --threads 1 --out ";

Outcome run(const Workplace& here, const std::string& arguments) {
  return here.shell("'" GRADUS_BINARY_DIR "/translate' " + arguments);
}

TEST_CASE("translate reports usage errors in one line with exit code 2") {
  const Workplace here;
  check_refused(run(here, ""), {"subcommand"});
  check_refused(run(here, "train --task poems --out x"),
                {"--task \"poems\"", "dates or sentences"});
  check_refused(run(here, "run nowhere text"), {"nowhere", "no translate run"});
  check_refused(run(here, "eval text.txt"), {"text.txt", "no translate run"});
  check_refused(run(here, "run"), {"run is required"});
  CHECK_FALSE(fs::exists(here.directory / "x"));

  REQUIRE(run(here, "train --task sentences --steps 4 --eval-every 2" + kTiny + "run").code == 0);
  check_refused(run(here, "run run 'the old cow sleeps'"), {"the word \"cow\"", "vocabulary"});
  check_refused(run(here, "run run ''"), {"\"\"", "nothing to translate"});
  std::string many;
  for (int i = 0; i < 81; ++i) many += "dog ";
  check_refused(run(here, "run run '" + many + "'"), {"81 words", "at most 80"});
  check_refused(run(here, "train --resume --task dates" + kTiny + "run"),
                {"--task dates", "sentences"});
}

TEST_CASE("translate trains, translates and evaluates") {
  const Workplace here;
  const Outcome whole = run(here, "train --steps 60 --eval-every 20" + kTiny + "run");
  CAPTURE(whole.err);
  REQUIRE(whole.code == 0);
  for (const char* words :
       {"dates: ", "% of 1000 exactly right", "templates learned from the same"})
    CHECK(has(whole.out, words));

  const Outcome translated = run(here, "run run 'May 3, 1998' '3-V-98'");
  CHECK(translated.code == 0);
  CHECK(translated.out.rfind("May 3, 1998\n  ", 0) == 0);
  CHECK(has(translated.out, "\n3-V-98\n  "));
  const Outcome beams = run(here, "run run 'May 3, 1998' --beams 3");
  CHECK(std::count(beams.out.begin(), beams.out.end(), '\n') == 4);
  const Outcome evaluated = run(here, "eval run");
  CHECK(evaluated.out.rfind(whole.out.substr(whole.out.find("dates:")), 0) == 0);
  CHECK(has(evaluated.out, "    right  "));
}

}  // namespace
}  // namespace gradus::testing::test_translate
