// Fuzzes settings.json of examples/gpt. Valid settings must round-trip.
#include <CLI/CLI.hpp>

#include "gradus/examples/apps/gpt/flags.h"
#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

namespace {

std::string written(const std::string& json) {
  CLI::App app;
  examples::GptFlags flags(app);
  flags.from_json(json);
  return flags.to_json();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(fuzz::text_of(std::as_bytes(std::span(data, size))));
  const auto json = fuzz::read_within_limits(size, [&] { return written(input); });
  if (!json) return 0;
  fuzz::law(written(*json) == *json, "written settings must be read unchanged");
  return 0;
}
