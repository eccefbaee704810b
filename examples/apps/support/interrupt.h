// After a signal, the training loop finishes the current step and saves.
#pragma once

#include <csignal>
#include <cstdlib>

namespace gradus::examples {

inline volatile std::sig_atomic_t interrupt_signal = 0;

/// The first SIGINT, SIGTERM or SIGHUP sets interrupt_signal; the second ends the program.
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
  std::signal(SIGXFSZ, SIG_IGN);  // makes a file-size limit an error like a full disk
#endif
}

/// Makes programs that only write, such as `gpt sample … | head`, end silently when their reader
/// ends.
inline void end_when_nobody_reads() {
#ifdef SIGPIPE
  std::signal(SIGPIPE, SIG_DFL);
#endif
}

}  // namespace gradus::examples
