#include "sounds.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gradus/engine/base/error.h"
#include "gradus/engine/base/math64.h"
#include "gradus/engine/base/parallel.h"
#include "gradus/ops/create.h"

namespace gradus::examples {
namespace {

constexpr double kFade = 0.01;    // seconds at each end, to avoid clicks
constexpr double kSwitch = 0.05;  // seconds per pitch of a trill, or per burst

double pitch_at(Sound sound, const Voice& voice, double time) {
  const double part = time / voice.duration, high = voice.pitch * voice.ratio;
  const bool second = part >= 0.5, odd = static_cast<std::int64_t>(time / kSwitch) % 2 == 1;
  switch (sound) {
    case Sound::rise:
      return voice.pitch * math64::pow(voice.ratio, part);
    case Sound::fall:
      return voice.pitch * math64::pow(voice.ratio, 1 - part);
    case Sound::trill:
      return odd ? high : voice.pitch;
    case Sound::up:
      return second ? high : voice.pitch;
    case Sound::down:
      return second ? voice.pitch : high;
    default:
      return voice.pitch;
  }
}

double envelope(const Voice& voice, double time) {
  return std::clamp(std::min(time, voice.duration - time) / kFade, 0.0, 1.0);
}

/// Returns the sound's value after `turns` periods. `noise` is normally distributed.
double wave(Sound sound, double time, double turns, double noise) {
  const double angle = 2 * std::numbers::pi * turns;
  if (sound == Sound::bursts)
    return static_cast<std::int64_t>(time / kSwitch) % 2 == 0 ? std::clamp(0.4 * noise, -1.0, 1.0)
                                                              : 0;
  if (sound == Sound::chord)
    return (math64::sin(angle) + math64::sin(1.25 * angle) + math64::sin(1.5 * angle)) / 3;
  return math64::sin(angle);
}

RandomStream stream_of(std::uint64_t seed, std::int64_t sound) {
  return {seed, static_cast<std::uint32_t>(sound), static_cast<std::uint32_t>(sound >> 32)};
}

constexpr std::int64_t kVoiceNumbers = 16;  // random numbers per voice; two per sample follow

}  // namespace

Sound sound_named(const std::string& name) {
  std::string known;
  for (std::int64_t i = 0; i < kSounds; ++i) {
    const char* each = kSoundNames[static_cast<std::size_t>(i)];
    if (name == each) return static_cast<Sound>(i);
    known += (i == 0 ? "" : ", ") + std::string(each);
  }
  fail<ValueError>("--class ", name, ": must be one of ", known);
}

Voice random_voice(const RandomStream& random) {
  const auto between = [&](std::int64_t which, double low, double high) {
    return low + (high - low) * random.uniform(which);
  };
  Voice voice;
  voice.duration = between(0, 0.3, 0.5);
  voice.onset = between(1, 0, static_cast<double>(kSamples) / kRate - voice.duration);
  voice.pitch = between(2, 300, 1400);
  voice.ratio = between(3, 1.3, 2.2);
  voice.loudness = between(4, 0.15, 0.6);
  voice.noise = between(5, 0.02, 0.15);
  return voice;
}

std::vector<float> make_sound(Sound sound, const Voice& voice, const RandomStream& random) {
  std::vector<float> samples(kSamples);
  double turns = 0;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const double time = static_cast<double>(i) / kRate - voice.onset;
    double value = 0;
    if (0 <= time && time < voice.duration) {
      const double noise = random.normal(kVoiceNumbers + 2 * i);
      value = voice.loudness * envelope(voice, time) * wave(sound, time, turns, noise);
      turns += pitch_at(sound, voice, time) / kRate;
    }
    if (voice.noise > 0) value += voice.noise * random.normal(kVoiceNumbers + 2 * i + 1);
    samples[static_cast<std::size_t>(i)] = static_cast<float>(std::clamp(value, -1.0, 1.0));
  }
  return samples;
}

Labelled make_sounds(std::int64_t count, std::uint64_t seed, std::int64_t block) {
  std::vector<float> samples(static_cast<std::size_t>(count * kSamples));
  std::vector<std::int64_t> kinds(static_cast<std::size_t>(count));
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const RandomStream random = stream_of(seed, block * count + i);
      const std::int64_t kind = random.below(kVoiceNumbers - 1, kSounds);
      const std::vector<float> sound =
          make_sound(static_cast<Sound>(kind), random_voice(random), random);
      kinds[static_cast<std::size_t>(i)] = kind;
      std::copy(sound.begin(), sound.end(), samples.begin() + i * kSamples);
    }
  });
  return {tensor(samples, {count, kSamples}), tensor(kinds, {count})};
}

std::vector<float> make_one(Sound sound, std::uint64_t seed) {
  const RandomStream random = stream_of(seed, 0);
  return make_sound(sound, random_voice(random), random);
}

}  // namespace gradus::examples
