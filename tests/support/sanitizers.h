// Which sanitizer this program is built with.
#pragma once

#ifndef __has_feature  // clang's way to ask; GCC defines __SANITIZE_…
#define __has_feature(x) 0
#endif

namespace gradus::testing {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;  // the pool keeps nothing that is released
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;  // follows no process with threads through fork()
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace gradus::testing
