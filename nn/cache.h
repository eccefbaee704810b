// KVCache: what the attention layers of a model remember of the tokens that they have seen, so that
// the next token costs one query and not a whole sequence.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/observer.h"
#include "gradus/ops/mask/mask.h"
#include "gradus/ops/packed.h"

namespace gradus::nn {

/// Keys and values as attention takes them.
struct KeysValues {
  Tensor keys;    // [B, G, S, D], G heads of keys and values
  Tensor values;  // [B, G, S, D]
};

struct CacheOptions {
  std::int64_t capacity = 0;  // tokens
  bool sliding = false;       // keeps the latest `capacity` of them; else one more is an error
  /// What keys and values are kept as. Attention sees them rounded as engine/gemm/packed.h says,
  /// int8 with a scale for each token and head, and computes as ever. f32: as they are, f64 too.
  Precision precision = Precision::f32;
};

/// One for a whole model: each of its attention layers finds its own keys in it. The model says
/// with advance() which tokens come, then calls its layers; those attend to what is remembered and
/// to the new tokens. It hands out positions, so masks, rotations and biases stay right in a ring
/// and in a batch of unequal lengths. Keys are written in place: only under NoGrad. A copy of a
/// cache goes on by itself.
///
///   nn::KVCache cache({.capacity = 64});
///   model(prompt, cache);                          // [B, T] ids
///   while (…) logits = model(next, cache);         // [B, 1] ids
class KVCache {
 public:
  explicit KVCache(const CacheOptions& options);

  /// `tokens` more of each example. Of example b only the last lengths[b] are tokens, the places
  /// before them are padding; without lengths all are. ShapeError: another batch than before, or
  /// more than the capacity. ValueError: a length that is not in [0, tokens].
  void advance(std::int64_t batch, std::int64_t tokens,
               const std::vector<std::int64_t>& lengths = {});

  /// length() after such an advance(), which is checked but not made.
  std::int64_t length_after(std::int64_t batch, std::int64_t tokens,
                            const std::vector<std::int64_t>& lengths = {}) const;

  /// Positions [B][T] of the tokens that came last; −1: padding.
  const Positions& queries() const { return queries_; }
  /// Positions [B][S] of what extend() gives; −1: nothing there.
  const Positions& keys() const { return keys_; }
  /// Both as plain lists, for rotations, biases and tables: one example's after the other's, or one
  /// for all where they are alike (examples 0). Padding counts as position 0.
  struct FlatPositions {
    std::vector<std::int64_t> queries, keys;
    std::int64_t examples;
  };
  FlatPositions flat_positions() const;

  /// Remembers the keys and values of the new tokens [B, G, T, D] for `layer`, and gives all that
  /// its queries may look at. GraphError: a layer that missed tokens, or a recorded call.
  /// ValueError: a number that the precision cannot hold.
  KeysValues extend(const Scoped& layer, const Tensor& keys, const Tensor& values);

  /// The keys and values that `layer`, a CrossAttention, has computed from its memory; null before.
  const KeysValues* cross(const Scoped& layer) const;
  void set_cross(const Scoped& layer, KeysValues memory);

  /// Example i is from now on what examples[i] was; for beams. IndexError; ShapeError for none.
  void select(const std::vector<std::int64_t>& examples);

  std::int64_t batch() const { return batch_; }  // 0: nothing was seen
  std::int64_t size() const { return held_; }    // tokens (and padding) that are remembered
  /// The longest example so far: the position after its last token.
  std::int64_t length() const;
  const CacheOptions& options() const { return options_; }

 private:
  /// How new tokens find room: behind the others, in the place of the oldest one, or by moving all.
  enum class Way { append, replace, slide };
  struct Layer {
    KeysValues kept;            // room for `capacity` tokens, packed where options say so
    std::int64_t advances = 0;  // how often it took part
  };
  void check_ready() const;
  void check_advance(std::int64_t batch, std::int64_t tokens,
                     const std::vector<std::int64_t>& lengths) const;
  Tensor keep(Tensor& kept, const Tensor& latest) const;

  CacheOptions options_;
  std::int64_t batch_ = 0, advances_ = 0;
  std::int64_t held_ = 0, before_ = 0;    // slots in use after this call, and before it
  std::int64_t oldest_ = 0, newest_ = 0;  // where the next single token goes, where the last went
  Way way_ = Way::append;
  std::vector<std::int64_t> next_;         // [B], the position of the next token
  Positions queries_, keys_, slots_;       // [B][T], [B][S], [B][held]
  std::map<std::uint64_t, Layer> layers_;  // by Scoped::id
  std::map<std::uint64_t, KeysValues> cross_;
};

}  // namespace gradus::nn
