// Two languages: one like English, and Nolu, which is invented. In Nolu the place comes first, the
// verb last, and the receiver before the object. Adjectives and possessives follow their noun and
// take its ending (class, number, case). Relative clauses come before it:
//
//   the old dog that saw my bird gives two books to the friend in the garden
//   hamasu     pelam enam vekakjeo  kelo tavo  lanake     tivarim dva  donen
//   garden-in  bird  my   who-saw   dog  old   friend-to  books   two  gives
#pragma once

#include <optional>
#include <string>

#include "task.h"

namespace gradus::examples {

enum class Tense { present, past, future };
enum class Case { subject, object, receiver, place };

/// Indices into the lists of sentences.cpp; −1: none.
struct Noun {
  int noun = 0;
  bool plural = false;
  int determiner = 0;  // the, my, your, every; only plural: two, three, many
  int adjective = -1;
};
struct Relative {  // "that saw a bird"
  int verb = 0;
  Tense tense = Tense::present;
  Noun object;
};
struct NounPhrase {
  Noun noun;
  std::optional<Relative> relative;
};
struct Sentence {
  NounPhrase subject;
  int verb = 0;  // takes no object, one, or one and a receiver
  Tense tense = Tense::present;
  bool negated = false;
  std::optional<NounPhrase> object;
  std::optional<Noun> receiver;
  std::optional<Noun> place;
  int preposition = 0;  // in, under, behind
};

std::string english(const Sentence& sentence);
std::string nolu(const Sentence& sentence);
/// True if a pair of adjective and noun, or verb and object, is never in training.
bool is_new(const Sentence& sentence);

/// Translates by a dictionary in the order of the source: a baseline without reordering.
std::string word_by_word(const std::string& source);

Task sentences_task(std::int64_t count, std::int64_t seed);

}  // namespace gradus::examples
