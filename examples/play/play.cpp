#include "gradus/examples/play/play.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/random.h"
#include "gradus/examples/apps/support/lesson.h"
#include "gradus/examples/play/exercises.h"
#include "gradus/examples/play/lesson.h"
#include "gradus/gradus.h"
#include "gradus/trace/automatic.h"

namespace gradus::play {
namespace {

using nlohmann::json;

constexpr std::int64_t kMemory = std::int64_t{192} << 20;  // the module may have 240 MB

/// While alive, redirects the lesson's output to a file.
class Printed {
 public:
  Printed() : path_(str_cat("/tmp/play.", getpid())), file_(std::fopen(path_.c_str(), "w+")) {
    require<FileError>(file_ != nullptr, path_, ": cannot be created");
    std::fflush(stdout);
    before_ = dup(STDOUT_FILENO);
    dup2(fileno(file_), STDOUT_FILENO);
  }
  ~Printed() {
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
    std::fclose(file_);
    std::remove(path_.c_str());
  }
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;

  std::string text() {
    std::fflush(stdout);
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_;
  std::FILE* file_;
  int before_ = -1;
};

/// Keeps the trace of one step instead of writing a page.
class StepTrace final : public trace::Automatic {
 public:
  StepTrace(trace::Id step, const std::string& title) : Automatic({}, step, {.title = title}) {}
  std::string taken;
  bool empty() const { return !has_anything(); }

 protected:
  void emit() override { taken = json(); }
};

/// The part that runs, and its model if it trains.
struct Session {
  const Lesson* lesson;
  const Part* part;
  Values values;
  std::unique_ptr<Training> training;
  trace::Id steps = 0;
};

std::optional<Session> session;
trace::Id passes = 0;  // backward passes of the part in its last run
double last_loss = NAN;
std::string answer, printed, failure = "{}";

void describe(const std::string& field, const std::string& message) {
  failure = json{{"field", field}, {"message", message}}.dump();
}

/// Calls f and returns true, or describes its exception and returns false.
template <class F>
bool attempt(F&& f) {
  try {
    failure = "{}";
    f();
    return true;
  } catch (const FieldError& error) {
    describe(error.field, error.what());
  } catch (const json::parse_error& error) {
    describe("", str_cat("play: the parameters are not valid JSON at byte ", error.byte));
  } catch (const json::exception&) {
    describe("", "play: a parameter has the wrong type");
  } catch (const std::bad_alloc&) {
    describe("", "out of memory. Use smaller values.");
  } catch (const std::exception& error) {
    describe("", error.what());
  }
  return false;
}

json described(const Part& part) {
  json fields = json::array();
  for (const Field& each : part.fields)
    fields.push_back({{"name", each.name},
                      {"kind", each.kind},
                      {"label", each.label},
                      {"value", each.value},
                      {"lowest", each.lowest},
                      {"highest", each.highest}});
  return {{"name", part.name}, {"title", part.title},   {"training", static_cast<bool>(part.train)},
          {"call", part.call}, {"passes", part.passes}, {"untraced", part.untraced},
          {"fields", fields}};
}

const Lesson& lesson_of(int number) {
  for (const Lesson& each : lessons())
    if (each.number == number) return each;
  fail<ValueError>("play: there is no lesson ", number);
}

const Part& part_of(const Lesson& lesson, const json& given) {
  const std::string name = given.value("part", lesson.parts.front().name);
  for (const Part& each : lesson.parts)
    if (each.name == name) return each;
  fail<ValueError>("play: lesson ", lesson.number, " has no part '", name, "'");
}

/// Runs the part from its start and records its step number session->steps.
std::string run_part(bool traced) {
  std::optional<StepTrace> recorder;
  if (traced) recorder.emplace(session->steps, session->part->title);
  session->part->run(session->values);
  if (!recorder) return "{}";
  passes = recorder->steps();
  const bool exists = passes >= session->steps || session->steps == 1;
  if (exists && recorder->taken.empty() && !recorder->empty()) recorder->finish();
  require(exists, "play: this part has ", passes, " backward passes. Pass ", session->steps,
          " does not exist.");
  return recorder->taken.empty() ? "{}" : recorder->taken;
}

std::string train_once(bool traced) {
  if (!traced || !session->part->untraced.empty()) {
    last_loss = session->training->step();
    return "{}";
  }
  Trace trace({.title = session->part->title});
  last_loss = session->training->step();
  return trace.json();
}

/// Makes one step. Returns the trace.
std::string step(bool traced) {
  last_loss = NAN;
  require(session.has_value(), "play: call play_begin first");
  Printed now;
  ++session->steps;
  std::string trace;
  try {
    trace = session->training ? train_once(traced) : run_part(traced);
  } catch (...) {
    --session->steps;
    printed = now.text();
    throw;
  }
  printed = now.text();
  return trace;
}

json described(const Exercise& exercise, std::size_t number) {
  json choices = json::array();
  for (const Choice& each : exercise.choices) choices.push_back(each.text);
  return {{"number", number},        {"kind", exercise.kind},
          {"title", exercise.title}, {"statement", exercise.statement},
          {"choices", choices},      {"source", exercise.source}};
}

/// Returns list[index], or throws ValueError naming the range, which starts at `first`.
template <class T>
const T& item(const std::vector<T>& list, int index, int first, const char* name) {
  const int last = static_cast<int>(list.size()) + first - 1;
  require<ValueError>(first <= index && index <= last, "play: there is no ", name, " ", index,
                      ". Use ", first, " to ", last, ".");
  return list[static_cast<std::size_t>(index - first)];
}

[[noreturn]] void throw_claim(const char* claim) { fail<ValueError>("NOT TRUE: ", claim); }

}  // namespace
}  // namespace gradus::play

using namespace gradus;
using namespace gradus::play;

const char* play_lessons() {
  json all = json::array();
  for (const Lesson& lesson : lessons()) {
    json parts = json::array();
    for (const Part& part : lesson.parts) parts.push_back(described(part));
    all.push_back({{"number", lesson.number},
                   {"title", lesson.title},
                   {"source", lesson.source},
                   {"dtype", name_of(lesson.dtype)},
                   {"parts", parts}});
  }
  answer = all.dump();
  return answer.c_str();
}

int play_begin(int number, const char* parameters) {
  examples::on_false_claim = throw_claim;
  return attempt([&] {
#ifdef __EMSCRIPTEN__
    chdir("/gradus");  // the directory in which the page stores the lessons' files
#endif
    const json given = json::parse(parameters);
    require(given.is_object(), "play: parameters must be a JSON object");
    const Lesson& lesson = lesson_of(number);
    const Part& part = part_of(lesson, given);
    Session next{&lesson, &part, Values(part.fields, given), nullptr};
    session.reset();  // first, because both models may not fit in memory
    printed.clear();
    memory::release_cached();
    memory::set_limit(kMemory);
    set_default_dtype(lesson.dtype);
    seed(0);
    passes = 0;
    detail::last_node_id = 0;  // as in a new process
    Printed now;
    if (part.train) next.training = part.train(next.values);
    printed = now.text();
    session = std::move(next);
  });
}

const char* play_step(int traced) {
  return attempt([&] { answer = step(traced != 0); }) ? answer.c_str() : nullptr;
}

int play_steps(int count, double* losses) {
  int made = 0;
  attempt([&] {
    require(session && session->training, "play: this part does not train");
    for (; made < count; ++made) {
      step(false);
      losses[made] = last_loss;
    }
  });
  return made;
}

double play_loss() { return last_loss; }

int play_passes() { return static_cast<int>(passes); }

const char* play_text() { return printed.c_str(); }

const char* play_picture() {
  const bool done = attempt([&] {
    const json picture =
        session && session->training ? session->training->picture() : json::object();
    answer =
        picture.dump(-1, ' ', false, json::error_handler_t::replace);  // bytes may not be UTF-8
  });
  return done ? answer.c_str() : nullptr;
}

const char* play_error() { return failure.c_str(); }

const char* play_exercises() {
  const bool done = attempt([&] {
    json all = json::array();
    for (const Exercise& each : exercises()) all.push_back(described(each, all.size() + 1));
    answer = all.dump();
  });
  return done ? answer.c_str() : nullptr;
}

const char* play_check(int exercise, int choice) {
  const bool done = attempt([&] {
    const std::vector<Exercise> all = exercises();
    const Exercise& chosen = item(all, exercise, 1, "exercise");
    const Choice& answered = item(chosen.choices, choice, 0, "choice");
    const Graded graded = grade(chosen, answered);
    answer = json{{"correct", graded.correct},
                  {"report", graded.report},
                  {"explanation", answered.explanation}}
                 .dump();
  });
  return done ? answer.c_str() : nullptr;
}
