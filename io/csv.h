// Tables of numbers as CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/ops/create.h"

namespace gradus::io {

/// A table of numbers with optional column names.
struct Table {
  std::vector<std::string> columns;  // empty without a header line
  Tensor values;                     // [rows, columns]
};

/// The first line names the columns if none of its fields is a number. Fields may be quoted. Skips
/// surrounding blanks, CR, final empty lines and a byte order mark. Locale-independent. Throws
/// FileError, with line and column, for an empty file, fields that are not numbers, or a wrong
/// number of them. Throws DtypeError unless f32 or f64.
Table load_csv(const std::string& path, Dtype dtype = default_dtype());
Table parse_csv(std::string_view text, const std::string& name, Dtype dtype = default_dtype());

/// Writes atomically; reading gives the same bits. Throws ShapeError unless values have two axes
/// and columns no names or one each. Throws ValueError for a name that is a number or several
/// lines.
void save_csv(const std::string& path, const Table& table);

}  // namespace gradus::io
