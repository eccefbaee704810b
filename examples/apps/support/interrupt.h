// Ctrl-C, asked for politely: the loop finishes its step and saves. Only programs install handlers.
#pragma once

#include <csignal>
#include <cstdlib>

namespace gradus::examples {

inline volatile std::sig_atomic_t interrupt_signal = 0;

/// From now on the first Ctrl-C (or SIGTERM, or a closed terminal) is noted in interrupt_signal;
/// the second ends the program at once. What was saved before stays whole.
inline void catch_interrupts() {
  const auto note = [](int signal) {
    if (interrupt_signal) std::_Exit(128 + signal);
    interrupt_signal = signal;
  };
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
#ifdef SIGHUP
  std::signal(SIGHUP, note);
#endif
#ifdef SIGPIPE
  std::signal(SIGPIPE, SIG_IGN);  // `gpt train … | head` must not kill the run
#endif
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit then is an error like a full disk
#endif
}

/// For programs that only write: `gpt sample … | head` ends without a word, as other tools do.
inline void end_when_nobody_reads() {
#ifdef SIGPIPE
  std::signal(SIGPIPE, SIG_DFL);
#endif
}

}  // namespace gradus::examples
