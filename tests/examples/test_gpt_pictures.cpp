#include <algorithm>
#include <string>

#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_gpt_pictures {
namespace {

const std::string kQuick = kSmall + "--no-trial --steps 4 --eval-every 2 ";

TEST_CASE("gpt attend draws all heads on a page, or one as a picture") {
  const Workplace here;
  REQUIRE(here.gpt("train text.txt --out run " + kQuick).code == 0);
  Outcome done = here.gpt("attend run --prompt 'the cat'");
  CAPTURE(done.err);
  CHECK(done.code == 0);
  CHECK(has(done.out, "attention: run/attention.html"));
  const std::string page = contents(here.directory / "run/attention.html");
  CHECK(has(page, "blocks.0.attention"));
  CHECK(has(page, "\"T\":[\"t\",\"h\",\"e\",\" \",\"c\",\"a\",\"t\"]"));
  CHECK(here.gpt("attend run --prompt 'the cat' --out a.svg --head 1").code == 0);
  CHECK(has(contents(here.directory / "a.svg"), "blocks.0.attention, head 1"));
  CHECK(here.gpt("attend run --prompt 'the cat' --out b.svg --head 0").code == 0);
  CHECK(contents(here.directory / "a.svg") != contents(here.directory / "b.svg"));
  const std::string first = contents(here.directory / "b.svg");
  done = here.gpt("attend run --prompt 'the cat' --out c.png");
  CHECK(done.code == 0);
  CHECK(done.out == "attention: c.svg\n");
  CHECK(done.err.find("gpt: an SVG is written instead of a PNG") == 0);
  CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
  CHECK(contents(here.directory / "c.svg") == first);
  CHECK_FALSE(fs::exists(here.directory / "c.png"));

  check_refused(here.gpt("attend run --prompt x --out a.gif"), {"a.gif", ".html", ".svg"});
  check_refused(here.gpt("attend run --prompt x --head 1"), {"--head", "--out FILE.svg"});
  check_refused(here.gpt("attend run --prompt ''"), {"--prompt is empty"});
  check_refused(here.gpt("attend run --prompt 'the cat sat'"), {"11 tokens", "context is 8"});
  check_refused(here.gpt("attend run --prompt the --out a.svg --layer 1"), {"--layer 1", "0 to 0"});
  check_refused(here.gpt("attend run --prompt the --out a.svg --head 2"), {"--head 2", "0 to 1"});
  check_refused(here.gpt("attend nowhere --prompt x"), {"nowhere", "settings.json"});
  check_refused(here.gpt("attend run"), {"--prompt"});
}

TEST_CASE("the loss curve is drawn at the end, after Ctrl-C, and for entire resumed runs") {
  const Workplace here;
  const Outcome stopped = here.shell(
      Workplace::program() + " train text.txt --out run --steps 100000 --eval-every 100 " + kSmall +
      "& p=$!; " + until("[ -s run/model.safetensors ]") + "kill -INT $p; wait $p");
  CHECK(stopped.code == 130);
  CHECK(has(stopped.out, "loss curve: run/loss.svg"));
  CHECK(has(contents(here.directory / "run/loss.svg"), "training"));
  REQUIRE(here.gpt("train text.txt --out short " + kQuick).code == 0);
  const std::string drawn = contents(here.directory / "short/loss.svg");
  CHECK(has(drawn, "<title>short</title>"));
  CHECK(has(drawn, "loss, nats per character"));
  CHECK(has(drawn, " at step 4</text>"));
  fs::remove(here.directory / "short/loss.svg");
  REQUIRE(here.gpt("train --resume --out short").code == 0);
  CHECK(contents(here.directory / "short/loss.svg") == drawn);
}

}  // namespace
}  // namespace gradus::testing::test_gpt_pictures
