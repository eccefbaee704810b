// A word consists of a stem and the vowel of the noun's class, number and case.
#include "sentences.h"

#include <map>
#include <sstream>

#include "gradus/examples/apps/support/draws.h"

namespace gradus::examples {
namespace {

struct NounWord {
  const char *one, *many, *stem;
  char vowel;  // vowel of the noun's class; its adjectives have the same vowel
};
struct Word {
  const char *english, *nolu;
};
struct VerbWord {
  const char *base, *present, *past, *stem;
  int objects;  // 0, such as "sleeps"; 1, "sees"; 2, "gives" with a receiver and an object
};

constexpr int kPersons = 12;  // the other nouns are things
const std::vector<NounWord> kNouns = {
    {"dog", "dogs", "kel", 'o'},           {"cat", "cats", "mir", 'o'},
    {"bird", "birds", "pel", 'a'},         {"horse", "horses", "darn", 'o'},
    {"woman", "women", "selv", 'a'},       {"man", "men", "torv", 'o'},
    {"child", "children", "nim", 'a'},     {"friend", "friends", "lan", 'a'},
    {"doctor", "doctors", "vesk", 'o'},    {"teacher", "teachers", "orm", 'a'},
    {"king", "kings", "rag", 'o'},         {"sailor", "sailors", "ful", 'a'},
    {"book", "books", "tiv", 'a'},         {"letter", "letters", "zen", 'a'},
    {"apple", "apples", "gom", 'o'},       {"house", "houses", "bar", 'a'},
    {"garden", "gardens", "ham", 'a'},     {"tree", "trees", "wald", 'o'},
    {"boat", "boats", "sin", 'o'},         {"bridge", "bridges", "krep", 'o'},
    {"table", "tables", "dut", 'a'},       {"lamp", "lamps", "lix", 'o'},
    {"mountain", "mountains", "ech", 'o'}, {"river", "rivers", "yun", 'a'}};
const std::vector<Word> kAdjectives = {{"old", "tav"},    {"young", "imp"}, {"small", "siv"},
                                       {"big", "gran"},   {"red", "ruk"},   {"green", "bel"},
                                       {"quiet", "shol"}, {"happy", "yad"}, {"strange", "ozm"},
                                       {"clever", "fen"}, {"tired", "mul"}, {"beautiful", "alv"}};
const std::vector<VerbWord> kVerbs = {
    {"sleep", "sleeps", "slept", "nur", 0},      {"sing", "sings", "sang", "lal", 0},
    {"wait", "waits", "waited", "tem", 0},       {"laugh", "laughs", "laughed", "hik", 0},
    {"work", "works", "worked", "dob", 0},       {"see", "sees", "saw", "vek", 1},
    {"find", "finds", "found", "jut", 1},        {"love", "loves", "loved", "amr", 1},
    {"follow", "follows", "followed", "sek", 1}, {"know", "knows", "knew", "gnor", 1},
    {"paint", "paints", "painted", "pik", 1},    {"hear", "hears", "heard", "aud", 1},
    {"forget", "forgets", "forgot", "obl", 1},   {"carry", "carries", "carried", "fer", 1},
    {"give", "gives", "gave", "don", 2},         {"show", "shows", "showed", "mons", 2},
    {"sell", "sells", "sold", "vend", 2},        {"send", "sends", "sent", "mis", 2}};
// "the" has no word in Nolu. Entries from kFirstNumber on are plural.
const std::vector<Word> kDeterminers = {{"the", ""},     {"my", "en"},   {"your", "ul"},
                                        {"every", "om"}, {"two", "dva"}, {"three", "tri"},
                                        {"many", "mog"}};
constexpr int kEvery = 3, kFirstNumber = 4;
const std::vector<Word> kPrepositions = {{"in", ""}, {"under", "pod"}, {"behind", "zad"}};

template <class T>
const T& at(const std::vector<T>& list, int i) {
  return list[static_cast<std::size_t>(i)];
}

using Words = std::vector<std::string>;

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

Words english(const Noun& n) {
  Words words = {at(kDeterminers, n.determiner).english};
  if (n.adjective >= 0) words.push_back(at(kAdjectives, n.adjective).english);
  words.push_back(n.plural ? at(kNouns, n.noun).many : at(kNouns, n.noun).one);
  return words;
}

Words english_verb(int verb, Tense tense, bool negated, bool plural) {
  const VerbWord& v = at(kVerbs, verb);
  if (tense == Tense::future) return negated ? Words{"will", "not", v.base} : Words{"will", v.base};
  if (negated) return {tense == Tense::past ? "did" : plural ? "do" : "does", "not", v.base};
  return {tense == Tense::past ? v.past : plural ? v.base : v.present};
}

Words english(const NounPhrase& phrase) {
  Words words = english(phrase.noun);
  if (!phrase.relative) return words;
  words.push_back("that");
  append(words,
         english_verb(phrase.relative->verb, phrase.relative->tense, false, phrase.noun.plural));
  append(words, english(phrase.relative->object));
  return words;
}

/// Returns the ending of a noun and of the words that agree with it: "orim".
std::string ending(const Noun& n, Case c) {
  static const std::map<Case, const char*> cases = {
      {Case::subject, ""}, {Case::object, "m"}, {Case::receiver, "ke"}, {Case::place, "su"}};
  return at(kNouns, n.noun).vowel + std::string(n.plural ? "ri" : "") + cases.at(c);
}

Words nolu(const Noun& n, Case c) {
  Words words = {at(kNouns, n.noun).stem + ending(n, c)};
  if (n.adjective >= 0) words.push_back(at(kAdjectives, n.adjective).nolu + ending(n, c));
  const std::string determiner = at(kDeterminers, n.determiner).nolu;
  if (n.determiner >= kFirstNumber) words.push_back(determiner);  // numerals do not agree
  if (0 < n.determiner && n.determiner < kFirstNumber) words.push_back(determiner + ending(n, c));
  return words;
}

std::string nolu_verb(int verb, Tense tense) {
  const char* mark = tense == Tense::present ? "en" : tense == Tense::past ? "ak" : "ush";
  return std::string(at(kVerbs, verb).stem) + mark;
}

Words nolu(const NounPhrase& phrase, Case c) {
  Words words;
  if (phrase.relative) {
    words = nolu(phrase.relative->object, Case::object);
    words.push_back(nolu_verb(phrase.relative->verb, phrase.relative->tense) + "je" +
                    ending(phrase.noun, c));
  }
  append(words, nolu(phrase.noun, c));
  return words;
}

bool is_new(const Noun& n) { return n.adjective >= 0 && (n.adjective + n.noun) % 7 == 3; }
bool is_new(int verb, const Noun& object) { return (3 * verb + object.noun) % 8 == 5; }
bool is_new(const NounPhrase& phrase) {
  if (is_new(phrase.noun)) return true;
  return phrase.relative && (is_new(phrase.relative->object) ||
                             is_new(phrase.relative->verb, phrase.relative->object));
}

Noun draw_noun(Draws& draws, int first, int last) {
  Noun n;
  n.noun = first + static_cast<int>(draws.below(last - first));
  n.plural = draws.chance(0.4);
  n.determiner = static_cast<int>(draws.below(n.plural ? std::ssize(kDeterminers) : kEvery + 1));
  if (n.plural && n.determiner == kEvery) n.determiner = 0;
  if (draws.chance(0.5)) n.adjective = static_cast<int>(draws.below(std::ssize(kAdjectives)));
  return n;
}

Tense draw_tense(Draws& draws) { return static_cast<Tense>(draws.below(3)); }

NounPhrase draw_phrase(Draws& draws, int last, double relative) {
  NounPhrase phrase{draw_noun(draws, 0, last), {}};
  if (phrase.noun.noun >= kPersons || !draws.chance(relative)) return phrase;
  Relative r{static_cast<int>(5 + draws.below(9)), draw_tense(draws), {}};
  r.object = draw_noun(draws, 0, static_cast<int>(std::ssize(kNouns)));
  phrase.relative = r;
  return phrase;
}

Sentence draw_sentence(Draws& draws) {
  const int nouns = static_cast<int>(std::ssize(kNouns));
  Sentence s;
  s.subject = draw_phrase(draws, kPersons, 0.25);
  s.verb = static_cast<int>(draws.below(std::ssize(kVerbs)));
  s.tense = draw_tense(draws);
  s.negated = draws.chance(0.25);
  const int objects = at(kVerbs, s.verb).objects;
  if (objects == 1) s.object = draw_phrase(draws, nouns, 0.25);
  if (objects == 2) {
    s.object = NounPhrase{draw_noun(draws, kPersons, nouns), {}};
    s.receiver = draw_noun(draws, 0, kPersons);
  }
  if (draws.chance(0.4)) s.place = draw_noun(draws, kPersons, nouns);
  s.preposition = static_cast<int>(draws.below(std::ssize(kPrepositions)));
  return s;
}

std::vector<Example> drawn_sentences(std::int64_t count, bool wanted_new, Draws& draws) {
  std::vector<Example> examples;
  while (std::ssize(examples) < count) {
    const Sentence s = draw_sentence(draws);
    if (is_new(s) == wanted_new) examples.push_back({english(s), nolu(s)});
  }
  return examples;
}

std::pair<std::string, std::string> all_words() {
  Words first = {"that", "not", "will", "did", "do", "does", "to"}, second = {"ne"};
  for (int n = 0; n < std::ssize(kNouns); ++n)
    for (const bool plural : {false, true}) {
      append(first, english(Noun{n, plural}));
      for (const Case c : {Case::subject, Case::object, Case::receiver, Case::place}) {
        const std::string end = ending({n, plural}, c);
        for (int a = 0; a < std::ssize(kAdjectives); ++a)
          append(second, nolu(Noun{n, plural, 0, a}, c));
        for (int d = 1; d < std::ssize(kDeterminers); ++d)
          append(second, nolu(Noun{n, plural, d}, c));
        for (int v = 0; v < std::ssize(kVerbs); ++v)
          for (const Tense t : {Tense::present, Tense::past, Tense::future})
            if (at(kVerbs, v).objects == 1 && (c == Case::subject || c == Case::object))
              second.push_back(nolu_verb(v, t) + "je" + end);
      }
    }
  for (const Word& w : kAdjectives) first.push_back(w.english);
  for (const std::vector<Word>* list : {&kDeterminers, &kPrepositions})
    for (const Word& w : *list) {
      first.push_back(w.english);
      second.push_back(w.nolu);
    }
  for (int v = 0; v < std::ssize(kVerbs); ++v)
    for (const Tense t : {Tense::present, Tense::past, Tense::future}) {
      for (const bool plural : {false, true}) append(first, english_verb(v, t, false, plural));
      second.push_back(nolu_verb(v, t));
    }
  return {joined(first), joined(second)};
}

/// Returns a map from English words to Nolu, with nouns in the subject case.
std::map<std::string, std::string> dictionary() {
  std::map<std::string, std::string> d = {{"not", "ne"}};
  for (int n = 0; n < std::ssize(kNouns); ++n)
    for (const bool plural : {false, true})
      d[english(Noun{n, plural}).back()] = nolu(Noun{n, plural}, Case::subject).back();
  for (const Word& w : kAdjectives) d[w.english] = std::string(w.nolu) + "o";
  for (const std::vector<Word>* list : {&kDeterminers, &kPrepositions})
    for (const Word& w : *list) d[w.english] = w.nolu;
  for (const char* possessive : {"my", "your", "every"}) d[possessive] += "o";
  for (int v = 0; v < std::ssize(kVerbs); ++v) {
    d[at(kVerbs, v).base] = d[at(kVerbs, v).present] = nolu_verb(v, Tense::present);
    d[at(kVerbs, v).past] = nolu_verb(v, Tense::past);
  }
  return d;
}

}  // namespace

std::string english(const Sentence& s) {
  Words words = english(s.subject);
  append(words, english_verb(s.verb, s.tense, s.negated, s.subject.noun.plural));
  if (s.object) append(words, english(*s.object));
  if (s.receiver) {
    words.push_back("to");
    append(words, english(*s.receiver));
  }
  if (s.place) {
    words.push_back(at(kPrepositions, s.preposition).english);
    append(words, english(*s.place));
  }
  return joined(words);
}

std::string nolu(const Sentence& s) {
  Words words;
  if (s.place) append(words, nolu(*s.place, Case::place));
  if (s.place && s.preposition > 0) words.push_back(at(kPrepositions, s.preposition).nolu);
  append(words, nolu(s.subject, Case::subject));
  if (s.receiver) append(words, nolu(*s.receiver, Case::receiver));
  if (s.object) append(words, nolu(*s.object, Case::object));
  if (s.negated) words.push_back("ne");
  words.push_back(nolu_verb(s.verb, s.tense));
  return joined(words);
}

bool is_new(const Sentence& s) {
  return is_new(s.subject) || (s.object && (is_new(*s.object) || is_new(s.verb, s.object->noun))) ||
         (s.receiver && is_new(*s.receiver)) || (s.place && is_new(*s.place));
}

std::string word_by_word(const std::string& source) {
  static const std::map<std::string, std::string> words = dictionary();
  std::istringstream in(source);
  Words out;
  for (std::string word; in >> word;) {
    const auto found = words.find(word);
    if (found != words.end() && !found->second.empty()) out.push_back(found->second);
  }
  return joined(out);
}

Task sentences_task(std::int64_t count, std::int64_t seed) {
  Draws learnt(seed, 0), other(seed, 1);
  const auto [first, second] = all_words();
  return {"sentences",
          "sentences of a small English, to Nolu",
          Vocabulary(Vocabulary::Unit::word, {first}),
          Vocabulary(Vocabulary::Unit::word, {second}),
          drawn_sentences(count, false, learnt),
          drawn_sentences(kValidation, true, other),
          drawn_sentences(kTest, true, other),
          "word pairs that no training example has",
          "word-by-word dictionary lookup",
          word_by_word};
}

}  // namespace gradus::examples
