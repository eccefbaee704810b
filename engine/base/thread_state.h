// What a thread carries with it, and what parallel_for hands on to its workers.
#pragma once

#include <cstdint>
#include <utility>

namespace gradus {

class Observer;   // engine/observer.h
class Generator;  // engine/base/random.h
class Scope;      // engine/observer.h
class Node;       // engine/node.h

struct ThreadState {
  bool grad_enabled = true;        // off: nothing is recorded (no_grad)
  bool formula = false;            // on: fused ops run as their formula (FormulaScope)
  bool parallel = false;           // inside parallel_for: further ones run serially
  Observer* observer = nullptr;    // is told about ops, scopes and gradients; null: none
  const Scope* scope = nullptr;    // the innermost layer that is running
  const Node* backward = nullptr;  // the node whose backward is running
  std::uint64_t operations = 0;    // that ran on this thread
  Generator* generator = nullptr;  // where random ops draw their stream; null: the global one
};

extern thread_local constinit ThreadState thread_state;

/// `variable` is `value` while this lives, and then what it was before.
template <class T>
struct ScopedValue {
  [[nodiscard]] ScopedValue(T& variable, T value)
      : variable_(variable), before_(std::exchange(variable, value)) {}
  ~ScopedValue() { variable_ = before_; }
  ScopedValue(ScopedValue&&) = delete;  // neither moved nor copied

 private:
  T& variable_;
  T before_;
};

/// Takes `item` out of the linked list that starts at `head`, wherever it is in it.
template <class T>
void unlink(T*& head, const T* item, T* T::*next) {
  for (T** at = &head; *at; at = &((*at)->*next))
    if (*at == item) {
      *at = item->*next;
      return;
    }
}

}  // namespace gradus
