// Call stacks of a trace without debug information.
#include "gradus/trace/places.h"

#include "gradus/tests/io/files.h"
#include "gradus/tests/support/environment.h"
#include "gradus/tests/trace/tape.h"

namespace gradus::testing {

TEST_CASE("without debug information, the same calls share one stack") {
  const NoPrograms quick;
  trace::Places places;
  trace::Id ids[3];
  for (trace::Id& each : ids) each = places.here();
  CHECK(ids[0] == 0);
  CHECK(ids[1] == ids[2]);
  const Json all = Json::parse("{" + places.json() + "}");
  CHECK(all.at("frames").at("rows").empty());
  CHECK(all.at("stacks").at("rows").at(0) == Json({nullptr, nullptr, Json::array()}));
}

}  // namespace gradus::testing
