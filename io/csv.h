#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/ops/create.h"

namespace gradus::io {

/// A table of numbers with optional column names.
struct Table {
  std::vector<std::string> columns;  // empty if there is no header line
  Tensor values;                     // [rows, columns]
};

/// Reads a table. The first line contains column names if none of its fields is a number. Fields
/// may be quoted. Skips blanks around fields, CR, empty lines at the end and a byte order mark.
/// Locale-independent. Throws FileError, with line and column, for an empty file, a field that is
/// not a number, or a wrong number of fields. Throws DtypeError unless `dtype` is f32 or f64.
Table load_csv(const std::string& path, Dtype dtype = default_dtype());
Table parse_csv(std::string_view text, const std::string& name, Dtype dtype = default_dtype());

/// Writes a table atomically; reading the file returns the same bits. Throws ShapeError unless
/// `values` has two axes and `columns` is empty or has one name per column. Throws ValueError if a
/// name is a number or contains a line break.
void save_csv(const std::string& path, const Table& table);

}  // namespace gradus::io
