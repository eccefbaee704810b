#include "gradus/io/pretrained/unicode.h"

#include "gradus/io/crc32.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/support/golden.h"

namespace gradus::testing::test_unicode {
namespace {

using io::Characters;

constexpr char32_t kEnd = 0x1F000;

std::string checksum(const std::string& text) {
  char out[32];
  std::snprintf(out, sizeof out, "%08x of %zu bytes\n", io::crc32(text.data(), text.size()),
                text.size());
  return out;
}

template <class F>
std::string sum_of(F f) {
  std::string all;
  for (char32_t c = 0; c < kEnd; c += c < 0x3100 ? 1 : 13)
    for (const char32_t out : f(c)) all.append(reinterpret_cast<const char*>(&out), sizeof out);
  return checksum(all);
}

}  // namespace

TEST_CASE("categories, lower case, decomposition and composition match Unicode") {
  std::string out = "kinds " + sum_of([](char32_t c) {
                      return Characters{static_cast<char32_t>(io::kind_of(c))};
                    });
  out += "lower case " + sum_of([](char32_t c) { return io::lower_case({c}); });
  out += "decomposed " + sum_of([](char32_t c) { return io::decomposed({c}); });
  out += "sorted marks " + sum_of([](char32_t c) {
           return c % 4 == 0 || c < 0x400 ? io::decomposed({U'a', 0x301, c, 0x323, 0x345})
                                          : Characters{};
         });
  out += "composed " + sum_of([](char32_t c) {
           return c < 0x3000 ? io::composed({U'x', c, 0x301}) : Characters{};
         });
  out += "composed with a letter " + sum_of([](char32_t c) {
           return c < 0x3100 ? io::composed({U'a', 0x323, c, U'i', c}) : Characters{};
         });
  out += "marks in two orders " + sum_of([](char32_t c) {
           return c < 0x1E00 && c % 3 == 0
                      ? io::composed({c, U'a', c, 0x302, 0x301, U'e', 0x327, c, 0x301, 0x323})
                      : Characters{};
         });
  check_golden("io/unicode.txt", out);
}

TEST_CASE("each Hangul syllable decomposes into its parts and composes from them") {
  for (char32_t lead = 0; lead < 19; ++lead)
    for (char32_t vowel = 0; vowel < 21; ++vowel)
      for (const char32_t tail : {0u, 1u, 14u, 27u}) {
        const char32_t whole = 0xAC00 + (lead * 21 + vowel) * 28 + tail;
        Characters parts = {0x1100 + lead, 0x1161 + vowel};
        if (tail > 0) parts.push_back(0x11A7 + tail);
        if (io::decomposed({whole}) != parts || io::composed(parts) != Characters{whole} ||
            io::composed({whole}) != Characters{whole})
          CHECK(whole == 0);
      }
  for (const Characters& each :
       {Characters{0x10FF, 0x1161}, Characters{0x1113, 0x1161}, Characters{0x1100, 0x1160},
        Characters{0x1100, 0x1176}, Characters{0xAC00, 0x11A7}, Characters{0xAC00, 0x11C3},
        Characters{0xAC01, 0x11A8}, Characters{0xABFF}, Characters{0xD7A4}})
    CHECK(io::composed(each) == each);
  CHECK(io::composed({0xAC00, 0x11A8}) == Characters{0xAC01});
}

TEST_CASE("each invalid part of UTF-8 becomes U+FFFD") {
  CHECK(io::characters_of("a\xffé\xe6\x97") == Characters{U'a', 0xFFFD, U'é', 0xFFFD});
  CHECK(io::characters_of("").empty());
}

}  // namespace gradus::testing::test_unicode
