#include <cmath>
#include <string>

#include "gradus/engine/base/error.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/thrown.h"

using gradus::testing::message_of;

TEST_CASE("require throws the given type with its message parts joined") {
  const auto wrong = [] {
    gradus::require<gradus::ShapeError>(false, "add: ", 2, " and ", 3.5, " differ");
  };
  CHECK_THROWS_AS(wrong(), gradus::ShapeError);
  CHECK(message_of<gradus::Error>(wrong) == "add: 2 and 3.5 differ");
  CHECK_NOTHROW(gradus::require(true, "not built"));
  CHECK_THROWS_AS(gradus::require(false, "a value"), gradus::ValueError);
}

TEST_CASE("every type of error is an Error and a std::runtime_error") {
  CHECK_THROWS_AS(gradus::fail<gradus::DtypeError>("x"), gradus::Error);
  CHECK_THROWS_AS(gradus::fail<gradus::IndexError>("x"), gradus::Error);
  CHECK_THROWS_AS(gradus::fail<gradus::GraphError>("x"), gradus::Error);
  CHECK_THROWS_AS(gradus::fail<gradus::MemoryError>("x"), gradus::Error);
  CHECK_THROWS_AS(gradus::fail<gradus::FileError>("x"), std::runtime_error);
}

TEST_CASE("a message ends with the path of the layer that is running") {
  const auto before = gradus::error_context.load();
  const auto wrong = [] { gradus::fail<gradus::ValueError>("p is 2"); };
  gradus::error_context = [] { return std::string("encoder.blocks.0"); };
  CHECK(message_of<gradus::Error>(wrong) == "p is 2 (in encoder.blocks.0)");
  gradus::error_context = [] { return std::string(); };
  CHECK(message_of<gradus::Error>(wrong) == "p is 2");
  gradus::error_context = nullptr;
  CHECK(message_of<gradus::Error>(wrong) == "p is 2");
  gradus::error_context = before;
}

TEST_CASE("numbers in messages ignore the user's locale") {
  struct Grouped : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouped));
  const std::string written = gradus::str_cat(1234567);
  std::locale::global(before);
  CHECK(written == "1234567");
}
