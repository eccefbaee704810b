#include <unistd.h>

#include <chrono>

#include "gradus/tests/support/refusal.h"
#include "gradus/train/distributed/threads.h"

namespace gradus::testing::test_transport {
namespace {

using distributed::Transport;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string of_each(int size, const std::function<std::string(Transport&)>& work) {
  std::vector<std::string> lines(static_cast<std::size_t>(size));
  const std::string end = outcome([&] {
    distributed::run_threads(size, [&](Transport& transport) {
      lines[static_cast<std::size_t>(transport.rank())] = work(transport);
    });
    return std::string();
  });
  std::string text =
      end.empty() ? "" : end.substr(0, end.find(" on host ")) + end.substr(end.find(", at"));
  for (const std::string& line : lines) text += line.empty() ? "" : line + "; ";
  return text;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& each : texts) all += "<" + each + ">";
  return all;
}

/// Returns 3, 0, 1 and 2 letters for ranks 0 to 3.
std::string letters(int rank) {
  return std::string(static_cast<std::size_t>((3 + rank) % 4), static_cast<char>('a' + rank));
}

/// Returns the seconds that rank 0 waits if a network transfers 1 MB/s.
double waited(const std::vector<std::vector<std::size_t>>& sizes) {
  double seconds = 0;
  const int size = static_cast<int>(sizes.size());
  distributed::run_threads(size,
                           [&](Transport& t) {
                             const auto own = static_cast<std::size_t>(t.rank());
                             std::vector<std::vector<std::byte>> from(sizes.size()),
                                 to(sizes.size());
                             std::vector<distributed::ConstBytes> out;
                             std::vector<distributed::Bytes> in;
                             for (std::size_t r = 0; r < sizes.size(); ++r) {
                               from[r].resize(sizes[own][r]), to[r].resize(sizes[r][own]);
                               out.emplace_back(from[r]), in.emplace_back(to[r]);
                             }
                             t.barrier();
                             const double before = t.seconds_waited();
                             t.exchange(out, in);
                             if (own == 0) seconds = t.seconds_waited() - before;
                           },
                           {.bytes_per_second = 1e6});
  return seconds;
}

}  // namespace

TEST_CASE("all_gather and broadcast return the data of every rank") {
  const auto texts = [](Transport& t) {
    const std::string all = joined(t.all_gather(letters(t.rank())));
    return str_cat(all, " ", t.bytes_sent());
  };
  const auto first = [](Transport& t) { return str_cat(t.broadcast(10 + t.rank())); };
  const auto numbers = [](Transport& t) {
    std::string all;
    for (const int each : t.all_gather(std::vector<int>{t.rank(), -t.rank()}))
      all += str_cat(" ", each);
    return all;
  };
  Transport& alone = distributed::alone();
  CHECK(of_each(1, texts) == "<aaa> 0; ");
  CHECK(of_each(2, texts) == "<aaa><> 11; <aaa><> 8; ");
  CHECK(of_each(4, texts) ==
        "<aaa><><c><dd> 33; <aaa><><c><dd> 24; <aaa><><c><dd> 27; <aaa><><c><dd> 30; ");
  CHECK(of_each(3, first) == "10; 10; 10; ");
  CHECK(of_each(3, numbers) == " 0 0 1 -1 2 -2;  0 0 1 -1 2 -2;  0 0 1 -1 2 -2; ");
  CHECK(joined(alone.all_gather("text")) == "<text>");
  CHECK(joined(alone.all_gather("")) == "<>");
  CHECK(alone.broadcast(4) == 4);
  CHECK(alone.rank() == 0);
  CHECK(alone.size() == 1);
  CHECK(alone.bytes_sent() == 0);
  CHECK_REFUSES(Error, alone.abort("why"), "why");
}

TEST_CASE("time in exchanges is counted, and a simulated network takes time") {
  const double begin = now();
  std::vector<double> waited(2), sent(2);
  distributed::run_threads(2,
                           [&](Transport& t) {
                             for (int i = 0; i < 3; ++i) t.all_gather(std::vector<char>(2000));
                             waited[static_cast<std::size_t>(t.rank())] = t.seconds_waited();
                             sent[static_cast<std::size_t>(t.rank())] =
                                 static_cast<double>(t.bytes_sent());
                           },
                           {.latency_seconds = 0.001, .bytes_per_second = 1e6});
  const double taken = now() - begin;
  for (std::size_t r = 0; r < 2; ++r) {
    CHECK(waited[r] >= 3 * 0.003);  // each message: 1 ms latency, 2 ms for 2,000 bytes
    CHECK(waited[r] <= taken);
    CHECK(sent[r] == 6000);
  }
}

TEST_CASE("an exchange of unequal lengths reports both, and each rank keeps its own data") {
  for (int wrong = 0; wrong < 3; ++wrong) {
    const std::string text = of_each(3, [wrong](Transport& t) {
      std::vector<char> own(4, static_cast<char>('a' + t.rank())), all(12, '-');
      std::vector<std::size_t> sizes = {4, 4, 4};
      if (t.rank() == wrong) sizes[std::size_t((wrong + 1) % 3)] = 3;
      if (t.rank() == wrong) all.resize(11);
      t.all_gather(std::as_bytes(std::span(own)), sizes, std::as_writable_bytes(std::span(all)));
      return std::string(all.begin(), all.end());
    });
    CHECK(text == str_cat("gradus::Error: rank ", wrong, ", at step 0, starting: exchange: rank ",
                          (wrong + 1) % 3, " sends 4 bytes to rank ", wrong,
                          ", which expects 3aaaabbbbcccc; aaaabbbbcccc; "));
  }
}

TEST_CASE("a simulated network is as slow as the busiest process") {
  CHECK(waited({{0, 0, 0}, {3000, 0, 0}, {3000, 0, 0}}) >= 0.006);
  CHECK(waited({{0, 3000, 3000}, {0, 0, 0}, {0, 0, 0}}) >= 0.006);
  CHECK(waited({{0, 3000, 1500}, {0, 0, 0}, {0, 0, 0}}) >= 0.0045);
  CHECK(waited({{0, 0, 0}, {3000, 0, 0}, {1500, 0, 0}}) >= 0.0045);
}

TEST_CASE("host_name returns the name of the system") {
  char name[300] = {};
  REQUIRE(::gethostname(name, sizeof name) == 0);
  CHECK(distributed::host_name() == name);
}

}  // namespace gradus::testing::test_transport
