#include "gradus/io/csv.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/number_text.h"
#include "gradus/engine/strided.h"
#include "gradus/io/output_file.h"
#include "gradus/io/text.h"

namespace gradus::io {
namespace {

std::string_view trimmed(std::string_view field) {
  const std::size_t first = std::min(field.find_first_not_of(" \t\r"), field.size());
  field.remove_prefix(first);
  return field.substr(0, field.find_last_not_of(" \t\r") + 1);
}

/// Removes the first field from `rest` and returns it. Within quotes, commas are literal and "" is
/// a quote. Returns nothing unless quotes close before a comma or the end.
std::optional<std::string> take_field(std::string_view& rest) {
  std::string field;
  const std::size_t first = std::min(rest.find_first_not_of(" \t"), rest.size());
  if (!rest.substr(first).starts_with('"')) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    field = trimmed(rest.substr(0, end));
    rest.remove_prefix(end);
  } else {
    rest.remove_prefix(first + 1);
    for (std::size_t end = rest.find('"');; end = rest.find('"')) {
      if (end == std::string_view::npos) return std::nullopt;
      field += rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (!rest.starts_with('"')) break;
      field += '"';
      rest.remove_prefix(1);
    }
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r"), rest.size()));
    if (!rest.empty() && rest.front() != ',') return std::nullopt;
  }
  return field;
}

std::vector<std::string> fields_of(std::string_view line, std::size_t number,
                                   const std::string& name) {
  std::vector<std::string> fields;
  for (;;) {
    const auto field = take_field(line);
    if (!field)
      fail<FileError>(name, ": line ", number, ", column ", fields.size() + 1,
                      ": a quoted field must end with a quote before the next comma");
    fields.push_back(*field);
    if (line.empty()) return fields;
    line.remove_prefix(1);
  }
}

std::optional<double> number_in(std::string_view field) {
  if (field.size() > 1 && field[0] == '+' && field[1] != '-') field.remove_prefix(1);
  return parse_double(field);
}

bool is_number(const std::string& field) { return number_in(field).has_value(); }

std::string field_of(const std::string& column) {
  require(!is_number(column) && column.find_first_of("\r\n") == std::string::npos,
          "save_csv: the column name ", quote(column), " must be a single line and not a number");
  // EF begins a UTF-8 byte order mark.
  const bool plain = column.find_first_of("\", \t\xEF") == std::string::npos;
  if (plain && !column.empty()) return column;
  std::string field = "\"";
  for (const char c : column) field.append(c == '"' ? 2 : 1, c);
  return field + '"';
}

}  // namespace

Table parse_csv(std::string_view text, const std::string& name, Dtype dtype) {
  require<DtypeError>(is_float(dtype), name, ": the dtype of a table must be f32 or f64, got ",
                      dtype);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  require<FileError>(!text.empty(), name, ": the file is empty; expected lines of numbers");
  Table table;
  std::vector<double> values;
  std::size_t columns = 0, rows = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string> fields = fields_of(text.substr(0, end), number, name);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (columns == 0) {
      columns = fields.size();
      if (std::none_of(fields.begin(), fields.end(), is_number)) {
        table.columns = fields;
        continue;
      }
    }
    if (fields.size() != columns)
      fail<FileError>(name, ": line ", number, " has ", fields.size(),
                      " fields, but the first line has ", columns);
    for (std::size_t j = 0; j < columns; ++j) {
      const auto value = number_in(fields[j]);
      if (!value)
        fail<FileError>(name, ": line ", number, ", column ", j + 1, ": ", quote(fields[j]),
                        " is not a number that fits in a double");
      values.push_back(*value);
    }
    ++rows;
  }
  const Shape shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
  table.values = kernel::convert(tensor(values, shape), dtype);
  return table;
}

Table load_csv(const std::string& path, Dtype dtype) {
  return parse_csv(read_text(path), path, dtype);
}

void save_csv(const std::string& path, const Table& table) {
  require<ShapeError>(table.values.rank() == 2, "save_csv: ", path,
                      ": the values must have two axes, rows and columns");
  const std::int64_t rows = table.values.size(0), columns = table.values.size(1);
  const auto names = static_cast<std::int64_t>(table.columns.size());
  require<ShapeError>(names == 0 || names == columns, "save_csv: ", path, ": ", names,
                      " names were given for ", columns, " columns");
  std::string out;
  for (const std::string& column : table.columns)
    out += (out.empty() ? "" : ",") + field_of(column);  // never empty
  if (names > 0) out += '\n';
  dispatch(table.values.dtype(), [&]<class T>() {
    const Tensor packed = kernel::contiguous(table.values);
    const T* value = packed.data<T>();
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        if (j > 0) out += ',';
        if constexpr (std::is_floating_point_v<T>)
          append_shortest(out, *value++);
        else
          out += std::to_string(*value++);
      }
      out += '\n';
    }
  });
  write_file_atomically(path, out.data(), out.size());
}

}  // namespace gradus::io
