// Thread-local state.
#pragma once

#include <cstdint>
#include <utility>

namespace gradus {

class Observer;
class Generator;
class Scope;
class Node;

/// State of one thread. parallel_for copies it to its workers.
struct ThreadState {
  bool grad_enabled = true;        // false: ops are not recorded (NoGrad)
  bool formula = false;            // true: fused ops run as formulas (FormulaScope)
  bool parallel = false;           // inside parallel_for: nested loops run serially
  Observer* observer = nullptr;    // null: none
  const Scope* scope = nullptr;    // innermost running layer
  const Node* backward = nullptr;  // the node whose backward is running
  std::uint64_t operations = 0;    // number of ops run on this thread
  Generator* generator = nullptr;  // null: the global one
};

extern thread_local constinit ThreadState thread_state;  // of the calling thread

/// RAII guard: sets `variable` to `value` and restores it at the end of the scope.
template <class T>
struct ScopedValue {
  [[nodiscard]] ScopedValue(T& variable, T value)
      : variable_(variable), before_(std::exchange(variable, value)) {}
  ~ScopedValue() { variable_ = before_; }
  ScopedValue(ScopedValue&&) = delete;

 private:
  T& variable_;
  T before_;
};

/// Removes `item` from the list that starts at `head`.
template <class T>
void unlink(T*& head, const T* item, T* T::*next) {
  for (T** at = &head; *at; at = &((*at)->*next))
    if (*at == item) {
      *at = item->*next;
      return;
    }
}

}  // namespace gradus
