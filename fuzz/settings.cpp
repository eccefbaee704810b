// settings_from_json of examples/gpt: what is read and written again is read as the same.
#include "gradus/examples/gpt/settings.h"

#include "gradus/fuzz/watch.h"

using namespace gradus;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(fuzz::text_of(std::as_bytes(std::span(data, size))));
  const auto settings =
      fuzz::read_within_limits(size, [&] { return examples::settings_from_json(input, "input"); });
  if (!settings) return 0;
  const std::string json = examples::to_json(*settings);
  const examples::Settings again = examples::settings_from_json(json, "written");
  fuzz::law(examples::to_json(again) == json, "it reads what it wrote");
  return 0;
}
