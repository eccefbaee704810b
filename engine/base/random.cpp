// Philox4x32-10: ten rounds of two 32 × 32 → 64-bit multiplications. Word i of a stream is element
// i mod 4 of the block with counter {i div 4 (low, high), stream, rank} and key {seed (low, high)}.
#include "gradus/engine/base/random.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/math64.h"
#include "gradus/engine/base/simd.h"

namespace gradus {
namespace {

using Word = std::uint32_t;
using Block = std::array<Word, 4>;
constexpr Word kFactor0 = 0xD2511F53, kFactor1 = 0xCD9E8D57;  // from the paper
constexpr Word kStep0 = 0x9E3779B9, kStep1 = 0xBB67AE85;  // key increments: golden ratio, √3 − 1
constexpr int kRounds = 10;
constexpr std::int64_t kGroup = 32;

Word low(std::uint64_t x) { return static_cast<Word>(x); }
Word high(std::uint64_t x) { return static_cast<Word>(x >> 32); }

Block block_of(const RandomStream& s, std::uint64_t block) {
  return philox({low(block), high(block), s.stream, s.rank}, {low(s.seed), high(s.seed)});
}

#if GRADUS_HAS_LEVELS
template <int bytes>
struct Vector {
  using Lanes __attribute__((vector_size(bytes))) = std::uint64_t;
  using Floats __attribute__((vector_size(bytes))) = float;
};

// Multiplies the lower halves of the lanes of x and y. Not GRADUS_INLINE, because GRADUS_INLINE
// functions are first compiled for the baseline, which lacks these instructions.
GRADUS_TARGET_AVX512 inline void multiply(Vector<64>::Lanes& x, const Vector<64>::Lanes& y) {
  constexpr __mmask8 kAll = 255;  // all lanes; avoids a GCC 12 warning
  x = (Vector<64>::Lanes)_mm512_maskz_mul_epu32(kAll, (__m512i)x, (__m512i)y);
}
GRADUS_TARGET_AVX2 inline void multiply(Vector<32>::Lanes& x, const Vector<32>::Lanes& y) {
  x = (Vector<32>::Lanes)_mm256_mul_epu32((__m256i)x, (__m256i)y);
}
inline void multiply(Vector<16>::Lanes& x, const Vector<16>::Lanes& y) {
  x = (Vector<16>::Lanes)_mm_mul_epu32((__m128i)x, (__m128i)y);
}

// Computes one block per 64-bit lane. The lower half of a lane holds a word of the block. The
// multiplication ignores the upper half, so it is not cleared. The code that GCC generates clears
// it and takes three times as long.
template <int bytes>
struct Blocks {
  using Lanes = typename Vector<bytes>::Lanes;
  using Floats = typename Vector<bytes>::Floats;  // integers have no two-source shuffle
  static constexpr std::size_t kCount = bytes / 8;
  Lanes x0, x1, x2, x3;

  // Lane 2i holds block i, and lane 2i + 1 holds block i + kCount / 2, so that write() stores the
  // blocks in order.
  template <std::size_t... i>
  static GRADUS_INLINE void number(Lanes& block, std::index_sequence<i...>) {
    block += Lanes{(i / 2 + i % 2 * kCount / 2)...};
  }

  GRADUS_INLINE void begin(const Lanes& block, const Lanes& stream, const Lanes& rank) {
    x0 = block;
    x1 = block >> 32;
    x2 = stream;
    x3 = rank;
  }

  GRADUS_INLINE void mix(const Lanes (&key)[2]) {
    Lanes p0 = x0, p1 = x2;
    multiply(p0, Lanes{} + kFactor0);
    multiply(p1, Lanes{} + kFactor1);
    x0 = p1 >> 32 ^ x1 ^ key[0];
    x1 = p1;
    x2 = p0 >> 32 ^ x3 ^ key[1];
    x3 = p0;
  }

  // Selects from each 16 bytes of a and b: words 0 and 2, or 1 and 3 if `odd`.
  template <std::size_t odd, std::size_t... i>
  static GRADUS_INLINE void pick(Floats& to, const Floats& a, const Floats& b,
                                 std::index_sequence<i...>) {
    constexpr std::size_t kWords = bytes / 4;
    to = __builtin_shufflevector(a, b, int(i / 4 * 4 + i % 2 * 2 + odd + i / 2 % 2 * kWords)...);
  }

  GRADUS_INLINE void write(Word* words) const {
    constexpr std::make_index_sequence<bytes / 4> all;
    Floats a, b, rows[2];
    pick<0>(a, (Floats)x0, (Floats)x1, all);
    pick<0>(b, (Floats)x2, (Floats)x3, all);
    pick<0>(rows[0], a, b, all);
    pick<1>(rows[1], a, b, all);
    std::memcpy(words, rows, sizeof rows);
  }
};

template <class Each, class Key, std::size_t... v>
GRADUS_INLINE void mix_all(Each& each, const Key& key, std::index_sequence<v...>) {
  (each[v].mix(key), ...);
}

// Parameter packs unroll rounds and vectors. GCC unrolls only the innermost of nested loops.
template <int bytes, std::size_t... v, std::size_t... round>
GRADUS_INLINE void fill_vectors(const RandomStream& s, std::uint64_t block, std::int64_t groups,
                                Word* words, std::index_sequence<v...> all,
                                std::index_sequence<round...>) {
  using Lanes = typename Vector<bytes>::Lanes;
  constexpr std::size_t kCount = Blocks<bytes>::kCount, kVectors = sizeof...(v);
  static_assert(kGroup % (kCount * kVectors) == 0);
  Lanes keys[kRounds][2], next = Lanes{} + block;
  const Lanes stream = Lanes{} + s.stream, rank = Lanes{} + s.rank;
  Word k0 = low(s.seed), k1 = high(s.seed);
  for (int i = 0; i < kRounds; ++i, k0 += kStep0, k1 += kStep1) {
    keys[i][0] = Lanes{} + k0;
    keys[i][1] = Lanes{} + k1;
  }
  Blocks<bytes>::number(next, std::make_index_sequence<kCount>{});
  for (const Word* end = words + 4 * kGroup * groups; words < end; words += 4 * kCount * kVectors) {
    Blocks<bytes> each[kVectors];
    (each[v].begin(next + kCount * v, stream, rank), ...);
    (mix_all(each, keys[round], all), ...);
    (each[v].write(words + 4 * kCount * v), ...);
    next += kCount * kVectors;
  }
}

template <int bytes, int vectors>
GRADUS_INLINE void fill(RandomStream s, std::uint64_t block, std::int64_t groups, Word* words) {
  fill_vectors<bytes>(s, block, groups, words, std::make_index_sequence<vectors>{},
                      std::make_index_sequence<kRounds>{});
}

void fill_groups(const RandomStream& s, std::uint64_t block, std::int64_t groups, Word* words) {
  simd::run_one<fill<64, 4>, fill<32, 8>, fill<16, 8>>(s, block, groups, words);
}
#else
void fill_groups(const RandomStream& s, std::uint64_t block, std::int64_t groups, Word* words) {
  for (const Word* end = words + 4 * kGroup * groups; words < end; words += 4) {
    const auto four = block_of(s, block++);
    std::copy(four.begin(), four.end(), words);
  }
}
#endif

// Combines 53 bits of two words into [0, 1).
double unit(Word a, Word b) { return ((a >> 5) * 0x1p26 + (b >> 6)) * 0x1p-53; }

Generator global_generator;

}  // namespace

Block philox(Block x, std::array<Word, 2> key) {
  for (int round = 0; round < kRounds; ++round, key[0] += kStep0, key[1] += kStep1) {
    const std::uint64_t p0 = std::uint64_t{kFactor0} * x[0], p1 = std::uint64_t{kFactor1} * x[2];
    x = {high(p1) ^ x[1] ^ key[0], low(p1), high(p0) ^ x[3] ^ key[1], low(p0)};
  }
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

// Two indices share a block, whose two uniform numbers yield r·cos φ and r·sin φ.
double RandomStream::normal(std::int64_t index) const {
  const auto i = static_cast<std::uint64_t>(index);
  const Block b = block_of(*this, i / 2);
  const double r = std::sqrt(-2 * math64::log(1 - unit(b[0], b[1])));  // 1 − u is never 0
  const double phi = 6.283185307179586 * unit(b[2], b[3]);
  return i % 2 == 0 ? r * math64::cos(phi) : r * math64::sin(phi);
}

std::int64_t RandomStream::below(std::int64_t index, std::int64_t n) const {
  require(n >= 1, "below: n must be positive, got ", n);
  // If n is 2⁵³ or more, the product may round up to n.
  return std::min(static_cast<std::int64_t>(uniform(index) * static_cast<double>(n)), n - 1);
}

void RandomStream::words(std::int64_t first, std::int64_t count, Word* words) const {
  constexpr std::int64_t kWords = 4 * kGroup;
  Word some[kWords];
  for (std::int64_t n = 0; count > 0; first += n, words += n, count -= n) {
    const auto block = static_cast<std::uint64_t>(first) / 4;
    const std::int64_t skip = first % 4, groups = skip == 0 ? count / kWords : 0;
    n = groups > 0 ? groups * kWords : std::min(count, kWords - skip);
    fill_groups(*this, block, std::max<std::int64_t>(groups, 1), groups > 0 ? words : some);
    if (groups == 0) std::copy_n(some + skip, n, words);
  }
}

RandomStream Generator::next() {
  require(next_stream_ != UINT32_MAX, "Generator: all ", UINT32_MAX, " streams of seed ", seed_,
          " are used. Call seed() with another seed.");
  return {seed_, next_stream_++, rank_};
}

// Not synchronized. Every thread that draws numbers needs its own GeneratorScope.
Generator& generator() {
  return thread_state.generator != nullptr ? *thread_state.generator : global_generator;
}

void seed(std::uint64_t seed) { generator().restore(seed, 0); }

}  // namespace gradus
