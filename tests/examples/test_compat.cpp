// Resumes a gpt run of version 0.1.0 (tests/compat/v1/README.md).
#include <cmath>

#include "gradus/tests/examples/gpt_program.h"
#include "gradus/train/metrics.h"

namespace gradus::testing {

TEST_CASE("gpt describes, samples from and resumes a run of version 0.1.0") {
  const Workplace here;
  fs::copy(GRADUS_SOURCE_DIR "/tests/compat/v1/run", here.directory / "run");
  const Outcome info = here.gpt("info run");
  CAPTURE(info.err);
  CHECK(info.code == 0);
  for (const char* part : {"1 layers", "2 heads", "width 8", "context 32", "1,336", "7 of 12"})
    CHECK(info.out.find(part) != std::string::npos);

  const Outcome sample = here.gpt("sample run --threads 1 --temperature 0 --tokens 5 --prompt the");
  CAPTURE(sample.err);
  CHECK(sample.code == 0);
  CHECK(sample.out.rfind("the", 0) == 0);

  const Outcome resumed = here.gpt("train run/text.txt --out run --resume --threads 1");
  CAPTURE(resumed.err);
  CHECK(resumed.code == 0);
  const auto loss = train::read_metric((here.directory / "run/metrics.jsonl").string(), "loss");
  // Losses of version 0.1.0. Reordered additions change a loss by 1e-7 in each of five steps.
  const double right[] = {2.553790330886841, 2.532020092010498, 2.5075743198394775,
                          2.49035382270813, 2.480989933013916};
  REQUIRE(loss.size() == 12);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK(std::abs(loss[7 + i].second - right[i]) < 1e-5);
  }
}

}  // namespace gradus::testing
