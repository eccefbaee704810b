// The C interface: converts C arguments to inputs and functions, and exceptions to GRADUS_ERROR.
#include "gradus/check/c/gradus_check.h"

#include <new>

#include "gradus/check/raw/arguments.h"
#include "gradus/check/raw/sarif.h"
#include "gradus/check/raw/vjp_check.h"

using namespace gradus::check;

namespace {

constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();
using Guarded = std::vector<GuardedArray<double*>>;

std::string string_of(const char* text) { return text ? text : ""; }

Dims shape_of(int rank, const std::int64_t* shape) {
  if (rank < 0 || (rank > 0 && !shape)) throw BadInput(joined("invalid shape (rank ", rank, ")"));
  return rank == 0 ? Dims() : Dims(shape, shape + rank);
}

}  // namespace

struct gradus_check {
  std::string name = {}, message = {}, error = {}, text = {};
  std::vector<Input> inputs = {};
  RawOptions options = {};
  Functions functions = {};
  std::optional<Report> report = {};
  SourceLine place = {};

  Guarded guarded(const Arguments& values) const {
    Guarded result;
    for (std::size_t k = 0; k < values.size(); ++k)
      result.emplace_back(values[k], Layout{inputs[k].shape, false});
    return result;
  }
  GuardedArray<double*> guarded_output(const Values& values) const {
    return {values, Layout{options.output_shape, false}};
  }

  /// Calls f with guarded copies of the inputs. Throws Damage if f writes to them.
  template <class Call>
  void call(const std::string& function, const Arguments& in, Call f) {
    Guarded x = guarded(in);
    std::vector<const double*> pointers;
    for (auto& each : x) pointers.push_back(each.pass());
    message.clear();
    if (const int code = f(pointers.data()); code != 0) {
      if (message.empty()) message = "the function returned a value other than 0";
      if (code == GRADUS_UNIMPLEMENTED) throw Unimplemented(message);
      if (code == GRADUS_SHAPE) throw Abort{Verdict::fail, message, {"SHAPE"}};
      throw std::runtime_error(message);
    }
    for (std::size_t k = 0; k < x.size(); ++k) x[k].inspect(function, inputs[k].name, false);
  }

  Forward forward(gradus_forward f, const std::string& function, void* user) {
    if (!f) return {};
    return [this, f, function, user](const Arguments& in) {
      auto y = guarded_output(Values(count_of(options.output_shape), kUnwritten));
      call(function, in, [&](const double* const* x) { return f(user, x, y.pass()); });
      y.inspect(function, "its output", true);
      return y.numbers();
    };
  }

  DerivativeInto derivative(gradus_vjp f, void* user) {
    if (!f) return {};
    return [this, f, user](const Arguments& in, const Values& upstream, const Arguments& start) {
      Guarded dx = guarded(start);
      auto dy = guarded_output(upstream);
      std::vector<double*> to;
      for (std::size_t k = 0; k < dx.size(); ++k)
        to.push_back(inputs[k].differentiable ? dx[k].pass() : nullptr);
      call("the derivative", in,
           [&](const double* const* x) { return f(user, x, dy.pass(), to.data()); });
      dy.inspect("the derivative", "dy", false);
      Arguments result(in.size());
      for (std::size_t k = 0; k < dx.size(); ++k) {
        dx[k].inspect("the derivative", "d" + inputs[k].name, true);
        if (inputs[k].differentiable) result[k] = dx[k].numbers();
      }
      return result;
    };
  }

  /// Returns the result of call(), 0 if call() returns void, or GRADUS_ERROR if call() throws.
  template <class Call>
  int kept_inside(Call call) noexcept {
    try {
      error.clear();
      if constexpr (std::is_void_v<decltype(call())>)
        call();
      else
        return static_cast<int>(call());
      return 0;
    } catch (const std::exception& problem) {
      error = problem.what();
    } catch (...) {
      error = "an exception that is not a std::exception was thrown";
    }
    return GRADUS_ERROR;
  }
};

int gradus_check_version(void) { return GRADUS_CHECK_VERSION; }

gradus_check* gradus_check_new(const char* name) {
  auto* check = new (std::nothrow) gradus_check;
  if (check && check->kept_inside([&] { check->name = string_of(name); }) == 0) return check;
  delete check;
  return nullptr;
}

void gradus_check_free(gradus_check* check) { delete check; }

int gradus_check_input(gradus_check* check, const char* name, int rank, const std::int64_t* shape,
                       const double* values, int differentiable) {
  return check->kept_inside([&] {
    Input input{string_of(name), shape_of(rank, shape), {}, differentiable != 0};
    if (input.name.empty()) input.name = joined("x", check->inputs.size());
    input.values.assign(values, values + count_of(input.shape));
    check->inputs.push_back(std::move(input));
  });
}

int gradus_check_output(gradus_check* check, const char* name, int rank,
                        const std::int64_t* shape) {
  return check->kept_inside([&] {
    std::vector<OutputPart>& parts = check->options.parts;
    parts.push_back({name ? name : "out", shape_of(rank, shape)});
    std::size_t count = 0;
    for (const OutputPart& part : parts) count += count_of(part.shape);
    check->options.output_shape =
        parts.size() == 1 ? parts[0].shape : Dims{static_cast<std::int64_t>(count)};
  });
}

int gradus_check_set(gradus_check* check, const char* option, double value) {
  return check->kept_inside([&] {
    RawOptions& options = check->options;
    const std::string name = string_of(option);
    const std::pair<const char*, double*> numbers[] = {{"rtol", &options.rtol},
                                                       {"atol", &options.atol},
                                                       {"resolution", &options.resolution},
                                                       {"budget", &options.seconds},
                                                       {"ulp", &check->functions.ulp}};
    for (const auto& [known, where] : numbers)
      if (name == known) return static_cast<void>(*where = value);
    if (name == "seed") return static_cast<void>(options.seed = static_cast<std::uint64_t>(value));
    if (name == "accumulates") return static_cast<void>(check->functions.accumulates = value != 0);
    const std::pair<const char*, Mode> modes[] = {
        {"full", Mode::full}, {"sampled", Mode::projections}, {"quick", Mode::quick}};
    for (const auto& [known, mode] : modes)
      if (name == known)
        return static_cast<void>(options.mode = value == 0 ? Mode::automatic : mode);
    throw BadInput("unknown option '" + name +
                   "'. Options: rtol, atol, resolution, budget, ulp, seed, accumulates, full, "
                   "sampled, quick");
  });
}

int gradus_check_run(gradus_check* check, gradus_forward forward, gradus_vjp vjp,
                     gradus_forward reference, void* user) {
  return check->kept_inside([&] {
    check->functions.forward = check->forward(forward, "forward", user);
    check->functions.into = check->derivative(vjp, user);
    check->functions.reference = check->forward(reference, "the reference", user);
    check->report = check_vjp(check->name, check->functions, check->inputs, check->options);
    return check->report->verdict;
  });
}

void gradus_check_says(gradus_check* check, const char* message) {
  check->kept_inside([&] { check->message = string_of(message); });
}

int gradus_check_condition(gradus_check* check, int input, const char* note,
                           const char* const cause[3]) {
  return check->kept_inside([&] {
    std::optional<Report>& report = check->report;
    const auto k = static_cast<std::size_t>(input);
    if (!report || k >= report->inputs.size())
      throw BadInput(joined("no check was run, or the report has no input ", k));
    ++report->counts.conditions;
    if (!note) return Verdict::pass;
    report->add(
        Kind::condition, k, note,
        cause ? Cause{string_of(cause[0]), string_of(cause[1]), string_of(cause[2])} : Cause());
    return Verdict::fail;
  });
}

int gradus_check_note(gradus_check* check, const char* note) {
  return check->kept_inside([&] {
    if (!check->report) throw BadInput("no check was run");
    check->report->notes.push_back(string_of(note));
  });
}

int gradus_check_place(gradus_check* check, const char* file, int line) {
  return check->kept_inside([&] { check->place = {string_of(file), line}; });
}

const char* gradus_check_report(gradus_check* check, const char* form) {
  check->kept_inside([&] {
    const std::string as = string_of(form);
    if (check->report) check->report->place = check->place;
    check->text = !check->report   ? ""
                  : as == "json"   ? check->report->json()
                  : as == "junit"  ? gradus::check::junit({*check->report})
                  : as == "sarif"  ? check->report->sarif()
                  : as == "github" ? check->report->annotation()
                                   : check->report->text(as == "colour");
  });
  return check->text.c_str();
}

const char* gradus_check_error(const gradus_check* check) { return check->error.c_str(); }
