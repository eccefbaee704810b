#include "gradus/io/csv.h"

#include "gradus/tests/fuzz/watch.h"

using namespace gradus;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(std::as_bytes(std::span(data, size)));
  const auto table =
      fuzz::read_within_limits(size, [&] { return io::parse_csv(input, "input", Dtype::f64); });
  if (!table) return 0;
  fuzz::law(table->values.rank() == 2, "a table must have rows and columns");
  fuzz::law(table->columns.empty() ||
                table->values.size(1) == static_cast<std::int64_t>(table->columns.size()),
            "either all columns or none must have names");
  return 0;
}
