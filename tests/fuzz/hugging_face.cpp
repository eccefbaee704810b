// Fuzzes io::parse_hugging_face_bpe. The first NUL separates vocab.json from merges.txt.
#include "gradus/io/bpe.h"
#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(std::as_bytes(std::span(data, size)));
  const std::size_t end = std::min(input.find('\0'), size);
  const std::string_view merges = input.substr(std::min(end + 1, size));
  const auto tokenizer = fuzz::read_within_limits(size, [&] {
    return io::parse_hugging_face_bpe(input.substr(0, end), "vocab.json", merges, "merges.txt");
  });
  if (!tokenizer) return 0;
  const std::string json = tokenizer->to_json();
  fuzz::law(io::tokenizer_from_json(json, "written")->to_json() == json,
            "a written tokenizer must be read unchanged");
  return 0;
}
