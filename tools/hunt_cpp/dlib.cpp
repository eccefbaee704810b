// dlib's layers and losses at shapes and values that its test_layer() does not draw. dlib computes
// in float, so errors below 0.005 of the largest derivative are not found.
#include "hunt.h"

#include <dlib/dnn.h>

using namespace hunt;
using dlib::resizable_tensor;
using dlib::tensor;
using F = std::vector<float>;
using Shape = std::array<long, 4>;  // samples, channels, rows, columns

/// The network under a layer: an output and its gradient.
struct Sub {
  resizable_tensor output, gradient;
  Sub(const F& x, const Shape& s)
      : output(s[0], s[1], s[2], s[3]), gradient(s[0], s[1], s[2], s[3]) {
    std::copy(x.begin(), x.end(), output.host());
    gradient = 0;
  }
  tensor& get_mutable_output() { return output; }
  const tensor& get_output() const { return output; }
  const tensor& private_get_output() const { return output; }
  tensor& get_gradient_input() { return gradient; }
  tensor& private_get_gradient_input() { return gradient; }
  unsigned int sample_expansion_factor() const { return 1; }
  const Sub& subnet() const { return *this; }
};

F values(const tensor& t) { return F(t.host(), t.host() + t.size()); }

std::vector<F> samples(std::size_t n) {
  std::vector<F> all;
  for (const float scale : {1e-4f, 1.f, 12.f}) {
    F x(n);
    for (std::size_t i = 0; i < n; ++i)
      x[i] = scale * (std::sin(2.3f * i + 0.4f) + 0.01f * (i % 17));
    all.push_back(x);
  }
  return all;
}
V numbers(const F& x, const Shape& s) {
  V at(s.begin(), s.end());
  at.insert(at.end(), x.begin(), x.begin() + std::min<std::size_t>(3, x.size()));
  return at;
}

template <class L>
void layer(
    const std::string& name, const L& l,
    std::vector<Shape> shapes = {
        {1, 1, 1, 1}, {2, 3, 1, 5}, {1, 1, 3, 3}, {3, 2, 5, 4}, {2, 1, 7, 1}, {5, 4, 1, 1}}) {
  for (const Shape& s : shapes)
    for (const F& x : samples(s[0] * s[1] * s[2] * s[3])) {
      const auto prepared = [&](const F& x, const F& p) {
        auto pair = std::make_pair(l, Sub(x, s));
        pair.first.setup(pair.second);
        if (!p.empty()) std::copy(p.begin(), p.end(), pair.first.get_layer_params().host());
        return pair;
      };
      F p = values(prepared(x, {}).first.get_layer_params());
      for (std::size_t i = 0; i < p.size(); ++i) p[i] += 0.1f * std::cos(1.f + i);
      const auto f = [&](const F& x, const F& p) {
        auto [made, sub] = prepared(x, p);
        resizable_tensor y;
        dlib::impl::call_layer_forward(made, sub, y);
        return values(y);
      };
      const auto vjp = [&](const F& x, const F& p, const F& dy) {
        auto [made, sub] = prepared(x, p);
        resizable_tensor y, g, dp;
        dlib::impl::call_layer_forward(made, sub, y);
        g.copy_size(y);
        std::copy(dy.begin(), dy.end(), g.host());
        dp.copy_size(made.get_layer_params());
        dp = 0;
        dlib::impl::call_layer_backward(made, y, g, sub, dp);
        return std::make_tuple(values(sub.gradient), values(dp));
      };
      try {
        if (p.empty()) {
          print(name, numbers(x, s),
                check::raw(
                    name, [&](const F& x) { return f(x, {}); },
                    [&](const F& x, const F& dy) { return std::get<0>(vjp(x, {}, dy)); }, x)
                    .resolution(5e-3));
        } else {
          print(name, numbers(x, s), check::raw(name, f, vjp, x, p).resolution(5e-3));
        }
      } catch (const std::exception& e) {
        std::cout << "SKIPPED\t" << name << "\t" << e.what() << std::endl;
      }
    }
}

template <class L, class T>
void loss(const std::string& name, const L& l, const std::vector<T>& truth, const Shape& s) {
  for (const F& x : samples(s[0] * s[1] * s[2] * s[3])) {
    const auto run = [&](const F& x, F* g) {
      Sub sub(x, s);
      const double value = l.compute_loss_value_and_gradient(sub.output, truth.begin(), sub);
      if (g) *g = values(sub.gradient);
      return static_cast<float>(value);
    };
    print(name, numbers(x, s),
          check::raw(
              name, [&](const F& x) { return run(x, nullptr); },
              [&](const F& x) {
                F g;
                run(x, &g);
                return g;
              },
              x)
              .resolution(5e-3));
  }
}

int main() {
  using namespace dlib;
  layer("relu_", relu_());
  layer("prelu_", prelu_());
  layer("leaky_relu_", leaky_relu_());
  layer("sig_", sig_());
  layer("mish_", mish_());
  layer("htan_", htan_());
  layer("clipped_relu_", clipped_relu_());
  layer("elu_", elu_());
  layer("elu_(0.3)", elu_(0.3f));
  layer("leaky_relu_(2)", leaky_relu_(2.f));
  layer("clipped_relu_(0.5)", clipped_relu_(0.5f));
  layer("gelu_", gelu_());
  layer("smelu_", smelu_());
  layer("smelu_(0.2)", smelu_(0.2f));
  layer("silu_", silu_());
  layer("softmax_", softmax_());
  layer("softmax_all_", softmax_all_());
  layer("l2normalize_", l2normalize_());
  layer("layer_norm_", layer_norm_());
  layer("bn_<CONV>", bn_<CONV_MODE>(), {{2, 3, 1, 5}, {3, 2, 5, 4}, {5, 4, 1, 1}});
  layer("bn_<FC>", bn_<FC_MODE>(), {{2, 3, 1, 5}, {3, 2, 5, 4}, {5, 4, 1, 1}});
  layer("affine_<CONV>", affine_(CONV_MODE));
  layer("affine_<FC>", affine_(FC_MODE));
  layer("multiply_", multiply_(0.7f));
  layer("fc_", fc_<3, FC_HAS_BIAS>(3));
  layer("fc_no_bias_", fc_<1, FC_NO_BIAS>(1));
  layer("con_<2,3,3,1,1>", con_<2, 3, 3, 1, 1>(),
        {{1, 1, 3, 3}, {2, 3, 4, 5}, {1, 2, 7, 1}, {1, 1, 1, 1}});
  layer("con_<1,2,3,2,3>", con_<1, 2, 3, 2, 3>(), {{1, 1, 5, 7}, {2, 3, 4, 6}});
  layer("con_<2,1,1,2,2>", con_<2, 1, 1, 2, 2>(), {{1, 1, 5, 7}, {2, 3, 4, 6}});
  layer("con_<2,2,2,1,1,1,1>", con_<2, 2, 2, 1, 1, 1, 1>(), {{1, 1, 1, 1}, {2, 3, 4, 6}});
  layer("cont_<2,3,3,2,2>", cont_<2, 3, 3, 2, 2>(), {{1, 1, 2, 3}, {2, 3, 3, 2}, {1, 1, 1, 1}});
  layer("cont_<1,2,3,1,1>", cont_<1, 2, 3, 1, 1>(), {{1, 1, 2, 3}, {2, 3, 3, 2}});
  layer("max_pool_<2,2,2,2>", max_pool_<2, 2, 2, 2>(), {{1, 1, 4, 4}, {2, 3, 5, 7}});
  layer("max_pool_<3,3,1,2>", max_pool_<3, 3, 1, 2, 1, 1>(), {{1, 1, 4, 4}, {2, 3, 5, 7}});
  layer("avg_pool_<2,3,1,1>", avg_pool_<2, 3, 1, 1>(), {{1, 1, 4, 4}, {2, 3, 5, 7}});
  layer("avg_pool_<3,3,2,2,1,1>", avg_pool_<3, 3, 2, 2, 1, 1>(),
        {{1, 1, 4, 4}, {2, 3, 5, 7}, {1, 1, 3, 3}});
  layer("avg_pool_everything", avg_pool_<0, 0, 1, 1>());
  layer("upsample_<2,3>", upsample_<2, 3>());
  layer("upsample_<1,1>", upsample_<1, 1>());
  layer("resize_to_<4,7>", resize_to_<4, 7>());
  layer("resize_to_<2,2>", resize_to_<2, 2>());
  layer("resize_to_<1,1>", resize_to_<1, 1>());
  layer("extract_<1,2,1,2>", extract_<1, 2, 1, 2>(), {{2, 3, 1, 5}, {3, 2, 5, 4}});
  layer("reorg_<2,2>", reorg_<2, 2>(), {{1, 1, 4, 2}, {2, 3, 2, 6}});

  const std::vector<float> signs{1, -1, 1}, reals{0.3f, -2, 7};
  const std::vector<unsigned long> classes{0, 2, 2};
  loss("loss_binary_hinge_", loss_binary_hinge_(), signs, {3, 1, 1, 1});
  loss("loss_binary_log_", loss_binary_log_(), signs, {3, 1, 1, 1});
  loss("loss_binary_log_, weights", loss_binary_log_(), std::vector<float>{0.5f, -3, 2},
       {3, 1, 1, 1});
  loss("loss_mean_squared_", loss_mean_squared_(), reals, {3, 1, 1, 1});
  loss("loss_epsilon_insensitive_", loss_epsilon_insensitive_(0.5), reals, {3, 1, 1, 1});
  loss("loss_ranking_", loss_ranking_(), std::vector<float>{1, -1, 1}, {3, 1, 1, 1});
  loss("loss_ranking_, 5", loss_ranking_(), std::vector<float>{1, -1, -1, -1, 1}, {5, 1, 1, 1});
  loss("loss_multiclass_log_", loss_multiclass_log_(), classes, {3, 3, 1, 1});
  loss("loss_metric_", loss_metric_(), classes, {3, 4, 1, 1});
  loss("loss_metric_, 4", loss_metric_(), std::vector<unsigned long>{0, 2, 2, 0}, {4, 2, 1, 1});
  loss("loss_multiclass_log_weighted_", loss_multiclass_log_weighted_(),
       std::vector<weighted_label<unsigned long>>{{0, 0.5f}, {2, 3.f}, {1, 1.f}}, {3, 3, 1, 1});
  loss("loss_multibinary_log_", loss_multibinary_log_(),
       std::vector<std::vector<float>>{{1, -1}, {-1, 2}, {0.5f, 1}}, {3, 2, 1, 1});
  loss("loss_multibinary_log_(2)", loss_multibinary_log_(2.f),
       std::vector<std::vector<float>>{{1, -1}, {-1, 2}, {0.5f, 1}}, {3, 2, 1, 1});
  matrix<float> m(2, 3);
  m = 0.5f, -1, 2, 1, -1, 0;
  matrix<float, 0, 1> v(3);
  v = 0.5f, -1, 2;
  loss("loss_dot_", loss_dot_(), std::vector<matrix<float, 0, 1>>{v, 2 * v}, {2, 3, 1, 1});
  loss("loss_mean_squared_multioutput_", loss_mean_squared_multioutput_(),
       std::vector<matrix<float>>{matrix<float>(v), matrix<float>(2 * v)}, {2, 3, 1, 1});
  loss("loss_binary_log_per_pixel_", loss_binary_log_per_pixel_(),
       std::vector<matrix<float>>{m, -m}, {2, 1, 2, 3});
  loss("loss_mean_squared_per_pixel_", loss_mean_squared_per_pixel_(),
       std::vector<matrix<float>>{m, -m}, {2, 1, 2, 3});
  using Two = loss_mean_squared_per_channel_and_pixel_<2>;
  loss("loss_mean_squared_per_channel_and_pixel_", Two(),
       std::vector<Two::training_label_type>{{m, -m}, {m, m}}, {2, 2, 2, 3});
  matrix<uint16_t> c(2, 3);
  c = 0, 1, 2, 2, 65535, 0;
  loss("loss_multiclass_log_per_pixel_", loss_multiclass_log_per_pixel_(),
       std::vector<matrix<uint16_t>>{c, c}, {2, 3, 2, 3});
  matrix<weighted_label<uint16_t>> w(2, 3);
  for (int i = 0; i < 6; ++i) w(i / 3, i % 3) = weighted_label<uint16_t>(i % 3, 0.5f * i);
  loss("loss_multiclass_log_per_pixel_weighted_", loss_multiclass_log_per_pixel_weighted_(),
       std::vector<matrix<weighted_label<uint16_t>>>{w, w}, {2, 3, 2, 3});
}
