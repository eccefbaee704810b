#include <csignal>
#include <string>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/io/checkpoint.h"
#include "gradus/io/crc32.h"
#include "gradus/io/safetensors.h"
#include "gradus/tests/io/files.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace gradus::testing::test_checkpoint {
namespace {

io::Checkpoint sample() {
  seed(11);
  return {{{"model.weight", randn({5, 3}, Dtype::f32)},
           {"model.bias", Tensor::empty({0}, Dtype::f32)},
           {"optimizer.weight.m", randn({5, 3}, Dtype::f64)},
           {"optimizer.step", indices({41})}},
          {{"step", "41"}, {"random", "{\"seed\":11,\"position\":2}"}, {"config", ""}}};
}

std::string fault(const std::string& path) {
  return message_of<FileError>([&] { io::load_checkpoint(path); });
}

}  // namespace

TEST_CASE("crc32 equals that of zip, in one piece and in several") {
  CHECK(io::crc32("123456789", 9) == 0xCBF43926u);
  CHECK(io::crc32("6789", 4, io::crc32("12345", 5)) == 0xCBF43926u);
  CHECK(io::crc32("", 0) == 0);
}

TEST_CASE("checkpoint: every flipped bit is detected") {
  const Folder folder;
  const io::Checkpoint saved = sample();
  io::save_checkpoint(folder / "checkpoint", saved);
  const std::string bytes = read_bytes(folder / "checkpoint");
  int by_checksum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    write_bytes(folder / "damaged", damaged);
    INFO("byte " << i);
    try {
      // Only harmless changes, such as different blanks in JSON, may load.
      const io::Checkpoint loaded = io::load_checkpoint(folder / "damaged");
      CHECK(loaded.facts == saved.facts);
      for (const auto& [name, tensor] : saved.tensors) CHECK(same(loaded.tensors.at(name), tensor));
    } catch (const FileError& e) {
      by_checksum += contains(e.what(), "checksum") ? 1 : 0;
    }
  }
  // The checksum detects at least a change in any byte of the values.
  CHECK(by_checksum > 5 * 3 * 12);
}

TEST_CASE("checkpoint: a file truncated anywhere is rejected") {
  const Folder folder;
  io::save_checkpoint(folder / "checkpoint", sample());
  const std::string bytes = read_bytes(folder / "checkpoint");
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    INFO("first " << n << " bytes");
    write_bytes(folder / "cut", bytes.substr(0, n));
    CHECK_THROWS_AS(io::load_checkpoint(folder / "cut"), FileError);
  }
}

TEST_CASE("checkpoint: the error for another file states the missing part") {
  const Folder folder;
  CHECK(contains(fault(folder / "none"), folder / "none"));
  io::save_safetensors(folder / "model.safetensors", {{"w", tensor({1, 2})}});
  CHECK(contains(fault(folder / "model.safetensors"),
                 "not a checkpoint of a training run: its metadata has no"));
  io::save_safetensors(folder / "newer", {}, {{"gradus.checkpoint", "2"}});
  CHECK(contains(fault(folder / "newer"), "the checkpoint has format \"2\""));
  io::save_safetensors(folder / "unsure", {}, {{"gradus.checkpoint", "1"}});
  CHECK(contains(fault(folder / "unsure"), "checksum"));
}

TEST_CASE("checkpoint: a failed save keeps the old file") {
  const Folder folder;
  io::save_checkpoint(folder / "checkpoint", sample());
  const auto rejection = [&](const io::Checkpoint& checkpoint) {
    const std::string message =
        message_of<ValueError>([&] { io::save_checkpoint(folder / "checkpoint", checkpoint); });
    CHECK(io::load_checkpoint(folder / "checkpoint").facts == sample().facts);
    return message;
  };
  CHECK(contains(rejection({{}, {{"format", "x"}}}), "the fact \"format\""));
  CHECK(contains(rejection({{}, {{"gradus.crc32", "x"}}}), "the fact \"gradus.crc32\""));
  CHECK(contains(rejection({{}, {{"x", "\xFF"}}}), "not UTF-8"));
  CHECK(contains(rejection({{{"w", Tensor()}}, {}}), "tensor \"w\" is undefined"));
  CHECK_THROWS_AS(io::save_checkpoint(folder / "no/folder", sample()), FileError);
}

#if defined(__unix__) || defined(__APPLE__)
TEST_CASE("checkpoint: kill -9 at any moment leaves a complete file") {
  const Folder folder;
  const std::string path = folder / "checkpoint";
  io::Checkpoint checkpoint{{{"w", Tensor::empty({20000}, Dtype::f64).fill_(0)}}, {{"step", "0"}}};
  for (unsigned round = 0; round < 20; ++round) {
    int saved[2] = {};  // the child reports the first step through a pipe
    REQUIRE(pipe(saved) == 0);
    int step = 0;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    while (child == 0) {
      ++step;
      std::fill_n(checkpoint.tensors.at("w").mutable_data<double>(), 20000, step);
      checkpoint.facts["step"] = std::to_string(step);
      try {
        io::save_checkpoint(path, checkpoint);
      } catch (...) {
        _exit(1);
      }
      if (step == 1 && write(saved[1], "1", 1) != 1) _exit(1);
    }
    close(saved[1]);
    char byte = 0;
    CHECK(read(saved[0], &byte, 1) == 1);
    close(saved[0]);
    usleep(100 + 700 * round);
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    const io::Checkpoint found = io::load_checkpoint(path);
    const double found_step = std::stod(found.facts.at("step"));
    CHECK(found_step >= 1);
    CHECK((found.tensors.at("w").to_vector<double>() == std::vector<double>(20000, found_step)));
  }
}
#endif

}  // namespace gradus::testing::test_checkpoint
