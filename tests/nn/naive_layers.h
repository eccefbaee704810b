// Composite layers in naive loops. Parameters p[first …] are in the order of members().
#pragma once

#include <numbers>
#include <vector>

#include "gradus/tests/nn/layer_sample.h"
#include "gradus/tests/support/naive.h"

namespace gradus::testing::naive {

template <class T>
T gelu_erf_of(const T& x) {
  return 0.5 * x * (1 + math::erf(x / std::numbers::sqrt2));
}
template <class T>
List<T> gelu_erf(List<T> x) {
  for (T& v : x) v = gelu_erf_of(v);
  return x;
}

enum class Bend { gelu, gelu_erf, relu };

template <class T>
List<T> feed_forward(const List<T>& x, std::int64_t C, const Parameters<T>& p, std::size_t first,
                     Bend bend = Bend::gelu) {
  List<T> hidden = affine(x, C, p[first], p[first + 1]);
  for (T& v : hidden)
    v = bend == Bend::gelu       ? gelu_of(v)
        : bend == Bend::gelu_erf ? gelu_erf_of(v)
        : v > 0                  ? v
                                 : T(0);
  return affine(hidden, std::ssize(p[first + 1]), p[first + 2], p[first + 3]);
}

/// Order of p: packed projection (2), output projection (2).
template <class T>
List<T> self_attention(const Attention& a, const List<T>& x, const Parameters<T>& p,
                       std::size_t first) {
  const std::int64_t C = a.H * a.D;
  const List<T> heads = packed_attention(a, affine(x, C, p[first], p[first + 1]));
  return affine(heads, C, p[first + 2], p[first + 3]);
}

inline bool causal(std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) { return i >= j; }

/// Order of p: norm1 (2), attention (4), norm2 (2), feed-forward (4).
template <class T>
List<T> block(const Attention& a, const List<T>& x, const Parameters<T>& p, std::size_t first,
              bool post, Bend bend = Bend::gelu) {
  const std::int64_t C = a.H * a.D;
  const auto norm = [&](const List<T>& y, std::size_t at) {
    return layer_norm(y, C, p[first + at], p[first + at + 1]);
  };
  if (post) {
    const List<T> y = norm(plus(x, self_attention(a, x, p, first + 2)), 0);
    return norm(plus(y, feed_forward(y, C, p, first + 8, bend)), 6);
  }
  const List<T> y = plus(x, self_attention(a, norm(x, 0), p, first + 2));
  return plus(y, feed_forward(norm(y, 6), C, p, first + 8, bend));
}

/// Repeats G heads of shape [B, G, S, D] for H query heads.
template <class T>
List<T> shared_heads(const List<T>& x, std::int64_t B, std::int64_t H, std::int64_t G,
                     std::int64_t size) {
  List<T> y;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t i = 0; i < size; ++i) y.push_back(x[at((b * G + h / (H / G)) * size + i)]);
  return y;
}

/// Order of p: q, k, v and output projections (2 each).
template <class T>
List<T> cross_attention(const Attention& a, const List<T>& x, const List<T>& memory,
                        const Parameters<T>& p, std::size_t first) {
  const std::int64_t C = a.H * a.D, M = std::ssize(memory) / (a.B * a.S);
  const auto projected = [&](const List<T>& y, std::int64_t in, std::int64_t n, std::size_t which) {
    const List<T> z = affine(y, in, p[first + which], p[first + which + 1]);
    return split_heads(z, a.B, n, a.H, a.D, C);
  };
  const List<T> heads = attention(a, projected(x, C, a.T, 0), projected(memory, M, a.S, 2),
                                  projected(memory, M, a.S, 4));
  return affine(merge_heads(heads, a.B, a.H, a.T, a.D), C, p[first + 6], p[first + 7]);
}

/// Order of p: norm1 (2), attention (4), norm2 (2), cross-attention (8), norm3 (2), feed-forward
/// (4).
template <class T>
List<T> decoder_block(const Attention& a, const Attention& cross, const List<T>& x,
                      const List<T>& memory, const Parameters<T>& p, std::size_t first, bool post,
                      Bend bend = Bend::gelu) {
  const std::int64_t C = a.H * a.D;
  const auto norm = [&](const List<T>& y, std::size_t which) {
    return layer_norm(y, C, p[first + which], p[first + which + 1]);
  };
  if (post) {
    const List<T> y = norm(plus(x, self_attention(a, x, p, first + 2)), 0);
    const List<T> z = norm(plus(y, cross_attention(cross, y, memory, p, first + 8)), 6);
    return norm(plus(z, feed_forward(z, C, p, first + 18, bend)), 16);
  }
  const List<T> y = plus(x, self_attention(a, norm(x, 0), p, first + 2));
  const List<T> z = plus(y, cross_attention(cross, norm(y, 6), memory, p, first + 8));
  return plus(z, feed_forward(norm(z, 16), C, p, first + 18, bend));
}

}  // namespace gradus::testing::naive
