// The tape as one JSON text.
#include <algorithm>

#include "gradus/trace/tape.h"

namespace gradus::trace {
namespace {

constexpr std::size_t kLineBytes = 40;  // of the ledger, about
constexpr std::size_t kRowBytes = 56;   // of a tensor, about

}  // namespace

Id Tape::maker_id(Id tensor) const {
  return tensor == kNone ? kNone : makers_[static_cast<std::size_t>(tensor)];
}

const Tape::Op* Tape::maker(Id tensor) const {
  const Id op = maker_id(tensor);
  return op == kNone ? nullptr : &op_list[static_cast<std::size_t>(op)];
}

Id Tape::add_op(Op op, const Cells& cells) {
  if (op.out != kNone) {
    makers_[static_cast<std::size_t>(op.out)] = ops.size();
    Row& row = rows_[static_cast<std::size_t>(op.out)];
    if (row.kind == "saved" || row.kind == "input") row.kind = "result";
  }
  const Id id = ops.add(op.name, op.in, op.out, cells.module, cells.stack, cells.saved,
                        cells.within, cells.node);
  op.module = cells.module;
  op_list.push_back(std::move(op));
  note_product(id, cells.module);
  return id;
}

/// scores (+ bias, masked) → softmax (→ dropout) → product with the values.
void Tape::note_product(Id id, Id module) {
  const Op& product = op_list[static_cast<std::size_t>(id)];
  if (product.name != "weighted_sum" && product.name != "matmul") return;
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
  Attention found{
      softmax, module, {{"weights", weights}, {"scores", scores}, {"out", product.out}}};
  if (masked != scores) found.matrices["masked"] = masked;
  attention.push_back(std::move(found));
}

Tape::Attention& Tape::attention_of(Id op, Id module) {
  for (std::size_t i = attention.size(); i-- > 0;)
    if (attention[i].op == op) return attention[i];
  return attention.emplace_back(
      Attention{op, module, {{"out", op_list[static_cast<std::size_t>(op)].out}}});
}

Json Tape::labels_json() const {
  Json out{"{"};
  for (const auto& [axis, names] : labels) {
    put(out.text += out.text.size() > 1 ? "," : "", axis);
    put(out.text += ':', names);
  }
  return {out.text + "}"};
}

Json Tape::attention_json() const {
  std::vector<Json> all;
  for (const Attention& each : attention) {
    std::map<std::string, Id> has = each.matrices;
    if (each.op != kNone && op_list[static_cast<std::size_t>(each.op)].name == "softmax") {
      has["dweights"] = op_list[static_cast<std::size_t>(each.op)].dy;
      has["dscores"] = op_list[static_cast<std::size_t>(each.op)].dx;
    }
    const auto get = [&](const char* name) { return has.contains(name) ? has.at(name) : kNone; };
    all.push_back(object("op", each.op, "module", each.module, "scores", get("scores"), "masked",
                         get("masked"), "weights", get("weights"), "out", get("out"), "dweights",
                         get("dweights"), "dscores", get("dscores")));
  }
  std::string out;
  put(out, all);
  return {out};
}

Json Tape::meta(const std::string& title, const std::string& program, Id step) const {
  Id sampled = 0, bare = 0, empty = 0;
  for (const Values& each : values_) {
    sampled += each.has_pictures();
    bare += each.has_stats() && !each.has_pictures();
    empty += !each.has_any();
  }
  std::vector<std::string> all = notes;
  const auto note = [&](Id n, const char* what, const char* rest) {
    if (n > 0) all.push_back(std::to_string(n) + " " + what + (n == 1 ? " " : "s ") + rest);
  };
  note(folded_, "tensor", "in repeated blocks between the first and the last: statistics alone");
  note(sampled, "tensor", "of many numbers: statistics, a picture, the corners and a histogram");
  note(bare, "tensor", "with statistics alone");
  note(empty, "tensor", "without numbers: the page would be too large");
  note(inner_ops, "operation", "inside the backward of another: not listed");
  note(unseen_nodes, "backward step", "of what ran on another thread or before the trace began");
  note(late_ops, "operation", "after the limit of a trace: not listed");
  note(large_attention, "attention", "over long sequences: its matrices were not computed again");
  return object(
      "title", title, "program", program, "library", GRADUS_VERSION, "step", step, "omitted",
      object("folded", folded_, "sampled", sampled, "stats_only", bare, "no_values", empty,
             "inner_ops", inner_ops, "unseen_nodes", unseen_nodes, "ops_not_recorded", late_ops,
             "large_attention", large_attention),
      "limits", object("bytes", static_cast<Id>(most_bytes_), "full", kLevels[level_].all), "notes",
      all);
}

Json Tape::tensors_json(const std::vector<Id>& values) const {
  Table tensors{{"kind", "shape", "values", "dtype", "storage", "offset", "strides", "name"}};
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
  std::size_t structure = code.size() + rows_.size() * kRowBytes + ledger.size() * kLineBytes;
  for (const Table* each : {&ops, &modules, &visits, &hooks, &deposits, &updates})
    structure += each->bytes();
  fit(std::min(most_bytes_, kMostBytes - std::min(kMostBytes, structure)));
  std::vector<Id> index(values_.size(), kNone);
  std::vector<Json> values;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (std::string text = values_[i].json(); !text.empty()) {
      index[i] = std::ssize(values);
      values.push_back({std::move(text)});
    }
  }
  Table all_walks{{"outputs", "seeds", "within", "create_graph"}};
  for (const Walk& each : walks)
    all_walks.add(each.outputs, each.seeds, each.within, each.create_graph);
  Table lines{{"visit", "input", "to", "contribution", "before", "after", "k", "of", "part"}};
  for (const Added& each : ledger)
    lines.add(each.visit, each.input, each.to, each.contribution, each.before, each.after, each.k,
              counts[each.of], each.part);
  std::vector<std::string> names;
  for (const Op& op : op_list) names.push_back(op.name);
  std::string out =
      object("schema", "gradus-tape/1", "meta", meta(title, program, step), "failure", failure,
             "labels", labels_json(), "shapes", shapes_, "tensors", tensors_json(index), "ops",
             ops.json(), "modules", modules.json(), "walks", all_walks.json(), "visits",
             visits.json(), "ledger", lines.json(), "hooks", hooks.json(), "deposits",
             deposits.json(), "updates", updates.json(), "attention", attention_json(), "opdefs",
             definitions(names), "values", values)
          .text;
  out.back() = ',';
  return out + code + "}";
}

}  // namespace gradus::trace
