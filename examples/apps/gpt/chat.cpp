// The cache stores the conversation, so each turn costs only its new tokens.
#include <cstdio>
#include <iostream>

#include "gradus/examples/apps/support/interrupt.h"
#include "gradus/io/pretrained/pretrained.h"
#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/io/pretrained/tensor_source.h"
#include "gradus/io/text.h"
#include "pretrained.h"
#include "training.h"

namespace gradus::examples {
namespace {

io::ChatTemplate template_of(const std::string& model) {
  if (!model.ends_with(".gguf")) {
    const std::string file = model + "/tokenizer_config.json";
    return {io::Json::parse(io::read_text(file), file).at("chat_template").text(), file};
  }
  const io::TensorSource source = io::TensorSource::open(model);
  const auto found = source.facts().find("tokenizer.chat_template");
  const auto* text =
      found == source.facts().end() ? nullptr : std::get_if<std::string>(&found->second);
  require<FileError>(text != nullptr, model,
                     ": has no chat template; use gpt sample to continue a text");
  return {*text, model};
}

class Talk {
 public:
  Talk(const TrainedModel& model, io::ChatTemplate form, const ChatFlags& how, Precision cache)
      : tokenizer_(dynamic_cast<const io::PretrainedTokenizer&>(*model.tokenizer)),
        form_(std::move(form)),
        how_(how),
        reader_(*model.model, cache) {
    end_ = tokenizer_.id_of(io::ChatTemplate::kEnd).value_or(-1);
    if (!how.system.empty()) messages_.push_back({"system", how.system});
  }

  void say(const std::string& text) {
    messages_.push_back({"user", text});
    const auto [all, places] = form_.render(messages_);
    // <|im_end|> is a special token in the template, but plain text where the user typed it.
    std::vector<std::int64_t> unread = tokenizer_.encode_literal(
        all.substr(told_), places.back().first - told_, places.back().second - told_);
    if (last_ >= 0) unread.insert(unread.begin(), last_);  // sampled, but not yet processed
    nn::GenerateOptions options = how_.options;
    options.end = end_;
    std::string answer;
    io::StreamDecoder decoder(tokenizer_);
    nn::generate(reader_, {unread}, options,
                 RandomStream{static_cast<std::uint64_t>(how_.seed), turn_++, 0},
                 [&](std::int64_t, std::int64_t id) {
                   last_ = id;
                   if (id == end_) return true;
                   const std::string piece = decoder.push(id);
                   answer += piece;
                   write_out(piece, true);
                   return interrupt_signal == 0;
                 });
    const std::string rest = decoder.finish();
    write_out(rest + "\n", true);
    answer += rest;
    messages_.push_back({"assistant", answer});
    told_ = all.size() + answer.size();
    if (last_ == end_) told_ += std::string_view(io::ChatTemplate::kEnd).size();
  }

 private:
  const io::PretrainedTokenizer& tokenizer_;
  io::ChatTemplate form_;
  const ChatFlags& how_;
  nn::GPTDecoderState reader_;
  std::int64_t end_ = -1, last_ = -1;
  std::uint32_t turn_ = 0;
  std::vector<io::ChatMessage> messages_;
  std::size_t told_ = 0;  // bytes of the conversation that the model has processed
};

}  // namespace

int chat(GptFlags& flags, const std::string& model, const ChatFlags& how) {
  how.judge_values(Judge());
  require(io::is_pretrained(model), model,
          ": not a pretrained model, so it cannot chat. To continue text with it, run gpt sample ",
          model);
  io::ChatTemplate form = template_of(model);
  const TrainedModel loaded = load_trained(flags, model);
  Talk talk(loaded, std::move(form), how, flags.cache_precision());
  end_when_nobody_reads();
  if (!how.prompt.empty()) {
    talk.say(how.prompt);
    return 0;
  }
  std::fprintf(stderr, "Type a message; an empty line ends the chat.\n");
  for (std::string line; interrupt_signal == 0 && std::getline(std::cin, line) && !line.empty();)
    talk.say(line);
  return 0;
}

}  // namespace gradus::examples
