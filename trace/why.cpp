// A leaf is reached if it is in the graph of x. The events of a Watch show where other paths end.
#include "gradus/trace/why.h"
#include "gradus/engine/grad_mode.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>

#include "gradus/io/text.h"
#include "gradus/trace/recorded.h"
#include "gradus/trace/watch.h"

namespace gradus {
namespace trace {
namespace {

constexpr std::size_t kMost = 40;     // lines of output
constexpr std::size_t kMostEnds = 3;  // path ends per parameter

constexpr const char* kMayBe =
    "the graph does not record what ran under NoGrad, was detached (detach(), clone(), astype(), "
    "view()), went through a result without a gradient (argmax, a comparison), or was not used at "
    "all. Run the forward under a trace::Watch and call why() again to see the operation.";

/// Returns "multiply in Tiny up".
std::string place(const Watch& watch, const Watch::Event& event) {
  const std::string layer = watch.layer(event).text();
  return event.op + (layer.empty() ? "" : " in " + layer);
}

/// Finds where the paths from a leaf end, according to the Watch.
class Ends {
 public:
  explicit Ends(const Watch& watch) : watch_(watch) {
    for (const Watch::Event& event : watch.events())
      for (const Watch::Input& input : event.inputs) {
        for (const std::uint64_t node : {input.node, input.numbers}) users_[node].push_back(&event);
        if (const std::shared_ptr<Storage> numbers = input.unknown.lock())
          readers_[numbers.get()].push_back(&event);
      }
  }

  std::string of(const Tensor& leaf) {
    found_.clear();
    for (const Watch::Event* event : readers_[leaf.storage().get()]) add(detached(*event));
    const std::uint64_t first = leaf.node()->id;
    if (!users_.contains(first) && found_.empty()) return "no operation used it during the watch";
    std::set<std::uint64_t> seen{first};
    std::deque<std::uint64_t> queue{first};
    for (; !queue.empty() && found_.size() < kMostEnds; queue.pop_front()) {
      const auto users = users_.find(queue.front());
      if (users == users_.end()) {
        if (const Watch::Event* last = watch_.of(queue.front()))
          add("no operation used the result of " + place(watch_, *last) +
              ", or its values were copied out of the graph");
        continue;
      }
      for (const Watch::Event* event : users->second)
        if (const std::uint64_t next = step(queue.front(), *event);
            next && seen.insert(next).second)
          queue.push_back(next);
    }
    std::string out;
    for (const std::string& each : found_) out += (out.empty() ? "" : "; ") + each;
    return out;
  }

 private:
  /// Returns the next node on the path, or 0, with a reason, if the path ends.
  std::uint64_t step(std::uint64_t node, const Watch::Event& event) {
    const auto wanted = [node](const Watch::Input& in) { return in.node == node && in.wanted; };
    const auto copied = [node](const Watch::Input& in) { return in.numbers == node; };
    const std::vector<Watch::Input>& inputs = event.inputs;
    if (std::any_of(inputs.begin(), inputs.end(), wanted)) {
      if (event.node) return event.node;
      add(event.recording ? str_cat("the result of ", place(watch_, event), " is ", event.dtype,
                                    ", which has no gradient")
                          : place(watch_, event) + " ran under NoGrad");
    } else {
      add(std::any_of(inputs.begin(), inputs.end(), copied)
              ? detached(event)
              : "it was frozen when " + place(watch_, event) + " used it");
    }
    return 0;
  }

  std::string detached(const Watch::Event& event) const {
    return "it was detached before " + place(watch_, event);
  }

  void add(const std::string& reason) {
    if (std::find(found_.begin(), found_.end(), reason) == found_.end()) found_.push_back(reason);
  }

  const Watch& watch_;
  std::unordered_map<std::uint64_t, std::vector<const Watch::Event*>> users_;
  std::unordered_map<const Storage*, std::vector<const Watch::Event*>> readers_;
  std::vector<std::string> found_;
};

struct Reach {
  std::vector<const Node*> leaves, frozen;  // oldest first
  std::vector<const Node*> used;            // used leaves whose graph backward() freed
  std::set<const Node*> wanted;

  explicit Reach(const Tensor& x) {
    const std::vector<const Node*> nodes = nodes_behind(x);
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if ((*node)->used) used.push_back(*node);
      if (!(*node)->op_name) ((*node)->requires_grad ? leaves : frozen).push_back(*node);
    }
    wanted.insert(leaves.begin(), leaves.end());
  }
  /// True if the parameter is reached, or was probably reached by an earlier backward().
  bool has(const Tensor& parameter) const {
    return wanted.contains(parameter.node().get()) ||
           (!used.empty() && parameter.requires_grad() && parameter.grad().defined());
  }
};

std::string listed(const char* head, const std::vector<std::string>& lines) {
  std::string out;
  for (std::size_t i = 0; i < std::min(lines.size(), kMost); ++i)
    out += std::string("  ") + head + "  " + lines[i] + "\n";
  if (lines.size() > kMost)
    out += "  … and " + io::grouped(static_cast<std::int64_t>(lines.size() - kMost)) + " more\n";
  return out;
}

std::string nothing_behind(const Tensor& x) {
  if (!is_float(x.dtype()))
    return str_cat("only f32 and f64 tensors have gradients, but this one is ", x.dtype());
  const Watch* watch = Watch::current();
  if (const Watch::Event* maker = watch ? watch->maker_of(x) : nullptr) {
    if (maker->node) return "detached: its values are the result of " + place(*watch, *maker);
    if (!maker->recording) return place(*watch, *maker) + " computed it under NoGrad";
    return place(*watch, *maker) + " computed it, but none of its inputs requires a gradient";
  }
  return std::string(
             "computed only from constants, under NoGrad, or detached (detach(), clone(), "
             "astype(), view())") +
         (GradMode::enabled() ? "" : "; a NoGrad is active on this thread");
}

std::string head(const Tensor& x, const Reach& reach) {
  if (!x.node())
    return str_cat("this tensor ", x.shape(), " has no graph: ", nothing_behind(x), "\n");
  std::string out = str_cat("#", x.node()->id, " ", x.node()->name(), " ", x.shape(), " reaches ",
                            reach.leaves.size(), reach.leaves.size() == 1 ? " leaf" : " leaves",
                            reach.used.empty() ? "\n" : " that are still known\n");
  std::vector<std::string> used;
  for (const Node* node : reach.used)
    used.push_back(str_cat("#", node->id, " ", node->name(),
                           ": an earlier backward released its inputs, which are no longer known"));
  return out + listed("released    ", used);
}

std::string describe(const Node& leaf) { return str_cat("leaf #", leaf.id, " ", leaf.shape); }

std::vector<Unreached> beyond(const Reach& reach, const nn::Module& model) {
  std::vector<Unreached> out;
  std::optional<Ends> ends;  // created on demand
  for (const nn::NamedTensor& each : model.parameters()) {
    if (reach.has(each.tensor)) continue;
    const bool frozen = !each.tensor.requires_grad();
    if (!frozen && !ends && Watch::current()) ends.emplace(*Watch::current());
    out.push_back(
        {each.name, each.tensor.shape(), frozen, !frozen && ends ? ends->of(each.tensor) : ""});
  }
  return out;
}

std::string why(const Tensor& x, const nn::Module* model) {
  if (!x.defined()) return "an undefined tensor\n";
  const Reach reach(x);
  const Parameters parameters(model);
  std::vector<std::string> reached, others;
  for (const nn::NamedTensor& each : parameters.all())
    if (reach.has(each.tensor))
      reached.push_back(str_cat(each.name, " ", each.tensor.shape(),
                                reach.wanted.contains(each.tensor.node().get())
                                    ? ""
                                    : ": has a gradient from this backward or an earlier one"));
  for (const Node* leaf : reach.leaves)
    if (!parameters.of(*leaf))
      reached.push_back(describe(*leaf) + (model ? ", not in the model" : ""));
  const std::string out = head(x, reach) + listed("reached     ", reached);
  if (!model) {
    for (const Node* leaf : reach.frozen) others.push_back(describe(*leaf));
    return out + listed("frozen      ", others);
  }
  bool guess = false;
  for (const Unreached& each : beyond(reach, *model)) {
    const std::string reason =
        each.frozen ? "frozen; call requires_grad_(true) or freeze(false)" : each.ended_at;
    guess = guess || reason.empty();
    others.push_back(str_cat(each.name, " ", each.shape, reason.empty() ? "" : ": ", reason));
  }
  return out + listed("not reached ", others) +
         (guess ? std::string("reason: ") + kMayBe + "\n" : "");
}

}  // namespace

std::string Watch::path_end(const Tensor& leaf) const {
  return leaf.node() ? Ends(*this).of(leaf) : "";
}

std::vector<Unreached> unreached(const Tensor& x, const nn::Module& model) {
  return beyond(Reach(x), model);
}

}  // namespace trace

std::string why(const Tensor& x) { return trace::why(x, nullptr); }

std::string why(const Tensor& x, const nn::Module& model) { return trace::why(x, &model); }

}  // namespace gradus
