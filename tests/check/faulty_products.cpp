#include <cmath>
#include <vector>

#include "gradus/tests/check/faulty_ops.h"

namespace gradus::raw_cases {
namespace {

struct Sides {
  Index m, k, n;
};

/// da[i,p] = Σ_j dc(i, j) b(p, j)
template <class Dc, class B>
Wrong da_with(Sides s, Dc dc, B b) {
  return [=](const Arguments& in, const Values& dy) {
    Values da(s.m * s.k, 0.0);
    for (Index i = 0; i < s.m; ++i) {
      for (Index p = 0; p < s.k; ++p) {
        for (Index j = 0; j < s.n; ++j) da[i * s.k + p] += dc(dy, i, j) * b(in[1], p, j);
      }
    }
    return da;
  };
}

/// db[p,j] = Σ_i a(i, p) dc(i, j) for i in [first, last).
template <class A>
Wrong db_with(Sides s, Index first, Index last, A a) {
  return [=](const Arguments& in, const Values& dy) {
    Values db(s.k * s.n, 0.0);
    for (Index i = first; i < last; ++i) {
      for (Index p = 0; p < s.k; ++p) {
        for (Index j = 0; j < s.n; ++j) db[p * s.n + j] += a(in[0], i, p) * dy[i * s.n + j];
      }
    }
    return db;
  };
}

/// y[r,c] = x[r,c] + b[c]
Case bias_case(Index rows, Index width) {
  const auto r = static_cast<std::int64_t>(rows), w = static_cast<std::int64_t>(width);
  return {"bias",
          {{"x", {r, w}, plain_values(rows * width)}, {"b", {w}, plain_values(width, 2)}},
          [width](const Arguments& in) {
            Values y = in[0];
            for (Index i = 0; i < y.size(); ++i) y[i] += in[1][i % width];
            return y;
          },
          [width](const Arguments&, const Values& dy) {
            Values db(width, 0.0);
            for (Index i = 0; i < dy.size(); ++i) db[i % width] += dy[i];
            return Arguments{dy, db};
          }};
}

Case quotient_case() {
  return {"divide",
          {{"a", {5}, plain_values(5)}, {"b", {5}, plain_values(5, 2)}},
          [](const Arguments& in) {
            Values y = in[0];
            for (Index i = 0; i < 5; ++i) y[i] /= in[1][i];
            return y;
          },
          [](const Arguments& in, const Values& dy) {
            Arguments d{dy, dy};
            for (Index i = 0; i < 5; ++i) {
              d[0][i] = dy[i] / in[1][i];
              d[1][i] = -dy[i] * in[0][i] / (in[1][i] * in[1][i]);
            }
            return d;
          }};
}

/// dx[i] = dy[i] · f(a[i], b[i])
Spoil pairs(Index k, double (*f)(double a, double b)) {
  return instead(k, [f](const Arguments& in, const Values& dy) {
    Values d = dy;
    for (Index i = 0; i < d.size(); ++i) d[i] *= f(in[0][i], in[1][i]);
    return d;
  });
}

using Add = std::function<void(const std::string& name, const Case& subject, const At& output_shape,
                               Index input, const std::string& cause, const Spoil& spoil)>;

void add_matmul(const Add& add) {
  const Sides s{2, 3, 5}, q{3, 3, 3};
  const Case c = matmul(2, 3, 5), square = matmul(3, 3, 3);
  const auto dc = [](Index n) {
    return [n](const Values& dy, Index i, Index j) { return dy[i * n + j]; };
  };
  const auto b = [](Index n) {
    return [n](const Values& v, Index p, Index j) { return v[p * n + j]; };
  };
  const auto turned = [](const Values& v, Index i, Index j) { return v[j * 3 + i]; };
  const auto a = [](Index k) {
    return [k](const Values& v, Index i, Index p) { return v[i * k + p]; };
  };
  add("A·B, dC B for dC Bᵀ", square, {3, 3}, 0, "OPERAND TRANSPOSED",
      instead(0, da_with(q, dc(3), turned)));
  add("A·B, A dC for Aᵀ dC", square, {3, 3}, 1, "OPERAND TRANSPOSED",
      instead(1, db_with(q, 0, 3, turned)));
  add("A·B, dCᵀ", square, {3, 3}, 0, "TRANSPOSED", instead(0, da_with(q, turned, b(3))));
  add("A·B, dAᵀ", square, {3, 3}, 0, "TRANSPOSED",
      [](Arguments& dx, const Arguments&, const Values&) {
        const Values right = dx[0];
        for (Index i = 0; i < 9; ++i) dx[0][i] = right[i % 3 * 3 + i / 3];
      });
  add("A·B, dB by columns", c, {2, 5}, 1, "TRANSPOSED",
      [](Arguments& dx, const Arguments&, const Values&) {
        const Values right = dx[1];
        for (Index i = 0; i < 15; ++i) dx[1][i % 5 * 3 + i / 5] = right[i];
      });
  add("A·B, dA and dB", square, {3, 3}, 0, "SWAPPED",
      [](Arguments& dx, const Arguments&, const Values&) { std::swap(dx[0], dx[1]); });
  add("A·B, 1/√k", c, {2, 5}, 0, "SCALE",
      each(0, [](double v, Index) { return v / std::sqrt(3.0); }));
  add("A·B, last row", c, {2, 5}, 1, "PARTIAL SUM", instead(1, db_with(s, 0, 1, a(3))));
  add("A·B, = for +=", c, {2, 5}, 1, "PARTIAL SUM", instead(1, db_with(s, 1, 2, a(3))));
  add("A·B, last column", c, {2, 5}, 0, "LEFT OUT",
      each(0, [](double v, Index i) { return i % 3 == 2 ? 0 : v; }));
  add("A·B, one j less", c, {2, 5}, 0, "PARTIAL SUM",
      instead(0,
              da_with(
                  s, [](const Values& dy, Index i, Index j) { return j == 4 ? 0 : dy[i * 5 + j]; },
                  b(5))));
  add("A·B, sign", c, {2, 5}, 1, "SIGN", each(1, [](double v, Index) { return -v; }));
}

}  // namespace

std::vector<FaultyOp> faulty_product() {
  std::vector<FaultyOp> all;
  const Add add = [&all](const std::string& name, const Case& subject, const At& shape, Index input,
                         const std::string& cause, const Spoil& spoil) {
    all.push_back({name, subject, spoil, cause, input, shape});
  };
  add_matmul(add);
  const auto rows = [](Index width, Index first, Index last, double factor) {
    return instead(1, [=](const Arguments&, const Values& dy) {
      Values db(width, 0.0);
      for (Index i = first * width; i < last * width; ++i) db[i % width] += factor * dy[i];
      return db;
    });
  };
  add("bias, first row", bias_case(4, 3), {4, 3}, 1, "PARTIAL SUM", rows(3, 0, 1, 1));
  add("bias, mean", bias_case(4, 3), {4, 3}, 1, "SCALE", rows(3, 0, 4, 0.25));
  add("bias, other axis", bias_case(3, 3), {3, 3}, 1, "TRANSPOSED",
      instead(1, [](const Arguments&, const Values& dy) {
        Values db(3, 0.0);
        for (Index i = 0; i < 9; ++i) db[i / 3] += dy[i];
        return db;
      }));
  add("bias, nothing", bias_case(4, 3), {4, 3}, 1, "NO GRADIENT",
      each(1, [](double, Index) { return 0.0; }));
  add("a/b, da = dy", quotient_case(), {}, 0, "UPSTREAM ONLY",
      pairs(0, [](double, double) { return 1.0; }));
  add("a/b, da = b dy", quotient_case(), {}, 0, "FACTOR",
      pairs(0, [](double, double b) { return b; }));
  add("a/b, db sign", quotient_case(), {}, 1, "SIGN",
      pairs(1, [](double a, double b) { return a / (b * b); }));
  add("a/b, db, one b", quotient_case(), {}, 1, "FACTOR",
      pairs(1, [](double a, double b) { return -a / b; }));
  add("a/b, db, no a", quotient_case(), {}, 1, "FACTOR",
      pairs(1, [](double, double b) { return -1 / (b * b); }));
  add("a/b, db for da", quotient_case(), {}, 0, "SAME AS ANOTHER",
      pairs(0, [](double a, double b) { return -a / (b * b); }));
  return all;
}

}  // namespace gradus::raw_cases
