#include "gradus/nn/models/weight_map.h"

#include <set>
#include <sstream>

#include "gradus/engine/base/error.h"
#include "gradus/engine/grad_mode.h"
#include "gradus/engine/strided.h"
#include "gradus/ops/members.h"
#include "gradus/ops/shape_ops.h"

namespace gradus::nn {
namespace {

using Rows = std::vector<std::int64_t>;
using Own = std::map<std::string, Tensor>;

struct Link {
  const WeightRule* rule;
  std::vector<std::string> ours, theirs;
};

void replace(std::string& text, const std::string& what, const std::string& by) {
  if (const std::size_t at = text.find(what); at != std::string::npos)
    text.replace(at, what.size(), by);
}

/// Expands a pattern: ("a.{}.(q|k).*", 3, ".bias") → a.3.q.bias, a.3.k.bias.
std::vector<std::string> expand(std::string pattern, std::int64_t number, const char* suffix) {
  replace(pattern, "{}", std::to_string(number));
  replace(pattern, ".*", suffix);
  const std::size_t open = pattern.find('('), close = pattern.find(')');
  if (open == std::string::npos) return {pattern};
  std::vector<std::string> names;
  std::istringstream choices(pattern.substr(open + 1, close - open - 1));
  choices.exceptions(std::ios::badbit);
  for (std::string choice; std::getline(choices, choice, '|');)
    names.push_back(pattern.substr(0, open) + choice + pattern.substr(close + 1));
  return names;
}

std::vector<Link> links_of(const WeightMap& map, const Own& own) {
  std::vector<Link> links;
  for (const WeightRule& rule : map.rules) {
    const bool both = rule.ours.ends_with(".*");
    const bool counts = rule.ours.find("{}") != std::string::npos;
    bool found = true;
    for (std::int64_t number = 0; found && (counts || number == 0); ++number) {
      found = false;
      for (const char* suffix : both ? std::vector{".weight", ".bias"} : std::vector{""}) {
        Link link{&rule, expand(rule.ours, number, suffix), expand(rule.theirs, number, suffix)};
        if (!own.contains(link.ours.front())) continue;
        found = true;
        links.push_back(std::move(link));
      }
    }
  }
  return links;
}

Own own_tensors(const Module& module) {
  Own own;
  for (const NamedTensor& each : module.named_tensors()) own[each.name] = each.tensor;
  return own;
}

/// Returns the row counts of the other library's tensors, which add up to the rows of the Gradus
/// tensor.
Rows their_rows(const Link& link, const Own& own) {
  if (link.theirs.size() > 1) return link.rule->parts;
  std::int64_t rows = 0;
  for (const std::string& name : link.ours) rows += own.at(name).size(0);
  return {rows};
}

/// Returns the shape of the other library's tensor with this many rows.
Shape their_shape(const Link& link, const Own& own, std::int64_t rows) {
  Shape shape = own.at(link.ours.front()).shape();
  shape[0] = rows;
  if (shape.rank() != 2) return shape;
  if (link.rule->form == Form::transposed) return {shape[1], shape[0]};
  if (link.rule->form != Form::unrolled) return shape;
  Shape unrolled{rows};
  for (const std::int64_t size : link.rule->tail) unrolled.push_back(size);
  return unrolled;
}

/// Converts the rows of each head between pairs (2i, 2i + 1) and halves (i, i + D / 2): [H·D, …] →
/// the same shape.
Tensor swap_pairs(const Tensor& x, std::int64_t D, bool to_halves) {
  const std::int64_t H = x.size(0) / D;
  const std::int64_t rest = x.numel() / (H * D);
  const Tensor heads =
      to_halves ? reshape(x, {H, D / 2, 2, rest}) : reshape(x, {H, 2, D / 2, rest});
  return reshape(transpose(heads, 1, 2), x.shape());
}

/// Converts a tensor of the other library to our layout. `part` is its index among the tensors of
/// its rule.
Tensor ours_from(const Link& link, const Tensor& x, std::size_t part) {
  const Form form = link.rule->form;
  if (form == Form::transposed && x.rank() == 2) return transpose(x, 0, 1);
  if (form == Form::unrolled && x.rank() > 1) return flatten(x, 1);
  if (form == Form::pairs && part < 2) return swap_pairs(x, link.rule->tail[0], true);
  return x;
}

Tensor theirs_from(const Link& link, const Tensor& x, std::size_t part, const Shape& shape) {
  const Form form = link.rule->form;
  if (form == Form::transposed && x.rank() == 2) return transpose(x, 0, 1);
  if (form == Form::pairs && part < 2) return swap_pairs(x, link.rule->tail[0], false);
  return reshape(x, shape);
}

std::string find(const std::string& name, const WeightMap& map, const TensorReader& theirs) {
  if (theirs.shapes.contains(name)) return name;
  const std::string bare = name.starts_with(map.prefix) ? name.substr(map.prefix.size()) : "";
  return theirs.shapes.contains(bare) ? bare : "";
}

std::string problems_of(const std::vector<Link>& links, const Own& own, const WeightMap& map,
                        const TensorReader& theirs) {
  std::string problems;
  std::set<std::string> filled, used;
  for (const Link& link : links) {
    filled.insert(link.ours.begin(), link.ours.end());
    const Rows rows = their_rows(link, own);
    for (std::size_t i = 0; i < link.theirs.size(); ++i) {
      const std::string found = *used.insert(find(link.theirs[i], map, theirs)).first;
      const Shape wanted = their_shape(link, own, rows[i]);
      if (found.empty() && link.rule->form != Form::again)
        problems +=
            str_cat("\n  missing     ", link.theirs[i], " ", wanted, ", for ", link.ours.front());
      if (!found.empty() && theirs.shapes.at(found) != wanted)
        problems += str_cat("\n  mismatched  ", found, ": expected ", wanted, ", got ",
                            theirs.shapes.at(found));
    }
  }
  for (const auto& [name, tensor] : own)
    if (!filled.contains(name))
      problems += str_cat("\n  unnamed     ", name, " ", tensor.shape(),
                          ": the map has no rule for this tensor");
  for (const std::string& pattern : map.ignored)
    for (std::int64_t i = 0;; ++i) {
      const std::string found = find(expand(pattern, i, "").front(), map, theirs);
      used.insert(found);
      if (found.empty() || pattern.find("{}") == std::string::npos) break;
    }
  for (const auto& [name, shape] : theirs.shapes)
    if (!used.contains(name)) problems += str_cat("\n  unexpected  ", name, " ", shape);
  return problems;
}

bool same_numbers(const Tensor& a, const Tensor& b) {
  return a.to(Dtype::f64).to_vector<double>() == b.to(Dtype::f64).to_vector<double>();
}

void fill(const Link& link, Own& own, const WeightMap& map, const TensorReader& theirs) {
  std::int64_t row = 0;
  for (std::size_t i = 0; i < link.theirs.size(); ++i) {
    const std::string name = find(link.theirs[i], map, theirs);
    if (name.empty()) continue;  // the file omits this name
    const Tensor x = ours_from(link, theirs.read(name), i);
    Tensor& first = own.at(link.ours.front());
    if (link.rule->form == Form::again) {
      require(same_numbers(x.to(first.dtype()), first), name, " must equal ", link.ours.front(),
              ", which this model shares, but has other values");
    } else if (link.ours.size() == 1) {
      slice(first, 0, row, row + x.size(0)).copy_(x);
      row += x.size(0);
    } else {
      for (const std::string& each : link.ours) {
        Tensor& part = own.at(each);
        part.copy_(slice(x, 0, row, row + part.size(0)));
        row += part.size(0);
      }
    }
  }
}

}  // namespace

TensorReader reader_of(StateDict tensors) {
  TensorReader source;
  for (const auto& [name, tensor] : tensors) source.shapes[name] = tensor.shape();
  source.read = [tensors = std::move(tensors)](const std::string& name) {
    return tensors.at(name);
  };
  return source;
}

void load_mapped(Module& module, const WeightMap& map, const TensorReader& theirs) {
  Own own = own_tensors(module);
  const std::vector<Link> links = links_of(map, own);
  const std::string problems = problems_of(links, own, map, theirs);
  require<ShapeError>(problems.empty(), "the tensors do not fit ", module.type_name(), ":",
                      problems);
  const NoGrad off;
  for (const bool again : {false, true})  // second names last; their values must match
    for (const Link& link : links)
      if ((link.rule->form == Form::again) == again) fill(link, own, map, theirs);
}

StateDict mapped_state(const Module& module, const WeightMap& map) {
  const NoGrad off;
  const Own own = own_tensors(module);
  StateDict theirs;
  std::set<std::string> named;
  for (const Link& link : links_of(map, own)) {
    named.insert(link.ours.begin(), link.ours.end());
    if (link.rule->form == Form::again) continue;
    std::vector<Tensor> all;
    for (const std::string& name : link.ours) all.push_back(own.at(name));
    const Tensor x = all.size() == 1 ? all[0] : cat(all, 0);
    const Rows rows = their_rows(link, own);
    std::int64_t row = 0;
    for (std::size_t i = 0; i < link.theirs.size(); ++i) {
      const Tensor part = slice(x, 0, row, row + rows[i]);
      row += rows[i];
      theirs[link.theirs[i]] =
          kernel::copy(theirs_from(link, part, i, their_shape(link, own, rows[i])));
    }
  }
  for (const auto& [name, tensor] : own)
    require(named.count(name) == 1, "the weight map has no name for ", name,
            name.find("lora_") == std::string::npos ? "" : ". Merge the adapters first.");
  return theirs;
}

}  // namespace gradus::nn
