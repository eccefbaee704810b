// Generates sounds of eight classes with random voices.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gradus/engine/base/random.h"
#include "gradus/examples/apps/support/training/classification.h"

namespace gradus::examples {

constexpr std::int64_t kRate = 8000;     // samples per second
constexpr std::int64_t kSamples = 5120;  // 0.64 seconds

enum class Sound { tone, rise, fall, bursts, trill, chord, up, down };
constexpr std::int64_t kSounds = 8;
constexpr std::array<const char*, kSounds> kSoundNames = {
    "tone",                                  // one pitch
    "rise",                                  // a pitch that glides up by `ratio`
    "fall",                                  // a pitch that glides down by `ratio`
    "bursts",                                // noise, on and off
    "trill",                                 // two alternating pitches
    "chord",                                 // three pitches together
    "up",                                    // two pitches, lower first
    "down"};                                 // two pitches, higher first
Sound sound_named(const std::string& name);  // throws ValueError

struct Voice {
  double onset = 0.1, duration = 0.4;  // seconds
  double pitch = 500, ratio = 1.5;     // lower pitch in Hz; higher / lower pitch
  double loudness = 0.5;               // amplitude, at most 1
  double noise = 0;                    // standard deviation of the noise
};
/// Draws a voice: duration 0.3 … 0.5, pitch 300 … 1400, ratio 1.3 … 2.2, loudness 0.15 … 0.6, noise
/// 0.02 … 0.15.
Voice random_voice(const RandomStream& random);

/// Returns kSamples values in [−1, 1].
std::vector<float> make_sound(Sound sound, const Voice& voice, const RandomStream& random);

/// Returns x [count, kSamples] and y [count]. Depends only on the arguments.
Labelled make_sounds(std::int64_t count, std::uint64_t seed, std::int64_t block);

std::vector<float> make_one(Sound sound, std::uint64_t seed);

}  // namespace gradus::examples
