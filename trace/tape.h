#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gradus/trace/json.h"
#include "gradus/trace/places.h"
#include "gradus/trace/provenance.h"
#include "gradus/trace/values.h"

namespace gradus::trace {

/// Levels of detail, from most to least.
inline constexpr std::array<Detail, 6> kLevels = {
    {{4096, true}, {1024, true}, {1024, false}, {256, false}, {64, false}, {16, false}}};
constexpr std::size_t kMostBytes = 7'600'000;  // keeps a page below 8 MB

/// A trace, stored as rows of the tables in docs/reference/trace_format.md.
class Tape {
 public:
  explicit Tape(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Returns the row of x in its current state; creates it if needed. Returns kNone if x is
  /// undefined.
  Id tensor(const Tensor& x, const char* kind);
  Id made_by(std::uint64_t node) const;
  void name(const Tensor& x, const std::string& name);

  struct Op {
    std::string name;
    std::vector<Id> in;
    Id out, module, stack;
    std::vector<Id> saved;
    Id within, node;
    Id dy = kNone, dx = kNone;  // gradients of the output and of the first input
  };
  struct Module {
    std::string path, type;
    Id parent;
  };
  struct Walk {
    std::vector<Id> outputs, seeds;
    Id within;
    bool create_graph;
  };
  struct Added {
    Id visit, input, to, contribution, before, after, k;
    std::size_t of;  // index into counts
    Json part;
  };
  using Attention = std::map<std::string, Id>;  // keys: "op", "module", and names of matrices
  Id add_op(Op op);
  Id add_module(Module module);
  Attention& attention_of(Id op);  // creates it if needed
  void add_matrix(Attention& to, const std::string& name, const Tensor& x);
  void keep_names_of(const Tape& other) { names_ = other.names_; }

  std::vector<Op> ops;
  std::vector<Module> modules;
  std::vector<Walk> walks;
  std::vector<Added> ledger;
  std::vector<Id> counts;  // number of gradients per node and pass
  std::vector<Attention> attention;
  std::map<std::string, std::vector<std::string>> labels;
  JsonTable visits{{"op", "walk", "dy", "name"}};
  JsonTable hooks{{"to", "walk", "before", "after"}};
  JsonTable deposits{{"leaf", "walk", "arrived", "before", "after"}};
  JsonTable updates{{"name", "before", "after", "grad", "rate", "optimiser"}};
  Places places;
  Id layer = kNone;  // layer of new tensors
  Json failure{"null"};
  /// Numbers of events that were not recorded.
  Id inner_ops = 0, unseen_nodes = 0, late_ops = 0, large_attention = 0;

  std::string json(const std::string& title, const std::string& program, Id step);

 private:
  struct Row {
    std::string kind, dtype, name;
    Id shape, values, storage, offset, strides, layer;
    Id maker = kNone;
  };
  struct Seen {
    Id storage;
    struct View {
      Shape shape;
      Strides strides;
      std::int64_t offset;
      std::uint32_t version;
      Id row;
    };
    std::vector<View> views;
  };
  Id shape_of(std::span<const std::int64_t> sizes);
  const Op* maker(Id tensor) const;
  Id maker_id(Id tensor) const;
  void fit(std::size_t bytes);
  bool folds(Id module) const;
  void fold();
  void note_product(const Op& product);
  Json meta(const std::string& title, const std::string& program, Id step) const;
  Json tensors_json(const std::vector<Id>& values) const;

  std::size_t most_bytes_;
  std::size_t level_ = 0, value_bytes_ = 0;
  Id folded_ = 0;
  std::map<std::string, Id> last_number_;  // "blocks." → 11 for blocks.0 … blocks.11
  std::vector<Row> rows_;
  std::vector<KeptValues> values_;
  std::map<std::vector<Id>, Id> shape_index_;
  std::vector<std::vector<Id>> shapes_;
  Provenance<Seen> seen_;
  Id storages_ = 0;
  std::map<std::uint64_t, Id> by_node_;
  std::map<std::uint64_t, std::string> names_;
};

}  // namespace gradus::trace
