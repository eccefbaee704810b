#include <clocale>
#include <string>
#include <vector>

#include "gradus/io/csv.h"
#include "gradus/ops/members.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/refusal.h"

namespace gradus::testing::test_csv {
namespace {

using Names = std::vector<std::string>;

io::Table parse(const std::string& text) { return io::parse_csv(text, "t.csv", Dtype::f64); }

std::string fault(const std::string& text) {
  return message_of<FileError>([&] { parse(text); });
}

Tensor doubles(const std::vector<double>& values, const Shape& shape) {
  return tensor(values, shape);
}

}  // namespace

TEST_CASE("csv: column names are recognized") {
  const io::Table named = parse("x,y, label\n1,2.5,-3\n+4,5e-1,6\n");
  CHECK((named.columns == Names{"x", "y", "label"}));
  CHECK(same(named.values, doubles({1, 2.5, -3, 4, 0.5, 6}, {2, 3})));
  const io::Table plain = parse("1,2\n3,4");
  CHECK(plain.columns.empty());
  CHECK(same(plain.values, doubles({1, 2, 3, 4}, {2, 2})));
  const io::Table only_names = parse("x,y\n");
  CHECK(same(only_names.values, doubles({}, {0, 2})));
}

TEST_CASE("csv: byte order marks, quotes and blanks from spreadsheets are skipped") {
  const io::Table table =
      parse("\xEF\xBB\xBF\"x, first\" ,\"say \"\"y\"\"\"\r\n 1 ,\t\"2\"\r\n\r\n \r\n");
  CHECK((table.columns == Names{"x, first", "say \"y\""}));
  CHECK(same(table.values, doubles({1, 2}, {1, 2})));
}

TEST_CASE("csv: an error is reported with its line and column") {
  CHECK(contains(fault(""), "t.csv: the file is empty"));
  CHECK(contains(fault("\n \r\n"), "the file is empty"));
  CHECK(contains(fault("x,y\n1,2\n3,abc\n"), "t.csv: line 3, column 2: \"abc\""));
  CHECK(contains(fault("1,2\n3,\n"), "line 2, column 2: \"\""));
  CHECK(contains(fault("1,2\n\n3,4\n"), "line 2 has 1 fields, but the first line has 2"));
  CHECK(contains(fault("x,y\n1,2,3\n"), "line 2 has 3 fields, but the first line has 2"));
  // "x" is a column name, but 7 is not.
  CHECK(contains(fault("x,7\n1,2\n"), "line 1, column 1: \"x\""));
  CHECK(contains(fault("1,2\n1e400,2\n"), "line 2, column 1: \"1e400\""));
  CHECK(contains(fault("1,2\n1.5.2,2\n"), "\"1.5.2\""));
  CHECK(contains(fault("1,2\n0x10,2\n"), "\"0x10\""));
  CHECK(contains(fault("1,2\n+-1,2\n"), "\"+-1\""));
  CHECK(contains(fault("x,\"y\n1,2\n"), "line 1, column 2: a quoted field must end"));
  CHECK(contains(fault("\"x\"z,y\n1,2\n"), "line 1, column 1: a quoted field must end"));
  CHECK_THROWS_AS(io::parse_csv("1\n", "t.csv", Dtype::i64), DtypeError);
}

TEST_CASE("csv: the decimal point does not depend on the locale") {
  // Skips locales that are not installed.
  for (const char* name : {"C", "de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    const Folder folder;
    io::save_csv(folder / "t.csv", {{}, doubles({1.5, 1234567.25}, {1, 2})});
    CHECK(read_bytes(folder / "t.csv") == "1.5,1234567.25\n");
    CHECK(same(parse("1.5,2\n").values, doubles({1.5, 2}, {1, 2})));
  }
  std::setlocale(LC_ALL, "C");
}

TEST_CASE("csv: unsuitable tensors and unreadable files are rejected") {
  const Folder folder;
  const Tensor values = doubles({1, 2}, {1, 2});
  const auto save = [&](const Names& columns, const Tensor& x) {
    io::save_csv(folder / "t.csv", {columns, x});
  };
  CHECK_THROWS_AS(save({"x"}, values), ShapeError);
  CHECK_THROWS_AS(save({}, tensor({1, 2})), ShapeError);
  CHECK_THROWS_AS(save({}, Tensor()), ShapeError);
  CHECK_REFUSES(ValueError, save({"x", "7"}, values), "\"7\"");
  CHECK_THROWS_AS(save({"x", "a\nb"}, values), ValueError);
  CHECK(!std::filesystem::exists(folder / "t.csv"));
  CHECK_THROWS_AS(io::load_csv(folder / "none.csv"), FileError);
  CHECK_THROWS_AS(io::load_csv(folder / ""), FileError);
}

TEST_CASE("csv: a table is written as the documented text") {
  const Folder folder;
  const auto written = [&](const Names& columns, const Tensor& values) {
    io::save_csv(folder / "t.csv", {columns, values});
    return read_bytes(folder / "t.csv");
  };
  const Tensor flags = doubles({1, 0, 0, 1}, {2, 2}).to(Dtype::bool_);
  CHECK(written({}, flags) == "1,0\n0,1\n");
  CHECK(written({"a", "b c"}, flags) == "a,\"b c\"\n1,0\n0,1\n");
  CHECK(written({"", "+-7"}, doubles({1, 2}, {1, 2})) == "\"\",+-7\n1,2\n");
  CHECK(written({}, doubles({}, {0, 3})).empty());
  CHECK(written({}, indices({3, -4}).view({1, 2})) == "3,-4\n");
}

TEST_CASE("csv: a plus sign is accepted only before a number") {
  CHECK(same(parse("+1,+.5,+1e2").values, doubles({1, 0.5, 100}, {1, 3})));
  for (const std::string text : {"+", "++1", "+-1", "-", "+ 1", "-+1"}) {
    CHECK(contains(fault("1\n" + text), "line 2"));
    CHECK(parse(text + "\n1").columns == Names{text});
  }
  CHECK(parse("a, ,\"\"\n1,2,3").columns == Names{"a", "", ""});
  CHECK(parse("\"a\"\"\",\"\"\"\"\n1,2").columns == Names{"a\"", "\""});
  CHECK(contains(fault("\"a"), "a quoted field must end"));
  CHECK(contains(fault("\"a\"\""), "a quoted field must end"));
}

}  // namespace gradus::testing::test_csv
