// A transport with a slow abort(), which another rank's abort may overtake.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "gradus/engine/base/error.h"
#include "gradus/train/distributed/transport.h"

namespace gradus::testing {

class SlowEnd final : public distributed::Transport {
 public:
  SlowEnd(distributed::Transport& of, double seconds) : of_(of), seconds_(seconds) {}
  int rank() const override { return of_.rank(); }
  int size() const override { return of_.size(); }
  [[noreturn]] void abort(const std::string& why) override {
    ended = why;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    of_.abort(why);
    fail<Error>(why);
  }
  std::string ended;

 private:
  void exchange_others(const std::vector<distributed::ConstBytes>& out,
                       const std::vector<distributed::Bytes>& in) override {
    of_.exchange(out, in);
  }
  distributed::Transport& of_;
  double seconds_;
};

}  // namespace gradus::testing
