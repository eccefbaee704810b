#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/ops/packed.h"

namespace gradus::nn {

/// Keys and values of one attention layer.
struct KeysValues {
  Tensor keys;    // [B, G, S, D], G key/value heads
  Tensor values;  // [B, G, S, D]
};

/// Capacity and storage format of a KVCache.
struct CacheOptions {
  std::int64_t capacity = 0;  // in tokens
  bool sliding = false;       // if full, true drops the oldest tokens, false throws
  /// Storage format; attention computes in f32 or f64. int8 stores a scale for each token and head.
  /// With f32, values are stored unchanged, even if they are f64.
  Precision precision = Precision::f32;
};

/// Key/value cache for a model's attention layers, which attend to cached and new tokens. Masks,
/// rotations and biases take their positions from the cache. Requires NoGrad, because keys are
/// written in place.
///
///   nn::KVCache cache({.capacity = 64});
///   model(prompt, cache);                          // [B, T] ids
///   while (…) logits = model(next, cache);         // [B, 1] ids
class KVCache {
 public:
  explicit KVCache(const CacheOptions& options);

  /// Announces `tokens` more tokens per example. In example b, all but the last lengths[b] tokens
  /// are padding (default: no padding). Throws ShapeError if the batch size changes or the capacity
  /// is exceeded, ValueError if a length is not in [0, tokens].
  void advance(std::int64_t batch, std::int64_t tokens,
               const std::vector<std::int64_t>& lengths = {});

  /// Returns length() after advance() with these arguments. Throws the same errors.
  std::int64_t length_after(std::int64_t batch, std::int64_t tokens,
                            const std::vector<std::int64_t>& lengths = {}) const;

  /// Returns the positions [B][T] of the latest tokens; −1 marks padding.
  const Positions& queries() const { return queries_; }
  /// Returns the positions [B][S] of the keys that extend() returns; −1 marks padding.
  const Positions& keys() const { return keys_; }
  /// queries() and keys() as flat lists: all examples concatenated, or if they are equal, one list
  /// and `examples` = 0. Padding has position 0.
  struct FlatPositions {
    std::vector<std::int64_t> queries, keys;
    std::int64_t examples;
  };
  FlatPositions flat_positions() const;

  /// Adds keys and values [B, G, T, D] of `layer` and returns all that its queries attend to.
  /// Throws GraphError if the layer missed tokens or gradients are enabled, ValueError if the
  /// precision cannot represent a value.
  KeysValues extend(const Scoped& layer, const Tensor& keys, const Tensor& values);

  /// Returns the projected memory of `layer`, a CrossAttention, or null.
  const KeysValues* cross(const Scoped& layer) const;
  void set_cross(const Scoped& layer, KeysValues memory);

  /// Reorders the batch: example i becomes the previous example examples[i] (for beam search).
  /// Throws IndexError, or ShapeError if `examples` is empty.
  void select(const std::vector<std::int64_t>& examples);

  std::int64_t batch() const { return batch_; }  // 0 if the cache is empty
  std::int64_t size() const { return held_; }    // number of tokens, including padding
  /// Returns the length of the longest example.
  std::int64_t length() const;
  const CacheOptions& options() const { return options_; }

 private:
  /// Where new tokens are stored: after the others, in place of the oldest, or at the end after all
  /// others are shifted.
  enum class Way { append, replace, slide };
  struct Layer {
    KeysValues kept;            // `capacity` slots; packed unless f32
    std::int64_t advances = 0;  // number of advance() calls that this layer has processed
  };
  void check_ready() const;
  void check_advance(std::int64_t batch, std::int64_t tokens,
                     const std::vector<std::int64_t>& lengths) const;
  Tensor keep(Tensor& kept, const Tensor& latest) const;

  CacheOptions options_;
  std::int64_t batch_ = 0, advances_ = 0;
  std::int64_t held_ = 0, before_ = 0;    // slots in use, after and before the latest advance()
  std::int64_t oldest_ = 0, newest_ = 0;  // oldest slot, after and before the latest advance()
  Way way_ = Way::append;
  std::vector<std::int64_t> next_;         // [B], position of the next token
  Positions queries_, keys_, slots_;       // [B][T], [B][S], [B][held]
  std::map<std::uint64_t, Layer> layers_;  // by Scoped::id
  std::map<std::uint64_t, KeysValues> cross_;
};

}  // namespace gradus::nn
