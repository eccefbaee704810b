// Which tensors a tape takes for the same, what belongs to an attention, and, to the byte, when
// less is kept of numbers.
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
using trace::Values;

constexpr std::size_t kPlenty = 4'000'000;

ReadTape read(Tape& tape) {
  const NoPrograms quick;
  return ReadTape(tape.json("t", "p", 1));
}

/// How much of each row's numbers is there: a all, p a picture, s statistics, - nothing.
std::string kept(Tape& tape) {
  const ReadTape all = read(tape);
  std::string out;
  for (std::size_t i = 0; i < all.count("tensors"); ++i) {
    const bool none = all.at("tensors", i, "values").is_null();
    const Json value = none ? Json::object() : all.value(i);
    out += none ? '-' : value.contains("picture") ? 'p' : value.contains("stats") ? 's' : 'a';
  }
  return out;
}

/// A tensor of 100 numbers, 545 bytes of a page, in each of these layers.
std::string kept_of_layers(const std::vector<std::string>& paths, std::size_t less = 100) {
  Tape tape(545 * paths.size() - less);
  for (const std::string& path : paths) {
    tape.layer = tape.add_module({path, "Block", kNone});
    tape.tensor(zeros({100}), "result");
  }
  return kept(tape);
}

Id add_op(Tape& tape, const char* name, std::vector<Id> in, Id out) {
  return tape.add_op({name, std::move(in), out, kNone, kNone, {}, kNone, kNone});
}

/// What is kept of the numbers of three tensors beside tables of so many bytes less than there is
/// room for: all, statistics or nothing.
std::string kept_beside_tables(std::ptrdiff_t less) {
  const NoPrograms quick;
  Tape tape(kPlenty);
  for (int i = 0; i < 3; ++i) tape.tensor(zeros({64}), "input");
  add_op(tape, "x", {}, kNone);
  tape.add_module({"m", "Module", kNone});
  trace::Table one_op({}), one_module({});
  one_op.add("x", std::vector<Id>{}, kNone, kNone, kNone, std::vector<Id>{}, kNone, kNone);
  one_module.add("m", "Module", kNone);
  tape.counts.push_back(5);
  for (int i = 0; i < 5; ++i)
    tape.ledger.push_back({kNone, kNone, kNone, kNone, kNone, kNone, 1, 0, {"null"}});
  for (trace::Table* each : {&tape.hooks, &tape.deposits, &tape.updates}) each->add(Id{1});
  const std::size_t bytes = tape.places.json().size() + 3 * 56 + 5 * 40 + one_op.bytes() +
                            one_module.bytes() + 3 * std::string("[1]").size() +
                            3 * Values(zeros({64}), trace::kLevels[0]).bytes();
  const auto room = static_cast<std::ptrdiff_t>(trace::kMostBytes - bytes) - less;
  tape.visits.add(std::string(static_cast<std::size_t>(room) - 4, 'x'));  // ["…"]
  const std::string json = tape.json("t", "p", 1);
  const Json end = Json::parse("{" + json.substr(json.rfind("\"values\":")));
  std::string out = std::to_string(end.at("values").size());
  for (const Json& each : end.at("values")) out += each.contains("stats") ? 's' : 'a';
  return out;
}

}  // namespace

TEST_CASE("a tensor that needs no gradient is an input, and borrowed numbers are read again") {
  Tape tape(kPlenty);
  Tensor frozen = ones({2}).requires_grad_();
  frozen.requires_grad_(false);
  REQUIRE(frozen.node());
  tape.tensor(frozen, "input");
  std::vector<float> outside = {1, 2};
  const Tensor x = borrow(std::span(outside), {2});
  CHECK(tape.tensor(x, "input") == 1);
  outside[0] = 3;
  CHECK(tape.tensor(x, "input") == 2);
  const ReadTape all = read(tape);
  CHECK(all.at("tensors", 0, "kind") == "input");
  CHECK(all.numbers(1) == std::vector<double>{1, 2});
  CHECK(all.numbers(2) == std::vector<double>{3, 2});
}

TEST_CASE("of matrices of several examples the first is kept, of none nothing") {
  Tape tape(kPlenty);
  Tape::Attention found;
  tape.add_matrix(found, "two", ones({2, 1, 2, 1}));
  tape.add_matrix(found, "one", ones({1, 2, 3, 1}));
  tape.add_matrix(found, "none", ones({0, 1, 2, 2}));
  const ReadTape all = read(tape);
  CHECK(all.shape(found.at("two")) == std::vector<Id>{1, 1, 2, 1});
  CHECK(all.shape(found.at("one")) == std::vector<Id>{1, 2, 3, 1});
  CHECK(all.shape(found.at("none")) == std::vector<Id>{0, 1, 2, 2});
}

TEST_CASE("blocks between the first and the last are told by the number that a path ends in") {
  CHECK(kept_of_layers({"a.0", "a.1", "a.2", "a.3"}) == "assa");
  CHECK(kept_of_layers({"a.1", "a.5", "a.0", "a.2", "a.3", "a.4"}) == "saasss");
  CHECK(kept_of_layers({"a.0", "a.1", "a.2", "b.0", "b.1", "b.2", "b.3"}) == "aaaassa");
  CHECK(kept_of_layers({"0", "1", "2", "3"}) == "assa");
  CHECK(kept_of_layers({"", "a.", "b", "a.b.0", "a.b.1", "a.b.2", "a.b.3"}) == "aaaassa");
  CHECK(kept_of_layers({"a.0", "a.1", "a.2", "a.3"}, 0) == "aaaa");  // there is room for all
  const std::string words = kept_of_layers({"a.0th", "a.1st", "a.2nd", "a.3rd"});
  CHECK(words == "ssss");  // no blocks: of all the same is kept
}

TEST_CASE("of repeated blocks those tensors are counted of which less was kept") {
  Tape tape(3 * 545);
  for (int i = 0; i < 4; ++i) {
    tape.layer = tape.add_module({"a." + std::to_string(i), "Block", kNone});
    tape.tensor(zeros({100}), "result");
    tape.tensor(zeros({3}), "result");
  }
  CHECK(read(tape).all.at("meta").at("omitted").at("folded") == 2);
  CHECK(read(tape).all.at("meta").at("omitted").at("folded") == 2);  // and no second time
}

TEST_CASE("each level of detail is kept as long as its bytes fit, and not one byte longer") {
  std::vector<Tensor> all;
  for (const std::int64_t n : {5000, 10, 2000, 500, 100, 30}) all.push_back(zeros({n}));
  const auto at = [&](std::size_t level) {
    std::size_t bytes = 0;
    for (const Tensor& x : all) bytes += Values(x, trace::kLevels[level]).bytes();
    return bytes;
  };
  const auto kept_in = [&](std::size_t most) {
    Tape tape(most);
    for (const Tensor& x : all) tape.tensor(x, "input");
    return kept(tape);
  };
  const char* states[] = {"paaaaa", "papaaa", "sasaaa", "sassaa", "sasssa", "sassss"};
  for (std::size_t level = 0; level < 6; ++level) {
    CAPTURE(level);
    CHECK(kept_in(at(level)) == states[level]);
    CHECK(kept_in(at(level) - 1) == (level < 5 ? states[level + 1] : "sas-ss"));
  }
}

TEST_CASE("where the least detail is too much the first tensors and the last keep theirs") {
  const auto kept_of = [](const std::vector<std::int64_t>& sizes, std::size_t bytes_of_two) {
    const std::size_t one = Values(zeros({64}), {16, false}).bytes();
    Tape tape(2 * one + bytes_of_two);
    for (const std::int64_t n : sizes) tape.tensor(zeros({n}), "input");
    return kept(tape);
  };
  CHECK(kept_of({64, 64}, 0) == "ss");
  CHECK(kept_of({64, 64, 64, 64}, 0) == "s--s");
  CHECK(kept_of({64, 64, 64, 64, 64}, 0) == "s---s");
  CHECK(kept_of({64, 0, 64}, 12) == "sas");  // one without numbers has 12 bytes, always
  CHECK(kept_of({64, 0, 64}, 11) == "-as");
  Tape less(Values(zeros({64}), {16, false}).bytes() / 2 + 1);  // than one has
  for (int i = 0; i < 2; ++i) less.tensor(zeros({64}), "input");
  CHECK(kept(less) == "s-");
}

TEST_CASE("tables and numbers of a page have 7.6 MB together, counted to the byte") {
  CHECK(kept_beside_tables(0) == "3aaa");
  CHECK(kept_beside_tables(-1) == "3sss");
  CHECK(kept_beside_tables(-2000) == "1s");  // there is no room at all
}

TEST_CASE("products of what no operation made, and of nothing, are no attention") {
  Tape tape(kPlenty);
  const Tensor leaf = ones({2}).requires_grad_();
  const Id x = tape.tensor(ones({2}), "input"), own = tape.tensor(leaf, "input");
  CHECK(add_op(tape, "matmul", {x, x}, tape.tensor(ones({2}), "result")) == 0);
  CHECK(add_op(tape, "matmul", {kNone, x}, tape.tensor(ones({2}), "result")) == 1);
  CHECK(add_op(tape, "same", {own}, own) == 2);
  CHECK(add_op(tape, "other", {x}, x) == 3);
  CHECK(add_op(tape, "nothing", {x}, kNone) == 4);
  const ReadTape all = read(tape);
  CHECK(all.all.at("attention").empty());
  CHECK(all.at("tensors", static_cast<std::size_t>(own), "kind") == "leaf");
  CHECK(all.at("tensors", static_cast<std::size_t>(x), "kind") == "result");
}

TEST_CASE("an attention of operations is found behind a dropout, and a page is the same twice") {
  const NoPrograms quick;
  Tape tape(kPlenty);
  const auto made = [&](const char* name, std::vector<Id> in) {
    const Id out = tape.tensor(zeros({1, 1, 2, 2}), "result");
    add_op(tape, name, std::move(in), out);
    return out;
  };
  const Id scores = made("matmul", {tape.tensor(zeros({1}), "input")});
  const Id weights = made("softmax", {scores}), mask = made("other", {scores});
  const Id dropped = made("dropout", {weights, mask}), out = made("matmul", {dropped, scores});
  tape.ops[1].dy = dropped, tape.ops[1].dx = mask;
  const std::string text = tape.json("t", "p", 1);
  CHECK(tape.json("t", "p", 1) == text);
  const Json found = ReadTape(text).all.at("attention");
  REQUIRE(found.size() == 1);
  CHECK(found.at(0) == Json{{"op", 1},
                            {"module", nullptr},
                            {"weights", weights},
                            {"scores", scores},
                            {"out", out},
                            {"dweights", dropped},
                            {"dscores", mask}});
}

}  // namespace gradus::testing
