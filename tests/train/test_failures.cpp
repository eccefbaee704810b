// Fails the k-th allocation of each call, for each k: once, and from then on. Afterwards the state
// must be as before the call or complete, nothing may leak, and a second call must succeed with the
// bits of an undisturbed call.
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>

#include "gradus/check/raw/words.h"
#include "gradus/engine/base/memory.h"
#include "gradus/engine/base/random.h"
#include "gradus/engine/strided.h"
#include "gradus/io/checkpoint.h"
#include "gradus/io/csv.h"
#include "gradus/io/json.h"
#include "gradus/io/npy.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/tokenizer.h"
#include "gradus/nn/extras/lora.h"
#include "gradus/nn/models/gpt.h"
#include "gradus/nn/norm.h"
#include "gradus/nn/transformer.h"
#include "gradus/ops/create.h"
#include "gradus/ops/ops.h"
#include "gradus/tests/io/files.h"
#include "gradus/tests/io/unsynced.h"
#include "gradus/tests/support/capture_output.h"
#include "gradus/tests/support/catch.h"
#include "gradus/tests/support/crashes.h"
#include "gradus/tests/support/failing_memory.h"
#include "gradus/train/optim/ema.h"
#include "gradus/train/optim/muon.h"
#include "gradus/train/optim/optim.h"
#include "gradus/train/trainer.h"

namespace gradus::testing::test_failures {
namespace {

std::string bits(const Tensor& x) {
  if (!x.defined()) return "undefined ";
  std::string out = str_cat(x.dtype(), x.shape());
  dispatch(x.dtype(), [&]<class T>() {
    const Tensor packed = kernel::contiguous(x);
    out.append(reinterpret_cast<const char*>(packed.data<T>()),
               sizeof(T) * std::size_t(packed.numel()));
  });
  return out;
}

std::string bits(const nn::StateDict& tensors) {
  std::string out;
  for (const auto& [name, tensor] : tensors) out += name + bits(tensor);
  return out;
}

/// One call, and the state that it may change.
class Case {
 public:
  virtual ~Case() = default;
  virtual void call() = 0;
  virtual std::string state() const = 0;
};
using Make = std::function<std::unique_ptr<Case>()>;

/// Runs the call. Returns true if it threw because of missing memory.
bool runs_out(Case& each) {
  try {
    each.call();
    return false;
  } catch (const MemoryError&) {
    return true;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

/// Returns a complaint, or "" and adds to `count`. Fails every `every`-th allocation.
std::string check_failures(const Make& make, FailAt::Mode mode, int every, std::int64_t& count) {
  const std::unique_ptr<Case> right = make();
  const std::string before = right->state();
  right->call();
  const std::string after = right->state();
  for (int k = 1;; k += every) {
    const std::string at =
        str_cat("allocation ", k, mode == FailAt::once ? "" : " and later", ": ");
    const std::unique_ptr<Case> each = make();
    if (each->state() != before) return at + "the case does not repeat";
    const std::int64_t bytes = memory::usage().live_bytes, objects = live_objects();
    bool failed = false, thrown = false;
    {
      const FailAt fail(k, mode);
      thrown = runs_out(*each);
      failed = fail.failed();
    }
    const std::int64_t more_bytes = memory::usage().live_bytes - bytes,
                       more_objects = live_objects() - objects;
    const std::string now = each->state();
    if (thrown && now == before) {
      if (more_bytes != 0) return at + str_cat(more_bytes, " bytes of tensors leaked");
      if (more_objects != 0) return at + str_cat(more_objects, " objects leaked");
      each->call();
      if (each->state() != after) return at + "the next call gives other bits";
    } else if (now != after) {
      return at + (thrown ? "the state is neither old nor complete" : "the result differs");
    }
    if (!failed) return "";
    ++count;
  }
}

void check_all(const std::vector<std::pair<const char*, Make>>& cases, int every) {
  std::int64_t count = 0;
  for (const auto& [name, make] : cases) {
    INFO(name);
    CHECK(check_failures(make, FailAt::once, every, count) == "");
    CHECK(check_failures(make, FailAt::from_then_on, every, count) == "");
  }
  WARN(count << " failed allocations in " << cases.size() << " kinds of calls");
}

// ---- modules ----

struct Net : nn::Layer<Net> {
  nn::GPT gpt{
      {.vocab = 5, .context = 4, .layers = 1, .block = {.width = 4, .heads = 2, .hidden = 5}}};
  nn::BatchNorm1d norm{4};  // has buffers
  nn::Encoder encoder{{.block = {.width = 4, .heads = 2, .hidden = 5}, .layers = 1}};
  nn::Linear head{4, 3};
  nn::Members members() override {
    return {{"gpt", gpt}, {"norm", norm}, {"encoder", encoder}, {"head", head}};
  }
  Net same_architecture() const { return {}; }
  Tensor forward(const Tensor& x) const { return head(encoder(x)); }
};

/// A module with the same values in each test.
struct WithNet : Case {
  std::optional<Net> net;
  WithNet() { construct(); }
  void construct() {
    Generator own(5);
    const GeneratorScope scope(own);
    net.emplace();
  }
  std::string state() const override { return net ? bits(net->state_dict()) : "none"; }
};

struct Constructs : WithNet {
  Constructs() { net.reset(); }
  void call() override { construct(); }
};

struct Converts : WithNet {
  std::vector<nn::NamedTensor> old = net->parameters();
  void call() override { net->to(Dtype::f64); }
  std::string state() const override {
    std::string out = WithNet::state();
    for (const auto& [name, tensor] : old)
      out += tensor.node()->extra_or_null()->replaced ? "replaced" : "used";
    return out;
  }
};

/// Loads values that need a conversion, and views of the module's own values.
struct Loads : WithNet {
  nn::StateDict given;
  Loads() {
    for (const auto& [name, tensor] : net->state_dict())
      given[name] = tensor.rank() == 2 && tensor.size(0) == tensor.size(1)
                        ? kernel::transposed(tensor)
                        : (tensor * 2.0).to(Dtype::f64);
  }
  void call() override { net->load_state_dict(given); }
};

struct Clones : WithNet {
  std::optional<Net> copy;
  void call() override { copy = net->clone(); }
  std::string state() const override {
    return WithNet::state() + (copy ? bits(copy->state_dict()) : "none");
  }
};

struct Adapts : WithNet {
  void call() override {
    Generator own(7);
    const GeneratorScope scope(own);
    nn::add_adapters(*net, "*", {.rank = 2});
  }
  std::string state() const override {
    std::string out = WithNet::state();
    for (const auto& [name, tensor] : net->parameters())
      out += tensor.requires_grad() ? "learns" : "frozen";
    return out;
  }
};

template <class C>
std::unique_ptr<Case> make() {
  return std::make_unique<C>();
}

// ---- training ----

using MakeOptimizer = std::unique_ptr<optim::Optimizer> (*)(const std::vector<nn::NamedTensor>&);

std::unique_ptr<optim::Optimizer> sgd(const std::vector<nn::NamedTensor>& all) {
  return std::make_unique<optim::SGD>(all, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
}
std::unique_ptr<optim::Optimizer> adamw(const std::vector<nn::NamedTensor>& all) {
  return std::make_unique<optim::AdamW>(all, optim::AdamWOptions{.lr = 0.1});
}
std::unique_ptr<optim::Optimizer> lion(const std::vector<nn::NamedTensor>& all) {
  return std::make_unique<optim::Lion>(all, optim::LionOptions{.lr = 0.1});
}
std::unique_ptr<optim::Optimizer> muon(const std::vector<nn::NamedTensor>& all) {
  optim::MuonGroups groups = optim::muon_groups(all);
  return std::make_unique<optim::Muon>(groups.matrices, groups.others);
}
constexpr std::pair<const char*, MakeOptimizer> kOptimizers[] = {
    {"SGD", sgd}, {"AdamW", adamw}, {"Lion", lion}, {"Muon", muon}};

/// A model after one step, with the gradients of the next.
struct Trains : WithNet {
  std::unique_ptr<optim::Optimizer> optimizer;
  optim::EMA ema{net->parameters(), 0.9};

  explicit Trains(MakeOptimizer make) : optimizer(make(net->parameters())) {
    optimizer->warn_params_without_grad(false);
    differentiate();
    optimizer->step();
    ema.update();
    differentiate();
  }
  Tensor loss() const {
    const Tensor x = reshape(arange(24.0, 48.0, 1.0) / 24.0, {2, 3, 4});
    return mean(square((*net)(x)));
  }
  void call() override { loss().backward(); }
  void differentiate() const {
    optimizer->zero_grad();
    loss().backward();
  }
  std::string gradients() const {
    std::string out;
    for (const auto& [name, tensor] : net->parameters()) out += bits(tensor.grad());
    return out;
  }
  std::string state() const override {
    return WithNet::state() + bits(optimizer->state_dict()) + bits(ema.state_dict()) + gradients();
  }
};

/// A call on a Trains.
struct Calls : Trains {
  std::function<void(Trains&)> f;
  Calls(MakeOptimizer make, std::function<void(Trains&)> called)
      : Trains(make), f(std::move(called)) {}
  void call() override { f(*this); }
};
Make with(MakeOptimizer make, const std::function<void(Trains&)>& f) {
  return [=] { return std::make_unique<Calls>(make, f); };
}

/// Loads an optimizer state whose tensors are not contiguous.
struct LoadsState : Trains {
  nn::StateDict given;
  explicit LoadsState(MakeOptimizer make) : Trains(make) {
    for (const auto& [name, tensor] : optimizer->state_dict()) {
      given[name] = tensor.clone();
      if (tensor.rank() == 2)
        given[name] = kernel::transposed(kernel::copy(kernel::transposed(tensor * 2.0)));
    }
    given["step"] = full({}, 7, Dtype::i64);
  }
  void call() override { optimizer->load_state_dict(given); }
};

// ---- files ----

/// Writes or reads a file in a folder of its own. The state is the folder and `loaded`.
struct UsesFile : WithNet {
  Folder here;
  std::string path = here / "file";
  std::string loaded;
  std::function<void(UsesFile&)> f;
  UsesFile(const std::function<void(UsesFile&)>& prepare, std::function<void(UsesFile&)> called)
      : f(std::move(called)) {
    prepare(*this);
  }
  void call() override { f(*this); }
  std::string state() const override {
    std::string out = WithNet::state() + loaded;
    for (const auto& entry : std::filesystem::directory_iterator(path.substr(0, path.rfind('/'))))
      out += entry.path().filename().string() + read_bytes(entry.path().string());
    return out;
  }
};
Make file(const std::function<void(UsesFile&)>& prepare, const std::function<void(UsesFile&)>& f) {
  return [=] { return std::make_unique<UsesFile>(prepare, f); };
}
Make saves(const std::function<void(const std::string&, const Net&)>& save) {
  return file([](UsesFile& each) { write_bytes(each.path, "the earlier content"); },
              [=](UsesFile& each) { save(each.path, *each.net); });
}
/// `load` returns the bits of the loaded values.
Make loads(const std::function<void(const std::string&, const Net&)>& save,
           const std::function<std::string(const std::string&)>& load) {
  return file([=](UsesFile& each) { save(each.path, *each.net); },
              [=](UsesFile& each) {
                std::string now = load(each.path);
                each.loaded.swap(now);
              });
}

void save_checkpoint(const std::string& path, const Net& net) {
  io::save_checkpoint(path, {net.state_dict(), {{"step", "3"}, {"a longer name of a fact", "4"}}});
}
void save_weights(const std::string& path, const Net& net) { io::save(path, net); }
void save_array(const std::string& path, const Net& net) {
  io::save_npy(path, net.state_dict().begin()->second);
}
void save_table(const std::string& path, const Net& net) {
  io::save_csv(path, {{"one", "two", "three", "four"}, net.state_dict().at("head.weight")});
}
void save_tokenizer(const std::string& path, const Net&) {
  io::save_tokenizer(path, io::WordTokenizer::train("one two three one two", 4));
}

// ---- runs ----

/// Trains for 6 steps. Saves checkpoints, the best weights, metrics and a chart.
void run(const std::string& directory, bool resume) {
  Generator own(3);
  const GeneratorScope scope(own);
  const Tensor x = randn({8, 3}), y = sum(x, {1}, true);
  nn::Linear net(3, 1);
  optim::AdamW optimizer(net.parameters(), {.lr = 0.1});
  optim::EMA ema(net.parameters(), 0.5);
  train::TrainOptions options;
  options.directory = directory;
  options.steps = 6, options.eval_every = 2;
  train::Trainer trainer(net, optimizer, optim::warmup_cosine(2, 6), options);
  trainer.average(ema);
  resume ? trainer.resume() : trainer.start();
  trainer.run([&](std::int64_t) { return mse_loss(dropout(net(x), 0.2), y); },
              [&] {
                return train::Metrics{{"held_out_loss", mse_loss(net(x), y).item()}};
              });
}

/// Runs out of memory at every `every`-th allocation of a run, then starts or resumes the run.
std::string check_loud_runs(int every, std::int64_t& count) {
  const Unsynced quick;
  const Folder here;
  const std::string directory = here / "run";
  put_files(directory, {});
  run(directory, false);
  const Files right = files_in(directory);
  for (int k = 1;; k += every) {
    const auto mode = count % 2 == 0 ? FailAt::once : FailAt::from_then_on;
    put_files(directory, {});
    bool failed = false, thrown = false;
    {
      const FailAt fail(k, mode);
      try {
        run(directory, false);
      } catch (const MemoryError&) {
        thrown = true;
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
      failed = fail.failed();
    }
    if (thrown) {
      const Files left = files_in(directory);
      for (const auto& [name, bytes] : left)
        if (contains(name, ".tmp-")) return str_cat("allocation ", k, ": a temporary file remains");
      run(directory, left.count("checkpoint.safetensors") != 0);
    }
    if (files_in(directory) != right) return str_cat("allocation ", k, ": other files");
    if (!failed) return "";
    ++count;
  }
}

/// Like check_loud_runs(), without the progress of the runs.
std::string check_runs(int every, std::int64_t& count) {
  std::string complaint;
  static_cast<void>(capture_output([&] {
    try {
      complaint = check_loud_runs(every, count);
    } catch (const std::exception& error) {
      complaint = str_cat("run ", count, ": ", error.what());
    }
  }));
  return complaint;
}

// ---- all calls ----

void check_modules(int every) {
  check_all({{"construct", make<Constructs>},
             {"to(f64)", make<Converts>},
             {"load_state_dict", make<Loads>},
             {"clone", make<Clones>},
             {"add_adapters", make<Adapts>}},
            every);
}

void check_optimizers(int every) {
  for (const auto& [name, optimizer] : kOptimizers) {
    INFO(name);
    const MakeOptimizer of = optimizer;
    check_all({{"step", with(of, [](Trains& t) { t.optimizer->step({.clip_norm = 0.5}); })},
               {"load_state_dict", [of] { return std::make_unique<LoadsState>(of); }},
               {"construct", with(of, [of](Trains& t) { t.optimizer = of(t.net->parameters()); })}},
              every);
  }
  check_all({{"clip_grad_value",
              with(sgd, [](Trains& t) { optim::clip_grad_value(t.net->parameters(), 0.01); })},
             {"EMA::update", with(sgd, [](Trains& t) { t.ema.update(); })},
             {"EMA::swap", with(sgd, [](Trains& t) { t.ema.swap(); })},
             {"EMA::load_state_dict", with(sgd,
                                           [](Trains& t) {
                                             nn::StateDict given = t.ema.state_dict();
                                             for (auto& [name, tensor] : given)
                                               tensor = tensor.clone().fill_(3);
                                             t.ema.load_state_dict(given);
                                           })},
             {"zero_grad", with(sgd, [](Trains& t) { t.optimizer->zero_grad(); })}},
            every);
}

void check_backward(int every) {
  check_all({{"backward", [] { return std::make_unique<Trains>(sgd); }},
             {"batch_norm", with(sgd,
                                 [](Trains& t) {
                                   const Tensor x = reshape(arange(0.0, 24.0, 1.0), {6, 4});
                                   static_cast<void>(t.net->norm(x));
                                 })}},
            every);
}

void check_writing(int every) {
  const Unsynced quick;
  check_all({{"weights", saves(save_weights)},
             {"checkpoint", saves(save_checkpoint)},
             {"array", saves(save_array)},
             {"table", saves(save_table)},
             {"tokenizer", saves(save_tokenizer)}},
            every);
}

void check_reading(int every) {
  const Unsynced quick;
  check_all(
      {{"into a module", file(
                             [](UsesFile& each) {
                               io::save(each.path, *each.net);
                               each.net->to(Dtype::f64);
                               for (const auto& [name, tensor] : each.net->state_dict())
                                 Tensor(tensor).fill_(0);
                             },
                             [](UsesFile& each) { io::load(each.path, *each.net); })},
       {"checkpoint", loads(save_checkpoint,
                            [](const std::string& path) {
                              const io::Checkpoint read = io::load_checkpoint(path);
                              return bits(read.tensors) + read.facts.at("step");
                            })},
       {"array",
        loads(save_array, [](const std::string& path) { return bits(io::load_npy(path)); })},
       {"table",
        loads(save_table, [](const std::string& path) { return bits(io::load_csv(path).values); })},
       {"tokenizer",
        loads(save_tokenizer,
              [](const std::string& path) { return io::load_tokenizer(path)->to_json(); })}},
      every);
}

}  // namespace

TEST_CASE("a failed allocation in a module call changes nothing", "[slow]") { check_modules(9); }

TEST_CASE("a failed allocation in an optimizer call changes nothing", "[slow]") {
  check_optimizers(9);
}

TEST_CASE("a failed allocation in forward and backward of a model changes no gradient", "[slow]") {
  check_backward(9);
}

TEST_CASE("a failed allocation while writing a file leaves the old file or the new one", "[slow]") {
  check_writing(9);
}

TEST_CASE("a failed allocation while reading a file leaks and changes nothing", "[slow]") {
  check_reading(9);
}

TEST_CASE("each failed allocation in each call leaves the guaranteed state", "[.nightly]") {
  check_modules(1);
  check_optimizers(1);
  check_backward(1);
  check_writing(1);
  check_reading(1);
}

TEST_CASE("after a failed allocation in step_in_backward, each parameter is old or complete",
          "[slow]") {
  const auto parameters = [](const Trains& t) {
    std::vector<std::string> all;
    for (const auto& [name, tensor] : t.net->parameters()) all.push_back(bits(tensor));
    return all;
  };
  const auto pass = [](Trains& t) {
    t.optimizer->zero_grad();
    t.optimizer->step_in_backward();
    t.loss().backward();
  };
  std::int64_t count = 0;
  for (const auto& [name, optimizer] : kOptimizers) {
    INFO(name);
    Trains right(optimizer);
    const std::vector<std::string> before = parameters(right);
    pass(right);
    const std::vector<std::string> after = parameters(right);
    bool failed = true;
    for (int k = 1; failed; ++k) {
      Trains each(optimizer);
      {
        const FailAt fail(k);
        try {
          pass(each);
        } catch (const MemoryError&) {
        } catch (const std::bad_alloc&) {
        }
        failed = fail.failed();
      }
      const std::vector<std::string> now = parameters(each);
      std::size_t mixed = 0;
      for (std::size_t i = 0; i < now.size(); ++i)
        mixed += now[i] != before[i] && now[i] != after[i];
      REQUIRE(mixed == 0);
      if (!failed) CHECK(now == after);
      ++count;
    }
  }
  WARN(count << " failed allocations");
}

TEST_CASE("a failed allocation never shortens a text, and destroying JSON allocates nothing") {
  const double number = -1.0 / 3e300;  // 23 bytes: LLVM's strings allocate from 23 on
  const auto text = [&] {
    return str_cat("a text of more than 15 bytes: ", 1234567, ' ', 0.5, Shape{2, 3}) +
           check::number(number, 17);
  };
  const std::string right = text();
  const std::string nested =
      R"({"list": [[1, 2.5, [true, {"a": null}]], "a text of more than 15 bytes"], "b": [{}]})";
  for (const auto mode : {FailAt::once, FailAt::from_then_on})
    for (int k = 1, failed = 1; failed != 0; ++k) {
      std::string made;
      {
        const FailAt fail(k, mode);
        try {
          made = text();
          const io::Json json = io::Json::parse(nested, "a document");
          made += json.at("list").describe();
        } catch (const std::bad_alloc&) {
          if (!made.empty() && made != right) made = "damaged";
        }
        failed = fail.failed();
      }
      REQUIRE((made.empty() || made == right || made == right + "a list"));
    }
}

TEST_CASE("a hook that throws in any call leaves all gradients and memory unchanged") {
  Trains right(sgd);
  struct Stop {};
  int calls = 0, wanted = 0;
  const auto count = [&](const Tensor&) {
    if (++calls == wanted) throw Stop();
    return Tensor();
  };
  const auto pass = [&](const Trains& t) {
    calls = 0;
    const Tensor x = reshape(arange(24.0, 48.0, 1.0) / 24.0, {2, 3, 4}).requires_grad_();
    const Tensor hidden = t.net->encoder(x), y = t.net->head(hidden);
    for (const Tensor& each : {x, hidden, y}) each.register_hook(count);
    mean(square(y)).backward();
  };
  for (const nn::NamedTensor& each : right.net->parameters()) each.tensor.register_hook(count);
  const std::string before = right.gradients();
  int thrown = 0;
  for (wanted = 1;; ++wanted) {
    const std::int64_t bytes = memory::usage().live_bytes, objects = live_objects();
    bool stopped = false;
    try {
      pass(right);
    } catch (const Stop&) {
      stopped = true;
    }
    if (!stopped) break;
    ++thrown;
    REQUIRE(memory::usage().live_bytes == bytes);
    REQUIRE(live_objects() == objects);
    REQUIRE(right.gradients() == before);
  }
  Trains fresh(sgd);
  wanted = 0;
  pass(fresh);
  CHECK(right.gradients() == fresh.gradients());
  WARN(thrown << " calls of hooks threw");
  CHECK(thrown > 10);
}

TEST_CASE("a run that runs out of memory can be resumed, and ends with the same files", "[slow]") {
  std::int64_t count = 0;
  CHECK(check_runs(3, count) == "");
  WARN(count << " runs ended by a failed allocation");
}

}  // namespace gradus::testing::test_failures
