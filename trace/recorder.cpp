// Each event adds rows to the tape. Only the matrices inside attention are recomputed.
#include "gradus/trace/recorder.h"

#include <cstring>
#include <filesystem>
#include <string_view>

#include "gradus/engine/grad_mode.h"
#include "gradus/engine/node.h"
#include "gradus/io/output_file.h"
#include "gradus/nn/module.h"

namespace gradus::trace {
namespace {

constexpr std::int64_t kLongest = 1024;  // longest sequence with attention matrices
thread_local Recorder* innermost_recorder = nullptr;

/// RAII guard: disables observers and recording.
struct ScopedMute {
  ScopedValue<Observer*> no_observer{thread_state.observer, nullptr};
  NoGrad no_grad;
};

}  // namespace

Recorder::Recorder(TraceOptions options)
    : options_(std::move(options)),
      tape_(options_.most_bytes),
      outer_(innermost_recorder),
      scope_(*this) {
  innermost_recorder = this;
  on_error = [](const std::string& error) {
    if (innermost_recorder) innermost_recorder->heard(error);
  };
}

Recorder::~Recorder() { unlink(innermost_recorder, this, &Recorder::outer_); }

void Recorder::labels(const std::string& axis, std::vector<std::string> names) {
  tape_.labels[axis] = std::move(names);
}

void Recorder::clear() {
  Tape fresh(options_.most_bytes);
  fresh.labels = std::move(tape_.labels);
  fresh.keep_names_of(tape_);
  tape_ = std::move(fresh);
  module_ids_.clear();
  op_of_.clear();
  for (Id& each : modules_) each = kNone;
}

bool Recorder::skips() const { return !on_ || pauses > 0 || thread_state.parallel || updating_; }

void Recorder::on_op_begin(const Op&, std::span<const Tensor* const> inputs) {
  ++events_;
  if (skips()) return;
  Open open{inputs.data(), {}, {}};
  const bool listed = !thread_state.backward || GradMode::enabled();
  if (listed && std::ssize(tape_.ops) < options_.most_ops)
    for (const Tensor* x : inputs) open.in.push_back(tape_.tensor(*x, "input"));
  open_.push_back(std::move(open));
}

void Recorder::on_save(const Tensor& x) {
  if (!skips() && !open_.empty() && (!thread_state.backward || GradMode::enabled()))
    open_.back().saved.push_back(tape_.tensor(x, "saved"));
}

void Recorder::on_op_end(const Op& op, std::span<const Tensor* const> inputs, const Tensor& y) {
  if (skips()) return;
  Open open{};  // initialized, because garbage could equal inputs.data()
  while (!open_.empty() && open.inputs != inputs.data()) {  // ops that threw have no end event
    open = std::move(open_.back());
    open_.pop_back();
  }
  if (thread_state.backward && !GradMode::enabled()) return void(++tape_.inner_ops);
  if (std::ssize(tape_.ops) >= options_.most_ops) return void(++tape_.late_ops);
  const Id node = y.node() ? static_cast<Id>(y.node()->id) : kNone;
  const Id id = tape_.add_op({op.name(), open.in, tape_.tensor(y, "result"), module(),
                              tape_.places.here(), open.saved, visit(), node});
  if (y.node()) op_of_[y.node()->id] = id;
  look_inside(op, id, y.shape(), {});
}

/// Records the matrices inside fused attention, forward or (with dy) backward, unless they are much
/// larger than the op's data.
void Recorder::look_inside(const Op& op, Id id, const Shape& shape, const Tensor& dy) {
  const std::string_view name = op.name();
  if (name != "packed_attention" && name != "attention") return;
  if (shape.rank() > 1 && shape[shape.rank() - 2] > kLongest)
    return void(tape_.large_attention += dy.defined() ? 0 : 1);
  Tape::Attention& found = tape_.attention_of(id);
  try {
    const ScopedMute quiet;
    for (const auto& [what, matrix] : op.intermediates(dy)) tape_.add_matrix(found, what, matrix);
  } catch (const Error&) {  // a saved tensor was modified; backward will throw
  }
}

void Recorder::on_scope_begin(const Scope& scope) {
  ++events_;
  if (skips()) return;
  const auto* model = dynamic_cast<const nn::Module*>(&scope.owner());
  if (!scope.outer() && model)
    for (const nn::NamedTensor& each : model->parameters()) tape_.name(each.tensor, each.name);
  const std::string path = scope.path(), type = scope.owner().type_name();
  const auto [at, is_new] = module_ids_.try_emplace({path, type}, std::ssize(tape_.modules));
  if (is_new) tape_.add_module({path, type, module()});
  modules_.push_back(tape_.layer = at->second);
}

void Recorder::on_scope_end(const Scope&) noexcept {
  if (skips() || modules_.empty()) return;
  modules_.pop_back();
  tape_.layer = module();
}

void Recorder::on_walk_begin(std::span<const Tensor> outputs, bool create_graph) {
  if (skips()) return;
  Tape::Walk walk{{}, {}, visit(), create_graph};
  for (const Tensor& y : outputs) walk.outputs.push_back(tape_.tensor(y, "input"));
  walks_.push_back({std::ssize(tape_.walks), visits_.size(), {}});
  tape_.walks.push_back(std::move(walk));
}

void Recorder::on_walk_end() noexcept {
  if (skips() || walks_.empty()) return;
  tape_.layer = module();
  visits_.resize(walks_.back().visits);  // drops the visits of a pass that threw
  walks_.pop_back();
}

void Recorder::on_grad_seed(const Node& output, const Tensor& dy) {
  if (skips() || walks_.empty()) return;
  const Id row = gradient(dy);
  tape_.walks[static_cast<std::size_t>(walk())].seeds.push_back(row);
  walks_.back().sums[&output] = {row, tape_.counts.size()};
  tape_.counts.push_back(0);
}

void Recorder::on_hook(const Node& node, const Tensor& before, const Tensor& dy) {
  if (skips() || walks_.empty()) return;
  tape_.hooks.add(tape_.made_by(node.id), walk(), gradient(before), gradient(dy));
}

void Recorder::on_backward_begin(const Node& node, const Tensor& dy) {
  ++events_;
  if (skips() || walks_.empty()) return;
  const auto at = op_of_.find(node.id);
  const Id op = at == op_of_.end() ? kNone : at->second;
  tape_.layer = op == kNone ? kNone : tape_.ops[static_cast<std::size_t>(op)].module;
  const Id row = gradient(dy);
  visits_.push_back({tape_.visits.add(op, walk(), row, node.name()), {}, {}});
  if (op == kNone) return void(++tape_.unseen_nodes);
  tape_.ops[static_cast<std::size_t>(op)].dy = row;
  if (node.op) look_inside(*node.op, op, node.shape, dy);
}

void Recorder::on_backward_end(const Node& node, const Gradients& dx) {
  if (skips() || visits_.empty()) return;
  last_ = std::move(visits_.back());
  visits_.pop_back();
  last_.contributions.assign(dx.size(), kNone);
  last_.parts.assign(dx.size(), {"null"});
  for (std::size_t k = 0; k < dx.size(); ++k) {
    last_.contributions[k] = gradient(dx[k].part());
    if (dx[k].is_whole()) continue;
    const Gradient::Region& region = dx[k].region();
    last_.parts[k].text.clear();
    if (region.index.defined())
      put(last_.parts[k].text,
          std::vector<Json>{{"\"rows\""}, {std::to_string(tape_.tensor(region.index, "input"))}});
    else
      put(last_.parts[k].text, std::vector<Id>{region.axis, region.start, region.step});
  }
  const auto at = op_of_.find(node.id);
  if (at != op_of_.end())
    tape_.ops[static_cast<std::size_t>(at->second)].dx = last_.contributions[0];
}

void Recorder::on_grad_accumulate(const Node& node, std::size_t k, const Tensor& sum) {
  if (skips() || walks_.empty() || k >= last_.contributions.size()) return;
  const Node* input = node.inputs[k].get();
  const auto [at, is_new] = walks_.back().sums.try_emplace(input, kNone, tape_.counts.size());
  if (is_new) tape_.counts.push_back(0);
  auto& [now, count] = at->second;
  const Id before = std::exchange(now, gradient(sum));
  tape_.ledger.push_back({last_.id, static_cast<Id>(k), tape_.made_by(input->id),
                          last_.contributions[k], before, now, ++tape_.counts[count], count,
                          last_.parts[k]});
}

void Recorder::on_leaf_grad(const Node& leaf, const Tensor& dy) {
  if (skips()) return;
  before_ = gradient(leaf.extra_or_null()->grad);
  arrived_ = gradient(dy);
}

void Recorder::on_leaf_accumulate(const Node& leaf, const Tensor& grad) {
  if (!skips())
    tape_.deposits.add(tape_.made_by(leaf.id), walk(), arrived_, before_, gradient(grad));
}

void Recorder::on_update_begin(const Update& update) {
  if (skips() && !updating_) return;
  tape_.name(update.parameter, update.name);
  updating_from_[update.name] = tape_.tensor(update.parameter, "param");
  updating_ = true;
}

void Recorder::on_update_end(const Update& update) {
  const auto from = updating_from_.find(update.name);
  updating_ = false;
  if (skips() || from == updating_from_.end()) return;
  tape_.updates.add(update.name, from->second, tape_.tensor(update.parameter, "param"),
                    gradient(update.parameter.grad()), update.rate, update.optimizer);
  updating_from_.erase(from);
}

void Recorder::heard(const std::string& error) {
  if (skips()) return;
  failure_ = {error, events_, module(), open_.empty() ? std::vector<Id>{} : open_.back().in,
              tape_.places.here()};
}

std::string Recorder::json() {
  const bool failed = !failure_.message.empty() && failure_.event == events_;
  const std::string op = failure_.message.substr(0, failure_.message.find(':'));
  tape_.failure = failed ? object("op", op, "in", failure_.in, "module", failure_.module, "stack",
                                  failure_.stack, "message", failure_.message)
                         : Json{"null"};
  return tape_.json(title(), program_name(), step_);
}

std::string Recorder::title() const {
  if (!options_.title.empty()) return options_.title;
  return std::filesystem::path(program_name()).filename();
}

void Recorder::write(const std::string& path) {
  const std::string html = page(title(), json());
  std::error_code none;
  if (!std::filesystem::exists(path, none) || std::filesystem::is_regular_file(path, none))
    return io::write_file_atomically(path, html.data(), html.size());
  io::OutputFile device;  // a pipe or /dev/stdout cannot be replaced
  int cause = device.open(path);
  if (cause == 0) cause = device.write(html.data(), html.size());
  require<FileError>(cause == 0, "cannot write ", path, ": ", std::strerror(cause));
}

std::string program_name() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).string();
}

}  // namespace gradus::trace

namespace gradus {

Trace::Trace(TraceOptions options)
    : recorder_(std::make_unique<trace::Recorder>(std::move(options))) {}
Trace::~Trace() = default;

void Trace::labels(const std::string& axis, std::vector<std::string> names) {
  recorder_->labels(axis, std::move(names));
}
void Trace::write(const std::string& path) { recorder_->write(path); }
std::string Trace::json() { return recorder_->json(); }
void Trace::clear() { recorder_->clear(); }

ScopedPause::ScopedPause() { ++trace::pauses; }
ScopedPause::~ScopedPause() { --trace::pauses; }

}  // namespace gradus
