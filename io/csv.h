// Tables of numbers as comma-separated text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gradus/ops/create.h"

namespace gradus::io {

struct Table {
  std::vector<std::string> columns;  // empty where the file has no line of names
  Tensor values;                     // [rows, columns]
};

/// The first line names the columns if no field of it is a number. Fields may be in double quotes;
/// blanks around them, CR before a line end, empty lines at the end and a byte order mark are
/// skipped. A dot is the decimal point in every locale. FileError names line and column: not a
/// number, too many or too few fields, nothing there. DtypeError unless f32 or f64.
Table load_csv(const std::string& path, Dtype dtype = default_dtype());
Table parse_csv(std::string_view text, const std::string& name, Dtype dtype = default_dtype());

/// Numbers are written so that reading gives the same bits; whole or not at all. ShapeError unless
/// the values have two axes, and a name for each column or none at all. ValueError for a name that
/// would be read as a number, or as two lines.
void save_csv(const std::string& path, const Table& table);

}  // namespace gradus::io
