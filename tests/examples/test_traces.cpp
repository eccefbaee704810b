#include <nlohmann/json.hpp>
#include <string>

#include "gradus/io/crc32.h"
#include "gradus/tests/examples/gpt_program.h"

namespace gradus::testing::test_traces {
namespace {

using Json = nlohmann::json;

std::string tape_of(const std::string& page) {
  const std::size_t at = page.find('>', page.find("id=\"tape\"")) + 1;
  return page.substr(at, page.find("</script>", at) - at);
}

TEST_CASE("a lesson writes a page of its first backward pass") {
  const Workplace here;
  const std::string lesson = std::string(GRADUS_BINARY_DIR) + "/10_attention";
  const Outcome plain = here.shell(lesson), traced = here.shell("GRADUS_TRACE=x.html " + lesson);
  CHECK(traced.code == 0);
  CHECK(traced.out == plain.out);
  CHECK(traced.err == "gradus: trace of step 1: x.html\n");
  const std::string page = contents(here.directory / "x.html"), text = tape_of(page);
  CHECK(page.size() <= 300'000);
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", io::crc32(text.data(), text.size()));
  CHECK(page.find("data-crc32=\"" + std::string(sum) + "\"") != page.npos);
  const Json tape = Json::parse(text);
  CHECK(tape.at("attention").size() == 1);
  CHECK(tape.at("meta").at("title") == "10_attention");
  CHECK(tape.at("walks").at("rows").size() == 1);
}

TEST_CASE("a training run writes the page of the requested step") {
  const Workplace here;
  const std::string train =
      "train text.txt --layers 2 --width 16 --heads 2 --context 8 --batch 4 --threads 1 "
      "--no-trial --steps 3 --out ";
  const Outcome plain = here.gpt(train + "a");
  const Outcome traced =
      here.shell("GRADUS_TRACE=x.html GRADUS_TRACE_STEP=2 " + here.program() + " " + train + "b");
  CHECK(traced.code == 0);
  CHECK(contents(here.directory / "a" / "model.safetensors") ==
        contents(here.directory / "b" / "model.safetensors"));
  const Json tape = Json::parse(tape_of(contents(here.directory / "x.html")));
  CHECK(tape.at("meta").at("step") == 2);
  CHECK(tape.at("updates").at("rows").size() > 10);
  CHECK(tape.at("attention").size() == 2);
  CHECK(tape.at("failure").is_null());
}

TEST_CASE("if no page can be written, the program continues with a one-line warning") {
  const Workplace here;
  const std::string lesson = std::string(GRADUS_BINARY_DIR) + "/01_neuron";
  const Outcome plain = here.shell(lesson);
  for (const std::string path : {"/dev/full", "no/folder/x.html"}) {
    const Outcome traced = here.shell("GRADUS_TRACE=" + path + " " + lesson);
    CHECK(traced.code == plain.code);
    CHECK(traced.out == plain.out);
    CHECK(traced.err.find("gradus: GRADUS_TRACE: cannot write " + path) == 0);
    CHECK(std::count(traced.err.begin(), traced.err.end(), '\n') == 1);
  }
  const Outcome late = here.shell("GRADUS_TRACE=x.html GRADUS_TRACE_STEP=999999 " + lesson);
  CHECK(late.err.find("GRADUS_TRACE_STEP is 999999, but the program made only ") != late.err.npos);
  CHECK(late.out == plain.out);
}

TEST_CASE("gradus-trace finds the first differing value") {
  const Workplace here;
  const std::string bin = GRADUS_BINARY_DIR, diff = bin + "/gradus-trace diff ";
  for (const std::string page : {"a", "b"})
    here.shell("GRADUS_TRACE=" + page + ".html " + bin + "/10_attention");
  Outcome same = here.shell(diff + "a.html b.html");
  CHECK(same.code == 0);
  CHECK(same.out.find("no difference in ") == 0);

  // Changes a value and updates its checksum.
  std::string page = contents(here.directory / "b.html"), text = tape_of(page);
  Json tape = Json::parse(text);
  const std::size_t out = tape["ops"]["rows"].back()[2];
  const std::size_t value = tape["tensors"]["rows"][out][2];
  std::string numbers = tape["values"][value]["f64"];
  const std::size_t at = text.find(numbers);
  REQUIRE(at != text.npos);
  numbers[numbers.size() - 4] = numbers[numbers.size() - 4] == 'B' ? 'C' : 'B';
  page.replace(page.find(text) + at, numbers.size(), numbers);
  here.write("c.html", page);
  const Outcome changed = here.shell(diff + "a.html c.html");
  CHECK(changed.code == 2);
  CHECK(changed.err.find("c.html: its checksum is ") != changed.err.npos);
  char before[9], after[9];
  std::snprintf(before, sizeof before, "%08x", io::crc32(text.data(), text.size()));
  text.replace(at, numbers.size(), numbers);
  std::snprintf(after, sizeof after, "%08x", io::crc32(text.data(), text.size()));
  page.replace(page.find(before), 8, after);
  here.write("c.html", page);
  const Outcome other = here.shell(diff + "a.html c.html");
  CHECK(other.code == 1);
  CHECK(other.out.find("first difference: ") == 0);
  CHECK(other.out.find("values differ") != other.out.npos);

  CHECK(here.shell(diff + "a.html none.html").code == 2);
  here.write("empty.html", "nothing");
  CHECK(here.shell(diff + "a.html empty.html").err ==
        "gradus-trace: empty.html: contains no trace\n");
  CHECK(here.shell(bin + "/gradus-trace").code == 2);
}

}  // namespace
}  // namespace gradus::testing::test_traces
