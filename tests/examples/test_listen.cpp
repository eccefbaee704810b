#include <cmath>
#include <complex>
#include <numbers>
#include <string>

#include "gradus/examples/apps/listen/sounds.h"
#include "gradus/examples/apps/listen/spectrogram.h"
#include "gradus/examples/apps/listen/wav.h"
#include "gradus/ops/create.h"
#include "gradus/ops/members.h"
#include "gradus/tests/examples/gpt_program.h"
#include "gradus/tests/support/refusal.h"
#include "gradus/tests/support/thrown.h"

namespace gradus::testing::test_listen {
namespace {

using examples::kRate;
using examples::kSamples;
using examples::make_sound;
using examples::Sound;
using examples::Voice;

/// Returns the number of upward zero crossings per second.
double crossings(const std::vector<float>& sound, double begin, double end) {
  double count = 0;
  const auto last = static_cast<std::size_t>(end * kRate) - 1;
  for (auto i = static_cast<std::size_t>(begin * kRate); i < last; ++i)
    count += sound[i] <= 0 && sound[i + 1] > 0;
  return count / (end - begin);
}

TEST_CASE("sounds have the pitches of their classes") {
  const Voice voice{.onset = 0.1, .duration = 0.4, .pitch = 500, .ratio = 1.5, .loudness = 0.5};
  const std::vector<float> tone = make_sound(Sound::tone, voice, {});
  REQUIRE(std::ssize(tone) == kSamples);
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const double time = static_cast<double>(i) / kRate - 0.1;
    if (0.01 < time && time < 0.389)  // between the fades
      CHECK(std::abs(tone[static_cast<std::size_t>(i)] -
                     0.5 * std::sin(2 * std::numbers::pi * 500 * time)) < 1e-6);
    if (time < 0 || time > 0.4) CHECK(tone[static_cast<std::size_t>(i)] == 0.0f);
  }
  // One crossing in 0.2 s changes the result by 5 per second.
  const auto pitches = [&](Sound sound, double first, double second) {
    const std::vector<float> samples = make_sound(sound, voice, {});
    CAPTURE(examples::kSoundNames[static_cast<std::size_t>(sound)]);
    CHECK(std::abs(crossings(samples, 0.1, 0.3) - first) <= 5.1);
    CHECK(std::abs(crossings(samples, 0.3, 0.5) - second) <= 5.1);
  };
  // The mean frequency of half a glide is an integral: ∫ f r^(t/d) dt = f d r^(t/d) / ln r.
  const double low = 500 * (std::sqrt(1.5) - 1) / (0.5 * std::log(1.5));
  pitches(Sound::tone, 500, 500);
  pitches(Sound::up, 500, 750);
  pitches(Sound::down, 750, 500);
  pitches(Sound::rise, low, low * std::sqrt(1.5));
  pitches(Sound::fall, low * std::sqrt(1.5), low);
  pitches(Sound::trill, 625, 625);

  const std::vector<float> trill = make_sound(Sound::trill, voice, {});
  CHECK(std::abs(crossings(trill, 0.1, 0.15) - 500) <= 20.1);
  CHECK(std::abs(crossings(trill, 0.15, 0.2) - 750) <= 20.1);
  const std::vector<float> chord = make_sound(Sound::chord, voice, {});
  // 0.1 s + `at` is sample 1216.8, rounded up below.
  const double at = 0.0521, turn = 2 * std::numbers::pi * 500 * at;
  const double here = std::ceil((0.1 + at) * kRate) / kRate - 0.1, angle = turn / at * here;
  CHECK(std::abs(chord[static_cast<std::size_t>(std::lround((0.1 + here) * kRate))] -
                 0.5 / 3 * (std::sin(angle) + std::sin(1.25 * angle) + std::sin(1.5 * angle))) <
        1e-6);
  const std::vector<float> bursts = make_sound(Sound::bursts, voice, {4, 0, 0});
  CHECK(crossings(bursts, 0.11, 0.15) > 1000);
  CHECK(crossings(bursts, 0.151, 0.199) == 0);
}

TEST_CASE("voices stay in their ranges, noise has its deviation, and a seed repeats sounds") {
  for (std::uint32_t i = 0; i < 200; ++i) {
    const Voice voice = examples::random_voice({1, i, 0});
    CHECK((0.3 <= voice.duration && voice.duration < 0.5 && 0 <= voice.onset));
    CHECK(voice.onset + voice.duration <= static_cast<double>(kSamples) / kRate);
    CHECK((300 <= voice.pitch && voice.pitch < 1400 && 1.3 <= voice.ratio && voice.ratio < 2.2));
    CHECK((0.15 <= voice.loudness && voice.loudness < 0.6));
    CHECK((0.02 <= voice.noise && voice.noise < 0.15));
  }
  double squares = 0;
  for (const float x : make_sound(Sound::tone, {.onset = 9, .noise = 0.1}, {2, 0, 0}))
    squares += x * x;
  // The mean of n squared normal values has standard deviation √(2/n).
  CHECK(std::abs(squares / kSamples / 0.01 - 1) < 4 * std::sqrt(2.0 / kSamples));
  const auto numbers = [](const Tensor& x) { return x.to_vector<float>(); };
  CHECK(numbers(examples::make_sounds(3, 5, 1).x) == numbers(examples::make_sounds(3, 5, 1).x));
  CHECK(numbers(examples::make_sounds(3, 5, 1).x) != numbers(examples::make_sounds(3, 5, 2).x));
  CHECK(numbers(examples::make_sounds(3, 6, 1).x) != numbers(examples::make_sounds(3, 5, 1).x));
  CHECK(examples::sound_named("fall") == Sound::fall);
}

TEST_CASE("a spectrogram equals the logarithm of naive Fourier sums") {
  constexpr std::int64_t N = 400, frames = 2;
  std::vector<float> x(2 * N);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(std::sin(0.3 * static_cast<double>(i)) +
                              static_cast<double>((i * i) % 7) / 10);
  const Tensor y = examples::spectrogram(tensor(x, {2, N}));
  REQUIRE(y.shape() == Shape{2, examples::kBands, frames});
  const std::vector<float> found = y.to_vector<float>();
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t band = 0; band < examples::kBands; band += 7)
      for (std::int64_t frame = 0; frame < frames; ++frame) {
        double power = 0;
        for (const std::int64_t pitch : {2 * band + 1, 2 * band + 2}) {
          std::complex<double> sum = 0;
          for (std::int64_t n = 0; n < 256; ++n) {
            const double turn = 2 * std::numbers::pi * static_cast<double>(n) / 256;
            sum += static_cast<double>(x[static_cast<std::size_t>(b * N + frame * 128 + n)]) *
                   (0.5 - 0.5 * std::cos(turn)) * std::polar(1.0, -turn * double(pitch));
          }
          power += std::norm(sum);
        }
        // The bound allows 256 rounding errors of terms below 2, for a power of at least 0.01.
        CHECK(std::abs(
                  found[static_cast<std::size_t>((b * examples::kBands + band) * frames + frame)] -
                  0.5 * std::log(power + 1e-2)) < 2e-3);
      }
  const std::string picture =
      examples::picture_of(y.contiguous().view({2 * 64 * 2}).view({2, 64, 2}));
  CHECK(std::count(picture.begin(), picture.end(), '\n') == 16);
}

std::string file_of(const std::vector<float>& samples, std::int64_t rate = kRate) {
  const Workplace here;
  const std::string path = (here.directory / "x.wav").string();
  examples::write_wav(path, {rate, samples});
  return contents(path);
}

examples::Wav parsed(const std::string& bytes) {
  return examples::parse_wav(std::as_bytes(std::span(bytes)), "x.wav");
}

TEST_CASE("a WAV file has a header of 44 bytes and can be read back") {
  const std::string bytes = file_of({0.5f, -1.0f, 2.0f, -0.25f});
  const std::string head = std::string(
      "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e"
      "\0\0\2\0\x10\0data\x08\0\0\0",
      44);
  CHECK(bytes == head + std::string("\0\x40\0\x80\xff\x7f\0\xe0", 8));
  const examples::Wav wav = parsed(bytes);
  CHECK(wav.rate == kRate);
  CHECK(wav.samples == std::vector<float>{0.5f, -1.0f, 32767.0f / 32768, -0.25f});
  std::string more = bytes;  // the reader must skip a padded chunk of 3 bytes
  more.insert(12, std::string("LIST\3\0\0\0abc\0", 12));
  more[4] = static_cast<char>(bytes.size() + 12 - 8);
  CHECK(parsed(more).samples == wav.samples);
}

TEST_CASE("malformed and unsupported WAV files are rejected with the reason") {
  const std::string good = file_of({0.5f, -0.5f});
  const auto corrupted = [&](std::size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return message_of<FileError>([&] { parsed(bytes); });
  };
  CHECK_REFUSES(FileError, parsed(""), "x.wav", "file");
  CHECK_REFUSES(FileError, parsed(good.substr(0, 47)), "40", "8");
  CHECK(has(corrupted(0, 'X'), "is not a WAV file"));
  CHECK(has(corrupted(8, 'X'), "is a RIFF file, but not a WAV file"));
  CHECK(has(corrupted(20, 3), "has format 3, but only PCM (1) is supported"));
  CHECK(has(corrupted(22, 2), "has 2 channels, but must have one"));
  CHECK(has(corrupted(34, 8), "has 8 bits per sample, but must have 16"));
  CHECK(has(corrupted(32, 4), "contradict 16000 bytes per second and 4 per sample"));
  CHECK(has(corrupted(28, 0), "8000 samples of 2 bytes per second contradict"));
  CHECK(has(corrupted(16, 15), "truncated"));
  CHECK(has(corrupted(40, 5), "48 bytes"));
  CHECK(has(corrupted(40, 3), "3 bytes of sound are not samples of 2 bytes each"));
  CHECK(has(corrupted(36, 'X'), "contains no sound, as it has no \"data\" chunk"));
  CHECK(has(corrupted(12, 'X'), "must have one \"fmt \" chunk, then one \"data\" chunk"));
}

const std::string kListen = "'" GRADUS_BINARY_DIR "/listen' ";
const std::string kTiny =
    "--threads 1 --tested 200 --steps 9 --eval-every 3 --batch 4 --layers 1 --heads 2 --width 8 ";

TEST_CASE("listen trains, makes sounds and recognizes them") {
  const Workplace here;
  const Outcome whole = here.shell(kListen + "train --out run --dropout 0.1 " + kTiny);
  CAPTURE(whole.err);
  REQUIRE(whole.code == 0);
  for (const char* words : {"accuracy on 200 test examples", "majority", "the mean spectrum"})
    CHECK(has(whole.out, words));
  REQUIRE(here.shell(kListen + "make up.wav --class up --seed 4").code == 0);
  CHECK(fs::file_size(here.directory / "up.wav") == 44 + 2 * kSamples);
  const Outcome heard = here.shell(kListen + "to run up.wav");
  CAPTURE(heard.err);
  CHECK(heard.code == 0);
  for (const char* name : examples::kSoundNames) CHECK(has(heard.out, std::string("  ") + name));
  CHECK(here.shell(kListen + "to run --class up --seed 4").code == 0);

  here.write("short.wav", file_of({0.5f, -0.5f}));
  std::vector<float> silent_after(kSamples);
  silent_after[0] = 0.5f, silent_after[1] = -0.5f;
  here.write("silent_after.wav", file_of(silent_after));
  const Outcome brief = here.shell(kListen + "to run short.wav");
  CHECK(brief.code == 0);
  CHECK(brief.out == here.shell(kListen + "to run silent_after.wav").out);
  here.write("fast.wav", file_of({0.5f}, 44100));
  here.write("long.wav", file_of(std::vector<float>(kSamples + 1)));
  check_refused(here.shell(kListen + "to run fast.wav"),
                {"44100 samples per second, but the model needs 8000"});
  check_refused(here.shell(kListen + "to run long.wav"),
                {"5121 samples, but the model takes at most 5120"});
  check_refused(here.shell(kListen + "to run none.wav"), {"none.wav"});
  check_refused(here.shell(kListen + "to run"), {"give FILE.wav or --class NAME"});
  check_refused(here.shell(kListen + "to run up.wav --class up"), {"FILE.wav or --class NAME"});
}

TEST_CASE("listen reports usage errors in one line") {
  const Workplace here;
  check_refused(here.shell(kListen), {"subcommand"});
  check_refused(here.shell(kListen + "make x.wav --class moo"),
                {"--class moo: must be one of tone, "});
  check_refused(here.shell(kListen + "make x.wav --class up --seed -1"), {"--seed -1: must not"});
  check_refused(here.shell(kListen + "make x.wav"), {"--class"});
  check_refused(here.shell(kListen + "to nowhere --class up"), {"nowhere: holds no listen run"});
  CHECK_FALSE(fs::exists(here.directory / "runs"));
}

}  // namespace
}  // namespace gradus::testing::test_listen
