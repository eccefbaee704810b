#include "task.h"

#include "dates.h"
#include "gradus/engine/base/error.h"
#include "gradus/io/text.h"
#include "sentences.h"

namespace gradus::examples {

Task make_task(const std::string& name, std::int64_t count, std::int64_t seed) {
  require(count > 0, "--examples ", count, ": must be positive");
  if (name == "dates") return dates_task(count, seed);
  require(name == "sentences", "--task ", io::quote(name), ": must be dates or sentences");
  return sentences_task(count, seed);
}

double exact(const std::vector<Example>& examples, const std::vector<std::string>& translations) {
  std::int64_t right = 0;
  for (std::size_t i = 0; i < examples.size(); ++i) right += translations[i] == examples[i].target;
  return static_cast<double>(right) / static_cast<double>(examples.size());
}

}  // namespace gradus::examples
