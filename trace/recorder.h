#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gradus/engine/observer.h"
#include "gradus/trace/tape.h"
#include "gradus/trace/trace.h"

namespace gradus::trace {

/// The observer behind a Trace: writes events to a Tape.
class Recorder : public Observer {
 public:
  explicit Recorder(TraceOptions options);
  ~Recorder() override;

  void labels(const std::string& axis, std::vector<std::string> names);
  void clear();
  std::string title() const;
  std::string json();
  void write(const std::string& path);
  void heard(const std::string& error);

  void on_op_begin(const Op& op, std::span<const Tensor* const> inputs) override;
  void on_op_end(const Op& op, std::span<const Tensor* const> inputs, const Tensor& y) override;
  void on_scope_begin(const Scope& scope) override;
  void on_scope_end(const Scope& scope) noexcept override;
  void on_save(const Tensor& x) override;
  void on_walk_begin(std::span<const Tensor> outputs, bool create_graph) override;
  void on_grad_seed(const Node& output, const Tensor& dy) override;
  void on_hook(const Node& node, const Tensor& before, const Tensor& dy) override;
  void on_backward_begin(const Node& node, const Tensor& dy) override;
  void on_backward_end(const Node& node, const Gradients& dx) override;
  void on_grad_accumulate(const Node& node, std::size_t k, const Tensor& sum) override;
  void on_leaf_grad(const Node& leaf, const Tensor& dy) override;
  void on_leaf_accumulate(const Node& leaf, const Tensor& grad) override;
  void on_walk_end() noexcept override;
  void on_update_begin(const Update& update) override;
  void on_update_end(const Update& update) override;

 protected:
  bool on_ = true;
  Id step_ = 1;
  bool has_anything() const { return !tape_.ops.empty() || tape_.visits.size() > 0; }

 private:
  struct Open {  // a running op
    const Tensor* const* inputs;
    std::vector<Id> in, saved;
  };
  struct Visit {  // a running backward function
    Id id;
    std::vector<Id> contributions;
    std::vector<Json> parts;
  };
  struct Walk {
    Id id;
    std::size_t visits;  // number of backward functions running before this pass
    std::map<const Node*, std::pair<Id, std::size_t>> sums;  // latest sum, index in counts
  };
  struct Failure {
    std::string message;
    Id event, module;  // if later events exist, the exception was caught
    std::vector<Id> in;
    Id stack;
  };
  bool skips() const;
  Id module() const { return modules_.empty() ? kNone : modules_.back(); }
  Id visit() const { return visits_.empty() ? kNone : visits_.back().id; }
  Id walk() const { return walks_.empty() ? kNone : walks_.back().id; }
  Id gradient(const Tensor& dy) { return tape_.tensor(dy, "grad"); }
  void look_inside(const Op& op, Id id, const Shape& shape, const Tensor& dy);

  TraceOptions options_;
  Tape tape_;
  Id events_ = 0;
  bool updating_ = false;
  Failure failure_{};
  std::map<std::pair<std::string, std::string>, Id> module_ids_;
  std::vector<Id> modules_;  // open module scopes, innermost last
  std::map<std::uint64_t, Id> op_of_;
  std::vector<Open> open_;
  std::vector<Visit> visits_;            // running backward functions, innermost last
  Visit last_{};                         // the visit whose gradients are being accumulated
  std::vector<Walk> walks_;              // running backward passes, innermost last
  Id before_ = kNone, arrived_ = kNone;  // tape rows: .grad of the current leaf, dy
  std::map<std::string, Id> updating_from_;
  Recorder* outer_;
  ObserverScope scope_;
};

inline thread_local int pauses = 0;  // live ScopedPause objects

/// Returns the HTML page.
std::string page(const std::string& title, const std::string& json);
/// Returns the file name of the running program, or "" if unknown.
std::string program_name();

}  // namespace gradus::trace
