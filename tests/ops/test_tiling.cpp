// How attention cuts its work: sizes of blocks and spans, the keys that blocks see, what counts as
// few of them. The cuts decide time and memory; this holds them as they were chosen.
#include "gradus/ops/attention/tiling.h"
#include "gradus/ops/create.h"
#include "gradus/tests/support/outcomes.h"

namespace gradus::testing {
namespace {

using kernel::AttentionProblem;
using kernel::Range;

AttentionProblem problem(std::int64_t T, std::int64_t S, const Mask& mask = {}, std::int64_t D = 3,
                         std::int64_t Dv = 5) {
  return {.B = 1, .H = 2, .Hk = 1, .T = T, .S = S, .D = D, .Dv = Dv, .scale = 1, .mask = mask};
}

std::string text(const std::vector<Range>& ranges) {
  std::string out;
  for (const Range& each : ranges) out += str_cat(" [", each.first, ", ", each.last, ")");
  return out;
}

/// The sizes, then for each block the spans that it sees.
std::string cuts(const char* title, AttentionProblem p, bool narrow = false) {
  p.narrow = narrow;
  std::string out =
      str_cat("-- ", title, ": blocks of ", kernel::block_size(p), ", spans of ",
              kernel::span_size(p), kernel::sees_few_keys(p) ? ", few keys" : "", "\n");
  const std::int64_t size = kernel::block_size(p);
  for (std::int64_t first = 0; first < p.T; first += size)
    out +=
        str_cat("queries from ", first, ":",
                text(kernel::visible_spans(p, {0, 0, {first, std::min(first + size, p.T)}})), "\n");
  for (const kernel::Part& part : kernel::parts_of(p, 5000))
    out += str_cat("part of head ", part.hk, ": items [", part.first, ", ", part.last, "), keys [",
                   part.keys.first, ", ", part.keys.last, ")\n");
  return out;
}

}  // namespace

TEST_CASE("how attention is cut into blocks, spans and parts") {
  std::string said;
  for (const std::int64_t n : {1, 255, 256, 257, 1024})
    said += str_cat("a row of ", n, " numbers has ", kernel::padded_stride(n), "\n");
  for (const std::int64_t width : {0, 1, 8, 16, 31, 32, 33, 64, 100, 128, 200, 256, 512, 2000})
    said +=
        str_cat("spans of width ", width, ": ", kernel::span_size(problem(9, 2000, {}, width, 1)),
                " and ", kernel::span_size(problem(9, 2000, {}, 1, width)), "\n");
  said += cuts("few", problem(70, 40));
  said += cuts("causal", problem(150, 150, causal_mask()));
  said += cuts("long and causal", problem(200, 700, causal_mask(500), 64, 64));
  said += cuts("a window", problem(300, 300, window_mask(20)), true);
  said += cuts("a window that is taken for wide", problem(300, 300, window_mask(20)));
  said += cuts("a wide window", problem(140, 900, window_mask(600, 200)), true);
  said += cuts("a window of many keys", problem(80, 1500, causal_mask(1400)), false);
  said += cuts("blocks", problem(130, 300, block_sparse_mask({.length = 300, .block = 50})));
  said += cuts("nothing", problem(40, 100, causal_mask(-200)));
  said += cuts("no keys", problem(40, 0));
  said += cuts("no queries", problem(0, 40, causal_mask()));
  AttentionProblem none = problem(40, 40, causal_mask());
  none.B = 0;
  said += cuts("no examples", none);
  std::vector<Range> spans;
  for (const Range keys : {Range{0, 10}, {10, 30}, {30, 30}, {40, 100}, {100, 105}, {90, 95}})
    kernel::append(spans, keys, 25);
  said += "spans of at most 25:" + text(spans) + "\n";
  check_said("tiling", said);
}

TEST_CASE("few keys are as many as the widest span has, and are taken at once") {
  const auto few = [](std::int64_t keys, std::int64_t heads) {
    AttentionProblem p = problem(40, 1000, prefix_mask(keys));
    p.H = heads;
    return kernel::sees_few_keys(p);
  };
  CHECK(few(480, 2));
  CHECK(few(512, 2));
  CHECK(!few(513, 2));
  CHECK(!few(480, 0));
  AttentionProblem wide = problem(40, 1000, {}, 64, 64);
  CHECK(kernel::span_size(wide) == 128);
  wide.narrow = true;
  CHECK(kernel::span_size(wide) == 512);
}

TEST_CASE("a block sees the keys of its own example") {
  AttentionProblem p = problem(40, 200, padding_mask({200, 50}));
  p.B = 2;
  CHECK(text(kernel::visible_spans(p, {0, 1, {0, 32}})) == " [0, 200)");
  CHECK(text(kernel::visible_spans(p, {1, 1, {0, 32}})) == " [0, 64)");
}

}  // namespace gradus::testing
