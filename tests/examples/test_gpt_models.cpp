#include <algorithm>
#include <string>

#include "gradus/tests/examples/gpt_program.h"

namespace gradus::testing::test_gpt_models {
namespace {

const std::string kOther = "--kv-heads 1 --window 5 --activation swiglu --checkpoint ";
/// Flags that select GPT-2's architecture.
const std::string kFirst =
    "--positions learned --norm layer --qk-norm=false --bias --zero-init=false --optimizer adamw ";

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("gpt trains, describes and uses a model other than GPT-2") {
  const Workplace here;
  const std::string train =
      "train text.txt --steps 60 --eval-every 20 --dropout 0.1 " + kSmall + kOther + "--out ";
  const Outcome whole = here.gpt(train + "whole");
  CAPTURE(whole.err);
  REQUIRE(whole.code == 0);
  const std::string what =
      ", rotary positions, 1 key head, a window of 5, rms norm, q/k norm, no biases, swiglu, "
      "gradient checkpointing";
  CHECK(holds(whole.out + whole.err, "context 8" + what));
  CHECK(holds(here.gpt("info whole").out, "dropout 0.1" + what));

  const std::string weights = contents(here.directory / "whole/model.safetensors");
  CHECK_FALSE(holds(weights, "\"position.weight\""));  // positions are rotary
  CHECK_FALSE(holds(weights, "\"norm.bias\""));        // the norm is rms
  CHECK(holds(weights,
              "\"blocks.0.attention.qkv_proj.weight\":{\"dtype\":\"F32\",\"shape\":[32,16]"));
  CHECK(
      holds(weights, "\"blocks.0.feed_forward.up.weight\":{\"dtype\":\"F32\",\"shape\":[128,16]"));

  const Outcome sampled =
      here.gpt("sample whole --prompt 'the ' --tokens 30");  // more tokens than its context
  CHECK(sampled.code == 0);
  CHECK(sampled.out.size() > 30);
  CHECK(holds(here.gpt("eval whole text.txt").out, "nats"));
  CHECK(here.gpt("attend whole --prompt 'the cat' --out map.svg --head 1").code == 0);
}

TEST_CASE("gpt validates model flags and requires them to agree with a resumed run") {
  const Workplace here;
  const std::string train = "train text.txt --steps 3 --no-trial " + kSmall + "--out ";
  check_refused(here.gpt(train + "a --positions sundial"), {"--positions \"sundial\"", "alibi"});
  check_refused(here.gpt(train + "a --norm batch"), {"--norm \"batch\"", "layer, rms"});
  check_refused(here.gpt(train + "a --activation step"), {"--activation \"step\"", "swiglu"});
  check_refused(here.gpt("train text.txt --out a --width 6 --heads 2 --positions rotary"),
                {"--positions rotary", "odd"});
  CHECK_FALSE(fs::exists(here.directory / "a"));

  REQUIRE(here.gpt(train + "plain").code == 0);
  const std::string resume = "train --resume --out plain ";
  check_refused(here.gpt(resume + "--positions alibi"), {"--positions alibi", "rotary"});
  check_refused(here.gpt(resume + "--kv-heads 1"), {"--kv-heads 1", "plain, which has 2"});
  check_refused(here.gpt(resume + "--window 4"), {"--window 4", "which has 0"});
  check_refused(here.gpt(resume + "--norm layer"), {"--norm layer", "rms"});
  check_refused(here.gpt(resume + "--bias"), {"--bias", "without it"});
  check_refused(here.gpt(resume + "--optimizer adamw"), {"--optimizer adamw", "muon"});
  check_refused(here.gpt(resume + "--activation relu"), {"--activation relu", "gelu"});
  check_refused(here.gpt(resume + "--checkpoint"), {"--checkpoint", "without it"});
  CHECK(here.gpt(resume + "--positions rotary --kv-heads 2 --window 0 --norm rms").code == 0);

  for (const char* kind : {"alibi", "relative"}) {
    INFO(kind);
    const std::string out = std::string(kind) + " --positions " + kind;
    REQUIRE(here.gpt(train + out).code == 0);
    CHECK(here.gpt(std::string("sample ") + kind + " --tokens 20").code == 0);
  }
}

TEST_CASE("gpt reads old runs without model options") {
  const Workplace here;
  REQUIRE(
      here.gpt("train text.txt --steps 30 --eval-every 10 --no-trial --out run " + kSmall + kFirst)
          .code == 0);
  const std::string settings = contents(here.directory / "run/settings.json");
  const std::string sample = "sample run --prompt 'the ' --tokens 20";
  const Outcome now = here.gpt(sample), info = here.gpt("info run");
  const std::string names =
      "/positions\\|kv_heads\\|window\\|\"norm\"\\|activation\\|\"checkpoint\\|qk_norm\\|\"bias\\|"
      "zero_init\\|optimizer/d";
  REQUIRE(here.shell("sed -i '" + names + "' run/settings.json").code == 0);
  const std::string older = contents(here.directory / "run/settings.json");
  CHECK(std::count(older.begin(), older.end(), '\n') ==
        std::count(settings.begin(), settings.end(), '\n') - 10);
  CHECK(here.gpt(sample).out == now.out);
  CHECK(now.code == 0);
  CHECK(here.gpt("info run").out.substr(0, info.out.find("files\n")) ==
        info.out.substr(0, info.out.find("files\n")));
  CHECK(here.gpt("train --threads 1 --resume --out run").code == 0);
  CHECK(here.gpt("train --threads 1 --resume --out run --kv-heads 2 --norm layer").code == 0);
}

}  // namespace gradus::testing::test_gpt_models
