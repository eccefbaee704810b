// Tests tensors with more than 2³¹ elements: bool tensors of 2 GiB, and one f32 tensor of 8 GiB.
// Skipped if less than 12 GB of memory is available.
#include <filesystem>
#include <fstream>
#include <string>

#include "gradus/engine/backward.h"
#include "gradus/engine/base/memory.h"
#include "gradus/io/safetensors.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/catch.h"

namespace gradus::testing::test_huge_tensors {
namespace {

constexpr std::int64_t kMany = (std::int64_t{1} << 31) + 3, kLast = kMany - 1;
// The four elements before each marked one are not marked.
constexpr std::int64_t kMarked[] = {5, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31, kLast};

/// Reads the available memory from Linux, without swap space. Returns 0 on other systems.
std::int64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word)
    if (std::int64_t kilobytes = 0; word == "MemAvailable:" && file >> kilobytes)
      return 1024 * kilobytes;
  return 0;
}

/// Limits memory: an error is better than exhausting the machine's memory.
struct Limit {
  bool enough;
  Limit() {
    memory::release_cached();
    enough = available_bytes() >= 12'000'000'000;
    if (!enough) WARN("skipped: less than 12 GB of memory are available");
    memory::set_limit(11'000'000'000);
  }
  ~Limit() {
    memory::release_cached();
    memory::set_limit(0);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
};

Tensor marked() {
  const Tensor x = zeros({kMany}, Dtype::bool_);
  for (const std::int64_t i : kMarked) select(x, 0, i).copy_(tensor(true, Dtype::bool_));
  return x;
}

bool at(const Tensor& x, std::int64_t i) { return select(x, 0, i).item<bool>(); }

void check_marked(const Tensor& x, std::int64_t begin = 0) {
  for (const std::int64_t i : kMarked) {
    CAPTURE(i);
    CHECK(at(x, begin + i));
    CHECK_FALSE(at(x, begin + i - 4));
  }
}

}  // namespace

TEST_CASE("2^31 + 3 elements are written, sliced, compared and joined", "[.nightly]") {
  const Limit limit;
  if (!limit.enough) return;
  const Tensor x = marked();
  CHECK(x.numel() == kMany);
  check_marked(x);
  CHECK_FALSE(any(slice(x, 0, 6, kMarked[1])));
  CHECK_FALSE(any(slice(x, 0, kMarked[2] + 1, kLast)));
  CHECK(slice(x, 0, kMany - 4, kMany).to_vector<bool>() ==
        std::vector<bool>{true, true, false, true});
  CHECK(slice(x, 0, 0, kMany, kLast).to_vector<bool>() == std::vector<bool>{false, true});
  {
    const Tensor joined = cat({tensor(std::vector<bool>{true, false, true}), x});
    CHECK(joined.numel() == kMany + 3);
    CHECK(slice(joined, 0, 0, 3).to_vector<bool>() == std::vector<bool>{true, false, true});
    check_marked(joined, 3);
  }
  {
    const Tensor other = logical_not(x);
    for (const std::int64_t i : kMarked) CHECK_FALSE(at(other, i));
    CHECK(all(slice(other, 0, kMarked[2] + 1, kLast)));
    select(other, 0, kLast).copy_(tensor(true, Dtype::bool_));
    CHECK(at(logical_and(other, x), kLast));
  }
}

TEST_CASE("rows of a matrix of more than 2^31 elements are copied from the right offsets",
          "[.nightly]") {
  const Limit limit;
  if (!limit.enough) return;
  constexpr std::int64_t columns = (std::int64_t{1} << 30) + 1;
  const Tensor x = zeros({3, columns}, Dtype::bool_);
  select(select(x, 0, 2), 0, columns - 1).copy_(tensor(true, Dtype::bool_));
  select(select(x, 0, 1), 0, 7).copy_(tensor(true, Dtype::bool_));
  const Tensor turned = contiguous(transpose(x));
  CHECK(slice(turned, 0, columns - 1, columns).to_vector<bool>() ==
        std::vector<bool>{false, false, true});
  CHECK(slice(turned, 0, 7, 8).to_vector<bool>() == std::vector<bool>{false, true, false});
  CHECK_FALSE(any(slice(turned, 0, 8, columns - 1)));
}

TEST_CASE("a file of 2^31 + 3 elements contains the saved values", "[.nightly]") {
  const Limit limit;
  if (!limit.enough) return;
  const Folder here;
  if (std::filesystem::space(here / "").available < 4'000'000'000) {
    WARN("skipped: less than 4 GB are free in " << here / "");
    return;
  }
  const Tensor x = marked();
  io::save_safetensors(here / "x.safetensors", {{"after", indices({7})}, {"before", x}});
  const io::TensorFile file = io::load_safetensors(here / "x.safetensors");
  CHECK(file.tensors.at("after").item<std::int64_t>() == 7);
  const Tensor& loaded = file.tensors.at("before");
  REQUIRE(loaded.numel() == kMany);
  check_marked(loaded);
  CHECK_FALSE(any(logical_xor(loaded, x)));
}

TEST_CASE("sums over 2^31 + 3 elements include each element", "[.nightly]") {
  const Limit limit;
  if (!limit.enough) return;
  const Tensor x = zeros({kMany}, Dtype::f32);
  double value = 1;
  for (const std::int64_t i : kMarked) {
    select(x, 0, i).copy_(tensor(value, Dtype::f32));
    value *= 2;
  }
  CHECK(sum(x).item() == 1 + 2 + 4 + 8);
  CHECK(max(x).item() == 8);
  CHECK(argmax(x, 0).item<std::int64_t>() == kLast);
  CHECK(sum(slice(x, 0, kMany - 4, kMany)).item() == 2 + 4 + 8);
}

TEST_CASE("an expanded view of 2^33 elements costs no memory and has the right corners") {
  const Tensor x = arange(4).reshape({2, 2, 1, 1});
  const std::int64_t live = memory::usage().live_bytes, n = std::int64_t{1} << 16;
  memory::reset_peak();
  const Tensor wide = expand(x, {2, 2, n, n / 2});
  CHECK(wide.numel() == std::int64_t{1} << 33);
  for (const std::int64_t a : {0, 1})
    for (const std::int64_t b : {0, 1})
      for (const std::int64_t row : {std::int64_t{0}, n - 1})
        for (const std::int64_t column : {std::int64_t{0}, n / 2 - 1})
          CHECK(select(select(select(select(wide, 0, a), 0, b), 0, row), 0, column)
                    .item<std::int64_t>() == 2 * a + b);
  CHECK(slice(slice(wide, 2, n - 1, n), 3, n / 2 - 1, n / 2).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(memory::usage().peak_bytes - live < 10'000);  // less than a copy of all elements
}

}  // namespace gradus::testing::test_huge_tensors
