#include "gradus/io/npy.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/strided.h"
#include "gradus/io/input.h"
#include "gradus/io/output_file.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kLongestNpyHeader = 10'000;  // NumPy's limit

const std::map<std::string, Stored> kDescriptions = {
    {"<f4", Stored::f32}, {"<f8", Stored::f64}, {"<i8", Stored::i64}, {"|b1", Stored::bool_},
    {"<f2", Stored::f16}, {"<i4", Stored::i32}, {"|u1", Stored::u8}};

constexpr const char* kWritten[] = {"<f4", "<f8", "<i8", "|b1"};  // one per Dtype
static_assert(std::size(kWritten) == static_cast<std::size_t>(Dtype::bool_) + 1);

/// Parses the header, a Python dict of three fields.
class HeaderReader {
 public:
  HeaderReader(std::string_view header, const std::string& file) : rest_(header), file_(file) {}

  std::string description;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;

  void read() {
    expect('{');
    std::set<std::string> seen;
    while (!accept('}')) {
      const std::string key = string();
      if (!seen.insert(key).second) fault(quote(key) + " appears twice");
      expect(':');
      if (key == "descr")
        description = string();
      else if (key == "fortran_order")
        fortran_order = boolean();
      else if (key == "shape")
        shape = tuple();
      else
        fault("the field " + quote(key) + " is unknown");
      if (!accept(',') && !ahead('}')) fault("a comma is missing");
    }
    if (seen.size() != 3) fault("the dict must have the fields descr, fortran_order and shape");
    skip_blanks();
    if (!rest_.empty()) fault("text follows the dict");
  }

 private:
  [[noreturn]] void fault(const std::string& what) const {
    fail<FileError>(
        file_, ": in the header of the .npy file, ", what,
        rest_.empty() ? " (at its end)." : " (before " + quote(rest_.substr(0, 20)) + ").",
        " Expected a dict such as {'descr': '<f4', 'fortran_order': False, ", "'shape': (2, 3), }");
  }
  void skip_blanks() {
    const std::size_t first = std::min(rest_.find_first_not_of(" \n"), rest_.size());
    rest_.remove_prefix(first);
  }
  bool ahead(char c) {
    skip_blanks();
    return rest_.starts_with(c);
  }
  bool accept(char c) {
    if (!ahead(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fault(std::string("a '") + c + "' is missing");
  }
  std::string string() {
    const char quote = ahead('"') ? '"' : '\'';
    if (!accept(quote))
      fault(ahead('[') ? "arrays of records cannot be read" : "a string is missing");
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fault("a string has no closing quote");
    std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return value;
  }
  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (rest_.substr(0, word.size()) != word) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    fault("fortran_order must be True or False");
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> sizes;
    expect('(');
    while (!accept(')')) {
      std::uint64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc()) fault("a size must be an integer that is not negative");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      sizes.push_back(size);
      if (accept(',')) continue;
      if (!ahead(')')) fault("a comma is missing");
      if (sizes.size() == 1)
        fault("(3) is a number in Python, but a shape must be a tuple such as (3,)");
    }
    return sizes;
  }

  std::string_view rest_;
  const std::string& file_;
};

Stored stored_as(const std::string& description, const std::string& file) {
  const auto found = kDescriptions.find(description);
  if (found != kDescriptions.end()) return found->second;
  const char* hint = description.starts_with('>') ? " (big-endian; convert by x.astype('<f4'))"
                     : description.find('O') != std::string::npos ? " (Python objects)"
                                                                  : "";
  fail<FileError>(file, ": dtype ", quote(description), hint,
                  " is not supported. Supported types: <f4 <f8 <i8 |b1 <f2 <i4 |u1");
}

std::pair<std::uint64_t, std::uint64_t> header_place(Input& input) {
  unsigned char start[12] = {};
  const std::size_t n = std::min<std::size_t>(sizeof start, static_cast<std::size_t>(input.size()));
  input.read(0, start, n);
  const bool magic = std::equal(kMagic.begin(), kMagic.end(), start, [](char a, unsigned char b) {
    return static_cast<unsigned char>(a) == b;
  });
  require<FileError>(n >= 10 && magic, input.name(),
                     ": not a .npy file, which begins with \\x93NUMPY");
  const int version = start[6];
  require<FileError>(version >= 1 && version <= 3 && start[7] == 0, input.name(),
                     ": the .npy version must be 1.0, 2.0 or 3.0, got ", version, ".",
                     int{start[7]});
  const std::uint64_t begin = version == 1 ? 10 : 12;
  std::uint64_t length = start[8] + 256u * start[9];
  if (version > 1) length += (std::uint64_t{start[10]} << 16) + (std::uint64_t{start[11]} << 24);
  require<FileError>(length <= kLongestNpyHeader && begin + length <= input.size(), input.name(),
                     ": the length of the header, ", length, " bytes, exceeds the file's ",
                     input.size(), " bytes or the limit of ", kLongestNpyHeader, " bytes");
  return {begin, length};
}

Tensor read_npy(Input input) {
  const auto [begin, length] = header_place(input);
  std::string dict(static_cast<std::size_t>(length), ' ');
  input.read(begin, dict.data(), dict.size());
  HeaderReader header(dict, input.name());
  header.read();
  const Stored stored = stored_as(header.description, input.name());
  require<FileError>(header.shape.size() <= std::size_t{kMaxRank}, input.name(), ": the array has ",
                     header.shape.size(), " axes, but a tensor has at most ", kMaxRank);
  const auto count = count_of(header.shape);
  require<FileError>(count.has_value(), input.name(),
                     ": the shape has more elements than memory can hold");
  Shape shape;
  for (const std::uint64_t size : header.shape) shape.push_back(static_cast<std::int64_t>(size));
  const std::uint64_t data = begin + length, bytes = *count * bytes_of(stored);
  require<FileError>(bytes == input.size() - data, input.name(), ": ", header.description, " ",
                     shape, " takes ", bytes, " bytes, but ", input.size() - data,
                     " bytes follow the header");
  if (!header.fortran_order) return read_numbers(input, data, stored, shape);
  // Fortran order is C order with reversed axes: read in that order, then transpose.
  Shape reversed;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) reversed.push_back(shape[axis]);
  const Tensor x = read_numbers(input, data, stored, reversed);
  Strides strides;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) strides.push_back(x.strides()[axis]);
  return kernel::contiguous(kernel::strided_view(x, shape, strides, 0));
}

}  // namespace

Tensor load_npy(const std::string& path) { return read_npy(Input(path)); }

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  return read_npy(Input(bytes, name));
}

void save_npy(const std::string& path, const Tensor& x) {
  require(x.defined(), "save_npy: ", path, ": the tensor is undefined");
  std::string header = str_cat("{'descr': '", kWritten[static_cast<std::size_t>(x.dtype())],
                               "', 'fortran_order': False, 'shape': (");
  for (int axis = 0; axis < x.rank(); ++axis)
    header += str_cat(x.size(axis), x.rank() == 1 ? "," : "", axis + 1 < x.rank() ? ", " : "");
  header += "), }";
  // Pads magic, version, length (10 bytes) and header to a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ') += '\n';

  std::string bytes(kMagic);
  // A header with 8 sizes has less than 256 bytes.
  bytes += {'\1', '\0', static_cast<char>(header.size()), '\0'};
  bytes += header;
  const Tensor packed = kernel::contiguous(x);
  dispatch(x.dtype(), [&]<class T>() {
    bytes.append(reinterpret_cast<const char*>(packed.data<T>()),
                 static_cast<std::size_t>(packed.numel()) * sizeof(T));
  });
  write_file_atomically(path, bytes.data(), bytes.size());
}

}  // namespace gradus::io
