// The Jacobians that calib3d of OpenCV returns.
#include "hunt.h"

#include <opencv2/calib3d.hpp>

using namespace hunt;

/// The values of a matrix of doubles by rows, or of its transpose.
V values(const cv::Mat& m, bool transposed = false) {
  const cv::Mat rows = transposed ? cv::Mat(m.t()) : m.clone();
  return V(rows.ptr<double>(), rows.ptr<double>() + rows.total() * rows.channels());
}

cv::Mat column(const V& x, std::size_t from, std::size_t n) {
  return cv::Mat(V(x.begin() + from, x.begin() + from + n), true);
}

int main() {
  const double pi = 3.141592653589793;
  const std::vector<V> turns{{0, 0, 0},         {1e-12, 0, 1e-12}, {1e-8, 1e-9, -1e-8},
                             {1e-5, 0, 2e-5},   {0.3, -0.2, 0.5},  {1, 2, -1},
                             {pi - 1e-4, 0, 0}, {0, pi - 1e-7, 0}, {2.2, 2.2, 0.3},
                             {4, 1, -3},        {6.5, 1, -0.3},    {1.4, -2.8, 0.1}};
  const auto matrix = [](const V& r) {
    cv::Mat m;
    cv::Rodrigues(cv::Mat(r), m);
    return values(m);
  };
  const auto jacobian = [](const V& r) {
    cv::Mat m, j;
    cv::Rodrigues(cv::Mat(r), m, j);
    return values(j, true);
  };
  sweep("Rodrigues of a vector", matrix, jacobian, turns);
  const auto back = [](const V& r) {
    cv::Mat m, v;
    cv::Rodrigues(cv::Mat(r), m);
    cv::Rodrigues(m, v);
    return values(v);
  };
  const auto round_trip = [](const V& r) {
    cv::Mat m, v, j1, j2;
    cv::Rodrigues(cv::Mat(r), m, j1);
    cv::Rodrigues(m, v, j2);
    return values(j1 * j2, true);
  };
  sweep("Rodrigues of a matrix", back, round_trip, turns);

  for (const V& a : turns)
    for (const V& b : turns) {
      V x(a);
      x.insert(x.end(), {0.5, -1, 2});
      x.insert(x.end(), b.begin(), b.end());
      x.insert(x.end(), {1, 0.25, -3});
      const auto f = [](const V& x) {
        cv::Mat r, t;
        cv::composeRT(column(x, 0, 3), column(x, 3, 3), column(x, 6, 3), column(x, 9, 3), r, t);
        cv::vconcat(r, t, r);
        return values(r);
      };
      const auto j = [](const V& x) {
        cv::Mat r, t, d[8];
        cv::composeRT(column(x, 0, 3), column(x, 3, 3), column(x, 6, 3), column(x, 9, 3), r, t,
                      d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
        cv::Mat top, bottom;
        cv::hconcat(d, 4, top);
        cv::hconcat(d + 4, 4, bottom);
        cv::vconcat(top, bottom, top);
        return values(top);
      };
      sweep("composeRT", f, j, {x});
    }
  for (int n : {1, 2, 5}) {
    const auto f = [n](const V& x) {
      cv::Mat y = column(x, 0, 2 * n).reshape(1, 2) * column(x, 2 * n, 3 * n).reshape(1, n);
      return values(y);
    };
    const auto j = [n](const V& x) {
      cv::Mat a, b;
      cv::matMulDeriv(column(x, 0, 2 * n).reshape(1, 2), column(x, 2 * n, 3 * n).reshape(1, n), a,
                      b);
      cv::hconcat(a, b, a);
      return values(a);
    };
    V x(5 * n);
    for (int i = 0; i < 5 * n; ++i) x[i] = std::sin(i + 1.);
    sweep("matMulDeriv", f, j, {x});
  }

  // Parameters: rotation 3, translation 3, fx fy cx cy, distortion; one and five points.
  const V coefficients{0.1,  -0.2,  0.01,   -0.02, 0.05,   0.03, -0.01,
                       0.02, 0.004, -0.003, 0.002, -0.001, 0.05, -0.08};
  for (double aspect : {0., 1.5})
    for (std::size_t nd : {0, 4, 5, 8, 12, 14})
      for (const V& turn : turns)
        for (int points : {1, 5}) {
          for (double size : {0., 1e-9, 1.}) {
            cv::Mat object(points, 1, CV_64FC3);
            for (int i = 0; i < 3 * points; ++i)
              object.ptr<double>()[i] = i < 3 ? (i == 2 ? 3 : size) : std::sin(i * 1.7);
            V x(turn);
            x.insert(x.end(), {0.1, -0.2, 6, 1.2, 0.8, 0.5, 0.25});
            x.insert(x.end(), coefficients.begin(), coefficients.begin() + nd);
            const auto project = [object, nd, aspect](const V& x, bool jacobian) {
              const cv::Mat k = (cv::Mat_<double>(3, 3) << (aspect ? x[7] * aspect : x[6]), 0, x[8],
                                 0, x[7], x[9], 0, 0, 1);
              cv::Mat y, j;
              if (!jacobian) {
                cv::projectPoints(object, column(x, 0, 3), column(x, 3, 3), k,
                                  nd ? column(x, 10, nd) : cv::Mat(), y);
                return values(y);
              }
              cv::projectPoints(object, column(x, 0, 3), column(x, 3, 3), k,
                                nd ? column(x, 10, nd) : cv::Mat(), y, j, aspect);
              return values(nd ? j : cv::Mat(j.colRange(0, 10)));
            };
            sweep(
                check::joined("projectPoints, ", nd, " coefficients", aspect ? ", aspect" : ""),
                [=](const V& x) { return project(x, false); },
                [=](const V& x) { return project(x, true); }, {x});
          }
        }
  // Parameters: fx fy cx cy, distortion 4, rotation 3, translation 3, skew.
  for (const V& turn : turns)
    for (double size : {0., 1e-9, 1., 50.}) {
      cv::Mat object =
          (cv::Mat_<cv::Vec3d>(2, 1) << cv::Vec3d(size, size, 3), cv::Vec3d(0.4, -0.7, 1));
      V x{1.2, 0.8, 0.5, 0.25, 0.1, -0.02, 0.01, 0.003};
      x.insert(x.end(), turn.begin(), turn.end());
      x.insert(x.end(), {0, 0, 2, 0.1});
      if (size == 50.) x[11] = 0.3;
      const auto project = [object](const V& x, cv::Mat* j) {
        const cv::Mat k = (cv::Mat_<double>(3, 3) << x[0], 0, x[2], 0, x[1], x[3], 0, 0, 1);
        cv::Mat y;
        cv::fisheye::projectPoints(object, y, column(x, 8, 3), column(x, 11, 3), k, column(x, 4, 4),
                                   x[14], j ? cv::OutputArray(*j) : cv::noArray());
        return values(y);
      };
      sweep(
          "fisheye::projectPoints", [=](const V& x) { return project(x, nullptr); },
          [=](const V& x) {
            cv::Mat j;
            project(x, &j);
            return values(j);
          },
          {x});
    }
}
