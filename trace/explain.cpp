// in_order() sorts the lines and Writer formats them, both without recursion.
#include "gradus/trace/explain.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "gradus/io/text.h"
#include "gradus/trace/recorded.h"
#include "gradus/trace/watch.h"

namespace gradus {
namespace trace {
namespace {

constexpr std::size_t kEnds = 3;      // lines at each end of a long chain
constexpr std::size_t kDeepest = 12;  // maximum number of │ bars; deeper lines state their depth
constexpr std::size_t kWidest = 48;   // columns of the formula

struct Line {
  const Node* node;
  std::size_t depth;
  bool link;  // the only child of the previous line
};

/// Orders nodes so that each follows its last use.
std::vector<Line> in_order(const std::vector<const Node*>& nodes) {
  std::unordered_map<const Node*, std::size_t> users;  // pending users per node
  for (const Node* node : nodes)
    for (const Node* input : inputs_of(*node)) ++users[input];
  std::vector<Line> order, stack{{nodes.front(), 0, false}};
  while (!stack.empty()) {
    const Line line = stack.back();
    stack.pop_back();
    order.push_back(line);
    std::vector<const Node*> ready;
    for (const Node* input : inputs_of(*line.node))
      if (--users[input] == 0) ready.push_back(input);
    // Leaves first, then the newest ops. The oldest op continues at this depth.
    std::stable_partition(ready.begin(), ready.end(), [](const Node* n) { return !n->op_name; });
    for (std::size_t i = ready.size(); i-- > 0;) {
      const bool goes_on = i + 1 == ready.size() && ready[i]->op_name;
      stack.push_back({ready[i], line.depth + (goes_on ? 0 : 1), goes_on && i == 0});
    }
  }
  return order;
}

/// Returns "linear(#6, #3, constant)", "leaf" or "leaf down.weight".
std::string formula(const Node& node, const Parameters& parameters) {
  if (!node.op_name) {
    const nn::NamedTensor* named = parameters.of(node);
    return std::string(node.requires_grad ? "leaf" : "frozen leaf") +
           (named ? " " + named->name : "");
  }
  std::string out = std::string(node.name()) + "(";
  if (node.used) return out + "…), released by backward";
  bool first = true;
  for (const auto& input : node.inputs) {
    if (!std::exchange(first, false)) out += ", ";
    out += input ? "#" + std::to_string(input->id) : "constant";
  }
  return out + ")";
}

class Writer {
 public:
  Writer(const Tensor& x, const Parameters& parameters) : x_(x), parameters_(parameters) {}

  void line(const Line& line) {
    const Node& node = *line.node;
    const Watch* watch = Watch::current();
    const Watch::Event* event = watch ? watch->of(node.id) : nullptr;
    std::string values;
    if (x_.node().get() == &node)
      values = to_string(range_of(x_));
    else if (const nn::NamedTensor* named = parameters_.of(node))
      values = to_string(range_of(named->tensor));
    else if (event)
      values = to_string(event->range);
    const Node::Extra* extra = node.extra_or_null();
    if (extra && extra->grad.defined())
      values +=
          (values.empty() ? "" : "  ") + str_cat("gradient ", to_string(range_of(extra->grad)));
    rows_.push_back(
        {bars(line.depth) + "#" + std::to_string(node.id) + " " + formula(node, parameters_),
         str_cat(node.shape), values, event ? watch->layer(*event).text() : ""});
  }

  void note(std::size_t depth, const std::string& what) {
    rows_.push_back({bars(depth) + "… " + what, "", "", ""});
  }

  std::size_t lines() const { return rows_.size(); }

  std::string str() const {
    std::size_t widths[3] = {};
    for (const Row& row : rows_) {
      widths[0] = std::max(widths[0], std::min(kWidest, columns(row.formula)));
      widths[1] = std::max(widths[1], columns(row.shape));
      widths[2] = std::max(widths[2], columns(row.values));
    }
    std::string out;
    for (const Row& row : rows_) {
      std::string one = padded(row.formula, widths[0]) + "  " + padded(row.shape, widths[1]) +
                        "  " + padded(row.values, widths[2]) + "  " + row.layer;
      one.erase(one.find_last_not_of(' ') + 1);
      out += one + "\n";
    }
    return out;
  }

 private:
  struct Row {
    std::string formula, shape, values, layer;
  };

  static std::string bars(std::size_t depth) {
    std::string out;
    for (std::size_t i = 0; i < std::min(depth, kDeepest); ++i) out += "│ ";
    return depth > kDeepest ? out + "(depth " + std::to_string(depth) + ") " : out;
  }
  static std::size_t columns(const std::string& s) {
    return static_cast<std::size_t>(io::count_characters(s));
  }
  static std::string padded(const std::string& s, std::size_t width) {
    const std::size_t has = columns(s);
    return has < width ? s + std::string(width - has, ' ') : s;
  }

  const Tensor& x_;
  const Parameters& parameters_;
  std::vector<Row> rows_;
};

/// Returns "999,994 nodes: 499,997 add, 499,997 multiply", most frequent first.
std::string tally(const Line* begin, const Line* end) {
  std::map<std::string, std::int64_t> counts;
  for (const Line* line = begin; line != end; ++line) ++counts[line->node->name()];
  std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out = io::grouped(end - begin) + " nodes: ";
  for (std::size_t i = 0; i < sorted.size() && i < 6; ++i)
    out += (i == 0 ? "" : ", ") + io::grouped(sorted[i].second) + " " + sorted[i].first;
  return out + (sorted.size() > 6 ? ", …" : "");
}

/// Shortens long chains. If there are too many lines, keeps the oldest quarter.
void write_lines(const std::vector<Line>& order, std::size_t lines, Writer& writer) {
  const std::size_t size = order.size(), tail = lines / 4;
  const auto write = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) writer.line(order[i]);
  };
  const auto skip = [&](std::size_t begin, std::size_t end, std::size_t depth) {
    writer.note(depth, tally(order.data() + begin, order.data() + end));
  };
  for (std::size_t i = 0, end; i < size; i = end) {
    if (writer.lines() + tail >= lines && size - i > tail + 1) {
      skip(i, size - tail, 0);
      return write(size - tail, size);
    }
    end = i + 1;  // a chain of nodes that are only children
    while (end < size && order[end].link) ++end;
    if (end - i > 2 * kEnds + 2) {
      write(i, i + kEnds);
      skip(i + kEnds, end - kEnds, order[i].depth);
      write(end - kEnds, end);
    } else {
      write(i, end = i + 1);
    }
  }
}

std::string explain(const Tensor& x, const nn::Module* model, std::size_t lines) {
  if (!x.defined()) return "an undefined tensor\n";
  if (!x.node())
    return str_cat("a tensor ", x.shape(), " of ", x.dtype(), ", ", to_string(range_of(x)),
                   ", without a graph (why(x) gives the reason)\n");
  const Parameters parameters(model);
  Writer writer(x, parameters);
  write_lines(in_order(nodes_behind(x)), lines, writer);
  return writer.str();
}

}  // namespace
}  // namespace trace

std::string explain(const Tensor& x, std::size_t lines) {
  return trace::explain(x, nullptr, lines);
}

std::string explain(const Tensor& x, const nn::Module& model, std::size_t lines) {
  return trace::explain(x, &model, lines);
}

}  // namespace gradus
