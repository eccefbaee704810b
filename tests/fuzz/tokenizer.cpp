#include "gradus/io/tokenizer.h"

#include <algorithm>

#include "gradus/io/text.h"
#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

namespace {

void check_use(const io::Tokenizer& tokenizer) {
  std::string text;
  for (std::int64_t id = 0; id < std::min<std::int64_t>(tokenizer.vocab_size(), 64); ++id)
    text += tokenizer.bytes_of(id);
  const std::vector<std::int64_t> ids = tokenizer.encode(text);
  for (const std::int64_t id : ids)
    fuzz::law(0 <= id && id < tokenizer.vocab_size(), "ids must be in the vocabulary");
  if (tokenizer.name() != "word" && tokenizer.name() != "token")  // these tokenizers are lossy
    fuzz::law(tokenizer.decode(ids) == io::replace_invalid_utf8(text), "decode(encode(text))");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(std::as_bytes(std::span(data, size)));
  const auto tokenizer =
      fuzz::read_within_limits(size, [&] { return io::tokenizer_from_json(input, "input"); });
  if (!tokenizer) return 0;
  const std::string json = (*tokenizer)->to_json();
  const auto again = io::tokenizer_from_json(json, "written");
  fuzz::law(again->to_json() == json, "a written tokenizer must be read unchanged");
  fuzz::law(again->vocab_size() == (*tokenizer)->vocab_size(),
            "the vocabulary size must be unchanged");
  check_use(**tokenizer);
  return 0;
}
