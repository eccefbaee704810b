// Writes a tape as one JSON object.
#include <algorithm>
#include <set>

#include "gradus/engine/base/version.h"
#include "gradus/trace/tape.h"

namespace gradus::trace {
namespace {

constexpr std::size_t kLineBytes = 40;  // approximate bytes of an entry of Tape::ledger
constexpr std::size_t kRowBytes = 56;   // approximate bytes of a tensor's row

}  // namespace

Id Tape::maker_id(Id tensor) const {
  return tensor == kNone ? kNone : rows_[static_cast<std::size_t>(tensor)].maker;
}

const Tape::Op* Tape::maker(Id tensor) const {
  const Id op = maker_id(tensor);
  return op == kNone ? nullptr : &ops[static_cast<std::size_t>(op)];
}

Id Tape::add_op(Op op) {
  if (op.out != kNone) {
    Row& row = rows_[static_cast<std::size_t>(op.out)];
    row.maker = std::ssize(ops);
    if (row.kind == "saved" || row.kind == "input") row.kind = "result";
  }
  ops.push_back(std::move(op));
  note_product(ops.back());
  return std::ssize(ops) - 1;
}

/// Finds unfused attention: scores (+ bias, masked) → softmax (→ dropout) → matmul.
void Tape::note_product(const Op& product) {
  if (product.name != "matmul") return;
  const auto is = [&](Id tensor, std::initializer_list<const char*> names) {
    const Op* made = maker(tensor);
    return made && std::find(names.begin(), names.end(), made->name) != names.end();
  };
  Id weights = product.in[0];
  if (is(weights, {"multiply", "dropout"})) weights = maker(weights)->in[0];
  if (!is(weights, {"softmax"})) return;
  const Id softmax = maker_id(weights), masked = maker(weights)->in[0];
  Id scores = masked;
  while (is(scores, {"masked_fill", "add"})) scores = maker(scores)->in[0];
  Attention& found = attention_of(softmax);
  found.insert({{"weights", weights}, {"scores", scores}});
  found["out"] = product.out;
  if (masked != scores) found["masked"] = masked;
}

Tape::Attention& Tape::attention_of(Id op) {
  for (std::size_t i = attention.size(); i-- > 0;)
    if (attention[i].at("op") == op) return attention[i];
  const Op& it = ops[static_cast<std::size_t>(op)];
  return attention.emplace_back(Attention{{"op", op}, {"module", it.module}, {"out", it.out}});
}

Json Tape::meta(const std::string& title, const std::string& program, Id step) const {
  Id sampled = 0, bare = 0, empty = 0;
  for (const KeptValues& each : values_) {
    sampled += each.has_pictures();
    bare += each.has_stats() && !each.has_pictures();
    empty += !each.has_any();
  }
  std::vector<std::string> all;
  const auto note = [&](Id n, const char* what, const char* rest) {
    if (n > 0) all.push_back(std::to_string(n) + " " + what + (n == 1 ? " " : "s ") + rest);
  };
  note(folded_, "tensor", "in repeated blocks between the first and the last: only statistics");
  note(sampled, "tensor",
       "with many values: only statistics, a picture, the corners and a histogram");
  note(bare, "tensor", "with only statistics");
  note(empty, "tensor", "without values: the page would be too large");
  note(inner_ops, "operation", "inside the backward of another one: not listed");
  note(unseen_nodes, "backward step", "of operations on another thread or from before the trace");
  note(late_ops, "operation", "beyond the limit of a trace: not listed");
  note(large_attention, "attention", "over long sequences: its matrices were not recomputed");
  return object("title", title, "program", program, "library", version(), "step", step, "omitted",
                object("folded", folded_, "sampled", sampled, "stats_only", bare, "no_values",
                       empty, "inner_ops", inner_ops, "unseen_nodes", unseen_nodes,
                       "ops_not_recorded", late_ops, "large_attention", large_attention),
                "limits",
                object("bytes", static_cast<Id>(most_bytes_), "full", kLevels[level_].all), "notes",
                all);
}

Json Tape::tensors_json(const std::vector<Id>& values) const {
  JsonTable tensors{{"kind", "shape", "values", "dtype", "storage", "offset", "strides", "name"}};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    Json name{"null"};
    if (!row.name.empty()) put(name.text = {}, row.name);
    tensors.add(row.kind, row.shape, values[i], row.dtype, row.storage, row.offset, row.strides,
                name);
  }
  return tensors.json();
}

std::string Tape::json(const std::string& title, const std::string& program, Id step) {
  const std::string code = places.json();
  JsonTable all_ops{{"op", "in", "out", "module", "stack", "saved", "within", "node"}};
  for (const Op& each : ops)
    all_ops.add(each.name, each.in, each.out, each.module, each.stack, each.saved, each.within,
                each.node);
  JsonTable all_modules{{"path", "type", "parent"}};
  for (const Module& each : modules) all_modules.add(each.path, each.type, each.parent);
  std::size_t structure = code.size() + rows_.size() * kRowBytes + ledger.size() * kLineBytes;
  for (const JsonTable* each : {&all_ops, &all_modules, &visits, &hooks, &deposits, &updates})
    structure += each->bytes();
  fit(std::min(most_bytes_, kMostBytes - std::min(kMostBytes, structure)));
  std::vector<Id> index(values_.size(), kNone);
  std::vector<Json> values;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (std::string text = values_[i].json(); !text.empty()) {
      index[i] = std::ssize(values);
      values.push_back({std::move(text)});
    }
  JsonTable all_walks{{"outputs", "seeds", "within", "create_graph"}};
  for (const Walk& each : walks)
    all_walks.add(each.outputs, each.seeds, each.within, each.create_graph);
  JsonTable lines{{"visit", "input", "to", "contribution", "before", "after", "k", "of", "part"}};
  for (const Added& each : ledger)
    lines.add(each.visit, each.input, each.to, each.contribution, each.before, each.after, each.k,
              counts[each.of], each.part);
  std::set<std::string> names;
  for (const Op& each : ops) names.insert(each.name);
  for (Attention& each : attention)
    if (const Id op = each.at("op");
        op != kNone && ops[static_cast<std::size_t>(op)].name == "softmax") {
      each["dweights"] = ops[static_cast<std::size_t>(op)].dy;
      each["dscores"] = ops[static_cast<std::size_t>(op)].dx;
    }
  std::string out =
      object("schema", "gradus-tape/1", "meta", meta(title, program, step), "failure", failure,
             "labels", labels, "shapes", shapes_, "tensors", tensors_json(index), "ops",
             all_ops.json(), "modules", all_modules.json(), "walks", all_walks.json(), "visits",
             visits.json(), "ledger", lines.json(), "hooks", hooks.json(), "deposits",
             deposits.json(), "updates", updates.json(), "attention", attention, "opdefs",
             definitions(names), "values", values)
          .text;
  out.back() = ',';
  return out + code + "}";
}

}  // namespace gradus::trace
