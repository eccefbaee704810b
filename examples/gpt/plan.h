// What a run shall be: settings out of flags, out of the text where flags are silent, and out of
// the run itself where it is resumed. All errors are ValueErrors that name the flag.
#pragma once

#include <string>

#include "commands.h"
#include "corpus.h"
#include "settings.h"

namespace gradus::examples {

/// --out, else runs/book for texts/book.txt.
std::string directory_of(const TrainFlags& flags);

Tokens tokens_of(const TrainFlags& flags);
Tokens tokens_of(const Settings& run);

/// The config for a text of so many tokens, and for which texts it is: "10,000 to 10,000,000".
struct ChosenConfig {
  std::string name, range;
};
ChosenConfig config_for(std::int64_t tokens);

/// Of --minutes.
void check_minutes(double minutes);

/// Before a long text is read: ranges, and the memory that the smallest config takes at least.
void judge_flags(const TrainFlags& flags);

/// A new run's settings. The steps are not yet fitted to --minutes.
Settings settings_for(const TrainFlags& flags, const Corpus& corpus);

/// Each part of the text must hold a window of the context, and the token after it.
void require_long_enough(const Corpus& corpus, const Settings& settings);

/// A flag that was given and says something else than the run in `directory` is an error.
void require_agreement(const TrainFlags& flags, const Settings& run, const std::string& directory);

}  // namespace gradus::examples
