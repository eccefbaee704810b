#include "gradus/io/json.h"

#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

namespace {

/// Reads each value as its own type, and as wrong types.
void look_at(const io::Json& value) {
  for (const auto ask :
       {+[](const io::Json& v) { (void)v.text(); }, +[](const io::Json& v) { (void)v.as_int(); },
        +[](const io::Json& v) { (void)v.number(); }, +[](const io::Json& v) { (void)v.as_bool(); },
        +[](const io::Json& v) {
          v.check_keys({"a", "weight_map"});
        }}) {
    try {
      ask(value);
    } catch (const FileError& refusal) {
      fuzz::check_message(refusal.what());
    }
  }
  if (value.is_object())
    for (const auto& [key, part] : value.members()) look_at(part);
  if (value.is_list())
    for (const io::Json& part : value.elements()) look_at(part);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(std::as_bytes(std::span(data, size)));
  const auto json = fuzz::read_within_limits(size, [&] { return io::Json::parse(input, "input"); });
  if (json) look_at(*json);
  return 0;
}
