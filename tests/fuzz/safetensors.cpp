#include "gradus/io/safetensors.h"

#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes input = std::as_bytes(std::span(data, size));
  const auto file =
      fuzz::read_within_limits(size, [&] { return io::parse_safetensors(input, "input"); });
  if (!file || file->tensors.count("") == 1) return 0;  // the writer requires names
  const auto written = io::safetensors_bytes(file->tensors, file->metadata);
  const io::TensorFile again = io::parse_safetensors(written, "written");
  fuzz::law(again.tensors.size() == file->tensors.size(),
            "the number of tensors must be unchanged");
  fuzz::law(io::safetensors_bytes(again.tensors, again.metadata) == written,
            "the bytes must be unchanged");
  return 0;
}
