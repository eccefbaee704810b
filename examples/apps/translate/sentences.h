// Generates sentences in a language like English and in Nolu, an invented language. In Nolu the
// location comes first, the verb last, and the receiver before the object. Adjectives and
// possessives follow their noun and take its ending. Relative clauses precede the noun:
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

/// Words as indices into the lists of sentences.cpp; −1: none.
struct Noun {
  int noun = 0;
  bool plural = false;
  int determiner = 0;  // the, my, your, every; in the plural also two, three, many
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
  int verb = 0;  // a verb without an object, with one, or with an object and a receiver
  Tense tense = Tense::present;
  bool negated = false;
  std::optional<NounPhrase> object;
  std::optional<Noun> receiver;
  std::optional<Noun> place;
  int preposition = 0;  // in, under, behind
};

std::string english(const Sentence& sentence);
std::string nolu(const Sentence& sentence);
/// True if an adjective and its noun, or a verb and its object, never occur together in training.
bool is_new(const Sentence& sentence);

/// Translates word by word with a dictionary.
std::string word_by_word(const std::string& source);

Task sentences_task(std::int64_t count, std::int64_t seed);

}  // namespace gradus::examples
