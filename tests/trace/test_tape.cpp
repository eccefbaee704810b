// The tape by hand: which tensors are the same row, and what is left of their numbers where a page
// may have few bytes.
#include "gradus/trace/tape.h"

#include "gradus/engine/node.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/golden.h"
#include "gradus/tests/trace/tape_text.h"

namespace gradus::testing {
namespace {

using trace::Id;
using trace::kNone;
using trace::Tape;

constexpr std::size_t kPlenty = 4'000'000;

std::string text_of(Tape& tape) {
  const NoPrograms quick;
  return tape_text(tape.json("t", "p", 3)) + "\n";
}

/// How much of each row's numbers is there: a all, p a picture, s statistics, - nothing.
std::string kept(Tape& tape) {
  const NoPrograms quick;
  const ReadTape read(tape.json("t", "p", 1));
  std::string out;
  for (std::size_t i = 0; i < read.count("tensors"); ++i) {
    const Json value = read.at("tensors", i, "values");
    const Json at = value.is_null() ? Json() : read.all.at("values").at(value.get<std::size_t>());
    out += at.is_null() ? '-' : at.contains("picture") ? 'p' : at.contains("stats") ? 's' : 'a';
  }
  return out + " " + read.all.at("meta").at("notes").dump() + " " +
         read.all.at("meta").at("omitted").dump() + " " + read.all.at("meta").at("limits").dump() +
         "\n";
}

Tensor numbered(const Shape& shape, double first = 0) {
  return arange(first, first + static_cast<double>(numel(shape))).reshape(shape);
}

std::string rows() {
  Tape tape(kPlenty);
  Tensor x = numbered({2, 3});
  const Tensor leaf = numbered({2}).requires_grad_(), product = leaf * leaf;
  tape.tensor(Tensor(), "input");
  tape.tensor(x, "input");
  tape.tensor(x, "saved");                   // the same
  tape.tensor(x.clone(), "input");           // others with the same numbers
  tape.tensor(transpose(x, 0, 1), "input");  // the same memory, seen otherwise
  tape.tensor(reshape(x, {3, 2}), "input");
  tape.tensor(slice(x, 0, 1, 2), "input");
  tape.tensor(slice(x, 0, 0, 1), "input");
  x.fill_(2);
  tape.tensor(x, "input");  // written to
  tape.layer = tape.add_module({"a.b", "Linear", kNone});
  tape.tensor(leaf, "input");
  tape.tensor(product, "input");
  tape.tensor(numbered({2}).requires_grad_(), "saved");
  Tensor named = numbered({3}).requires_grad_(), later = numbered({3}).requires_grad_();
  tape.name(named, "named");
  tape.name(numbered({1}), "no node");
  tape.tensor(named, "input");
  tape.tensor(later, "input");
  tape.name(later, "later");
  Tape other(kPlenty);
  other.keep_names_of(tape);
  other.tensor(named, "grad");
  CHECK(tape.made_by(leaf.node()->id) == 7);
  CHECK(tape.made_by(numbered({1}).requires_grad_().node()->id) == kNone);
  return text_of(tape) + text_of(other);
}

/// Attention as operations of their own: scores → masked → softmax → dropout → product.
std::string products() {
  Tape tape(kPlenty);
  const auto op = [&](const char* name, std::vector<Id> in, double first) {
    const Id out = tape.tensor(numbered({1, 1, 2, 2}, first), "result");
    tape.add_op({name, std::move(in), out, kNone, kNone, {}, kNone, kNone});
    return out;
  };
  for (const char* last : {"matmul", "linear"})
    for (const char* between : {"masked_fill", "add", "exp"})
      for (const char* after : {"multiply", "dropout", "scale"}) {
        if (std::string(last) == "linear" && std::string(between) != "add") continue;
        const Id scores = op("matmul", {op("other", {}, 0), op("other", {}, 1)}, 2);
        const Id masked = op(between, {op("add", {scores}, 3)}, 4),
                 weights = op("softmax", {masked}, 5);
        op(last, {op(after, {weights}, 6), scores}, 7);
        op(last, {weights, scores}, 8);
        op(last, {op("softmax", {scores}, 9)}, 9);
      }
  tape.ops[7].dy = 1, tape.ops[7].dx = 2;
  Tape::Attention& fused = tape.attention_of(0);
  tape.add_matrix(fused, "weights", numbered({2, 1, 2, 2}));
  tape.add_matrix(fused, "weights", numbered({2, 1, 2, 2}, 9));  // the first one stays
  tape.add_matrix(fused, "scores", numbered({1, 2, 2, 2}));
  tape.add_matrix(fused, "flat", numbered({2, 2, 2}));
  tape.add_matrix(fused, "five", numbered({2, 1, 1, 2, 2}));
  CHECK(&tape.attention_of(0) == &fused);
  return text_of(tape);
}

/// Blocks 0 to last, one tensor in each.
std::string blocks(int last, std::size_t most_bytes, const char* name = "blocks.") {
  Tape tape(most_bytes);
  for (int i = 0; i <= last; ++i) {
    const Id block = tape.add_module({name + std::to_string(i), "Block", kNone});
    tape.layer = tape.add_module({name + std::to_string(i) + ".norm", "Norm", block});
    tape.tensor(numbered({10, 10}, i), "result");
  }
  tape.layer = kNone;
  tape.tensor(numbered({10, 10}), "input");
  return std::string(name) + std::to_string(last) + ": " + kept(tape);
}

/// 9 tensors of 4 to 8192 numbers in pages of fewer and fewer bytes.
std::string levels() {
  std::string out;
  for (const std::size_t most : {200'000, 60'000, 40'000, 3'000, 2'500, 1'000, 700, 400, 100, 0}) {
    Tape tape(most);
    for (const std::int64_t n : {4, 8192, 16, 4096, 64, 1024, 65, 256, 257})
      tape.tensor(numbered({n}), "input");
    tape.tensor(numbered({8192}), "inside");  // favoured
    out += std::to_string(most) + ": " + kept(tape);
  }
  return out;
}

/// A tape is made smaller while it is recorded, too: at four times what the page may have.
std::string many() {
  std::string out;
  for (const int n : {7, 8, 9, 30}) {
    Tape tape(1000);
    for (int i = 0; i < n; ++i) tape.tensor(numbered({64}, i), "input");
    out += std::to_string(n) + ": " + kept(tape);
  }
  return out;
}

std::string notes() {
  std::string out;
  for (const Id n : {0, 1, 2}) {
    Tape tape(kPlenty);
    tape.inner_ops = n, tape.unseen_nodes = 2 * n, tape.late_ops = 3 * n, tape.large_attention = n;
    out += kept(tape);
  }
  return out;
}

/// What a tape's notes say when its tables alone take so many bytes.
std::string notes_beside(std::size_t bytes) {
  const NoPrograms quick;
  Tape tape(kPlenty);
  for (int i = 0; i < 20; ++i) tape.tensor(numbered({16}, i), "input");
  tape.visits.add(kNone, kNone, kNone, trace::Json{"\"" + std::string(bytes, 'x') + "\""});
  const std::string json = tape.json("t", "p", 1);
  const std::size_t at = json.find("\"notes\"");
  return json.substr(at, json.find(']', at) - at) + "\n";
}

}  // namespace

TEST_CASE("a tape's rows and its attention are those of golden/trace/tape.txt") {
  check_golden("trace/tape.txt", rows() + products());
}

TEST_CASE("what is left of numbers in smaller and smaller pages is in golden/trace/levels.txt") {
  std::string out = levels() + many() + notes();
  for (const int last : {2, 3, 4, 5, 11}) out += blocks(last, 1800);
  out += blocks(5, kPlenty) + blocks(5, 1800, "x") + blocks(5, 1800, "a.b.");
  check_golden("trace/levels.txt", out);
}

TEST_CASE("a tape's tables take their room from its numbers") {
  check_golden("trace/full_tables.txt", notes_beside(7'597'500));
}

}  // namespace gradus::testing
