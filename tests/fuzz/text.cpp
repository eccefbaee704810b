#include "gradus/io/text.h"

#include "gradus/io/bpe.h"
#include "gradus/io/pieces.h"
#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

namespace {

void check_utf8(std::string_view input) {
  const auto code_points =
      fuzz::read_within_limits(input.size(), [&] { return io::decode_utf8(input, "input"); });
  fuzz::law(io::is_utf8(input) == code_points.has_value(), "is_utf8 and decode_utf8 must agree");
  if (code_points) fuzz::law(io::encode_utf8(*code_points) == input, "encode(decode(text))");
  const std::string valid = io::replace_invalid_utf8(input);
  fuzz::law(io::is_utf8(valid), "the replaced text must be UTF-8");
  fuzz::law(code_points.has_value() == (valid == input), "only invalid text must be replaced");
}

void check_ids(std::string_view input, const io::Tokenizer& tokenizer) {
  const auto ids = fuzz::read_within_limits(input.size(), [&] { return tokenizer.encode(input); });
  io::StreamDecoder stream(tokenizer);
  std::string bytes, streamed;
  for (const std::int64_t id : *ids) {
    bytes += tokenizer.bytes_of(id);
    streamed += stream.push(id);
  }
  streamed += stream.finish();
  fuzz::law(bytes == input, "tokens must have the bytes of the text");
  fuzz::law(streamed == io::replace_invalid_utf8(input), "a stream must give the text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const io::BpeTokenizer pairs =
      io::BpeTokenizer::train("the cat and the other cat, it's 1 o'clock at the café\n\n  ", 300);
  const std::string_view input = fuzz::text_of(std::as_bytes(std::span(data, size)));
  check_utf8(input);
  const auto parts = fuzz::read_within_limits(size, [&] { return io::pieces(input); });
  std::string joined;
  for (const std::string_view part : *parts) joined += part;
  fuzz::law(joined == input, "pieces must give the text");
  fuzz::law(io::from_visible(io::visible(input), "visible") == input, "from_visible(visible(x))");
  check_ids(input, io::ByteTokenizer());
  check_ids(input, pairs);
  return 0;
}
