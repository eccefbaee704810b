#include "gradus/trace/dot.h"

#include <algorithm>
#include <map>
#include <set>

#include "gradus/io/pieces.h"
#include "gradus/io/text.h"
#include "gradus/trace/recorded.h"
#include "gradus/trace/watch.h"

namespace gradus {
namespace trace {
namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "\"";
}

/// Splits a layer's path: Tiny, blocks, 0, attention.
std::vector<std::string> parts_of(const Watch::Layer& layer) {
  std::vector<std::string> parts = io::split_text(layer.path, '.');
  if (!layer.model.empty()) parts.insert(parts.begin(), layer.model);
  return parts;
}

struct Cluster {
  std::vector<const Node*> nodes;
  std::map<std::string, Cluster> inner;
};

class Drawing {
 public:
  Drawing(const std::vector<const Node*>& nodes, const nn::Module* model, std::size_t most)
      : parameters_(model), left_out_(nodes.size() - std::min(most, nodes.size())) {
    nodes_.assign(nodes.begin(), nodes.end() - static_cast<std::ptrdiff_t>(left_out_));
    drawn_.insert(nodes_.begin(), nodes_.end());
  }

  std::string str() {
    Cluster whole;
    for (const Node* node : nodes_) {
      Cluster* at = &whole;
      const Watch* watch = Watch::current();
      if (const Watch::Event* event = watch ? watch->of(node->id) : nullptr)
        for (const std::string& part : parts_of(watch->layer(*event))) at = &at->inner[part];
      at->nodes.push_back(node);
    }
    out_ = "digraph gradus {\n  rankdir=BT;\n  node [shape=ellipse, fontname=\"sans-serif\"];\n";
    write(whole, 1);
    for (const Node* node : nodes_) write_edges(*node);
    if (left_out_ > 0)
      out_ += "  older [shape=note, label=" +
              quoted("… " + io::grouped(static_cast<std::int64_t>(left_out_)) +
                     " older nodes are not drawn") +
              "];\n";
    return out_ + "}\n";
  }

 private:
  void write(const Cluster& cluster, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    for (const Node* node : cluster.nodes) out_ += indent + declaration(*node);
    for (const auto& [name, inner] : cluster.inner) {
      out_ += indent + str_cat("subgraph cluster_", ++clusters_, " {\n") + indent +
              "  label=" + quoted(name) + ";\n";
      write(inner, depth + 1);
      out_ += indent + "}\n";
    }
  }

  std::string declaration(const Node& node) const {
    const nn::NamedTensor* named = parameters_.of(node);
    const std::string name = named ? named->name : node.name();
    std::string style = node.op_name ? "" : ", shape=box";
    if (!node.requires_grad) style += ", style=dashed";
    if (node.used) style += ", color=gray";
    return str_cat("n", node.id, " [label=", quoted(str_cat(name, " #", node.id, " ", node.shape)),
                   style, "];\n");
  }

  /// Writes one edge per use: x·x has two edges.
  void write_edges(const Node& node) {
    for (const auto& input : node.inputs) {
      if (!input) continue;
      const bool there = drawn_.contains(input.get());
      const std::string from = there ? str_cat("n", input->id) : "older";
      out_ +=
          str_cat("  ", from, " -> n", node.id, " [label=", quoted(str_cat(input->shape)), "];\n");
    }
  }

  Parameters parameters_;
  std::size_t left_out_;
  std::vector<const Node*> nodes_;
  std::set<const Node*> drawn_;
  std::string out_;
  int clusters_ = 0;
};

}  // namespace
}  // namespace trace

std::string to_dot(const Tensor& x, std::size_t most) {
  return trace::Drawing(trace::nodes_behind(x), nullptr, most).str();
}

std::string to_dot(const Tensor& x, const nn::Module& model, std::size_t most) {
  return trace::Drawing(trace::nodes_behind(x), &model, most).str();
}

}  // namespace gradus
