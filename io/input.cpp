#include "gradus/io/input.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <system_error>
#include <vector>

#include "gradus/engine/base/error.h"
#include "gradus/engine/gemm/narrow.h"

namespace gradus::io {
namespace {

static_assert(std::endian::native == std::endian::little, "these files are copied, not swapped");
static_assert(sizeof(bool) == 1);

struct StoredKind {
  const char* name;
  std::size_t bytes;  // bytes per block
  Dtype dtype;
  std::int64_t block = 1;
};
constexpr StoredKind kStoredKinds[] = {
    {"F32", 4, Dtype::f32},       {"F64", 8, Dtype::f64},      {"I64", 8, Dtype::i64},
    {"BOOL", 1, Dtype::bool_},    {"F16", 2, Dtype::f32},      {"BF16", 2, Dtype::f32},
    {"I32", 4, Dtype::i64},       {"U8", 1, Dtype::i64},       {"Q8_0", 34, Dtype::f32, 32},
    {"Q4_0", 18, Dtype::f32, 32}, {"Q4_1", 20, Dtype::f32, 32}};
// In the order of Stored.
static_assert(std::size(kStoredKinds) == static_cast<std::size_t>(Stored::q4_1) + 1);

const StoredKind& kind_of(Stored stored) { return kStoredKinds[static_cast<std::size_t>(stored)]; }

/// Decodes a block of 32 values. d·q has at most 19 bits and is exact, so only the addition of m
/// rounds.
void unpack(Stored stored, const std::byte* block, float* y) {
  const auto f16_at = [&](std::size_t place) {
    gemm::Float16 half{};
    std::memcpy(&half, block + place, sizeof half);
    return gemm::widen(half);
  };
  const float d = f16_at(0), m = stored == Stored::q4_1 ? f16_at(2) : 0.0f;
  const std::byte* q = block + (stored == Stored::q4_1 ? 4 : 2);
  const auto as_int = [](std::byte b) { return std::to_integer<int>(b); };
  for (int j = 0; j < 32; ++j) {
    if (stored == Stored::q8_0) {
      y[j] = d * static_cast<float>(static_cast<std::int8_t>(as_int(q[j])));
      continue;
    }
    const int four = j < 16 ? as_int(q[j]) & 15 : as_int(q[j - 16]) >> 4;
    y[j] = stored == Stored::q4_1 ? d * static_cast<float>(four) + m
                                  : d * static_cast<float>(four - 8);
  }
}

void read_blocks(Input& input, std::uint64_t at, Stored stored, float* y, std::int64_t count) {
  constexpr std::int64_t kPiece = 1024;
  const std::size_t bytes = bytes_of(stored);
  std::vector<std::byte> piece;
  for (std::int64_t left = count / 32; left > 0; left -= kPiece) {
    piece.resize(static_cast<std::size_t>(std::min(left, kPiece)) * bytes);
    input.read(at, piece.data(), piece.size());
    for (std::size_t i = 0; i < piece.size(); i += bytes, y += 32) unpack(stored, &piece[i], y);
    at += piece.size();
  }
}

/// Sets y[i] = convert(stored value i), in pieces, to avoid a second copy of large tensors.
template <class From, class To, class F>
void read_converted(Input& input, std::uint64_t at, To* y, std::int64_t count, F convert) {
  constexpr std::int64_t kPiece = 1 << 15;
  std::vector<From> piece(static_cast<std::size_t>(std::min(count, kPiece)));
  for (std::int64_t done = 0; done < count; done += kPiece) {
    const std::int64_t n = std::min(kPiece, count - done);
    const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(From);
    input.read(at, piece.data(), bytes);
    std::transform(piece.begin(), piece.begin() + n, y + done, convert);
    at += bytes;
  }
}

}  // namespace

Input::Input(const std::string& path) : name_(path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  require<FileError>(std::filesystem::exists(status), "cannot read ", path,
                     ": the file does not exist");
  require<FileError>(std::filesystem::is_regular_file(status), "cannot read ", path, ": it is ",
                     std::filesystem::is_directory(status) ? "a directory" : "a pipe or device",
                     ", not a file");
  file_.open(path, std::ios::binary);
  require<FileError>(file_.is_open(), "cannot read ", path, ": ",
                     std::generic_category().message(errno));
  size_ = std::filesystem::file_size(path, failure);
  require<FileError>(!failure, "cannot read ", path, ": ", failure.message());
}

Input::Input(std::span<const std::byte> bytes, std::string name)
    : name_(std::move(name)), memory_(bytes), size_(bytes.size()) {}

void Input::read(std::uint64_t at, void* to, std::size_t bytes) {
  if (bytes == 0) return;
  require<FileError>(at <= size_ && bytes <= size_ - at, name_, ": cannot read bytes ", at, " to ",
                     at + bytes, ", because the file has only ", size_,
                     " bytes. The file is truncated.");
  if (!file_.is_open()) {
    std::memcpy(to, memory_.data() + at, bytes);
    return;
  }
  if (at != place_) file_.seekg(static_cast<std::streamoff>(at));  // seeking empties the buffer
  place_ = at + bytes;
  file_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  require<FileError>(file_.good(), name_, ": the file had ", size_, " bytes, but only ",
                     at + static_cast<std::uint64_t>(file_.gcount()),
                     " could be read. The file was truncated in the meantime, or the disk failed.");
}

const char* name_of(Stored stored) { return kind_of(stored).name; }
std::int64_t block_of(Stored stored) { return kind_of(stored).block; }
std::size_t bytes_of(Stored stored) { return kind_of(stored).bytes; }
Dtype loaded_as(Stored stored) { return kind_of(stored).dtype; }

std::optional<std::uint64_t> count_of(std::span<const std::uint64_t> sizes) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() / 8;  // 8-byte values
  std::uint64_t count = 1;
  for (const std::uint64_t size : sizes) {
    // Sizes of 0 are skipped, because strides are products of the other sizes.
    if (size > 0 && count > kMost / size) return std::nullopt;
    count *= std::max<std::uint64_t>(size, 1);
  }
  return std::find(sizes.begin(), sizes.end(), 0u) == sizes.end() ? count : 0;
}

Tensor read_numbers(Input& input, std::uint64_t at, Stored stored, const Shape& shape) {
  Tensor y = Tensor::empty(shape, loaded_as(stored));
  const std::int64_t n = y.numel();
  const auto same = [](auto x) { return x; };
  const auto wide = [](auto x) { return gemm::widen(x); };
  switch (stored) {
    case Stored::f32:
    case Stored::f64:
    case Stored::i64:
      dispatch(y.dtype(), [&]<class T>() {
        input.read(at, y.mutable_data<T>(), static_cast<std::size_t>(n) * sizeof(T));
      });
      break;
    case Stored::bool_:  // only 0 and 1 are valid bools
      read_converted<std::uint8_t>(input, at, y.mutable_data<bool>(), n,
                                   [](auto x) { return x != 0; });
      break;
    case Stored::f16:
      read_converted<gemm::Float16>(input, at, y.mutable_data<float>(), n, wide);
      break;
    case Stored::bf16:
      read_converted<gemm::BFloat16>(input, at, y.mutable_data<float>(), n, wide);
      break;
    case Stored::i32:
      read_converted<std::int32_t>(input, at, y.mutable_data<std::int64_t>(), n, same);
      break;
    case Stored::u8:
      read_converted<std::uint8_t>(input, at, y.mutable_data<std::int64_t>(), n, same);
      break;
    case Stored::q8_0:
    case Stored::q4_0:
    case Stored::q4_1:
      read_blocks(input, at, stored, y.mutable_data<float>(), n);
      break;
  }
  return y;
}

}  // namespace gradus::io
