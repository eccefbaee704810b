#pragma once

#ifndef __has_feature  // only clang defines it; GCC defines __SANITIZE_…
#define __has_feature(x) 0
#endif

namespace gradus::testing {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;  // the pool releases memory immediately
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;  // cannot follow fork() in a process with threads
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace gradus::testing
