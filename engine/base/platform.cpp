// POSIX implementation with Linux-only parts. Without /proc, /sys or control groups, functions
// return their defaults.
#include "gradus/engine/base/platform.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#include <link.h>
#endif
#ifdef __EMSCRIPTEN__
#include <emscripten.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "gradus/engine/base/error.h"

#ifdef __EMSCRIPTEN__
// clang-format off
// Writes the code offsets of the running functions, innermost first. Returns their number.
EM_JS(int, gradus_stack, (void** at, int most), {
  Error.stackTraceLimit = most;
  const found = new Error().stack.matchAll(/wasm-function.[0-9]+.:0x([0-9a-f]+)/g);
  let count = 0;
  for (const [whole, offset] of found)
    if (count < most) HEAPU32[(at >> 2) + count++] = parseInt(offset, 16);
  return count;
});

// The page may set Module.locate, which maps a code offset to "file:line" or "".
EM_JS(char*, gradus_locate, (void* at), {
  const place = Module.locate ? Module.locate(at) : "";
  const size = lengthBytesUTF8(place) + 1, text = _malloc(size);
  stringToUTF8(place, text, size);
  return text;
});
// clang-format on
#endif

namespace gradus::platform {
namespace {

// Calls use(stream) with `file` of this process's control group and each enclosing group. In
// version 2, limits along the path combine.
template <class F>
void each_cgroup(const std::string& root, const std::string& file, F&& use) {
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string path;
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("0::/")) path = line.substr(3);
  for (;; path.erase(path.find_last_of('/'))) {
    use(std::ifstream(root + "/sys/fs/cgroup" + path + "/" + file));
    if (path.find('/') == std::string::npos) return;
  }
}

// Returns the CPU quota in cores, or infinity.
double cpu_quota(const std::string& root) {
  double cores = INFINITY;
  double quota = 0, period = 0;
  each_cgroup(root, "cpu.max", [&](std::istream&& in) {
    if (in >> quota >> period) cores = std::min(cores, quota / period);
  });
  const std::string cpu = root + "/sys/fs/cgroup/cpu/cpu.cfs_";  // cgroup v1
  if (std::ifstream(cpu + "quota_us") >> quota && quota > 0 &&
      std::ifstream(cpu + "period_us") >> period)
    cores = std::min(cores, quota / period);
  return cores;
}

// Returns the bytes of an entry such as "VmRSS:  1234 kB", or 0.
std::size_t status_bytes(const char* name) {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == name && status >> kilobytes) break;
  return kilobytes * 1024;
}

}  // namespace

int usable_cores(const std::string& root) {
  std::set<std::string> cores;  // a core's hyperthreads list the same siblings
#ifdef __linux__
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0)
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &mask)) continue;
      auto core = str_cat(root, "/sys/devices/system/cpu/cpu", i, "/topology/thread_siblings_list");
      std::ifstream(core) >> core;  // leaves `core` unchanged if the file does not exist
      cores.insert(core);
    }
#endif
  const double found = cores.empty() ? std::thread::hardware_concurrency() : double(cores.size());
  return std::max(1, static_cast<int>(std::round(std::min(found, cpu_quota(root)))));
}

std::size_t resident_bytes() { return status_bytes("VmRSS:"); }
std::size_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

#ifdef __EMSCRIPTEN__
// WebAssembly cannot unmap part of a mapping.
void* map_pages(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t kept = (bytes + page - 1) / page * page;
  void* pages = kept < bytes ? nullptr : std::aligned_alloc(page, kept);
  return pages == nullptr ? nullptr : std::memset(pages, 0, kept);
}

void unmap_pages(void* pages, std::size_t) noexcept { std::free(pages); }
#else
void* map_pages(std::size_t bytes) {
  constexpr std::size_t huge = std::size_t{2} << 20;  // alignment of huge pages
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t kept = (bytes + page - 1) / page * page;
  void* mapped =
      mmap(nullptr, kept + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const std::size_t before = huge - reinterpret_cast<std::uintptr_t>(mapped) % huge;
  char* pages = static_cast<char*>(mapped) + before;
  munmap(mapped, before);
  munmap(pages + kept, huge - before);
#ifdef MADV_HUGEPAGE
  madvise(pages, kept, MADV_HUGEPAGE);
#endif
  return pages;
}

void unmap_pages(void* pages, std::size_t bytes) noexcept { munmap(pages, bytes); }
#endif

std::size_t physical_memory(const std::string& root) {
  double bytes = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
  for (const char* file : {"memory.max", "memory/memory.limit_in_bytes"})  // cgroup v2, cgroup v1
    each_cgroup(root, file, [&](std::istream&& in) {
      if (double most = 0; in >> most) bytes = std::min(bytes, most);
    });
  if (rlimit most; getrlimit(RLIMIT_AS, &most) == 0)  // RLIM_INFINITY is at least 2⁶³
    bytes = std::min(bytes, std::max(1.0, double(most.rlim_cur) - double(status_bytes("VmSize:"))));
  return static_cast<std::size_t>(std::max(bytes, 0.0));  // sysconf returns -1 if unknown
}

void* find_symbol(const char* name) { return dlsym(RTLD_DEFAULT, name); }

std::string system_name() {
  utsname name{};
  uname(&name);
  return str_cat(name.sysname, " ", name.release, " ", name.machine);
}

bool is_terminal(std::FILE* file) { return ::isatty(::fileno(file)) == 1; }

bool sync_file(std::FILE* file) {
  return ::fsync(::fileno(file)) == 0 || errno == EINVAL || errno == ENOTSUP;  // or a pipe
}

std::string demangle(const char* mangled) {
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr), std::free);
  return name ? name.get() : mangled;
}

std::vector<void*> stack_trace() {
  std::vector<void*> at(64);
#ifdef __GLIBC__
  at.resize(static_cast<std::size_t>(backtrace(at.data(), static_cast<int>(at.size()))));
  // Skips the frames of this function and, under a sanitizer, of its backtrace().
  const auto caller = std::find(at.begin(), at.end(), __builtin_return_address(0));
  if (caller != at.end()) at.erase(at.begin(), caller);
#elif defined(__EMSCRIPTEN__)
  at.resize(static_cast<std::size_t>(gradus_stack(at.data(), static_cast<int>(at.size()))));
#endif
  return at;
}

std::vector<std::vector<Frame>> symbolize(const std::vector<void*>& calls) {
  std::vector<std::vector<Frame>> out(calls.size());
#ifdef __GLIBC__
  std::map<std::string, std::pair<std::string, std::vector<std::size_t>>> asked;  // by file
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Dl_info info{};
    void* map = nullptr;
    if (dladdr1(calls[i], &info, &map, RTLD_DL_LINKMAP) == 0) continue;
    const auto* linked = static_cast<link_map*>(map);
    // Skips libc's frames, which only call main().
    if (str_cat(linked->l_name).find("/libc.so") != std::string::npos) continue;
    auto& [addresses, which] =
        asked[*linked->l_name ? linked->l_name : str_cat("/proc/", getpid(), "/exe")];
    addresses +=
        str_cat(" 0x", std::hex, reinterpret_cast<std::uintptr_t>(calls[i]) - 1 - linked->l_addr);
    which.push_back(i);
  }
  for (const auto& [file, of] : asked) {
    if (file.find('\'') != std::string::npos) continue;  // unsafe in the shell command
    const std::string ask = "addr2line -afie '" + file + "'" + of.first + " 2>&-";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> answer(popen(ask.c_str(), "r"), pclose);
    std::size_t next = 0;
    for (char name[4096], place[4096];
         answer && std::fscanf(answer.get(), " %4095[^\n]", name) == 1;)
      if (std::string_view(name).starts_with("0x"))
        ++next;
      else if (next > 0 && std::fscanf(answer.get(), " %4095[^\n]", place) == 1)
        if (const auto colon = std::string_view(place).rfind(':'); colon < sizeof place)
          out[of.second[next - 1]].push_back({name, {place, colon}, std::atol(&place[colon + 1])});
  }
#elif defined(__EMSCRIPTEN__)
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::unique_ptr<char, void (*)(void*)> place(gradus_locate(calls[i]), std::free);
    const std::string_view text(place.get());
    if (const auto colon = text.rfind(':'); colon != std::string_view::npos)
      out[i].push_back({"lesson", std::string(text.substr(0, colon)), std::atol(&text[colon + 1])});
  }
#endif
  return out;
}

}  // namespace gradus::platform
