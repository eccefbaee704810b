// What a run is made of: the model's sizes, the recipe, the text. Written into the run directory,
// so that `--resume`, `sample` and `eval` need no flags.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/examples/support/judge.h"
#include "gradus/models/gpt.h"
#include "gradus/train/pace.h"

namespace gradus::examples {

struct Settings {
  std::vector<std::string> files;    // the text, one after the other
  std::string validation;            // the file that is held out; "": the last tenth of the text
  std::string text_digest;           // of the bytes read, so that a resumed run sees the same
  std::string tokenizer = "auto";    // --tokenizer: char, byte, word or bpe
  std::int64_t tokenizer_vocab = 0;  // --vocab, of word and bpe
  std::string config;                // the preset that the sizes come from
  nn::GPTOptions model;
  std::int64_t batch = 12;
  std::int64_t steps = 2000;  // where there is a time limit: the plan it began with
  TimeLimit time;
  std::int64_t warmup = 100;
  std::int64_t eval_every = 250;
  double learning_rate = 1e-3, final_factor = 0.1;  // the cosine ends at this part of the rate
  double beta2 = 0.99, weight_decay = 0.1, clip_norm = 1.0;
  std::int64_t seed = 1337;
};

/// Where the model is not GPT-2's: ", rotary positions, 2 key heads"; else "".
std::string peculiarities(const nn::GPTOptions& model);

std::string to_json(const Settings& settings);
/// Of what the file `name` holds, not yet judged. FileError says in one line what is missing, or of
/// another type.
Settings settings_from_json(const std::string& json, const std::string& name);

Need need_of(const Settings& settings);
/// Ranges, and memory.
void judge_sizes(const Settings& settings, const Judge& judge, bool to_train);
/// All before anything is made: sizes, and what must fit together.
void judge(const Settings& settings, const Judge& judge, bool to_train);

}  // namespace gradus::examples
