// A GPT and its autograd engine in one file without dependencies.
//
//   g++ -std=c++20 -O3 examples/nano/main.cpp -o nano
//   ./nano FILE [STEPS]          learns to predict a text's next character, then writes some
//
// Each operation pushes its backward pass onto the tape. dy is the gradient of the loss with
// respect to y. Axes: B batch, T tokens, C width, H heads, D = C / H, V vocabulary.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

// ---- Tensors and the tape ----
using std::size_t;
using Shape = std::vector<size_t>;
using Ids = std::vector<size_t>;

/// Values in row-major order, and their gradients. Copies share both.
struct Tensor {
  Shape shape;
  size_t size = std::accumulate(shape.begin(), shape.end(), size_t(1), std::multiplies<>());
  std::shared_ptr<double[]> memory{new double[2 * size]()};
  double *value = memory.get(), *grad = value + size;
  explicit Tensor(Shape sizes) : shape(std::move(sizes)) {}
  Tensor reshape(Shape sizes) const {  // shares the values
    Tensor x = *this;
    x.shape = std::move(sizes);
    return x;
  }
};

std::vector<std::function<void()>> tape;  // backward passes so far

/// Runs the tape in reverse, because a result's gradient must be complete before its inputs'.
void backward(const Tensor& loss) {
  loss.grad[0] = 1;
  for (auto step = tape.rbegin(); step != tape.rend(); ++step) (*step)();
  tape.clear();
}

// ---- Operations ----
/// y = a + b, where b repeats along the leading axes of a.     da += dy,  db += dy
Tensor add(const Tensor& a, const Tensor& b) {
  Tensor y(a.shape);
  for (size_t i = 0; i < y.size; ++i) y.value[i] = a.value[i] + b.value[i % b.size];
  tape.push_back([=] {
    for (size_t i = 0; i < y.size; ++i) a.grad[i] += y.grad[i];
    for (size_t i = 0; i < y.size; ++i) b.grad[i % b.size] += y.grad[i];
  });
  return y;
}

/// y = a b: [..., M, K] · [..., K, N] → [..., M, N]. A single b [K, N] serves all matrices of a.
/// da += dy bᵀ,  db += aᵀ dy
Tensor matmul(const Tensor& a, const Tensor& b) {
  const size_t K = b.shape[b.shape.size() - 2], N = b.shape.back();
  const size_t rows = a.size / K, M = rows / (b.size / (K * N));  // rows of a for each matrix of b
  Shape shape = a.shape;
  shape.back() = N;
  Tensor y(shape);
  for (size_t i = 0; i < rows; ++i)
    for (size_t k = 0; k < K; ++k)
      for (size_t j = 0, at = (i / M * K + k) * N; j < N; ++j)
        y.value[i * N + j] += a.value[i * K + k] * b.value[at + j];
  tape.push_back([=] {
    for (size_t i = 0; i < rows; ++i)
      for (size_t k = 0; k < K; ++k) {
        const size_t row = (i / M * K + k) * N;
        double da = 0;
        for (size_t j = 0; j < N; ++j) da += y.grad[i * N + j] * b.value[row + j];
        for (size_t j = 0; j < N; ++j) b.grad[row + j] += a.value[i * K + k] * y.grad[i * N + j];
        a.grad[i * K + k] += da;
      }
  });
  return y;
}

/// Exchanges two neighboring axes: [outer, M, N, inner] → [outer, N, M, inner].
Tensor transpose(const Tensor& x, size_t axis) {
  Tensor y(x.shape);
  const size_t M = x.shape[axis], N = x.shape[axis + 1];
  std::swap(y.shape[axis], y.shape[axis + 1]);
  size_t inner = 1;
  for (size_t k = axis + 2; k < x.shape.size(); ++k) inner *= x.shape[k];
  const auto from = [=](size_t i) {  // index in x of element i of y
    const size_t k = i % inner, m = i / inner % M, n = i / (inner * M) % N;
    return ((i / (inner * M * N) * M + m) * N + n) * inner + k;
  };
  for (size_t i = 0; i < y.size; ++i) y.value[i] = x.value[from(i)];
  tape.push_back([=] {
    for (size_t i = 0; i < y.size; ++i) x.grad[from(i)] += y.grad[i];
  });
  return y;
}

/// p = softmax(scale · x) over n elements; returns log Σ exp(scale · x).
double softmax_row(const double* x, size_t n, double* p, double scale = 1) {
  double most = scale * *std::max_element(x, x + n), sum = 0;  // most avoids overflow
  for (size_t i = 0; i < n; ++i) sum += p[i] = std::exp(scale * x[i] - most);
  for (size_t i = 0; i < n; ++i) p[i] /= sum;
  return most + std::log(sum);
}

/// p = softmax(scale · x) over the first t + 1 elements of row t of [..., T, T], and 0 after them.
/// dx += scale · p (dp − Σ p dp)
Tensor causal_softmax(const Tensor& x, double scale) {
  Tensor p(x.shape);
  const size_t T = x.shape.back(), rows = x.size / T;
  for (size_t r = 0; r < rows; ++r) softmax_row(&x.value[r * T], r % T + 1, &p.value[r * T], scale);
  tape.push_back([=] {
    std::vector<double> sum(rows);
    for (size_t i = 0; i < x.size; ++i) sum[i / T] += p.value[i] * p.grad[i];
    for (size_t i = 0; i < x.size; ++i) x.grad[i] += scale * p.value[i] * (p.grad[i] - sum[i / T]);
  });
  return p;
}

/// y = x / r with r = √(mean(x²) + 10⁻⁵), for each row.     dx += (dy − y · mean(y · dy)) / r
Tensor rms_norm(const Tensor& x) {
  const size_t C = x.shape.back();
  Tensor y(x.shape);
  std::vector<double> r(x.size / C, 1e-5);
  for (size_t i = 0; i < x.size; ++i) r[i / C] += x.value[i] * x.value[i] / double(C);
  for (double& one : r) one = std::sqrt(one);
  for (size_t i = 0; i < x.size; ++i) y.value[i] = x.value[i] / r[i / C];
  tape.push_back([=] {
    std::vector<double> mean(r.size());
    for (size_t i = 0; i < x.size; ++i) mean[i / C] += y.value[i] * y.grad[i] / double(C);
    for (size_t i = 0; i < x.size; ++i)
      x.grad[i] += (y.grad[i] - y.value[i] * mean[i / C]) / r[i / C];
  });
  return y;
}

/// y = max(x, 0).     dx += dy where x > 0
Tensor relu(const Tensor& x) {
  Tensor y(x.shape);
  for (size_t i = 0; i < x.size; ++i) y.value[i] = std::max(x.value[i], 0.0);
  tape.push_back([=] {
    for (size_t i = 0; i < x.size; ++i) x.grad[i] += x.value[i] > 0 ? y.grad[i] : 0;
  });
  return y;
}

/// Rows ids[i] of a table [V, C] → [B, T, C].     dtable[ids[i]] += dy[i]
Tensor embedding(const Tensor& table, const Ids& ids, size_t T) {
  const size_t C = table.shape[1];
  Tensor y({ids.size() / T, T, C});
  for (size_t i = 0; i < y.size; ++i) y.value[i] = table.value[ids[i / C] * C + i % C];
  tape.push_back([=] {
    for (size_t i = 0; i < y.size; ++i) table.grad[ids[i / C] * C + i % C] += y.grad[i];
  });
  return y;
}

/// Mean over rows of −log p[target], p = softmax(x).     dx += (p − 1 at the target) / rows
Tensor cross_entropy(const Tensor& x, const Ids& targets) {
  const size_t V = x.shape.back(), rows = targets.size();
  Tensor loss({1}), p(x.shape);
  for (size_t r = 0; r < rows; ++r) {
    const double log_sum = softmax_row(&x.value[r * V], V, &p.value[r * V]);
    loss.value[0] += (log_sum - x.value[r * V + targets[r]]) / double(rows);
  }
  tape.push_back([=] {
    for (size_t i = 0; i < x.size; ++i)
      x.grad[i] += loss.grad[0] * (p.value[i] - double(i % V == targets[i / V])) / double(rows);
  });
  return loss;
}

// ---- The model (Radford et al. 2019; norms without weights and no biases) ----
struct Options {
  size_t vocab = 0, context = 32, layers = 2, heads = 2, width = 64;
};
struct Block {
  Tensor q, k, v, out, up, down;  // four [C, C], then [C, 4 C] and [4 C, C]
};

struct GPT {
  Options options;
  std::vector<Tensor> parameters = {};
  std::mt19937 random{1};
  Tensor token = normal({options.vocab, options.width});
  Tensor position = normal({options.context, options.width});
  std::vector<Block> blocks = {};

  explicit GPT(const Options& given) : options(given) {
    const size_t C = options.width;
    while (blocks.size() < options.layers)
      blocks.push_back({normal({C, C}), normal({C, C}), normal({C, C}), normal({C, C}),
                        normal({C, 4 * C}), normal({4 * C, C})});
  }

  Tensor normal(Shape shape) {  // a random parameter
    Tensor x = parameters.emplace_back(std::move(shape));
    std::normal_distribution<double> distribution(0, 0.02);
    for (size_t i = 0; i < x.size; ++i) x.value[i] = distribution(random);
    return x;
  }

  /// softmax(q kᵀ / √D) v for each head (Vaswani et al. 2017): [B, T, C] → [B, T, C]
  Tensor attention(const Block& block, const Tensor& x) const {
    const size_t B = x.shape[0], T = x.shape[1], H = options.heads, D = options.width / H;
    const auto heads = [&](const Tensor& weight) {  // [B, H, T, D]
      return transpose(matmul(x, weight).reshape({B, T, H, D}), 1);
    };
    const Tensor scores = matmul(heads(block.q), transpose(heads(block.k), 2));  // [B, H, T, T]
    const Tensor y = matmul(causal_softmax(scores, 1 / std::sqrt(double(D))), heads(block.v));
    return matmul(transpose(y, 1).reshape(x.shape), block.out);
  }

  /// B · T token ids → logits [B, T, V]: a score for each token that may come next.
  Tensor operator()(const Ids& ids, size_t T) const {
    Ids positions;
    while (positions.size() < T) positions.push_back(positions.size());
    Tensor x = add(embedding(token, ids, T), embedding(position, positions, T));
    for (const Block& block : blocks) {
      x = add(x, attention(block, rms_norm(x)));
      x = add(x, matmul(relu(matmul(rms_norm(x), block.up)), block.down));
    }
    return matmul(rms_norm(x), transpose(token, 0));
  }
};

// ---- AdamW (Loshchilov and Hutter 2019) ----
struct AdamW {
  double lr = 2e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
  int steps = 0;
  std::vector<double> m = {}, v = {};  // of all parameters

  /// m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²,  w ← w − lr (m̂ / (√v̂ + ε) + decay · w)
  void step(const std::vector<Tensor>& parameters) {
    const double c1 = 1 / (1 - std::pow(beta1, ++steps)), c2 = 1 / (1 - std::pow(beta2, steps));
    for (size_t k = 0; const auto& [shape, size, memory, w, g] : parameters) {
      m.resize(std::max(m.size(), k + size));
      v.resize(m.size());
      for (size_t i = 0; i < size; ++i, ++k) {
        m[k] = beta1 * m[k] + (1 - beta1) * g[i];
        v[k] = beta2 * v[k] + (1 - beta2) * g[i] * g[i];
        w[i] -= lr * (m[k] * c1 / (std::sqrt(v[k] * c2) + eps) + weight_decay * w[i]);
        g[i] = 0;
      }
    }
  }
};

// ---- Training ----
/// Learns B random pieces of a text; returns their loss in nats per byte.
double train_step(GPT& model, AdamW& optimizer, const Ids& text, size_t B = 8) {
  const size_t T = model.options.context;
  Ids x, y;  // the pieces, and the next byte for each of their bytes
  while (x.size() < B * T) {
    const auto from = text.begin() + long(model.random() % (text.size() - T));
    x.insert(x.end(), from, from + long(T));
    y.insert(y.end(), from + 1, from + 1 + long(T));
  }
  const Tensor loss = cross_entropy(model(x, T), y);
  backward(loss);
  optimizer.step(model.parameters);
  return loss.value[0];
}

/// Draws each byte from the model's prediction for the bytes before it.
Ids write(GPT& model, size_t count) {
  Ids text = {'\n'};
  while (text.size() < count) {
    const Ids last(text.end() - long(std::min(text.size(), model.options.context)), text.end());
    const Tensor logits = model(last, last.size());
    double p[256];
    softmax_row(&logits.value[logits.size - 256], 256, p);
    text.push_back(std::discrete_distribution<size_t>(p, p + 256)(model.random));
    tape.clear();
  }
  return text;
}

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "");
  Ids text;  // a token is a byte
  for (int c = file.get(); file; c = file.get()) text.push_back(size_t(c));
  GPT model({.vocab = 256});
  AdamW optimizer;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 500;
  if (text.size() <= model.options.context || steps < 1) {
    std::fprintf(stderr, "usage: nano FILE [STEPS]   FILE: a text of 33 bytes or more\n");
    return 2;
  }
  for (int step = 1; step <= steps; ++step) {
    const double loss = train_step(model, optimizer, text);
    if (step % 10 == 0) std::printf("step %d: %.3f nats per byte\n", step, loss);
  }
  for (const size_t byte : write(model, 400)) std::putchar(byte < ' ' ? '\n' : int(byte));
  return 0;
}
