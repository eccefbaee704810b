#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gradus/engine/observer.h"
#include "gradus/trace/provenance.h"
#include "gradus/trace/range.h"

namespace gradus::trace {

/// While alive, records every op of this thread with its layer and the range of its result, even
/// under NoGrad. explain(), why() and to_dot() use the innermost Watch:
///
///   const trace::Watch watch;
///   const Tensor loss = model.loss(x, y);
///   std::cout << explain(loss, model) << why(loss, model);
///
/// Costs one pass over each result and about 300 bytes per op. Ops inside a parallel_for are not
/// recorded.
class Watch final : public Observer {
 public:
  [[nodiscard]] Watch();
  ~Watch() override;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  std::string path_end(const Tensor& leaf) const override;  // trace/why.cpp
  static const Watch* current();                            // the innermost Watch, or nullptr

  struct Input {
    std::uint64_t node = 0;               // gradient node of the tensor; 0: none
    std::uint64_t numbers = 0;            // node from which the tensor was detached
    bool wanted = false;                  // true if the tensor requires a gradient
    std::weak_ptr<Storage> unknown = {};  // the storage, if its values are unknown
  };
  struct Event {
    std::string op;
    std::uint64_t node = 0;  // node of the result; 0: not recorded
    std::size_t layer = 0;   // index into layers_
    Dtype dtype = Dtype::f32;
    bool recording = true;  // false under NoGrad
    Shape shape;
    ValueRange range;
    std::vector<Input> inputs;
  };

  const std::vector<Event>& events() const { return events_; }
  const Event* of(std::uint64_t node) const;  // nullptr if not recorded
  /// Returns the op that produced x's values, even if x was detached, or nullptr if not recorded.
  const Event* maker_of(const Tensor& x) const;
  struct Layer {
    std::string model, path;   // "Tiny", "blocks.0.attention"; "" outside any layer
    std::string text() const;  // "Tiny blocks.0.attention"
    friend auto operator<=>(const Layer&, const Layer&) = default;  // NOLINT(modernize-use-nullptr)
  };
  const Layer& layer(const Event& event) const { return layers_[event.layer]; }

  void on_op_end(const Op& op, std::span<const Tensor* const> inputs, const Tensor& y) override;
  void on_scope_begin(const Scope& scope) override;
  void on_scope_end(const Scope& scope) noexcept override;

 private:
  struct Maker {         // the producer of a storage's values
    std::uint64_t node;  // 0: not recorded
    bool leaf;
    std::size_t event;  // unused for a leaf
  };
  void note_numbers(const Tensor& x);
  Input look_at(const Tensor& x);
  std::size_t index_of(const Scope& scope);

  std::vector<Event> events_;
  std::map<std::uint64_t, std::size_t> by_node_;
  Provenance<Maker> makers_;
  std::vector<Layer> layers_{{}};
  std::map<Layer, std::size_t> layer_index_;
  std::vector<std::size_t> path_;  // open layer scopes, innermost last
  Watch* outer_watch_;
  ObserverScope scope_;
};

}  // namespace gradus::trace
