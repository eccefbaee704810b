#include "gradus/io/pretrained/pretrained_tokenizer.h"
#include "gradus/io/pretrained/tensor_source.h"
#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes input = std::as_bytes(std::span(data, size));
  auto source =
      fuzz::read_within_limits(size, [&] { return io::TensorSource::parse(input, "input"); });
  if (!source) return 0;
  for (const auto& [name, stored] : source->tensors()) {
    const bool whole = io::loaded_as(stored.stored) == Dtype::i64;
    const bool flag = io::loaded_as(stored.stored) == Dtype::bool_;
    const Tensor x = source->read(name, whole ? Dtype::i64 : flag ? Dtype::bool_ : Dtype::f32);
    fuzz::law(x.shape() == stored.shape, "the shape must be that of the header");
  }
  const auto tokenizer = fuzz::read_within_limits(
      size, [&] { return io::PretrainedTokenizer::of_gguf(source->facts(), "input"); });
  if (!tokenizer) return 0;
  for (const std::int64_t id : tokenizer->encode("a 12<|im_end|>"))
    fuzz::law(0 <= id && id < tokenizer->vocab_size(), "ids must be in the vocabulary");
  return 0;
}
