// Philox4x32-10: ten rounds of two 32 × 32 → 64-bit products. Word i of a stream is element i mod 4
// of the block with counter {i div 4 (low, high), stream, rank} and the seed (low, high) as key.
#include "gradus/base/random.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gradus/base/error.h"
#include "gradus/base/thread_state.h"

namespace gradus {
namespace {

using Word = std::uint32_t;
using Block = std::array<Word, 4>;
constexpr Word kFactor0 = 0xD2511F53, kFactor1 = 0xCD9E8D57;  // the paper's
constexpr Word kStep0 = 0x9E3779B9, kStep1 = 0xBB67AE85;  // of the key: golden ratio, √3 − 1
constexpr int kRounds = 10;
constexpr int kLanes = 32;  // blocks side by side

Word low(std::uint64_t x) { return static_cast<Word>(x); }
Word high(std::uint64_t x) { return static_cast<Word>(x >> 32); }

void mix(Word& x0, Word& x1, Word& x2, Word& x3, Word k0, Word k1) {
  const std::uint64_t p0 = std::uint64_t{kFactor0} * x0, p1 = std::uint64_t{kFactor1} * x2;
  x0 = high(p1) ^ x1 ^ k0, x1 = low(p1), x2 = high(p0) ^ x3 ^ k1, x3 = low(p0);
}

Block block_of(const RandomStream& s, std::uint64_t block) {
  return philox({low(block), high(block), s.stream, s.rank}, {low(s.seed), high(s.seed)});
}

// The words of kLanes · groups blocks from `block` on.
void fill_blocks(const RandomStream& s, std::uint64_t block, std::int64_t groups, Word* words) {
  for (const Word* end = words + 4 * kLanes * groups; words < end; words += 4)
    std::ranges::copy(block_of(s, block++), words);
}

#ifdef __x86_64__
using Lanes __attribute__((vector_size(64))) = std::uint64_t;
constexpr int kVectors = kLanes / 8;
constexpr __mmask8 kAll = 255;  // lanes: where it is asked, GCC 12 does not warn of its own header

// The same, eight blocks to a vector. A word lies in the low half of its lane: a product reads no
// more of it, so what is above need not be cleared. (Left to itself, GCC clears and repacks it, and
// takes three times as long.)
__attribute__((target("avx512f"))) void fill_blocks_wide(const RandomStream& s, std::uint64_t block,
                                                         std::int64_t groups, Word* words) {
  const __m512i factor0 = _mm512_set1_epi64(kFactor0), factor1 = _mm512_set1_epi64(kFactor1);
  for (const Word* end = words + 4 * kLanes * groups; words < end; block += kLanes) {
    Lanes x[4][kVectors];
    for (std::uint64_t v = 0; v < kVectors; ++v) {
      x[0][v] = Lanes{0, 1, 2, 3, 4, 5, 6, 7} + (block + 8 * v), x[1][v] = x[0][v] >> 32;
      x[2][v] = Lanes{} + s.stream, x[3][v] = Lanes{} + s.rank;
    }
    Word k0 = low(s.seed), k1 = high(s.seed);
    for (int round = 0; round < kRounds; ++round, k0 += kStep0, k1 += kStep1)
      for (int v = 0; v < kVectors; ++v) {
        const auto p0 = (Lanes)_mm512_maskz_mul_epu32(kAll, (__m512i)x[0][v], factor0);
        const auto p1 = (Lanes)_mm512_maskz_mul_epu32(kAll, (__m512i)x[2][v], factor1);
        x[0][v] = p1 >> 32 ^ x[1][v] ^ k0, x[1][v] = p1;
        x[2][v] = p0 >> 32 ^ x[3][v] ^ k1, x[3][v] = p0;
      }
    for (int v = 0; v < kVectors; ++v, words += 32) {  // words 0 and 1 of each block, then 2 and 3
      const Lanes a = (x[0][v] & ~Word{0}) | x[1][v] << 32,
                  b = (x[2][v] & ~Word{0}) | x[3][v] << 32;
      const Lanes rows[] = {__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11),
                            __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)};
      std::memcpy(words, rows, sizeof rows);
    }
  }
}
#endif

auto fastest_fill() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return fill_blocks_wide;
#endif
  return fill_blocks;
}

// 53 bits of two words, in [0, 1)
double unit(Word a, Word b) { return ((a >> 5) * 0x1p26 + (b >> 6)) * 0x1p-53; }

Generator global_generator;

}  // namespace

Block philox(Block x, std::array<Word, 2> key) {
  for (int round = 0; round < kRounds; ++round, key[0] += kStep0, key[1] += kStep1)
    mix(x[0], x[1], x[2], x[3], key[0], key[1]);
  return x;
}

Word RandomStream::word(std::int64_t index) const {
  const auto i = static_cast<std::uint64_t>(index);
  return block_of(*this, i / 4)[i % 4];
}

double RandomStream::uniform(std::int64_t index) const {
  const auto i = static_cast<std::uint64_t>(index);
  const Block b = block_of(*this, i / 2);
  return i % 2 == 0 ? unit(b[0], b[1]) : unit(b[2], b[3]);
}

// A pair of indices shares a block: its two uniforms give two normals, r·cos φ and r·sin φ.
double RandomStream::normal(std::int64_t index) const {
  const auto i = static_cast<std::uint64_t>(index);
  const Block b = block_of(*this, i / 2);
  const double r = std::sqrt(-2 * std::log(1 - unit(b[0], b[1])));  // 1 − u is never 0
  const double phi = 6.283185307179586 * unit(b[2], b[3]);
  return i % 2 == 0 ? r * std::cos(phi) : r * std::sin(phi);
}

std::int64_t RandomStream::below(std::int64_t index, std::int64_t n) const {
  require(n >= 1, "below: n is ", n, ", and there is no number in [0, ", n, ")");
  return std::min(static_cast<std::int64_t>(uniform(index) * static_cast<double>(n)), n - 1);
}

void RandomStream::words(std::int64_t first, std::int64_t count, Word* words) const {
  constexpr std::int64_t kGroup = 4 * kLanes;
  static const auto fill = fastest_fill();
  Word some[kGroup];  // a group of which only a part is wanted
  for (std::int64_t n = 0; count > 0; first += n, words += n, count -= n) {
    const auto block = static_cast<std::uint64_t>(first) / 4;
    const std::int64_t skip = first % 4, groups = skip == 0 ? count / kGroup : 0;
    n = groups > 0 ? groups * kGroup : std::min(count, kGroup - skip);
    fill(*this, block, std::max<std::int64_t>(groups, 1), groups > 0 ? words : some);
    if (groups == 0) std::copy_n(some + skip, n, words);
  }
}

// Not locked: a program with several threads that draw gives each a GeneratorScope of its own.
Generator& generator() {
  return thread_state.generator != nullptr ? *thread_state.generator : global_generator;
}

void seed(std::uint64_t seed) { generator().restore(seed, 0); }

GeneratorScope::GeneratorScope(Generator& own) : before_(thread_state.generator) {
  thread_state.generator = &own;
}
GeneratorScope::~GeneratorScope() { thread_state.generator = before_; }

}  // namespace gradus
